"""The rows of X, read block by block: no copy of the data in another precision is ever held whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from halfmoon._validation import row_blocks
from halfmoon.runtime.spool import is_on_disk, write_rows

__all__ = ["FLOAT32_SPANS", "column_means", "fits_float32", "in_form", "rows_at_once", "unit_rows"]

FLOAT32_SPANS = 1e-15, 1e17
FEW = 256  # rows
BLOCK, LEAST = 1 << 20, 64  # numbers of the rows that are worked on at one time, and the fewest rows


def rows_at_once(most: int, width: int) -> int:
    """Return how many rows to work on at one time: at most so many, and fewer where they are long."""
    return max(LEAST, min(most, BLOCK // max(width, 1)))


def in_form(X: Any, *, as_sparse: bool) -> Any:
    """Return rows as CSR or dense: new rows need not come in the form of those that they are compared with."""
    if as_sparse == sparse.issparse(X):
        return X
    if not as_sparse:
        return X.toarray()
    return sparse.csr_array(X.astype(np.float32) if X.dtype == np.float16 else X)  # sparse rows have no float16


def column_means(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean row of a dense array, in float64."""
    total = np.zeros(X.shape[1])
    for rows in row_blocks(X):
        total += X[rows].sum(axis=0, dtype=np.float64)
    return total / X.shape[0]


def fits_float32(X: Any) -> bool:
    """Return whether float32 holds the squares of the largest differences."""
    if sparse.issparse(X):
        span = float(np.abs(X.data).max(initial=0.0))
    elif float(X.max()) - float(X.min()) < FLOAT32_SPANS[1] and _span(X[:FEW]) > FLOAT32_SPANS[0]:
        return True  # no feature spans more than all of them do, and some rows span enough: three times as fast
    else:
        span = _span(X)
    return span == 0.0 or FLOAT32_SPANS[0] < span < FLOAT32_SPANS[1]


def _span(X: NDArray[Any]) -> float:
    """Return the largest range of a feature."""
    return float((X.max(axis=0) - X.min(axis=0).astype(np.float64)).max())


def unit_rows(X: Any) -> Any:
    """Return X with rows of length 1, for the cosine metric; dense integers become float32."""
    norms = _row_norms(X)
    zero = np.flatnonzero(norms == 0.0)
    if zero.size:
        raise ValueError(
            f"The cosine distance of a zero row is undefined: {zero.size} rows of X are zero, first row "
            f"{zero[0]}. Drop these rows or use metric='euclidean'."
        )
    if sparse.issparse(X):
        return normalize(X, copy=True)
    dtype = np.float64 if X.dtype == np.float64 else np.float32
    blocks = ((X[rows] / norms[rows, None]).astype(dtype, copy=False) for rows in row_blocks(X))
    return write_rows(blocks, X.shape, dtype) if is_on_disk(X) else np.concatenate(list(blocks))


def _row_norms(X: Any) -> NDArray[np.float64]:
    if sparse.issparse(X):
        return np.asarray(sparse.linalg.norm(X, axis=1))
    return np.concatenate([np.linalg.norm(X[rows].astype(np.float64), axis=1) for rows in row_blocks(X)])
