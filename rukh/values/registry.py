"""Generated from spec/registry.json by tools/generate.py: closed lists, codes and limits."""

# Exit codes of the command line.
EXIT_SUCCEEDED = 0
EXIT_COMMAND_FAILED = 1
EXIT_REJECTED = 64
EXIT_UNKNOWN_COMMAND = 65
EXIT_NOT_TRUSTED = 66
EXIT_PUBLICATION_CONFLICT = 67
EXIT_UNSUPPORTED = 69
EXIT_EXECUTION_FAILED = 70
EXIT_BUSY = 75
EXIT_CONSENT_OR_BUDGET = 76
EXIT_DENIED = 77
EXIT_AUTHENTICATION_REQUIRED = 78
EXIT_DEADLINE = 124
EXIT_SCOPE_CANCELLED = 125
EXIT_CALLER_CANCELLED = 130

# The same by the name of the class, which an application may give another number.
EXIT_CODES = {
    "succeeded": 0,
    "command_failed": 1,
    "rejected": 64,
    "unknown_command": 65,
    "not_trusted": 66,
    "publication_conflict": 67,
    "unsupported": 69,
    "execution_failed": 70,
    "busy": 75,
    "consent_or_budget": 76,
    "denied": 77,
    "authentication_required": 78,
    "deadline": 124,
    "scope_cancelled": 125,
    "caller_cancelled": 130,
}

# JSON-RPC error codes of MCP over stdio.
RPC_PARSE_ERROR = -32700
RPC_INVALID_REQUEST = -32600
RPC_METHOD_NOT_FOUND = -32601
RPC_INVALID_PARAMS = -32602
RPC_INTERNAL_ERROR = -32603
RPC_UNSUPPORTED_PROTOCOL_VERSION = -32022

# Limits, each with its unit and its reason.
LIMIT_INTEGER = 9007199254740991  # magnitude: largest n with n and n+1 exact in binary64
LIMIT_DECIMAL_DIGITS = 34  # digits: the precision of IEEE 754 decimal128
LIMIT_INPUT_BYTES = 65536  # canonical bytes: one call's inputs
LIMIT_INPUT_ELEMENTS = 1024  # elements: one call's list elements and parameters
LIMIT_INPUT_DEPTH = 4  # levels: object, list, scalar, and one to name the fault
LIMIT_SCHEMA_BYTES = 65536  # canonical bytes: R14
LIMIT_RESULT_BYTES = 131072  # UTF-8 bytes: R14
LIMIT_RESULT_DEPTH = 16  # levels: R14
LIMIT_RESULT_MEMBERS = 2048  # members and elements: R14
LIMIT_RESULT_WORK = 65536  # steps: above what any result within the other limits can cost
LIMIT_RESULT_MILLISECONDS = 100  # ms: R14, a backstop behind the work counters
LIMIT_DESCRIPTOR_BYTES = 1048576  # bytes: one descriptor
LIMIT_DESCRIPTOR_DEPTH = 32  # levels: deeper than any admitted descriptor
LIMIT_DESCRIPTOR_MEMBERS = 262144  # members and elements: 512 commands of 64 parameters
LIMIT_DESCRIPTOR_COMMANDS = 512  # commands: one package
LIMIT_COMMAND_PARAMETERS = 64  # parameters: one command
LIMIT_CHOICE_VALUES = 1024  # values: one choice; a wrong one is compared with each
LIMIT_FINDINGS = 1000  # findings: one run of a checker over one document
LIMIT_ENVIRONMENT_NAMES = 32  # names: one command
LIMIT_REQUESTED_OPERATIONS = 32  # requests: one command
LIMIT_PROGRAM_WORDS = 32  # words: an entry or program with its fixed arguments
LIMIT_PATH_WORDS = 4  # words: one path, one alias, the mount words of one package
LIMIT_COMMAND_EXAMPLES = 16  # examples: one command
LIMIT_COMMAND_ALIASES = 16  # aliases: one command
LIMIT_PARAMETER_NAMES = 8  # names: one option or flag
LIMIT_TITLE_LENGTH = 128  # code points: bounded publisher text
LIMIT_DESCRIPTION_LENGTH = 4096  # code points: bounded publisher text
LIMIT_ARTIFACT_BYTES = 67108864  # bytes: one release, packed
LIMIT_ARTIFACT_ENTRIES = 4096  # entries: one release
LIMIT_UNPACKED_BYTES = 268435456  # bytes: one release, unpacked
LIMIT_CATALOG_BYTES = 4194304  # bytes: one catalog document
LIMIT_SIGNATURE_BYTES = 65536  # bytes: one DSSE envelope
LIMIT_PROFILE_BYTES = 1048576  # bytes: one owner file
LIMIT_PROFILE_ITEMS = 4096  # items: one list of the owner file
LIMIT_CHANNEL_FRAME_BYTES = 262144  # bytes: one frame of rukh.channel/1, its LF included
LIMIT_CHANNEL_DEPTH = 24  # levels: a result of depth 16 inside a completion
LIMIT_CHANNEL_MEMBERS = 4096  # members and elements: a result of 2,048 inside a completion
LIMIT_CHANNEL_MESSAGE = 4096  # code points: publisher text that stands in an outcome or beside progress
LIMIT_MESSAGE_IN_BYTES = 1048576  # bytes: M27
LIMIT_MESSAGE_OUT_BYTES = 2097152  # bytes: M27
LIMIT_MESSAGE_DEPTH = 32  # levels: M28
LIMIT_MESSAGE_MEMBERS = 4096  # members and elements: M28
LIMIT_QUEUE_MESSAGES = 32  # messages: M27
LIMIT_QUEUE_BYTES = 4194304  # bytes: M27
LIMIT_PARTIAL_MILLISECONDS = 2000  # ms: M27, a partial read or a blocked write
LIMIT_LIST_MILLISECONDS = 30000  # ms: M27, discovery and list
LIMIT_PAGE_TOOLS = 32  # tools: P19
LIMIT_PAGE_BYTES = 1048576  # bytes: P19
LIMIT_PAGE_ROOM_BYTES = 4096  # bytes: a name, a cursor and the members of the result around the tools of a page
LIMIT_CURSOR_BYTES = 512  # bytes: P18
LIMIT_SLUG_LENGTH = 48  # characters: P06
LIMIT_DIAGNOSTIC_BYTES = 65536  # bytes a stream: R22, kept for the owner
LIMIT_CONCURRENCY = 16  # calls: M26, one MCP host
LIMIT_CLI_DEADLINE_MILLISECONDS = 3600000  # ms: a managed call from the terminal
LIMIT_START_MILLISECONDS = 10000  # ms: from spawn to a confirmed session
LIMIT_STOP_MILLISECONDS = 5000  # ms: the one finalization budget of a call
LIMIT_TURNSTILE_MILLISECONDS = 5000  # ms: how long a writer waits before it answers busy
LIMIT_KEPT_REVISIONS = 32  # revisions: the newest ones of a home, which a rollback can name
LIMIT_WRITE_AHEAD_ROWS = 256  # rows: one transaction of a publication that is being staged: a call waits for no more
LIMIT_EFFECTS_PER_CALL = 64  # effects: one call
LIMIT_DRAIN_MILLISECONDS = 30000  # ms: calls in flight when an MCP client ends its input
LIMIT_CHECKED_FILES = 1024  # files: descriptors that one check looks at; a repository of extensions has dozens
LIMIT_CHECKED_ENTRIES = 65536  # entries: directory entries that one check looks through for descriptors; more is a wrong directory
LIMIT_TOOL_NAME_LENGTH = 96  # characters: advised length of a tool's name: the protocol's 128 less what clients put before it
LIMIT_SHOWN_CHANGES = 20  # lines a kind of change: what is read before a yes; no kind of change can hide another

# Outcome reasons and the exit code of each.
REASON_EXITS = {
    "invalid_input": 64,
    "unsupported": 69,
    "unavailable": 69,
    "denied": 77,
    "undecidable": 69,
    "authentication_required": 78,
    "budget_exhausted": 76,
    "consent_required": 76,
    "effect_uncertain": 76,
    "environment_unavailable": 69,
    "environment_busy": 75,
    "audit_failed": 70,
    "result_missing": 70,
    "result_invalid": 70,
    "result_too_large": 70,
    "result_timeout": 70,
    "protocol_violation": 70,
    "exit_mismatch": 70,
    "exited_early": 70,
    "spawn_failed": 70,
    "cleanup_unconfirmed": 70,
    "deadline": 124,
    "caller": 130,
    "owner": 125,
    "scope_closed": 125,
    "host_lost": 70,
    "command": 1,
}

OUTCOMES = (
    "succeeded",
    "command_failed",
    "rejected",
    "execution_failed",
    "cancelled",
)

FEATURES = (
    "command-result/1",
)

OPERATIONS = (
    "files.read/1",
    "files.list/1",
    "files.write/1",
    "files.delete/1",
    "state.get/1",
    "state.put/1",
)

ENFORCEMENT_PROFILES = (
    "host-trusted/1",
)

AUDIT_EVENTS = (
    "invocation.captured",
    "invocation.rejected",
    "invocation.finished",
    "profile.published",
    "profile.conflicted",
    "trust.added",
    "source.added",
    "source.removed",
    "task.issued",
    "install.admitted",
    "install.denied",
    "release.staged",
    "profile.refused",
    "profile.aborted",
    "trust.revoked",
    "invocation.lost",
    "release.collected",
    "revision.collected",
    "consent.given",
    "consent.refused",
)

RESERVED_WORDS = (
    "demo",
    "check",
    "new",
    "dev",
    "test",
    "pack",
    "keygen",
    "sign",
    "catalog",
    "trust",
    "source",
    "install",
    "update",
    "remove",
    "list",
    "info",
    "profile",
    "run",
    "mcp",
    "task",
    "approve",
    "effect",
    "invocation",
    "audit",
    "recover",
    "gc",
    "doctor",
    "completion",
    "help",
    "host-driver",
    "import",
    "signin",
    "signout",
)

CORE_OPTIONS = (
    "--help",
    "--json",
    "--envelope",
    "--wait",
    "--read",
)

PASSTHROUGH_ENVIRONMENT = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "TMPDIR",
    "TERM",
    "TERMINFO",
    "COLORTERM",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
)
