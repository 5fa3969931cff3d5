"""Rows that arrive later: a geometry with them, and the exact one."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from halfmoon import DataDependentKernel, Geometry
from halfmoon.graph import AppendedIndex, NeighborIndex, knn_graph
from halfmoon.kernels import GraphExtension

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
EXACT = {"graph_params": {"method": "exact"}, "n_neighbors": 6, "random_state": 0}


@pytest.fixture
def X(rng):
    return rng.normal(size=(150, 3))


def build(X, **changes):
    return Geometry.build(X, **{"n_landmarks": 30} | EXACT | changes)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_an_index_with_appended_rows_finds_what_one_of_all_rows_finds(rng, X, metric, form):
    X = form(np.concatenate([X, X[:4]]))
    index = AppendedIndex(AppendedIndex(NeighborIndex(X[:100], metric=metric), X[100:140]), X[140:])
    whole = NeighborIndex(X, metric=metric, method="exact")
    assert_array_equal(index.duplicates.group, whole.duplicates.group)
    Z = form(rng.normal(size=(20, 3)))
    for found, wanted in zip(index.query(Z, 7), whole.query(Z, 7), strict=True):
        assert_allclose(found, wanted, atol=1e-9)


def test_a_row_is_where_it_was_predicted(rng, X):
    geometry, h_hat = build(X[:120]), rng.normal(size=(30, 2))
    more = geometry.append(X[120:])
    predicted = geometry.average(X[120:], geometry.on_points(h_hat))
    assert_allclose(more.extend(h_hat)[120:], predicted, atol=1e-6)
    assert_allclose(more.extend(h_hat)[:120], geometry.extend(h_hat))
    assert_allclose(more.average(X[120:], more.on_points(h_hat)), predicted, atol=1e-6)


@pytest.mark.parametrize("stored", [False, True])
def test_rows_values_and_masses_are_of_one_interpolation(rng, X, stored):
    geometry = build(X[:120], powers=[1, 3])
    geometry = geometry.storing_interpolation() if stored else geometry
    more = geometry.append(X[120:135]).append(X[135:])
    rows, h_hat, masses = rng.permutation(150)[:40], rng.normal(size=30), rng.random(150)
    for power, T in more.rows_of_powers(rows).items():
        assert_allclose(T, more.rows(rows, power), atol=1e-6)
        assert_allclose(T @ h_hat, more.extend(h_hat, power)[rows], atol=1e-4)
        assert_allclose(more.gather(masses, power), more.rows(np.arange(150), power).T @ masses, atol=1e-3)
    assert more.rounding(h_hat[:, None]).shape == (150, 1)


def test_the_graph_links_new_rows_to_their_neighbours(X):
    more = build(X[:120]).append(X[120:])
    W, whole = more.graph, knn_graph(X, n_neighbors=6, method="exact")
    assert abs(W - W.T).max() == 0.0
    assert W.diagonal().max() == 0.0
    assert_array_equal(W[:120, :120].toarray(), knn_graph(X[:120], n_neighbors=6, method="exact").toarray())
    missing = sparse.csr_array(whole - whole.minimum(W))  # only links from old rows to new ones
    assert missing[120:, 120:].nnz == 0
    assert more.components.labels.shape == (150,)


@pytest.mark.parametrize("weights", ["binary", "heat", "self-tuning"])
def test_refresh_is_a_rebuild_on_the_same_landmarks(X, weights):
    exact = build(X[:120], weights=weights).append(X[120:140]).append(X[140:]).refresh()
    again = build(X, weights=weights, n_landmarks=None, landmarks=exact.landmarks)
    assert exact.appended is None
    assert_array_equal(exact.graph.toarray(), again.graph.toarray())
    assert_array_equal(exact.restriction().greens, again.restriction().greens)
    assert_array_equal(exact.extend(np.ones(30)), again.extend(np.ones(30)))
    assert exact.refresh() is exact


def test_other_settings_are_of_the_exact_state(X):
    changed = build(X[:120]).append(X[120:]).replace(ridge=0.1)
    again = build(X, n_landmarks=None, landmarks=changed.landmarks, ridge=0.1)
    assert_allclose(changed.restriction().greens, again.restriction().greens)


def test_nothing_is_changed(X):
    geometry = build(X[:120], labeled=np.arange(120) < 5)
    before, new = pickle.dumps(geometry), X[120:].copy()
    more = geometry.append(new)
    assert pickle.dumps(geometry) == before
    assert_array_equal(new, X[120:])
    assert (geometry.n, more.n, len(more.labeled), more.labeled.sum()) == (120, 150, 150, 5)
    assert_array_equal(more.X, X)


def test_copies_of_known_rows_are_where_these_are(rng, X):
    geometry, h_hat = build(X), rng.normal(size=30)
    more = geometry.append(np.concatenate([X[:3], X[[1]]]))
    assert more.index.n_points == 150
    assert_allclose(more.extend(h_hat)[150:], geometry.extend(h_hat)[[0, 1, 2, 1]])
    assert_allclose(more.rows(np.arange(150, 153)), geometry.rows(np.arange(3)), atol=1e-6)


@pytest.mark.parametrize("copies", [0, 2])
def test_what_was_computed_on_landmarks_and_old_rows_is_kept(X, copies):
    kernel = DataDependentKernel(n_neighbors=6, n_landmarks=30, random_state=0).fit(
        np.concatenate([X[:120], X[:copies]])
    )
    before = kernel.warped_.smooth_extension
    assert before.sizes_everywhere.shape == (120, 1)
    after = kernel.append(X[120:135]).append(X[135:]).warped_.smooth_extension
    anew = GraphExtension(after.geometry, after.power, after.K_hat, after.eta, with_modes=False)
    assert after.K_SS is before.K_SS
    assert ("sizes_everywhere" in vars(after)) == (copies == 0)
    assert_allclose(after.sizes_everywhere, anew.sizes_everywhere, atol=1e-6)


def test_every_row_a_landmark(X):
    more = build(X[:60], n_landmarks=None, landmarks=np.arange(60), powers=[1]).append(X[60:70])
    values = more.on_points(np.eye(60))
    assert_array_equal(values[:60], np.eye(60))
    assert_allclose(values[60:].sum(axis=1), 1.0)


def test_types_of_rows(X):
    images = np.clip(60 * np.abs(X), 0, 255).astype(np.uint8)
    geometry = build(images[:120])
    assert geometry.append(images[120:].astype(float)).X.dtype == np.uint8
    assert geometry.append(images[120:] + 0.5).X.dtype == np.float64
    assert sparse.issparse(build(sparse.csr_array(X[:120])).append(X[120:]).X)


def test_errors_say_what_to_do(X):
    with pytest.raises(ValueError, match="X_new has 2 features, but the geometry was built on 3"):
        build(X).append(X[:, :2])
    with pytest.raises(ValueError, match="'graph' of this geometry was given for its 150 rows"):
        build(X, graph=knn_graph(X)).append(X[:2] + 1.0)
    with pytest.raises(ValueError, match="'regularizer' of this geometry was given"):
        build(X, regularizer=np.eye(150)).append(X[:2] + 1.0)
