"""A batch in the making: what its rows already say about every candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from halfmoon.active_learning._scene import Scene

__all__ = ["Batch"]

Vector = NDArray[np.float64]
NEAR = 1e-3  # squared distance of near-duplicates, of the mean one, in the metric of the base kernel
KNOWN = 1e-9  # share of the variance of a row below which its value follows from the batch


class Batch:
    """Rows chosen one after the other; `novelty` is the share of each candidate's variance that they leave.

    The shares are those of a pivoted Cholesky decomposition of K, one column per chosen row: as if the value at each
    chosen row were known without noise. Near-duplicates are told by the base kernel: in the graph two rows at nearly
    the same place may be far apart.
    """

    def __init__(self, scene: Scene) -> None:
        self._K, self._base = scene.K, scene.base
        self._own = np.maximum(np.diagonal(self._K), np.finfo(float).tiny)
        self._left = self._own.copy()
        self._columns: list[Vector] = []
        self._open, self._fresh = np.ones((2, scene.m), dtype=bool)
        self._size = np.diagonal(self._base)
        self._mean = 2.0 * float(self._size.mean() - self._base.mean()) if scene.m else 0.0  # squared distance
        self.chosen: list[int] = []

    @property
    def novelty(self) -> Vector:
        """Share of the variance of each candidate that the batch leaves, between 0 and 1."""
        return np.clip(self._left / self._own, 0.0, 1.0)

    def best(self, scores: Vector) -> int:
        """Return the candidate of the highest score that is neither in the batch nor a near-duplicate of it.

        Where all that is left are near-duplicates, the best of these.
        """
        return int(np.where(self._fresh if self._fresh.any() else self._open, scores, -np.inf).argmax())

    def add(self, j: int) -> None:
        """Put a candidate into the batch."""
        self.chosen.append(j)
        self._open[j] = self._fresh[j] = False
        self._fresh &= self._size + self._size[j] - 2.0 * self._base[:, j] > NEAR * self._mean
        column = self._K[:, j].copy()
        for earlier in self._columns:
            column -= earlier[j] * earlier
        if self._left[j] > KNOWN * self._own[j]:
            column /= np.sqrt(self._left[j])
            self._columns.append(column)
            self._left -= np.square(column)
