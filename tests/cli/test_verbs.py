"""Calls and verbs in this process; the host, where one is needed, is the test's."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rukh.app import Application
from rukh.cli import output
from rukh.cli.admin.homes import now_ms
from rukh.host.invocation import Finished, Moved
from rukh.store.home import open_home
from rukh.store.store import Store
from rukh.values.errors import RukhError
from rukh.values.registry import LIMIT_CONCURRENCY, LIMIT_INPUT_BYTES, LIMIT_PROFILE_BYTES
from tests.support import echo
from tests.support.commandline import Run, rule
from tests.support.homes import InstalledHome

NOTES = Path(__file__).resolve().parents[2] / "examples" / "notes"


@pytest.fixture
def echoes(tmp_path: Path) -> InstalledHome:
    home = InstalledHome(tmp_path)
    home.install(echo.FILES, commands=echo.commands())
    home.expose()
    return home


class Invokes:
    """Stands for `Host.invoke`: moves `moves` times, then succeeds; `calls` holds what came."""

    def __init__(self) -> None:
        self.moves = 0
        self.calls: list[Any] = []
        self.handlers: dict[int, Any] = {}
        self.causes: list[str] = []

    def __call__(self, _host: object, call: Any, _streams: object, cancel: Any) -> Finished:
        self.calls.append(call)
        if len(self.calls) <= self.moves:
            raise Moved
        cancel.request = self.causes.append
        for number, handler in self.handlers.items():
            handler(number, None)
        document = {"outcome": "succeeded", "commandResult": {"kind": "text", "text": "done"}}
        return Finished("inv_x", document, 0, wrote=False)


@pytest.fixture
def invokes(echoes: InstalledHome, monkeypatch: pytest.MonkeyPatch) -> Invokes:
    made = Invokes()

    def invoke(host: object, call: Any, streams: object, cancel: Any) -> Finished:
        """A method, as an object alone would not get the host it is asked of."""
        return made(host, call, streams, cancel)

    monkeypatch.setattr("rukh.cli.call.Host.invoke", invoke)
    monkeypatch.setattr("rukh.cli.call.Spawner.start", lambda **_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr("rukh.cli.call.signal.signal", made.handlers.__setitem__)
    return made


@pytest.mark.requirement("RK-CAPT-002")
@pytest.mark.parametrize("moves", [0, 1, 7, 8])
def test_words_are_resolved_again_while_the_revision_moves_and_not_for_ever(
    run: Run, invokes: Invokes, moves: int
) -> None:
    invokes.moves = moves
    status, out, err = run("echo", "speak", "hi", "--json")
    if moves < 8:
        assert (status, out, len(invokes.calls)) == (0, '"done"\n', moves + 1)
    else:
        assert (out, rule((status, out, err)), len(invokes.calls)) == ("", "RKS004", 8)


@pytest.mark.requirement("RK-CAPT-003", "RK-CLI-090")
def test_a_command_whose_record_is_gone_is_damage_of_the_home(
    echoes: InstalledHome, run: Run, invokes: Invokes
) -> None:
    store = Store(open_home(echoes.path, create=False))
    with store.database.write("FULL") as tx:
        tx.run("DELETE FROM command WHERE identity = 'acme.echo/speak'")
    store.close()
    shown = run("echo", "speak", "hi", "--json")
    assert (rule(shown), json.loads(shown[2])["error"]["place"]) == ("RKS006", echoes.path)
    assert invokes.calls == []
    assert run("echo", "say")[0] == 0


@pytest.mark.requirement("RK-ADMIT-005")
def test_each_signal_says_who_stops_the_call(run: Run, invokes: Invokes) -> None:
    run("echo", "speak", "hi")
    assert set(invokes.handlers) == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    assert dict(zip(invokes.handlers, invokes.causes, strict=True)) == {
        signal.SIGINT: "caller",
        signal.SIGTERM: "scope_closed",
        signal.SIGHUP: "scope_closed",
    }


@pytest.mark.requirement("RK-CLI-003")
@pytest.mark.usefixtures("invokes")
@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("echo", "speak", "--nope"), "argument 3: --nope"),
        (("run", "acme.echo/speak", "--nope"), "argument 3: --nope"),
        (("run", "acme.echo/speak", "x", "--nope"), "argument 4: --nope"),
        (("--home", "home", "echo", "speak", "--nope"), "argument 5: --nope"),
        (("--home=home", "run", "acme.echo/speak", "--nope"), "argument 4: --nope"),
    ],
)
def test_the_place_of_a_fault_counts_every_word(run: Run, words: tuple[str, ...], place: str) -> None:
    status, out, err = run(*words, "--envelope")
    assert (status, out) == (64, "")
    assert json.loads(err)["reason"]["place"] == place


@pytest.mark.requirement("RK-CAPT-004")
def test_words_that_the_command_refuses_are_recorded_as_a_rejected_call(
    run: Run, invokes: Invokes, echoes: InstalledHome
) -> None:
    failure = json.loads(run("echo", "speak", "--nope", "--envelope")[2])
    store = Store(open_home(echoes.path, create=False))
    rows = store.database.rows("SELECT id, outcome, surface, actor FROM invocation")
    store.close()
    assert rows == [(failure["invocationId"], "rejected", "cli", "user:local")]
    assert invokes.calls == []


@pytest.mark.requirement("RK-CLI-026")
@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"x" * LIMIT_INPUT_BYTES, None), (b"x" * (LIMIT_INPUT_BYTES + 1), "RKV009"), (b"caf\xe9", "RKV001")],
)
def test_a_file_of_a_parameter_is_bounded_and_strictly_utf8(
    run: Run, invokes: Invokes, tmp_path: Path, content: bytes, expected: str | None
) -> None:
    (tmp_path / "words").write_bytes(content)
    _, _, err = run("echo", "speak", "--read", "words=words", "--envelope")
    if expected is None:
        assert invokes.calls[0].supplied == {"words": content.decode()}
    else:
        assert f"[{expected}]" in json.loads(err)["reason"]["message"]
        assert invokes.calls == []


@pytest.mark.requirement("RK-CLI-001", "RK-CLI-054")
@pytest.mark.usefixtures("invokes")
@pytest.mark.parametrize(
    ("words", "expected"),
    [(("run",), "RKL020"), (("run", "--json"), "RKL020"), (("run", "acme.echo/none"), "RKL021")],
)
def test_run_needs_the_identity_of_an_installed_command(
    run: Run, words: tuple[str, ...], expected: str
) -> None:
    status, out, err = run(*words)
    assert (out, expected in err) == ("", True)
    assert status in (64, 65)


@pytest.mark.requirement("RK-CLI-054")
def test_an_empty_word_is_no_part_of_a_path(run: Run, invokes: Invokes) -> None:
    assert run("echo", "speak", "")[0] == 0
    assert invokes.calls[0].supplied == {"words": ""}


@pytest.mark.requirement("RK-STORE-004")
def test_a_home_without_a_profile_says_that_nothing_is_installed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "releases").mkdir()
    Store(open_home(str(tmp_path / "home"), create=True)).close()
    assert rule(run("run", "acme.echo/speak", "--json")) == "RKS008"
    assert rule(run("echo", "speak", "--json")) == "RKS008"


@pytest.mark.requirement("RK-ADMIT-005")
def test_an_interrupt_outside_a_call_ends_with_its_status(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("rukh.cli.browse.root_page", interrupted)
    assert run() == (130, "", "")
    monkeypatch.setattr("rukh.cli.admin.homes.active_of", interrupted)
    Store(open_home(os.environ["RUKH_HOME"], create=True)).close()
    assert run("list")[0] == 130


@pytest.mark.requirement("RK-CLI-028", "RK-CLI-050")
def test_help_before_the_path_is_the_applications_whatever_follows(run: Run, tmp_path: Path) -> None:
    page = run()
    assert (page[0], page[2]) == (0, "")
    assert run("--help", "no", "such") == run("-h", "list") == page
    assert not (tmp_path / "home").exists()


@pytest.mark.requirement("RK-STORE-004")
def test_the_option_names_the_home_and_wins(run: Run, tmp_path: Path) -> None:
    assert run("--home", "other", "profile", "show")[0] == 0
    assert (tmp_path / "other" / "db").is_dir()
    assert not (tmp_path / "home").exists()
    (tmp_path / "owner.toml").write_text(OWNER)
    run("--home", "other", "profile", "apply", "owner.toml")
    entry = json.loads(run("--home", "other", "mcp", "config", "--endpoint", "desktop")[1])
    server = entry["mcpServers"]["rukh-desktop"]
    assert str(tmp_path / "other") in [*server["args"], *server["env"].values()]


@pytest.mark.requirement("RK-CLI-010", "RK-CLI-063")
def test_a_form_that_is_spelled_behind_the_end_of_the_options_is_none() -> None:
    assert output.output_form(["a", "--json"]) == "json"
    assert output.output_form(["--", "--json", "--envelope"]) == "plain"
    assert output.output_form(["--json", "--", "--envelope"]) == "json"
    assert output.output_form(["--json", "--envelope"]) == "envelope"


@pytest.mark.requirement("RK-CLI-065")
def test_all_of_an_answer_is_written_however_little_is_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bytes] = []

    def write(_descriptor: int, data: Any) -> int:
        taken.append(bytes(data[:3]))
        return len(taken[-1])

    monkeypatch.setattr("rukh.cli.output.os.write", write)
    output.write_out(b"0123456789")
    assert b"".join(taken) == b"0123456789"


OWNER = """
format = "rukh.profile/1"

[presets.assistant]
deadline = "60s"
budget = { calls = 20, per = "1d" }

[endpoints.desktop]
transport = "stdio"
namespace = "acme.desktop"
preset = "assistant"
actor = "agent:desktop"

[[rules]]
action = "install"
actors = ["user:local"]
packages = ["*"]
decision = "allow"
"""


@pytest.mark.requirement("RK-TASK-003")
def test_a_task_has_the_budget_and_the_window_of_its_preset(run: Run, tmp_path: Path) -> None:
    (tmp_path / "owner.toml").write_text(OWNER)
    run("profile", "apply", "owner.toml")
    issued = json.loads(run("task", "issue", "--endpoint", "desktop", "--json")[1])
    store = Store(open_home(str(tmp_path / "home"), create=False))
    rows = store.database.rows("SELECT id, calls_limit, window_ms FROM task WHERE state = 'active'")
    store.close()
    assert rows == [(issued["task"], 20, 24 * 3600 * 1000)]


@pytest.mark.requirement("RK-TASK-004", "RK-ADM-008")
@pytest.mark.parametrize("words", [("task", "issue"), ("mcp", "tools"), ("mcp", "config")])
def test_every_verb_about_an_endpoint_names_those_there_are(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "owner.toml").write_text(OWNER)
    run("profile", "apply", "owner.toml")
    status, out, err = run(*words, "--endpoint", "laptop")
    assert (status, out) == (64, "")
    assert "RKA005" in err
    assert "desktop" in err


@pytest.mark.requirement("RK-MCP-043", "RK-ADM-002")
@pytest.mark.parametrize(("limit", "served"), [(None, LIMIT_CONCURRENCY), (3, 3)])
def test_serving_takes_the_owners_smaller_concurrency(
    run: Run, echoes: InstalledHome, monkeypatch: pytest.MonkeyPatch, limit: int | None, served: int
) -> None:
    echoes.expose(more=f"[limits]\nconcurrency = {limit}\n" if limit else "")
    asked: list[int] = []

    def serve(*_: object, concurrency: int, behind: Callable[[], None]) -> int:
        behind()
        asked.append(concurrency)
        return 0

    monkeypatch.setattr("rukh.mcp.serve.claim_stdio", lambda: (0, 1))
    monkeypatch.setattr("rukh.host.spawner.Spawner.start", lambda **_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr("rukh.mcp.serve.serve_stdio", serve)
    assert run("mcp", "serve", "--endpoint", "desk")[0] == 0
    assert run("mcp", "serve", "--endpoint=desk")[0] == 0
    assert asked == [served, served]
    assert run("mcp", "serve", "--endpoint", "desk", "more")[0] == 64
    assert len(asked) == 2


@pytest.mark.requirement("RK-ADM-004")
@pytest.mark.parametrize(
    "words",
    [
        ("mcp", "serve", "--endpoint", "x"),
        ("list",),
        ("remove", "acme.x"),
        ("update", "acme.x"),
        ("task", "issue", "--endpoint", "x"),
        ("trust", "add", "No", "--key", "k"),
        ("source", "add", "s", "nowhere"),
    ],
)
def test_a_verb_that_is_refused_makes_no_home(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert run(*words)[0] != 0
    assert not (tmp_path / "home").exists()


@pytest.mark.requirement("RK-ADM-002")
def test_a_refused_word_names_its_verb(run: Run) -> None:
    assert "rukh profile" in json.loads(run("profile", "show", "--nope", "--json")[2])["error"]["place"]


@pytest.mark.requirement("RK-STORE-015")
def test_expiries_gain_nothing_by_a_clock_that_was_turned_back(tmp_path: Path) -> None:
    far = 10**15
    store = Store(open_home(str(tmp_path / "home"), create=True), lambda: far)
    store.trust.add_source("s", "/x", subject="user:local")
    assert now_ms(store) == far
    store.close()


@pytest.mark.requirement("RK-ADM-002")
def test_names_and_places_are_judged_before_they_are_stored(run: Run, tmp_path: Path) -> None:
    assert run("keygen", "--out", "keys")[0] == 0
    assert rule(run("trust", "add", "Acme Notes", "--key", "keys/publisher.pub", "--json")) == "RKT054"
    assert rule(run("source", "add", "here", "nowhere", "--json")) == "RKT065"
    assert rule(run("source", "add", "No Name", ".", "--json")) == "RKT065"


@pytest.mark.requirement("RK-ADM-005", "RK-ADM-006")
def test_an_owners_file_is_bounded_and_strictly_utf8(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_bytes(b'format = "rukh.profile/1" # caf\xe9\n')
    assert rule(run("profile", "apply", "wrong.toml", "--json")) == "RKV001"
    (tmp_path / "large.toml").write_bytes(b'format = "rukh.profile/1"\n' + b"#" * LIMIT_PROFILE_BYTES)
    assert rule(run("profile", "apply", "large.toml", "--json")) == "RKV009"


@pytest.mark.requirement("RK-ADM-003")
def test_an_installation_hands_on_mount_consent_and_the_version_before(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    class Fake:
        def install(self, package: str, *, mount: list[str], consent: Any) -> Any:
            asked.append((mount, consent.prereleases, consent.downgrade))
            return SimpleNamespace(
                action="installed", package=package, version="1", revision="r", previous=""
            )

        def update(self, package: str, *, consent: Any) -> Any:
            asked.append((consent.prereleases, consent.downgrade))
            return SimpleNamespace(action="updated", package=package, version="2", revision="r", previous="1")

    monkeypatch.setattr("rukh.cli.admin.packages._installer", lambda *_: Fake())
    first = json.loads(run("install", "acme.x", "--mount", "my  own", "--allow-prerelease", "--json")[1])
    second = json.loads(run("update", "acme.x", "--json")[1])
    run("update", "acme.x", "--allow-downgrade")
    assert asked == [(["my", "own"], True, False), (False, False), (False, True)]
    assert ("previous" in first, second["previous"]) == (False, "1")


@pytest.mark.requirement("RK-ADM-003")
def test_a_list_shows_the_commands_of_each_package_and_no_groups(run: Run, echoes: InstalledHome) -> None:
    listed = json.loads(run("list", "--json")[1])["packages"]
    assert [(entry["package"], len(entry["commands"])) for entry in listed] == [("acme.echo", 3)]
    assert run("mcp", "tools", "--endpoint", "desk")[1].startswith("acme.desk at r")


@pytest.mark.requirement("RK-CLI-050")
def test_help_of_a_word_of_the_core_and_of_a_command_is_shown(run: Run, echoes: InstalledHome) -> None:
    root = run()
    assert run("help") == root
    status, out, _ = run("help", "install")
    assert (status, "--allow-prerelease" in out) == (0, True)
    assert run("help", "echo", "speak")[1] == run("echo", "speak", "--help")[1]


@pytest.mark.requirement("RK-CLI-055")
def test_the_short_option_asks_for_the_help_of_a_group_too(run: Run, echoes: InstalledHome) -> None:
    assert run("echo", "-h") == run("echo", "--help")
    assert run("echo", "-h")[0] == 0


@pytest.mark.requirement("RK-ADM-012")
@pytest.mark.parametrize("name", ["acme tool", "acme!", "-acme", "", "acme\n"])
def test_a_name_is_one_word_as_a_whole(name: str) -> None:
    with pytest.raises(RukhError) as refused:
        Application(name, "1")
    assert refused.value.rule == "RKL027"


@pytest.mark.requirement("RK-CLI-054")
def test_where_there_is_no_home_words_are_unknown_and_none_is_made(run: Run, tmp_path: Path) -> None:
    status, out, err = run("instal", "acme.x")
    assert (status, out) == (65, "")
    assert "install" in err
    assert not (tmp_path / "home").exists()


@pytest.mark.requirement("RK-ADM-003")
def test_a_package_lists_no_commands_of_one_whose_name_begins_alike(run: Run, tmp_path: Path) -> None:
    InstalledHome(tmp_path).install(echo.FILES, commands=echo.commands())
    other = echo.commands()
    for command in other:
        command["path"] = ["more", *command["path"]]
    second = InstalledHome(tmp_path / "second", package="acme.echo2")
    second.path = str(tmp_path / "home")
    second.install(echo.FILES, commands=other)
    listed = json.loads(run("list", "--json")[1])["packages"]
    assert [(entry["package"], len(entry["commands"])) for entry in listed] == [
        ("acme.echo", 3),
        ("acme.echo2", 3),
    ]


@pytest.mark.requirement("RK-STORE-015")
def test_a_verb_tells_the_installer_what_time_it_is_in_the_home(tmp_path: Path) -> None:
    from rukh.cli.admin.packages import _installer
    from rukh.machines.steps import unobserved

    store = Store(open_home(str(tmp_path / "home"), create=True), lambda: 10**15)
    store.trust.add_source("s", "/x", subject="user:local")
    assert _installer(store, unobserved)._now() == 10**15
    store.close()
