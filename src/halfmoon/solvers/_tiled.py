"""Tiled multi-right-hand-side CG: threads own tiles of columns, low precision inside, float64 residuals outside.

Per tile: a right-hand side b in float64, CG in the working precision on the current residual, the correction added to x
in float64, the residual recomputed in float64, and again until r' P^-1 r of the true residual is at its goal.
Tiles are cut by column number, never by thread, so the result does not depend on how many threads there are.
"""

from __future__ import annotations

import copy
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from halfmoon._parallel import Team
from halfmoon.solvers._approx_cholesky import approximate_cholesky
from halfmoon.solvers._kernels.cg import Factor, conjugate_gradients, energies
from halfmoon.solvers._kernels.lanes import WIDTH
from halfmoon.solvers._kernels.tile import TileOperator, accumulate, project, project_rhs, residual
from halfmoon.solvers._nullspace import excess, off_diagonal

__all__ = ["Modes", "TileResult", "TiledSystem", "Workspace"]

Matrix = NDArray[np.float64]

MAX_CYCLES = 8  # CG runs from true residuals before a tile counts as stuck
CYCLE_REDUCTION = {"float32": 1e-9, "float64": 1e-22}  # of the energy, in one run: below, recurrences drift
ITERATION_LIMIT = {"float32": 200, "float64": 3000}
NEGLIGIBLE_EXCESS = 1e-8  # a projected component with less is factored as singular
PANEL = 4096  # rows of one Gram product


@dataclass(frozen=True)
class Modes:
    """Which components have a mode 1_C to be projected out, in the inner product of `mass`."""

    mass: NDArray[np.float64]  # (n,)
    labels: NDArray[Any]  # (n,)
    share: NDArray[np.float64]  # (components,) 1 / mass(C), or 0 where there is no mode


@dataclass
class Workspace:
    """Arrays of one thread."""

    b: Matrix
    x: Matrix
    r: NDArray[Any]
    d: NDArray[Any]
    p: NDArray[Any]
    q: NDArray[Any]

    @classmethod
    def of_size(cls, n: int, dtype: Any) -> Workspace:
        """Allocate tiles of n rows."""
        return cls(*(np.zeros((n, WIDTH)) for _ in range(2)), *(np.zeros((n, WIDTH), dtype) for _ in range(4)))


@dataclass(frozen=True)
class TileResult:
    """What is known after the solve of one tile."""

    energy: NDArray[np.float64]  # (WIDTH,) r' P^-1 r of the true residual
    norms: NDArray[np.float64]  # (WIDTH,) squared norm of the residual of R
    n_iter: int
    lowest: float  # smallest Ritz value of P^-1 M that CG met
    reached: bool


class TiledSystem:
    """M z = b for a symmetric M = diag - W, W >= 0, diagonally dominant, set up once.

    Parameters
    ----------
    M : csr_array of shape (n, n)
        Off-diagonals <= 0.
    modes : Modes
        What is projected out.
    preconditioned : bool
        Approximate Cholesky, or Jacobi.
    dtype : {"float32", "float64"}
        Working precision of the iterations.
    threads, seed : int
        Threads, and the seed of the sampled factor.
    """

    def __init__(
        self, M: sparse.csr_array, modes: Modes, *, preconditioned: bool, dtype: str, threads: int, seed: int
    ) -> None:
        self.n, self.dtype, self.threads = M.shape[0], dtype, threads
        self.preconditioned = preconditioned
        vertex = np.asarray(reverse_cuthill_mckee(M, symmetric_mode=True), dtype=np.int64)
        self.factor: Factor | None = None
        if preconditioned:
            order, self.factor = self._factorize(_permuted(M, vertex), modes, vertex, seed)
            vertex = vertex[order]
        self.vertex = vertex  # row i of a tile is vertex[i]
        self.position = np.empty(self.n, dtype=np.int64)
        self.position[vertex] = np.arange(self.n)
        self.op = _tile_operator(_permuted(M, vertex), modes, vertex, dtype)
        self._spaces: queue.SimpleQueue[Workspace] = queue.SimpleQueue()
        for _ in range(threads):
            self._spaces.put(Workspace.of_size(self.n, dtype))

    def _factorize(self, M: sparse.csr_array, modes: Modes, vertex: Any, seed: int) -> tuple[Any, Factor]:
        labels, surplus = modes.labels[vertex], np.maximum(excess(M), 0.0)
        relative = np.zeros(len(modes.share))
        np.maximum.at(relative, labels, surplus / np.maximum(M.diagonal(), np.finfo(float).tiny))
        pinned = ((modes.share > 0.0) & (relative <= NEGLIGIBLE_EXCESS))[labels]
        W = -off_diagonal(M)
        return approximate_cholesky(W, np.where(pinned, 0.0, surplus), pinned, seed, self.dtype)

    @property
    def work(self) -> float:
        """Memory traffic of one iteration, in vector passes times n: what choices between methods count."""
        touched = self.op.ind.size + 9 * self.n
        return touched if self.factor is None else touched + self.factor.lower.size + self.factor.upper.size

    def unpreconditioned(self) -> TiledSystem:
        """Return the same system with Jacobi in place of the factor; numbering and workspaces are shared."""
        twin = copy.copy(self)
        twin.factor, twin.preconditioned = None, False
        return twin

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """Borrow the arrays of a thread."""
        space = self._spaces.get()
        try:
            yield space
        finally:
            self._spaces.put(space)

    def solve_tile(self, space: Workspace, goal: float | NDArray[np.float64], *, ritz: bool = False) -> TileResult:
        """Solve M x = b for the tile in the workspace until r' P^-1 r <= goal in every column."""
        goals = np.broadcast_to(np.asarray(goal, dtype=np.float64), (WIDTH,))
        limit = ITERATION_LIMIT[self.dtype]
        logs, norms = np.empty((2, limit, WIDTH)), np.empty((1, WIDTH))
        space.x[:] = 0.0
        residual(self.op, space.b, space.x, space.r, norms)
        energy = energies(self.op, self.factor, space.r, space.q)
        n_iter, lowest = 0, np.inf
        for _ in range(MAX_CYCLES):
            if np.all(energy <= goals):
                break
            inner = np.maximum(0.7 * goals, CYCLE_REDUCTION[self.dtype] * energy)
            made = conjugate_gradients(
                self.op, self.factor, inner, space.r, space.d, space.p, space.q, logs[0], logs[1]
            )
            n_iter += made
            if ritz:
                lowest = min(lowest, smallest_ritz_value(logs[0, :made], logs[1, :made]))
            accumulate(space.d, space.x)
            project(self.op, space.x)
            residual(self.op, space.b, space.x, space.r, norms)
            before, energy = energy, energies(self.op, self.factor, space.r, space.q)
            if not np.all((energy <= goals) | (energy <= 0.25 * before)):
                break  # a column no longer gets better: this precision cannot do more
        return TileResult(energy, norms[0], n_iter, lowest, bool(np.all(energy <= goals)))

    def count_iterations(self, reduction: float, limit: int, seed: int) -> int:
        """Return how many iterations a tile of random columns needs to reduce r' P^-1 r, at most `limit`."""
        logs = np.empty((2, limit, WIDTH))
        with self.workspace() as space:
            noise = np.random.default_rng(seed).standard_normal((self.n, WIDTH))
            space.b[:] = np.sqrt(self.op.mass)[:, None] * noise[self.vertex]
            project_rhs(self.op, space.b)
            space.r[:] = space.b
            goal = reduction * energies(self.op, self.factor, space.r, space.q)
            return int(
                conjugate_gradients(self.op, self.factor, goal, space.r, space.d, space.p, space.q, logs[0], logs[1])
            )

    def solve_columns(self, B: Matrix, rtol: float) -> tuple[Matrix, int]:
        """Return X with M X = B, each column to |r| <= rtol |b| in the norm of R; rows of X in the user's order."""
        columns = B.shape[1]
        X = np.zeros_like(B)

        def work(tile: int) -> int:
            part = slice(tile * WIDTH, min((tile + 1) * WIDTH, columns))
            with self.workspace() as space:
                space.b[:] = 0.0
                space.b[:, : part.stop - part.start] = B[self.vertex, part]
                project_rhs(self.op, space.b)
                result = self._solve_to_residual(space, rtol)
                X[self.vertex, part] = space.x[:, : part.stop - part.start]
                return result.n_iter

        with Team(self.threads) as team:
            return X, max(team.map(work, range(-(-columns // WIDTH))))

    def _solve_to_residual(self, space: Workspace, rtol: float) -> TileResult:
        """Lower the energy goal until the residual norms are there; r' P^-1 r stands in for |r|^2 at first."""
        wanted = rtol**2 * np.einsum("ij,ij,i->j", space.b, space.b, 1.0 / self.op.mass)
        space.r[:] = space.b
        goal = rtol**2 * energies(self.op, self.factor, space.r, space.q)
        n_iter = 0
        for _ in range(4):
            result = self.solve_tile(space, np.maximum(goal, np.finfo(float).tiny))
            n_iter += result.n_iter
            behind = result.norms > wanted
            if not behind.any() or not result.reached:
                break
            goal = np.where(behind, 0.1 * goal * wanted / np.maximum(result.norms, np.finfo(float).tiny), goal)
        return TileResult(result.energy, result.norms, n_iter, result.lowest, result.reached)

    def gram(self, X: NDArray[Any], Y: NDArray[Any]) -> Matrix:
        """Return X' Y: row panels in float64, each by one thread, summed in their order."""

        def panel(first: int) -> Matrix:
            rows = slice(first, first + PANEL)
            return X[rows].T.astype(np.float64, copy=False) @ Y[rows].astype(np.float64, copy=False)

        total = np.zeros((X.shape[1], Y.shape[1]))
        with Team(self.threads) as team:
            for part in team.map(panel, range(0, self.n, PANEL)):
                total += part
        return total


def smallest_ritz_value(log_alpha: Matrix, log_beta: Matrix) -> float:
    """Return the smallest Ritz value of P^-1 M over the columns of a tile, from the coefficients of CG."""
    smallest = np.inf
    for a, b in zip(log_alpha.T, log_beta.T, strict=True):
        steps = int(np.argmax(a <= 0.0)) if np.any(a <= 0.0) else a.size
        if steps == 0:
            continue
        main = 1.0 / a[:steps]
        main[1:] += b[: steps - 1] / a[: steps - 1]
        off = np.sqrt(b[: steps - 1]) / a[: steps - 1]
        smallest = min(smallest, float(linalg.eigvalsh_tridiagonal(main, off)[0] if steps > 1 else main[0]))
    return smallest


def _permuted(M: sparse.csr_array, vertex: NDArray[np.int64]) -> sparse.csr_array:
    permuted = sparse.csr_array(M[vertex][:, vertex])
    permuted.sort_indices()
    return permuted


def _tile_operator(M: sparse.csr_array, modes: Modes, vertex: NDArray[np.int64], dtype: str) -> TileOperator:
    W = -off_diagonal(M)
    diagonal = M.diagonal()
    binary = bool(np.all(W.data == 1.0))
    jacobi = np.divide(1.0, diagonal, out=np.ones_like(diagonal), where=diagonal > 0.0)
    return TileOperator(
        ptr=W.indptr.astype(np.uint32),
        ind=W.indices.astype(np.uint32),
        weight=None if binary else W.data.astype(dtype),
        weight64=None if binary else W.data,
        diag=diagonal.astype(dtype),
        diag64=diagonal,
        jacobi=jacobi.astype(dtype),
        mass=modes.mass[vertex],
        label=modes.labels[vertex].astype(np.uint32),
        share=modes.share,
    )
