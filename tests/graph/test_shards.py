"""Neighbours in shards: the recall that is claimed, on any executor, also where a shard's neighbours lie elsewhere."""

import numpy as np
import pytest
from scipy import sparse

from halfmoon import distributed
from halfmoon.graph import SearchOptions, _neighbor_index, _shards, knn_graph
from halfmoon.graph._numba.lists import NOBODY
from halfmoon.graph._shards import ShardedSearch, _merged


@pytest.fixture
def small_shards(monkeypatch):
    for module in (_shards, _neighbor_index):
        monkeypatch.setattr(module, "SHARD", 700)


def curved(rng, n=3000, d=40):
    t = rng.normal(size=(n, 3))
    return np.tanh(t @ rng.normal(size=(3, d))) + 0.05 * rng.normal(size=(n, d))


def true_recall(X, distances, k):
    X = X.toarray() if sparse.issparse(X) else X.astype(np.float64)
    gaps = np.sqrt(np.maximum(0.0, np.square(X).sum(1)[:, None] + np.square(X).sum(1) - 2.0 * X @ X.T))
    np.fill_diagonal(gaps, np.inf)
    reach = np.partition(gaps, k - 1, axis=1)[:, k - 1]
    return np.mean(distances <= reach[:, None] * (1.0 + 1e-6) + 1e-6)


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("kind", ["float64", "float32", "uint8", "sparse"])
def test_the_recall_is_that_of_the_whole(rng, kind):
    X = curved(rng)
    if kind == "sparse":
        X = sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    else:
        X = (40.0 * (X + 2.0)).astype(kind)
    search = ShardedSearch(X, SearchOptions(recall=0.95, seed=int(rng.integers(1 << 31))))
    distances, indices = search.neighbors_of_data(6)
    assert search.recall >= 0.95
    assert true_recall(X, distances, 6) > 0.93
    assert not (indices == np.arange(X.shape[0])[:, None]).any()
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()
    dense = X.toarray() if kind == "sparse" else X.astype(np.float64)
    np.testing.assert_allclose(
        distances, np.linalg.norm(dense[:, None] - dense[indices], axis=2), rtol=1e-9, atol=1e-12
    )


@pytest.mark.usefixtures("small_shards")
def test_a_cluster_finds_what_threads_find(client, rng):
    X, seed = curved(rng), int(rng.integers(1 << 31))
    options = {"n_neighbors": 6, "method": "approximate", "random_state": seed, "return_report": True}
    with distributed(client):
        W, report = knn_graph(X, **options)
    assert report.method == "approximate"
    search = ShardedSearch(X, SearchOptions(seed=int(np.random.RandomState(seed).randint(1 << 31))))
    _, indices = search.neighbors_of_data(6)
    directed = sparse.csr_array((np.ones(indices.size), indices.ravel(), np.arange(0, indices.size + 1, 6)), W.shape)
    assert (directed.maximum(directed.T) != W).nnz == 0
    assert report.recall == search.recall


@pytest.mark.usefixtures("small_shards")
def test_exact_search_takes_over(rng, monkeypatch):
    monkeypatch.setattr(_shards, "TREES", (1, 1))
    monkeypatch.setattr(_shards, "ROUNDS", 0)
    X = rng.normal(size=(1500, 30))
    search = ShardedSearch(X, SearchOptions(recall=0.999, seed=3))
    distances, _ = search.neighbors_of_data(4)
    assert (search.recall, search.recall_sample) == (1.0, 0)
    assert true_recall(X, distances, 4) == 1.0


def test_lists_are_merged_by_distance_without_repeats(rng):
    ranks = rng.permutation(50).astype(np.int64)
    keys = np.full((1, 6), NOBODY)
    first, second = np.sort(rng.choice(50, 4, replace=False)), np.sort(rng.choice(50, 6, replace=False))
    keys[0, :4] = np.sort(ranks[first] << 32 | 2 * first)
    others = np.sort(ranks[second] << 32 | (2 * second + 1))[None]
    found = _merged(keys, others)[0]
    union = np.union1d(first, second)
    expected = union[np.argsort(ranks[union])][:6]
    assert ((found & 0xFFFF_FFFF) >> 1).tolist() == expected.tolist()
    assert (found & 1).tolist() == [int(j not in first) for j in expected]  # known ones are not fresh
