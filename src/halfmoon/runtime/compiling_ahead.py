"""A second process that compiles functions into numba's cache while this one does something else.

Compiling keeps Python to one core. What a fit compiles late is therefore compiled beside it from the beginning, and
read from the cache where it is needed. Results do not depend on it: without the process, or when it fails, functions
are compiled at their first call, as always.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any

__all__ = ["await_compiled", "compiling_ahead", "is_cached"]

FOLDER = str(Path(__file__).parents[2])  # of the package, for the second process


class _SecondProcess:
    """A Python process that prints the name of each stage that it has compiled."""

    def __init__(self, program: str, arguments: Iterable[str]) -> None:
        path = os.pathsep.join(filter(None, [FOLDER, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # Windows
        )
        self._compiled: set[str] = set()
        self._reading = Lock()

    def wait(self, stage: str) -> None:
        """Return once a stage is compiled, or the process has ended."""
        assert self._process.stdout is not None
        with self._reading:
            while stage not in self._compiled and (line := self._process.stdout.readline()):
                self._compiled.add(line.strip())

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


# Of the current context: a fit in another thread has its own. Executors run their tasks in the context of the caller.
_second: ContextVar[_SecondProcess | None] = ContextVar("halfmoon_second_process", default=None)


@contextmanager
def compiling_ahead(program: str, arguments: Iterable[str] = ()) -> Iterator[None]:
    """Run a Python program in a second process while the block runs; it is ended with the block.

    The program compiles functions by calling them, stage by stage, and prints the name of a stage that is done.
    """
    second = None
    with suppress(OSError):  # no memory or no permission for a process: nothing is lost but time
        second = _SecondProcess(program, arguments)
    token = _second.set(second)
    try:
        yield
    finally:
        _second.reset(token)
        if second is not None:
            second.end()


def await_compiled(stage: str) -> None:
    """Wait until the second process, if there is one, has compiled a stage: it would be compiled twice otherwise."""
    second = _second.get()
    if second is not None:
        second.wait(stage)


def is_cached(function: Any) -> bool:
    """Return whether a compiled function has been used before, here or according to numba's cache; True without cache.

    Examples
    --------
    >>> from halfmoon.runtime.compiling_ahead import is_cached
    >>> is_cached(len)
    True
    """
    folder = getattr(getattr(function, "stats", None), "cache_path", None)
    if folder is None or function.signatures:
        return True
    code = function.py_func.__code__
    return any(Path(folder).glob(f"*.{code.co_name}-{code.co_firstlineno}.*.nbi"))
