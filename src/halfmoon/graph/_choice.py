"""Which search suits the data: costs of the three, fitted once, from sizes and from work counted on a pilot.

Nothing is timed, so the choice does not depend on what else the machine does, and nothing is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["choose_search"]

# Microseconds of one core, fitted on an AMD EPYC (`python -m benchmarks.graphs --auto`): per point,
EXACT = 3.2e-5  # per row and feature
SELECTION = 64  # features that keeping the nearest of a row of distances costs as much as
VISIT = 1.0, 5e-6  # KD-tree: per leaf visited, and per leaf and row, as large trees leave the cache
APPROXIMATE = 4.0, 0.03  # per point, and per feature
# and in all:
START = 2.5e4  # approximate search, whatever the size
SMALL = 5e5  # what an exact search may always cost,
INSTANT = 5e4  # and a KD-tree, which compiles nothing
WORTH = 1.25  # an exact search may cost so much more than an approximate one

PILOT = 4096  # rows
QUERIES = 32  # of these, whose visits are counted
LEAF = 16  # rows
NEIGHBORS = 10
KDTREE_MAX_FEATURES = 12  # above this even a few leaves cost as much as approximate search


def choose_search(X: Any, recall: float, seed: int) -> str:
    """Return "kdtree", "exact" or "approximate" for Euclidean neighbours among the rows of X."""
    n, d = X.shape
    dense = not sparse.issparse(X)
    width = d if dense else X.nnz / n
    costs = {"exact": EXACT * n * (width + SELECTION)}
    if dense and d <= KDTREE_MAX_FEATURES:
        pilot = X[np.random.default_rng(seed).choice(n, min(n, PILOT), replace=False)]
        costs["kdtree"] = (VISIT[0] + VISIT[1] * n) * leaves_visited(pilot.astype(np.float64))
    instant = n * costs.get("kdtree", np.inf) <= INSTANT
    best = "kdtree" if instant else min(costs, key=costs.__getitem__)
    approximate = APPROXIMATE[0] + APPROXIMATE[1] * width + START / n
    affordable = n * costs[best] <= SMALL or costs[best] <= WORTH * approximate
    return best if affordable or recall == 1.0 else "approximate"


def leaves_visited(pilot: NDArray[np.float64]) -> float:
    """Return how many leaves of a KD-tree of the pilot reach into the ball of a row's neighbours, on average."""
    pilot = pilot - pilot.mean(axis=0)
    leaves = [pilot[members] for members in _leaves(pilot)]
    low, high = (np.array([extreme(leaf, axis=0) for leaf in leaves]) for extreme in (np.min, np.max))
    queries = pilot[:QUERIES]
    squares = np.square(queries).sum(axis=1)[:, None] - 2.0 * queries @ pilot.T + np.square(pilot).sum(axis=1)
    place = min(NEIGHBORS, len(pilot) - 1)
    reach = np.partition(squares, place, axis=1)[:, place]
    gaps = np.maximum(0.0, np.maximum(low - queries[:, None], queries[:, None] - high))
    return float((np.square(gaps).sum(axis=2) <= reach[:, None]).sum(axis=1).mean())


def _leaves(pilot: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Return the rows of each leaf: halved at the median of the widest feature, again and again."""
    leaves = [np.arange(len(pilot))]
    while len(leaves[0]) > LEAF:
        halves = []
        for members in leaves:
            rows = pilot[members]
            widest = int(np.argmax(rows.max(axis=0) - rows.min(axis=0)))
            order, middle = np.argpartition(rows[:, widest], len(rows) // 2), len(rows) // 2
            halves += [members[order[:middle]], members[order[middle:]]]
        leaves = halves
    return leaves
