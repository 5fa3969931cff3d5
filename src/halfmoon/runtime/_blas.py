"""One BLAS thread per worker: BLAS's own threads would compete with ours for the cores.

The number of BLAS threads belongs to the whole process. Blocks that cross in several threads therefore share one
limit: the first to enter sets it, the last to leave restores what was there before.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["limit_blas", "release_blas"]

_lock = threading.RLock()
_holders: set[object] = set()
_originals: list[tuple[Any, int]] = []  # libraries and their numbers of threads, while there are holders


@functools.cache
def _libraries() -> list[Any]:
    """Look for BLAS libraries once: it takes longer than a small solve."""
    libraries: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return libraries


def limit_blas(holder: object) -> None:
    """Run BLAS on one thread until every holder has released it."""
    with _lock:
        if not _originals:  # noted before anything is changed: an interrupt may come in between
            _originals.extend([(library, library.num_threads) for library in _libraries()])
        if not _holders:
            for library, _ in _originals:
                library.set_num_threads(1)
        _holders.add(holder)


def release_blas(holder: object) -> None:
    """Give up the limit; may be repeated, and follow a `limit_blas` that was interrupted."""
    with _lock:
        _holders.discard(holder)
        if not _holders:
            for library, threads in _originals:
                library.set_num_threads(threads)
            _originals.clear()
