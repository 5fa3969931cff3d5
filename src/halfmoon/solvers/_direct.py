"""Sparse direct solver: SuperLU without pivoting on the grounded matrix, one step of refinement."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import SuperLU

from halfmoon.solvers._dense_chain import DenseChainSolver
from halfmoon.solvers._factor import factorize
from halfmoon.solvers._nullspace import project_out
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import ROUNDOFF, System

__all__ = ["DirectSolver"]


class DirectSolver(DenseChainSolver):
    """Factor once, solve exactly.

    A singular component is grounded: one of its vertices is held at 0, which leaves a nonsingular matrix; the
    caller removes the null mode from the answer afterwards.
    """

    name: ClassVar[str] = "direct"

    def __init__(self, system: System, options: SolveOptions) -> None:
        self.system = system
        free = np.ones(system.n, dtype=bool)
        free[_strongest_vertices(system.null, system.M.diagonal())] = False
        self.free = np.flatnonzero(free)
        self.factor = _factor(system.M[self.free][:, self.free]) if self.free.size else None

    def solve(self, B: NDArray[np.float64], rtol: float) -> tuple[NDArray[np.float64], int]:
        """Return X with A X = B; `rtol` is met as far as float64 allows."""
        X = self._substitute(B)
        # Substitution leaves the error of the grounded system; one refinement brings it to rounding.
        return X + self._substitute(self.system.residual(B, project_out(self.system.null, X))[0]), 0

    def _substitute(self, B: NDArray[np.float64]) -> NDArray[np.float64]:
        X = np.zeros_like(B)
        if self.factor is not None:
            X[self.free] = self.factor.solve(np.ascontiguousarray(B[self.free]))
        return X


def _strongest_vertices(modes: sparse.csr_array, diagonal: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the vertex of each mode with the largest diagonal: held at 0, it leaves the best-conditioned rest."""
    columns = sparse.csc_array(modes)
    column = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
    order = np.lexsort((-diagonal[columns.indices], column))
    return columns.indices[order[columns.indptr[:-1]]]


def _factor(M: sparse.csr_array) -> SuperLU:
    """Factor M; where its diagonal has lost a weak link to rounding, with a diagonal a few roundings larger."""
    try:
        return factorize(M)
    except RuntimeError:  # exactly singular: the caller refines, and the residuals know the weak link
        diagonal = M.diagonal()
        lift = 4.0 * ROUNDOFF * np.maximum(diagonal, ROUNDOFF * diagonal.max())
        return factorize(sparse.csr_array(M + sparse.diags_array(lift)))
