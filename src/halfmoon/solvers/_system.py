"""The system behind a regulariser: R = S^-1 M S^-1 with a diagonal S.

M is diagonally dominant and sparse (L + mu D, say), so solvers like it; R (L_norm + mu I) is what Q is a power of. Some
eigenvectors of R are known exactly, with one known eigenvalue mu: they are handled in closed form,

    R^-p = mu^-p V V' + (R on the complement of V)^-p,

so solves never see them, and neither conditioning nor accuracy depends on the ridge.

A dominant M is applied by its edges, (M x)_i = sum_j w_ij (x_i - x_j) + excess_i x_i: rounding is then relative to
differences of x, and a small ridge does not drown in a large diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.solvers._nullspace import exact_excess, off_diagonal
from halfmoon.solvers._tree_floor import tree_floor

__all__ = ["ROUNDOFF", "ShiftedLaplacian", "System"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
ROUNDOFF = float(np.finfo(np.float64).eps)
COLUMNS = 4  # whose differences along all edges are held at once


class _Edges(NamedTuple):
    """The off-diagonals of M: (difference x)_e = x_i - x_j, or x_i + x_j for a positive entry M_ij."""

    difference: sparse.csr_array
    transposed: sparse.csr_array
    weight: Vector


@dataclass(frozen=True)
class ShiftedLaplacian:
    """L(W) + diag(shift), made each time it is asked for: beside W it would take as much again."""

    W: sparse.csr_array
    shift: Vector  # >= 0

    @property
    def diagonal(self) -> Vector:
        """The diagonal."""
        return np.asarray(self.W.sum(axis=1)).ravel() + self.shift

    def matrix(self) -> sparse.csr_array:
        """Return the matrix."""
        M = sparse.csr_array(sparse.diags_array(self.diagonal) - self.W)
        M.sort_indices()
        return M


@dataclass(frozen=True)
class System:
    """R = S^-1 M S^-1 and what is known of its spectrum.

    Attributes
    ----------
    source : csr_array of shape (n, n) or ShiftedLaplacian
        M, or what it is made from; symmetric p.s.d., and its null space is spanned by `null`.
    scale : ndarray of shape (n,)
        The diagonal of S.
    modes : csr_array of shape (n, count)
        Orthonormal eigenvectors V of R with R V = mode_value V.
    mode_value : float
        0 where R is singular on the modes; then (R^+)^p leaves them out.
    floor : float
        A proven lower bound on the spectrum of R off the modes that is known beforehand (the ridge, say), or 0.
    null : csr_array of shape (n, m)
        Orthonormal null vectors of M, which factorisations hold at 0.
    excess : ndarray of shape (n,), or None
        What the diagonal of M has above the sum of its off-diagonals, not lost in rounding; None: M is not dominant.
    uncertainty : float
        How much the diagonal of M may be off, relative to itself: dominance is checked up to rounding.
    unit : float
        The R of the regulariser is `unit` times this R: a power of two that keeps powers of R within float64.
    """

    source: sparse.csr_array | ShiftedLaplacian
    scale: Vector
    modes: sparse.csr_array
    mode_value: float
    floor: float
    null: sparse.csr_array
    excess: Vector | None
    uncertainty: float = 0.0
    unit: float = 1.0

    @classmethod
    def of_matrix(
        cls, A: sparse.csr_array, null: sparse.csr_array, floor: float = 0.0, dominant: bool = True
    ) -> System:
        """Return R = A, with the null vectors as its only modes."""
        excess, uncertainty = exact_excess(A) if dominant else (None, 0.0)
        return cls(A, np.ones(A.shape[0]), null, 0.0, floor, null, excess, uncertainty)

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return len(self.scale)

    @property
    def M(self) -> sparse.csr_array:
        """The matrix."""
        return self.source.matrix() if isinstance(self.source, ShiftedLaplacian) else self.source

    @property
    def is_signed(self) -> bool:
        """Whether off-diagonals of M are positive."""
        if isinstance(self.source, ShiftedLaplacian):
            return False
        return bool(np.count_nonzero(self.source.data > 0.0) > np.count_nonzero(self.source.diagonal() > 0.0))

    @property
    def weights(self) -> sparse.csr_array:
        """The weights W of the graph whose Laplacian M is, but for the excess; M is not signed."""
        if isinstance(self.source, ShiftedLaplacian):
            return self.source.W
        W = off_diagonal(self.source)
        np.negative(W.data, out=W.data)
        return W

    @cached_property
    def R(self) -> sparse.csr_array:
        """S^-1 M S^-1."""
        R, inverse = self.M, 1.0 / self.scale
        data = np.repeat(inverse, np.diff(R.indptr))
        data *= R.data
        data *= inverse[R.indices]
        return sparse.csr_array((data, R.indices, R.indptr), shape=R.shape)

    def apply(self, X: Matrix) -> Matrix:
        """Return R X."""
        s = self.scale[:, None]
        return (self.M @ (X / s)) / s

    def project(self, X: Matrix) -> Matrix:
        """Return solutions X of M X = B without their part along the modes, which are S^-1 V for M."""
        s = self.scale[:, None]
        return X - (self.modes @ (self.modes.T @ (s * X))) / s

    @cached_property
    def norm_bound(self) -> float:
        """A bound on the 2-norm of ``|R|``: the largest row sum of the similar matrix ``S^-2 |M|``."""
        return float((np.asarray(abs(self.M).sum(axis=1)).ravel() / self.scale**2).max())

    @cached_property
    def tree_floor(self) -> float:
        """A proven lower bound on the spectrum off the modes by a spanning tree; 0 unless all components have modes."""
        labels = np.full(self.n, -1)
        labels[np.repeat(np.arange(self.n), np.diff(self.modes.indptr))] = self.modes.indices
        off = off_diagonal(self.M)
        if self.excess is None or labels.min() < 0 or off.data.max(initial=-1.0) > 0.0:
            return 0.0
        mass = self.scale**2
        return float((self.excess / mass).min()) + tree_floor(-off, mass, labels)

    def diagonal_uncertainty(self) -> float:
        """Return how much the diagonal of R may be off."""
        if self.uncertainty == 0.0:
            return 0.0
        return float((self.uncertainty * self.M.diagonal() / self.scale**2).max())

    @cached_property
    def rounding(self) -> Vector:
        """Relative rounding of a sum over the edges of each vertex, of its mass and of what is made from them."""
        if isinstance(self.source, ShiftedLaplacian):
            entries = np.diff(self.source.W.indptr) + (self.source.diagonal > 0.0)
        else:
            entries = np.diff(self.source.indptr)
        return (entries + 8.0) * ROUNDOFF  # twice what rounding to nearest allows

    @cached_property
    def _edges(self) -> _Edges:
        upper = sparse.coo_array(sparse.triu(self.M, 1))
        i, j = upper.coords
        count = np.arange(upper.nnz)
        data = np.concatenate([np.ones(upper.nnz), np.sign(upper.data)])
        places = (np.concatenate([count, count]), np.concatenate([i, j]))
        difference = sparse.csr_array((data, places), shape=(upper.nnz, self.n))
        return _Edges(difference, sparse.csr_array(difference.T), np.abs(upper.data))

    def residual(self, B: Matrix, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return B - M X and a bound on its rounding, entry by entry, that of B and of M included."""
        out, magnitudes = np.empty_like(B), np.empty_like(B)
        for first in range(0, B.shape[1], COLUMNS):
            part = slice(first, first + COLUMNS)
            out[:, part], magnitudes[:, part] = self._residual(B[:, part], X[:, part])
        return out, self.rounding[:, None] * magnitudes

    def _residual(self, B: Matrix, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return B - M X and the sum of the absolute terms of each of its entries."""
        if self.excess is None:
            return B - self.M @ X, abs(self.M) @ np.abs(X) + np.abs(B)
        edges, diagonal = self._edges, self.excess[:, None] * X
        flow = edges.weight[:, None] * (edges.difference @ X)
        magnitudes = abs(edges.transposed) @ np.abs(flow) + np.abs(diagonal) + np.abs(B)
        if self.uncertainty > 0.0:
            magnitudes += self.uncertainty / ROUNDOFF * self.M.diagonal()[:, None] * np.abs(X)
        return B - edges.transposed @ flow - diagonal, magnitudes

    def mode_columns(self, landmarks: NDArray[np.intp], power: int) -> Matrix:
        """Return mode_value^(-power / 2) V on the landmarks, without the components that hold none."""
        if self.mode_value == 0.0:
            return np.zeros((len(landmarks), 0))
        V_S: Any = self.modes[landmarks]
        present = np.flatnonzero(np.asarray(abs(V_S).sum(axis=0)).ravel() > 0.0)
        return self.mode_value ** (-power / 2) * V_S[:, present].toarray()
