"""Small dense algebra on one BLAS thread.

Between the large steps of a fit lie hundreds of products, factorisations and eigenproblems of a few hundred rows. A
second thread gains little on them and waits for its core at every one: beside other busy processes a fit would take
several times as long as on one thread.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from halfmoon.runtime.executor import ThreadExecutor

__all__ = ["small_algebra"]

LARGEST = 2_000  # rows up to which one thread loses nothing on the eigenproblems, which take most of the time


def small_algebra(rows: int) -> AbstractContextManager[Any]:
    """Return a block in which BLAS runs on one thread, if its matrices have few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.small_algebra import small_algebra
    >>> with small_algebra(rows=2):
    ...     float(np.linalg.det(2 * np.eye(2)))
    4.0
    """
    return ThreadExecutor(1) if rows <= LARGEST else nullcontext()  # without tasks: it only limits BLAS
