"""Landmark blocks of inverse powers by a solver that handles dense columns in float64 (direct, eigen).

ceil(p / 2) chained solves Y_j = R^-1 Y_{j-1} suffice, Y_0 the projected indicators: the block is Y_a' Y_a for p = 2a.
For p = 2a + 1 it is Y_a' Z + Z' rho with Z = Y_{a+1} and rho = Y_a - R Z, which equals Y_a' R^-1 Y_a - rho' R^-1 rho
exactly: its error is the square of the solve error (Theorems 4.2 and 4.4, improved).

The chain keeps X_j = S^-1 Y_j, solutions of M X_j = S^2 X_{j-1}: their residuals are computed by edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from halfmoon.solvers._base import LandmarkBlock, Solver
from halfmoon.solvers._certificate import error_norms, even_bound, largest, odd_bound
from halfmoon.solvers._nullspace import project_out
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._spectrum import smallest_eigenvalue_bound
from halfmoon.solvers._system import ROUNDOFF, System

__all__ = ["DenseChainSolver"]

Matrix = NDArray[np.float64]
SOLVE_TOLERANCE = 1e-13  # of the residuals: direct solvers do better, iterative ones in float64 can
REFINEMENTS = 5  # at most; each must halve the residual


class DenseChainSolver(Solver):
    """A solver whose landmark blocks come from dense columns; derived classes write `solve`."""

    system: System

    def landmark_blocks(
        self, landmarks: NDArray[np.intp], powers: Sequence[int], options: SolveOptions
    ) -> list[LandmarkBlock]:
        """Return the blocks from one chain, with bounds that count the rounding of every step."""
        with np.errstate(all="ignore"):  # what is not finite is not within its bound
            chain = _Chain(self.system, self, landmarks, -(-max(powers) // 2))
            blocks = [self._certified(chain, p, self.system.floor) for p in powers]
            if self.system.floor == 0.0 or any(block.relative_bound > options.eps for block in blocks):
                # The lower bound on the spectrum that is known beforehand is too weak: prove a better one.
                floor = max(smallest_eigenvalue_bound(self.system, self), self.system.floor, self.system.tree_floor)
                blocks = [self._certified(chain, p, floor) for p in powers]
        return blocks

    def _certified(self, chain: _Chain, power: int, floor: float) -> LandmarkBlock:
        bound = chain.bound(power, floor)
        return LandmarkBlock(chain.block(power), bound, "proven", 0.0, chain.n_iter, self.name)


class _Chain:
    """Y_0 .. Y_depth with their residuals and what is needed to bound their errors."""

    def __init__(self, system: System, solver: Solver, landmarks: NDArray[np.intp], depth: int) -> None:
        self.system, self.landmarks, self.n_iter = system, landmarks, 0
        self.gamma = float(system.rounding.max())  # of a product with R, of the masses and of the modes
        self.s = system.scale[:, None]
        E = np.zeros((system.n, len(landmarks)))
        E[landmarks, np.arange(len(landmarks))] = 1.0
        Y_0 = project_out(system.modes, E)
        self.Y: list[Matrix] = [Y_0]
        self.rho: list[Matrix] = []
        self.rounding: list[NDArray[np.float64]] = []
        B = self.s * Y_0
        for _ in range(depth):
            X = self._extend(solver, B)
            B = self.s**2 * X
        self.norms = [np.linalg.norm(Y, axis=0) for Y in self.Y]
        self.rounding[0] = self.rounding[0] + 4 * self.gamma * (self.norms[0] > 0.0)  # of Y_0

    def _extend(self, solver: Solver, B: Matrix) -> Matrix:
        """Solve M X = B; keep S X, the true residual of R and a bound on the norm of its rounding."""
        X, self.n_iter = solver.solve(B, SOLVE_TOLERANCE)
        X = self.system.project(X)
        residual, rounding = self.system.residual(B, X)
        for _ in range(REFINEMENTS):
            norm = np.linalg.norm(residual / self.s)
            if norm <= 2.0 * np.linalg.norm(rounding / self.s):  # rounding: nothing is left to gain
                break
            correction, _ = solver.solve(residual, SOLVE_TOLERANCE)
            better = self.system.project(X + correction)
            after, rounding_after = self.system.residual(B, better)
            if not np.linalg.norm(after / self.s) < 0.5 * norm:
                break
            X, residual, rounding = better, after, rounding_after
        self.Y.append(self.s * X)
        self.rho.append(residual / self.s)
        self.rounding.append(np.linalg.norm(rounding / self.s, axis=0))
        return X

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
        residuals = [
            (1 + 2 * n * ROUNDOFF) * (np.linalg.norm(rho, axis=0) + rounding)
            for rho, rounding in zip(self.rho, self.rounding, strict=True)
        ]
        norms = [(1 + 2 * n * ROUNDOFF + self.gamma) * y for y in self.norms]
        product = (n + 16) * ROUNDOFF + 2 * self.gamma  # rounding of Y' Z, and what projections leave of the modes
        errors, y = error_norms(residuals[:a], floor), norms[a]
        if power % 2 == 0:
            return even_bound(errors, y) + product * largest(y, y)
        z = norms[a + 1]
        rounding = self.rounding[a] + product * (residuals[a] + (y if a > 0 else 1.0))
        return odd_bound(errors, z, residuals[a], floor) + largest(z, rounding)
