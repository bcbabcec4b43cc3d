"""Values: the strict JSON reader, exact numbers, Unicode, canonical JSON, and the error every room raises.

The lowest room: it imports nothing else of rukh and does no I/O. The names below are the room's public ones;
each is loaded from its module on first use, so that a path pays only for what it needs. Two functions bear
the name of their module and are bound here at once: a module that is loaded later would otherwise take their
place.
"""

from __future__ import annotations

from rukh.values.canonical import canonical
from rukh.values.front import front
from rukh.values.nearest import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.values.canonical import canonical_bytes
    from rukh.values.errors import RukhError
    from rukh.values.ids import new_id, sha256_hex
    from rukh.values.numbers import compare_decimals, is_number_token, normalize_decimal, parse_number
    from rukh.values.pointer import join
    from rukh.values.reader import Positions, read, read_located
    from rukh.values.unicode import check_text

__all__ = [
    "Positions",
    "RukhError",
    "canonical",
    "canonical_bytes",
    "check_text",
    "compare_decimals",
    "is_number_token",
    "join",
    "nearest",
    "new_id",
    "normalize_decimal",
    "parse_number",
    "read",
    "read_located",
    "sha256_hex",
]

_HOMES = {
    "canonical": "canonical_bytes",
    "errors": "RukhError",
    "ids": "new_id sha256_hex",
    "numbers": "compare_decimals is_number_token normalize_decimal parse_number",
    "pointer": "join",
    "reader": "Positions read read_located",
    "unicode": "check_text",
}

__getattr__ = front(__name__, _HOMES)
