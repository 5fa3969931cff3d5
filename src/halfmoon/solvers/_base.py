"""What a solver is: set up once on a system, then asked for many right-hand sides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from halfmoon.solvers._certificate import BoundKind
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import System

__all__ = ["LandmarkBlock", "Solution", "Solver", "few_at_once", "solve_complement"]

Matrix = NDArray[np.float64]
FEW = 4  # columns


@dataclass(frozen=True)
class LandmarkBlock:
    """(R on the complement of its modes)^-p on the landmarks, and a bound on the largest error of an entry.

    The bound is proven, probable (it fails with a known probability) or estimated.
    """

    block: Matrix
    bound: float
    bound_kind: BoundKind
    failure_probability: float
    n_iter: int
    solver: str
    reason: str = ""

    @property
    def relative_bound(self) -> float:
        """The bound over the largest entry; infinity where block or bound are not finite or there is no digit."""
        largest = float(np.abs(self.block).max())
        if not np.isfinite(largest) or not np.isfinite(self.bound):
            return np.inf
        if largest == 0.0:
            return 0.0 if self.bound == 0.0 else np.inf
        return self.bound / largest


class Solver(ABC):
    """A solver set up for one system; to add one, write a file with such a class and a row in SOLVERS.

    The caller has checked M, passes right-hand sides in its range, removes null modes from the answer and recomputes
    the residuals, so a solver need not.
    """

    name: ClassVar[str]
    reason: str = ""  # why "auto" chose this solver

    @abstractmethod
    def __init__(self, system: System, options: SolveOptions) -> None:
        """Set up."""

    @abstractmethod
    def solve(self, B: Matrix, rtol: float) -> tuple[Matrix, int]:
        """Return X with M X = B to ``|S^-1 (B - M X)| <= rtol |S^-1 B|`` a column, and the number of iterations."""

    def for_columns(self, count: int) -> Solver:
        """Return the solver that does the work for so many columns: "auto" has several."""
        return self

    @abstractmethod
    def landmark_blocks(
        self, landmarks: NDArray[np.intp], powers: Sequence[int], options: SolveOptions
    ) -> list[LandmarkBlock]:
        """Return the landmark blocks of R^-p off the modes, for every p, to options.eps where possible."""


def solve_complement(system: System, solver: Solver, B: Matrix, rtol: float) -> tuple[Matrix, int]:
    """Return R^-1 B for B orthogonal to the modes, which is overwritten, and the number of iterations."""
    s = system.scale[:, None]
    B *= s
    X, n_iter = solver.solve(B, rtol)
    for part in few_at_once(X.shape[1]):
        X[:, part] = s * system.project(X[:, part])
    return X, n_iter


def few_at_once(columns: int) -> list[slice]:
    """Return slices of a few columns, for what would otherwise be held for all of them."""
    return [slice(first, first + FEW) for first in range(0, columns, FEW)]


@dataclass(frozen=True)
class Solution:
    """What `solve_sdd` returns.

    Attributes
    ----------
    X : ndarray of shape (n,) or (n, m)
        The solution A^+ B, orthogonal to the null space of A.
    residual_norms : ndarray of shape (m,)
        ``|P B - A X|`` of each column, recomputed in float64; P projects onto the range of A.
    solver : str
        Name of the solver that ran.
    n_iter : int
        Largest number of iterations of any column; 0 for a direct solver.
    """

    X: Matrix
    residual_norms: Matrix
    solver: str
    n_iter: int
