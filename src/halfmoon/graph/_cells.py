"""Cells of points around means (k-means), in panels: what a query scans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import euclidean_distances

from halfmoon.graph._numba.cells import nearest_cells
from halfmoon.runtime.executor import Executor
from halfmoon.runtime.lanes import WIDTH

__all__ = ["Cells", "in_panels"]

Points = NDArray[np.float32]

BALANCE = 3.0  # the number of cells is sqrt(BALANCE n): a query compares itself with means and points, about as many
LEARN_FROM = 32  # points per cell that the means are learnt from
ROUNDS = 5  # of k-means: the cells need not be the best ones
ROWS = 2048  # points assigned at once


@dataclass(frozen=True)
class Cells:
    """Points grouped by their nearest mean.

    Attributes
    ----------
    means : ndarray of shape (m s, 16)
        The means of the cells, in panels (see `_numba.cells`).
    panels : ndarray of shape (p s, 16)
        The points, cell after cell; each cell begins with a panel of its own.
    names : ndarray of shape (16 p,)
        Point at each place of the panels, -1 where there is none.
    bounds : ndarray of shape (count + 1,)
        Cell a has the panels bounds[a] to bounds[a + 1] - 1.
    cell : ndarray of shape (n,)
        The cell of each point.
    """

    means: Points
    panels: Points
    names: NDArray[np.int32]
    bounds: NDArray[np.int64]
    cell: NDArray[np.int32]

    @classmethod
    def of(cls, points: Points, learn_from: NDArray[np.intp], rng: np.random.Generator, executor: Executor) -> Cells:
        """Group points into about sqrt(BALANCE n) cells around means that are learnt from some of them."""
        n = len(learn_from)
        count = min(n, WIDTH * max(1, round(np.sqrt(BALANCE * n) / WIDTH)))
        drawn = points[np.sort(rng.choice(learn_from, min(n, LEARN_FROM * count), replace=False))]
        means = drawn[np.sort(rng.choice(len(drawn), count, replace=False))]
        for _ in range(ROUNDS):
            means = _averages(drawn, _assign(drawn, means, executor), means)
        cell = _assign(points, means, executor)
        panels, names, bounds = _lay_out(points, cell, count)
        return cls(in_panels(means), panels, names, bounds, cell)

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.bounds) - 1

    def in_order(self, points: Points) -> NDArray[np.int32]:
        """Return all cells for each of some points, nearest first."""
        means = self.means.reshape(-1, points.shape[1], WIDTH).transpose(0, 2, 1).reshape(-1, points.shape[1])
        return euclidean_distances(points, means[: self.count], squared=True).argsort(axis=1).astype(np.int32)


def in_panels(points: Points) -> Points:
    """Return points in panels (see `_numba.cells`), in their order."""
    return _lay_out(points, np.zeros(len(points), dtype=np.int32), 1)[0]


def _lay_out(
    points: Points, cell: NDArray[np.int32], count: int
) -> tuple[Points, NDArray[np.int32], NDArray[np.int64]]:
    """Return panels, names and bounds of points in `count` cells."""
    sizes = np.bincount(cell, minlength=count)
    bounds = np.concatenate(([0], np.cumsum(-(-sizes // WIDTH))))
    order = np.argsort(cell, kind="stable")
    rank = np.arange(len(points)) - (np.cumsum(sizes) - sizes)[cell[order]]
    place = WIDTH * bounds[cell[order]] + rank
    names = np.full(WIDTH * bounds[-1], -1, dtype=np.int32)
    names[place] = order
    panels = np.full((bounds[-1], points.shape[1], WIDTH), np.inf, dtype=np.float32)
    for start in range(0, len(points), ROWS):
        some = slice(start, start + ROWS)
        panels[place[some] // WIDTH, :, place[some] % WIDTH] = points[order[some]]
    return panels.reshape(-1, WIDTH), names, bounds


def _assign(points: Points, means: Points, executor: Executor) -> NDArray[np.int32]:
    """Return the cell with the nearest mean of every point."""
    blocks = [points[start : start + ROWS] for start in range(0, len(points), ROWS)]
    return np.concatenate(list(executor.map(_nearest_cell, in_panels(means), blocks)))


def _nearest_cell(means: Points, points: Points) -> NDArray[np.int32]:
    cell = np.zeros((len(points), 1), dtype=np.int32)
    nearest_cells(points, means, cell)
    return cell[:, 0]


def _averages(points: Points, cell: NDArray[np.int32], means: Points) -> Points:
    """Return the mean of the points of each cell; a cell without points keeps the one it has."""
    sizes = np.bincount(cell, minlength=len(means))
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    order = np.argsort(cell, kind="stable")
    members = sparse.csr_array((np.ones(len(points)), order, bounds), shape=(len(means), len(points)))
    averages = (members @ points) / np.maximum(sizes, 1)[:, None]
    return np.where(sizes[:, None] > 0, averages, means).astype(np.float32)
