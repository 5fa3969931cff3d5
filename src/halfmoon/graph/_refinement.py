"""The search of the data among themselves: trees propose, rounds of neighbours of neighbours refine.

Every step makes new lists from old ones, some rows to a task. Lists hold distances in one space: codes, which cost
little, then exact distances if codes do not reach the recall.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._numba.lists import NOBODY, list_entries, reverse_lists
from halfmoon.graph._numba.refinement import rank_rows, refine
from halfmoon.graph._projection_tree import ProjectionTree, Searched, neighbors_in, search_tree
from halfmoon.graph._truth import squares_of, true_neighbors
from halfmoon.runtime.executor import Executor, stop_flag
from halfmoon.runtime.ranges import ranges

if TYPE_CHECKING:
    from halfmoon.graph._approximate import ApproximateSearch

__all__ = ["ROWS", "Refinement"]

Keys = NDArray[np.int64]

PROBES = 8  # near cells searched per cell and tree
# Recall asked for -> trees that are grown at least, and recall of the trees at which rounds gain more than another one:
RECALLS, TREES, GROWN = (0.95, 0.99), (2, 3), (0.6, 0.7)
MOST_TREES = 4  # grown at a time
ATTEMPTS = 4  # times that trees are grown, with twice the probes each time
KEPT = 10  # points kept per point and tree, at least
LIST = 20  # neighbours per point, at least; for codes, candidates: 24, and 2 k + 4 for large k
JOINED = 8, 9.0  # of each list are joined, and more per factor of ten by which misses must shrink
FEWER = (10, 13, 17)  # of each list, tried on the sample first: tells what the round will bring
SAMPLE_PIECES = 4
WIDER = 8  # more of them at each further attempt
ROUNDS = 8  # of refinement after trees are grown
NEAR_MISS = 0.02  # of the recall, up to which codes are tried once more
GAIN = 0.001  # a round that gains less recall is the last
FAITHFUL = 1e-3  # relative error of a neighbour's distance up to which a complete sketch stands for X
TIES = 1e-6  # relative difference of distances in float32 that are one distance
ROWS = 4096  # rows in one piece of work, at most
REVERSE_PIECES = 4  # each reads all lists


class Refinement:
    """One search of the data among themselves. Points are numbered as the sketch orders them."""

    def __init__(self, search: ApproximateSearch, k: int, executor: Executor) -> None:
        self.search, self.k, self.executor = search, k, executor
        self.n = len(search.head)
        self.exact = Searched(search.head, search.exact_space, 1.0)
        self.searched = Searched(search.head, search.codes, search.unit)
        wide = max(LIST, k + 4) if search.whole else max(LIST, 2 * k) + 4
        self.keys = np.full((self.n, min(wide, self.n - 1)), NOBODY)
        self.candidates = 2 * k + 4  # of each list, to rank: codes put few true neighbours farther down
        kept = max(KEPT, k) if search.whole else 2 * max(KEPT, k)  # heads order points less well than codes do
        self.kept = min(kept, self.keys.shape[1])
        self.joined, self.stretched = 0, False
        self._truth: Keys | None = None
        self.estimate, self.reached = 0.0, False

    def run(self) -> bool:
        """Grow trees and refine until the recall is reached; return whether it was."""
        for attempt in range(ATTEMPTS):
            self._grow(PROBES << attempt)
            self._widen(attempt * WIDER)
            if self._repeat() or (self._stretch() and self._repeat()) or (self._turn_exact() and self._repeat()):
                return True
        return False

    def best(self) -> Keys:
        """Return the k nearest of each list by exact distances."""
        return self.keys[:, : self.k] if self._is_exact() else self._ranked(self.candidates, self.k)

    def _grow(self, probes: int) -> None:
        """Grow trees; the recall that they reach decides how many."""
        recall = self.search.options.recall
        least, enough = round(np.interp(recall, RECALLS, TREES)), float(np.interp(recall, RECALLS, GROWN))
        for grown in range(1, MOST_TREES + 1):
            seed, report = self.search.draw_seed(), partial(self._report_rows, "trees")
            # The first tree is the one that has put the points in order.
            tree = self.search.tree if grown == 1 else ProjectionTree(self.searched.points, seed, self.executor)
            self.keys = search_tree(self.searched, tree, self.keys, seed, probes, self.kept, self.executor, report)
            if grown >= least:
                self._estimate("trees")
                if self.reached or self.estimate >= enough:
                    return

    def _widen(self, more: int) -> None:
        """Join as much of each list as the misses of the trees ask for, and some more; all entries are fresh again."""
        shrink = (1.0 - self.estimate) / max(1e-3, 1.0 - self.search.options.recall)
        wished = JOINED[0] + JOINED[1] * np.log10(max(1.0, shrink))
        self.joined = min(max(self.k, round(wished)) + more, self.n - 1)
        self.keys |= 1
        if self.joined > self.keys.shape[1]:
            room = np.full((self.n, self.joined - self.keys.shape[1]), NOBODY)
            self.keys = np.hstack([self.keys, room])

    def _stretch(self) -> bool:
        """Rank whole lists and join more of each where codes miss by little: rounds of exact distances cost far more.

        Return whether this is new.
        """
        width = self.keys.shape[1]
        if self.stretched or self._is_exact() or self.estimate < self.search.options.recall - NEAR_MISS:
            return False
        self.stretched, self.candidates, self.joined = True, width, min(self.joined + WIDER, width)
        self.keys |= 1
        self._estimate("longer lists")
        return True

    def _repeat(self) -> bool:
        """Take refinement steps until the recall is reached or no longer grows; return whether it was reached."""
        for _ in range(ROUNDS):
            if self.reached:
                break
            before = self.estimate
            self._refine()
            self._estimate("neighbours of neighbours")
            if self.estimate < before + GAIN:
                break
        return self.reached

    def _turn_exact(self) -> bool:
        """Measure distances exactly from now on; return whether this is new."""
        if self._is_exact():
            return False
        self.keys, self.searched = self._ranked(self.keys.shape[1], self.keys.shape[1]), self.exact
        return True

    def _estimate(self, name: str) -> None:
        """Estimate the recall, and whether it is reached."""
        self.estimate, self.reached = self._recall_of(self.keys[self.search.sample])
        self.search.options.report_step(self.n, self.n, f"{name}, recall {self.estimate:.3f}")

    def _recall_of(self, keys: Keys) -> tuple[float, bool]:
        """Return the recall of lists of the sample; it is reached if it is a standard error above what is asked for."""
        sample = self.search.sample
        found = np.empty((len(sample), self.k), np.int64)
        # Contiguous like those of `_rank`: one type is compiled.
        candidates = np.ascontiguousarray(keys[:, : self.candidates])
        rank_rows(self.search.exact_space, sample, candidates, stop_flag(), found)
        if self._truth is None:  # only now: the lists of the trees save time
            self._truth = true_neighbors(self.search, found, self.executor)
        reach = squares_of(self._truth)[:, -1:] * (1.0 + TIES) ** 2
        hits = (squares_of(found) <= reach).mean(axis=1)
        estimate, standard_error = float(hits.mean()), float(hits.std()) / np.sqrt(len(hits))
        return estimate, estimate - standard_error >= self.search.options.recall or estimate == 1.0

    def _is_exact(self) -> bool:
        """Return whether lists are exact, or of float32 points that stand for X: not in a tight cluster far away."""
        if self.searched is self.exact:
            return True
        points = self.searched.space
        if points.dtype != np.float32:
            return False
        truth = self._truth
        assert truth is not None
        gaps = points[self.search.sample][:, None] - points[neighbors_in(truth)]
        in_sketch, exact = np.linalg.norm(gaps, axis=2), np.sqrt(squares_of(truth))
        return bool(np.all(np.abs(in_sketch - exact) <= FAITHFUL * exact))

    def _refine(self) -> None:
        """Try the neighbours of the neighbours of all points: of as few of each list as bring the sample its recall."""
        prepared = (self.searched.space, self.keys, *self._links())
        fewer = (joined for joined in FEWER if self.k <= joined < self.joined and self._suffices(prepared, joined))
        joined = next(fewer, self.joined)
        self.keys = self._updated(_refine, (*prepared, joined), self.keys.shape[1])

    def _suffices(self, prepared: tuple[Any, ...], joined: int) -> bool:
        """Return whether a round that joins so many of each list would reach the recall."""
        pieces = np.array_split(self.search.sample, SAMPLE_PIECES)
        refined = list(self.executor.map(_refine_rows, (*prepared, joined), pieces))
        return self._recall_of(np.concatenate(refined))[1]

    def _links(self) -> tuple[NDArray[np.int32], ...]:
        """Return the first entries of each list, who names each point, and how many do."""
        entries = list_entries(self.keys, self.joined)
        reverse, counts = np.empty_like(entries), np.empty(self.n, np.int32)
        pieces = list(itertools.pairwise(self.n * piece // REVERSE_PIECES for piece in range(REVERSE_PIECES + 1)))
        for (lo, hi), part in zip(pieces, self.executor.map(_reverse, entries, pieces), strict=True):
            reverse[lo:hi], counts[lo:hi] = part
        return entries, reverse, counts

    def _ranked(self, candidates: int, width: int) -> Keys:
        """Return the nearest by exact distances of the first candidates of each list."""
        return self._updated(_rank, (self.search.exact_space, self.keys, candidates, width), width)

    def _updated(self, task: Callable[[Any, tuple[int, int]], Keys], prepared: Any, width: int) -> Keys:
        """Return the lists that a task makes, some rows at a time."""
        new, pieces = np.empty((self.n, width), np.int64), ranges(self.n, ROWS)
        for (lo, hi), part in zip(pieces, self.executor.map(task, prepared, pieces), strict=True):
            new[lo:hi] = part
            self._report_rows("neighbours of neighbours", hi)
        return new

    def _report_rows(self, step: str, done: int) -> None:
        """Report how far a pass over all rows has come; its end is reported with the recall that it has reached."""
        if done < self.n:
            self.search.options.report_step(done, self.n, step)


def _refine(prepared: tuple[Any, ...], points: tuple[int, int]) -> Keys:
    return _refine_rows(prepared, np.arange(*points))


def _refine_rows(prepared: tuple[Any, ...], rows: NDArray[np.int64]) -> Keys:
    """Return the lists of some points after a round."""
    space, keys, entries, reverse, counts, joined = prepared
    new = np.empty((len(rows), keys.shape[1]), np.int64)
    refine(space, keys, entries, reverse, counts, joined, rows, stop_flag(), new)
    return new


def _rank(prepared: tuple[Any, Keys, int, int], rows: tuple[int, int]) -> Keys:
    space, keys, candidates, width = prepared
    ranked = np.empty((rows[1] - rows[0], width), np.int64)
    rank_rows(space, np.arange(*rows), keys[slice(*rows), :candidates].copy(), stop_flag(), ranked)
    return ranked


def _reverse(entries: NDArray[np.int32], points: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    lo, hi = points
    reverse, counts = np.empty((hi - lo, entries.shape[1]), np.int32), np.empty(hi - lo, np.int32)
    reverse_lists(entries, lo, hi, stop_flag(), reverse, counts)
    return reverse, counts
