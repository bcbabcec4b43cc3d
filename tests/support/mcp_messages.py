"""Messages of an MCP client, and the judges of what a server sends: the `mcp` package, and the published schema.

Every message that a server sends in a test is read by `sent`: in memory, from a process in which the host is a fake,
and from a real `rukh mcp serve`. The package judges always, the published schema where it lies beside the checkout.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from mcp_types import (
    CallToolResult,
    DiscoverResult,
    Implementation,
    ListToolsResult,
    UnsupportedProtocolVersionErrorData,
    jsonrpc_message_adapter,
)
from mcp_types.methods import validate_server_result
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[2]
# The published schema is not ours to ship; it is read where it lies beside the checkout.
PUBLISHED = ROOT.parent / "shared" / "data" / "mcp-2026-07-28.schema.json"

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
META: dict[str, Any] = {
    PREFIX + "protocolVersion": VERSION,
    PREFIX + "clientCapabilities": {},
    PREFIX + "clientInfo": {"name": "test", "version": "1"},
}
# method: a member that its result must have and no other result has, its model, and its published definition. What a
# response may hold besides is wider than the result that is meant, so that both are asked.
_RESULTS: dict[str, tuple[str, type[BaseModel], str]] = {
    "server/discover": ("supportedVersions", DiscoverResult, "DiscoverResult"),
    "tools/list": ("tools", ListToolsResult, "ListToolsResult"),
    "tools/call": ("content", CallToolResult, "CallToolResult"),
}
_ERRORS = {
    -32700: "ParseError",
    -32600: "InvalidRequestError",
    -32601: "MethodNotFoundError",
    -32602: "InvalidParamsError",
    -32603: "InternalError",
}
_UNSUPPORTED = -32022
# The data of the two answers that never differ.
UNKNOWN_TOOL = {
    "code": "RKM012",
    "mend": "list the tools again: a change of the profile gives them new names",
}
INVALID_CURSOR = {"code": "RKM013", "mend": "begin the list again, without a cursor"}
_MESSAGE_BYTES = 2 << 20


def request(method: str, id: Any = 1, /, *, meta: Any = META, **params: Any) -> dict[str, Any]:
    """A request with its protocol context."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta, **params}}


def cancel(id: Any, **params: Any) -> dict[str, Any]:
    """A cancel notification."""
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, **params}}


def line(message: Any) -> bytes:
    """A message as it is sent, its LF included."""
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


@cache
def _published() -> dict[str, Any] | None:
    if not PUBLISHED.exists():
        return None
    document: dict[str, Any] = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return document


@cache
def _validator(name: str) -> Any:
    schema = _published()
    if schema is None:
        return None
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


def published_says(name: str, value: Any) -> bool | None:
    """Whether the published definition `name` holds of `value`; None where the schema is not here."""
    validator = _validator(name)
    return None if validator is None else bool(validator.is_valid(value))


def sent(data: bytes, method: str | None = None) -> dict[str, Any]:
    """The message in one line that a server sent, judged: framing, size, JSON-RPC, and its result or its error.

    What a result answers is told by its members; where `method` is given, it must be that one.
    """
    assert data.endswith(b"\n") and data.count(b"\n") == 1
    assert len(data) <= _MESSAGE_BYTES + 1
    message: dict[str, Any] = json.loads(
        data.decode("utf-8"), object_pairs_hook=_members, parse_constant=_no_number
    )
    # The package wants an id even in an error; the protocol leaves it out where there is none to name.
    form = {"id": None, **message} if "error" in message else message
    jsonrpc_message_adapter.validate_python(form, strict=True)
    if "error" in message:
        _judge_error(message)
    else:
        _judge_result(message, method)
    return message


def _members(found: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(found)
    assert len(document) == len(found), f"a member is there twice: {[name for name, _ in found]}"
    return document


def _no_number(text: str) -> Any:
    raise AssertionError(f"{text} is no number of JSON")


def _judge_error(message: dict[str, Any]) -> None:
    """A code that the protocol has, in its published shape, and the stable code of this host; a rule has its mend."""
    error = message["error"]
    assert not error["data"]["code"].startswith("RK") or error["data"]["mend"], message
    if error["code"] == _UNSUPPORTED:
        UnsupportedProtocolVersionErrorData.model_validate(error["data"])
        assert published_says("UnsupportedProtocolVersionError", message) in (True, None), message
        return
    assert published_says("JSONRPCErrorResponse", message) in (True, None), message
    assert published_says(_ERRORS[error["code"]], error) in (True, None), message


def _judge_result(message: dict[str, Any], method: str | None) -> None:
    answered = [name for name, (member, _, _) in _RESULTS.items() if member in message["result"]]
    assert len(answered) == 1 and method in (None, *answered), message
    assert message["result"]["resultType"] == "complete", message
    Implementation.model_validate(message["result"]["_meta"][PREFIX + "serverInfo"])
    validate_server_result(answered[0], VERSION, message["result"])
    _, model, definition = _RESULTS[answered[0]]
    model.model_validate(message["result"])
    assert published_says(f"{definition}Response", message) in (True, None), message
    assert published_says(definition, message["result"]) in (True, None), message
