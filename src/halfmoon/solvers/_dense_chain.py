"""Landmark blocks of inverse powers by a solver that handles dense columns in float64 (direct, eigen).

ceil(p / 2) chained solves Y_j = R^-1 Y_{j-1} suffice, Y_0 the projected indicators: the block is Y_a' Y_a for p = 2a.
For p = 2a + 1 it is Y_a' Z + Z' rho with Z = Y_{a+1} and rho = Y_a - R Z, which equals Y_a' R^-1 Y_a - rho' R^-1 rho
exactly: its error is the square of the solve error (Theorems 4.2 and 4.4, improved).
"""

from __future__ import annotations

from collections.abc import Sequence

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
SOLVE_TOLERANCE = 1e-13  # of the residuals: direct solvers do better, iterative ones in float64 can


class DenseChainSolver(Solver):
    """A solver whose landmark blocks come from dense columns; derived classes write `solve`."""

    system: System

    def landmark_blocks(
        self, landmarks: NDArray[np.intp], powers: Sequence[int], options: SolveOptions
    ) -> list[LandmarkBlock]:
        """Return the blocks from one chain, with bounds that count the rounding of every step."""
        chain = _Chain(self.system, self, landmarks, -(-max(powers) // 2))
        blocks = {p: chain.block(p) for p in powers}
        bounds = {p: chain.bound(p, self.system.floor) for p in powers}
        weak = [p for p in powers if bounds[p] > options.eps * float(np.abs(blocks[p]).max())]
        if weak or self.system.floor == 0.0:
            # The lower bound on the spectrum that is known beforehand is too weak: prove a better one.
            floor = max(smallest_eigenvalue_bound(self.system, self), self.system.floor)
            bounds = {p: chain.bound(p, floor) for p in powers}
        return [LandmarkBlock(blocks[p], bounds[p], chain.n_iter, self.name) for p in powers]


class _Chain:
    """Y_0 .. Y_depth with their residuals and what is needed to bound their errors."""

    def __init__(self, system: System, solver: Solver, landmarks: NDArray[np.intp], depth: int) -> None:
        self.system, self.landmarks, self.n_iter = system, landmarks, 0
        self.gamma = (int(np.diff(system.M.indptr).max()) + 8) * ROUNDOFF  # rounding of one product with R
        self.norm_R = system.norm_bound()
        E = np.zeros((system.n, len(landmarks)))
        E[landmarks, np.arange(len(landmarks))] = 1.0
        self.Y = [project_out(system.modes, E)]
        self.rho: list[Matrix] = []
        self.rho_norms: list[NDArray[np.float64]] = []
        for _ in range(depth):
            self._extend(solver)
        self.norms = [np.linalg.norm(Y, axis=0) for Y in self.Y]

    def _extend(self, solver: Solver) -> None:
        """Solve R Z = Y for the last Y; keep Z, the true residual and its norm, rounding included."""
        Y = self.Y[-1]
        Z, n_iter = solve_complement(self.system, solver, Y, SOLVE_TOLERANCE)
        self.n_iter = max(self.n_iter, n_iter)
        rho = project_out(self.system.modes, Y - self.system.apply(Z))
        rounding = self.gamma * (self.norm_R * np.linalg.norm(Z, axis=0) + np.linalg.norm(Y, axis=0))
        self.Y.append(Z)
        self.rho.append(rho)
        self.rho_norms.append(np.linalg.norm(rho, axis=0) + rounding)

    def block(self, power: int) -> Matrix:
        """Return the block, exactly symmetric."""
        a = power // 2
        if power % 2 == 0:
            A = self.Y[a].T @ self.Y[a]
        elif a > 0:
            A = self.Y[a].T @ self.Y[a + 1] + self.Y[a + 1].T @ self.rho[a]
        else:
            A = self.Y[1][self.landmarks].T + self.Y[1].T @ self.rho[0]  # Y_0' Z = Z_S: Z is orthogonal to the modes
        return (A + A.T) / 2

    def bound(self, power: int, floor: float) -> float:
        """Return the bound on its entries, given a lower bound on the spectrum."""
        a, n = power // 2, self.system.n
        energies = [over(rho_norms**2, floor) for rho_norms in self.rho_norms]
        errors, y = error_norms(energies[:a], floor), self.norms[a]
        if power % 2 == 0:
            return even_bound(errors, y) + n * ROUNDOFF * largest(y, y)
        z = self.norms[a + 1]
        dots = n * ROUNDOFF * (self.rho_norms[a] + (y if a > 0 else 0.0))
        rounding = self.gamma * (self.norm_R * z + y) + dots
        return odd_bound(errors, z, energies[a], floor) + 2 * largest(z, rounding)
