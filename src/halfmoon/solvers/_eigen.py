"""Dense eigen-solver: the exact reference, for small matrices."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

__all__ = ["EigenSolver"]


class EigenSolver:
    """Eigendecomposition of A as a dense array: n^3 time, n^2 memory.

    The null space is known from the graph, so its dimension is not guessed from small eigenvalues.
    """

    name: ClassVar[str] = "eigen"

    def __init__(self, A: sparse.csr_array, modes: sparse.csr_array) -> None:
        eigenvalues, eigenvectors = linalg.eigh(A.toarray())
        self.eigenvalues = eigenvalues[modes.shape[1] :]
        self.eigenvectors = eigenvectors[:, modes.shape[1] :]

    def solve(self, B: NDArray[np.float64], rtol: float) -> tuple[NDArray[np.float64], int]:
        """Return A^+ B; `rtol` is met as far as float64 allows."""
        U = self.eigenvectors
        return U @ ((U.T @ B) / self.eigenvalues[:, None]), 0
