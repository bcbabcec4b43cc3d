"""One error for every refusal, ordered by who is at fault.

A refusal names the rule that refused (a stable id of `spec/registry.json`), the place, and the way to mend
it. Severity, fault and exit code belong to the rule, not to the raiser. RK-VAL-001
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class RukhError(Exception):
    """A refusal that a person can act upon.

    `rule` is a rule id such as `RKV003`; `place` a JSON Pointer, a path or a name; `mend` one sentence that
    says what to do; `line` and `column` count from 1 and are 0 where there is no text.
    """

    def __init__(
        self, rule: str, message: str, *, place: str = "", mend: str = "", line: int = 0, column: int = 0
    ) -> None:
        super().__init__(f"{rule} {message}")
        self.rule = rule
        self.message = message
        self.place = place
        self.mend = mend
        self.line = line
        self.column = column

    def _row(self) -> tuple[str, str, int, str]:
        from rukh.values.rules import RULES  # read only once something is refused: not on the path of a call

        return RULES[self.rule]

    @property
    def fault(self) -> str:
        """`publisher`, `owner`, `caller` or `host`."""
        return self._row()[1]

    @property
    def exit_code(self) -> int:
        """The exit status of the command line for this rule."""
        return self._row()[2]

    @property
    def title(self) -> str:
        """The rule in one line."""
        return self._row()[3]

    def document(self) -> dict[str, Any]:
        """The refusal as a JSON object; absent members have nothing to say."""
        document: dict[str, Any] = {"code": self.rule, "message": self.message}
        for name in ("place", "mend", "line", "column"):
            value = getattr(self, name)
            if value:
                document[name] = value
        return document
