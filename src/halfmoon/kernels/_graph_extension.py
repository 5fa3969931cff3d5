"""From the landmarks to every point through the graph: K(x, x') = t_x' K_SS t_x'.

K_SS = K_hat - eta K_hat (A + eta K_hat)^-1 K_hat is eq. 6 on the landmarks, T the interpolation of Theorem 3.2
(h* = T h_S), t_x row i of T for training point i and a mean of such rows for a new x.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon.geometry import Geometry, Restriction
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.storable import storable

__all__ = ["GraphExtension"]

Matrix = NDArray[np.float64]
MOST_NUMBERS = 1 << 28  # of Phi, kept whole: 2 GB
VANISHING = 1e-5  # of the root of A / eta, which K_SS is a sizeable part of wherever the base kernel has full rank


@storable(kept=("K_SS", "features"))
class GraphExtension:
    """t_x' K_SS t_x', through the features Phi = T B with K_SS = B B'; Phi has one row per distinct training point.

    What only needs the values of some functions on the training points (a decision function, say) asks the geometry for
    these; Phi, of size n x n_hat, is computed when a kernel matrix is asked for.

    `with_modes=False` leaves the modes of the components out of Q^+: a model with an intercept has the constants
    already, and a small ridge would make them outweigh everything else.
    """

    def __init__(
        self, geometry: Geometry, power: int | None, K_hat: Matrix, eta: float, *, with_modes: bool = True
    ) -> None:
        self.geometry, self.power, self.K_hat, self.eta = geometry, power, K_hat, eta
        self.with_modes = with_modes

    def appended(self, geometry: Geometry) -> GraphExtension:
        """Return the extension to a geometry with further rows; what is known on landmarks and old rows stays."""
        more = GraphExtension(geometry, self.power, self.K_hat, self.eta, with_modes=self.with_modes)
        known = vars(self)
        if "K_SS" in known:
            vars(more)["K_SS"] = self.K_SS
        if "sizes_everywhere" in known and not self.geometry.has_duplicates:  # else rows differ from their point's mean
            vars(more)["sizes_everywhere"] = geometry.follow(self.sizes_everywhere, self.sizes[:, None])
        return more

    @property
    def restriction(self) -> Restriction:
        """Q^+ on the landmarks."""
        restriction = self.geometry.restriction(self.power)
        if self.with_modes:
            return restriction
        nothing = np.zeros((len(restriction.landmarks), 0))
        return replace(restriction, modes=nothing, null_basis=nothing)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what can be computed again.

        Not `__getstate__`, which model files ask: they keep more, to give back the same bits on other machines.
        """
        return copyreg.__newobj__, (type(self),), without_caches(self)  # type: ignore[attr-defined]

    @cached_property
    def K_SS(self) -> Matrix:
        """The kernel on the landmarks."""
        return landmark_gram(self.restriction, self.K_hat, self.eta)

    def among(self, T: Matrix) -> Matrix:
        """Return T K_SS T'; for a few rows of T, where K_SS has not been asked for, without it: that costs less."""
        if "K_SS" in vars(self):
            return T @ self.K_SS @ T.T
        return landmark_gram(self.restriction, self.K_hat, self.eta, T)

    @property
    def least_size(self) -> float:
        """Below it sqrt(K(x, x)) is rounding: a base kernel of low rank may leave nothing beside the modes."""
        A = self.restriction.smooth
        return VANISHING * float(np.sqrt(max(float(np.trace(A)), 0.0) / (len(A) * self.eta))) if self.eta > 0.0 else 0.0

    @property
    def sizes(self) -> NDArray[np.float64]:
        """sqrt(K(x, x)) on the landmarks."""
        return np.maximum(np.sqrt(np.maximum(np.diagonal(self.K_SS), 0.0)), self.least_size)

    @cached_property
    def sizes_everywhere(self) -> Matrix:
        """The interpolant of the sizes at the distinct training points, one column."""
        return self.on_points(self.sizes[:, None])

    @cached_property
    def features(self) -> Matrix:
        """Phi on the distinct training points."""
        return self.on_points(square_root(self.K_SS))

    @property
    def _is_kept(self) -> bool:
        """Whether Phi of all training points is small enough to be kept."""
        return self.geometry.index.n_points * len(self.K_hat) <= MOST_NUMBERS

    @property
    def on_landmarks(self) -> Matrix:
        """Phi on the landmarks: B."""
        if not self._is_kept:
            return square_root(self.K_SS)
        return self.features[self.geometry.duplicates.group[self.geometry.landmarks]]

    def on_points(self, h_hat: Matrix) -> Matrix:
        """Return T h_hat, the functions with these values on S, at the distinct training points."""
        return self.geometry.on_points(h_hat, self.power)

    def on_points_with_sizes(self, h_hat: Matrix) -> tuple[Matrix, Matrix]:
        """Return `on_points(h_hat)` and `sizes_everywhere`, which costs one column more in the same solves."""
        if "sizes_everywhere" not in vars(self):
            both = self.on_points(np.column_stack([h_hat, self.sizes]))
            self.sizes_everywhere = both[:, -1:].copy()
            return both[:, :-1], self.sizes_everywhere
        return self.on_points(h_hat), self.sizes_everywhere

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return t_a' K_SS t_b for the rows of A and B."""
        return self.transform(A) @ self.transform(B).T

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return t_a' K_SS t_a for the rows of A."""
        return np.square(self.transform(A)).sum(axis=1)

    def transform(self, A: Any, *, as_new: bool = False) -> Matrix:
        """Return Phi for any points; `as_new` places known ones by their neighbours, as if they were new.

        Where Phi of all training points is larger than `MOST_NUMBERS` it is solved for in blocks of columns, each time.
        """
        return np.hstack([self.geometry.average(A, block, as_new=as_new) for block in self.blocks()])

    def blocks(self) -> Iterator[Matrix]:
        """Yield Phi on the distinct training points: whole where it is kept, else in blocks of columns."""
        if self._is_kept:
            yield self.features
            return
        B, step = self.on_landmarks, max(1, MOST_NUMBERS // self.geometry.index.n_points)
        for start in range(0, B.shape[1], step):
            yield self.on_points(B[:, start : start + step])


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
