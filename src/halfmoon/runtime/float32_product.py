"""Products of tall float32 matrices with a few columns, block by block in threads, with a bound on their rounding.

Matrices are stored in float32 for the sake of memory, whole or column by column, and multiplied in float64: only the
rounding of what was stored is left, 2^-24 |A| |h|. BLAS would need a copy in float64, and is slow on so few columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime._numba.float32_products import add_columns, multiply_rows
from halfmoon.runtime.executor import ThreadExecutor, thread_count

__all__ = ["combination", "combination_rounding", "product", "product_rounding"]

Matrix = NDArray[np.float64]
Single = NDArray[np.float32]
Addresses = NDArray[np.uint64]
ROWS_PER_TASK = 4096  # handing out a task costs a tenth of a millisecond; the sums of ten columns stay in cache
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
    return _in_threads(_combine, (columns, _addresses(columns), _padded(h, 4)), len(columns[0]), n_jobs)


def combination_rounding(columns: Sequence[Single], h: Matrix, n_jobs: int | None = None) -> Matrix:
    """Return what `product_rounding` returns, for an A that is given column by column."""
    return ROUNDING * _in_threads(_combine, (columns, None, _padded(np.abs(h), 4)), len(columns[0]), n_jobs)


def _in_threads(task: Any, prepared: Any, n: int, n_jobs: int | None) -> Matrix:
    with ThreadExecutor(thread_count(n_jobs)) as executor:
        return np.concatenate(list(executor.map(task, prepared, range(0, n, ROWS_PER_TASK))))


def _multiply(prepared: tuple[Single, Matrix, bool], first: int) -> Matrix:
    """Multiply some rows: a task."""
    A, h, absolute = prepared
    here = np.asarray(A[first : first + ROWS_PER_TASK])
    total = np.empty((len(here) + 3, h.shape[1] + h.shape[1] % 2))
    multiply_rows(np.abs(here) if absolute else here, _padded(h.T, 2), total)
    return total[: len(here), : h.shape[1]]


def _combine(prepared: tuple[Sequence[Single], Addresses | None, Matrix], first: int) -> Matrix:
    """Combine some rows of the columns, or of their absolute values if they come without addresses: a task."""
    columns, addresses, h = prepared
    last = min(first + ROWS_PER_TASK, len(columns[0]))
    if addresses is None:
        columns = [np.abs(column[first:last]) for column in columns]
        addresses = _addresses(columns)
    else:
        addresses = addresses + np.uint64(columns[0].itemsize * first)
    total = np.empty((h.shape[1], last - first))
    add_columns(addresses, h, total)
    return total.T


def _addresses(columns: Sequence[Single]) -> Addresses:
    """Return where columns are in memory; the first one again to make their number a multiple of four."""
    addresses = np.array([column.__array_interface__["data"][0] for column in columns], dtype=np.uint64)
    return np.append(addresses, np.repeat(addresses[:1], -len(columns) % 4))


def _padded(H: Matrix, multiple: int) -> Matrix:
    """Return H, C-ordered, with rows of zeros after its own, up to a multiple of some number."""
    padded = np.zeros((len(H) + -len(H) % multiple, H.shape[1]))
    padded[: len(H)] = H
    return padded
