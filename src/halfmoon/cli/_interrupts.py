"""Ctrl-C: one line that says what was kept, and exit code 130.

Imports nothing that takes time: an interrupt may come while the rest is being imported.
"""

from __future__ import annotations

import _thread
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NoReturn

__all__ = ["INTERRUPTED", "NOTHING", "Interrupted", "caused_by_interrupt", "end_interrupted", "interruptible"]

INTERRUPTED = 130  # exit code: 128 + SIGINT, as shells have it
NOTHING = "nothing was written."
PAUSE = 0.001  # seconds between two looks at where the main thread is


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
            threading.Thread(target=_interrupt_after, args=(raise_again.__code__,), daemon=True).start()
        else:
            previous(unraisable)

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        sys.unraisablehook = previous


def _interrupt_after(code: CodeType) -> None:
    """Interrupt the main thread once it has left a function, inside which the interrupt would be dropped again."""
    while _is_running(code, sys._current_frames().get(threading.main_thread().ident or 0)):
        time.sleep(PAUSE)
    _thread.interrupt_main()


def _is_running(code: CodeType, frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False
