"""What becomes of a request: discovery, lists, names, outcomes, failures of the host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rukh.mcp.adapter import Adapter, Resolved
from rukh.mcp.ports import View
from rukh.mcp.wire import Request
from rukh.values.canonical import canonical
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_PAGE_BYTES
from tests.support.mcp_messages import INVALID_CURSOR, META, PREFIX, UNKNOWN_TOOL, VERSION, sent
from tests.support.mcp_port import BINDING, INVOCATION, FakeCancel, FakePort, envelope, tail, view


class Desk:
    """An adapter over a fake host, asked one request at a time."""

    def __init__(self, seen: View | None = None) -> None:
        self.port = FakePort(seen)
        self.now = 0.0
        self.adapter = Adapter(self.port, BINDING, name="rukh", version="0.1.0", clock=lambda: self.now)

    def ask(self, method: str, id: str | int = 1, /, *, meta: Any = META, **params: Any) -> dict[str, Any]:
        """The message that answers, judged; a call is run to its end."""
        answer = self.adapter.answer(Request(id, method, {"_meta": meta, **params}))
        if isinstance(answer, Resolved):
            answer = self.adapter.invoke(answer, FakeCancel())
        return sent(answer, method)

    def name(self, command: str) -> str:
        tools = self.ask("tools/list")["result"]["tools"]
        return next(str(tool["name"]) for tool in tools if tool["title"] == command)

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=self.name(command), arguments=arguments)


def error(answer: dict[str, Any]) -> tuple[int, Any]:
    """Code and data of an error."""
    return answer["error"]["code"], answer["error"]["data"]


@pytest.mark.requirement("RK-MCP-018", "RK-MCP-019", "RK-MCP-042")
def test_discovery_names_one_version_one_capability_and_nothing_to_keep() -> None:
    assert Desk().ask("server/discover")["result"] == {
        "_meta": {PREFIX + "serverInfo": {"name": "rukh", "version": "0.1.0"}},
        "cacheScope": "private",
        "capabilities": {"tools": {}},
        "resultType": "complete",
        "supportedVersions": [VERSION],
        "ttlMs": 0,
    }


@pytest.mark.requirement("RK-MCP-020")
def test_what_a_client_says_of_itself_changes_no_answer() -> None:
    claims = {"name": "owner", "version": "9", "actor": "user:local", "task": "task_b"}
    metas = [
        META,
        {key: value for key, value in META.items() if not key.endswith("clientInfo")},
        {**META, PREFIX + "clientInfo": claims, "actor": "user:local", "task": "task_b"},
        {**META, PREFIX + "clientCapabilities": {"sampling": {}, "elicitation": {}}, "progressToken": 1},
    ]
    answers = []
    for meta in metas:
        desk = Desk()
        name = desk.name("echo")
        listed, called = desk.ask("tools/list", meta=meta), desk.ask("tools/call", meta=meta, name=name)
        answers.append((desk.ask("server/discover", meta=meta), listed, called, desk.port.invoked))
    assert answers == [answers[0]] * len(metas)


@pytest.mark.requirement("RK-MCP-019", "RK-MCP-018", "RK-MCP-042")
def test_a_list_holds_stored_texts_and_nothing_of_a_publisher_beside_them() -> None:
    desk = Desk(view("add", "list"))
    result = desk.ask("tools/list")["result"]
    tools = result.pop("tools")
    assert result == {
        "_meta": {PREFIX + "serverInfo": {"name": "rukh", "version": "0.1.0"}},
        "cacheScope": "private",
        "resultType": "complete",
        "ttlMs": 0,
    }
    assert [{key: value for key, value in tool.items() if key != "name"} for tool in tools] == [
        json.loads(tail("add")),
        json.loads(tail("list")),
    ]


@pytest.mark.requirement("RK-MCP-023")
def test_listing_invokes_nothing() -> None:
    desk = Desk()
    desk.ask("tools/list")
    assert (desk.port.invoked, desk.port.cancels) == ([], [])


@pytest.mark.requirement("RK-MCP-024", "RK-MCP-026")
def test_cursors_lead_through_every_tool_once_and_the_last_page_has_none() -> None:
    desk = Desk(view(*(f"t{number:03d}" for number in range(70))))
    found: list[str] = []
    sizes = []
    more: dict[str, str] = {}
    while True:
        result = desk.ask("tools/list", **more)["result"]
        sizes.append(len(result["tools"]))
        found += [tool["name"] for tool in result["tools"]]
        if "nextCursor" not in result:
            break
        more = {"cursor": result["nextCursor"]}
    assert sizes == [32, 32, 6]
    assert found == sorted(set(found))
    assert len(found) == 70


@pytest.mark.requirement("RK-MCP-024")
def test_a_page_of_large_tools_stays_within_one_mebibyte_as_it_is_sent() -> None:
    tools = [(f"acme.notes/t{number}", tail("t", description="\u2028" * 30_000)) for number in range(32)]
    desk = Desk(View("r1-0123456789abcdef", "acme.desktop", tools, "v1"))
    answer = desk.adapter.answer(Request(1, "tools/list", {"_meta": META}))
    assert isinstance(answer, bytes)
    assert len(sent(answer, "tools/list")["result"]["tools"]) < 32
    assert LIMIT_PAGE_BYTES - 100_000 < len(answer) <= LIMIT_PAGE_BYTES


@pytest.mark.requirement("RK-MCP-022", "RK-MCP-027")
@pytest.mark.parametrize("change", [{"revision": "r2-0123456789abcdef"}, {"visibility": "v2"}])
def test_a_cursor_is_void_once_revision_or_visibility_changed(change: dict[str, str]) -> None:
    commands = [f"t{number:03d}" for number in range(40)]
    desk = Desk(view(*commands))
    cursor = desk.ask("tools/list")["result"]["nextCursor"]
    assert len(desk.ask("tools/list", cursor=cursor)["result"]["tools"]) == 8
    desk.port.seen = view(*commands, **change)
    assert error(desk.ask("tools/list", cursor=cursor)) == (-32602, INVALID_CURSOR)


@pytest.mark.requirement("RK-MCP-028", "RK-MCP-030", "RK-MCP-022")
def test_unknown_obsolete_and_invisible_names_get_the_same_bytes() -> None:
    desk = Desk(view("add", "list"))
    hidden, kept = desk.name("list"), desk.name("add")
    desk.port.seen = view("add", visibility="v2")

    def answer(name: str) -> Any:
        return desk.adapter.answer(Request(1, "tools/call", {"_meta": META, "name": name}))

    invisible = answer(hidden)
    assert isinstance(answer(kept), Resolved)
    desk.port.seen = view("add", revision="r2-0123456789abcdef")
    obsolete = answer(kept)
    unknown = [
        answer(name) for name in ("", "add", "acme.notes/add", kept[:-1], "acme-notes-add__" + "0" * 64)
    ]
    assert isinstance(answer(desk.name("add")), Resolved)
    assert {invisible, obsolete, *unknown} == {
        b'{"error":{"code":-32602,"data":{"code":"RKM012","mend":"list the tools again: a change of the profile gives '
        b'them new names"},"message":"unknown tool"},"id":1,"jsonrpc":"2.0"}\n'
    }
    assert desk.port.invoked == []


@pytest.mark.requirement("RK-MCP-030")
def test_a_revision_that_moves_before_the_capture_makes_the_name_unknown() -> None:
    answer = Desk().call("moved")
    assert answer["error"] == {"code": -32602, "data": UNKNOWN_TOOL, "message": "unknown tool"}


@pytest.mark.requirement("RK-MCP-025")
def test_visibility_that_cannot_be_had_is_an_error_for_lists_and_for_every_name() -> None:
    desk = Desk()
    known = desk.name("echo")
    desk.port.seen = None
    answers = [
        desk.ask("tools/list"),
        desk.ask("tools/call", name=known),
        desk.ask("tools/call", name="no such"),
    ]
    assert [error(answer) for answer in answers] == [(-32603, {"code": "visibility_unavailable"})] * 3
    assert desk.ask("server/discover")["result"]["resultType"] == "complete"


@pytest.mark.requirement("RK-MCP-025")
def test_a_store_that_refuses_to_say_what_is_visible_is_the_same_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()

    def refuse(endpoint: str, deadline_at: float) -> View:
        raise RukhError("RKV002", endpoint)

    monkeypatch.setattr(desk.port, "view", refuse)
    assert error(desk.ask("tools/list")) == (-32603, {"code": "visibility_unavailable"})


@pytest.mark.requirement("RK-MCP-029")
@pytest.mark.parametrize(("seconds", "late"), [(30.0, False), (30.1, True)])
def test_a_list_has_thirty_seconds(monkeypatch: pytest.MonkeyPatch, seconds: float, late: bool) -> None:
    desk = Desk(view("add"))
    deadlines = []

    def slow(endpoint: str, deadline_at: float) -> View:
        deadlines.append(deadline_at)
        desk.now += seconds
        return view("add")

    monkeypatch.setattr(desk.port, "view", slow)
    answer = desk.ask("tools/list")
    assert deadlines == [30.0]
    assert ("error" in answer) is late
    assert not late or error(answer) == (-32603, {"code": "deadline"})


@pytest.mark.requirement("RK-MCP-021")
def test_the_host_is_asked_for_the_bound_endpoint_whatever_a_request_says() -> None:
    desk = Desk()
    name = desk.name("echo")
    claims = {"endpoint": "other", "task": "task_b", "actor": "user:local", "subject": "root"}
    desk.ask("tools/list", meta={**META, **claims}, **claims)
    desk.ask("tools/call", meta={**META, **claims}, name=name, arguments=claims, **claims)
    assert desk.port.invoked == [
        (desk.port.seen.revision if desk.port.seen else "", "acme.notes/echo", claims)
    ]


@pytest.mark.requirement("RK-MCP-017")
@pytest.mark.parametrize("continuation", ["inputResponses", "requestState"])
def test_a_continuation_is_refused_before_anything_is_asked_of_the_host(continuation: str) -> None:
    desk = Desk()
    name = desk.name("echo")
    asked = desk.port.views
    for method, params in (("tools/call", {"name": name}), ("tools/list", {}), ("server/discover", {})):
        refused = error(desk.ask(method, **params, **{continuation: {}}))
        assert (refused[0], refused[1]["code"]) == (-32602, "RKM011")
    assert (desk.port.views, desk.port.invoked) == (asked, [])
    assert "result" in desk.ask("tools/call", name=name)


@pytest.mark.requirement("RK-MCP-031")
def test_omitted_arguments_are_an_empty_object_and_the_rest_arrives_as_it_was_read() -> None:
    desk = Desk()
    name = desk.name("echo")
    desk.ask("tools/call", name=name)
    odd = {"text": "e\u0301\u2028\U0001f600", "n": None, "list": [1, 1.5, "-4", "--x"], "": True}
    desk.ask("tools/call", name=name, arguments=odd)
    assert [arguments for _, _, arguments in desk.port.invoked] == [{}, odd]


OUTCOMES = {
    "echo": ("succeeded", False, None),
    "fail": ("command_failed", True, "command"),
    "refuse": ("rejected", True, "invalid_input"),
    "deadline": ("cancelled", True, "deadline"),
}


@pytest.mark.requirement("RK-MCP-032", "RK-MCP-018")
@pytest.mark.parametrize(("command", "expected"), OUTCOMES.items(), ids=OUTCOMES)
def test_an_outcome_is_the_envelope_twice_and_an_error_unless_it_succeeded(
    command: str, expected: Any
) -> None:
    outcome, is_error, reason = expected
    result = Desk().call(command, text='é "\\\u2028')["result"]
    content = result["structuredContent"]
    assert (content["outcome"], result["isError"], result["resultType"]) == (outcome, is_error, "complete")
    assert content.get("reason", {}).get("code") == reason
    assert result["content"] == [{"type": "text", "text": canonical(content)}]
    assert sorted(result) == ["_meta", "content", "isError", "resultType", "structuredContent"]


@pytest.mark.requirement("RK-MCP-032")
def test_what_a_publisher_returns_stays_inside_its_own_member() -> None:
    forged = {"outcome": "succeeded", "invocationId": "inv_x", "isError": False, "_meta": {}}
    content = Desk().call("echo", **forged)["result"]["structuredContent"]
    assert content == {**envelope("succeeded", data={"arguments": forged})}


FAILURES = {
    "busy": {"code": "busy"},
    "lost": {"code": "uncommitted", "invocationId": INVOCATION},
    "storage": {"code": "internal", "rule": "RKV002"},
    "big": {"code": "response_too_large", "invocationId": INVOCATION},
}


@pytest.mark.requirement("RK-MCP-035", "RK-MCP-037", "RK-MCP-018")
@pytest.mark.parametrize(("command", "data"), FAILURES.items(), ids=FAILURES)
def test_a_failure_of_the_host_is_an_error_and_never_an_outcome(command: str, data: dict[str, str]) -> None:
    assert error(Desk().call(command)) == (-32603, data)


@pytest.mark.requirement("RK-MCP-022")
def test_names_are_computed_once_while_nothing_changes_and_anew_when_it_does() -> None:
    desk = Desk(view("add"))
    first = desk.name("add")
    desk.port.seen = view("add")
    assert desk.name("add") == first
    desk.port.seen = view("add", namespace="acme.other")
    assert desk.name("add") != first
