"""Searches against brute force: precision, types of data, copies, threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import pairwise_distances

from halfmoon.graph import NeighborSearch, SearchOptions, find_copies, knn_graph
from halfmoon.graph._copies import RowLookup


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6])
def test_exact_search_is_exact_inside_tight_clusters(rng, spread):
    """Clusters far apart: float32 products say nothing within one, the certificate notices."""
    centers = rng.normal(size=(5, 20))
    X = centers[rng.integers(5, size=400)] + spread * rng.normal(size=(400, 20))
    distances, indices = NeighborSearch(X, method="exact").neighbors_of_data(6)
    D = np.linalg.norm(X[:, None] - X[None], axis=-1)
    np.fill_diagonal(D, np.inf)
    assert_array_equal(indices, np.argsort(D, axis=1)[:, :6])
    assert_allclose(distances, np.sort(D, axis=1)[:, :6], rtol=1e-10)


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
def test_copies_are_found(rng, as_sparse):
    X = rng.integers(-1, 2, size=(500, 4)).astype(float)
    X[X == 0.0] *= rng.choice([-1.0, 1.0], size=(X == 0.0).sum())  # negative zeros too
    copies = find_copies(sparse.csr_array(X) if as_sparse else X)
    _, first, inverse = np.unique(X + 0.0, axis=0, return_index=True, return_inverse=True)
    assert_array_equal(np.sort(first), copies.first)
    assert_array_equal(copies.first[copies.group], first[inverse])


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
    copies = np.repeat(rng.normal(size=(10, 2)), 9, axis=0)
    assert knn_graph(copies, weights="self-tuning").data.min() > 0


@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_threads_change_nothing_and_progress_is_told(rng, method):
    X = rng.normal(size=(3000, 16))
    told = []
    W = knn_graph(X, method=method, n_jobs=1, random_state=5, progress=lambda *step: told.append(step))
    assert (W != knn_graph(X, method=method, n_jobs=3, random_state=5)).nnz == 0
    assert told
    assert all(0 < done <= total and isinstance(step, str) for done, total, step in told)


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
