"""Landmark blocks of inverse powers on tiles: a pilot sets the goals, tiles run their chains, true residuals certify.

Convergence is measured in r' P^-1 r with P the preconditioner. If theta bounds the spectrum of P^-1 M from below, then
r' P^-1 r / theta bounds the energy rho' R^-1 rho of the error, all that a second-order block needs: for p = 1 no
eigenvalue of the graph enters. theta comes from the Ritz values of a pilot tile with random columns, times a safety
factor, and so does the bound on the smallest eigenvalue of R that p >= 2 needs where the ridge alone is too weak.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon._parallel import Team
from halfmoon._progress import report
from halfmoon.solvers._base import LandmarkBlock
from halfmoon.solvers._certificate import error_norms, even_bound, largest, odd_bound
from halfmoon.solvers._kernels.cg import energies
from halfmoon.solvers._kernels.lanes import WIDTH
from halfmoon.solvers._kernels.tile import copy_columns, indicator_rhs, mass_times, project_rhs, squared_norms
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import ROUNDOFF
from halfmoon.solvers._tiled import TiledSystem, Workspace

__all__ = ["TiledLandmarkBlocks"]

Matrix = NDArray[np.float64]

PILOT_LANDMARKS = WIDTH // 2  # the other columns of the pilot tile are random
PILOT_REDUCTION = 1e-9  # of the energy: Ritz values have settled by then
INVERSE_ITERATIONS = 3  # of the random columns, for the smallest eigenvalue of R
SAFETY = 0.8  # Ritz values approach the spectrum from inside
ROUNDS = 3  # tightenings of the goals
FLOAT32_ROUNDOFF = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class _Pilot:
    """What one tile teaches about all of them."""

    theta: float  # lower bound on the spectrum of P^-1 M
    floor: float  # lower bound on the spectrum of R off the modes
    norms: list[float]  # largest |Y_j| of a landmark column, j = 1, 2, ...
    entry: float  # largest diagonal entry of R^-1 at a landmark


@dataclass
class _Level:
    """Y_j of one chain, as far as it is needed later."""

    norms: Matrix
    energy: Matrix
    rho_norms: Matrix
    Y: Any = None
    rho: Any = None
    rows: Any = None


@dataclass
class TiledLandmarkBlocks:
    """The landmark blocks of R^-p off the modes, for several p, from one chain.

    Parameters
    ----------
    tiled : TiledSystem
        The system, set up.
    ridge : float
        Lower bound on the spectrum of R that is known beforehand; may be 0.
    landmarks, powers, options
        What is wanted.
    """

    tiled: TiledSystem
    ridge: float
    landmarks: NDArray[np.intp]
    powers: Sequence[int]
    options: SolveOptions
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.S = self.tiled.position[self.landmarks]
        top = max(self.powers)
        self.depth = -(-top // 2)
        self.single = list(self.powers) == [1]  # then float32 columns suffice
        columns = [8 * self._keeps_Y(j) + 4 * self._keeps_rho(j) for j in range(1, self.depth + 1)]
        needed = self.tiled.n * len(self.S) * (8 if self.single else sum(columns))
        self.stored = needed <= self.options.memory
        if not self.stored:
            self.depth = top

    def _keeps_Y(self, j: int) -> bool:
        """Y_j enters the blocks of p = 2j - 1, 2j and 2j + 1."""
        return any(p in self.powers for p in (2 * j - 1, 2 * j, 2 * j + 1))

    def _keeps_rho(self, j: int) -> bool:
        """rho_j enters the block of p = 2j - 1."""
        return 2 * j - 1 in self.powers

    def run(self) -> list[LandmarkBlock]:
        """Solve to the goals, verify, and tighten them if a bound is not there yet."""
        pilot = self._pilot()
        tighten = 1.0
        for _ in range(ROUNDS):
            goals = [
                min(levels) for levels in zip_longest(*(self._goals(pilot, p) for p in self.powers), fillvalue=np.inf)
            ]
            levels, n_iter, reached = self._solve([max(tighten * goal, TINY) for goal in goals])
            blocks = [self._block(levels, p) for p in self.powers]
            bounds = [self._bound(levels, pilot, block, p) for block, p in zip(blocks, self.powers, strict=True)]
            shares = [
                bound / max(self.options.eps * float(np.abs(block).max()), TINY)
                for block, bound in zip(blocks, bounds, strict=True)
            ]
            if max(shares) <= 1.0 or not reached:
                break
            tighten *= (0.5 / max(shares)) ** 2
        how = "stored" if self.stored else "streamed"
        return [LandmarkBlock(block, bound, n_iter, "", how) for block, bound in zip(blocks, bounds, strict=True)]

    def _pilot(self) -> _Pilot:
        """Run the chain of a few landmarks and of random columns to a moderate accuracy."""
        tiled, few = self.tiled, self.S[:PILOT_LANDMARKS]
        random = slice(len(few), WIDTH)
        depth = max(self.depth, 1 if self.single else INVERSE_ITERATIONS)
        norms, theta, entry, last = [], np.inf, 0.0, np.zeros((0, 0))
        with tiled.workspace() as space:
            self._pilot_rhs(space, few)
            for level in range(depth):
                goal = PILOT_REDUCTION * self._energies(space)
                theta = min(theta, tiled.solve_tile(space, goal, ritz=True).lowest)
                norms.append(float(np.sqrt(squared_norms(tiled.op, space.x)[: len(few)].max())))
                if level == 0:
                    entry = float((tiled.op.mass[few] ** 0.5 * space.x[few, np.arange(len(few))]).max())
                root = np.sqrt(tiled.op.mass)[:, None]
                previous, last = last, root * space.x[:, random]
                mass_times(tiled.op, space.x, space.b)
        floor = SAFETY * _smallest_rayleigh_ritz(previous, last) if depth > 1 else 0.0
        theta = SAFETY * theta if np.isfinite(theta) else 1.0
        return _Pilot(theta, max(self.ridge, floor), norms, entry)

    def _pilot_rhs(self, space: Workspace, few: NDArray[np.int64]) -> None:
        op = self.tiled.op
        indicator_rhs(op, few, space.b)
        noise = np.random.default_rng(self.options.seed).standard_normal((self.tiled.n, WIDTH - len(few)))
        space.b[:, len(few) :] = np.sqrt(op.mass)[:, None] * noise[self.tiled.vertex]
        project_rhs(op, space.b)

    def _energies(self, space: Workspace) -> Matrix:
        space.r[:] = space.b
        return energies(self.tiled.op, self.tiled.factor, space.r, space.q)

    def _goals(self, pilot: _Pilot, power: int) -> list[float]:
        """Return the r' P^-1 r that the block of one power needs on every level."""
        eps, theta, lam, norms = self.options.eps, pilot.theta, pilot.floor, pilot.norms
        a, odd = power // 2, power % 2
        if not self.stored:
            if power == 1:  # |e_i' R^-1 rho_j| <= sqrt(A_ii E_j)
                return [0.5 * theta * eps**2 * pilot.entry]
            scale = 0.5 * eps * (norms[a - 1] * norms[a - 1 + odd] if a else pilot.entry)
            return [theta * lam * (scale * lam ** (power - j) / power) ** 2 for j in range(1, power + 1)]
        error = (0.2 if odd else 0.35) * eps * norms[a - 1]  # of Y_a, first order
        goals = [theta * lam * (error * lam ** (a - j) / a) ** 2 for j in range(1, a + 1)]
        if odd:  # of Y_{a+1}, second order
            goals.append(0.7 * theta * eps * (norms[a - 1] * norms[a] if a else pilot.entry))
        return goals

    def _solve(self, goals: list[float]) -> tuple[list[_Level], int, bool]:
        """Run the chain of every tile; return the levels, the largest iteration count and whether all arrived."""
        m, n = len(self.S), self.tiled.n
        levels = [self._empty_level(j, n, m) for j in range(1, self.depth + 1)]
        done, worst, arrived = 0, 0.0, True

        def work(tile: int) -> int:
            nonlocal done, worst, arrived
            part = slice(tile * WIDTH, min((tile + 1) * WIDTH, m))
            columns, n_iter = part.stop - part.start, 0
            with self.tiled.workspace() as space:
                indicator_rhs(self.tiled.op, self.S[part], space.b)
                for level, goal in zip(levels, goals, strict=True):
                    result = self.tiled.solve_tile(space, goal)
                    n_iter += result.n_iter
                    self._record(level, space, result, part, columns)
                    if level is not levels[-1]:
                        mass_times(self.tiled.op, space.x, space.b)
                    with self._lock:
                        worst, arrived = max(worst, float(result.energy.max())), arrived and result.reached
            with self._lock:
                done += columns
                report("solves", done, m)
                if self.options.progress is not None:
                    self.options.progress(done, m, worst)
            return n_iter

        with Team(self.tiled.threads) as team:
            n_iter = max(team.map(work, range(-(-m // WIDTH))))
        return levels, n_iter, arrived

    def _empty_level(self, j: int, n: int, m: int) -> _Level:
        level = _Level(np.empty(m), np.empty(m), np.empty(m))
        if not self.stored:
            level.rows = np.empty((m, m)) if j in self.powers else None
            return level
        level.rows = np.empty((m, m)) if j == 1 and 1 in self.powers else None
        level.rho = np.empty((n, m), np.float32) if self._keeps_rho(j) else None
        level.Y = np.empty((n, m), np.float32 if self.single else np.float64) if self._keeps_Y(j) else None
        return level

    def _record(self, level: _Level, space: Workspace, result: Any, part: slice, columns: int) -> None:
        op = self.tiled.op
        level.norms[part] = np.sqrt(squared_norms(op, space.x)[:columns])
        level.energy[part] = result.energy[:columns]
        level.rho_norms[part] = np.sqrt(result.norms[:columns])
        if level.rows is not None:
            level.rows[:, part] = np.sqrt(op.mass[self.S])[:, None] * space.x[self.S, :columns]
        if level.Y is not None:
            copy_columns(op, 1, space.x, part.start, columns, level.Y)
        if level.rho is not None:
            copy_columns(op, -1, space.r, part.start, columns, level.rho)

    def _block(self, levels: list[_Level], power: int) -> Matrix:
        gram, a = self.tiled.gram, power // 2
        if not self.stored:
            A = levels[power - 1].rows
        elif power % 2 == 0:
            A = gram(levels[a - 1].Y, levels[a - 1].Y)
        else:
            last = levels[a]
            A = (gram(levels[a - 1].Y, last.Y) if a else last.rows) + gram(last.Y, last.rho)
        return (A + A.T) / 2

    def _bound(self, levels: list[_Level], pilot: _Pilot, block: Matrix, power: int) -> float:
        """Return the verified bound on the entries of a block."""
        # Energies were summed in the working precision: 1 % covers it.
        energy = [1.01 * level.energy / pilot.theta for level in levels]
        n, a, lam = self.tiled.n, power // 2, pilot.floor
        rounding = 4 * ROUNDOFF * float(np.abs(block).max())
        if not self.stored and power == 1:
            diagonal = np.sqrt(np.abs(np.diagonal(block)).max())
            return float(diagonal * np.sqrt(energy[0].max()) + energy[0].max()) + rounding
        if not self.stored:
            return float(error_norms(energy[:power], lam).max()) + 4 * ROUNDOFF * float(levels[power - 1].norms.max())
        errors = error_norms(energy[:a], lam)
        if power % 2 == 0:
            y = levels[a - 1].norms
            return even_bound(errors, y) + n * ROUNDOFF * largest(y, y)
        last = levels[a]
        kept_in = FLOAT32_ROUNDOFF if self.single else ROUNDOFF
        rounding += (kept_in + FLOAT32_ROUNDOFF + n * ROUNDOFF) * largest(last.norms, last.rho_norms)
        if a:
            rounding += n * ROUNDOFF * largest(levels[a - 1].norms, last.norms)
        return odd_bound(errors, last.norms, energy[a], lam) + rounding


def _smallest_rayleigh_ritz(Y_before: Matrix, Y: Matrix) -> float:
    """Return the smallest Ritz value of R in the span of Y, given R Y = Y_before; 0 if there is none."""
    N = Y.T @ Y
    scale = np.sqrt(np.maximum(np.diagonal(N), np.finfo(float).tiny))
    N = N / np.outer(scale, scale)
    H = (Y.T @ Y_before) / np.outer(scale, scale)
    eigenvalues, V = linalg.eigh(N)
    kept = eigenvalues > 1e-10
    if not kept.any() or not np.isfinite(H).all():
        return 0.0
    V = V[:, kept] / np.sqrt(eigenvalues[kept])
    return max(float(linalg.eigvalsh(V.T @ ((H + H.T) / 2) @ V)[0]), 0.0)
