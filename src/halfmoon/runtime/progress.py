"""Progress that reaches a listener from deep below: graph, solves and tuning report, whoever called them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Listener", "listening", "report"]

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
