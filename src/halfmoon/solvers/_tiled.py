"""Tiled multi-right-hand-side CG: a worker owns a tile of columns, low precision inside, float64 residuals outside.

Per tile: a right-hand side b in float64, CG in the working precision on the current residual, the correction added to x
in float64, the residual recomputed in float64, and again until the norm of the true residual is at its goal.
Tiles are cut by column number, never by thread, so the result does not depend on how many threads there are.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from halfmoon.runtime.checkpoint import kept
from halfmoon.runtime.executor import Executor, stop_flag
from halfmoon.runtime.lanes import WIDTH, typed
from halfmoon.solvers._approx_cholesky import approximate_cholesky
from halfmoon.solvers._numba.cg import Factor, column_gradients, conjugate_gradients
from halfmoon.solvers._numba.renumbering import renumber
from halfmoon.solvers._numba.tile import (
    TileOperator,
    accumulate,
    project,
    project_rhs,
    residual,
    squared_norms,
    start,
)

__all__ = ["Modes", "TileResult", "TiledMatrix", "TiledSystem", "Workspace", "workspace"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

NARROW = 2  # columns of a tile that are solved one by one, without a factor: the rest of the tile would be idle
MAX_CYCLES = 8  # CG runs from true residuals before a tile counts as stuck
CYCLE_REDUCTION = {"float32": 1e-10, "float64": 1e-22}  # of |r|^2, in one run: below, recurrences drift
ITERATION_LIMIT = {"float32": 200, "float64": 3000}
NEGLIGIBLE_EXCESS = 1e-8  # a projected component with less is factored as singular
TINY = float(np.finfo(float).tiny)
BLOCK = 1 << 16  # rows of random numbers drawn at once
FLOAT32_RANGE = 1e-30, 1e30  # factors of a norm beyond these are not what decides


@dataclass(frozen=True)
class Modes:
    """Which components have a mode 1_C to be projected out, in the inner product of `mass`."""

    mass: Vector  # (n,)
    labels: NDArray[Any]  # (n,)
    share: Vector  # (components,) 1 / mass(C), or 0 where there is no mode


@dataclass(frozen=True)
class TiledMatrix:
    """M = L(W) + diag(excess) with its modes: what a tiled system is built from."""

    W: sparse.csr_array
    excess: Vector
    rounding: Vector  # relative rounding of the sums of each row
    modes: Modes


@dataclass
class Workspace:
    """Arrays of one thread."""

    b: Matrix
    x: Matrix
    r: NDArray[Any]
    d: NDArray[Any]
    p: NDArray[Any]
    q: NDArray[Any]


class _Scratch(threading.local):
    """The workspace of a thread, kept from tile to tile: pages of fresh arrays would cost a tenth of a solve."""

    space: Workspace | None = None


_scratch = _Scratch()


def workspace(n: int, width: int, dtype: str) -> Workspace:
    """Return the arrays of this thread for tiles of n rows."""
    space = _scratch.space
    if space is None or space.b.shape != (n, width) or space.r.dtype != np.dtype(dtype):
        space = _scratch.space = None  # before the next one is made
        doubles = [np.zeros((n, width)) for _ in range(2)]
        space = _scratch.space = Workspace(*doubles, *(np.zeros((n, width), dtype) for _ in range(4)))
    return space


@dataclass(frozen=True)
class TileResult:
    """What is known after the solve of one tile."""

    norms: Vector  # (width,) norm of the residual of R, as computed
    rounding: Vector  # (width,) bound on its rounding
    unit: Vector  # (width,) factor of the residual that is left in the workspace
    n_iter: int
    reached: bool


@dataclass(frozen=True)
class TiledSystem:
    """M z = b, set up once; picklable.

    Attributes
    ----------
    op : TileOperator
        M in the numbering of the tiles.
    factor : Factor or None
        Approximate Cholesky; None: Jacobi.
    vertex, position : ndarray of shape (n,)
        Row i of a tile is vertex[i]; vertex v is row position[v].
    dtype : {"float32", "float64"}
        Working precision of the iterations.
    width : int
        Columns of a tile: 16, or 8 where memory is short.
    """

    op: TileOperator
    factor: Factor | None
    vertex: NDArray[np.int64]
    position: NDArray[np.int64]
    dtype: str
    width: int = WIDTH

    @classmethod
    def build(cls, matrix: TiledMatrix, *, preconditioned: bool, dtype: str, seed: int) -> TiledSystem:
        """Set up the system: order the vertices, factor if asked to, and cast."""
        W, factor = matrix.W, None
        vertex = np.asarray(reverse_cuthill_mckee(W, symmetric_mode=True), dtype=np.int64)
        diagonal = np.asarray(W.sum(axis=1)).ravel() + matrix.excess
        constant, s = _scaling(W, diagonal)
        if preconditioned:
            order, factor = _factorize(matrix, vertex, diagonal, s, seed, dtype)
            vertex = vertex[order]
        op = _tile_operator(matrix, vertex, diagonal[vertex], s[vertex], constant, dtype)
        return cls(op, factor, vertex, _positions(vertex), dtype)

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return len(self.vertex)

    @property
    def work(self) -> float:
        """Memory traffic of one iteration, in vector passes times n: what choices between methods count."""
        touched = self.op.ind.size + 9 * self.n
        return touched if self.factor is None else touched + self.factor.lower.size + self.factor.upper.size

    def unpreconditioned(self) -> TiledSystem:
        """Return the same system with Jacobi in place of the factor."""
        return replace(self, factor=None)

    def workspace(self) -> Workspace:
        """Return the arrays of this thread for this system."""
        return workspace(self.n, self.width, self.dtype)

    def tiles_of(self, columns: int) -> list[slice]:
        """Return the tiles of so many columns, as slices."""
        return [slice(first, min(first + self.width, columns)) for first in range(0, columns, self.width)]

    def solve_tile(self, space: Workspace, goal: float | Vector) -> TileResult:
        """Solve M x = b for the tile in the workspace until the residual of R has norm <= goal in every column."""
        op = self.op
        squares, spread = squared_norms(op, -1, space.b).reshape(1, -1), np.zeros((1, self.width))
        goals = np.maximum(np.broadcast_to(np.asarray(goal, dtype=np.float64), (self.width,)), TINY**0.5) ** 2
        unit = _unit(squares)
        space.x[:] = 0.0
        start(op.scale, typed(space.b), unit, typed(space.r))
        n_iter, limit = 0, ITERATION_LIMIT[self.dtype]
        for _ in range(MAX_CYCLES):
            if np.all(squares <= goals):
                break
            aim = np.maximum(0.7 * goals, CYCLE_REDUCTION[self.dtype] * squares)
            n_iter += self._iterate(space, (squares > goals)[0], (aim * unit**2)[0], limit)
            accumulate(op.scale, 1.0 / unit, typed(space.d), typed(space.x))
            project(op, space.x)
            before, unit, squares = squares, _unit(aim), np.empty((1, self.width))
            residual(op, typed(space.b), typed(space.x), unit, typed(space.r), squares, spread)
            if not np.all((squares <= goals) | (squares <= 0.25 * before)):
                break  # a column no longer gets better: this precision cannot do more
        reached = bool(np.all(squares <= goals))
        return TileResult(np.sqrt(squares[0]), np.sqrt(spread[0]), unit[0], n_iter, reached)

    def _iterate(self, space: Workspace, active: NDArray[np.bool_], target: Vector, limit: int) -> int:
        """Run CG from the residual in the workspace until |r|^2 <= target; a column or two without their tile."""
        stop = stop_flag()
        if self.factor is not None or active.sum() > NARROW:
            tiles = (typed(tile) for tile in (space.r, space.d, space.p, space.q))
            sums, steps = np.empty((4, 1, self.width)), np.zeros((2, 1, self.width), self.dtype)
            return int(conjugate_gradients(self.op, self.factor, target, limit, stop, *tiles, *sums, *steps))
        space.d[:], n_iter = 0.0, 0
        for c in np.flatnonzero(active):
            space.d[:, c], steps = column_gradients(self.op, target[c], limit, stop, space.r[:, c].copy())
            n_iter = max(n_iter, int(steps))
        return n_iter

    def count_iterations(self, reduction: float, limit: int, seed: int, columns: int) -> int:
        """Return how many iterations random columns, at most a tile, need to reduce |r|^2; at most `limit`."""
        space = self.workspace()
        random_rhs(self, seed, space.b)
        space.b[:, columns:] = 0.0
        squares = squared_norms(self.op, -1, space.b).reshape(1, -1)
        unit = _unit(squares)
        start(self.op.scale, typed(space.b), unit, typed(space.r))
        return self._iterate(space, (squares > 0.0)[0], (reduction * squares * unit**2)[0], limit)

    def solve_columns(self, B: Matrix, rtol: float, executor: Executor) -> tuple[Matrix, NDArray[np.bool_], int]:
        """Return X with M X = B, which columns have |r| <= rtol |b| in the norm of R, and the iterations."""
        X, reached, n_iter = np.zeros_like(B), np.empty(B.shape[1], dtype=bool), 0
        tiles = self.tiles_of(B.shape[1])
        for part, solved in zip(tiles, executor.map(_solve_part, (self, B, rtol), tiles), strict=True):
            X[self.vertex, part], reached[part], steps = solved
            n_iter = max(n_iter, steps)
        return X, reached, n_iter


@kept
@np.errstate(all="ignore")  # of this thread: callers look at the residuals
def _solve_part(prepared: tuple[TiledSystem, Matrix, float], part: slice) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Solve for one tile of columns of B."""
    tiled, B, rtol = prepared
    space, columns = tiled.workspace(), part.stop - part.start
    # Columns of any size: powers of two keep their squares in range and change no digit.
    exponents = np.frexp(np.maximum(B[:, part].max(axis=0), -B[:, part].min(axis=0)))[1]
    space.b[:] = 0.0
    for c in range(columns):  # one by one: what is between is as long as a column
        space.b[:, c] = np.ldexp(B[tiled.vertex, part.start + c], -exponents[c])
    project_rhs(tiled.op, space.b)
    goal = rtol * np.sqrt(squared_norms(tiled.op, -1, space.b))
    result = tiled.solve_tile(space, goal)
    return np.ldexp(space.x[:, :columns], exponents), (result.norms <= goal)[:columns], result.n_iter


def random_rhs(tiled: TiledSystem, seed: int, b: Matrix) -> None:
    """Set b <- G^1/2 y for standard normal columns y, off the modes."""
    rng, root = np.random.default_rng(seed), np.sqrt(tiled.op.mass)
    for first in range(0, tiled.n, BLOCK):
        rows = tiled.position[first : first + BLOCK]
        b[rows] = root[rows, None] * rng.standard_normal((len(rows), tiled.width))
    project_rhs(tiled.op, b)


def _unit(squares: Matrix) -> Matrix:
    """Return 1 / |r|, or 1 for a column without residual: scaled columns fit into every precision."""
    return np.where(squares > 0.0, 1.0 / np.sqrt(np.maximum(squares, TINY)), 1.0)


def _scaling(W: sparse.csr_array, diagonal: Vector) -> tuple[float, Vector]:
    """Return the one weight of all edges (or 0) and the s that bring s M s to entries of order one."""
    constant = float(W.data[0]) if W.nnz and np.all(W.data == W.data[0]) else 0.0
    smallest, largest = diagonal.min(where=diagonal > 0.0, initial=np.inf), diagonal.max()
    if constant > 0.0 and FLOAT32_RANGE[0] * constant < smallest and largest < FLOAT32_RANGE[1] * constant:
        return constant, np.full(len(diagonal), 1.0 / np.sqrt(constant))
    return 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


def _factorize(
    matrix: TiledMatrix, vertex: NDArray[np.int64], diagonal: Vector, s: Vector, seed: int, dtype: str
) -> tuple[NDArray[np.int64], Factor]:
    """Return an order and the approximate factor of s M s in it."""
    modes, relative = matrix.modes, np.zeros(len(matrix.modes.share))
    np.maximum.at(relative, modes.labels, matrix.excess / np.maximum(diagonal, TINY))
    pinned = ((modes.share > 0.0) & (relative <= NEGLIGIBLE_EXCESS))[modes.labels[vertex]]
    excess = np.where(pinned, 0.0, matrix.excess[vertex])
    return approximate_cholesky(_permuted(matrix.W, vertex), excess, pinned, s[vertex], seed, dtype)


def _permuted(W: sparse.csr_array, vertex: NDArray[np.int64]) -> sparse.csr_array:
    """Return W with row vertex[i] as row i, and the columns likewise."""
    arrays = np.empty_like(W.indptr), np.empty_like(W.indices), np.empty_like(W.data)
    renumber(W.indptr, W.indices, W.data, vertex, _positions(vertex), *arrays)
    ptr, ind, weight = arrays
    return sparse.csr_array((weight, ind, ptr), shape=W.shape)


def _positions(vertex: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each vertex."""
    position = np.empty_like(vertex)
    position[vertex] = np.arange(len(vertex))
    return position


def _tile_operator(
    matrix: TiledMatrix, vertex: NDArray[np.int64], diagonal: Vector, s: Vector, constant: float, dtype: str
) -> TileOperator:
    W, excess, modes = _permuted(matrix.W, vertex), matrix.excess[vertex], matrix.modes
    mass = modes.mass[vertex]
    scaled = None
    if constant == 0.0:
        weights = np.repeat(s, np.diff(W.indptr))
        weights *= W.data
        weights *= s[W.indices]
        scaled = weights.astype(dtype)
    with np.errstate(divide="ignore"):
        jacobi = np.where(diagonal > 0.0, 1.0 / (s**2 * diagonal), 1.0)
    return TileOperator(
        ptr=W.indptr.astype(np.uint32),
        ind=W.indices.astype(np.uint32),
        weight=scaled,
        diag=(s**2 * diagonal).astype(dtype),
        jacobi=jacobi.astype(dtype),
        norm=np.clip(1.0 / (s**2 * mass), *FLOAT32_RANGE).astype(dtype),
        weight64=None if constant > 0.0 else W.data,
        constant=constant,
        excess64=excess,
        rounding=matrix.rounding[vertex],
        scale=s,
        mass=mass,
        label=modes.labels[vertex].astype(np.uint32),
        share=modes.share,
    )
