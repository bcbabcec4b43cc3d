"""A test in a process of its own: for what is about signals, which a threaded test worker would take away."""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def alone(test: Callable[P, None]) -> Callable[P, None]:
    """Run the test in a forked child, which has one thread; what it raises is shown by the assertion here."""

    @functools.wraps(test)
    def forked(*args: P.args, **kwargs: P.kwargs) -> None:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _report(functools.partial(test, *args, **kwargs), write)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as stream:
            fault = stream.read()
        _, status = os.waitpid(child, 0)
        assert ("", 0) == (fault, os.waitstatus_to_exitcode(status)), fault

    return forked


def _report(test: Callable[[], None], write: int) -> None:
    status = 1
    try:
        test()
        status = 0
    except BaseException:
        os.write(write, traceback.format_exc().encode())
    finally:
        os._exit(status)
