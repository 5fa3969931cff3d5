"""What a solver is: set up once on a matrix, then asked for many right-hand sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Solution", "Solver"]

Matrix = NDArray[np.float64]


class Solver(Protocol):
    """A solver set up for one matrix A; to add one, write a file with such a class and a row in SOLVERS.

    The caller has checked A, knows its null space and passes right-hand sides orthogonal to it; it removes
    null modes from the answer and recomputes the residuals, so a solver need not.
    """

    name: ClassVar[str]

    def __init__(self, A: sparse.csr_array, modes: sparse.csr_array) -> None:
        """Set up for the symmetric p.s.d. A whose null space the orthonormal columns of `modes` span."""
        ...

    def solve(self, B: Matrix, rtol: float) -> tuple[Matrix, int]:
        """Return X with A X = B to |B - A X| <= rtol |B| a column, and the number of iterations."""
        ...


@dataclass(frozen=True)
class Solution:
    """What `solve_sdd` returns.

    Attributes
    ----------
    X : ndarray of shape (n,) or (n, m)
        The solution A^+ B, orthogonal to the null space of A.
    residual_norms : ndarray of shape (m,)
        |P B - A X| of each column, recomputed in float64; P projects onto the range of A.
    solver : str
        Name of the solver that ran.
    n_iter : int
        Largest number of iterations of any column; 0 for a direct solver.
    """

    X: Matrix
    residual_norms: Matrix
    solver: str
    n_iter: int
