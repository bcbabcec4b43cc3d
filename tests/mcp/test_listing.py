"""Names in order, texts spliced, pages bounded on both sides."""

from __future__ import annotations

import json

import pytest

from rukh.contract.names import tool_name
from rukh.mcp.listing import Listing
from rukh.mcp.ports import View
from rukh.values.registry import LIMIT_PAGE_BYTES, LIMIT_PAGE_ROOM_BYTES, LIMIT_PAGE_TOOLS
from tests.support.mcp_port import NAMESPACE, REVISION, tail, view

IDENTITIES = ("acme.notes/a", "acme.notes/b")


def many(count: int) -> View:
    """A view of `count` commands."""
    return view(*(f"t{number:05d}" for number in range(count)))


def pages(listing: Listing) -> list[list[str]]:
    """The names of every page, following the last name shown."""
    found = []
    after: str | None = ""
    while after is not None:
        tools, after = listing.page(after)
        found.append([json.loads(tool)["name"] for tool in tools])
    return found


@pytest.mark.requirement("RK-MCP-023")
def test_tools_stand_in_the_order_of_their_names_not_of_their_identities() -> None:
    tools = [(f"{package}/go", tail(package)) for package in ("zz.a", "aa.b", "mm.c")]
    listing = Listing(View(REVISION, NAMESPACE, tools, "v"))
    assert listing.names == sorted(tool_name(NAMESPACE, REVISION, identity) for identity, _ in tools)
    assert [json.loads(tool)["name"] for tool in listing.page()[0]] == listing.names


@pytest.mark.requirement("RK-MCP-023")
def test_a_tool_is_its_name_and_its_stored_text_unchanged() -> None:
    listing = Listing(view("add"))
    text = listing.tool(listing.names[0])
    assert text == f'{{"name":"{listing.names[0]}",' + tail("add")[1:]
    assert json.loads(text) == {"name": listing.names[0], **json.loads(tail("add"))}


@pytest.mark.requirement("RK-MCP-030")
def test_only_the_exact_name_leads_to_the_command() -> None:
    listing = Listing(view("add"))
    name = listing.names[0]
    found = [
        listing.identity(asked) for asked in (name, name.upper(), name[:-1], name + "0", "acme.notes/add", "")
    ]
    assert found == ["acme.notes/add", None, None, None, None, None]


@pytest.mark.requirement("RK-MCP-024")
@pytest.mark.parametrize(
    ("count", "sizes"),
    [(0, [0]), (1, [1]), (31, [31]), (32, [32]), (33, [32, 1]), (64, [32, 32]), (65, [32, 32, 1])],
)
def test_a_page_holds_at_most_32_tools_and_all_pages_hold_each_once(count: int, sizes: list[int]) -> None:
    listing = Listing(many(count))
    found = pages(listing)
    assert [len(page) for page in found] == sizes
    assert [name for page in found for name in page] == listing.names


@pytest.mark.requirement("RK-MCP-024")
def test_a_page_holds_at_most_one_mebibyte() -> None:
    third = LIMIT_PAGE_BYTES // 3
    tools = [(f"acme.notes/t{number}", tail("t", description="é" * (third // 2))) for number in range(5)]
    listing = Listing(View(REVISION, NAMESPACE, tools, "v"))
    assert [len(page) for page in pages(listing)] == [2, 2, 1]
    assert sum(len(tool.encode()) for tool in listing.page()[0]) <= LIMIT_PAGE_BYTES


@pytest.mark.requirement("RK-MCP-024")
@pytest.mark.parametrize(("more", "sizes"), [(0, [2]), (1, [1, 1])])
def test_a_page_is_filled_to_the_byte_and_no_further(more: int, sizes: list[int]) -> None:
    def two(lengths: list[int]) -> Listing:
        described = [tail("t", description="x" * length) for length in lengths]
        return Listing(View(REVISION, NAMESPACE, list(zip(IDENTITIES, described, strict=True)), "v"))

    bare = two([1, 1])
    fixed = sum(len(bare.tool(name)) + 1 for name in bare.names) - 2
    free = LIMIT_PAGE_BYTES - LIMIT_PAGE_ROOM_BYTES - fixed
    assert [len(page) for page in pages(two([free // 2, free - free // 2 + more]))] == sizes


def test_a_page_has_room_for_a_full_count_of_tools() -> None:
    assert LIMIT_PAGE_TOOLS == len(Listing(many(100)).page()[0])
