"""Progress that reaches a listener from deep below: graph, solves and tuning report, whoever called them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Listener", "listening", "report", "showing"]

_logger = logging.getLogger("halfmoon")
Listener = Callable[[str, int, int], Any]  # stage, steps done, steps in all
_listeners: list[Listener] = []  # of the process: solves report from threads of their own


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener(stage, done, total)`` for everything that reports inside the block.

    Examples
    --------
    >>> from halfmoon.runtime.progress import listening, report
    >>> with listening(print):
    ...     report("graph", 10, 100)
    graph 10 100
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report(stage: str, done: int, total: int) -> None:
    """Tell whoever listens that `done` of `total` steps of a stage are behind us."""
    for listener in _listeners:
        listener(stage, done, total)


@contextmanager
def showing(verbose: bool) -> Iterator[None]:
    """Print the stages of long work while the block runs, if `verbose`; the logger "halfmoon" has them at level INFO.

    Examples
    --------
    >>> from halfmoon.runtime.progress import report, showing
    >>> with showing(True):
    ...     report("graph", 50, 100)
    ...     report("graph", 100, 100)
    halfmoon: graph 100 of 100
    """

    def show(stage: str, done: int, total: int) -> None:
        if done >= total:
            _logger.info("%s %d of %d", stage, done, total)
            if verbose:
                print(f"halfmoon: {stage} {done:,} of {total:,}", flush=True)

    if not verbose and not _logger.isEnabledFor(logging.INFO):
        yield
        return
    with listening(show):
        yield
