"""Messages of an MCP client, and the judges of what a server sends: the `mcp` package, and the published schema."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from mcp_types import jsonrpc_message_adapter
from mcp_types.methods import validate_server_result

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
_RESULTS = {
    "server/discover": "DiscoverResultResponse",
    "tools/list": "ListToolsResultResponse",
    "tools/call": "CallToolResultResponse",
}


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
    """The message in one line that a server sent, judged: framing, JSON-RPC, and the result of `method`."""
    assert data.endswith(b"\n") and data.count(b"\n") == 1
    message: dict[str, Any] = json.loads(data.decode("utf-8"))
    # The package wants an id even in an error; the protocol leaves it out where there is none to name.
    jsonrpc_message_adapter.validate_python({"id": None, **message} if "error" in message else message)
    if "result" in message and method is not None:
        validate_server_result(method, VERSION, message["result"])
    assert published_says(_definition(message, method), message) in (True, None), message
    return message


def _definition(message: dict[str, Any], method: str | None) -> str:
    if "error" not in message:
        return "JSONRPCResultResponse" if method is None else _RESULTS[method]
    if message["error"]["code"] == -32022:
        return "UnsupportedProtocolVersionError"
    return "JSONRPCErrorResponse"
