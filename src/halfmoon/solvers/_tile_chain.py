"""The chain Y_1 = R^-1 P E, Y_2 = R^-1 Y_1, ... of one tile of landmarks, as a task for a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.checkpoint import kept
from halfmoon.solvers._numba.tile import TileOperator, project_rhs, squared_norms
from halfmoon.solvers._tiled import TiledSystem, TileResult, Workspace

__all__ = ["Chain", "Level", "Pilot", "mass_times", "run_pilot", "run_tile"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

PILOT_RESIDUAL = 1e-3  # relative to each right-hand side: sizes are known to a few digits then


@dataclass(frozen=True)
class Chain:
    """What every tile does; picklable."""

    tiled: TiledSystem
    S: NDArray[np.int64]  # rows of the landmarks in a tile
    goals: tuple[float, ...]  # norm of the residual, level by level
    keep_Y: tuple[str | None, ...]  # the precision that columns are kept in, or None
    keep_rho: tuple[bool, ...]
    keep_rows: tuple[bool, ...]


@dataclass(frozen=True)
class Level:
    """Y_j of some columns, as far as it is needed later."""

    norms: Vector  # |Y_j|
    residual: Vector  # |rho_j|, as computed
    rounding: Vector  # bound on the norm of its rounding
    unit: Vector  # factor of the columns of rho, so that float32 holds them
    Y: list[NDArray[Any]]  # tiles, each column divided by its norm
    rho: list[NDArray[Any]]
    rows: Matrix  # of the landmarks; none where they are not kept

    @classmethod
    def of_tiles(cls, parts: Sequence[Level]) -> Level:
        """Return the level of all columns."""
        return cls(
            norms=np.concatenate([part.norms for part in parts]),
            residual=np.concatenate([part.residual for part in parts]),
            rounding=np.concatenate([part.rounding for part in parts]),
            unit=np.concatenate([part.unit for part in parts]),
            Y=[tile for part in parts for tile in part.Y],
            rho=[tile for part in parts for tile in part.rho],
            rows=np.concatenate([part.rows for part in parts], axis=1),
        )


@dataclass(frozen=True)
class Pilot:
    """What one tile of landmarks teaches about all of them."""

    norms: list[float]  # largest |Y_j|, j = 1, 2, ...
    rounding: list[float]  # largest rounding of a residual
    entries: dict[int, float]  # power -> largest diagonal entry of its block


def mass_times(op: TileOperator, x: Matrix, b: Matrix) -> None:
    """Set b <- G x: the next right-hand side of a chain, R^-1 R^-1 y = G^1/2 M^-1 G M^-1 G^1/2 y."""
    np.multiply(op.mass[:, None], x, out=b)


def _indicator_rhs(op: TileOperator, landmarks: NDArray[np.int64], b: Matrix) -> None:
    """Set b_c <- G^1/2 e_s, off the modes."""
    b[:] = 0.0
    b[landmarks, np.arange(len(landmarks))] = np.sqrt(op.mass[landmarks])
    project_rhs(op, b)


@kept
@np.errstate(all="ignore")  # of this thread: what is not finite is not within its bound
def run_tile(chain: Chain, part: slice) -> tuple[list[Level], int, bool]:
    """Run the chain of one tile of landmarks."""
    tiled, space, columns = chain.tiled, chain.tiled.workspace(), part.stop - part.start
    _indicator_rhs(tiled.op, chain.S[part], space.b)
    levels, n_iter, reached = [], 0, True
    for j, goal in enumerate(chain.goals):
        if j > 0:
            mass_times(tiled.op, space.x, space.b)
        result = tiled.solve_tile(space, goal)
        levels.append(_record(chain, j, space, result, columns))
        n_iter, reached = n_iter + result.n_iter, reached and result.reached
    return levels, n_iter, reached


def _record(chain: Chain, j: int, space: Workspace, result: TileResult, columns: int) -> Level:
    op = chain.tiled.op
    norms = np.sqrt(squared_norms(op, 1, space.x))[:columns]
    Y: list[NDArray[Any]] = []
    rho: list[NDArray[Any]] = []
    if (kept_in := chain.keep_Y[j]) is not None:
        scale = np.sqrt(op.mass)[:, None] * (1.0 / np.where(norms > 0.0, norms, 1.0))  # of R from those of M
        Y.append((scale * space.x[:, :columns]).astype(kept_in, copy=False))
    if chain.keep_rho[j]:
        of_R = 1.0 / (np.sqrt(op.mass) * op.scale)
        rho.append((of_R[:, None] * space.r[:, :columns]).astype(np.float32))
    S = chain.S if chain.keep_rows[j] else chain.S[:0]
    return Level(
        norms=norms,
        residual=result.norms[:columns],
        rounding=result.rounding[:columns],
        unit=result.unit[:columns],
        Y=Y,
        rho=rho,
        rows=np.sqrt(op.mass[S])[:, None] * space.x[S, :columns],
    )


@np.errstate(all="ignore")
def run_pilot(prepared: tuple[TiledSystem, NDArray[np.int64], int]) -> Pilot:
    """Run the chain of a few landmarks to a moderate accuracy."""
    tiled, few, depth = prepared
    space, op, column = tiled.workspace(), tiled.op, np.arange(len(few))
    root = np.sqrt(op.mass)
    _indicator_rhs(op, few, space.b)
    norms, rounding, entries, before = [], [], {}, np.zeros(0)
    for j in range(1, depth + 1):
        result = tiled.solve_tile(space, PILOT_RESIDUAL * np.sqrt(squared_norms(op, -1, space.b)))
        squares = squared_norms(op, 1, space.x)[: len(few)]
        norms.append(float(np.sqrt(squares.max())))
        rounding.append(float(result.rounding[: len(few)].max()))
        if j == 1:
            entries[1] = float((root[few] * space.x[few, column]).max())
        else:
            entries[2 * j - 1] = float(np.einsum("i,ij,ij->j", op.mass, before, space.x[:, : len(few)]).max())
        entries[2 * j] = float(squares.max())
        before = space.x[:, : len(few)].copy()
        mass_times(op, space.x, space.b)
    return Pilot(norms, rounding, entries)
