"""Approximate neighbours in shards: workers search the rows that they are sent, nobody but the caller has all of X.

1. the points, in the order of a tree, are cut into shards; each shard is searched by itself (`ApproximateSearch`);
2. a second tree cuts elsewhere, so that lists cross the borders of the first shards; lists are merged;
3. neighbours of neighbours by exact distances, shard by shard, each with the rows that its lists lead to.
A sample of rows, compared with all shards, measures the recall; more trees follow until it is reached, and exact
search takes over if they do not get there. Shards depend on the number of rows alone, and so does the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._approximate import ApproximateSearch, exact_space
from halfmoon.graph._exact import Neighbors, euclidean_search, nearest_first, without_self
from halfmoon.graph._numba.lists import NOBODY, list_entries, reverse_lists
from halfmoon.graph._numba.refinement import rank_rows, refine
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._projection_tree import ProjectionTree, neighbors_in
from halfmoon.graph._sketch import Sketch
from halfmoon.runtime.execution import executor_for
from halfmoon.runtime.executor import Executor, ThreadExecutor, stop_flag
from halfmoon.runtime.ranges import ranges

__all__ = ["SHARD", "ShardedSearch"]

Keys = NDArray[np.int64]
Rows = NDArray[np.int32]

SHARD = 1 << 14  # rows of a shard, at most
AUDIT = 500  # rows whose true neighbours are found
TREES = 2, 6  # before the first refinement, and at most
ROUNDS = 4  # of refinement after a tree
GAIN = 0.002  # a round that gains less recall is the last
WIDE = 10  # neighbours per list, at least; twice k for larger k
ROWS = 4096  # rows measured in one piece of work, at most
TIES = 1e-6  # relative difference of distances that are one distance


class ShardedSearch:
    """Euclidean search among many rows, whose tasks hold a shard each.

    Attributes
    ----------
    recall : float
        Estimate after `neighbors_of_data`; 1 if exact search took over.
    recall_sample : int
        Rows that the estimate rests on; 0 if exact search took over.
    """

    def __init__(self, X: Any, options: SearchOptions) -> None:
        self.X, self.options = X, options
        self.recall, self.recall_sample = 1.0, 0
        self.rng = np.random.default_rng(options.seed)
        self.sample = np.sort(self.rng.choice(X.shape[0], min(X.shape[0], AUDIT), replace=False))
        with ThreadExecutor(options.threads) as threads:
            self.head = Sketch(X, self.rng, threads).of_rows(X, threads, coded=False)[0]
        self.drawn = self.rng.bit_generator.state

    def neighbors_of_data(self, k: int) -> Neighbors:
        """Return, for every row of X, about its k nearest other rows; their recall is estimated."""
        self.rng.bit_generator.state = self.drawn  # the same lists every time
        with executor_for(self.options.threads) as executor, ThreadExecutor(self.options.threads) as threads:
            lists = _Lists(self, k, executor, threads)
            if lists.run() and lists.complete():
                self.recall, self.recall_sample = lists.estimate, len(self.sample)
                return lists.best()
        self.recall, self.recall_sample = 1.0, 0
        return without_self(*euclidean_search(self.X, self.options).query(self.X, k + 1))


class _Lists:
    """The lists of one search: keys as in `_numba.lists`, by exact distances."""

    def __init__(self, search: ShardedSearch, k: int, executor: Executor, threads: Executor) -> None:
        self.X, self.rng, self.sample, self.head = search.X, search.rng, search.sample, search.head
        self.k, self.executor, self.threads = k, executor, threads
        self.options, self.alone = search.options, replace(search.options, n_jobs=1, progress=None)
        self.n = self.X.shape[0]
        self.keys = np.full((self.n, min(max(WIDE, 2 * k), self.n - 1)), NOBODY)
        self.shards = self._shards()
        self.reach: NDArray[np.float64] | None = None  # distance of the k-th true neighbour of each row of the sample
        self.estimate = 0.0

    def run(self) -> bool:
        """Search the shards of one tree after another, and refine, until the recall is reached; return whether."""
        for tree in range(TREES[1]):
            if tree > 0:
                self.shards = self._shards()
            self._search_shards()
            if tree + 1 >= TREES[0] and (self._reached("shards") or self._repeat()):
                return True
        return False

    def complete(self) -> bool:
        """Tell whether every list names k neighbours."""
        return bool((self.keys[:, : self.k] != NOBODY).all())

    def best(self) -> Neighbors:
        """Return the k nearest of each list, with their distances in float64."""
        distances, indices = np.empty((self.n, self.k)), np.empty((self.n, self.k), np.intp)
        pieces, prepared = ranges(self.n, ROWS), (self.X, self._neighbors(slice(None)))
        for (lo, hi), found in zip(pieces, self.threads.map(_measure_rows, prepared, pieces), strict=True):
            distances[lo:hi], indices[lo:hi] = found
        return distances, indices

    def _neighbors(self, rows: Any) -> NDArray[np.intp]:
        return neighbors_in(self.keys[rows, : self.k]).astype(np.intp)

    def _shards(self) -> list[Rows]:
        """Return the rows of the shards that a new tree cuts: a power of two, which few workers can share evenly."""
        tree = ProjectionTree(self.head, int(self.rng.integers(1 << 31)), self.threads)
        return np.array_split(tree.members, 1 << (-(-self.n // SHARD) - 1).bit_length())

    def _search_shards(self) -> None:
        """Search the shards; the first ones also tell how far the true neighbours of the sample are, over all."""
        seeds = self.rng.integers(1 << 31, size=len(self.shards)).tolist()
        items = (
            _Shard(seed, rows, self.X[rows], self.keys[rows]) for seed, rows in zip(seeds, self.shards, strict=True)
        )
        sample = self.X[self.sample] if self.reach is None else None
        results = self.executor.map(_search_shard, (self.alone, sample, self.k + 1), items)
        found = []
        for rows, (keys, distances) in zip(self.shards, results, strict=True):
            self.keys[rows] = keys
            if distances is not None:
                found.append(distances)
        if found:  # the nearest is the row itself
            self.reach = np.partition(np.hstack(found), self.k, axis=1)[:, self.k]

    def _reached(self, name: str) -> bool:
        """Estimate the recall; it is reached if the estimate is a standard error above what is asked for."""
        distances, _ = nearest_first(self.X, self.sample, self._neighbors(self.sample))
        assert self.reach is not None
        hits = (distances <= self.reach[:, None] * (1.0 + TIES)).mean(axis=1)
        self.estimate = float(hits.mean())
        self.options.report_step(self.n, self.n, f"{name}, recall {self.estimate:.3f}")
        standard_error = float(hits.std()) / np.sqrt(len(hits))
        return self.estimate - standard_error >= self.options.recall or self.estimate == 1.0

    def _repeat(self) -> bool:
        """Refine until the recall is reached, or a round gains little; return whether it is."""
        for _ in range(ROUNDS):
            before = self.estimate
            self._refine()
            if self._reached("neighbours of neighbours"):
                return True
            if self.estimate < before + GAIN:
                break
        return False

    def _refine(self) -> None:
        """Try the neighbours of the neighbours of all points."""
        refined = np.empty_like(self.keys)
        for rows, keys in zip(self.shards, self.executor.map(_refine_shard, None, self._surroundings()), strict=True):
            refined[rows] = keys
        self.keys = refined

    def _surroundings(self) -> Iterator[_Surroundings]:
        entries = list_entries(self.keys, max(self.k, WIDE))
        reverse, counts = np.empty_like(entries), np.empty(self.n, np.int32)
        reverse_lists(entries, 0, self.n, stop_flag(), reverse, counts)
        for rows in self.shards:
            yield _surround(self.X, rows, self.keys, entries, reverse, counts)


@dataclass(frozen=True)
class _Shard:
    """Some rows of X and their lists; neighbours are numbered as in X."""

    seed: int
    rows: Rows
    X: Any
    keys: Keys


@dataclass(frozen=True)
class _Surroundings:
    """A shard and the rows that its lists lead to; neighbours are numbered as these rows, the shard comes first."""

    rows: Rows
    X: Any
    keys: Keys  # of the shard
    entries: Rows  # of all rows; none for those that are candidates alone
    reverse: Rows  # of the shard
    counts: Rows


def _surround(X: Any, rows: Rows, keys: Keys, entries: Rows, reverse: Rows, counts: Rows) -> _Surroundings:
    """Return a shard with its neighbours, those who name it, and the neighbours of both."""
    number = np.full(len(keys), -1, np.int32)  # of a row of X among the surroundings
    number[rows] = np.arange(len(rows))
    own, named = _entries(keys[rows]), np.where(np.arange(reverse.shape[1]) < counts[rows, None], reverse[rows], -1)
    middles = _add(number, len(rows), entries[rows], named)
    candidates = _add(number, len(rows) + len(middles), entries[rows], entries[middles], own)
    known, everyone = np.concatenate([rows, middles]), np.concatenate([rows, middles, candidates])
    local = np.full((len(everyone), entries.shape[1]), -1, np.int32)
    local[: len(known)] = _renumbered(number, entries[known])
    own = _renumbered(number, own)
    return _Surroundings(
        everyone, X[everyone], _with_entries(keys[rows], own), local, _renumbered(number, named), counts[rows]
    )


def _add(number: Rows, first: int, *entries: Rows) -> Rows:
    """Give numbers from `first` on to the rows that entries name and that have none yet; return these rows."""
    named = np.zeros(len(number) + 1, np.bool_)
    for part in entries:
        named[part >> 1] = True  # nobody, -1, is the last
    new = np.flatnonzero(named[:-1] & (number < 0)).astype(np.int32)
    number[new] = first + np.arange(len(new))
    return new


def _entries(keys: Keys) -> Rows:
    """Return 2 * neighbour + fresh of each key, -1 for nobody."""
    return np.where(keys == NOBODY, -1, keys & 0xFFFF_FFFF).astype(np.int32)


def _renumbered(number: Rows, entries: Rows) -> Rows:
    return np.where(entries < 0, -1, 2 * number[entries >> 1] + (entries & 1)).astype(np.int32)


def _with_entries(keys: Keys, entries: Rows) -> Keys:
    """Return keys of the same distances with other entries."""
    return np.where(keys == NOBODY, NOBODY, (keys >> 32 << 32) | entries)


def _merged(keys: Keys, others: Keys) -> Keys:
    """Return the nearest of two lists of each row; a neighbour that the first has tried already is not fresh again."""
    both = np.sort(np.hstack([keys, others]), axis=1)
    both[:, 1:][(both[:, 1:] | 1) == (both[:, :-1] | 1)] = NOBODY
    return np.sort(both, axis=1)[:, : keys.shape[1]]


def _search_shard(prepared: tuple[SearchOptions, Any, int], shard: _Shard) -> tuple[Keys, NDArray[np.float64] | None]:
    """Return the lists of a shard, merged with the nearest rows of the shard, and how near these are to a sample."""
    options, sample, k = prepared
    own = np.arange(len(shard.rows))
    width = min(shard.keys.shape[1], len(own) - 1)
    _, found = ApproximateSearch(shard.X, replace(options, seed=shard.seed)).neighbors_of_data(width)
    ranked = np.empty(shard.keys.shape, np.int64)
    rank_rows(exact_space(shard.X, own), own, 2 * found + 1, stop_flag(), ranked)
    keys = _merged(shard.keys, _with_entries(ranked, _renumbered(shard.rows, _entries(ranked))))
    return keys, None if sample is None else euclidean_search(shard.X, options).query(sample, min(k, len(own)))[0]


def _refine_shard(_: None, around: _Surroundings) -> Keys:
    """Return the lists of a shard after one round of neighbours of neighbours."""
    new = np.empty_like(around.keys)
    lists = (around.keys, around.entries, around.reverse, around.counts)
    refine(
        exact_space(around.X, np.arange(len(around.rows))),
        *lists,
        around.entries.shape[1],
        np.arange(len(new)),
        stop_flag(),
        new,
    )
    return _with_entries(new, _renumbered(around.rows, _entries(new)))


def _measure_rows(prepared: tuple[Any, NDArray[np.intp]], rows: tuple[int, int]) -> Neighbors:
    """Return the neighbours of some rows, nearest first."""
    X, neighbors = prepared
    return nearest_first(X, np.arange(*rows), neighbors[slice(*rows)])
