"""Approximate neighbours: a sketch proposes, exact distances decide, a sample of rows measures the recall.

Of the data among themselves (`neighbors_of_data`):
1. a few random trees of balanced cells; each point is compared with the points of the cells nearest to its own;
2. neighbours of neighbours, by distances in the sketch, until the recall is reached or stalls;
3. ranking by exact distances, then neighbours of neighbours by exact distances, where the sketch is incomplete.
More trees follow until the recall is reached on the sample; exact search takes over if they do not get there.

Of new points (`query`): the points of the nearest cells of one tree, as many cells as the recall needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._cells import Cells, Lists, search_tree
from halfmoon.graph._copies import RowLookup
from halfmoon.graph._exact import BlasSearch, PairwiseSearch, sorted_nearest, without_self
from halfmoon.graph._kernels.cells import probe_cells
from halfmoon.graph._kernels.lists import reverse_lists
from halfmoon.graph._kernels.nearest import keep_nearest, measure_pairs
from halfmoon.graph._kernels.refinement import audit_rows, rank_candidates, refine_exact, refine_sketch
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._sketch import Sketch
from halfmoon.runtime import Executor, ThreadExecutor, ranges, stop_flag

__all__ = ["ApproximateSearch"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]

PROBES = 8  # near cells searched per cell and tree
TREES = 4  # trees grown at a time
ATTEMPTS = 4  # times that trees are grown, with twice the probes each time
LIST = 20  # candidates per point, at least; 2 k for large k
ROUNDS = 6  # of refinement after trees are grown
GAIN = 0.002  # a round that gains less recall is the last
AUDIT = 500  # rows whose true neighbours are found
ROUNDING = 1e-5  # of distances in the sketch, relative to the largest norm
FAITHFUL = 1e-3  # relative error of a neighbour's distance up to which a complete sketch stands for X
QUERY_PROBES = 16  # cells searched for a new point, at first
QUERY_PANEL = 1024  # new points at once
ROWS = 4096  # rows in one piece of work, at most
REVERSE_PIECES = 4  # each reads all lists


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
            self.cells = Cells(points, self._seed(), executor)
            self.row = self.cells.members
            self.points = executor.run(_in_order_of, (points, self.row))
        self.rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else X  # as kernels read them
        self._probes: dict[int, int] = {}

    def _seed(self) -> int:
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
            search = _Refinement(self, k, executor)
            reached = search.run()
            if reached:
                self.recall, self.recall_sample = search.estimate, len(search.sample)
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
        if k not in self._probes:
            self._probes[k] = self._calibrate(k)
        if self._probes[k] == 0:
            return self.exact.query(Y, k)
        with ThreadExecutor(self.options.threads) as executor:
            candidates = self.row[self._candidates(Y, k, self._probes[k], executor)].astype(np.intp)
            equal = self._lookup.find(Y)
            known = (equal >= 0) & ~(candidates == equal[:, None]).any(axis=1)
            candidates[known, -1] = equal[known]
            return self._nearest(Y, candidates, k, executor)

    def _calibrate(self, k: int) -> int:
        """Return how many cells a new point must look into; 0 if exact search is as good."""
        self._lookup = RowLookup(self.X)
        n = self.X.shape[0]
        sample = np.sort(np.random.default_rng(self.options.seed).choice(n, min(n, AUDIT), replace=False))
        Y = self.X[sample]
        _, truth = self.exact.query(Y, min(k + 1, n))  # the row itself counts for nothing
        probes = QUERY_PROBES
        with ThreadExecutor(self.options.threads) as executor:
            while probes < self.cells.count:
                found = self.row[self._candidates(Y, k + 1, probes, executor)]
                hits = (truth[:, :, None] == found[:, None, :]).any(axis=2) & (truth != sample[:, None])
                if hits.sum() >= self.options.recall * (truth != sample[:, None]).sum():
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


class _Refinement:
    """One search of the data among themselves. Points are numbered as the sketch orders them."""

    def __init__(self, search: ApproximateSearch, k: int, executor: Executor) -> None:
        self.search, self.k, self.executor = search, k, executor
        self.points, self.n = search.points, len(search.points)
        self.lists = Lists.empty(self.n, min(max(LIST, 2 * k), self.n - 1))
        self.complete = search.sketch.complete
        self.ranked = Lists.empty(0 if self.complete else self.n, min(2 * k, self.n - 1))
        self.sample = np.sort(search.rng.choice(self.n, min(self.n, AUDIT), replace=False))
        self.truth: Lists | None = None
        self.estimate = 0.0

    @property
    def best(self) -> Lists:
        """The k nearest found so far."""
        lists = self.lists if self.complete else self.ranked
        return Lists(lists.squares[:, : self.k], lists.entries[:, : self.k])

    @property
    def proposed(self) -> Lists:
        """What the sketch has found: the answer if it is complete, else candidates."""
        return self.best if self.complete else self.lists

    def run(self) -> bool:
        """Grow trees and refine until the recall is reached; tell whether it was."""
        for attempt in range(ATTEMPTS):
            for _ in range(TREES):
                seed, probes = self.search._seed(), PROBES << attempt
                self.lists = search_tree(self.points, self.lists, seed, probes, self.executor)
            reached = self._repeat(self._refine_sketch, lambda: self.proposed, "neighbours of neighbours")
            if not self.complete:
                self._rank()
                reached = self._repeat(self._refine_exact, lambda: self.best, "exact distances")
            if reached:
                return True
        return False

    def _repeat(self, step: Callable[[], None], lists: Callable[[], Lists], name: str) -> bool:
        """Take refinement steps until the recall is reached or no longer grows; tell whether it was reached."""
        reached = self._reached(lists(), name)
        for _ in range(ROUNDS):
            if reached:
                break
            before = self.estimate
            step()
            reached = self._reached(lists(), name)
            if self.estimate < before + GAIN:
                break
        return reached

    def _reached(self, lists: Lists, name: str) -> bool:
        """Estimate the recall; it is reached if the estimate is a standard error above what is asked for."""
        if self.truth is None:
            self.truth = self._audit()
        found = lists.neighbors[self.sample]
        hits = (self.truth.neighbors[:, :, None] == found[:, None, :]).any(axis=2).mean(axis=1)
        self.estimate = float(hits.mean())
        options = self.search.options
        options.tell(self.n, self.n, f"{name}, recall {self.estimate:.3f}")
        standard_error = float(hits.std()) / np.sqrt(len(hits))
        return self.estimate - standard_error >= options.recall or self.estimate == 1.0

    def _audit(self) -> Lists:
        """Find the true neighbours of the sample."""
        rounding = np.float32(ROUNDING * np.sqrt(np.square(self.points).sum(axis=1).max()))
        prepared = _Audit(self.search.rows, self.search.row, self.points, rounding, self.lists.entries, self.k)
        samples = [self.sample[lo:hi] for lo, hi in ranges(len(self.sample), AUDIT)]
        parts = list(self.executor.map(_audit, prepared, samples))
        truth = Lists(*(np.concatenate(arrays) for arrays in zip(*(part.arrays for part in parts), strict=True)))
        if self.complete and not self._faithful(truth):
            self.complete, self.ranked = False, Lists.empty(self.n, self.ranked.entries.shape[1])
        return truth

    def _faithful(self, truth: Lists) -> bool:
        """Tell whether float32 resolves the distances of neighbours: not in a tight cluster far from the rest."""
        gaps = self.points[self.sample][:, None] - self.points[truth.neighbors]
        in_sketch, exact = np.linalg.norm(gaps, axis=2), np.sqrt(truth.squares)
        return bool(np.all(np.abs(in_sketch - exact) <= FAITHFUL * exact))

    def _refine_sketch(self) -> None:
        old = self.lists
        prepared = _Round(self.points, old, *self._reverse(old))
        self.lists = self._updated(old, _refine_sketch, prepared)

    def _rank(self) -> None:
        """Merge the candidates of the sketch into the exact lists."""
        prepared = (self.search.rows, self.search.row, self.lists.entries, self.ranked)
        self.ranked = self._updated(self.ranked, _rank, prepared)

    def _refine_exact(self) -> None:
        old = self.ranked
        prepared = (_Round(self.points, old, *self._reverse(old)), self.search.rows, self.search.row, self.k)
        self.ranked = self._updated(old, _refine_exact, prepared)

    def _reverse(self, lists: Lists) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return who names each point, and how many do."""
        reverse, counts = np.empty_like(lists.entries), np.empty(self.n, np.int32)
        pieces = list(itertools.pairwise(self.n * piece // REVERSE_PIECES for piece in range(REVERSE_PIECES + 1)))
        for (lo, hi), part in zip(pieces, self.executor.map(_reverse, lists.entries, pieces), strict=True):
            reverse[lo:hi], counts[lo:hi] = part
        return reverse, counts

    def _updated(self, old: Lists, task: Callable[[Any, tuple[int, int]], Lists], prepared: Any) -> Lists:
        """Return the lists that a task makes of the old ones, some rows at a time."""
        new, pieces = Lists.like(old), ranges(self.n, ROWS)
        for (lo, hi), part in zip(pieces, self.executor.map(task, prepared, pieces), strict=True):
            new.squares[lo:hi], new.entries[lo:hi] = part.arrays
        return new


@dataclass(frozen=True)
class _Audit:
    X: Any
    row: NDArray[np.int32]
    points: NDArray[np.float32]
    rounding: np.float32
    candidates: NDArray[np.int32]
    k: int


def _audit(audit: _Audit, sample: NDArray[np.int64]) -> Lists:
    """Return the true neighbours of some points."""
    truth = Lists.empty(len(sample), audit.k)
    audit_rows(audit.X, audit.row, audit.points, audit.rounding, sample, audit.candidates, stop_flag(), *truth.arrays)
    return truth


@dataclass(frozen=True)
class _Round:
    """One round of refinement: the old lists, and who names each point."""

    points: NDArray[np.float32]
    old: Lists
    reverse: NDArray[np.int32]
    counts: NDArray[np.int32]


def _refine_sketch(of: _Round, rows: tuple[int, int]) -> Lists:
    new = of.old.room(rows)
    refine_sketch(of.points, *of.old.arrays, of.reverse, of.counts, *rows, stop_flag(), *new.arrays)
    return new


def _refine_exact(prepared: tuple[_Round, Any, NDArray[np.int32], int], rows: tuple[int, int]) -> Lists:
    of, X, row, k = prepared
    new = of.old.room(rows)
    refine_exact(X, row, of.points, *of.old.arrays, of.reverse, of.counts, k, *rows, stop_flag(), *new.arrays)
    return new


def _rank(prepared: tuple[Any, NDArray[np.int32], NDArray[np.int32], Lists], rows: tuple[int, int]) -> Lists:
    X, row, candidates, ranked = prepared
    lo, hi = rows
    new = Lists(ranked.squares[lo:hi].copy(), ranked.entries[lo:hi].copy())
    rank_candidates(X, row, candidates, lo, hi, stop_flag(), *new.arrays)
    return new


def _reverse(entries: NDArray[np.int32], points: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    lo, hi = points
    reverse, counts = np.empty((hi - lo, entries.shape[1]), np.int32), np.empty(hi - lo, np.int32)
    reverse_lists(entries, lo, hi, stop_flag(), reverse, counts)
    return reverse, counts
