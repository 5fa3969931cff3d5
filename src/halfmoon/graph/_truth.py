"""The true neighbours of a sample of points: what the recall of a search is measured against.

All points are compared with the sample by products of their heads, whose distances never exceed exact ones. Only
what the head does not prove farther than the k-th of the lists at hand is measured exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._numba.lists import NOBODY
from halfmoon.graph._numba.refinement import rank_rows
from halfmoon.runtime.executor import Executor, stop_flag
from halfmoon.runtime.ranges import ranges

if TYPE_CHECKING:
    from halfmoon.graph._approximate import ApproximateSearch

__all__ = ["squares_of", "true_neighbors"]

Keys = NDArray[np.int64]

ROUNDING = 1e-5  # of distances in the sketch, relative to the largest norm
TILE = 2048  # points compared with the sample at once, at most


def squares_of(keys: Keys) -> NDArray[np.float32]:
    """Return the squared distances in lists of exact distances, inf where there is nobody."""
    squares = (keys >> 32).astype(np.int32).view(np.float32)
    return np.where(keys == NOBODY, np.float32(np.inf), squares)


def true_neighbors(search: ApproximateSearch, found: Keys, executor: Executor) -> Keys:
    """Return as many true neighbours of the sample of a search as `found` has, lists by exact distances."""
    points, k = search.head, found.shape[1]
    norms = np.einsum("ij,ij->i", points, points)
    largest = float(np.sqrt(norms.max()))
    products = 4.0 * (points.shape[1] + 4) * np.finfo(np.float32).eps * largest**2
    reach = np.square(np.sqrt(squares_of(found)[:, -1]) + np.float32(ROUNDING * largest)) + np.float32(products)
    # One product gives |b|^2 - 2 a'b: |b|^2 is a column more, where the sample has ones.
    sample = np.hstack([-2.0 * points[search.sample], np.ones((len(search.sample), 1), np.float32)])
    prepared = (search.exact_space, points, norms, search.sample, sample, reach - norms[search.sample], k)
    nearest = np.hstack(list(executor.map(_nearest_in_tile, prepared, ranges(len(points), TILE))))
    return np.sort(nearest, axis=1)[:, :k]


def _nearest_in_tile(prepared: tuple[Any, ...], tile: tuple[int, int]) -> Keys:
    """Return lists of the nearest of some points to the sample, if they are within reach."""
    space, points, norms, rows, sample, limits, k = prepared
    lo, hi = tile
    within = sample @ np.hstack([points[lo:hi], norms[lo:hi, None]]).T <= limits[:, None]
    inside = np.flatnonzero((rows >= lo) & (rows < hi))
    within[inside, rows[inside] - lo] = False  # not its own neighbour
    who, whom = np.divmod(np.flatnonzero(within), hi - lo)
    counts = np.bincount(who, minlength=len(rows))
    candidates = np.full((len(rows), int(counts.max())), NOBODY)
    candidates[who, np.arange(len(who)) - np.repeat(np.cumsum(counts) - counts, counts)] = 2 * (lo + whom) + 1
    nearest = np.empty((len(rows), k), np.int64)
    rank_rows(space, rows, candidates, stop_flag(), nearest)
    return nearest
