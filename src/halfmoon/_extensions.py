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

import copyreg
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon._base_kernels import BaseKernel
from halfmoon._caches import without_caches
from halfmoon.graph import NeighborSearch, SearchOptions, find_copies
from halfmoon.graph._copies import Copies
from halfmoon.interpolation import interpolate, interpolation_rows
from halfmoon.regularizers import Regularizer
from halfmoon.restriction import Restriction
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

    def __init__(self, base: BaseKernel, X_S: Any, K_hat: Matrix, restriction: Restriction, eta: float) -> None:
        self.base, self.X_S, self.eta = base, X_S, eta
        self._K_hat, self._restriction = K_hat, restriction

    @cached_property
    def root(self) -> Matrix:
        """F with F F' = (A + eta K_hat)^-1."""
        return self._restriction.inverse_root(self.eta * self._K_hat)[0]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return without_caches(self)

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return eq. 6 for the rows of A and B."""
        return self.base(A, B) - self.eta * (self.measured(A) @ self.measured(B).T)

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return the diagonal of eq. 6."""
        return self.base.diag(A) - self.eta * np.square(self.measured(A)).sum(axis=1)

    def measured(self, A: Any) -> Matrix:
        """Return k_x' F for the rows x of A, with F F' = (A + eta K_hat)^-1."""
        return self.base(A, self.X_S) @ self.root


class GraphExtension:
    """t_x' K_SS t_x', through the features Phi = T B with K_SS = B B'; Phi has one row a distinct training point.

    What only needs the values of some functions on the training points (a decision function, say) asks for these
    (`on_training_points`) and `average`s them; Phi, of size n x n_hat, is computed when a kernel matrix is asked for.
    """

    def __init__(
        self,
        K_hat: Matrix,
        restriction: Restriction,
        eta: float,
        *,
        Q: Regularizer,
        X: Any,
        metric: str | Callable[..., float],
        n_neighbors: int,
        options: SolveOptions,
    ) -> None:
        self.K_hat, self.restriction, self.eta = K_hat, restriction, eta
        self.Q, self.options = Q, options
        self.X, self.metric = X, metric
        self._n_neighbors = n_neighbors

    @cached_property
    def copies(self) -> Copies:
        """A kernel is a function of the point, so copies share one row: that of a landmark, else their mean."""
        return find_copies(self.X)

    @property
    def n_neighbors(self) -> int:
        """Neighbours that a point is placed by."""
        return min(self._n_neighbors, len(self.copies.first))

    @cached_property
    def search(self) -> NeighborSearch:
        """Search among the distinct training points."""
        X = self.X if len(self.copies.first) == self.X.shape[0] else self.X[self.copies.first]
        return NeighborSearch(X, metric=self.metric, options=SearchOptions(n_jobs=self.options.n_jobs))

    def bent(self, K_hat: Matrix, restriction: Restriction, eta: float, Q: Regularizer) -> GraphExtension:
        """Return the extension of another kernel on the same points; their copies and their search are shared."""
        twin = GraphExtension(
            K_hat,
            restriction,
            eta,
            Q=Q,
            X=self.X,
            metric=self.metric,
            n_neighbors=self._n_neighbors,
            options=self.options,
        )
        vars(twin).update({name: vars(self)[name] for name in ("copies", "search") if name in vars(self)})
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what can be computed again, but for what a fitted decision function divides by.

        Not `__getstate__`, which model files ask: they keep more, to give back the same bits on other machines.
        """
        return copyreg.__newobj__, (type(self),), without_caches(self, kept=("sizes_everywhere",))  # type: ignore[attr-defined]

    @cached_property
    def K_SS(self) -> Matrix:
        """The kernel on the landmarks."""
        return landmark_gram(self.restriction, self.K_hat, self.eta)

    def among(self, T: Matrix) -> Matrix:
        """Return T K_SS T'; where K_SS is not known, without it: for a few rows of T it costs less."""
        if "K_SS" in vars(self):
            return T @ self.K_SS @ T.T
        return landmark_gram(self.restriction, self.K_hat, self.eta, T)

    @property
    def sizes(self) -> NDArray[np.float64]:
        """sqrt(K(x, x)) on the landmarks."""
        return np.sqrt(np.diagonal(self.K_SS))

    @cached_property
    def sizes_everywhere(self) -> Matrix:
        """The interpolant of the sizes at the distinct training points, one column."""
        return self.on_training_points(self.sizes[:, None])

    @cached_property
    def features(self) -> Matrix:
        """Phi on the distinct training points."""
        return self.on_training_points(square_root(self.K_SS))

    def on_training_points(self, h_hat: Matrix) -> Matrix:
        """Return T h_hat, the functions with these values on S, at the distinct training points."""
        S, n = self.restriction.landmarks, self.Q.n
        whole = len(S) == n and np.array_equal(S, np.arange(n))
        values = self.copies.mean(h_hat if whole else interpolate(self.Q, self.restriction, h_hat, self.options))
        values[self.copies.group[S]] = h_hat  # T is the identity on S, and equal landmarks have equal values
        return values

    def rows(self, rows: NDArray[np.intp]) -> Matrix:
        """Return t_i for some training rows i."""
        return interpolation_rows(self.Q, self.restriction, rows, self.options)

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return t_a' K_SS t_b for the rows of A and B."""
        return self.transform(A) @ self.transform(B).T

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return t_a' K_SS t_a for the rows of A."""
        return np.square(self.transform(A)).sum(axis=1)

    def transform(self, A: Any) -> Matrix:
        """Return Phi for any points."""
        return self.average(A, self.features)

    def average(self, A: Any, values: Matrix) -> Matrix:
        """Return the mean of the neighbours' values, weighted so that a training point gets its own."""
        distances, indices = self.search.query(A, self.n_neighbors)
        weights = interpolating_weights(distances)
        means = np.zeros((A.shape[0], values.shape[1]))
        for j in range(self.n_neighbors):
            means += weights[:, j, None] * values[indices[:, j]]
        return means


def interpolating_weights(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Shepard weights, 1 / d^2 scaled to sum 1; points at distance 0 share all the weight."""
    nearest = distances[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(nearest > 0.0, (nearest / distances) ** 2, distances == 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def landmark_gram(restriction: Restriction, K_hat: Matrix, eta: float, T: Matrix | None = None) -> Matrix:
    """Return K_SS = K_hat - eta K_hat C K_hat with C = (A + eta K_hat)^-1, or T K_SS T'; p.s.d. in floating point too.

    With N = eta C K_hat it equals (I - N)' K_hat (I - N) + eta K_hat C A C K_hat: a sum of p.s.d. terms in which
    nothing cancels (the Joseph form of Kalman filters).
    """
    root, seen_modes = restriction.inverse_root(eta * K_hat)
    to, KT = (np.eye(len(K_hat)), K_hat) if T is None else (T.T, K_hat @ T.T)
    within = root.T @ KT
    CKT = root @ within
    kept = to - eta * CKT
    from_modes = seen_modes @ within
    K = kept.T @ K_hat @ kept + eta * (CKT.T @ restriction.smooth @ CKT + from_modes.T @ from_modes)
    return (K + K.T) / 2


def square_root(K: Matrix) -> Matrix:
    """Return B with B B' = K; directions at rounding level are left out."""
    eigenvalues, V = linalg.eigh(K)
    kept = eigenvalues > len(K) * np.finfo(float).eps * max(float(eigenvalues[-1]), 0.0)
    return V[:, kept] * np.sqrt(eigenvalues[kept])
