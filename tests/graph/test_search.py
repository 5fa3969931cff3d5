"""Searches against brute force: precision, types of data, duplicates, threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances

from halfmoon.graph import NeighborIndex, SearchOptions, find_duplicates, knn_graph
from halfmoon.graph._duplicates import RowLookup


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6, 1e-9])
def test_exact_search_is_exact_inside_tight_clusters(rng, spread):
    """Clusters far apart: float32 products say nothing within one, the certificate notices."""
    centers = rng.normal(size=(5, 20))
    X = centers[rng.integers(5, size=400)] + spread * rng.normal(size=(400, 20))
    lists = NeighborIndex(X, method="exact").neighbors_of_data(6)
    D = np.linalg.norm(X[:, None] - X[None], axis=-1)
    np.fill_diagonal(D, np.inf)
    assert_array_equal(lists.indices, np.argsort(D, axis=1)[:, :6])
    assert_allclose(lists.distances, np.sort(D, axis=1)[:, :6], rtol=1e-10)


@pytest.mark.parametrize("method", ["exact", "kdtree", "approximate"])
@pytest.mark.parametrize("kind", ["uint8", "float16", "float32", "int32", "bool", "fortran", "memmap"])
def test_types_of_data_do_not_matter(rng, tmp_path, kind, method):
    X = rng.integers(0, 2 if kind == "bool" else 200, size=(300, 14))
    if kind == "memmap":
        other = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=X.shape)
        other[:] = X
        other.flush()
        other = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=X.shape)
    else:
        other = np.asfortranarray(X.astype(float)) if kind == "fortran" else X.astype(kind)
    other.flags.writeable = False
    expected = knn_graph(X.astype(float), method=method, weights="heat", random_state=0)
    W = knn_graph(other, method=method, weights="heat", random_state=0)
    assert_array_equal(W.indices, expected.indices)
    assert_allclose(W.data, expected.data, rtol=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_duplicates_are_found(rng, as_sparse):
    X = rng.integers(-1, 2, size=(500, 4)).astype(float)
    X[X == 0.0] *= rng.choice([-1.0, 1.0], size=(X == 0.0).sum())  # negative zeros too
    duplicates = find_duplicates(sparse.csr_array(X) if as_sparse else X)
    _, first, inverse = np.unique(X + 0.0, axis=0, return_index=True, return_inverse=True)
    assert_array_equal(np.sort(first), duplicates.first)
    assert_array_equal(duplicates.first[duplicates.group], first[inverse])


def test_rows_are_found_by_value(rng):
    X = rng.normal(size=(200, 3))
    lookup = RowLookup(X)
    asked = rng.permutation(200)[:50]
    assert_array_equal(lookup.find(X[asked]), asked)
    assert_array_equal(lookup.find(rng.normal(size=(20, 3))), -1)


def test_self_tuning_weights(rng):
    X = rng.normal(size=(80, 3))
    D = pairwise_distances(X)
    scale = np.sort(D, axis=1)[:, 5]
    W = knn_graph(X, weights="self-tuning")
    rows, columns = W.nonzero()
    assert_allclose(W.data, np.exp(-(D[rows, columns] ** 2) / (scale[rows] * scale[columns])), rtol=1e-9)
    duplicates = np.repeat(rng.normal(size=(10, 2)), 9, axis=0)
    assert knn_graph(duplicates, weights="self-tuning").data.min() > 0


@pytest.mark.parametrize(("method", "d"), [("exact", 16), ("approximate", 16), ("approximate", 60)])
def test_threads_change_nothing_and_progress_is_reported(rng, method, d):
    X = rng.normal(size=(3000, 16))[:, np.arange(d) % 16] + 0.1 * rng.normal(size=(3000, d))
    heard = []
    W = knn_graph(X, method=method, n_jobs=1, random_state=5, progress=lambda *step: heard.append(step))
    assert (knn_graph(X, method=method, n_jobs=3, random_state=5) != W).nnz == 0
    assert heard
    assert all(0 < done <= total and isinstance(step, str) for done, total, step in heard)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recall": 0.0}, "'recall' parameter must be a finite number > 0"),
        ({"recall": 1.5}, r"'recall' parameter must be in \(0, 1\]. Got 1.5"),
        ({"n_jobs": 0}, "'n_jobs' parameter must be an integer >= 1"),
    ],
)
def test_bad_options(change, message):
    with pytest.raises(ValueError, match=message):
        SearchOptions(**change)


def recall_of(lists, X, k):
    D = pairwise_distances(X)
    np.fill_diagonal(D, np.inf)
    truth = np.argsort(D, axis=1)[:, :k]
    return (truth[:, :, None] == lists.indices[:, None, :]).any(axis=2).mean()


@pytest.mark.parametrize("kind", ["dense", "wide", "sparse"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_approximate_search_reaches_its_recall(rng, kind, metric):
    """The estimate is honest: the true recall over all rows is what was asked for, up to sampling."""
    d = {"dense": 16, "wide": 300, "sparse": 500}[kind]
    X = rng.normal(size=(4000, 8)) @ rng.normal(size=(8, d)) + 0.3 * rng.normal(size=(4000, d))
    if kind == "sparse":
        X = np.where(np.abs(X) > 3.0, X, 0.0)
        X[:, 0] = 1.0
    data = sparse.csr_array(X) if kind == "sparse" else X
    index = NeighborIndex(data, metric=metric, method="approximate", options=SearchOptions(recall=0.9))
    lists = index.neighbors_of_data(7)
    true = recall_of(lists, X if metric == "euclidean" else X / np.linalg.norm(X, axis=1, keepdims=True), 7)
    assert true >= 0.88
    assert abs(true - lists.recall) < 0.03
    assert lists.recall_sample == 500


def test_exact_search_takes_over(rng):
    """Noise in 300 dimensions has no structure that a sketch could use; the recall asked for is still met."""
    X = rng.normal(size=(3000, 300))
    lists = NeighborIndex(X, method="approximate", options=SearchOptions(recall=0.9999)).neighbors_of_data(5)
    assert recall_of(lists, X, 5) == 1.0
    assert lists.method == "exact"
    assert (lists.recall, lists.recall_sample) == (1.0, 0)


def test_scales_that_float32_cannot_hold_together(rng):
    """A tight cluster a million times its size away: the audit sees what the sketch cannot."""
    X = np.concatenate([1e6 + 1e-2 * rng.normal(size=(2000, 16)), rng.normal(size=(2000, 16))])
    lists = NeighborIndex(X, method="approximate", options=SearchOptions(recall=0.9)).neighbors_of_data(5)
    near = [
        np.argsort(np.linalg.norm(block[:, None] - block, axis=2), axis=1)[:, 1:6] + offset
        for block, offset in ((X[:2000], 0), (X[2000:], 2000))
    ]
    true = (np.concatenate(near)[:, :, None] == lists.indices[:, None, :]).any(axis=2).mean()
    assert true >= 0.88
    assert abs(true - lists.recall) < 0.03


@pytest.mark.parametrize("d", [40, 300])
def test_codes_that_cannot_hold_the_data(rng, d):
    """Clusters a thousand times their size apart, and a row far from all: one byte per feature tells nothing."""
    X = rng.normal(size=(40, d))[rng.integers(40, size=4000)] + 1e-3 * rng.normal(size=(4000, d))
    X[0] *= 1e4
    lists = NeighborIndex(X, method="approximate", options=SearchOptions(recall=0.9)).neighbors_of_data(5)
    assert recall_of(lists, X, 5) >= 0.88


def test_approximate_distances_are_exact_and_lists_sorted(rng):
    X = 1e6 + rng.normal(size=(3000, 20))
    lists = NeighborIndex(X, method="approximate").neighbors_of_data(6)
    distances, indices = lists.distances, lists.indices
    assert np.all(np.diff(distances, axis=1) >= 0)
    assert np.all(indices != np.arange(3000)[:, None])
    assert all(len(set(row)) == 6 for row in indices.tolist())
    expected = np.linalg.norm(X[:, None] - X[indices], axis=-1)
    assert_allclose(distances, expected, rtol=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_new_points_find_their_neighbours(rng, as_sparse):
    X = rng.normal(size=(5000, 6)) @ rng.normal(size=(6, 40))
    Y = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 40))
    Y[:50] = X[rng.integers(5000, size=50)]
    D = pairwise_distances(Y, X)
    change = sparse.csr_array if as_sparse else np.asarray
    search = NeighborIndex(change(X), method="approximate", options=SearchOptions(recall=0.9))
    distances, found = search.query(change(Y), 5)
    truth = np.argsort(D, axis=1)[:, :5]
    assert (truth[:, :, None] == found[:, None, :]).any(axis=2).mean() >= 0.85
    assert_allclose(distances, np.take_along_axis(D, found, axis=1), atol=1e-6)
    assert_allclose(distances[:50, 0], 0.0, atol=1e-12)  # a known point finds itself


def test_queries_do_not_depend_on_whether_the_graph_was_built(rng):
    """A model file has no search: the one built after loading must give the same neighbours, ties included."""
    X, Y = (rng.integers(0, 4, size=(m, 30)).astype(np.float64) for m in (4000, 300))
    options = SearchOptions(recall=0.9, seed=int(rng.integers(1 << 31)))
    used, fresh = (NeighborIndex(X, method="approximate", options=options) for _ in range(2))
    used.neighbors_of_data(5)
    for found, expected in zip(used.query(Y, 5), fresh.query(Y, 5), strict=True):
        assert_array_equal(found, expected)


def test_copies_in_approximate_search(rng):
    """80 % of the rows repeat."""
    points = rng.normal(size=(2000, 16))
    X = points[np.concatenate([np.arange(2000), rng.integers(2000, size=8000)])]
    W, report = knn_graph(X, method="approximate", n_neighbors=5, return_report=True)
    assert np.diff(W.indptr).min() >= 5
    assert not W.diagonal().any()
    assert (W != W.T).nnz == 0
    assert report.method == "approximate"


@pytest.mark.parametrize("columns", [1, 3])
def test_approximate_search_of_awkward_data(rng, columns):
    """Few rows, constant columns, one feature, all equal: defined answers."""
    for X in (
        rng.normal(size=(7, columns)),
        np.c_[rng.normal(size=(500, columns)), np.ones((500, 2))],
        np.ones((50, columns)),
    ):
        W = knn_graph(X, method="approximate", n_neighbors=min(5, len(X) - 1))
        assert np.diff(W.indptr).min() >= min(5, len(X) - 1)


def test_methods_refuse_what_they_cannot_do(rng):
    X = rng.normal(size=(30, 3))
    with pytest.raises(ValueError, match=r"method='approximate' needs metric='euclidean' or 'cosine'. Got 'manhattan'"):
        knn_graph(X, method="approximate", metric="manhattan")


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_approximate_search_refuses_what_float32_cannot_hold(rng, scale):
    X = scale * rng.normal(size=(200, 20))
    with pytest.raises(ValueError, match="the features must span 1e-15 to"):
        NeighborIndex(X, method="approximate")
    lists, scaled = (NeighborIndex(data, method="exact").neighbors_of_data(3) for data in (X, X / scale))
    assert_array_equal(lists.indices, scaled.indices)
