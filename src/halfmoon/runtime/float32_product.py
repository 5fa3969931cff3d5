"""Products of tall float32 matrices with a few columns, panel by panel in threads, with a bound on their rounding.

Matrices are stored in float32 for the sake of memory, whole or column by column; panels that fit into a cache are
multiplied in float64. Reading a matrix takes as long as the rest, so this costs little more than a product in float32,
and only the rounding of what was stored is left: 2^-24 |A| |h|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.executor import ThreadExecutor, thread_count
from halfmoon.runtime.ranges import ranges

__all__ = ["combination", "combination_rounding", "product", "product_rounding"]

Matrix = NDArray[np.float64]
Single = NDArray[np.float32]
ROWS_PER_TASK = 4096
PANEL = 512  # rows that are held in float64 at once
ROWS_OF_COLUMNS = 1024  # the same of single columns, which are read one by one
ROUNDING = 2.0**-24 * 1.001  # of |A| |h|; sums in float64 are far below the last digit of the factor


def product(A: Single, h: Matrix, n_jobs: int | None = None) -> Matrix:
    """Return A h.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.float32_product import product
    >>> product(np.eye(3, 2, dtype=np.float32), np.array([[1.0], [2.0]])).ravel()
    array([1., 2., 0.])
    """
    return _in_threads(_multiply, (A, h, False), A.shape[0], n_jobs)


def product_rounding(A: Single, h: Matrix, n_jobs: int | None = None) -> Matrix:
    """Return how far `product` may be from the same product of the matrix before it was rounded to float32.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.float32_product import product, product_rounding
    >>> A, h = np.full((1, 3), 0.1), np.ones((3, 1))
    >>> rounded = A.astype(np.float32)
    >>> bool(abs(product(rounded, h) - A @ h) <= product_rounding(rounded, h))
    True
    """
    return ROUNDING * _in_threads(_multiply, (A, np.abs(h), True), A.shape[0], n_jobs)


def combination(columns: Sequence[Single], h: Matrix, n_jobs: int | None = None) -> Matrix:
    """Return A h for an A that is given column by column.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.float32_product import combination
    >>> combination([np.array([1, 2], dtype=np.float32), np.array([0, 1], dtype=np.float32)], np.array([[2.0], [3.0]]))
    array([[2.],
           [7.]])
    """
    return _in_threads(_combine, (columns, h, False), len(columns[0]), n_jobs)


def combination_rounding(columns: Sequence[Single], h: Matrix, n_jobs: int | None = None) -> Matrix:
    """Return what `product_rounding` returns, for an A that is given column by column."""
    return ROUNDING * _in_threads(_combine, (columns, np.abs(h), True), len(columns[0]), n_jobs)


def _in_threads(task: Any, prepared: Any, n: int, n_jobs: int | None) -> Matrix:
    with ThreadExecutor(thread_count(n_jobs)) as executor:
        return np.concatenate(list(executor.map(task, prepared, ranges(n, ROWS_PER_TASK))))


def _multiply(prepared: tuple[Single, Matrix, bool], rows: tuple[int, int]) -> Matrix:
    """Multiply some rows: a task."""
    A, h, absolute = prepared
    first, last = rows
    total, panel = np.empty((last - first, h.shape[1])), np.empty((PANEL, h.shape[0]))
    for start in range(first, last, PANEL):
        stop = min(start + PANEL, last)
        here = panel[: stop - start]
        here[:] = A[start:stop]
        if absolute:
            np.abs(here, out=here)
        total[start - first : stop - first] = (h.T @ here.T).T  # the orientation that BLAS is fastest in
    return total


def _combine(prepared: tuple[Sequence[Single], Matrix, bool], rows: tuple[int, int]) -> Matrix:
    """Combine some rows of the columns: a task."""
    columns, h, absolute = prepared
    first, last = rows
    total = np.empty((last - first, h.shape[1]))
    panel = np.empty(len(columns) * ROWS_OF_COLUMNS)
    for start in range(first, last, ROWS_OF_COLUMNS):
        stop = min(start + ROWS_OF_COLUMNS, last)
        here = panel[: len(columns) * (stop - start)]
        np.concatenate([column[start:stop] for column in columns], out=here)
        if absolute:
            np.abs(here, out=here)
        total[start - first : stop - first] = (h.T @ here.reshape(len(columns), -1)).T
    return total
