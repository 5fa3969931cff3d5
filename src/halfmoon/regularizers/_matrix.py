"""A p.s.d. regulariser of the user's own, sparse or dense."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from halfmoon._validation import LARGEST, check_sparse
from halfmoon.exceptions import NotDiagonallyDominantError, NotPositiveSemidefiniteError
from halfmoon.graph import Components, connected_components
from halfmoon.regularizers._base import Greens, InversePower, Matrix, Regularizer
from halfmoon.runtime.storable import storable
from halfmoon.solvers import (
    ROUNDOFF,
    SolveOptions,
    System,
    check_sdd,
    exact_excess,
    factorize,
    negative_pivots,
    null_modes,
)

__all__ = ["MatrixRegularizer"]


@storable
class MatrixRegularizer(Regularizer):
    """A given symmetric positive semi-definite matrix Q (section 1: any such Q is allowed).

    Parameters
    ----------
    Q : scipy sparse or ndarray of shape (n, n)
        A sparse Q stays sparse. It may be singular if it is diagonally dominant; any other singular Q
        must be given dense. A dense Q is decomposed, and eigenvalues below ``n * eps`` times the largest
        count as zero.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import restrict
    >>> from halfmoon.regularizers import MatrixRegularizer
    >>> Q = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    >>> restrict(MatrixRegularizer(Q), [1]).greens.round(12)
    array([[1.]])
    """

    def __init__(self, Q: Any) -> None:
        self.dense = not sparse.issparse(Q)
        if self.dense:
            Q = np.asarray(Q)
        if Q.dtype.kind not in "buif":
            raise ValueError(f"Q must be a matrix of real numbers. Got type {Q.dtype} and shape {Q.shape}.")
        if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or Q.shape[0] == 0:
            raise ValueError(f"Q must be a square, non-empty matrix. Got shape {Q.shape}.")
        Q = sparse.csr_array(check_sparse("Q", Q), dtype=np.float64, copy=True)
        if not np.isfinite(Q.data).all():
            raise ValueError("Q holds NaN or infinite entries. Remove or replace them.")
        largest = float(np.abs(Q.data).max(initial=0.0))
        if largest > LARGEST:
            raise ValueError(f"Q holds entries up to {largest:.3g}; beyond {LARGEST:g} squares overflow. Divide Q.")
        if abs(Q - Q.T).max() > 1e-10 * abs(Q).max():
            raise ValueError("Q is not symmetric. Symmetrise it with (Q + Q.T) / 2.")
        self.Q = sparse.csr_array((Q + Q.T) / 2)
        self.Q.sum_duplicates()
        self.n = Q.shape[0]
        _ = self.inverse  # shows whether Q is positive semi-definite

    @cached_property
    def components(self) -> Components:
        """Connected components of the nonzero pattern of Q."""
        return connected_components(self.Q)

    @cached_property
    def inverse(self) -> InversePower:
        """Q with its null space and a lower bound on the rest of its spectrum, ready to be solved with."""
        if self.dense:
            modes, floor = self._decompose()
        elif self.dominant:
            modes, floor = null_modes(self.Q), float(exact_excess(self.Q)[0].min())  # Gershgorin
        else:
            modes, floor = sparse.csr_array((self.n, 0)), 0.0
            self._check_definite()
        return InversePower(System.of_matrix(self.Q, modes, floor, self.dominant and not self.dense), power=1)

    @property
    def modes(self) -> sparse.csr_array:
        """The null vectors of Q."""
        return self.inverse.system.modes

    @property
    def mode_inverse(self) -> float:
        """0: the modes are null vectors."""
        return 0.0

    def greens(self, landmarks: NDArray[np.intp], options: SolveOptions) -> Greens:
        """Return Q^+ on the landmarks (Theorem 4.2)."""
        return self.inverse.greens(landmarks, self._suitable(options))

    def solve_off_modes(self, B: Matrix, options: SolveOptions) -> Matrix:
        """Return Q^+ B, which has no part along the modes."""
        return self.inverse.solve_off_modes(B, self._suitable(options))

    @cached_property
    def dominant(self) -> bool:
        """Whether Q is diagonally dominant, which the iterative solvers need."""
        try:
            check_sdd(self.Q)
        except NotDiagonallyDominantError:
            return False
        return True

    def _suitable(self, options: SolveOptions) -> SolveOptions:
        """Keep iterative solvers away from matrices that they are not made for."""
        if options.solver in ("auto", "direct") and self.dense:  # its null vectors are dense: nothing to ground
            return replace(options, solver="eigen")
        if options.solver == "auto" and not self.dominant:
            return replace(options, solver="direct")
        if options.solver not in ("direct", "eigen", "auto") and not self.dominant:
            raise NotDiagonallyDominantError(
                f"solver={options.solver!r} needs a diagonally dominant Q, and this one is not. "
                "Use solver='direct' or solver='auto'."
            )
        return options

    def _decompose(self) -> tuple[sparse.csr_array, float]:
        """Return the null vectors of a dense Q and the smallest eigenvalue above them, or refuse Q."""
        eigenvalues, U = linalg.eigh(self.Q.toarray())
        scale = float(np.abs(eigenvalues).max())
        if eigenvalues[0] < -1e-10 * scale:
            raise NotPositiveSemidefiniteError(
                f"Q has the negative eigenvalue {eigenvalues[0]:g} (largest {eigenvalues[-1]:g}), so h' Q h is no "
                "regulariser. Add a ridge or check its signs."
            )
        rounding = self.n * ROUNDOFF * scale
        zeros = int((eigenvalues <= rounding).sum())
        floor = max(float(eigenvalues[zeros]) - rounding, 0.0) if zeros < self.n else 0.0
        return sparse.csr_array(U[:, :zeros]), floor

    def _check_definite(self) -> None:
        """Refuse a sparse Q that is neither diagonally dominant nor positive definite."""
        try:
            negative = negative_pivots(factorize(self.Q))
        except (ArithmeticError, RuntimeError) as error:
            raise ValueError(
                "Q is sparse, singular (or indefinite) and not diagonally dominant, so its null space is not "
                "known. Add a small ridge to its diagonal, or pass it as a dense array."
            ) from error
        if negative:
            raise NotPositiveSemidefiniteError(
                f"Q has {negative} negative eigenvalues of {self.n}, so h' Q h is no regulariser. "
                "Add a ridge or check its signs."
            )

    def __repr__(self) -> str:
        return f"MatrixRegularizer({'dense' if self.dense else 'sparse'}, n={self.n})"
