"""Landmark blocks of inverse powers by a solver that handles dense columns in float64 (direct, eigen).

ceil(p / 2) chained solves Y_j = R^-1 Y_{j-1} suffice, Y_0 the projected indicators: the block is Y_a' Y_a for p = 2a.
For p = 2a + 1 it is Y_a' Z + Z' rho with Z = Y_{a+1} and rho = Y_a - R Z, which equals Y_a' R^-1 Y_a - rho' R^-1 rho
exactly: its error is the square of the solve error (Theorems 4.2 and 4.4, improved).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from halfmoon.solvers._base import LandmarkBlock, Solver, solve_complement
from halfmoon.solvers._certificate import error_norms, even_bound, largest, odd_bound, over
from halfmoon.solvers._nullspace import project_out
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._spectrum import smallest_eigenvalue_bound
from halfmoon.solvers._system import ROUNDOFF, System

__all__ = ["DenseChainSolver"]

Matrix = NDArray[np.float64]


class DenseChainSolver(Solver):
    """A solver whose landmark blocks come from dense columns; derived classes write `solve`."""

    system: System

    def landmark_block(self, landmarks: NDArray[np.intp], power: int, options: SolveOptions) -> LandmarkBlock:
        """Return the block with a bound that counts the rounding of every step."""
        chain = _Chain(self.system, self, landmarks, power)
        block, bound = chain.block(), chain.bound(self.system.floor)
        if self.system.floor == 0.0 or bound > options.eps * float(np.abs(block).max()):
            # The lower bound on the spectrum that is known beforehand is too weak: prove a better one.
            proven = smallest_eigenvalue_bound(self.system, self)
            bound = chain.bound(max(proven, self.system.floor))
        return LandmarkBlock(block, bound, chain.n_iter, self.name)


class _Chain:
    """Y_a, and Z = Y_{a+1} with its residual for odd p, with norms and residuals on record."""

    def __init__(self, system: System, solver: Solver, landmarks: NDArray[np.intp], power: int) -> None:
        self.system, self.landmarks, self.odd = system, landmarks, power % 2 == 1
        self.n_iter = 0
        self.rho_norms: list[NDArray[np.float64]] = []
        self.gamma = (int(np.diff(system.M.indptr).max()) + 8) * ROUNDOFF  # rounding of one product with R
        self.norm_R = system.norm_bound()
        E = np.zeros((system.n, len(landmarks)))
        E[landmarks, np.arange(len(landmarks))] = 1.0
        self.Y = project_out(system.modes, E)
        for _ in range(power // 2):
            self.Y, _, rho_norms = self._next(solver)
            self.rho_norms.append(rho_norms)
        if self.odd:
            self.Z, self.rho, self.last_rho_norms = self._next(solver)

    def _next(self, solver: Solver) -> tuple[Matrix, Matrix, NDArray[np.float64]]:
        """Solve R Z = Y; return Z, the true residual and its norm, rounding included."""
        Z, n_iter = solve_complement(self.system, solver, self.Y, ROUNDOFF)
        self.n_iter = max(self.n_iter, n_iter)
        rho = project_out(self.system.modes, self.Y - self.system.apply(Z))
        rounding = self.gamma * (self.norm_R * np.linalg.norm(Z, axis=0) + np.linalg.norm(self.Y, axis=0))
        return Z, rho, np.linalg.norm(rho, axis=0) + rounding

    def block(self) -> Matrix:
        """Return the block, exactly symmetric."""
        if not self.odd:
            A = self.Y.T @ self.Y
        elif self.rho_norms:
            A = self.Y.T @ self.Z + self.Z.T @ self.rho
        else:
            A = self.Z[self.landmarks].T + self.Z.T @ self.rho  # Y_0' Z = Z_S: Z is orthogonal to the modes
        return (A + A.T) / 2

    def bound(self, floor: float) -> float:
        """Return the bound on its entries, given a lower bound on the spectrum."""
        errors = error_norms([over(rho**2, floor) for rho in self.rho_norms], floor)
        y, n = np.linalg.norm(self.Y, axis=0), len(self.Y)
        if not self.odd:
            return even_bound(errors, y) + n * ROUNDOFF * largest(y, y)
        z = np.linalg.norm(self.Z, axis=0)
        dots = n * ROUNDOFF * (self.last_rho_norms + (y if self.rho_norms else 0.0))
        rounding = self.gamma * (self.norm_R * z + y) + dots
        return odd_bound(errors, z, over(self.last_rho_norms**2, floor), floor) + 2 * largest(z, rounding)
