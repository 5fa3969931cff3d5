"""Ctrl-C: one line that says what was kept, and exit code 130.

Imports nothing that takes time: an interrupt may come while the rest is being imported.
"""

from __future__ import annotations

import _thread
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["INTERRUPTED", "NOTHING", "Interrupted", "caused_by_interrupt", "end_interrupted", "interruptible"]

INTERRUPTED = 130  # exit code: 128 + SIGINT, as shells have it
NOTHING = "nothing was written."
AGAIN = 0.01  # seconds after which a lost interrupt is raised once more


class Interrupted(BaseException):
    """A command was interrupted; the text says what was kept."""


def end_interrupted(kept: str = NOTHING, *, as_json: bool = False) -> NoReturn:
    """Say what was kept and end the command."""
    text = f"Interrupted: {kept}"
    if as_json:
        print(json.dumps({"error": text, "exit_code": INTERRUPTED}))
    else:
        print(f"halfmoon: {text}", file=sys.stderr)
    sys.exit(INTERRUPTED)


def caused_by_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is an interrupt, or what a library made of one."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def interruptible() -> Iterator[None]:
    """Let no interrupt get lost: Python drops those that come inside finalisers and callbacks of weak references."""
    previous = sys.unraisablehook

    def raise_again(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(AGAIN, _thread.interrupt_main).start()  # not here: it would be dropped again
        else:
            previous(unraisable)

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        sys.unraisablehook = previous
