"""Tasks of a cluster have one thread each: a worker runs as many of them as it was given threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from halfmoon.runtime._blas import limit_blas, limit_openmp_here, release_blas

__all__ = ["has_one_thread", "one_thread"]

_alone: ContextVar[bool] = ContextVar("halfmoon_one_thread", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block on the thread it is on: BLAS and OpenMP start no others, and all cores (n_jobs=None) are one."""
    holder, token = object(), _alone.set(True)
    try:
        limit_blas(holder)
        limit_openmp_here()
        yield
    finally:
        release_blas(holder)
        _alone.reset(token)


def has_one_thread() -> bool:
    """Tell whether this runs in a block of `one_thread`, or on a thread that such a block has started."""
    return _alone.get()
