"""The conditions of an export and of a call, each judged by the predicate by which production judges it.

A condition takes the `Subject` and gives a few words of what it found, or None where something before it is missing, so
that there is nothing to look at; it raises the refusal that publication, list or call would give. RK-EXPL-005
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rukh.contract.candidate import check_preset, fitted_tail, selected_by
from rukh.contract.coherence import FEATURE_RESULT
from rukh.contract.descriptor import check
from rukh.contract.grammar import FORMAT
from rukh.contract.policy import LOCAL_USER, deciding
from rukh.contract.projection import export_conditions
from rukh.host.invocation import Call, check_access, check_support, release_of
from rukh.host.launch import plan_launch
from rukh.mcp.endpoint import attach, entry_of, view_of
from rukh.mcp.listing import Listing
from rukh.sources.staging import installed_descriptor, verify_tree
from rukh.sources.verify import trusted as trusted_keys
from rukh.store.calls import Caller, revoked
from rukh.store.profiles import Active
from rukh.store.store import Records
from rukh.values.canonical import canonical_bytes
from rukh.values.errors import RukhError
from rukh.values.nearest import alike

# What the baseline of a machine-eligible command refuses, by the condition that it belongs to.
_BASELINE = {
    "foreground": ("RKD006",),
    "result": ("RKD026",),
    "stdin": ("RKD028",),
    "features": ("RKD027", "RKD029"),
}

Found = str | None


class Subject:
    """What is asked about, with what the home has of it: each part is None where it is not there."""

    def __init__(
        self, store: Records, active: Active, identity: str, endpoint: str, program: str, now: int
    ) -> None:
        self.store = store
        self.active = active
        self.identity = identity
        self.package, _, self.id = identity.partition("/")
        self.endpoint = endpoint
        self.program = program
        self.now = now
        self.entry: dict[str, Any] | None = active.profile["packages"].get(self.package)
        self.record: dict[str, Any] | None = store.profiles.command(active.generation, identity)
        self.setting: dict[str, Any] | None = active.profile["endpoints"].get(endpoint)
        self.task = store.tasks.of_endpoint(endpoint)
        self.name = ""

        self.actor: str | None = None
        if self.task is not None:
            self.actor = self.task.binding["actor"]
        elif self.setting is not None:
            self.actor = self.setting["actor"]

    @property
    def call(self) -> Call | None:
        """The call that an agent would make of it; without a task, under the actor that one would bind."""
        if self.record is None:
            return None
        caller = Caller("mcp", LOCAL_USER, self.actor or LOCAL_USER)
        return Call(self.active, self.record, {}, caller, 0)


# The package.


def trusted(subject: Subject) -> Found:
    keys = subject.store.trust
    if subject.entry is None:
        return f"keys: {len(trusted_keys(subject.package, keys.keys(subject.package)))}"
    signer = subject.entry["signer"]
    if signer in keys.revoked_keys(subject.package):
        raise revoked(subject.package)
    return f"signed by {signer[:16]}"


def installed(subject: Subject) -> Found:
    versions = subject.store.trust.releases(subject.package)
    if not versions and subject.entry is None:
        mend = f"{subject.program} install {subject.package}"
        if not subject.store.trust.sources():
            mend = f"{subject.program} source add NAME DIR, then {mend}"
        raise RukhError("RKP010", f"{subject.package} is not installed", place=subject.package, mend=mend)
    return ", ".join(versions)


def active(subject: Subject) -> Found:
    if subject.entry is None:
        known = subject.active.profile["packages"]
        near = alike(subject.package, known, ".")
        raise RukhError(
            "RKP010",
            f"{subject.active.revision} does not bind {subject.package}",
            place="/packages",
            mend=f"did you mean {near}?" if near else f"{subject.program} install {subject.package}",
        )
    return f"{subject.entry['version']} in {subject.active.revision}"


def present(subject: Subject) -> Found:
    return None if subject.call is None else f"in {release_of(subject.store.home, subject.call)}"


def unmodified(subject: Subject) -> Found:
    if subject.entry is None:
        return None
    verify_tree(subject.store.home, subject.entry["tree"])
    return ""


# The command.


def command(subject: Subject) -> Found:
    if subject.entry is None:
        return None
    if subject.record is None:
        routes = subject.store.profiles.routes(subject.active.generation)
        own = {route[2] for route in routes if route[2].startswith(f"{subject.package}/")}
        near = alike(subject.identity, own, "/")
        raise RukhError(
            "RKP010",
            f"{subject.package} {subject.entry['version']} has no command {subject.id}",
            place=subject.identity,
            mend=f"did you mean {near}?" if near else f"it has {', '.join(sorted(own))}",
        )
    return " ".join(subject.record["path"])


def descriptor_format(subject: Subject) -> Found:
    if subject.record is None or subject.record["machine"]["eligible"]:
        return None if subject.record is None else FORMAT
    descriptor = _descriptor(subject)
    if descriptor is not None and descriptor["format"] != FORMAT:
        raise RukhError("RKP011", f"{descriptor['format']} has no machine contract", place="/format",
                        mend=f"ask its publisher for a release with {FORMAT}")  # fmt: skip
    return None if descriptor is None else FORMAT


def _descriptor(subject: Subject) -> dict[str, Any] | None:
    """The installed descriptor; None where it is not there as it was verified, which `unmodified` says."""
    entry = subject.entry
    if entry is None:
        return None
    try:
        return check(installed_descriptor(subject.store.home, entry["tree"], entry["descriptor"])).descriptor
    except RukhError:
        return None


def exportable(name: str) -> Callable[[Subject], Found]:
    """One of the conditions by which a publication decides what may be a tool."""

    def judge(subject: Subject) -> Found:
        if subject.record is None:
            return None
        refusal = dict(export_conditions(subject.record))[name]
        if refusal is not None:
            raise refusal
        return ""

    return judge


def baseline(name: str) -> Callable[[Subject], Found]:
    """One of the conditions that a descriptor must meet to say that the command is eligible. RK-DESC-026

    Of an eligible command they were met when its release was checked. Of another one it is asked what the check would
    find if its descriptor said so.
    """

    def judge(subject: Subject) -> Found:
        record = subject.record
        if record is None or record["mapping"]["kind"] != "managed":
            return None
        if record["machine"]["eligible"]:
            return "checked with its release"
        descriptor = _descriptor(subject)
        if descriptor is None:
            return None
        for found in check(canonical_bytes(_as_eligible(descriptor, subject.id))).diagnostics:
            if found.rule in _BASELINE[name]:
                raise RukhError(found.rule, found.message, place=found.pointer, mend=found.mend)
        return ""

    return judge


def _as_eligible(descriptor: dict[str, Any], command_id: str) -> dict[str, Any]:
    """The descriptor of this one command, saying that it is eligible."""
    (command,) = (command for command in descriptor["commands"] if command["id"] == command_id)
    machine = {"requiredFeatures": [FEATURE_RESULT], **command.get("machine", {}), "eligible": True}
    return {**descriptor, "format": FORMAT, "commands": [{**command, "machine": machine}]}


def supported(subject: Subject) -> Found:
    if subject.record is None:
        return None
    check_support(subject.record)
    return str(subject.record["requires"]["confinement"])


def runtime(subject: Subject) -> Found:
    """As the call plans it. The version of a Node is the call's to ask: asking it starts a program."""
    record, call, home = subject.record, subject.call, subject.store.home
    if record is None or call is None or record["mapping"]["kind"] != "managed":
        return None
    runtime = record["runtime"]
    if runtime["kind"] == "node":
        record = {**record, "runtime": {"kind": "node"}}
    tree = call.pinned().tree
    plan_launch(record, home.at("releases", tree), home.at("cache", tree), home.at("run", "explained"), {})
    return None if runtime["kind"] == "node" and "requires" in runtime else str(runtime["kind"])


# The endpoint.


def endpoint(subject: Subject) -> Found:
    return str(entry_of(subject.active, subject.endpoint)["namespace"])


def selected(subject: Subject) -> Found:
    if subject.setting is None:
        return None
    member = selected_by(subject.setting, subject.identity)
    if member:
        return f"by {member}"
    raise RukhError(
        "RKM012",
        f"{subject.endpoint} names neither {subject.identity} nor {subject.package}",
        place=f"/endpoints/{subject.endpoint}/commands",
        mend=f'in the owner\'s file, add "{subject.identity}" to commands of [endpoints.{subject.endpoint}], '
        f"and apply it: {subject.program} profile apply FILE",
    )


def preset(subject: Subject) -> Found:
    if subject.setting is None:
        return None
    check_preset(subject.active.profile, subject.endpoint)
    return str(subject.setting["preset"])


def fits_page(subject: Subject) -> Found:
    record = subject.record
    if record is None or any(refusal for _, refusal in export_conditions(record)):
        return None
    return f"{len(fitted_tail(record).encode())} bytes"


def listed(subject: Subject) -> Found:
    """The list itself."""
    if subject.setting is None:
        return None
    listing = Listing(view_of(subject.store, subject.active, subject.endpoint))
    for name in listing.names:
        if listing.identity(name) == subject.identity:
            subject.name = name
            return name
    raise RukhError("RKM012", f"{subject.active.revision} lists no tool of {subject.identity}",
                    place=subject.endpoint, mend="see the conditions before this one")  # fmt: skip


# The call.


def task(subject: Subject) -> Found:
    if subject.setting is None:
        return None
    attach(subject.store, subject.endpoint, subject.program)
    return None if subject.task is None else subject.task.id


def budget(subject: Subject) -> Found:
    task = subject.task
    if task is None:
        return None
    used = subject.store.tasks.used(task.id, subject.now)
    return f"{used} of {'any number of' if task.calls_limit is None else task.calls_limit} calls used"


def rule(subject: Subject) -> Found:
    """The first rule that names the actor of the task and the command; rules are counted from 1."""
    call, actor, rules = subject.call, subject.actor, subject.active.profile["rules"]
    if call is None or actor is None:
        return None
    index = deciding(rules, "run", actor, subject.identity)
    try:
        check_access(call)
    except RukhError as refusal:
        if index is None:
            refusal.message += ": no rule names both"
            refusal.place = "/rules"
            refusal.mend = (
                f'add to the owner\'s file: [[rules]] action = "run", actors = ["{actor}"], '
                f'commands = ["{subject.identity}"], decision = "allow"'
            )
        else:
            refusal.message += f": rule {index + 1} denies it"
            refusal.place = f"/rules/{index}"
            refusal.mend = f"put a rule that allows it in front of rule {index + 1}"
        raise
    return f"rule {(index or 0) + 1} allows {actor}"
