"""Memory before a fit: limits are kept by the fastest way that fits, and what cannot be kept is seen."""

from dataclasses import replace

import pytest

from halfmoon.planning import FitSize, fit_memory
from halfmoon.runtime.memory import Allowance, allowance, allowing
from halfmoon.solvers import SolveOptions

SIZE = FitSize(rows=100_000, features=32, neighbors=10, landmarks=500, power=2, columns=100, threads=8)


@pytest.mark.parametrize("field", ["rows", "neighbors", "landmarks", "threads"])
def test_more_takes_more(field):
    more = replace(SIZE, **{field: 2 * getattr(SIZE, field)})
    assert fit_memory(more).peak > fit_memory(SIZE).peak


def test_a_limit_is_kept_by_the_fastest_way_that_fits():
    free, leanest = fit_memory(SIZE), fit_memory(SIZE, 1)
    assert (free.threads, leanest.threads) == (8, 1)
    assert free.columns == 4 * 100_000 * 500  # float32, for p = 2
    ways = [fit_memory(SIZE, limit) for limit in range(leanest.peak, free.peak + 1, (free.peak - leanest.peak) // 50)]
    for limit, way in zip(range(leanest.peak, free.peak, (free.peak - leanest.peak) // 50), ways, strict=False):
        assert way.peak <= limit
    columns_at_once = [way.threads * way.tile_width for way in ways]
    assert columns_at_once == sorted(columns_at_once)
    assert {(way.threads, way.tile_width) for way in ways} == {(8, 16), (8, 8), (4, 8), (2, 8), (1, 8)}
    assert fit_memory(SIZE, free.peak) == free


def test_what_no_way_keeps_is_above_the_limit():
    assert fit_memory(SIZE, 1).peak > 1
    assert fit_memory(SIZE, 1).stages[fit_memory(SIZE, 1).stage] == fit_memory(SIZE, 1).peak


def test_solves_keep_to_the_allowance():
    free = SolveOptions(n_jobs=4)
    with allowing(Allowance(threads=2, tile_width=8, columns=1234, wide_codes=False)):
        assert (free.threads, free.tile_width, free.memory) == (2, 8, 1234)
        assert SolveOptions(n_jobs=1, max_memory=5).threads == 1
        assert SolveOptions(n_jobs=1, max_memory=5).memory == 5
    assert allowance() is None
    assert (free.threads, free.tile_width) == (4, 16)
