"""Sparse direct solver: SuperLU without pivoting on the grounded matrix, one step of refinement."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import SuperLU, splu

from halfmoon.solvers._nullspace import project_out

__all__ = ["DirectSolver", "factorize", "negative_pivots"]


class DirectSolver:
    """Factor once, solve exactly.

    A singular component is grounded: one of its vertices is held at 0, which leaves a nonsingular matrix; the
    caller takes the null mode out of the answer afterwards.
    """

    name: ClassVar[str] = "direct"

    def __init__(self, A: sparse.csr_array, modes: sparse.csr_array) -> None:
        self.A, self.modes = A, modes
        free = np.ones(A.shape[0], dtype=bool)
        free[_one_vertex_a_mode(modes)] = False
        self.free = np.flatnonzero(free)
        self.factor = factorize(A[self.free][:, self.free]) if self.free.size else None

    def solve(self, B: NDArray[np.float64], rtol: float) -> tuple[NDArray[np.float64], int]:
        """Return X with A X = B; `rtol` is met as far as float64 allows."""
        X = self._substitute(B)
        # Substitution leaves the error of the grounded system; one refinement brings it to rounding.
        correction = self._substitute(B - self.A @ project_out(self.modes, X))
        return X + correction, 0

    def _substitute(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        X = np.zeros_like(B)
        if self.factor is not None:
            X[self.free] = self.factor.solve(np.ascontiguousarray(B[self.free]))
        return X


def factorize(A: sparse.csr_array) -> SuperLU:
    """Return the symmetric-mode LU factors of A: diagonal pivots only, minimum-degree order of A' + A."""
    return splu(
        sparse.csc_array(A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def negative_pivots(factor: SuperLU) -> int:
    """Return the number of negative eigenvalues of a symmetric matrix (Sylvester's law of inertia).

    With diagonal pivots P A P' = L D L', and D has the signs of the eigenvalues.
    """
    if not np.array_equal(factor.perm_r, factor.perm_c):
        raise ArithmeticError("SuperLU left the diagonal for a pivot; its factors do not show the inertia.")
    return int((factor.U.diagonal() < 0.0).sum())


def _one_vertex_a_mode(modes: sparse.csr_array) -> NDArray[np.intp]:
    columns = sparse.csc_array(modes)
    return columns.indices[columns.indptr[:-1]]
