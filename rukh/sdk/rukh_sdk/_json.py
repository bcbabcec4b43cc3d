"""JSON through the compiled half of the standard library's `json`: importing the other half doubles the start.

Where an interpreter has no such half, or another one, the whole module is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Reading:
    """The settings of `json.JSONDecoder`, under the names that the scanner looks up."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}


def _refuse(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} is not a JSON value: {value!r}")


def _compiled() -> tuple[Any, Any]:
    import _json

    scan = _json.make_scanner(_Reading)  # type: ignore[arg-type]  # it only reads the members that a decoder has
    write = _json.make_encoder({}, _refuse, _json.encode_basestring, None, ":", ",", False, False, False)
    return (lambda text: scan(text, 0)[0]), (lambda value: "".join(write(value, 0)))


def _whole() -> tuple[Any, Any]:
    import json

    write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse)
    return json.loads, write.encode


try:
    decode, encode = _compiled()
except (ImportError, AttributeError, TypeError):
    decode, encode = _whole()
