"""A batch in the making: what its rows already say about every candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
NEAR_DUPLICATE = 1e-3  # share of its variance that a row keeps, given the batch, to be no near-duplicate of it


class Batch:
    """Rows chosen one after the other; `novelty` is the share of each candidate's variance that they leave.

    The shares are those of a pivoted Cholesky decomposition of K, one column per chosen row: as if the value at each
    chosen row were known without noise.
    """

    def __init__(self, K: Matrix) -> None:
        self._K = K
        self._own = np.maximum(np.diagonal(K), np.finfo(float).tiny)
        self._left = self._own.copy()
        self._columns: list[Vector] = []
        self._open = np.ones(len(K), dtype=bool)
        self.chosen: list[int] = []

    @property
    def novelty(self) -> Vector:
        """Share of the variance of each candidate that the batch leaves, between 0 and 1."""
        return np.clip(self._left / self._own, 0.0, 1.0)

    def best(self, scores: Vector) -> int:
        """Return the candidate of the highest score that is neither in the batch nor a near-duplicate of it.

        Where all that is left are near-duplicates, the best of these.
        """
        fresh = self._open & (self.novelty > NEAR_DUPLICATE)
        return int(np.where(fresh if fresh.any() else self._open, scores, -np.inf).argmax())

    def add(self, j: int) -> None:
        """Put a candidate into the batch."""
        self.chosen.append(j)
        self._open[j] = False
        column = self._K[:, j].copy()
        for earlier in self._columns:
            column -= earlier[j] * earlier
        if self._left[j] > NEAR_DUPLICATE * self._own[j]:
            column /= np.sqrt(self._left[j])
            self._columns.append(column)
            self._left -= np.square(column)
