"""Approximate neighbours: a sketch proposes, exact distances decide, a sample of rows measures the recall.

1. a few random trees of balanced cells; each point is compared with the points of the cells nearest to its own;
2. neighbours of neighbours, by distances of codes of one byte per component, until the recall is reached or stalls;
3. ranking by exact distances, and neighbours of neighbours by exact distances where codes did not reach the recall.
More trees follow until the recall is reached on the sample; exact search takes over if they do not get there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._exact import Neighbors, euclidean_search, nearest_first, without_self
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._projection_tree import ProjectionTree, neighbors_in
from halfmoon.graph._refinement import ROWS, Refinement
from halfmoon.graph._sketch import Sketch
from halfmoon.runtime.cache_lines import rows_of_lines
from halfmoon.runtime.executor import Executor, ThreadExecutor
from halfmoon.runtime.half_floats import as_bits
from halfmoon.runtime.ranges import ranges

__all__ = ["ApproximateSearch", "exact_space"]

AUDIT = 500  # rows whose true neighbours are found


class ApproximateSearch:
    """Euclidean search among many rows, dense or sparse.

    Attributes
    ----------
    recall : float
        Estimate after `neighbors_of_data`; 1 if exact search took over.
    recall_sample : int
        Rows that the estimate rests on; 0 if exact search took over.
    """

    def __init__(self, X: Any, options: SearchOptions) -> None:
        self.X, self.options = X, options
        self.rng = np.random.default_rng(options.seed)
        self.recall, self.recall_sample = 1.0, 0
        with ThreadExecutor(options.threads) as executor:
            self.sketch = Sketch(X, self.rng, executor)
            head, codes = self.sketch.of_rows(X, executor)
            # Points in the order of a tree: those of a cell, and near cells, lie together in memory.
            tree = ProjectionTree(head, self.draw_seed(), executor)
            self.row, self.tree = tree.members, tree.in_its_order()
            self.whole = codes is None  # few features: float32 holds them in no more cache lines
            coded = head if codes is None else codes
            self.codes = _in_order_of(coded, self.row, rows_of_lines(coded.shape, coded.dtype), executor)
            shared = self.whole and self.codes.shape == head.shape
            self.head = self.codes if shared else _in_order_of(head, self.row, np.empty_like(head), executor)
            self.unit = 1.0 if self.whole else self.sketch.unit
        self.sample = np.sort(self.rng.choice(len(self.row), min(len(self.row), AUDIT), replace=False))  # of points
        self.exact_space = exact_space(X, self.row)
        self.drawn = self.rng.bit_generator.state

    def draw_seed(self) -> int:
        """Return a seed for the next tree."""
        return int(self.rng.integers(1 << 31))

    def neighbors_of_data(self, k: int) -> Neighbors:
        """Return, for every row of X, about its k nearest other rows; their recall is estimated."""
        self.rng.bit_generator.state = self.drawn  # the same lists every time
        with ThreadExecutor(self.options.threads) as executor:
            search = Refinement(self, k, executor)
            neighbors = neighbors_in(search.best()) if search.run() else None
            if neighbors is not None and (neighbors >= 0).all():
                self.recall, self.recall_sample = search.estimate, len(self.sample)
                return self._in_order(neighbors, executor)
        self.recall, self.recall_sample = 1.0, 0
        return without_self(*euclidean_search(self.X, self.options).query(self.X, k + 1))

    def _in_order(self, neighbors: NDArray[np.int32], executor: Executor) -> Neighbors:
        """Return distances in float64 and rows of X, in the order of X, of neighbours in the order of the tree."""
        distances, indices = np.empty(neighbors.shape), np.empty(neighbors.shape, dtype=np.intp)
        pieces = ranges(len(neighbors), ROWS)
        prepared = (self.X, self.row, neighbors)
        for (lo, hi), found in zip(pieces, executor.map(_measure_rows, prepared, pieces), strict=True):
            distances[self.row[lo:hi]], indices[self.row[lo:hi]] = found
        return distances, indices


def exact_space(X: Any, row: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Return rows of X in some order as compiled functions read them to measure exact distances."""
    return ((X.data, X.indices, X.indptr) if sparse.issparse(X) else as_bits(X)), row


def _in_order_of(
    points: NDArray[Any], row: NDArray[np.int32], ordered: NDArray[Any], executor: Executor
) -> NDArray[Any]:
    """Return `ordered`, filled with the points in some order; its rows may be longer."""
    pieces = ranges(len(row), ROWS)
    for (lo, hi), part in zip(pieces, executor.map(_take, (points, row), pieces), strict=True):
        ordered[lo:hi, : points.shape[1]] = part
    return ordered


def _take(prepared: tuple[NDArray[Any], NDArray[np.int32]], rows: tuple[int, int]) -> NDArray[Any]:
    points, row = prepared
    return points[row[slice(*rows)]]


def _measure_rows(prepared: tuple[Any, NDArray[np.int32], NDArray[np.int32]], points: tuple[int, int]) -> Neighbors:
    """Return distances in float64 and rows of X of the neighbours of some points, nearest first."""
    X, row, neighbors = prepared
    return nearest_first(X, row[slice(*points)], row[neighbors[slice(*points)]].astype(np.intp))
