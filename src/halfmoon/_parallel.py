"""Threads: compiled kernels and BLAS release the GIL, so work is cut into items that threads own.

Items are cut by the data, never by the number of threads, and their results come back in order: what is computed
does not depend on how many threads there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import joblib
from threadpoolctl import threadpool_limits

from halfmoon._validation import check_integer

__all__ = ["ordered_map", "thread_count"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means: None and -1 are all cores."""
    if n_jobs is None or n_jobs == -1:
        return int(joblib.cpu_count())
    return check_integer("n_jobs", n_jobs, low=1, advice="None or -1 means all cores.")


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield work(item) for every item, in order. An error or Ctrl-C stops the items that have not begun."""
    stop = threading.Event()

    def guarded(item: Item) -> Any:
        if stop.is_set():
            return None
        try:
            return work(item)
        except BaseException:
            stop.set()
            raise

    # One thread an item: BLAS threads inside would spin against each other.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(guarded, items)
        finally:
            stop.set()
