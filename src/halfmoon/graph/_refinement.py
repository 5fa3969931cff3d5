"""The search of the data among themselves: trees propose, rounds of neighbours of neighbours refine.

Every step makes new lists from old ones, some rows to a task.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._numba.lists import reverse_lists
from halfmoon.graph._numba.refinement import audit_rows, rank_candidates, refine_exact, refine_sketch
from halfmoon.graph._projection_tree import Lists, search_tree
from halfmoon.runtime.executor import Executor, stop_flag
from halfmoon.runtime.ranges import ranges

if TYPE_CHECKING:
    from halfmoon.graph._approximate import ApproximateSearch

__all__ = ["LIST", "ROWS", "Refinement", "audit"]

PROBES = 8  # near cells searched per cell and tree
TREES = 4  # trees grown at a time
ATTEMPTS = 4  # times that trees are grown, with twice the probes each time
LIST = 20  # candidates per point, at least; 2 k for large k
ROUNDS = 6  # of refinement after trees are grown
GAIN = 0.002  # a round that gains less recall is the last
ROUNDING = 1e-5  # of distances in the sketch, relative to the largest norm
FAITHFUL = 1e-3  # relative error of a neighbour's distance up to which a complete sketch stands for X
ROWS = 4096  # rows in one piece of work, at most
REVERSE_PIECES = 4  # each reads all lists


class Refinement:
    """One search of the data among themselves. Points are numbered as the sketch orders them."""

    def __init__(self, search: ApproximateSearch, k: int, executor: Executor) -> None:
        self.search, self.k, self.executor = search, k, executor
        self.points, self.n = search.points, len(search.points)
        self.lists = Lists.empty(self.n, min(max(LIST, 2 * k), self.n - 1))
        self.complete = search.sketch.complete
        self.ranked = Lists.empty(0 if self.complete else self.n, min(2 * k, self.n - 1))
        self._truth: Lists | None = None
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
        """Grow trees and refine until the recall is reached; return whether it was."""
        for attempt in range(ATTEMPTS):
            for _ in range(TREES):
                seed, probes = self.search.draw_seed(), PROBES << attempt
                self.lists = search_tree(self.points, self.lists, seed, probes, self.executor)
            reached = self._repeat(self._refine_sketch, lambda: self.proposed, "neighbours of neighbours")
            if not self.complete:
                self._rank()
                reached = self._repeat(self._refine_exact, lambda: self.best, "exact distances")
            if reached:
                return True
        return False

    def _repeat(self, step: Callable[[], None], lists: Callable[[], Lists], name: str) -> bool:
        """Take refinement steps until the recall is reached or no longer grows; return whether it was reached."""
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
        found = lists.neighbors[self.search.sample]
        hits = (self.truth().neighbors[:, :, None] == found[:, None, :]).any(axis=2).mean(axis=1)
        self.estimate = float(hits.mean())
        options = self.search.options
        options.report_step(self.n, self.n, f"{name}, recall {self.estimate:.3f}")
        standard_error = float(hits.std()) / np.sqrt(len(hits))
        return self.estimate - standard_error >= options.recall or self.estimate == 1.0

    def truth(self) -> Lists:
        """Return the true neighbours of the sample, found once: after the first trees, whose lists save time."""
        if self._truth is None:
            self._truth = audit(self.search, self.k, self.executor, self.lists.entries)
            if self.complete and not self._faithful(self._truth):
                self.complete, self.ranked = False, Lists.empty(self.n, self.ranked.entries.shape[1])
        return self._truth

    def _faithful(self, truth: Lists) -> bool:
        """Return whether float32 resolves the distances of neighbours: not in a tight cluster far from the rest."""
        gaps = self.points[self.search.sample][:, None] - self.points[truth.neighbors]
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


def audit(search: ApproximateSearch, k: int, executor: Executor, candidates: NDArray[np.int32] | None = None) -> Lists:
    """Return the k true neighbours of the sample of a search; `candidates` are entries per point to start from."""
    points = search.points
    rounding = np.float32(ROUNDING * np.sqrt(np.square(points).sum(axis=1).max()))
    known = np.empty((len(points), 0), np.int32) if candidates is None else candidates
    prepared = _Audit(search.rows, search.row, points, rounding, known, k)
    samples = [search.sample[lo:hi] for lo, hi in ranges(len(search.sample), len(search.sample))]
    parts = list(executor.map(_audit, prepared, samples))
    return Lists(*(np.concatenate(arrays) for arrays in zip(*(part.arrays for part in parts), strict=True)))


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
