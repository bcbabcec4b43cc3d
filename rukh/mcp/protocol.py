"""MCP 2026-07-28 as this host speaks it: checks before dispatch, and the text of every answer.

**Checks**, in this order; the first that fails decides (RK-MCP-013 to RK-MCP-017):

    1  `initialize`                                            -32022, naming the supported version
    2  `params._meta` with its protocol version, a string      -32602
    3  the version is supported                                -32022, `data` {supported, requested}
    4  the rest of `_meta`: capabilities, client, level        -32602
    5  the method is one of `METHODS`                          -32601
    6  no `inputResponses`, no `requestState`                  -32602
    7  the method's own parameters                             -32602

The shapes below are the published schema's, as open as it is: what it does not know is not looked at. Neither the
client's name nor its capabilities change anything that this host does. {E10}

**Answers** are text put together from canonical JSON parts; stored tool text is spliced, never read and written again.
Every error carries a stable `data.code`: the id of a rule, with what mends it in `data.mend`, or one of `busy`,
`visibility_unavailable`, `uncommitted`, `deadline`, `internal`, `response_too_large`.
"""

from __future__ import annotations

from rukh.mcp.wire import Refusal, refused
from rukh.values.canonical import canonical
from rukh.values.pointer import join
from rukh.values.registry import (
    LIMIT_MESSAGE_OUT_BYTES,
    RPC_INTERNAL_ERROR,
    RPC_INVALID_PARAMS,
    RPC_METHOD_NOT_FOUND,
    RPC_UNSUPPORTED_PROTOCOL_VERSION,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rukh.mcp.wire import Id, Request

VERSION = "2026-07-28"
DISCOVER = "server/discover"
LIST = "tools/list"
CALL = "tools/call"
CANCELLED = "notifications/cancelled"
METHODS = (DISCOVER, LIST, CALL)

_PREFIX = "io.modelcontextprotocol/"
_PROTOCOL_VERSION = _PREFIX + "protocolVersion"

# A shape: a type; a tuple of types or of strings, one of which holds; [shape] an array; a dict an object, where a
# name ending in "!" is required and "*" stands for every member.
_ID = (str, int)
_LEVELS = ("alert", "critical", "debug", "emergency", "error", "info", "notice", "warning")
_ICON = {"src!": str, "mimeType": str, "sizes": [str], "theme": ("dark", "light")}
_IMPLEMENTATION = {
    "name!": str,
    "version!": str,
    "title": str,
    "description": str,
    "websiteUrl": str,
    "icons": [_ICON],
}
_CAPABILITIES: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "experimental": {"*": {}},
    "extensions": {"*": {}},
    "roots": {},
    "sampling": {"context": {}, "tools": {}},
}
_META = {
    _PROTOCOL_VERSION + "!": str,
    _PREFIX + "clientCapabilities!": _CAPABILITIES,
    _PREFIX + "clientInfo": _IMPLEMENTATION,
    _PREFIX + "logLevel": _LEVELS,
    "progressToken": _ID,
}
_PARAMS: dict[str, Any] = {
    DISCOVER: {},
    LIST: {"cursor": str},
    CALL: {"name!": str, "arguments": {}},
}
_CANCELLED_PARAMS = {"requestId!": _ID, "reason": str, "_meta": {_PREFIX + "subscriptionId": _ID}}
_CONTINUATION = ("inputResponses", "requestState")


def misfit(value: Any, shape: Any, place: str = "") -> str | None:
    """The JSON Pointer of the first place where `value` does not have `shape`; None where it has it."""
    if type(shape) is dict:
        return _object_misfit(value, shape, place)
    if type(shape) is list:
        if type(value) is not list:
            return place
        return _first(misfit(item, shape[0], join(place, index)) for index, item in enumerate(value))
    if type(shape) is tuple:
        return None if type(value) in shape or (type(value) is str and value in shape) else place
    return None if type(value) is shape else place


def _object_misfit(value: Any, shape: dict[str, Any], place: str) -> str | None:
    if type(value) is not dict:
        return place
    for key, inner in shape.items():
        name = key.removesuffix("!")
        if name == "*":
            found = _first(misfit(item, inner, join(place, member)) for member, item in value.items())
        elif name in value:
            found = misfit(value[name], inner, join(place, name))
        else:
            found = join(place, name) if key != name else None
        if found is not None:
            return found
    return None


def _first(found: Any) -> str | None:
    return next((place for place in found if place is not None), None)


def check_request(request: Request) -> dict[str, Any]:
    """The request's params, checked; raises Refusal by the table above."""
    params = {} if request.params is None else request.params
    if request.method == "initialize":
        raise _unsupported_version(params.get("protocolVersion"), "initialize is no method of this protocol")
    _check_meta(params.get("_meta"))
    if request.method not in METHODS:
        raise refused(RPC_METHOD_NOT_FOUND, "RKM009", f"the method {request.method} does not exist")
    for name in _CONTINUATION:
        if name in params:
            raise _invalid("RKM011", "continuations are not supported", join("/params", name))
    place = misfit(params, _PARAMS[request.method], "/params")
    if place is not None:
        raise _invalid("RKM010", "a parameter is missing or of the wrong type", place)
    return params


def _check_meta(meta: Any) -> None:
    place = misfit(meta, {_PROTOCOL_VERSION + "!": str}, "/params/_meta")
    if place is None and meta[_PROTOCOL_VERSION] != VERSION:
        raise _unsupported_version(meta[_PROTOCOL_VERSION], "the protocol version is not supported")
    place = place or misfit(meta, _META, "/params/_meta")
    if place is not None:
        raise _invalid("RKM007", "the protocol context is missing or malformed", place)


def _unsupported_version(requested: Any, message: str) -> Refusal:
    named = requested if type(requested) is str else ""
    said = f"{message}; supported is {VERSION}"
    return refused(RPC_UNSUPPORTED_PROTOCOL_VERSION, "RKM008", said, supported=[VERSION], requested=named)


def _invalid(rule: str, message: str, place: str) -> Refusal:
    return refused(RPC_INVALID_PARAMS, rule, message, place=place[:200])


def unknown_tool() -> Refusal:
    """The one answer to a name that is unknown, obsolete or not to be seen: it never differs. {P12}"""
    return refused(RPC_INVALID_PARAMS, "RKM012", "unknown tool")


def invalid_cursor() -> Refusal:
    """The one answer to a cursor that is not of this list at this moment."""
    return refused(RPC_INVALID_PARAMS, "RKM013", "the cursor is not valid for this list")


def internal(code: str, message: str, **more: str) -> Refusal:
    """A failure of the host; `code` is one of the words in the heading."""
    return Refusal(RPC_INTERNAL_ERROR, message, {"code": code, **more})


def cancelled_id(params: dict[str, Any] | None) -> Id | None:
    """The id that a cancel notification names; None where it is malformed, which is not an error."""
    if misfit(params, _CANCELLED_PARAMS) is not None or params is None:
        return None
    identifier: Id = params["requestId"]
    return identifier


def error_line(refusal: Refusal, id: Id | None) -> bytes:
    """The error response to `id`, or without id where there is none to name."""
    error = {"code": refusal.rpc, "data": refusal.data, "message": refusal.message}
    document: dict[str, Any] = {"error": error, "jsonrpc": "2.0"}
    if id is not None:
        document["id"] = id
    return canonical(document).encode() + b"\n"


def result_line(result: str, id: Id) -> bytes | None:
    """The response that carries the JSON text `result`; None where it is longer than a message may be."""
    line = f'{{"id":{canonical(id)},"jsonrpc":"2.0","result":{result}}}\n'.encode()
    return line if len(line) <= LIMIT_MESSAGE_OUT_BYTES + 1 else None


class Results:
    """The texts of results; what is the same in each of them is put together once."""

    __slots__ = ("_meta", "discover")

    def __init__(self, name: str, version: str) -> None:
        self._meta = '"_meta":' + canonical({_PREFIX + "serverInfo": {"name": name, "version": version}})
        # No listChanged: there is no subscription path. {P21} Nothing may be cached. {P20}
        self.discover = (
            f'{{{self._meta},"cacheScope":"private","capabilities":{{"tools":{{}}}},"resultType":"complete",'
            f'"supportedVersions":["{VERSION}"],"ttlMs":0}}'
        )

    def page(self, tools: list[str], cursor: str | None) -> str:
        """One page of `tools`, each a JSON object as text; `cursor` leads to the next one."""
        following = "" if cursor is None else f'"nextCursor":{canonical(cursor)},'
        return (
            f'{{{self._meta},"cacheScope":"private",{following}"resultType":"complete",'
            f'"tools":[{",".join(tools)}],"ttlMs":0}}'
        )

    def call(self, envelope: dict[str, Any]) -> str:
        """A finished call: the envelope as structured content, its canonical text as the one block. {M10 M14 M15}"""
        text = canonical(envelope)
        failed = "false" if envelope["outcome"] == "succeeded" else "true"
        return (
            f'{{{self._meta},"content":[{{"text":{canonical(text)},"type":"text"}}],"isError":{failed},'
            f'"resultType":"complete","structuredContent":{text}}}'
        )
