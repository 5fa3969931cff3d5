"""One BLAS and one OpenMP thread per worker: threads of their own would compete with ours for the cores.

The number of OpenMP threads (scikit-learn's) belongs to the thread that sets it, and a worker sets its own. The number
of BLAS threads belongs to the whole process. Blocks that cross in several threads therefore share one
limit: the first to enter sets it, the last to leave restores what was there before.
"""

from __future__ import annotations

import functools
import threading
from functools import partial
from typing import Any

from threadpoolctl import ThreadpoolController

from halfmoon.runtime._joining import behind, insist, join_ending

__all__ = ["forget_holder", "limit_blas", "limit_openmp_here", "release_blas"]


def limit_blas(holder: object) -> None:
    """Run BLAS on one thread until every holder has released it."""
    _holders.add(holder)
    _update()


def release_blas(holder: object) -> None:
    """Give up the limit; may be repeated, and follow a `limit_blas` that was interrupted."""
    _holders.discard(holder)
    _update()


def forget_holder(holder: object) -> None:
    """Give up the limit without waiting; the next holder that releases it restores BLAS."""
    _holders.discard(holder)


def limit_openmp_here() -> None:
    """Run parallel regions that the current thread enters on one thread."""
    for library in _libraries("openmp"):
        library.set_num_threads(1)


_lock = threading.RLock()
_holders: set[object] = set()
_originals: dict[Any, int] = {}  # libraries and their numbers of threads before the limit, while it is set


def _update() -> None:
    """Set or restore the numbers of threads, as there are holders or none."""
    with _lock:
        is_right = bool(_holders) == bool(_originals)
    if not is_right:
        # threadpoolctl lets one thread control OpenBLAS as long as it lives, and silently ignores the others. Set in
        # a thread that ends at once, the limit can be restored by any other; inside a user's own limit, that stands.
        setter = threading.Thread(target=_set_or_restore, name="halfmoon-blas")
        try:
            setter.start()
        except RuntimeError as error:
            raise behind(error) from None
        finally:
            insist(partial(join_ending, setter))


def _set_or_restore() -> None:
    with _lock:
        if _holders and not _originals:
            _originals.update({library: library.num_threads for library in _libraries("blas")})
            for library in _originals:
                library.set_num_threads(1)
        elif _originals and not _holders:
            for library, threads in _originals.items():
                library.set_num_threads(threads)
            _originals.clear()


@functools.cache
def _libraries(user_api: str) -> list[Any]:
    """Look for libraries once: it takes longer than a small solve."""
    libraries: list[Any] = ThreadpoolController().select(user_api=user_api).lib_controllers
    return libraries
