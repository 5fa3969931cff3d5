"""From the landmarks to every point: the two ways in which a kernel on S becomes one on the input space.

Both start from A = Q_hat^+ and the base kernel K_hat on the landmarks, and agree there:

    K_SS = K_hat - eta K_hat (A + eta K_hat)^-1 K_hat                                            (eq. 6 on S)

- `KernelExtension`, the paper's eq. 6, goes on through the base kernel.
- `GraphExtension` goes on through the graph: with T the interpolation of Theorem 3.2 (h* = T h_S),
  K(x, x') = t_x' K_SS t_x', where t_x is row i of T for training point i and a mean of such rows for a new x.

(A + eta K_hat)^-1 stands for (I + eta Q_hat K_hat)^-1 Q_hat: equal for invertible A, symmetric, and one Cholesky.
Where Q_hat is singular its null space is known and the inverse is taken on the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon._base_kernels import BaseKernel
from halfmoon.graph import NeighborSearch, find_copies
from halfmoon.regularizers import Regularizer
from halfmoon.restriction import Restriction, interpolate
from halfmoon.solvers import SolveOptions

__all__ = ["Extension", "GraphExtension", "KernelExtension"]

Matrix = NDArray[np.float64]


class Extension(Protocol):
    """A positive semi-definite kernel on the input space."""

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return the matrix K(a, b)."""
        ...

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return K(a, a)."""
        ...


class KernelExtension:
    """K(x, x') - eta k_x' (A + eta K_hat)^-1 k_x' (eq. 6)."""

    def __init__(self, base: BaseKernel, X_S: Any, restriction: Restriction, eta: float) -> None:
        self.base, self.X_S, self.eta = base, X_S, eta
        self.root, _ = restriction.inverse_root(eta * base(X_S, X_S))

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return eq. 6 for the rows of A and B."""
        return self.base(A, B) - self.eta * (self._measured(A) @ self._measured(B).T)

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return the diagonal of eq. 6."""
        return self.base.diag(A) - self.eta * np.square(self._measured(A)).sum(axis=1)

    def _measured(self, A: Any) -> Matrix:
        return self.base(A, self.X_S) @ self.root


class GraphExtension:
    """t_x' K_SS t_x', through the features Phi = T B with K_SS = B B'; Phi has one row a distinct training point."""

    def __init__(
        self,
        base: BaseKernel,
        X_S: Any,
        restriction: Restriction,
        eta: float,
        *,
        Q: Regularizer,
        X: Any,
        metric: str | Callable[..., float],
        n_neighbors: int,
        options: SolveOptions,
    ) -> None:
        S = restriction.landmarks
        B = square_root(landmark_gram(restriction, base(X_S, X_S), eta))
        features = B if len(S) == Q.n and np.array_equal(S, np.arange(Q.n)) else interpolate(Q, restriction, B, options)
        # A kernel is a function of the point, so copies share one row: that of a landmark, else their mean.
        copies = find_copies(X)
        self.features = copies.mean(features)
        self.features[copies.group[S]] = B  # T is the identity on S, and equal landmarks have equal rows of B
        self.search = NeighborSearch(X[copies.first], metric=metric)
        self.n_neighbors = min(n_neighbors, len(copies.first))

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return t_a' K_SS t_b for the rows of A and B."""
        return self.transform(A) @ self.transform(B).T

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return t_a' K_SS t_a for the rows of A."""
        return np.square(self.transform(A)).sum(axis=1)

    def transform(self, A: Any) -> Matrix:
        """Return the mean of the neighbours' features, weighted so that a training point gets its own."""
        distances, indices = self.search.query(A, self.n_neighbors)
        weights = interpolating_weights(distances)
        features = np.zeros((A.shape[0], self.features.shape[1]))
        for j in range(self.n_neighbors):
            features += weights[:, j, None] * self.features[indices[:, j]]
        return features


def interpolating_weights(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Shepard weights, 1 / d^2 scaled to sum 1; points at distance 0 share all the weight."""
    nearest = distances[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(nearest > 0.0, (nearest / distances) ** 2, distances == 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def landmark_gram(restriction: Restriction, K_hat: Matrix, eta: float) -> Matrix:
    """Return K_SS = K_hat - eta K_hat C K_hat with C = (A + eta K_hat)^-1, p.s.d. in floating point too.

    With N = eta C K_hat it equals (I - N)' K_hat (I - N) + eta K_hat C A C K_hat: a sum of p.s.d. terms in which
    nothing cancels (the Joseph form of Kalman filters).
    """
    root, seen_modes = restriction.inverse_root(eta * K_hat)
    CK = root @ (root.T @ K_hat)
    kept = np.eye(len(K_hat)) - eta * CK
    from_modes = seen_modes @ (root.T @ K_hat)
    K_SS = kept.T @ K_hat @ kept + eta * (CK.T @ restriction.smooth @ CK + from_modes.T @ from_modes)
    return (K_SS + K_SS.T) / 2


def square_root(K: Matrix) -> Matrix:
    """Return B with B B' = K; directions at rounding level are left out."""
    eigenvalues, V = linalg.eigh(K)
    kept = eigenvalues > len(K) * np.finfo(float).eps * max(float(eigenvalues[-1]), 0.0)
    return V[:, kept] * np.sqrt(eigenvalues[kept])
