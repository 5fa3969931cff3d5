"""Which search suits which data: by sizes and counted work."""

import numpy as np
import pytest
from scipy import sparse

from halfmoon.graph import NeighborIndex, SearchOptions
from halfmoon.graph._choice import LEAF, choose_search, leaves_visited


@pytest.mark.parametrize(
    ("shape", "chosen"),
    [
        ((300, 2), "kdtree"),
        ((10_000, 3), "kdtree"),
        ((250_000, 3), "approximate"),
        ((1_800, 64), "exact"),
        ((5_000, 10), "exact"),
        ((100_000, 8), "approximate"),
        ((20_000, 16), "approximate"),
        ((12_000, 500), "approximate"),
    ],
)
def test_sizes_decide(rng, shape, chosen):
    X = rng.uniform(size=shape).astype(np.float32)
    assert choose_search(X, 0.95, seed=0) == chosen
    assert choose_search(X, 1.0, seed=0) != "approximate"


def test_inner_dimensions_decide(rng):
    """Eight features: a curve is for a KD-tree, noise is not."""
    t = rng.uniform(0.0, 6.0, size=50_000)
    curve = np.cos(t[:, None] + np.arange(8.0))
    assert choose_search(curve, 0.95, seed=0) == "kdtree"
    assert choose_search(rng.normal(size=(50_000, 8)), 0.95, seed=0) == "approximate"


def test_sparse_rows_and_other_metrics_have_no_tree(rng):
    assert choose_search(sparse.csr_array(rng.normal(size=(300, 3))), 0.95, seed=0) == "exact"
    assert NeighborIndex(rng.normal(size=(200, 20)), metric="manhattan").method == "exact"
    assert NeighborIndex(rng.normal(size=(200, 3)), metric="manhattan").method == "kdtree"


def test_visits_of_a_line_and_of_noise(rng):
    """On a line, neighbours lie in one leaf or two; in twelve dimensions, in most of them."""
    line = np.sort(rng.uniform(size=(2048, 1)), axis=0)
    assert 1.0 <= leaves_visited(line) <= 4.0
    assert leaves_visited(rng.normal(size=(512, 12))) > 0.5 * 512 / LEAF


def test_the_choice_is_that_of_the_index(rng):
    X = rng.normal(size=(400, 5))
    index = NeighborIndex(X, options=SearchOptions(seed=3))
    assert index.method == choose_search(X, 0.95, seed=3)
