"""Approximate neighbours: a sketch proposes, exact distances decide, a sample of rows measures the recall.

Of the data among themselves (`neighbors_of_data`):
1. a few random trees of balanced cells; each point is compared with the points of the cells nearest to its own;
2. neighbours of neighbours, by distances in the sketch, until the recall is reached or stalls;
3. ranking by exact distances, then neighbours of neighbours by exact distances, where the sketch is incomplete.
More trees follow until the recall is reached on the sample; exact search takes over if they do not get there.

Of new points (`query`): the points of the nearest cells of one tree, as many cells as the recall needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._duplicates import RowLookup
from halfmoon.graph._exact import BlasSearch, PairwiseSearch, sorted_nearest, without_self
from halfmoon.graph._numba.nearest import keep_nearest, measure_pairs
from halfmoon.graph._numba.projection_tree import probe_cells
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._projection_tree import Lists, ProjectionTree
from halfmoon.graph._refinement import LIST, ROWS, Refinement, audit
from halfmoon.graph._sketch import Sketch
from halfmoon.runtime.executor import Executor, ThreadExecutor, stop_flag
from halfmoon.runtime.ranges import ranges

__all__ = ["ApproximateSearch"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]

QUERY_PROBES = 16  # cells searched for a new point, at first
QUERY_PANEL = 1024  # new points at once
AUDIT = 500  # rows whose true neighbours are found
TIES = 1e-6  # relative difference of distances in float32 that are one distance


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
            points = self.sketch.points(X, executor)
            # Points in the order of a tree: those of a cell, and near cells, lie together in memory.
            self.cells = ProjectionTree(points, self.draw_seed(), executor)
            self.row = self.cells.members
            self.points = executor.run(_in_order_of, (points, self.row))
        self.sample = np.sort(self.rng.choice(len(self.row), min(len(self.row), AUDIT), replace=False))  # of points
        self.rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else X  # as compiled functions read them
        self._probes: dict[int, int] = {}
        self._reach: dict[
            int, NDArray[np.float32]
        ] = {}  # k -> squared distances from the sample to its k-th neighbours

    def draw_seed(self) -> int:
        """Return a seed for the next tree."""
        return int(self.rng.integers(1 << 31))

    @property
    def exact(self) -> BlasSearch | PairwiseSearch:
        """Exact search of the same rows."""
        if sparse.issparse(self.X):
            return PairwiseSearch(self.X, "euclidean", self.options)
        return BlasSearch(self.X, self.options)

    def neighbors_of_data(self, k: int) -> Neighbors:
        """Return, for every row of X, about its k nearest other rows; their recall is estimated."""
        with ThreadExecutor(self.options.threads) as executor:
            search = Refinement(self, k, executor)
            reached = search.run()
            self._reach[k] = search.truth().squares[:, -1]
            if reached:
                self.recall, self.recall_sample = search.estimate, len(self.sample)
                return self._in_order(search.best, executor)
        return without_self(*self.exact.query(self.X, k + 1))

    def _in_order(self, best: Lists, executor: Executor) -> Neighbors:
        """Return distances in float64 and rows of X, in the order of X."""
        n, k = best.entries.shape
        indices = np.empty((n, k), dtype=np.intp)
        indices[self.row] = self.row[best.neighbors]
        return self._nearest(self.X, indices, k, executor)

    def _nearest(self, Y: Any, candidates: NDArray[np.intp], k: int, executor: Executor) -> Neighbors:
        """Return the k nearest of the candidates of each row of Y, by distances in float64."""
        distances, indices = np.empty((len(candidates), k)), np.empty((len(candidates), k), dtype=np.intp)
        pieces, prepared = ranges(len(candidates), ROWS), (self.X, Y, candidates, k)
        for (lo, hi), found in zip(pieces, executor.map(_rank_rows, prepared, pieces), strict=True):
            distances[lo:hi], indices[lo:hi] = found
        return distances, indices

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return about the k nearest rows of each row of Y; a row that equals one of X finds it."""
        self.calibrate(k)
        if self._probes[k] == 0:
            return self.exact.query(Y, k)
        with ThreadExecutor(self.options.threads) as executor:
            candidates = self.row[self._candidates(Y, k, self._probes[k], executor)].astype(np.intp)
            equal = self._lookup.find(Y)
            known = (equal >= 0) & ~(candidates == equal[:, None]).any(axis=1)
            candidates[known, -1] = equal[known]
            return self._nearest(Y, candidates, k, executor)

    def calibrate(self, k: int) -> None:
        """Find out how many cells a query of k neighbours must look into; 0 if exact search is as good."""
        if k not in self._probes:
            self._probes[k] = self._probes_for(k)

    def _probes_for(self, k: int) -> int:
        self._lookup = RowLookup(self.X)
        sample, width = self.row[self.sample], min(k, len(self.row) - 1)
        with ThreadExecutor(self.options.threads) as executor:
            if width not in self._reach:
                self._reach[width] = audit(self, width, executor).squares[:, -1]
            reach = np.sqrt(self._reach[width].astype(np.float64)) * (1.0 + TIES)
            probes = QUERY_PROBES
            while probes < self.cells.count:
                found = self.row[self._candidates(self.X[sample], k + 1, probes, executor)].astype(np.intp)
                distances, found = self._nearest(self.X[sample], found, found.shape[1], executor)
                hits = ((distances <= reach[:, None]) & (found != sample[:, None])).sum(axis=1)
                if np.minimum(hits, width).sum() >= self.options.recall * width * len(sample):
                    return probes
                probes *= 2
        return 0

    def _candidates(self, Y: Any, k: int, probes: int, executor: Executor) -> NDArray[np.int64]:
        """Return the nearest points to each row of Y by their sketches, among those in the nearest cells."""
        queries = self.sketch.points(Y, executor)
        width = min(max(LIST, 2 * k), len(self.points))
        blocks = [queries[start : start + QUERY_PANEL] for start in range(0, len(queries), QUERY_PANEL)]
        probing = _Probing(self.points, self.cells.bounds, self.cells.means, probes, width)
        return np.concatenate(list(executor.map(_probe, probing, blocks)))


def _in_order_of(prepared: tuple[NDArray[np.float32], NDArray[np.int32]]) -> NDArray[np.float32]:
    points, row = prepared
    return points[row]


def _rank_rows(prepared: tuple[Any, Any, NDArray[np.intp], int], rows: tuple[int, int]) -> Neighbors:
    """Return the nearest candidates of some rows of Y."""
    X, Y, candidates, k = prepared
    lo, hi = rows
    candidates = candidates[lo:hi]
    if sparse.issparse(Y):
        gaps = Y[np.repeat(np.arange(lo, hi), candidates.shape[1])] - X[candidates.ravel()]
        distances = sparse.linalg.norm(gaps, axis=1).reshape(candidates.shape)
    else:
        distances = np.empty(candidates.shape)
        measure_pairs(Y[lo:hi].astype(np.float64), X, candidates, distances)
    return sorted_nearest(distances, candidates, k)


@dataclass(frozen=True)
class _Probing:
    points: NDArray[np.float32]
    bounds: NDArray[np.int64]
    means: NDArray[np.float32]
    probes: int  # cells searched per query
    width: int  # points found per query


def _probe(probing: _Probing, queries: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the nearest points to the sketches of some queries, among those in the nearest cells."""
    distances = np.full((len(queries), probing.probes), np.inf, dtype=np.float32)
    near = np.zeros((len(queries), probing.probes), dtype=np.int64)
    norms = np.square(probing.means).sum(axis=1)
    keep_nearest(queries @ probing.means.T, norms, 0, distances, near)
    found = np.empty((len(queries), probing.width), dtype=np.int64)
    probe_cells(queries, probing.points, probing.bounds, near, stop_flag(), found)
    return found
