"""The iterative solvers: tiled conjugate gradients, plain (Jacobi) or preconditioned by approximate Cholesky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from halfmoon.runtime.checkpoint import kept
from halfmoon.runtime.compiling_ahead import await_compiled
from halfmoon.runtime.execution import executor_for
from halfmoon.solvers._base import LandmarkBlock
from halfmoon.solvers._dense_chain import DenseChainSolver
from halfmoon.solvers._direct import DirectSolver
from halfmoon.solvers._landmark_block import TiledLandmarkBlocks
from halfmoon.solvers._nullspace import ROUNDING, off_diagonal
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import System
from halfmoon.solvers._tiled import Modes, TiledMatrix, TiledSystem

__all__ = ["ApproximateCholeskySolver", "ConjugateGradientSolver"]

Matrix = NDArray[np.float64]
PRECISIONS = ("float32", "float64")
DIRECT_LIMIT = 20_000  # up to here a factorisation is a feasible way out


class ConjugateGradientSolver(DenseChainSolver):
    """Tiled CG in float32 with float64 residuals; float64 where float32 does not get there."""

    name: ClassVar[str] = "cg"
    preconditioned: ClassVar[bool] = False

    def __init__(self, system: System, options: SolveOptions) -> None:
        self.system, self.options = system, options
        self.signed = system.is_signed
        self._tiled: dict[str, TiledSystem] = {}

    @classmethod
    def sharing(cls, other: ConjugateGradientSolver) -> ConjugateGradientSolver:
        """Return the plain solver of a system that the preconditioned one has been set up for."""
        solver = cls(other.system, other.options)
        solver._tiled["float32"] = other.tiled("float32").unpreconditioned()
        return solver

    def tiled(self, dtype: str) -> TiledSystem:
        """Return the system in the given working precision, set up at the first call, with tiles as memory allows."""
        if dtype not in self._tiled:
            await_compiled("solvers")
            matrix = _double_cover(self.system) if self.signed else _tiled_matrix(self.system)
            with executor_for(1) as executor:
                self._tiled[dtype] = executor.run(_build, _Setup(matrix, self.preconditioned, dtype, self.options.seed))
        return replace(self._tiled[dtype], width=self.options.tile_width)

    def solve(self, B: Matrix, rtol: float) -> tuple[Matrix, int]:
        """Return X with M X = B; columns that float32 leaves behind go to float64, then to a direct solver."""
        X, reached, n_iter = self._solve_in(PRECISIONS[0], B, rtol)
        behind = np.flatnonzero(~reached)
        for dtype in PRECISIONS[1:]:
            if behind.size:
                X[:, behind], reached, steps = self._solve_in(dtype, B[:, behind], rtol)
                n_iter = max(n_iter, steps)
                behind = behind[~reached]
        if behind.size and self.system.n <= DIRECT_LIMIT:
            X[:, behind], _ = DirectSolver(self.system, self.options).solve(B[:, behind], rtol)
        return X, n_iter

    def _solve_in(self, dtype: str, B: Matrix, rtol: float) -> tuple[Matrix, NDArray[np.bool_], int]:
        n, tiled = self.system.n, self.tiled(dtype)
        with executor_for(self.options.threads) as executor, np.errstate(all="ignore"):
            if not self.signed:
                return tiled.solve_columns(B, rtol, executor)
            X, reached, n_iter = tiled.solve_columns(np.concatenate([B, -B]), rtol, executor)
        return (X[:n] - X[n:]) / 2, reached, n_iter  # its residual, (r_1 - r_2) / 2, is as small beside B

    def landmark_blocks(
        self, landmarks: NDArray[np.intp], powers: Sequence[int], options: SolveOptions
    ) -> list[LandmarkBlock]:
        """Return the blocks; tighter goals, float64 and a direct solver follow where a bound is not reached."""
        if self.signed:
            return super().landmark_blocks(landmarks, powers, options)
        for dtype in PRECISIONS:
            blocks = TiledLandmarkBlocks(
                tiled=self.tiled(dtype),
                floor=self.system.floor,
                stronger_floor=lambda: self.system.tree_floor,
                uncertainty=self.system.diagonal_uncertainty(),
                landmarks=landmarks,
                powers=powers,
                options=options,
            ).run()
            blocks = [replace(block, solver=self.name, reason=f"{dtype}, {block.reason}") for block in blocks]
            if all(block.relative_bound <= options.eps for block in blocks):
                return blocks
        if self.system.n > DIRECT_LIMIT:
            return [replace(block, reason=f"{block.reason}, accuracy not reached") for block in blocks]
        exact = DirectSolver(self.system, options).landmark_blocks(landmarks, powers, options)
        return [_better(by_direct, block) for by_direct, block in zip(exact, blocks, strict=True)]


class ApproximateCholeskySolver(ConjugateGradientSolver):
    """Tiled CG preconditioned by an approximate Cholesky factor (Kyng-Sachdeva; Gao, Kyng and Spielman)."""

    name: ClassVar[str] = "approx_cholesky"
    preconditioned: ClassVar[bool] = True


@dataclass(frozen=True)
class _Setup:
    """What a tiled system is built from; picklable."""

    matrix: TiledMatrix
    preconditioned: bool
    dtype: str
    seed: int


@kept
def _build(setup: _Setup) -> TiledSystem:
    return TiledSystem.build(setup.matrix, preconditioned=setup.preconditioned, dtype=setup.dtype, seed=setup.seed)


def _better(exact: LandmarkBlock, iterative: LandmarkBlock) -> LandmarkBlock:
    """Return the block with the smaller bound: on stiff graphs elimination by edges may beat a factorisation."""
    if iterative.relative_bound < exact.relative_bound:
        return replace(iterative, reason=f"{iterative.reason}, accuracy not reached")
    reason = f"{iterative.solver} reached {iterative.relative_bound:.1e} only"
    return replace(exact, n_iter=iterative.n_iter, reason=reason)


def _tiled_matrix(system: System) -> TiledMatrix:
    """Return which vertex belongs to which mode; vertices without one share a component of their own."""
    assert system.excess is not None
    modes = sparse.csr_array(system.modes)
    mass = system.scale**2
    labels = np.full(system.n, modes.shape[1], dtype=np.int64)
    labels[np.repeat(np.arange(system.n), np.diff(modes.indptr))] = modes.indices
    volume = np.bincount(labels, weights=mass, minlength=modes.shape[1] + 1)
    share = np.divide(1.0, volume, out=np.zeros_like(volume), where=volume > 0.0)
    share[-1] = 0.0
    return TiledMatrix(system.weights, system.excess, system.rounding, Modes(mass, labels, share))


def _double_cover(system: System) -> TiledMatrix:
    """Return Gremban's cover of a matrix with positive off-diagonals: two copies of each vertex, no positive entry.

    M x = b becomes the cover's system for (b, -b), solved by (x, -x).
    """
    M, off = system.M, off_diagonal(system.M)
    negative, positive = sparse.csr_array(off.minimum(0.0)), sparse.csr_array(off.maximum(0.0))
    W = sparse.block_array([[-negative, positive], [positive, -negative]], format="csr")
    W.eliminate_zeros()
    count, labels = csgraph.connected_components(W, directed=False)
    excess = np.concatenate([system.excess, system.excess])
    surplus = excess > ROUNDING * np.concatenate([M.diagonal(), M.diagonal()])
    singular = np.bincount(labels, weights=surplus, minlength=count) == 0
    share = np.where(singular, 1.0 / np.bincount(labels, minlength=count), 0.0)
    return TiledMatrix(
        W, excess, np.concatenate([system.rounding, system.rounding]), Modes(np.ones(W.shape[0]), labels, share)
    )
