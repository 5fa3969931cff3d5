"""Trees of balanced cells: halve the points again and again at the median along a random line.

Each point is compared with all points of the cells nearest to its own, cell against cell by one matrix product. The
nearest cells are found in the same way, on the means of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._numba.projection_tree import cell_means, search_cells, split_cells
from halfmoon.runtime.executor import Executor, stop_flag
from halfmoon.runtime.ranges import ranges

__all__ = ["Lists", "ProjectionTree", "search_tree"]

CELL = 64  # points of a cell, about
TOP_LEVELS = 5  # of a tree, split by one thread before the others get a branch each
CELLS = 256  # cells in one piece of work, at most


@dataclass
class Lists:
    """Neighbour lists, nearest first: squared distances and entries (see `_numba.lists`)."""

    squares: NDArray[np.float32]
    entries: NDArray[np.int32]

    @classmethod
    def empty(cls, n: int, width: int) -> Lists:
        """Return lists that name nobody."""
        return cls(np.full((n, width), np.inf, np.float32), np.full((n, width), -1, np.int32))

    @classmethod
    def like(cls, other: Lists) -> Lists:
        """Return room for lists of the same shape."""
        return cls(np.empty_like(other.squares), np.empty_like(other.entries))

    def room(self, rows: tuple[int, int]) -> Lists:
        """Return room for some of the lists."""
        count, width = rows[1] - rows[0], self.entries.shape[1]
        return Lists(np.empty((count, width), np.float32), np.empty((count, width), np.int32))

    @property
    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Both arrays, as compiled functions read them."""
        return self.squares, self.entries

    @property
    def neighbors(self) -> NDArray[np.int32]:
        """The points named, -1 where there is none."""
        return self.entries >> 1


class ProjectionTree:
    """A partition of points into cells of nearly equal size."""

    def __init__(self, points: NDArray[np.float32], seed: int, executor: Executor) -> None:
        n = len(points)
        levels = max(0, int(np.ceil(np.log2(n / CELL))))
        self.count = 1 << levels
        self.bounds = np.arange(self.count + 1, dtype=np.int64) * n // self.count
        self.members = self._split(points, levels, seed, executor)
        self.means = np.empty((self.count, points.shape[1]), np.float32)
        pieces, prepared = ranges(self.count, CELLS), (points, self.members, self.bounds)
        for (lo, hi), means in zip(pieces, executor.map(_means, prepared, pieces), strict=True):
            self.means[lo:hi] = means

    def _split(self, points: NDArray[np.float32], levels: int, seed: int, executor: Executor) -> NDArray[np.int32]:
        """Return the points, cell after cell."""
        top = min(levels, TOP_LEVELS)
        width = self.count >> top
        prepared = (points, self.bounds, np.uint64(seed))
        everything = (0, self.count, top, np.arange(len(points), dtype=np.int32))
        (members,) = executor.map(_split_branch, prepared, [everything])
        branches = [
            (first, first + width, levels, members[self.bounds[first] : self.bounds[first + width]])
            for first in range(0, self.count, width)
        ]
        return np.concatenate(list(executor.map(_split_branch, prepared, branches)))

    def near(self, probes: int, seed: int, executor: Executor) -> NDArray[np.int32]:
        """Return the cells to search for each cell: itself, then the nearest by their means."""
        itself = np.arange(self.count, dtype=np.int32)
        if self.count <= probes:
            return np.tile(itself, (self.count, 1))
        lists = search_tree(self.means, Lists.empty(self.count, probes - 1), seed, 4 * probes, executor)
        return np.hstack([itself[:, None], lists.neighbors])


def search_tree(points: NDArray[np.float32], lists: Lists, seed: int, probes: int, executor: Executor) -> Lists:
    """Grow one tree and return the lists, with all points of the cells near that of a point merged in."""
    cells = ProjectionTree(points, seed, executor)
    near = cells.near(probes, seed, executor)
    merged, pieces = Lists.like(lists), ranges(cells.count, CELLS)
    search = _TreeSearch(points, cells.members, cells.bounds, cells.means, near, lists)
    for (lo, hi), found in zip(pieces, executor.map(_search_near, search, pieces), strict=True):
        members = cells.members[cells.bounds[lo] : cells.bounds[hi]]
        merged.squares[members], merged.entries[members] = found.squares, found.entries
    return merged


def _split_branch(
    prepared: tuple[NDArray[np.float32], NDArray[np.int64], np.uint64], branch: tuple[int, int, int, NDArray[np.int32]]
) -> NDArray[np.int32]:
    """Return the members of a branch, split by so many levels into the cells first .. last - 1."""
    points, bounds, seed = prepared
    first, last, levels, members = branch
    members = members.copy()
    split_cells(points, bounds, first, last, levels, seed, stop_flag(), members)
    return members


def _means(
    prepared: tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]], cells: tuple[int, int]
) -> NDArray[np.float32]:
    lo, hi = cells
    means = np.empty((hi - lo, prepared[0].shape[1]), np.float32)
    cell_means(*prepared, lo, hi, means)
    return means


@dataclass(frozen=True)
class _TreeSearch:
    points: NDArray[np.float32]
    members: NDArray[np.int32]
    bounds: NDArray[np.int64]
    means: NDArray[np.float32]
    near: NDArray[np.int32]
    lists: Lists


def _search_near(search: _TreeSearch, cells: tuple[int, int]) -> Lists:
    """Return the lists of the members of some cells, with the points of near cells merged in."""
    lo, hi = cells
    members = search.members[search.bounds[lo] : search.bounds[hi]]
    own = Lists(search.lists.squares[members], search.lists.entries[members])
    search_cells(
        search.points, search.members, search.bounds, search.means, search.near, lo, hi, stop_flag(), *own.arrays
    )
    return own
