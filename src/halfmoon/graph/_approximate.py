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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._parallel import Team
from halfmoon.graph._cells import Cells, Lists, search_tree
from halfmoon.graph._copies import RowLookup
from halfmoon.graph._exact import BlasSearch, PairwiseSearch, sorted_nearest, without_self
from halfmoon.graph._kernels.cells import probe_cells
from halfmoon.graph._kernels.lists import reverse_lists
from halfmoon.graph._kernels.nearest import keep_nearest, measure_pairs
from halfmoon.graph._kernels.refinement import audit_rows, rank_candidates, refine_exact, refine_sketch
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._sketch import Sketch

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
        with Team(options.threads) as team:
            self.sketch = Sketch(X, self.rng)
            points = self.sketch.points(X, team)
            # Points in the order of a tree: those of a cell, and near cells, lie together in memory.
            self.cells = Cells(points, self._seed(), team)
            self.row = self.cells.members
            self.points = points[self.row]
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
        with Team(self.options.threads) as team:
            search = _Refinement(self, k, team)
            reached = search.run()
            if reached:
                self.recall, self.recall_sample = search.estimate, len(search.sample)
                return self._in_order(search.best, team)
        return without_self(*self.exact.query(self.X, k + 1))

    def _in_order(self, best: Lists, team: Team) -> Neighbors:
        """Return distances in float64 and rows of X, in the order of X."""
        n, k = best.entries.shape
        indices = np.empty((n, k), dtype=np.intp)
        indices[self.row] = self.row[best.neighbors]
        return sorted_nearest(self._measure(self.X, indices, team), indices, k)

    def _measure(self, Y: Any, candidates: NDArray[np.intp], team: Team) -> NDArray[np.float64]:
        """Return |y_i - x_j| in float64."""
        distances = np.empty(candidates.shape)

        def work(lo: int, hi: int) -> None:
            if sparse.issparse(Y):
                rows = np.repeat(np.arange(lo, hi), candidates.shape[1])
                gaps = Y[rows] - self.X[candidates[lo:hi].ravel()]
                distances[lo:hi] = sparse.linalg.norm(gaps, axis=1).reshape(hi - lo, -1)
            else:
                measure_pairs(Y[lo:hi].astype(np.float64), self.X, candidates[lo:hi], distances[lo:hi])

        team.share(work, len(candidates))
        return distances

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return about the k nearest rows of each row of Y; a row that equals one of X finds it."""
        if k not in self._probes:
            self._probes[k] = self._calibrate(k)
        if self._probes[k] == 0:
            return self.exact.query(Y, k)
        with Team(self.options.threads) as team:
            candidates = self.row[self._candidates(Y, k, self._probes[k], team)].astype(np.intp)
            equal = self._lookup.find(Y)
            known = (equal >= 0) & ~(candidates == equal[:, None]).any(axis=1)
            candidates[known, -1] = equal[known]
            return sorted_nearest(self._measure(Y, candidates, team), candidates, k)

    def _calibrate(self, k: int) -> int:
        """Return how many cells a new point must look into; 0 if exact search is as good."""
        self._lookup = RowLookup(self.X)
        n = self.X.shape[0]
        sample = np.sort(np.random.default_rng(self.options.seed).choice(n, min(n, AUDIT), replace=False))
        Y = self.X[sample]
        _, truth = self.exact.query(Y, min(k + 1, n))  # the row itself counts for nothing
        probes = QUERY_PROBES
        with Team(self.options.threads) as team:
            while probes < self.cells.count:
                found = self.row[self._candidates(Y, k + 1, probes, team)]
                hits = (truth[:, :, None] == found[:, None, :]).any(axis=2) & (truth != sample[:, None])
                if hits.sum() >= self.options.recall * (truth != sample[:, None]).sum():
                    return probes
                probes *= 2
        return 0

    def _candidates(self, Y: Any, k: int, probes: int, team: Team) -> NDArray[np.int64]:
        """Return the nearest points to each row of Y by their sketches, among those in the nearest cells."""
        queries = self.sketch.points(Y, team)
        norms = np.square(self.cells.means).sum(axis=1)
        width = min(max(LIST, 2 * k), len(self.points))
        found = np.empty((len(queries), width), dtype=np.int64)

        def work(start: int) -> None:
            part = queries[start : start + QUERY_PANEL]
            distances = np.full((len(part), probes), np.inf, dtype=np.float32)
            near = np.zeros((len(part), probes), dtype=np.int64)
            keep_nearest(part @ self.cells.means.T, norms, 0, distances, near)
            probe_cells(part, self.points, self.cells.bounds, near, found[start : start + QUERY_PANEL])

        for _ in team.map(work, range(0, len(queries), QUERY_PANEL)):
            pass
        return found


class _Refinement:
    """One search of the data among themselves. Points are numbered as the sketch orders them."""

    def __init__(self, search: ApproximateSearch, k: int, team: Team) -> None:
        self.search, self.k, self.team = search, k, team
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
                search_tree(self.points, self.lists, self.search._seed(), PROBES << attempt, self.team)
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
        truth, search = Lists.empty(len(self.sample), self.k), self.search
        rounding = np.float32(ROUNDING * np.sqrt(np.square(self.points).sum(axis=1).max()))

        def work(lo: int, hi: int) -> None:
            audit_rows(
                search.rows,
                search.row,
                self.points,
                rounding,
                self.sample,
                self.lists.entries,
                lo,
                hi,
                truth.squares,
                truth.entries,
            )

        self.team.share(work, len(self.sample))
        if self.complete and not self._faithful(truth):
            self.complete, self.ranked = False, Lists.empty(self.n, self.ranked.entries.shape[1])
        return truth

    def _faithful(self, truth: Lists) -> bool:
        """Tell whether float32 resolves the distances of neighbours: not in a tight cluster far from the rest."""
        gaps = self.points[self.sample][:, None] - self.points[truth.neighbors]
        in_sketch, exact = np.linalg.norm(gaps, axis=2), np.sqrt(truth.squares)
        return bool(np.all(np.abs(in_sketch - exact) <= FAITHFUL * exact))

    def _reverse(self, lists: Lists) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return who names each point, and how many do."""
        reverse, counts = np.empty_like(lists.entries), np.empty(self.n, np.int32)
        cuts = np.linspace(0, self.n, self.team.threads + 1).astype(np.int64)  # each piece reads all lists
        pieces = itertools.pairwise(cuts)
        for _ in self.team.map(lambda piece: reverse_lists(lists.entries, *piece, reverse, counts), pieces):
            pass
        return reverse, counts

    def _refine_sketch(self) -> None:
        old, new = self.lists, Lists.like(self.lists)
        reverse, counts = self._reverse(old)

        def work(lo: int, hi: int) -> None:
            refine_sketch(self.points, old.squares, old.entries, reverse, counts, lo, hi, new.squares, new.entries)

        self.team.share(work, self.n)
        self.lists = new

    def _rank(self) -> None:
        """Merge the candidates of the sketch into the exact lists."""

        def work(lo: int, hi: int) -> None:
            rank_candidates(
                self.search.rows, self.search.row, self.lists.entries, lo, hi, self.ranked.squares, self.ranked.entries
            )

        self.team.share(work, self.n)

    def _refine_exact(self) -> None:
        old, new = self.ranked, Lists.like(self.ranked)
        reverse, counts = self._reverse(old)

        def work(lo: int, hi: int) -> None:
            refine_exact(
                self.search.rows,
                self.search.row,
                self.points,
                old.squares,
                old.entries,
                reverse,
                counts,
                self.k,
                lo,
                hi,
                new.squares,
                new.entries,
            )

        self.team.share(work, self.n)
        self.ranked = new
