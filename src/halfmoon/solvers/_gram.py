"""Gram products X' Y of tiles, of which only the part on and above the diagonal is computed: blocks are symmetric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.executor import Executor
from halfmoon.solvers._system import ROUNDOFF

__all__ = ["gram_rounding", "mirrored", "upper_gram"]

Matrix = NDArray[np.float64]
Tiles = Sequence[NDArray[Any]]
PANEL = 1024  # rows of one product in the working precision; sums of panels are float64
GROUP = 8 * PANEL  # rows of one task
BLOCK = 256  # columns


def upper_gram(X: Tiles, Y: Tiles, dtype: str, executor: Executor) -> Matrix:
    """Return X' Y for lists of tiles, right on and above the diagonal, with products in the given precision."""
    total = np.zeros((sum(tile.shape[1] for tile in X), sum(tile.shape[1] for tile in Y)))
    for part in executor.map(_gram_group, (X, Y, dtype), range(0, X[0].shape[0], GROUP)):
        total += part
    return total


def gram_rounding(n: int, dtype: str) -> float:
    """Return a bound on the rounding of an entry of X' Y, relative to the norms of its columns."""
    return (PANEL + 16) * float(np.finfo(dtype).eps) + (n / PANEL + 16) * ROUNDOFF


def mirrored(A: Matrix) -> Matrix:
    """Return the symmetric matrix with the upper triangle of A."""
    return np.triu(A) + np.triu(A, 1).T


@np.errstate(all="ignore")
def _gram_group(prepared: tuple[Tiles, Tiles, str], start: int) -> Matrix:
    X, Y, dtype = prepared
    n, m = X[0].shape[0], sum(tile.shape[1] for tile in X)
    total = np.zeros((m, m))
    for first in range(start, min(start + GROUP, n), PANEL):
        rows = slice(first, first + PANEL)
        left, right = (np.concatenate([tile[rows] for tile in side], axis=1, dtype=dtype) for side in (X, Y))
        for column in range(0, m, BLOCK):
            total[column : column + BLOCK, column:] += left[:, column : column + BLOCK].T @ right[:, column:]
    return total
