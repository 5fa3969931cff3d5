"""What a label is expected to take off the errors at all rows, row by row, while a batch grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from halfmoon.active_learning._scene import Scene

__all__ = ["ErrorReduction"]

Vector = NDArray[np.float64]
LOOKED_AT = 450  # rows whose errors are added up, for 1,200 candidates: a batch of ten takes a fraction of a second
LEAST = 1e-12  # of the variance: where no label would change a decision, what is least known comes first
SMALLEST_VARIANCE = 1e-6  # of a row, against 1 under the kernel: errors are counted in units of deviations


class ErrorReduction:
    """A label at j moves the gap between the two best classes at row i by a normal number of deviation s_ij.

    With g_i the gap, w the variance of gaps in units of C, and s_ij^2 = w C_ij^2 / (C_jj + noise): where the gap
    changes its sign another class is best, so the gap is expected to grow by

        E |g_i + s_ij z| - g_i = 2 s_ij (phi(u) - u Phi(-u)),   u = g_i / s_ij,

    and what the errors at row i lose is taken to be that in units of its deviation sqrt(w C_ii). A label of the batch
    takes v v' off C, as in `VarianceReduction`, and is expected to leave the gaps.
    """

    def __init__(self, scene: Scene, gaps: Vector, rng: np.random.Generator) -> None:
        rows = np.flatnonzero(scene.masses > 0.0)
        if len(rows) > LOOKED_AT:
            rows = rng.choice(rows, LOOKED_AT, replace=False)
        self._rows, self._masses, self._gaps = rows, scene.masses[rows], gaps[rows].astype(np.float32)
        self._unit, self._noise = scene.gap_variance, scene.own_noise
        self._C = scene.covariance
        self._own = np.diagonal(self._C).copy()
        self._to_rows = self._C[:, rows]
        self._V = np.zeros((scene.m, 0))

    @property
    def gains(self) -> Vector:
        """What a label at each candidate is expected to take off."""
        own = np.maximum(self._own, 0.0)
        moves = np.abs(self._to_rows) * np.sqrt(self._unit / (own + self._noise + LEAST))[:, None]
        s = np.maximum(moves, LEAST).astype(np.float32)  # half the precision: most of the time goes into Phi
        u = self._gaps / s
        growth = s * (np.exp(-0.5 * u * u) / np.float32(np.sqrt(2.0 * np.pi)) - u * ndtr(-u))
        deviations = np.sqrt(self._unit * np.maximum(own[self._rows], SMALLEST_VARIANCE))
        return 2.0 * np.maximum(growth @ (self._masses / deviations), 0.0) + LEAST * own

    def add(self, j: int) -> None:
        """Count on a label at j."""
        v = (self._C[:, j] - self._V @ self._V[j]) / np.sqrt(max(self._own[j], 0.0) + self._noise)
        self._to_rows -= np.outer(v, v[self._rows])
        self._own -= np.square(v)
        self._V = np.column_stack([self._V, v])
