"""What the work of this context may hold in memory, decided before it is begun."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["Allowance", "allowance", "allowing", "give_back"]

MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h
SMALL, USUAL = 1 << 18, 1 << 25  # bytes; glibc itself goes up to the second


@dataclass(frozen=True)
class Allowance:
    """How work is to be done so that it stays below a limit.

    Attributes
    ----------
    threads : int
        Threads that hold columns of size n at one time.
    tile_width : int
        Columns that each of them holds, 16 or 8.
    columns : int
        Bytes for columns that are kept, of size n x n_hat.
    wide_codes : bool
        Whether a search may keep a byte per feature and row; otherwise a byte per principal component.
    """

    threads: int
    tile_width: int
    columns: int
    wide_codes: bool


# Of the current context: a fit in another thread has its own.
_allowance: ContextVar[Allowance | None] = ContextVar("halfmoon_allowance", default=None)


@contextmanager
def allowing(allowed: Allowance | None) -> Iterator[None]:
    """Keep the work inside the block to an allowance; None: as much as half of the free memory holds.

    Examples
    --------
    >>> from halfmoon.runtime.memory import Allowance, allowance, allowing
    >>> with allowing(Allowance(threads=1, tile_width=8, columns=0, wide_codes=False)):
    ...     allowance().threads
    1
    >>> allowance() is None
    True
    """
    token = _allowance.set(allowed)
    if allowed is not None:
        _keep_apart(SMALL)
        give_back()
    try:
        yield
    finally:
        if allowed is not None:
            _keep_apart(USUAL)
        _allowance.reset(token)


def allowance() -> Allowance | None:
    """Return the allowance of this context, if it has one."""
    return _allowance.get()


def give_back() -> None:
    """Return freed memory to the system, if this context has an allowance: C libraries keep what threads have freed."""
    if _allowance.get() is not None and (library := _glibc()) is not None:
        library.malloc_trim(0)


def _keep_apart(size: int) -> None:
    """Give arrays from so many bytes on pages of their own, which the system has back as soon as they are freed."""
    if (library := _glibc()) is not None:
        library.mallopt(MMAP_THRESHOLD, size)


@cache
def _glibc() -> Any:
    """Return the C library, if it is glibc; others manage without."""
    try:
        library = ctypes.CDLL(None)
        return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
    except (OSError, TypeError):
        return None
