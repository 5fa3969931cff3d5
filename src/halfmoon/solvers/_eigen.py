"""Dense eigen-solver: the exact reference, for small matrices."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon.solvers._dense_chain import DenseChainSolver
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import System

__all__ = ["EigenSolver"]


class EigenSolver(DenseChainSolver):
    """Eigendecomposition of A as a dense array: n^3 time, n^2 memory.

    The null space is known from the graph, so its dimension is not guessed from small eigenvalues.
    """

    name: ClassVar[str] = "eigen"

    def __init__(self, system: System, options: SolveOptions) -> None:
        self.system = system
        eigenvalues, eigenvectors = linalg.eigh(system.M.toarray())
        kept = slice(system.null.shape[1], None)
        # An eigenvalue at rounding level may come out as 0 or negative; refinement pays for the floor.
        self.eigenvalues = np.maximum(eigenvalues[kept], np.finfo(float).eps * np.abs(eigenvalues).max(initial=0.0))
        self.eigenvectors = eigenvectors[:, kept]

    def solve(self, B: NDArray[np.float64], rtol: float) -> tuple[NDArray[np.float64], int]:
        """Return A^+ B; `rtol` is met as far as float64 allows."""
        U = self.eigenvectors
        return U @ ((U.T @ B) / self.eigenvalues[:, None]), 0
