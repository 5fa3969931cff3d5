"""Progress: graph, solves and tuning report to the callbacks of whoever called them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Listener", "progress_callback", "report", "showing", "tell"]

_logger = logging.getLogger("halfmoon")
Listener = Callable[[str, int, int], Any]  # stage, steps done, steps in all
# Of the current context: a fit in another thread has its own. Executors run their tasks in the context of the caller.
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("halfmoon_listeners", default=())
_verbose: ContextVar[bool] = ContextVar("halfmoon_verbose", default=False)


@contextmanager
def progress_callback(listener: Listener) -> Iterator[None]:
    """Call ``listener(stage, done, total)`` for all work that is done inside the block.

    Only the work of this thread is reported, and what it hands to threads of the library: fits in other threads have
    callbacks of their own. An error that the callback raises ends the work.

    Parameters
    ----------
    listener : callable
        Called with the name of a stage ("graph", "solves", "interpolation", "selection", "tuning"), the steps done
        and the steps in all. Some stages run several times in one fit.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import DataDependentKernel, progress_callback
    >>> X = np.random.default_rng(2).normal(size=(50, 2))
    >>> stages = set()
    >>> with progress_callback(lambda stage, done, total: stages.add(stage)):
    ...     _ = DataDependentKernel(n_neighbors=10, n_landmarks=10, solver="cg").fit(X)
    >>> sorted(stages)
    ['graph', 'solves']
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def report(stage: str, done: int, total: int) -> None:
    """Report to the callbacks of this context that `done` of `total` steps of a stage are done."""
    for listener in _listeners.get():
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
    token = _verbose.set(verbose)
    try:
        with progress_callback(show):
            yield
    finally:
        _verbose.reset(token)


def tell(text: str) -> None:
    """Say something about the work of this context: to the logger, and in print inside ``showing(True)``.

    Examples
    --------
    >>> from halfmoon.runtime.progress import showing, tell
    >>> with showing(True):
    ...     tell("columns are not kept")
    halfmoon: columns are not kept
    """
    _logger.info(text)
    if _verbose.get():
        print(f"halfmoon: {text}", flush=True)
