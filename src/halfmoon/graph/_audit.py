"""The audit of a search by cells: what must be looked at to find the true neighbours of a sample of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Audit", "Effort", "without"]

Ranks = NDArray[np.int64]

MARGIN = 4  # points measured beyond k, at least
# What work costs, in comparisons of one coordinate of a row with one of a point in a panel (`_numba.cells`):
MEASURE = 12.0  # one coordinate of a row in X, somewhere in memory, in float64
SELECT = 400.0  # one cell scanned: to find it, and the points in it that are near enough
EXACT = 3.0  # one coordinate of exact search, its selection counted as 64 of them


@dataclass(frozen=True)
class Effort:
    """What a query looks at."""

    cells: int
    points: int  # measured in float64


@dataclass(frozen=True)
class Audit:
    """How far down the lists of cells and of points, by their sketches, true neighbours turn up.

    Attributes
    ----------
    of_cells, of_points : ndarray of shape (rows, longest)
        Ranks, from 0, of the j-th neighbour's cell among all cells and of itself among the points proposed; as many as
        points were proposed if it is not among them.
    cells, points : int
        How many there are of each.
    """

    of_cells: Ranks
    of_points: Ranks
    cells: int
    points: int

    @classmethod
    def of(cls, order: Any, cell: Any, truth: Any, found: Any) -> Audit:
        """Look up true neighbours among cells in order and points found, nearest first, one row per audited row."""
        count, width = order.shape[1], found.shape[1]
        rank = np.empty(order.shape, dtype=np.int64)
        np.put_along_axis(rank, order.astype(np.int64), np.arange(count)[None, :], axis=1)
        same = found[:, None, :] == truth[:, :, None]
        of_points = np.where(same.any(axis=2), same.argmax(axis=2), width)
        return cls(np.take_along_axis(rank, cell[truth].astype(np.int64), axis=1), of_points, count, width)

    @property
    def longest(self) -> int:
        """Length of the longest lists whose recall is known."""
        return self.of_cells.shape[1]

    def effort(self, k: int, recall: float, per_cell: float, width: int, d: int) -> Effort | None:
        """Return the cheapest effort for k neighbours at this recall; None if exact search costs no more.

        `per_cell` is the number of points in a cell, `width` the length of a sketch and d that of a row. Lists longer
        than the audit's get more of everything in proportion, which is more than they need.
        """
        longer = max(1.0, k / self.longest)
        best, least = None, EXACT * self.cells * per_cell * (d + 64)
        points = min(min(k, self.longest) + MARGIN, self.points)
        while True:
            cells = self._least_cells(min(k, self.longest), points, recall)
            if cells is not None:
                wanted = Effort(min(math.ceil(longer * cells), self.cells), math.ceil(longer * points))
                scanned = self.cells * width + wanted.cells * (per_cell * width + SELECT)
                cost = scanned + MEASURE * wanted.points * d
                if cost < least:
                    best, least = wanted, cost
            if points == self.points:
                return best
            points = min(points + points // 2, self.points)

    def _least_cells(self, k: int, points: int, recall: float) -> int | None:
        """Return how many cells are to be scanned; None if all of them are too few."""
        proposed = self.of_points[:, :k] < points
        too_few, enough = 0, self.cells
        if not self._suffice(enough, proposed, recall):
            return None
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if self._suffice(middle, proposed, recall):
                enough = middle
            else:
                too_few = middle
        return enough

    def _suffice(self, cells: int, proposed: NDArray[np.bool_], recall: float) -> bool:
        """Return whether the recall is reached, one standard error on the safe side."""
        shares = (proposed & (self.of_cells[:, : proposed.shape[1]] < cells)).mean(axis=1)
        return bool(shares.mean() - shares.std() / np.sqrt(len(shares)) >= recall)


def without(lists: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Drop each row's own number from its list, or the last one where it is not in it."""
    own = lists == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return lists[~own].reshape(len(lists), -1)
