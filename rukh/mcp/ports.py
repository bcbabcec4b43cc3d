"""What the adapter asks of the host, and the words in which the host answers.

The adapter holds no store and starts no process: it asks a `HostPort`. The host binds endpoint, subject, actor and
task at start, once; nothing that a client says reaches them (RK-MCP-021). A host answers with a value, or raises one
of the four exceptions here; any other `RukhError` of a call is answered as an internal error that names its rule.

    view      may raise VisibilityUnavailable; any other RukhError of it, and of the key, is answered alike
    invoke    may raise Moved (the name went stale before capture), Busy (no invocation was made) and
              Uncommitted (the invocation ran and its outcome could not be committed)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Cancel(Protocol):
        """The way to stop one call; safe to use from another thread than the call's.

        The host calls `launched` in the call's thread, once, when from then on the call waits for its child. It may
        be set until the call is invoked.
        """

        launched: Callable[[], None]

        def request(self, cause: str) -> bool:
            """Ask for a stop with `cause`; false once the outcome's commit has been asked for."""

    class HostPort(Protocol):
        """The host behind one endpoint; `invoke` is called from a thread a call, the rest from the serving thread."""

        def view(self, endpoint: str, deadline_at: float) -> View:
            """What the endpoint may see at this moment; gives up, by VisibilityUnavailable, at `deadline_at` of the
            monotonic clock."""

        def invoke(self, view: View, identity: str, arguments: dict[str, Any], cancel: Cancel) -> Outcome:
            """Capture under `view.revision`, admit, execute and commit one call; inputs are checked inside."""

        def new_cancel(self) -> Cancel:
            """A fresh cancellation for one call, made before its thread starts."""

        def cursor_key(self) -> bytes:
            """The store's secret for cursors: at least 32 random bytes, never shown. May raise RukhError."""


class Binding:
    """Who calls through this endpoint, fixed when the host starts. {E10 E11}"""

    __slots__ = ("actor", "endpoint", "subject", "task")

    def __init__(self, endpoint: str, subject: str, actor: str, task: str) -> None:
        self.endpoint = endpoint
        self.subject = subject
        self.actor = actor
        self.task = task


class View:
    """The tools that one endpoint sees under one revision.

    `tools` holds pairs of canonical identity and stored tail: the canonical JSON text of an object with title,
    description and schemas, without a name. `visibility` is a digest of everything that decided what is seen.
    """

    __slots__ = ("namespace", "revision", "tools", "visibility")

    def __init__(self, revision: str, namespace: str, tools: list[tuple[str, str]], visibility: str) -> None:
        self.revision = revision
        self.namespace = namespace
        self.tools = tools
        self.visibility = visibility


class Outcome:
    """The committed outcome of one call: `envelope` is the outcome envelope as a JSON object."""

    __slots__ = ("envelope",)

    def __init__(self, envelope: dict[str, Any]) -> None:
        self.envelope = envelope


class VisibilityUnavailable(Exception):
    """What the endpoint may see cannot be said: never an empty list. {E08}"""


class Moved(Exception):
    """The captured revision is not the one the name was resolved under, or the command is no longer seen."""


class Busy(Exception):
    """A bounded wait ended before an invocation existed."""


class Uncommitted(Exception):
    """The call ran and its outcome is not committed; recovery reads it by `invocation_id`."""

    def __init__(self, invocation_id: str) -> None:
        super().__init__(invocation_id)
        self.invocation_id = invocation_id
