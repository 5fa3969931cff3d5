"""Squares of distances: by products, and by subtraction where products cancel.

|a|^2 + |b|^2 - 2 a'b is right to a few roundings of |a|^2 + |b|^2. Beside one outlier, or in clusters that are far
apart, nothing is left of the distances between neighbours then, and a kernel made of them is not semi-definite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances, paired_euclidean_distances
from sklearn.utils.extmath import row_norms

__all__ = ["rbf_kernel", "squared_distances"]

Matrix = NDArray[np.float64]
ROUNDING = 1e-9  # of exponents, and of squares relative to themselves
VANISHED = 750.0  # exp(-750) is 0
PAIRS = 1 << 16  # measured by subtraction at once


def rbf_kernel(A: Any, B: Any, gamma: float) -> Matrix:
    """Return exp(-gamma |a - b|^2) for all rows a of A and b of B."""
    squares = euclidean_distances(A, B, squared=True).astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):  # where gamma is huge all is doubtful, or has vanished
        rounding = gamma * np.finfo(float).eps * _sizes(A, B)
        if rounding.max() > ROUNDING:
            _measure(A, B, squares, (rounding > ROUNDING) & ~(gamma * squares - 4.0 * rounding >= VANISHED))
        return np.exp(-gamma * squares)


def squared_distances(A: Any) -> Matrix:
    """Return |a - a'|^2 for all rows of A, right to nine digits."""
    squares = euclidean_distances(A, squared=True).astype(np.float64, copy=False)
    _measure(A, A, squares, np.finfo(float).eps * _sizes(A, A) > ROUNDING * squares)
    return squares


def _sizes(A: Any, B: Any) -> Matrix:
    """Return |a|^2 + |b|^2."""
    of_A, of_B = (row_norms(rows, squared=True).astype(np.float64) for rows in (A, B))
    return of_A[:, None] + of_B


def _measure(A: Any, B: Any, squares: Matrix, doubtful: NDArray[np.bool_]) -> None:
    """Write squares of differences to the doubtful places."""
    rows, columns = np.nonzero(doubtful)
    for start in range(0, len(rows), PAIRS):
        i, j = rows[start : start + PAIRS], columns[start : start + PAIRS]
        squares[i, j] = np.square(paired_euclidean_distances(A[i], B[j]).astype(np.float64))
