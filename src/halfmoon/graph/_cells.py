"""Trees of balanced cells: halve the points again and again at the median along a random line.

Each point is compared with all points of the cells nearest to its own, cell against cell by one matrix product. The
nearest cells are found in the same way, on the means of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon._parallel import Team
from halfmoon.graph._kernels.cells import cell_means, search_cells, split_cells

__all__ = ["Cells", "Lists", "search_tree"]

CELL = 64  # points of a cell, about
TOP_LEVELS = 5  # of a tree, split by one thread before the others get a branch each


@dataclass
class Lists:
    """Neighbour lists, nearest first: squared distances and entries (see `_kernels.lists`)."""

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

    @property
    def neighbors(self) -> NDArray[np.int32]:
        """The points named, -1 where there is none."""
        return self.entries >> 1


class Cells:
    """A partition of points into cells of nearly equal size."""

    def __init__(self, points: NDArray[np.float32], seed: int, team: Team) -> None:
        n = len(points)
        levels = max(0, int(np.ceil(np.log2(n / CELL))))
        count = 1 << levels
        self.bounds = np.arange(count + 1, dtype=np.int64) * n // count
        self.members, keys = np.arange(n, dtype=np.int32), np.empty(n, np.float32)
        top = min(levels, TOP_LEVELS)
        seed64, width = np.uint64(seed), count >> top
        split_cells(points, self.bounds, 0, count, top, seed64, self.members, keys)

        def branch(part: int) -> None:
            split_cells(points, self.bounds, part * width, (part + 1) * width, levels, seed64, self.members, keys)

        for _ in team.map(branch, range(1 << top)):
            pass
        self.means = np.empty((count, points.shape[1]), np.float32)
        team.share(lambda lo, hi: cell_means(points, self.members, self.bounds, lo, hi, self.means), count)

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.means)

    def near(self, probes: int, seed: int, team: Team) -> NDArray[np.int32]:
        """Return the cells to search for each cell: itself, then the nearest by their means."""
        itself = np.arange(self.count, dtype=np.int32)
        if self.count <= probes:
            return np.tile(itself, (self.count, 1))
        lists = Lists.empty(self.count, probes - 1)
        search_tree(self.means, lists, seed, 4 * probes, team)
        return np.hstack([itself[:, None], lists.neighbors])


def search_tree(points: NDArray[np.float32], lists: Lists, seed: int, probes: int, team: Team) -> None:
    """Grow one tree and merge into the list of each point all points of the cells near its own."""
    cells = Cells(points, seed, team)
    near = cells.near(probes, seed, team)

    def work(lo: int, hi: int) -> None:
        search_cells(points, cells.members, cells.bounds, cells.means, near, lo, hi, lists.squares, lists.entries)

    team.share(work, cells.count)
