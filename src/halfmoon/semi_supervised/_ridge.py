"""Kernel ridge regression on a Gram matrix: one decomposition serves every ridge, leave-one-out errors included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["RidgePath", "RidgeSolution"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class RidgeSolution:
    """Dual coefficients, intercept and leave-one-out residuals, one column a target."""

    dual: Matrix  # (l, c)
    intercept: NDArray[np.float64]  # (c,)
    residuals: Matrix  # (l, c): y_i - f^(-i)(x_i)
    inverse: Matrix  # (l, l): P, see RidgePath
    sums: NDArray[np.float64]  # (l,): G^-1 1

    def variance(self, cross: Matrix, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predictive variance of points with kernels `cross` (c) to the examples and `own` to themselves.

        A Gaussian process with covariance K, noise alpha and a flat prior on the intercept has
        own - c' G^-1 c + (1 - 1' G^-1 c)^2 / (1' G^-1 1), which is own - c' P c + (1 - 2 1' G^-1 c) / (1' G^-1 1).
        """
        explained = np.einsum("ij,ij->i", cross @ self.inverse, cross)
        return np.maximum(own - explained + (1.0 - 2.0 * cross @ self.sums) / self.sums.sum(), 0.0)


class RidgePath:
    """Minimise sum_i w_i (y_i - f(x_i) - b)^2 + alpha |f|^2 with a free intercept b, for any alpha.

    With G = K + alpha diag(1 / w) and P = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1) the dual is P y, and leaving out i
    changes the prediction at x_i to y_i - (P y)_i / P_ii. G^-1 = w^1/2 V (s + alpha)^-1 V' w^1/2 with
    w^1/2 K w^1/2 = V s V'.
    """

    def __init__(self, K: Matrix, Y: Matrix, weights: NDArray[np.float64]) -> None:
        root = np.sqrt(weights)
        eigenvalues, V = linalg.eigh(root[:, None] * K * root)
        self.eigenvalues, self.V, self.Y = np.maximum(eigenvalues, 0.0), root[:, None] * V, Y

    def at(self, alpha: float) -> RidgeSolution:
        """Return the solution for one ridge."""
        G_inverse = (self.V / (self.eigenvalues + alpha)) @ self.V.T
        sums = G_inverse.sum(axis=1)
        P = G_inverse - np.outer(sums, sums) / sums.sum()
        dual = P @ self.Y
        diagonal = np.diagonal(P)[:, None]
        # A single example: nothing is left to predict it from.
        residuals = np.divide(dual, diagonal, out=self.Y.copy(), where=diagonal > 0.0)
        return RidgeSolution(dual, (sums @ self.Y) / sums.sum(), residuals, P, sums)
