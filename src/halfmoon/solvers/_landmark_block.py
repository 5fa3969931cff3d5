"""Landmark blocks of inverse powers on tiles: a pilot sets the goals, tiles run their chains, true residuals certify.

A tile of landmarks runs the chain Y_1 = R^-1 P E, Y_2 = R^-1 Y_1, ... and returns either its columns (stored: the
block is made of Gram products, ceil(p / 2) solves) or its landmark rows alone (streamed: p solves, nothing of size
n x n_hat). The bounds divide norms of true residuals by a lower bound on the spectrum of R off the modes. The ridge is
such a bound, and proven. Where float64 cannot reach what it asks for, a spanning tree may prove a better one; the last
resort is a bound by random columns that fails with a tiny probability, and the kind of the bound says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.execution import executor_for
from halfmoon.runtime.executor import Executor
from halfmoon.runtime.progress import report
from halfmoon.solvers._base import LandmarkBlock
from halfmoon.solvers._certificate import BoundKind, error_norms, even_bound, largest, odd_bound, row_bound
from halfmoon.solvers._gram import gram_rounding, mirrored, upper_gram
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._probable_floor import FAILURE_PROBABILITY, probable_floor
from halfmoon.solvers._system import ROUNDOFF
from halfmoon.solvers._tile_chain import Chain, Level, Pilot, run_pilot, run_tile
from halfmoon.solvers._tiled import TiledSystem

__all__ = ["TiledLandmarkBlocks"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

ROUNDS = 3  # tightenings of the goals
WITHIN_REACH = 4.0  # times the rounding of a residual: what a solve can be asked for
MOST_ROUNDING = 0.25  # of eps, that columns kept in float32 may use up
FLOAT32_ROUNDOFF = float(np.finfo(np.float32).eps)


@dataclass
class TiledLandmarkBlocks:
    """The landmark blocks of R^-p off the modes, for several p, from one chain.

    Parameters
    ----------
    tiled : TiledSystem
        The system, set up.
    floor : float
        Proven lower bound on the spectrum of R off the modes, or 0.
    stronger_floor : callable
        Returns a stronger one, at a price.
    uncertainty : float
        How much R itself may be off on its diagonal.
    landmarks, powers, options
        What is wanted.
    """

    tiled: TiledSystem
    floor: float
    stronger_floor: Callable[[], float]
    uncertainty: float
    landmarks: NDArray[np.intp]
    powers: Sequence[int]
    options: SolveOptions

    def __post_init__(self) -> None:
        self.S = self.tiled.position[self.landmarks]
        top = max(self.powers)
        self.depth = -(-top // 2)
        self.kept_in = "float32" if self._float32_suffices(top) else "float64"
        size = np.dtype(self.kept_in).itemsize
        columns = [size * self._keeps_Y(j) + 4 * self._keeps_rho(j) for j in range(1, self.depth + 1)]
        needed = self.tiled.n * len(self.S) * sum(columns)
        self.executor = executor_for(self.options.threads)
        self.stored = self.executor.shares_memory and needed <= self.options.memory
        if not self.stored:
            self.depth = top

    def _float32_suffices(self, top: int) -> bool:
        """Return whether columns may be kept in float32, whose rounding is relative to |Y|^2."""
        # For p = 1 they only correct; for p = 2 the largest entry is |Y|^2 itself. Higher powers have smaller entries.
        return top == 1 or (top == 2 and MOST_ROUNDING * self.options.eps >= 2 * FLOAT32_ROUNDOFF)

    def _keeps_Y(self, j: int) -> bool:
        """Y_j enters the blocks of p = 2j - 1, 2j and 2j + 1."""
        return any(p in self.powers for p in (2 * j - 1, 2 * j, 2 * j + 1))

    def _keeps_rho(self, j: int) -> bool:
        """rho_j enters the block of p = 2j - 1."""
        return 2 * j - 1 in self.powers

    def run(self) -> list[LandmarkBlock]:
        """Solve to the goals, verify, and tighten them if a bound is not there yet."""
        with self.executor as executor, np.errstate(all="ignore"):
            pilot = executor.run(run_pilot, (self.tiled, self._pilot_landmarks(), self.depth))
            kind, floor = self._choose_floor(pilot, executor)
            tighten = 1.0
            for _ in range(ROUNDS):
                levels, n_iter, reached = self._solve(self._chain(pilot, floor, tighten), executor)
                blocks = [self._certified(levels, p, kind, floor, n_iter, executor) for p in self.powers]
                missed = max(block.relative_bound for block in blocks) / self.options.eps
                if not reached or missed <= 1.0 or missed == np.inf:
                    break
                tighten *= 0.5 / missed
        return blocks

    def _certified(
        self, levels: list[Level], power: int, kind: BoundKind, floor: float, n_iter: int, executor: Executor
    ) -> LandmarkBlock:
        block = self._block(levels, power, executor)
        return LandmarkBlock(
            block=block,
            bound=self._bound(levels, block, power, floor),
            bound_kind=kind,
            failure_probability=FAILURE_PROBABILITY if kind == "probable" else 0.0,
            n_iter=n_iter,
            solver="",
            reason="stored" if self.stored else "streamed",
        )

    def _pilot_landmarks(self) -> NDArray[np.int64]:
        """Return a tile of landmarks, evenly spread over their list, without isolated vertices: those are all mode."""
        op = self.tiled.op
        joined = self.S[op.mass[self.S] * op.share[op.label[self.S]] != 1.0]
        S = joined if joined.size else self.S
        return S[:: -(-len(S) // self.tiled.width)]

    def _choose_floor(self, pilot: Pilot, executor: Executor) -> tuple[BoundKind, float]:
        """Return the cheapest bound on the spectrum whose goals float64 can reach, or else the strongest."""
        if self._within_reach(pilot, self.floor):
            return "proven", self.floor
        tree = max(self.stronger_floor(), self.floor)
        if self._within_reach(pilot, tree):
            return "proven", tree
        chance = executor.run(probable_floor, (self.tiled, self.options.seed))
        return ("probable", chance) if chance > tree else ("proven", tree)

    def _within_reach(self, pilot: Pilot, floor: float) -> bool:
        if not floor > 0.0:
            return False
        goals = self._goals(pilot, floor)
        return all(goal >= WITHIN_REACH * rounding for goal, rounding in zip(goals, pilot.rounding, strict=True))

    def _goals(self, pilot: Pilot, floor: float) -> list[float]:
        """Return the norm of the residual that the blocks need on every level."""
        goals = (self._goals_of(pilot, floor, p) for p in self.powers)
        return [min(level) for level in zip_longest(*goals, fillvalue=np.inf)]

    def _goals_of(self, pilot: Pilot, floor: float, power: int) -> list[float]:
        norms, a = np.array(pilot.norms), power // 2  # of numpy: a division by 0 is infinite
        error = self.options.eps * pilot.entries[power]  # allowed in an entry
        if not self.stored:
            return [0.7 * error / (power * norms[power - k]) for k in range(1, power + 1)]
        if power % 2 == 0:  # 2 |e_a| |Y_a|, first order
            share = 0.45 - (FLOAT32_ROUNDOFF / self.options.eps if self.kept_in == "float32" else 0.0)
            return [share * error / norms[a - 1] * floor ** (a - k + 1) / a for k in range(1, a + 1)]
        first, second = (0.3, 0.3) if a > 0 else (0.0, 0.8)  # shares of the error of first and of second order
        goals = [first * error / norms[a] * floor ** (a - k + 1) / a for k in range(1, a + 1)]
        rounding = gram_rounding(self.tiled.n, "float32") * norms[a]  # of Z' rho, a product in float32
        return [*goals, min(np.sqrt(second * floor * error), 0.15 * error / rounding)]

    def _chain(self, pilot: Pilot, floor: float, tighten: float) -> Chain:
        goals = self._goals(pilot, floor)
        goals = [max(tighten * goal, rounding) for goal, rounding in zip(goals, pilot.rounding, strict=True)]
        levels = range(1, self.depth + 1)
        return Chain(
            self.tiled,
            self.S,
            tuple(goals),
            keep_Y=tuple(self.kept_in if self.stored and self._keeps_Y(j) else None for j in levels),
            keep_rho=tuple(self.stored and self._keeps_rho(j) for j in levels),
            keep_rows=tuple(j in self.powers if not self.stored else j == 1 and 1 in self.powers for j in levels),
        )

    def _solve(self, chain: Chain, executor: Executor) -> tuple[list[Level], int, bool]:
        """Run the chain of every tile; return the levels, the largest iteration count and whether all arrived."""
        m, done, worst, n_iter, arrived = len(self.S), 0, 0.0, 0, True
        parts: list[list[Level]] = []
        tiles = self.tiled.tiles_of(m)
        for tile, (levels, steps, reached) in zip(tiles, executor.map(run_tile, chain, tiles), strict=True):
            parts.append(levels)
            n_iter, arrived, done = max(n_iter, steps), arrived and reached, tile.stop
            worst = max(worst, *(float(level.residual.max()) for level in levels))
            report("solves", done, m)
            if self.options.progress is not None:
                self.options.progress(done, m, worst)
        return [Level.of_tiles(level) for level in zip(*parts, strict=True)], n_iter, arrived

    def _block(self, levels: list[Level], power: int, executor: Executor) -> Matrix:
        """Return a block, of which Gram products give the upper triangle: with true residuals it is symmetric."""
        a = power // 2
        if not self.stored:
            A = levels[power - 1].rows
            return (A + A.T) / 2
        if power % 2 == 0:
            y = levels[a - 1]
            return mirrored(np.outer(y.norms, y.norms) * upper_gram(y.Y, y.Y, "float64", executor))
        z = levels[a]
        A = np.outer(z.norms, 1.0 / z.unit) * upper_gram(z.Y, z.rho, "float32", executor)
        if a == 0:
            A += z.rows
        else:
            A += np.outer(levels[a - 1].norms, z.norms) * upper_gram(levels[a - 1].Y, z.Y, "float64", executor)
        return mirrored(A)

    def _bound(self, levels: list[Level], block: Matrix, power: int, floor: float) -> float:
        """Return the verified bound on the entries of a block, with the rounding of everything."""
        n, a, gamma = self.tiled.n, power // 2, self._rounding
        residuals = [
            (1 + 2 * n * ROUNDOFF) * (level.residual + level.rounding + self.uncertainty * level.norms)
            for level in levels
        ]
        residuals[0] = residuals[0] + 4 * gamma * (levels[0].norms > 0.0)  # of the right-hand sides P E
        norms = [(1 + 2 * n * ROUNDOFF + gamma) * level.norms for level in levels]
        leak = (n + 8) * ROUNDOFF + gamma  # what the projection leaves of the modes, relative to |Y|
        entry = (gamma + 4 * ROUNDOFF) * float(np.abs(block).max())
        if not self.stored:
            return row_bound(residuals[:power], norms[:power], floor) + leak * float(norms[power - 1].max()) + entry
        kept_in = float(np.finfo(self.kept_in).eps)
        product = gram_rounding(n, "float64") + 2 * gamma + leak**2
        errors = error_norms(residuals[:a], floor)
        if power % 2 == 0:
            y = norms[a - 1]
            return even_bound(errors, y) + (product + 2 * kept_in) * largest(y, y) + entry
        z = norms[a]
        small = gram_rounding(n, "float32") + 4 * FLOAT32_ROUNDOFF + product + leak  # of Z' rho, relative to norms
        inexact = levels[a].rounding + self.uncertainty * z + small * residuals[a]
        rounding = largest(z, inexact) + entry
        if a == 0:
            rounding += leak * float(z.max())
        else:
            rounding += (product + 2 * kept_in) * largest(norms[a - 1], z)
        return odd_bound(errors, z, residuals[a], floor) + rounding

    @cached_property
    def _rounding(self) -> float:
        return float(self.tiled.op.rounding.max())
