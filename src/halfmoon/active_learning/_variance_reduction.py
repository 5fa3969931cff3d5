"""What a label would take off the variance at all rows, row by row, while a batch grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from halfmoon.active_learning._scene import Scene

__all__ = ["VarianceReduction"]

Vector = NDArray[np.float64]


class VarianceReduction:
    """A label at j takes sum_i m_i C_ij^2 / (C_jj + noise) off sum_i m_i C_ii.

    It leaves C - v v' with v = c_j / sqrt(C_jj + noise), and then sum_i m_i C_ij^2 changes by
    v_j^2 (m' v^2) - 2 v_j (C (m v))_j. C stays as it is and the vectors v are kept: one product with C per row.
    """

    def __init__(self, scene: Scene) -> None:
        self._C, self._masses, self._noise = scene.covariance, scene.masses, scene.own_noise
        self._own = np.diagonal(self._C).copy()
        self._squares = self._masses @ np.square(self._C)
        self._V = np.zeros((scene.m, 0))

    @property
    def gains(self) -> Vector:
        """What a label at each candidate takes off."""
        return np.maximum(self._squares, 0.0) / (np.maximum(self._own, 0.0) + self._noise)

    def add(self, j: int) -> None:
        """Count on a label at j."""
        v = (self._C[:, j] - self._V @ self._V[j]) / np.sqrt(max(self._own[j], 0.0) + self._noise)
        weighed = self._masses * v
        spread = self._C @ weighed - self._V @ (self._V.T @ weighed)
        self._squares += np.square(v) * (v @ weighed) - 2.0 * v * spread
        self._own -= np.square(v)
        self._V = np.column_stack([self._V, v])
