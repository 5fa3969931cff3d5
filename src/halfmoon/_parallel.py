"""Threads: compiled kernels and BLAS release the GIL, so work is cut into items that threads own.

Items are cut by the data, never by the number of threads, and their results come back in order: what is computed
does not depend on how many threads there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

import joblib
import numpy as np

from halfmoon._validation import check_integer
from halfmoon.runtime._blas import limit_blas, release_blas

__all__ = ["Team", "thread_count"]

Item = TypeVar("Item")
Result = TypeVar("Result")
RANGES = 64  # pieces that `share` cuts: enough for threads to even out


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means: None and -1 are all cores."""
    if n_jobs is None or n_jobs == -1:
        return int(joblib.cpu_count())
    return check_integer("n_jobs", n_jobs, low=1, advice="None or -1 means all cores.")


class Team:
    """Threads for the time of a ``with`` block. Meanwhile BLAS runs on one: its own would fight for the cores."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        limit_blas(self)
        self._pool = ThreadPoolExecutor(self.threads)
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()  # after an error or Ctrl-C, items that have not begun are let go
        self._pool.shutdown()
        release_blas(self)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield work(item) for every item, in order."""

        def guarded(item: Item) -> Any:
            if self._stop.is_set():
                return None
            try:
                return work(item)
            except BaseException:
                self._stop.set()  # at once: results are only looked at in order
                raise

        try:
            yield from self._pool.map(guarded, items)
        except BaseException:
            self._stop.set()
            raise

    def share(self, work: Callable[[int, int], Any], count: int) -> None:
        """Call work(first, last) on ranges that cover range(count)."""
        cuts = np.linspace(0, count, min(count, RANGES) + 1).astype(np.int64)
        for _ in self.map(lambda piece: work(cuts[piece], cuts[piece + 1]), range(len(cuts) - 1)):
            pass
