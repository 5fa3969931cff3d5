"""The compiled steps of approximate search against slow oracles."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from halfmoon.graph import NeighborIndex, SearchOptions
from halfmoon.graph._exact import nearest_first
from halfmoon.graph._numba.distances import rank_of
from halfmoon.graph._numba.lists import NOBODY, insert_key, key_of, list_entries, reverse_lists
from halfmoon.graph._numba.projection_tree import search_cells
from halfmoon.graph._numba.refinement import rank_rows, refine
from halfmoon.graph._projection_tree import neighbors_in, room_for
from halfmoon.graph._truth import true_neighbors
from halfmoon.runtime.cache_lines import rows_of_lines
from halfmoon.runtime.executor import ThreadExecutor, stop_flag
from halfmoon.runtime.jit import njit


@njit
def ranks_of(space, pairs, ranks):
    for p in range(len(pairs)):
        ranks[p] = rank_of(space, pairs[p, 0], pairs[p, 1])


@njit
def insert_neighbor(keys, rank, neighbor):
    insert_key(keys, key_of(rank, neighbor))


def codes_of(rng, n, width):
    codes = rows_of_lines((n, width), np.int8)
    codes[:, :width] = rng.integers(-127, 128, size=(n, width))
    return codes


def spaces(rng, n):
    """Return a space of each kind with the squared distances in it."""
    codes, wide = codes_of(rng, n, 40), codes_of(rng, n, 600)
    points = rng.normal(size=(n, 9)).astype(np.float32)
    lanes = rng.normal(size=(n, 37)).astype(np.float32)  # two of sixteen, and a rest
    X, row = rng.integers(0, 3, size=(n, 12)).astype(np.float64), rng.permutation(n).astype(np.int32)
    S = sparse.csr_array(X)
    kinds = {
        "codes": (codes, codes),
        "wide codes": (wide, wide),
        "points": (points, points),
        "lanes": (lanes, lanes),
        "dense": ((X, row), X[row]),
        "sparse": (((S.data, S.indices, S.indptr), row), X[row]),
    }
    return {
        kind: (space, np.square(rows[:, None].astype(float) - rows).sum(axis=2))
        for kind, (space, rows) in kinds.items()
    }


def ranks_between(space, n):
    pairs = np.array([(i, j) for i in range(n) for j in range(n)])
    ranks = np.empty(len(pairs), np.int32)
    ranks_of(space, pairs, ranks)
    return ranks.reshape(n, n)


@pytest.mark.parametrize(("dtype", "width"), [(np.int8, 1), (np.int8, 64), (np.int8, 65), (np.float32, 5)])
def test_rows_of_lines_begin_with_a_cache_line(dtype, width):
    rows = rows_of_lines((7, width), dtype)
    assert rows.ctypes.data % 64 == 0
    assert rows.strides[0] == -(-width * rows.itemsize // 64) * 64
    assert not rows[:, width:].any()


def random_lists(rng, ranks, width):
    """Return lists of random neighbours, sorted, some of them fresh, some short."""
    n = len(ranks)
    keys = np.full((n, width), NOBODY)
    for i in range(n):
        others = rng.permutation(np.delete(np.arange(n), i))[: rng.integers(width // 2, width + 1)]
        keys[i, : len(others)] = sorted(
            (int(ranks[i, j]) << 32) + 2 * int(j) + int(fresh)
            for j, fresh in zip(others, rng.integers(2, size=len(others)), strict=True)
        )
    return keys


@pytest.mark.parametrize("kind", ["codes", "points", "dense", "sparse"])
def test_ranks_sort_like_distances(rng, kind):
    space, squares = spaces(rng, 25)[kind]
    ranks = ranks_between(space, 25)
    if kind == "codes":
        assert_array_equal(ranks, squares)
    np.testing.assert_allclose(ranks if kind == "codes" else ranks.view(np.float32), squares, rtol=1e-5)
    assert np.all((ranks >= 0) & (np.diagonal(ranks) == 0))


def test_a_list_keeps_the_nearest_of_what_is_inserted_each_once(rng):
    keys, held = np.full(7, NOBODY), {}
    for _ in range(200):
        neighbor = int(rng.integers(40))
        rank = neighbor % 5  # the same neighbour always comes at the same distance
        insert_neighbor(keys, rank, neighbor)
        held[neighbor] = rank
        if rng.random() < 0.2:
            keys[keys != NOBODY] &= ~np.int64(1)  # no longer fresh
    expected = sorted((rank, neighbor) for neighbor, rank in held.items())[:7]
    assert_array_equal(neighbors_in(keys), [neighbor for _, neighbor in expected])


def test_who_names_a_point(rng):
    keys = random_lists(rng, rng.integers(100, size=(30, 30)), 6)
    entries = list_entries(keys, 4)
    assert_array_equal(entries, np.where(keys == NOBODY, -1, keys & 0xFFFFFFFF)[:, :4])
    reverse, counts = np.empty((20, 4), np.int32), np.empty(20, np.int32)
    reverse_lists(entries, 5, 25, stop_flag(), reverse, counts)
    for point in range(5, 25):
        naming = [2 * i + (entries[i, u] & 1) for u in range(4) for i in range(30) if entries[i, u] >> 1 == point]
        assert_array_equal(reverse[point - 5, : counts[point - 5]], naming[:4])


@pytest.mark.parametrize("kind", ["codes", "points", "dense", "sparse"])
def test_a_round_tries_the_neighbours_of_neighbours(rng, kind):
    """Every pair with a middle in common is tried, unless it was tried a round ago; the nearest are kept."""
    n, joined = 40, 4
    space, _ = spaces(rng, n)[kind]
    ranks = ranks_between(space, n)
    old = random_lists(rng, ranks, 7)
    entries = list_entries(old, joined)
    reverse, counts = np.empty((n, joined), np.int32), np.empty(n, np.int32)
    reverse_lists(entries, 0, n, stop_flag(), reverse, counts)
    new = np.empty((n - 10, 7), np.int64)
    refine(space, old, entries, reverse, counts, joined, np.arange(10, n), stop_flag(), new)
    for i in range(10, n):
        tried = set()
        for middle in [*entries[i], *reverse[i, : counts[i]]]:
            if middle < 0:
                continue
            tried |= {int(middle) >> 1} if middle & 1 else set()
            tried |= {int(e) >> 1 for e in entries[middle >> 1] if e >= 0 and (middle | e) & 1}
        before = {int(j) for j in neighbors_in(old[i]) if j >= 0}
        expected = [(int(ranks[i, j]) << 32) + 2 * j for j in before]
        expected += [(int(ranks[i, j]) << 32) + 2 * j + 1 for j in tried - before - {i}]
        expected = sorted(expected)[:7]
        assert_array_equal(new[i - 10, : len(expected)], expected)
        assert np.all(new[i - 10, len(expected) :] == NOBODY)


def test_a_round_for_some_points_is_that_for_all(rng):
    """So a round tried on the sample tells the recall of the round for all points, whatever it joins of the links."""
    n = 60
    space, _ = spaces(rng, n)["points"]
    old = random_lists(rng, ranks_between(space, n), 9)
    entries = list_entries(old, 7)
    reverse, counts = np.empty((n, 7), np.int32), np.empty(n, np.int32)
    reverse_lists(entries, 0, n, stop_flag(), reverse, counts)
    some = np.sort(rng.choice(n, 11, replace=False))
    for joined in (3, 7):
        new, of_some = np.empty((n, 9), np.int64), np.empty((len(some), 9), np.int64)
        refine(space, old, entries, reverse, counts, joined, np.arange(n), stop_flag(), new)
        refine(space, old, entries, reverse, counts, joined, some, stop_flag(), of_some)
        assert_array_equal(of_some, new[some])


def test_pairs_are_ordered_by_distance_then_by_index(rng):
    X = rng.integers(3, size=(40, 2)).astype(np.float64)  # many ties
    rows, found = np.arange(7), np.array([rng.permutation(40)[:12] for _ in range(7)])
    given = found.copy()
    distances, indices = nearest_first(X, rows, found)
    for row, at, measured, ordered in zip(rows, given, distances, indices, strict=True):
        expected = sorted((float(np.linalg.norm(X[row] - X[j])), int(j)) for j in at)
        assert_allclose(measured, [distance for distance, _ in expected], rtol=1e-12)
        assert_array_equal(ordered, [j for _, j in expected])
    assert_array_equal(found, given)


def test_lists_are_ranked_by_exact_distances(rng):
    space, squares = spaces(rng, 40)["dense"]
    keys = random_lists(rng, rng.integers(100, size=(40, 40)), 9)
    rows, ranked = np.arange(5, 30), np.empty((25, 4), np.int64)
    rank_rows(space, rows, keys[rows], stop_flag(), ranked)
    for i, found in zip(rows, neighbors_in(ranked), strict=True):
        named = [int(j) for j in neighbors_in(keys[i]) if j >= 0]
        expected = sorted(named, key=lambda j, i=i: (squares[i, j], j))[:4]
        assert_array_equal(found, expected)


@pytest.mark.parametrize("start", [False, True])
def test_an_audit_finds_the_true_neighbours(rng, start):
    n, k = 700, 5
    X, row = rng.normal(size=(n, 10)), rng.permutation(n).astype(np.int32)
    search = SimpleNamespace(head=X[row, :3].astype(np.float32), exact_space=(X, row))
    squares = np.square(X[row][:, None] - X[row]).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    search.sample, found = np.sort(rng.choice(n, 20, replace=False)), np.full((20, k), NOBODY)
    if start:
        ranks = squares.astype(np.float32).view(np.int32)
        rank_rows((X, row), search.sample, random_lists(rng, ranks, 8)[search.sample], stop_flag(), found)
    with ThreadExecutor(2) as executor:
        truth = true_neighbors(search, found, executor)
    assert_array_equal(neighbors_in(truth), np.argsort(squares[search.sample], axis=1)[:, :k])


def test_cells_are_searched_completely(rng):
    """With all cells near and all points kept, the nearest by the space are found; lists that exist are merged."""
    n, cells = 200, 8
    points = rng.normal(size=(n, 5)).astype(np.float32)
    codes = codes_of(rng, n, 20)
    members, bounds = rng.permutation(n).astype(np.int32), np.arange(cells + 1) * n // cells
    means = np.array([points[members[a:b]].mean(axis=0) for a, b in itertools.pairwise(bounds)])
    near = np.array([[cell, *np.delete(np.arange(cells), cell)] for cell in range(cells)], np.int32)
    for space, rows, c in ((points, points, 6), (codes, codes, 6)):
        keys, where = np.full((n, c), NOBODY), (members, bounds, means, near, 0, cells)
        unit = np.float32(1.0 if space is points else 1e6)  # codes have nothing to do with the points: no limit
        for _ in range(2):
            search_cells(points, space, unit, *where, n - 1, stop_flag(), *room_for(bounds, cells, 5), keys)
        squares = np.square(rows[:, None].astype(float) - rows).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        expected = np.argsort(squares, axis=1, kind="stable")[members, :c]
        assert_array_equal(neighbors_in(keys), expected)


def test_short_lists_are_not_filled_up(rng):
    """Trees and rounds that reach a low recall may leave places empty; no row is named twice to fill them."""
    X = rng.normal(size=(3000, 2)).astype(np.float32)
    lists = NeighborIndex(X, method="approximate", options=SearchOptions(recall=0.3)).neighbors_of_data(700)
    assert (np.diff(np.sort(lists.indices, axis=1), axis=1) > 0).all()
    assert not (lists.indices == np.arange(3000)[:, None]).any()


def test_an_index_gives_the_same_lists_again(rng):
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    index = NeighborIndex(X, method="approximate", options=SearchOptions(recall=0.8))
    first, again = (index.neighbors_of_data(6) for _ in range(2))
    np.testing.assert_array_equal(first.indices, again.indices)
    assert first.recall == again.recall
