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
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon._base_kernels import BaseKernel
from halfmoon._caches import without_caches
from halfmoon.graph import NeighborSearch, SearchOptions, find_copies
from halfmoon.graph._copies import Copies, RowLookup
from halfmoon.interpolation import interpolate, interpolation_rows
from halfmoon.regularizers import Regularizer
from halfmoon.restriction import Restriction
from halfmoon.solvers import SolveOptions

__all__ = ["Extension", "GraphExtension", "KernelExtension", "Measured"]

Matrix = NDArray[np.float64]


class Extension(Protocol):
    """A positive semi-definite kernel on the input space."""

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return the matrix K(a, b)."""
        ...

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return K(a, a)."""
        ...


@dataclass(frozen=True)
class Measured:
    """Rows x as eq. 6 sees them, with C = (A + eta K_hat)^-1 = F F'.

    A row that is landmark s is known exactly by e_s, any other by its base-kernel values k_x alone.
    """

    on: NDArray[np.bool_]  # whether x is a landmark
    k: Matrix  # k_x, 0 for landmarks
    within: Matrix  # k_x' F, for landmarks too
    rest: Matrix  # e_s - eta C K_hat e_s for landmarks, - eta C k_x for others
    smooth: Matrix  # eta^1/2 C k_x, to be weighed by the smooth part of A
    modes: Matrix  # the same along the modes of A


class KernelExtension:
    """K(x, x') - eta k_x' (A + eta K_hat)^-1 k_x' (eq. 6).

    For large eta it is small, of size A / eta on the landmarks, and the difference as it is written loses all digits.
    With r_x = phi_x - eta k_x' C phi_S, what the landmarks do not explain of the feature phi_x, it is

        <r_x, r_x'>_K + eta k_x' C A C k_x',

    the Joseph form of `landmark_gram`; on landmarks r_x is a short combination of phi_S that does not cancel.
    """

    def __init__(self, base: BaseKernel, X_S: Any, K_hat: Matrix, restriction: Restriction, eta: float) -> None:
        self.base, self.X_S, self.eta = base, X_S, eta
        self._K_hat, self._restriction = K_hat, restriction

    @cached_property
    def _roots(self) -> tuple[Matrix, Matrix]:
        """F with F F' = (A + eta K_hat)^-1, and the modes of A times F."""
        return self._restriction.inverse_root(self.eta * self._K_hat)

    @property
    def root(self) -> Matrix:
        """F with F F' = (A + eta K_hat)^-1."""
        return self._roots[0]

    @cached_property
    def _lookup(self) -> RowLookup:
        return RowLookup(self.X_S)

    @property
    def _is_loud(self) -> bool:
        """Whether eta K_hat outweighs A."""
        A = float(np.trace(self._restriction.smooth)) + float(np.square(self._restriction.modes).sum())
        return self.eta * float(np.trace(self._K_hat)) > A

    @cached_property
    def _rest(self) -> Matrix:
        """I - eta K_hat C, a row a landmark; as A C where eta K_hat outweighs A and the difference would cancel."""
        F, r = self.root, self._restriction
        if r.range_basis is not None or not self._is_loud:
            return np.eye(len(self._K_hat)) - self.eta * ((self._K_hat @ F) @ F.T)
        return (r.smooth @ F + r.modes @ (r.modes.T @ F)) @ F.T

    @property
    def rounding(self) -> float:
        """Relative rounding error of eq. 6 between the landmarks, estimated; 1 where no digit is left.

        It is small against K(x, x) there, of the size of what a landmark has in common with no other: 1 / (eta C_ss).
        """
        F, n = self.root, len(self._K_hat) - self._restriction.null_basis.shape[1]
        if not self._is_loud:
            return float(np.finfo(float).eps)
        if F.shape[1] < n:  # directions were left out that rounding hides
            return 1.0
        lost = self.eta * np.square(F).sum(axis=1) * np.diagonal(self._K_hat)  # K(s, s) over what is left of it
        return min(1.0, float(np.finfo(float).eps * np.median(lost)))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return without_caches(self)

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return eq. 6 for the rows of A and B."""
        return self.between(self.measure(A), self.measure(B), self.base(A, B))

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return the diagonal of eq. 6."""
        a = self.measure(A)
        unexplained = np.einsum("ij,ij->i", a.rest, a.rest @ self._K_hat + 2.0 * a.k)
        smooth = np.einsum("ij,ij->i", a.smooth, a.smooth @ self._restriction.smooth)
        return np.where(a.on, 0.0, self.base.diag(A)) + unexplained + smooth + np.square(a.modes).sum(axis=1)

    def measure(self, A: Any, to_landmarks: Matrix | None = None) -> Measured:
        """Measure the rows of A at the landmarks; `to_landmarks` is K between both, where it is known."""
        F, modes_F = self._roots
        k = self.base(A, self.X_S) if to_landmarks is None else to_landmarks
        place = self._lookup.find(A)
        on = place >= 0
        k = np.where(on[:, None], self._K_hat[place], k)
        within = k @ F
        shown = within @ F.T
        rest = np.where(on[:, None], self._rest[place], -self.eta * shown)
        size = np.sqrt(self.eta)
        return Measured(on, np.where(on[:, None], 0.0, k), within, rest, size * shown, size * (within @ modes_F.T))

    def between(self, a: Measured, b: Measured, base: Matrix) -> Matrix:
        """Return eq. 6 between measured rows, with their base-kernel values."""
        unexplained = np.where(a.on[:, None] | b.on, 0.0, base) + a.rest @ (b.rest @ self._K_hat + b.k).T
        unexplained += a.k @ b.rest.T
        return unexplained + (a.smooth @ self._restriction.smooth) @ b.smooth.T + a.modes @ b.modes.T


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
