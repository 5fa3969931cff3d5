"""Kernel ridge regression on a Gram matrix, in closed form, leave-one-out errors included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised.losses._base import DualSolution

__all__ = ["RidgeLoss", "RidgePath", "RidgeSolution"]

Matrix = NDArray[np.float64]
MODERATE = 1e4  # w_i K_ii between this and its inverse: one eigendecomposition is accurate for every ridge


@dataclass(frozen=True)
class RidgeLoss:
    """Least squares with the ridge alpha."""

    alpha: float

    def fit(self, K: Matrix, Y: Matrix, weights: NDArray[np.float64]) -> RidgeSolution:
        """Solve in closed form."""
        return RidgePath(K, Y, weights).at(self.alpha)

    def leave_one_out(
        self, K: Matrix, Y: Matrix, weights: NDArray[np.float64], rows: NDArray[np.intp] | None = None
    ) -> Matrix:
        """Return held-out values, in closed form too, all at once."""
        return Y - self.fit(K, Y, weights).residuals


@storable
@dataclass(frozen=True)
class RidgeSolution(DualSolution):
    """Dual coefficients, intercept and leave-one-out residuals, one column per target."""

    residuals: Matrix  # (l, c): y_i - f^(-i)(x_i)
    inverse: Matrix  # (l, l): P, see RidgePath
    sums: NDArray[np.float64]  # (l,): G^-1 1

    def scaled(self, unit: float) -> RidgeSolution:
        """Return the solution for targets in another unit."""
        return replace(self, dual=unit * self.dual, intercept=unit * self.intercept, residuals=unit * self.residuals)

    def variance(self, cross: Matrix, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predictive variance of points with kernels `cross` (c) to the examples and `own` to themselves.

        A Gaussian process with covariance K, noise alpha and a flat prior on the intercept has
        own - c' G^-1 c + (1 - 1' G^-1 c)^2 / (1' G^-1 1), which is own - c' P c + (1 - 2 1' G^-1 c) / (1' G^-1 1).
        """
        explained = np.einsum("ij,ij->i", cross @ self.inverse, cross)
        return np.maximum(own - explained + (1.0 - 2.0 * cross @ self.sums) / self.sums.sum(), 0.0)

    @property
    def scale(self) -> float:
        """Root mean square of the studentised leave-one-out residuals: the unit of predictive deviations."""
        studentised = self.residuals * np.sqrt(np.maximum(np.diagonal(self.inverse), 0.0))[:, None]
        unit = float(np.abs(studentised).max()) or 1.0  # squares of targets may overflow
        return unit * float(np.sqrt(np.mean(np.square(studentised / unit))))

    def residuals_without_each(self) -> NDArray[np.float64]:
        """Return leave-one-out residuals of the examples j after leaving out i, of shape (i, j, c).

        With e the leave-one-out residuals and C the correlations of P it is (e_j - e_i P_ij / P_jj) / (1 - C_ij^2);
        that of i itself is its ordinary leave-one-out residual.
        """
        P, e = self.inverse, self.residuals
        own = np.diagonal(P)
        roots = 1.0 / np.sqrt(np.maximum(own, np.finfo(float).tiny))
        correlation = roots[:, None] * P * roots
        to_other = np.divide(P, own, out=np.zeros_like(P), where=own > 0.0)  # weights may be 1e300
        left = np.maximum(1.0 - correlation**2, np.finfo(float).eps)  # two examples: nothing predicts the other
        residuals = np.empty((e.shape[1], *P.shape))
        for column, of_column in zip(residuals, e.T, strict=True):  # in place: all of them are (l, l, c) numbers
            np.multiply(to_other, -of_column[:, None], out=column)
            column += of_column
            column /= left
            np.fill_diagonal(column, of_column)
        return residuals.transpose(1, 2, 0)


class RidgePath:
    """Minimise sum_i w_i (y_i - f(x_i) - b)^2 + alpha |f|^2 with a free intercept b, for any alpha.

    With G = K + alpha diag(1 / w) and P = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1) the dual is P y, and leaving out i
    changes the prediction at x_i to y_i - (P y)_i / P_ii.
    """

    def __init__(self, K: Matrix, Y: Matrix, weights: NDArray[np.float64]) -> None:
        self.K, self.Y, self.weights = K, Y, weights

    def at(self, alpha: float) -> RidgeSolution:
        """Return the solution for one ridge."""
        G_inverse = self._inverse(alpha)
        sums = G_inverse.sum(axis=1)
        P = G_inverse - np.outer(sums, sums) / sums.sum()
        dual = P @ self.Y
        diagonal = np.diagonal(P)[:, None]
        # A single example: nothing is left to predict it from.
        residuals = np.divide(dual, diagonal, out=self.Y.copy(), where=diagonal > 0.0)
        return RidgeSolution(dual, (sums @ self.Y) / sums.sum(), residuals, P, sums)

    def residuals(self, alphas: Sequence[float]) -> NDArray[np.float64]:
        """Return the leave-one-out residuals of several ridges, of shape (ridges, l, c).

        With W^1/2 K W^1/2 = V diag(s) V', G^-1 is W^1/2 V diag(1 / (s + alpha)) V' W^1/2: one decomposition for all.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon.semi_supervised.losses import RidgePath
        >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
        >>> path = RidgePath(1.0 + np.outer(x, x), np.sign(x)[:, None], np.ones(4))
        >>> bool(np.allclose(path.residuals([0.1, 1.0])[1], path.at(1.0).residuals))
        True
        """
        spectrum = self._spectrum()
        if spectrum is None:
            return np.stack([self.at(alpha).residuals for alpha in alphas])
        eigenvalues, V = spectrum
        root = np.sqrt(self.weights)[:, None]
        right = np.column_stack([np.ones(len(self.Y)), self.Y])
        shrunk = 1.0 / (eigenvalues + np.asarray(alphas)[:, None])
        solved = root * (V @ (shrunk[:, :, None] * (V.T @ (root * right))))  # G^-1 [1, Y]
        sums, total = solved[:, :, :1], solved[:, :, 0].sum(axis=1)[:, None, None]
        dual = solved[:, :, 1:] - sums * (sums.transpose(0, 2, 1) @ self.Y) / total
        diagonal = (np.square(root * V) @ shrunk.T).T[:, :, None] - np.square(sums) / total
        return np.divide(dual, diagonal, out=np.tile(self.Y, (len(alphas), 1, 1)), where=diagonal > 0.0)

    def _spectrum(self) -> tuple[NDArray[np.float64], Matrix] | None:
        """Return eigenvalues and eigenvectors of W^1/2 K W^1/2; None where weights differ by too much for it.

        Mixtures are decomposed side by side. Hence no cached property, whose lock all objects share in Python 3.11, and
        not SciPy's eigh, which keeps other threads waiting.
        """
        masses = self.weights * np.diagonal(self.K)
        if not (masses.min() >= 1.0 / MODERATE and masses.max() <= MODERATE):
            return None
        root = np.sqrt(self.weights)
        eigenvalues, V = np.linalg.eigh(root[:, None] * self.K * root)
        return np.maximum(eigenvalues, 0.0), V

    def _inverse(self, alpha: float) -> Matrix:
        """Return G^-1, with G brought to a diagonal of ones first: weights may differ by any power of ten."""
        with np.errstate(divide="ignore", over="ignore"):
            d = 1.0 / np.sqrt(np.maximum(np.diagonal(self.K) + alpha / self.weights, np.finfo(float).tiny))
        M = d[:, None] * self.K * d
        np.fill_diagonal(M, 1.0)
        return d[:, None] * _inverse_of_unit_diagonal(M) * d


def _inverse_of_unit_diagonal(M: Matrix) -> Matrix:
    """Return M^-1; eigenvalues that rounding hides count as rounding, as if the ridge were that large."""
    factor, failed = linalg.lapack.dpotrf(M, lower=1)
    if not failed:
        inverse, failed = linalg.lapack.dpotri(factor, lower=1)
    if not failed:
        return np.tril(inverse) + np.tril(inverse, -1).T
    eigenvalues, V = linalg.eigh(M)
    return (V / np.maximum(eigenvalues, len(M) * np.finfo(float).eps)) @ V.T
