"""The checks before dispatch against two judges: the published schema where it lies, and the `mcp` package always."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import validate_client_notification, validate_client_request
from pydantic import ValidationError

from rukh.mcp.protocol import cancelled_id, check_request, misfit, result_line
from rukh.mcp.wire import Refusal, Request
from rukh.values.registry import LIMIT_MESSAGE_OUT_BYTES
from tests.support.mcp_messages import META, PREFIX, VERSION, published_says

UNSUPPORTED = {"code": "RKM008", "mend": "speak a supported version", "supported": [VERSION]}
_REQUESTS = {
    "server/discover": "DiscoverRequest",
    "tools/list": "ListToolsRequest",
    "tools/call": "CallToolRequest",
}


def refused(method: str, params: Any) -> tuple[int, str] | None:
    """Code and rule of the refusal, or None where the request passes."""
    try:
        check_request(Request(1, method, params))
    except Refusal as refusal:
        return refusal.rpc, refusal.data["code"]
    return None


def with_meta(name: str, value: Any) -> dict[str, Any]:
    """Params whose `_meta` differs in one member; `...` leaves it out."""
    meta = {**META, name: value}
    return {"_meta": {key: member for key, member in meta.items() if member is not ...}}


# Each refused row differs from an accepted one in one member.
CONTEXTS = {
    "complete": ("progressToken", "t", None),
    "no version": (PREFIX + "protocolVersion", ..., (-32602, "RKM007")),
    "version as number": (PREFIX + "protocolVersion", 1, (-32602, "RKM007")),
    "older version": (PREFIX + "protocolVersion", "2025-11-25", (-32022, "RKM008")),
    "no capabilities": (PREFIX + "clientCapabilities", ..., (-32602, "RKM007")),
    "capabilities as list": (PREFIX + "clientCapabilities", [], (-32602, "RKM007")),
    "capabilities known": (PREFIX + "clientCapabilities", {"sampling": {"tools": {}}}, None),
    "capabilities unknown": (PREFIX + "clientCapabilities", {"own": 5}, None),
    "extension settings no object": (
        PREFIX + "clientCapabilities",
        {"extensions": {"a/b": 1}},
        (-32602, "RKM007"),
    ),
    "no clientInfo": (PREFIX + "clientInfo", ..., None),
    "clientInfo null": (PREFIX + "clientInfo", None, (-32602, "RKM007")),
    "clientInfo nameless": (PREFIX + "clientInfo", {"version": "1"}, (-32602, "RKM007")),
    "icon without source": (
        PREFIX + "clientInfo",
        {"name": "a", "version": "1", "icons": [{}]},
        (-32602, "RKM007"),
    ),
    "icon": (
        PREFIX + "clientInfo",
        {"name": "a", "version": "1", "icons": [{"src": "x", "theme": "dark"}]},
        None,
    ),
    "icon theme": (
        PREFIX + "clientInfo",
        {"name": "a", "version": "1", "icons": [{"src": "x", "theme": "grey"}]},
        (-32602, "RKM007"),
    ),
    "token a fraction": ("progressToken", 1.5, (-32602, "RKM007")),
    "token true": ("progressToken", True, (-32602, "RKM007")),
    "unknown member": ("com.example/x", [1], None),
}


@pytest.mark.requirement("RK-MCP-013", "RK-MCP-014", "RK-MCP-020")
@pytest.mark.parametrize(("name", "value", "expected"), CONTEXTS.values(), ids=CONTEXTS)
def test_a_protocol_context_is_the_published_one(name: str, value: Any, expected: Any) -> None:
    assert refused("server/discover", with_meta(name, value)) == expected


@pytest.mark.requirement("RK-MCP-014")
def test_another_version_is_told_which_one_is_supported_and_which_it_asked_for() -> None:
    with pytest.raises(Refusal) as caught:
        check_request(Request(1, "no/such", with_meta(PREFIX + "protocolVersion", "2099-01-01")))
    assert caught.value.data == {**UNSUPPORTED, "requested": "2099-01-01"}


@pytest.mark.requirement("RK-MCP-015")
def test_initialize_is_told_which_version_is_supported() -> None:
    with pytest.raises(Refusal) as caught:
        check_request(Request(1, "initialize", {"protocolVersion": "2025-11-25"}))
    assert caught.value.rpc == -32022
    assert caught.value.data == {**UNSUPPORTED, "requested": "2025-11-25"}
    assert VERSION in caught.value.message


PARAMETERS = {
    "list": ("tools/list", {}, None),
    "list with a cursor": ("tools/list", {"cursor": "c"}, None),
    "list with cursor null": ("tools/list", {"cursor": None}, (-32602, "RKM010")),
    "call": ("tools/call", {"name": "n"}, None),
    "call with arguments": ("tools/call", {"name": "n", "arguments": {"a": None}}, None),
    "call with arguments null": ("tools/call", {"name": "n", "arguments": None}, (-32602, "RKM010")),
    "call without name": ("tools/call", {}, (-32602, "RKM010")),
    "unknown parameter": ("server/discover", {"verbose": True}, None),
    "method unknown": ("prompts/list", {}, (-32601, "RKM009")),
    "method of another case": ("Tools/List", {}, (-32601, "RKM009")),
    "answers": ("tools/call", {"name": "n", "inputResponses": {}}, (-32602, "RKM011")),
    "state": ("tools/list", {"requestState": ""}, (-32602, "RKM011")),
}


@pytest.mark.requirement("RK-MCP-016", "RK-MCP-017", "RK-MCP-031")
@pytest.mark.parametrize(("method", "params", "expected"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_method_takes_its_own_parameters(method: str, params: dict[str, Any], expected: Any) -> None:
    assert refused(method, {"_meta": META, **params}) == expected


def test_a_misfit_names_its_place() -> None:
    with pytest.raises(Refusal) as caught:
        check_request(
            Request(1, "server/discover", with_meta(PREFIX + "clientInfo", {"name": "a", "version": 1}))
        )
    assert caught.value.data["place"] == "/params/_meta/io.modelcontextprotocol~1clientInfo/version"


_SCALARS: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, 1.5, "x", "debug", "dark", [], {}])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "src", "form"]), inner),
    max_leaves=4,
)
_IMPLEMENTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("n") | _SCALARS,
        "version": st.just("1") | _SCALARS,
        "title": _SCALARS,
        "icons": st.lists(
            st.fixed_dictionaries({}, optional={"src": _SCALARS, "theme": _SCALARS, "sizes": _VALUES}),
            max_size=2,
        ),
        "own": _VALUES,
    },
)
_CAPABILITIES = st.dictionaries(
    st.sampled_from(["elicitation", "experimental", "extensions", "roots", "sampling", "own"]),
    _VALUES,
    max_size=3,
)
_METAS = st.fixed_dictionaries(
    {PREFIX + "protocolVersion": st.just(VERSION)},
    optional={
        PREFIX + "clientCapabilities": _CAPABILITIES | _SCALARS,
        PREFIX + "clientInfo": _IMPLEMENTATIONS | _SCALARS,
        PREFIX + "logLevel": _SCALARS,
        "progressToken": _SCALARS,
    },
)
_PARAMS = st.fixed_dictionaries(
    {},
    optional={"_meta": _METAS, "name": _SCALARS, "arguments": _VALUES, "cursor": _SCALARS, "own": _VALUES},
)


def _with_typed_settings(params: dict[str, Any]) -> dict[str, Any]:
    """`params` with 0 for each null and fraction inside a setting of a client's capability."""
    name = PREFIX + "clientCapabilities"
    meta = params.get("_meta")
    if not isinstance(meta, dict) or not isinstance(meta.get(name), dict):
        return params
    settled = {
        capability: {
            setting: _typed(value) if isinstance(value, dict) else value
            for setting, value in settings.items()
        }
        if isinstance(settings, dict)
        else settings
        for capability, settings in meta[name].items()
    }
    return {**params, "_meta": {**meta, name: settled}}


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _typed(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return 0 if value is None or isinstance(value, float) else value


@pytest.mark.requirement("RK-MCP-013", "RK-MCP-016", "RK-MCP-020")
@given(method=st.sampled_from(sorted(_REQUESTS)), params=_PARAMS)
def test_requests_pass_exactly_where_the_judges_let_them(method: str, params: dict[str, Any]) -> None:
    """The published schema agrees but for null and fractions in a setting of a capability, which it has no type for;
    the package is the looser judge of null and of booleans alone."""
    passes = refused(method, params) is None
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    typed = {**request, "params": _with_typed_settings(params)}
    assert passes in (
        published_says(_REQUESTS[method], request),
        published_says(_REQUESTS[method], typed),
    ) or (published_says(_REQUESTS[method], request) is None)
    try:
        validate_client_request(method, VERSION, params)
    except ValidationError:
        assert not passes
    else:
        assert passes or _read_loosely(params)


def _read_loosely(value: Any) -> bool:
    """Whether null or a boolean stands somewhere: the package takes them for absence and for an integer."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or value is True or any(_read_loosely(item) for item in inner)


_CANCELS = st.none() | st.fixed_dictionaries(
    {}, optional={"requestId": _SCALARS, "reason": _SCALARS, "_meta": _VALUES, "own": _VALUES}
)


@pytest.mark.requirement("RK-MCP-034")
@given(params=_CANCELS)
def test_a_cancellation_counts_exactly_where_the_judges_let_it(params: dict[str, Any] | None) -> None:
    counts = cancelled_id(params) is not None
    notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    assert published_says("CancelledNotification", notification) in (counts, None)
    try:
        validate_client_notification("notifications/cancelled", VERSION, params)
    except ValidationError:
        assert not counts
    else:
        assert counts or _read_loosely(params)


def test_a_shape_refuses_what_is_not_there_and_leaves_alone_what_it_does_not_know() -> None:
    shape = {"a!": str, "b": [int]}
    values: list[Any] = [{"a": "x", "c": 1}, {"b": [1]}, {"a": "x", "b": [1, "y"]}, []]
    found = [misfit(value, shape) for value in values]
    assert found == [None, "/a", "/b/1", ""]


@pytest.mark.requirement("RK-MCP-008", "RK-MCP-037")
def test_a_response_is_at_most_two_mebibytes_long() -> None:
    frame = len(result_line('""', 1) or b"") - 1
    fits = '"' + "x" * (LIMIT_MESSAGE_OUT_BYTES - frame) + '"'
    line = result_line(fits, 1)
    assert line is not None
    assert len(line) == LIMIT_MESSAGE_OUT_BYTES + 1
    assert result_line(fits + " ", 1) is None
