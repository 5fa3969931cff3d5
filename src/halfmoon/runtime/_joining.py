"""Waiting for threads to end, whatever interrupts come meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

__all__ = ["behind", "insist", "join_ending"]

STEP, STEPS = 0.001, 2000  # seconds between looks at a thread that is about to end, and how many


def insist(action: Callable[[], None]) -> None:
    """Repeat an action until no interrupt has cut it short; then raise the first interrupt, if there was one."""
    interrupt: BaseException | None = None
    while True:
        try:
            action()
            break
        except BaseException as error:
            interrupt = interrupt or error
    if interrupt is not None:
        raise behind(interrupt)


def behind(error: BaseException) -> BaseException:
    """Return the interrupt that an error follows from, or the error.

    An interrupt inside Python's own locks, while a thread is started say, can come out as "release unlocked lock".
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, KeyboardInterrupt):
            return found
        found = found.__context__
    return error


def join_ending(thread: threading.Thread) -> None:
    """Wait for a thread that has nothing more to do, or next to nothing; may be repeated after an interrupt.

    Before Python 3.13, a join() that is interrupted believes the thread to be done, and so does every later one. A
    thread whose start was interrupted may never run: hence the limit.
    """
    with suppress(RuntimeError):  # interrupted before it was started
        thread.join()
    for _ in range(STEPS):
        if thread not in threading.enumerate():
            return
        time.sleep(STEP)
