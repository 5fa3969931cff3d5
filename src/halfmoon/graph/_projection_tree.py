"""Trees of balanced cells: halve the points again and again at the median along a random line.

Each point is compared with all points of the cells nearest to its own, which are laid side by side for it. The nearest
cells are found in the same way, on the means of the cells.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._numba.lists import NOBODY
from halfmoon.graph._numba.projection_tree import cell_means, search_cells, split_cells
from halfmoon.runtime.cache_lines import rows_of_lines
from halfmoon.runtime.executor import Executor, stop_flag
from halfmoon.runtime.lanes import WIDTH
from halfmoon.runtime.ranges import ranges

__all__ = ["ProjectionTree", "Searched", "neighbors_in", "search_tree"]

CELL = 64  # points of a cell, about
TOP_LEVELS = 5  # of a tree, split by one thread before the others get a branch each
CELLS = 256  # cells in one piece of work, at most
LARGEST_CODE = 127


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

    def in_its_order(self) -> ProjectionTree:
        """Return the same tree of points that have been brought into the order of its members."""
        tree = copy(self)
        tree.members = np.arange(len(self.members), dtype=np.int32)
        return tree

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

    def near(self, probes: int, seed: int, coded: bool, executor: Executor) -> NDArray[np.int32]:
        """Return the cells to search for each cell: itself, then the nearest by their means, or by codes of these."""
        itself = np.arange(self.count, dtype=np.int32)
        if self.count <= probes:
            others = np.tile(itself[:-1], (self.count, 1))
            return np.hstack([itself[:, None], others + (others >= itself[:, None])])
        keys = np.full((self.count, probes - 1), NOBODY)
        means = Searched.by_codes(self.means) if coded else Searched(self.means, self.means, 1.0)
        tree = ProjectionTree(self.means, seed, executor)
        keys = search_tree(means, tree, keys, seed, 4 * probes, probes - 1, executor)
        return np.hstack([itself[:, None], neighbors_in(keys)])


@dataclass(frozen=True)
class Searched:
    """Points that trees divide, and the space where distances are measured in the end (`_numba.distances.rank_of`)."""

    points: NDArray[np.float32]
    space: Any
    unit: float  # squared distance of points per squared distance in the space

    @classmethod
    def by_codes(cls, points: NDArray[np.float32]) -> Searched:
        """Return points whose distances are measured by codes of one byte per coordinate."""
        scale = LARGEST_CODE / max(float(np.abs(points).max()), float(np.finfo(np.float32).tiny))
        codes = rows_of_lines(points.shape, np.int8)
        codes[:, : points.shape[1]] = np.rint(points * np.float32(scale))
        return cls(points, codes, scale**-2)

    @property
    def coded(self) -> bool:
        """Whether distances are those of codes."""
        return isinstance(self.space, np.ndarray) and self.space.dtype == np.int8


def neighbors_in(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the neighbours that lists name, -1 where there is none."""
    return np.where(keys == NOBODY, -1, (keys & 0xFFFF_FFFF) >> 1).astype(np.int32)


def search_tree(
    searched: Searched,
    tree: ProjectionTree,
    keys: NDArray[np.int64],
    seed: int,
    probes: int,
    kept: int,
    executor: Executor,
    report: Callable[[int], Any] = lambda done: None,
) -> NDArray[np.int64]:
    """Return the lists, with the nearest points of the cells of a tree near that of a point merged in.

    About `kept` points are kept per point by their distances in the tree; the lists hold distances in the space.
    `report` is called with the number of points that are done.
    """
    near = tree.near(probes, seed, searched.coded, executor)  # as lists are made: no other type is compiled
    merged, pieces = np.empty_like(keys), ranges(tree.count, CELLS)
    prepared = (searched, tree, near, kept, keys)
    for (lo, hi), found in zip(pieces, executor.map(_search_near, prepared, pieces), strict=True):
        merged[tree.members[tree.bounds[lo] : tree.bounds[hi]]] = found
        report(int(tree.bounds[hi]))
    return merged


def _split_branch(
    prepared: tuple[NDArray[np.float32], NDArray[np.int64], np.uint64], branch: tuple[int, int, int, NDArray[np.int32]]
) -> NDArray[np.int32]:
    """Return the members of a branch, split by so many levels into the cells first .. last - 1."""
    points, bounds, seed = prepared
    first, last, levels, members = branch
    members = members.copy()
    work = np.empty(points.shape[1], np.float32), np.empty(len(members), np.float32)
    split_cells(points, bounds, first, last, levels, seed, stop_flag(), *work, members)
    return members


def _means(
    prepared: tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]], cells: tuple[int, int]
) -> NDArray[np.float32]:
    lo, hi = cells
    means = np.empty((hi - lo, prepared[0].shape[1]), np.float32)
    cell_means(*prepared, lo, hi, means)
    return means


def _search_near(
    prepared: tuple[Searched, ProjectionTree, NDArray[np.int32], int, NDArray[np.int64]], cells: tuple[int, int]
) -> NDArray[np.int64]:
    """Return the lists of the members of some cells, with points of near cells merged in."""
    searched, tree, near, kept, keys = prepared
    own = keys[tree.members[tree.bounds[cells[0]] : tree.bounds[cells[1]]]]
    unit, where = np.float32(searched.unit), (tree.members, tree.bounds, tree.means, near)
    work = room_for(tree.bounds, near.shape[1], searched.points.shape[1])
    search_cells(searched.points, searched.space, unit, *where, *cells, kept, stop_flag(), *work, own)
    return own


def room_for(bounds: NDArray[np.int64], probes: int, width: int) -> tuple[NDArray[Any], ...]:
    """Return the arrays that `search_cells` works in."""
    panels = -(-probes * int(np.diff(bounds).max()) // (4 * WIDTH)) * 4
    of_lanes = [np.empty((rows, WIDTH), np.float32) for rows in (panels * width, panels, 4 * panels, 2)]
    names, found, tried = (np.empty(panels * WIDTH, kind) for kind in (np.int32, np.int32, np.int64))
    return *of_lanes[:2], names, *of_lanes[2:], found, tried
