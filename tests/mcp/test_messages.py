"""The judge of everything that a server sends in a test: what it lets pass, and that each thing it looks at counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import mcp_messages
from tests.support.mcp_client import Talk
from tests.support.mcp_messages import META, PREFIX, line, request, sent

OLD = {**META, PREFIX + "protocolVersion": "2025-11-25"}
# Every kind of message that a host has: a result of each method, an error of each code.
ASKED: dict[str, tuple[Any, int | None]] = {
    "discover": (request("server/discover"), None),
    "list": (request("tools/list"), None),
    "parse error": (b"{\n", -32700),
    "invalid request": ([], -32600),
    "method not found": (request("ping"), -32601),
    "invalid params": (request("tools/list", cursor="x"), -32602),
    "unsupported version": (request("server/discover", meta=OLD), -32022),
    "initialize": (request("initialize"), -32022),
}


@pytest.mark.requirement("RK-MCP-047", "RK-MCP-018", "RK-MCP-052")
@pytest.mark.parametrize(("message", "code"), ASKED.values(), ids=ASKED)
def test_every_kind_of_message_is_the_published_one(message: Any, code: int | None) -> None:
    (answer,) = Talk().ask(message)
    assert answer.get("error", {}).get("code") == code


@pytest.mark.requirement("RK-MCP-047")
@pytest.mark.parametrize("command", ["echo", "fail", "refuse", "deadline", "busy", "lost", "storage", "big"])
def test_every_end_of_a_call_is_a_published_message(command: str) -> None:
    talk = Talk()
    talk.send(request("tools/call", name=talk.name(command)))
    (answer,) = talk.finish(talk.started[0])
    assert answer["id"] == 1


def answer_to(message: Any) -> dict[str, Any]:
    return Talk().ask(message)[0]


def without(message: dict[str, Any], *path: str) -> dict[str, Any]:
    """The message but for one member."""
    copy: dict[str, Any] = json.loads(json.dumps(message))
    place = copy
    for name in path[:-1]:
        place = place[name]
    del place[path[-1]]
    return copy


# One fault each; the package alone finds those of the first table.
def called(**members: Any) -> dict[str, Any]:
    """The answer of a call, with members of its result replaced."""
    about = answer_to(ASKED["list"][0])["result"]["_meta"]
    result = {"_meta": about, "content": [{"type": "text", "text": "x"}], "resultType": "complete"}
    return {"jsonrpc": "2.0", "id": 1, "result": {**result, **members}}


PACKAGE: dict[str, Callable[[], bytes]] = {
    "no LF": lambda: line(answer_to(ASKED["list"][0]))[:-1],
    "two lines": lambda: line(answer_to(ASKED["list"][0])) + b"\n",
    "a member twice": lambda: line(answer_to(ASKED["list"][0])).replace(b'{"id"', b'{"id":1,"id"', 1),
    "NaN": lambda: line(answer_to(ASKED["list"][0])).replace(b'"ttlMs": 0', b'"ttlMs": NaN'),
    "beyond two mebibytes": lambda: line({**answer_to(ASKED["list"][0]), "id": "i" * (2 << 20)}),
    "a result that answers nothing": lambda: line(
        {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}}
    ),
    "a list without its kind": lambda: line(without(answer_to(ASKED["list"][0]), "result", "ttlMs")),
    "a tool without its schema": lambda: line(
        {**answer_to(ASKED["list"][0]), "result": {"tools": [{"name": "x"}], "resultType": "complete"}}
    ),
    "a content block without its text": lambda: line(called(content=[{"type": "text", "txt": "x"}])),
    "a content that is no list": lambda: line(called(content="x")),
    "an error flag that is a word": lambda: line(called(isError="perhaps")),
    "no jsonrpc": lambda: line(without(answer_to(ASKED["list"][0]), "jsonrpc")),
    "an error without a stable code": lambda: line(without(answer_to([]), "error", "data", "code")),
    "an error without a message": lambda: line(without(answer_to([]), "error", "message")),
    "another version without the supported ones": lambda: line(
        without(answer_to(ASKED["initialize"][0]), "error", "data", "supported")
    ),
    "an error of a code that nobody has": lambda: line(
        {"jsonrpc": "2.0", "error": {"code": -32000, "message": "x", "data": {"code": "x"}}}
    ),
}
FAULTS = (AssertionError, KeyError, ValueError)


@pytest.mark.requirement("RK-MCP-047")
@pytest.mark.parametrize("name", PACKAGE)
@pytest.mark.parametrize("published", [True, False], ids=["schema beside it", "the package alone"])
def test_the_judge_refuses_a_message_with_one_fault_with_and_without_the_schema(
    name: str, published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = PACKAGE[name]()
    if not published:
        monkeypatch.setattr(mcp_messages, "_validator", lambda _definition: None)
    with pytest.raises(FAULTS):
        sent(data)
    assert sent(line(answer_to(ASKED["list"][0])))["id"] == 1


@pytest.mark.requirement("RK-MCP-047")
def test_the_judge_asks_the_published_schema_for_the_definition_of_each_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Accepting:
        def is_valid(self, _value: Any) -> bool:
            return True

    def validator(name: str) -> Any:
        asked.append(name)
        return Accepting()

    monkeypatch.setattr(mcp_messages, "_validator", validator)
    for message, _ in ASKED.values():
        Talk().ask(message)
    assert asked == [
        *("DiscoverResultResponse", "DiscoverResult"),
        *("ListToolsResultResponse", "ListToolsResult"),
        *("JSONRPCErrorResponse", "ParseError"),
        *("JSONRPCErrorResponse", "InvalidRequestError"),
        *("JSONRPCErrorResponse", "MethodNotFoundError"),
        *("JSONRPCErrorResponse", "InvalidParamsError"),
        *("UnsupportedProtocolVersionError", "UnsupportedProtocolVersionError"),
    ]


def test_the_answer_of_a_call_is_accepted_as_such() -> None:
    assert sent(line(called()), "tools/call")["id"] == 1


def test_a_result_of_another_method_than_the_one_that_was_asked_is_refused() -> None:
    data = line(answer_to(ASKED["list"][0]))
    assert sent(data, "tools/list")["id"] == 1
    with pytest.raises(AssertionError):
        sent(data, "server/discover")


def test_no_module_of_the_suite_reads_a_servers_output_but_through_the_judge() -> None:
    """Whoever starts `mcp serve` in a test reads what it says by `sent`, or gives it to a client that does."""
    root = Path(__file__).resolve().parents[1]
    starting = Counter[str]()
    for path in root.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if "import sent" not in text:
            starting[path.name] += text.count('"serve", "--endpoint"')
    assert +starting == DECLINED


# These give the words, so many times each, and look at a refusal, or at the end of a server alone: nothing that it says
# is read.
DECLINED = Counter(
    {
        "test_completion.py": 1,
        "test_admin.py": 2,
        "test_verbs.py": 3,
        "test_admission.py": 1,
        "test_ends.py": 1,
        "test_config.py": 2,
    }
)
