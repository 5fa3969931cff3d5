"""knn_graph against brute force, and its behaviour on awkward data."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances

from halfmoon.exceptions import AccuracyWarning
from halfmoon.graph import check_graph, connected_components, knn_graph
from reference import brute_neighbors


def canberra(a, b):
    return float(np.sum(np.abs(a - b) / (np.abs(a) + np.abs(b))))


def check_invariants(W):
    assert isinstance(W, sparse.csr_array)
    assert W.has_sorted_indices
    assert W.indices.dtype == np.int32
    assert (W != W.T).nnz == 0  # exactly symmetric
    assert not W.diagonal().any()
    assert (W.data > 0).all()


@pytest.mark.parametrize("method", ["kdtree", "exact"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_neighbors_are_the_nearest(rng, metric, method):
    X = rng.normal(size=(120, 4))
    D = pairwise_distances(X, metric=metric)
    nearest = brute_neighbors(D, 6)
    W = knn_graph(X, n_neighbors=6, metric=metric, method=method, weights=lambda d: 1.0 + d)
    check_invariants(W)
    # An edge of the union belongs to the list of one of its ends: it is no longer than that end's 6th neighbour.
    rows, columns = W.nonzero()
    reach = np.maximum(nearest[rows, -1], nearest[columns, -1])
    assert_allclose(W.data - 1.0, D[rows, columns], atol=1e-9)
    assert np.all(D[rows, columns] <= reach + 1e-9)
    # And nothing nearer is missing.
    missing = (nearest[:, -1:] - 1e-9 > D) & (W.toarray() == 0)
    np.fill_diagonal(missing, False)
    assert not missing.any()


def test_backends_agree(rng):
    X = rng.normal(size=(150, 8))
    assert (knn_graph(X, method="kdtree") != knn_graph(X, method="exact")).nnz == 0


def test_callable_metric(rng):
    X = rng.uniform(0.1, 1.0, size=(40, 3))
    expected = knn_graph(pairwise_distances(X, metric="canberra"), metric="precomputed", n_neighbors=4)
    assert (knn_graph(X, metric=canberra, n_neighbors=4) != expected).nnz == 0


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse_input_gives_the_same_graph(rng, metric):
    X = sparse.random(80, 40, density=0.2, random_state=int(rng.integers(1 << 31)), format="csr")
    X = X + sparse.csr_array((np.full(80, 0.5), (np.arange(80), np.zeros(80, dtype=int))), shape=X.shape)
    assert (knn_graph(X, metric=metric) != knn_graph(X.toarray(), metric=metric)).nnz == 0
    assert (knn_graph(sparse.coo_matrix(X), metric=metric) != knn_graph(X.toarray(), metric=metric)).nnz == 0


def test_precomputed_distances(rng):
    X = rng.normal(size=(50, 3))
    D = pairwise_distances(X)
    expected = knn_graph(X, n_neighbors=4)
    assert (knn_graph(D, metric="precomputed", n_neighbors=4) != expected).nnz == 0
    near = sparse.csr_array(np.where(np.sort(D, axis=1)[:, [8]] >= D, D, 0.0))
    assert (knn_graph(near, metric="precomputed", n_neighbors=4) != expected).nnz == 0
    with pytest.raises(ValueError, match=r"Row \d+ of the sparse distance matrix knows 8 other points"):
        knn_graph(near, metric="precomputed", n_neighbors=9)
    with pytest.raises(ValueError, match=r"square matrix of distances. Got shape \(50, 3\)"):
        knn_graph(X, metric="precomputed")
    with pytest.raises(ValueError, match=r"Distances must be >= 0: row 0 holds -1"):
        knn_graph(np.where(np.eye(50) == 1, 0.0, -1.0), metric="precomputed")


@pytest.mark.parametrize("symmetrize", ["union", "mutual"])
def test_symmetrisation(rng, symmetrize):
    X = rng.normal(size=(70, 2))
    order = np.argsort(pairwise_distances(X), axis=1)[:, 1:6]
    directed = np.zeros((70, 70), dtype=bool)
    directed[np.arange(70)[:, None], order] = True
    expected = directed | directed.T if symmetrize == "union" else directed & directed.T
    W = knn_graph(X, symmetrize=symmetrize)
    check_invariants(W)
    assert_array_equal(W.toarray() > 0, expected)


def test_heat_weights(rng):
    X = rng.normal(size=(60, 3))
    D = pairwise_distances(X)
    W = knn_graph(X, weights="heat", bandwidth=0.8)
    rows, columns = W.nonzero()
    assert_allclose(W.data, np.exp(-(D[rows, columns] ** 2) / (2 * 0.8**2)), rtol=1e-9)
    sigma = np.median(brute_neighbors(D, 5))
    W = knn_graph(X, weights="heat")
    assert_allclose(W.data, np.exp(-(D[rows, columns] ** 2) / (2 * sigma**2)), rtol=1e-9)


def test_heat_weights_keep_the_edges_of_outliers(rng):
    X = np.concatenate([rng.normal(size=(50, 2)), [[1e6, 0.0]]])
    W = knn_graph(X, weights="heat", n_neighbors=3)
    assert W[[50]].nnz >= 3
    assert W[[50]].data.min() == 1e-12


@pytest.mark.parametrize("method", ["kdtree", "exact"])
def test_copies_of_points_have_k_neighbours_and_bounded_degree(rng, method):
    """80 % of the rows repeat: every vertex has k neighbours other than itself and nothing becomes a hub."""
    points = rng.normal(size=(30, 3))
    X = points[np.concatenate([np.arange(30), rng.integers(30, size=120)])]
    k = 4
    W = knn_graph(X, n_neighbors=k, method=method)
    check_invariants(W)
    degrees = np.diff(W.indptr)
    assert degrees.min() >= k
    assert degrees.max() <= 40
    nearest = brute_neighbors(pairwise_distances(X), k)
    rows, columns = W.nonzero()
    lengths = np.linalg.norm(X[rows] - X[columns], axis=1)
    assert np.all(lengths <= np.maximum(nearest[rows, -1], nearest[columns, -1]) + 1e-9)


def test_all_points_equal(rng):
    W = knn_graph(np.full((40, 3), rng.normal()), n_neighbors=3)
    assert_array_equal(np.diff(W.indptr), 4)  # two on either side of the circle
    assert connected_components(W).count == 1
    mutual = knn_graph(np.zeros((20, 1)), n_neighbors=3, symmetrize="mutual")
    assert connected_components(mutual).count == 1
    assert knn_graph(np.full((9, 2), 1.0), weights="heat").data.min() == 1.0


def test_data_far_from_the_origin(rng):
    """A timestamp among the features: squared norms of 1e18 must not drown the distances."""
    X = np.c_[rng.normal(size=(150, 19)), 1.6e9 + rng.normal(size=150)]
    D = np.linalg.norm(X[:, None] - X[None], axis=-1)
    assert (knn_graph(X) != knn_graph(D, metric="precomputed")).nnz == 0


def test_negative_zero_is_zero():
    X = np.array([[0.0], [-0.0], [1.0], [1.0]])
    assert knn_graph(X, n_neighbors=1).nnz == 4


def test_deterministic_and_input_untouched(rng):
    X = rng.integers(0, 3, size=(200, 3)).astype(float)  # ties everywhere
    X.flags.writeable = False
    assert (knn_graph(X, random_state=1) != knn_graph(X.copy(), random_state=2)).nnz == 0
    D = pairwise_distances(X)
    D.flags.writeable = False
    knn_graph(D, metric="precomputed", weights=lambda d: np.exp(-d))


@settings(max_examples=40, deadline=None)
@given(
    X=arrays(float, st.tuples(st.integers(3, 25), st.integers(1, 3)), elements=st.sampled_from([0.0, 1.0, 2.0, 1e3])),
    k=st.integers(1, 2),
)
def test_invariants_on_any_data(X, k):
    W = knn_graph(X, n_neighbors=k)
    check_invariants(W)
    assert np.diff(W.indptr).min() >= k


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_neighbors": 0}, r"'n_neighbors' parameter must be an integer in \[1, 9\]. Got 0"),
        ({"n_neighbors": 10}, r"Got 10 instead. X has 10 rows"),
        ({"n_neighbors": 2.5}, r"Got 2.5"),
        ({"metric": "hamming"}, r"one of 'euclidean', 'manhattan', 'cosine'. Got 'hamming'"),
        ({"weights": "cubic"}, r"one of 'binary', 'heat', 'self-tuning'. Got 'cubic'"),
        ({"weights": "heat", "bandwidth": 0.0}, r"'bandwidth' parameter must be a finite number > 0. Got 0.0"),
        ({"weights": lambda d: d[0]}, r"one weight a distance: expected shape \(10, 5\), got \(5,\)"),
        ({"weights": lambda d: d - d}, r"positive finite weights: it gave np.float64\(0.0\)|it gave 0.0"),
        ({"bandwidth": 1.0}, r"bandwidth=1.0 goes with weights='heat'"),
        ({"symmetrize": "both"}, r"one of 'union', 'mutual'"),
        ({"method": "ball"}, r"one of 'auto', 'kdtree', 'exact', 'approximate'"),
        ({"method": "kdtree", "metric": canberra}, r"method='kdtree' needs dense X and a named metric"),
    ],
)
def test_bad_parameters(rng, change, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(rng.normal(size=(10, 2)), **change)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[0.0], [np.nan], [1.0]]), "contains NaN"),
        (np.array([[0.0], [np.inf], [1.0]]), "contains infinity"),
        (np.array([[0.0], [-1e160], [1.0]]), "up to 1e\\+160 in size"),
        (np.empty((0, 2)), "0 sample"),
        (np.ones((1, 2)), "1 sample"),
        (np.ones(5), "Expected 2D array"),
    ],
)
def test_bad_data(X, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(X, n_neighbors=1)


def test_zero_rows_under_cosine(rng):
    X = rng.normal(size=(20, 3))
    X[7] = 0.0
    with pytest.raises(ValueError, match="1 rows of X are zero, first row 7"):
        knn_graph(X, metric="cosine")
    with pytest.raises(ValueError, match="1 rows of X are zero, first row 7"):
        knn_graph(sparse.csr_array(X), metric="cosine")


def test_ready_made_graphs(rng):
    G = nx.gnp_random_graph(12, 0.4, seed=int(rng.integers(1 << 31)))
    for i, j in G.edges:
        G[i][j]["weight"] = float(rng.uniform(0.5, 2.0))
    W = check_graph(G)
    assert_allclose(W.toarray(), nx.to_numpy_array(G))
    assert_allclose(check_graph(W.toarray()).toarray(), W.toarray())
    assert_allclose(check_graph(sparse.coo_matrix(W)).toarray(), W.toarray())
    rounded = W.copy()
    rounded.data = rounded.data * (1 + 1e-14 * rng.normal(size=W.nnz))
    assert (check_graph(rounded) != check_graph(rounded).T).nnz == 0


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.array([[0.0, 1.0], [2.0, 0.0]]), r"W is not symmetric: W\[\d, \d\] = \d but W\[\d, \d\] = \d"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "must be positive: row 0 has weight -1"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "NaN or infinite weights, first in row 0"),
        (np.array([[1.0, 1.0], [1.0, 0.0]]), "1 self-loops, first at vertex 0"),
        (np.ones((2, 3)), r"square, non-empty weight matrix W. Got shape \(2, 3\)"),
        ("graph", "A graph is a scipy sparse array"),
    ],
)
def test_bad_graphs(W, message):
    with pytest.raises(ValueError, match=message):
        check_graph(W)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [1e-141, 1e-160, 1e-310])
def test_points_whose_distances_vanish_are_refused(rng, make, unit):
    X = make(rng.uniform(-1.0, 1.0, size=(30, 2)) * unit)
    with pytest.raises(ValueError, match=r"values up to .* below 1e-140 squares of distances vanish"):
        knn_graph(X, n_neighbors=3)


@pytest.mark.parametrize("features", [2, 20])
def test_distances_that_vanish_beside_an_outlier_are_warned_of(rng, features):
    X = rng.uniform(-1.0, 1.0, size=(30, features)) * 1e-170
    X[0] = 1.0
    with pytest.warns(AccuracyWarning, match="29 of 30 distinct points have a neighbour at distance 0"):
        knn_graph(X, n_neighbors=3)


@pytest.mark.parametrize("features", [2, 20])
def test_small_features_give_the_graph_of_large_ones(rng, features):
    X = rng.uniform(-1.0, 1.0, size=(30, features))
    unit = 2.0**-460  # about 1e-139
    assert (knn_graph(X, n_neighbors=3) != knn_graph(X * unit, n_neighbors=3)).nnz == 0
