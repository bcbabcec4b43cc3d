"""`python -m bench [--rounds N] [ID …]`: build a home, take the figures, print the table.

build/bench.json is written by a run of all figures only: its rows are always of one run. RK-PROC-017
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.baseline_child import Ledger, call
from bench.contract import result_validation
from bench.home import ENDPOINT, PACKAGE, RUKH, BenchHome
from bench.mcp_load import mcp_16, mcp_memory, mcp_page
from bench.measure import Figure, interleaved, table, write_json
from bench.peer import Peer
from bench.publication import publication
from bench.wide import descriptor
from rukh.contract.compile import compile_commands
from rukh.contract.descriptor import check
from rukh.host.launch import plan_launch
from rukh.values.canonical import canonical

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent / "build" / "bench.json"

INPUTS = {"title": "Milk", "tags": ["shop", "now"], "priority": 3}
SUPPLIED = ["title", "tags"]
WORDS = ["bench", "c00", "Milk", "--tag", "shop", "--tag", "now", "--json"]


class Bench:
    """One home, its child, and the ways to measure both."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = BenchHome(base)
        self.child = self._child()
        self.tools = base / "tools.json"
        peer = self.rukh_peer()
        self.tools.write_text(json.dumps(peer.request("tools/list")["tools"]), encoding="utf-8")
        peer.close()

    def _child(self) -> dict[str, Any]:
        """What Rukh starts for the measured command: the argument vector and environment of its own plan."""
        checked = check((self.base / "extension" / "rukh-extension.json").read_bytes())
        assert checked.descriptor is not None
        record = compile_commands(checked.descriptor, [])[0]
        profile = json.loads(self.home.rukh("profile", "show", "--json"))
        tree = profile["profile"]["packages"][PACKAGE]["tree"]
        home = self.home.home
        launch = plan_launch(
            record, f"{home}/releases/{tree}", f"{home}/cache/{tree}", os.fspath(self.base), {}
        )
        return {"argv": launch.argv, "env": launch.env}

    def rukh_peer(self) -> Peer:
        return Peer([RUKH, "mcp", "serve", "--endpoint", ENDPOINT], self.home.env)

    def stock_peer(self) -> Peer:
        return Peer(
            [sys.executable, os.fspath(HERE / "baseline_mcp.py"), os.fspath(self.tools)], self.home.env
        )

    def bare_call(self) -> dict[str, Any]:
        return call(
            self.child["argv"], self.child["env"], {"command": "c00", "inputs": INPUTS, "supplied": SUPPLIED}
        )

    # --- the figures, in the order of the table ---

    def cli_call(self, rounds: int) -> Figure:
        env = {**self.home.env, "BENCH_CHILD": json.dumps(self.child)}
        ours = _process([RUKH, *WORDS], env)
        theirs = _process([sys.executable, os.fspath(HERE / "baseline_click.py"), *WORDS], env)
        samples = interleaved(ours, theirs, rounds, warm_up=5)
        return Figure("cli-call", "minimal click program, same child and channel", 0.9, *samples)

    def mcp_call(self, rounds: int) -> Figure:
        ledger = Ledger(os.fspath(self.base / "ledger.sqlite"))
        peer = self.rukh_peer()
        arguments = {name: INPUTS[name] for name in SUPPLIED}
        name = next(tool["name"] for tool in json.loads(self.tools.read_bytes()) if "c00__" in tool["name"])

        def ours() -> None:
            answer = peer.request("tools/call", {"name": name, "arguments": arguments})
            assert answer["structuredContent"]["outcome"] == "succeeded", answer

        def theirs() -> None:
            completion = self.bare_call()
            assert completion["status"] == "succeeded", completion
            ledger.commit_two(canonical(completion["commandResult"]))

        samples = interleaved(_timed(ours), _timed(theirs), rounds, warm_up=10)
        peer.close()
        ledger.close()
        against = "same child started, fed and reaped bare, and two bare commits"
        return Figure("mcp-call", against, 1.25, *samples, with_p99=True)

    def mcp_start(self, rounds: int) -> Figure:
        samples = interleaved(_start(self.rukh_peer), _start(self.stock_peer), rounds, warm_up=2)
        return Figure("mcp-start", "stock low-level mcp stdio server, start to discover", 0.5, *samples)

    def mcp_list(self, rounds: int) -> Figure:
        ours, theirs = self.rukh_peer(), self.stock_peer()

        def listing(peer: Peer) -> Callable[[], None]:
            def ask() -> None:
                assert len(peer.request("tools/list")["tools"]) == 32

            return ask

        samples = interleaved(_timed(listing(ours)), _timed(listing(theirs)), rounds, warm_up=20)
        ours.close()
        theirs.close()
        return Figure("mcp-list", "stock low-level mcp stdio server, page of 32 tools", 0.6, *samples)

    def result_validation(self, rounds: int) -> Figure:
        return result_validation(rounds)

    def wide_check(self, rounds: int) -> Figure:
        """A descriptor alone: a file in a directory of its own, with no code to look into."""
        path = self.base / "wide" / "rukh-extension.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(descriptor(200))
        ours = _command([RUKH, "check", "--descriptor-only", os.fspath(path)], self.home.env)
        theirs = _command([sys.executable, "-c", "import pydantic"], self.home.env)
        return Figure(
            "check-200", 'python -c "import pydantic"', 3, *interleaved(ours, theirs, rounds, warm_up=2)
        )

    def completion(self, rounds: int) -> Figure:
        """One key press, as the script for bash asks it: the command is typed, its name is not at its end."""
        words = [
            "completion",
            "--words",
            "bash",
            " \t\n\"'><=;|&(:",
            f"{os.path.basename(RUKH)} bench c0",
            "",
        ]
        offered = subprocess.run([RUKH, *words], env=self.home.env, capture_output=True, check=True).stdout
        assert offered.startswith(b"words\n") and b"\nc00" in offered, offered
        ours = _command([RUKH, *words], self.home.env)
        theirs = _command([sys.executable, "-c", "pass"], self.home.env)
        return Figure("completion", "python -c pass", 2, *interleaved(ours, theirs, rounds, warm_up=3))

    def publication(self, rounds: int) -> Figure:
        return publication(self.base, rounds)

    def mcp_16(self, rounds: int) -> Figure:
        return mcp_16(self.home, self.child, self.tools, rounds)

    def mcp_page(self, rounds: int) -> Figure:
        return mcp_page(self.base, rounds)

    def mcp_memory(self, rounds: int) -> Figure:
        return mcp_memory(self.base, rounds)


# id: (method, rounds of an ordinary run)
FIGURES: dict[str, tuple[Callable[[Bench, int], Figure], int]] = {
    "cli-call": (Bench.cli_call, 60),
    "mcp-call": (Bench.mcp_call, 300),
    "mcp-start": (Bench.mcp_start, 20),
    "mcp-list": (Bench.mcp_list, 400),
    "result-validation": (Bench.result_validation, 40),
    "check-200": (Bench.wide_check, 20),
    "completion": (Bench.completion, 40),
    "publication": (Bench.publication, 5),
    "mcp-16": (Bench.mcp_16, 150),
    "mcp-page": (Bench.mcp_page, 400),
    "mcp-memory": (Bench.mcp_memory, 5),
}


def _timed(act: Callable[[], object]) -> Callable[[], float]:
    def sample() -> float:
        begin = time.perf_counter()
        act()
        return time.perf_counter() - begin

    return sample


def _process(argv: list[str], env: dict[str, str]) -> Callable[[], float]:
    """From the start of a process to its end, its output read; it has to give the expected document."""

    def act() -> None:
        result = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert result.returncode == 0, result.stderr.decode(errors="replace")
        assert json.loads(result.stdout) == {"number": 2, "title": "Milk"}, result.stdout

    return _timed(act)


def _command(argv: list[str], env: dict[str, str]) -> Callable[[], float]:
    """From the start of a process to its successful end."""

    def act() -> None:
        subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    return _timed(act)


def _start(peer: Callable[[], Peer]) -> Callable[[], float]:
    """From the start of a server to its first answer; its end is not measured."""

    def sample() -> float:
        begin = time.perf_counter()
        started = peer()
        started.request("server/discover")
        taken = time.perf_counter() - begin
        started.close()
        return taken

    return sample


def main() -> int:
    """Take the asked figures, all of them by default. A missed goal is shown and written, and is no failure."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("ids", nargs="*", choices=[[], *FIGURES], help="figures to take; all by default")
    parser.add_argument("--rounds", type=int, help="samples of each side instead of the ordinary number")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory))
        figures = [
            method(bench, options.rounds or rounds)
            for name, (method, rounds) in FIGURES.items()
            if name in options.ids or not options.ids
        ]
    print(table(figures))
    if len(figures) == len(FIGURES):
        write_json(figures, OUTPUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
