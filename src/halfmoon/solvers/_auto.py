"""solver="auto" on systems beyond the reach of a dense chain: what is asked for decides how it is done.

Every rule counts work and never seconds, so the same data give the same choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.executor import ThreadExecutor
from halfmoon.solvers._base import LandmarkBlock, Solver
from halfmoon.solvers._elimination import eliminated_block
from halfmoon.solvers._iterative import ApproximateCholeskySolver, ConjugateGradientSolver
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import System
from halfmoon.solvers._tiled import NARROW, TiledSystem

__all__ = ["AutoSolver"]

Matrix = NDArray[np.float64]
PILOT_REDUCTION = 1e-6  # of |r|^2
PILOT_LIMIT = 100
QUICK = 200  # iterations of the pilot of one column: set-up and pilot of a factor cost more than so many


class AutoSolver(Solver):
    """Elimination for blocks of R^-1 where separators are small, plain CG for a column or two, else by a pilot."""

    name: ClassVar[str] = "auto"

    def __init__(self, system: System, options: SolveOptions) -> None:
        self.system, self.options = system, options

    def solve(self, B: Matrix, rtol: float) -> tuple[Matrix, int]:
        """Return X with M X = B, as the solver for so many columns does."""
        return self.for_columns(B.shape[1]).solve(B, rtol)

    def for_columns(self, count: int) -> Solver:
        """Return plain CG for a column or two where it is quick, else the solver that a pilot chooses."""
        return self._plain if count <= NARROW and self._is_quick else self._by_pilot

    def landmark_blocks(
        self, landmarks: NDArray[np.intp], powers: Sequence[int], options: SolveOptions
    ) -> list[LandmarkBlock]:
        """Return the blocks by elimination, if p = 1 is all that is wanted and its bound is small enough, or by CG."""
        if list(powers) == [1]:
            block = eliminated_block(self.system, landmarks, options)
            if block is not None and block.relative_bound <= options.eps:
                return [block]
        solver = self.for_columns(len(landmarks))
        blocks = solver.landmark_blocks(landmarks, powers, options)
        return [replace(block, reason=f"{solver.reason}; {block.reason}") for block in blocks]

    @cached_property
    def _plain(self) -> ConjugateGradientSolver:
        return ConjugateGradientSolver(self.system, self.options)

    @cached_property
    def _is_quick(self) -> bool:
        """Whether plain CG on one column needs less than a factor costs."""
        if self._plain.signed:
            return False
        with ThreadExecutor(1) as executor:
            steps = executor.run(_count, (self._plain.tiled("float32"), QUICK, self.options.seed, 1))
        self._plain.reason = f"pilot of one column: {steps} iterations"
        return steps < QUICK

    @cached_property
    def _by_pilot(self) -> ConjugateGradientSolver:
        """The iterative solver that a pilot on one tile finds cheaper: iterations times the memory traffic of one."""
        factored = ApproximateCholeskySolver(self.system, self.options)
        if factored.signed:
            factored.reason = "positive off-diagonals"
            return factored
        plain = ConjugateGradientSolver.sharing(factored)
        with_factor, without = factored.tiled("float32"), plain.tiled("float32")
        with ThreadExecutor(1) as executor:
            steps = executor.run(_count, (with_factor, PILOT_LIMIT, self.options.seed, with_factor.width))
            affordable = int(steps * with_factor.work / without.work) + 1
            plain_steps = executor.run(_count, (without, affordable, self.options.seed, with_factor.width))
        chosen = plain if plain_steps < affordable else factored
        at_least = "" if plain_steps < affordable else "at least "
        chosen.reason = f"pilot: {steps} iterations with preconditioner, {at_least}{plain_steps} without"
        return chosen


def _count(prepared: tuple[TiledSystem, int, int, int]) -> int:
    tiled, limit, seed, columns = prepared
    return tiled.count_iterations(PILOT_REDUCTION, limit, seed, columns)
