"""connect=True: the components of a graph joined by the shortest links between them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.metrics import pairwise_distances

from halfmoon.graph import connected_components, knn_graph
from halfmoon.graph._links import shortest_links


def spanning_length(D, labels):
    """Length of the minimum spanning tree between components, from all pairs."""
    count = labels.max() + 1
    between = np.full((count, count), np.inf)
    for a in range(count):
        for b in range(count):
            if a != b:
                between[a, b] = D[np.ix_(labels == a, labels == b)].min()
    return csgraph.minimum_spanning_tree(np.where(np.isinf(between), 0.0, between)).sum()


def clusters(rng, count, d=3):
    centers = 40.0 * rng.normal(size=(count, d))
    return np.concatenate([c + rng.normal(size=(int(rng.integers(7, 40)), d)) for c in centers])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed"])
def test_links_are_a_minimum_spanning_tree_between_components(rng, metric):
    X = clusters(rng, 9)
    D = pairwise_distances(X, metric="euclidean" if metric == "precomputed" else metric)
    data = D if metric == "precomputed" else X
    W, report = knn_graph(data, metric=metric, n_neighbors=3, return_report=True)
    joined, after = knn_graph(data, metric=metric, n_neighbors=3, connect=True, return_report=True)
    assert connected_components(joined).count == 1
    assert after.links == report.components.count - 1 > 0
    added = sparse.triu(joined - W)
    rows, columns = added.nonzero()
    assert_allclose(D[rows, columns].sum(), spanning_length(D, report.components.labels), rtol=1e-9)
    assert (joined != joined.T).nnz == 0


def test_large_components_are_joined_by_a_short_link(rng):
    """Two bars end to end, of which only a sample looks for links: polishing finds the gap."""
    left = np.c_[rng.uniform(0.0, 1.0, 20_000), rng.uniform(0.0, 0.1, 20_000)]
    X = np.concatenate([left, left + np.array([1.5, 0.0])])
    labels = np.repeat([0, 1], 20_000)
    links = shortest_links(X, labels, "euclidean", rng)
    assert len(links.lengths) == 1
    assert links.lengths[0] < 1.1 * (0.5 + 2 * 1e-3)
    assert_allclose(np.linalg.norm(X[links.tails] - X[links.heads], axis=1), links.lengths, rtol=1e-6)


def test_links_carry_the_weights_of_the_graph(rng):
    X = clusters(rng, 3)
    for weights in ("heat", "self-tuning", lambda d: 1.0 / (1.0 + d)):
        W = knn_graph(X, weights=weights, connect=True)
        assert connected_components(W).count == 1
        assert W.data.min() > 0


def test_connected_graphs_stay_as_they_are(rng):
    X = rng.normal(size=(60, 2))
    W = knn_graph(X, n_neighbors=15)
    assert (knn_graph(X, n_neighbors=15, connect=True) != W).nnz == 0


def test_sparse_distances_cannot_be_connected(rng):
    D = pairwise_distances(clusters(rng, 3))
    near = sparse.csr_array(np.where(np.sort(D, axis=1)[:, [4]] >= D, D, 0.0))
    with pytest.raises(ValueError, match="connect=True needs all distances"):
        knn_graph(near, metric="precomputed", n_neighbors=3, connect=True)


def test_report_names_the_components(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), 100 + rng.normal(size=(12, 2))])
    _, report = knn_graph(X, n_neighbors=8, return_report=True)
    assert str(report) == "k-NN graph by kdtree search; 2 components of sizes 30, 12"
    many = np.repeat(np.arange(20.0) * 100, 3)[:, None] + rng.normal(size=(60, 1))
    _, report = knn_graph(many, n_neighbors=2, return_report=True)
    assert "20 components of sizes 3, 3" in str(report)
    assert "down to 3" in str(report)
