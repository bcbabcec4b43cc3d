"""Running one command line after another in a home of its own, and showing each."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path


class Failed(Exception):
    """A step did not show what it should."""


class Walk:
    """A temporary place with a home in it; `run` shows a command, its output and its status."""

    def __init__(self, place: Path, environment: dict[str, str]) -> None:
        self.place = place
        self.environment = {**environment, "RUKH_HOME": str(place / "home")}
        self._program = str(Path(sys.executable).with_name("rukh"))

    def command(self, *words: str) -> list[str]:
        """The argument vector of one `rukh` command line."""
        return [self._program, *words]

    def title(self, text: str) -> None:
        """The heading of a step."""
        print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)

    def run(self, *words: str, status: int = 0, stdin: str | None = None) -> str:
        """Run `rukh WORDS`, show it, and give its answer, or its refusal where `status` says so; Failed at another."""
        shown = " ".join(shlex.quote(self._short(word)) for word in words)
        print(f"\n$ {f'echo {shlex.quote(stdin)} | ' if stdin else ''}rukh {shown}", flush=True)
        done = subprocess.run(
            self.command(*words),
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        for stream in (done.stdout, done.stderr):
            print("".join(f"    {self._short(line)}\n" for line in stream.splitlines()), end="")
        if status:
            print(f"    (exit status {done.returncode})")
        if done.returncode != status:
            raise Failed(f"rukh {shown} ended with {done.returncode}, not {status}")
        return done.stderr if status else done.stdout

    def say(self, what: str, text: str) -> None:
        """Show what an agent saw."""
        print(f"\n> {what}", flush=True)
        print("".join(f"    {self._short(line)}\n" for line in text.splitlines()), end="", flush=True)

    def expect(self, holds: bool, what: str) -> None:
        """Show a comparison; Failed where it does not hold."""
        if not holds:
            raise Failed(f"not so: {what}")
        print(f"    ✓ {what}", flush=True)

    def _short(self, text: str) -> str:
        return text.replace(str(self.place), "…")
