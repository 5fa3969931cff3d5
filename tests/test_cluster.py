"""Clusters that are round, clusters that are long, hubs and outliers."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from halfmoon import DataDependentKernel, KernelKMeans
from halfmoon.cluster import _kernel_kmeans
from halfmoon.cluster._cut_features import normalized_cut
from halfmoon.graph import knn_graph
from halfmoon.tables import Recipe, Table, fit_table


def directions(rng, n=400):
    """Unit vectors around four centres: their graph has hubs."""
    centres, y = 0.7 * rng.normal(size=(4, 64)), rng.integers(4, size=n)
    X = centres[y] + rng.normal(size=(n, 64))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def test_directions_as_well_as_k_means(rng):
    X, y = directions(rng)
    plain = adjusted_rand_score(y, KMeans(4, n_init=10, random_state=0).fit_predict(X))
    labels = KernelKMeans(4, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, labels) > plain - 0.06
    assert np.bincount(labels).min() > 0.15 * len(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: make_moons(400, noise=0.05, random_state=seed),
        lambda seed: make_circles(400, noise=0.04, factor=0.45, random_state=seed),
    ],
)
def test_shapes(seed, make):
    X, y = make(seed)
    assert adjusted_rand_score(y, KernelKMeans(2, random_state=0).fit_predict(X)) > 0.95


def test_samples_of_many_rows_find_shapes_too(seed, monkeypatch):
    monkeypatch.setattr(_kernel_kmeans, "SAMPLE", 150)
    X, y = make_moons(400, noise=0.05, random_state=seed)
    model = KernelKMeans(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert_array_equal(model.predict(X), model.labels_)


def test_features_are_means_over_neighbours_per_degree(rng):
    """Against the dense formula D^-1 W D^-1/2 Phi, up to a constant; distances between rows know none."""
    X = np.repeat(rng.normal(size=(40, 3)), [2] + [1] * 39, axis=0)
    kernel = DataDependentKernel(n_neighbors=6, n_landmarks=20, random_state=0)
    model = KernelKMeans(3, kernel=kernel, random_state=0).fit(X)
    W = model.kernel_.graph_.toarray()
    d = W.sum(axis=1)
    gram = model.kernel_(X)
    P = W / d[:, None] / np.sqrt(d)
    expected = P @ gram @ P.T
    expected = np.vstack([expected[:2].mean(axis=0), expected[2:]])  # equal rows are one point
    expected = np.hstack([expected[:, :2].mean(axis=1, keepdims=True), expected[:, 2:]])
    F = model._features.values
    found = F @ F.T
    distances = [np.diag(K)[:, None] + np.diag(K) - 2 * K for K in (expected, found)]
    assert_allclose(distances[1], distances[0], atol=1e-8 * distances[0].max())


def test_metric_of_the_kernel_where_it_does_not_go_on_through_the_graph(rng):
    X = rng.normal(size=(60, 2))
    kernel = DataDependentKernel(n_neighbors=6, n_landmarks=60, extension="kernel", random_state=0)
    model = KernelKMeans(3, kernel=kernel, random_state=0).fit(X)
    within = sum(((K := model.kernel_(X[model.labels_ == c])).trace() - K.mean() * len(K)) for c in range(3))
    assert_allclose(model.inertia_, within, rtol=1e-5)


def test_normalized_cut(rng):
    W = knn_graph(rng.normal(size=(30, 2)), n_neighbors=4)
    labels = rng.integers(3, size=30)
    dense = W.toarray()
    expected = sum(dense[labels == c][:, labels != c].sum() / dense[labels == c].sum() for c in np.unique(labels))
    assert_allclose(normalized_cut(W, labels), expected)


def test_note_on_small_clusters(rng):
    """Twelve rows far from 1,500 others are a cluster, and the note says how small it is."""
    X = np.vstack([rng.normal(size=(1500, 2)), rng.normal(50.0, 0.1, size=(12, 2))])
    notes = []
    model = fit_table(Table(Path("outliers.npy"), X), Recipe("cluster", n_clusters=2), notes.append)
    assert sorted(np.bincount(model.estimator.labels_)) == [12, 1500]
    assert ["(12)" in note for note in notes if "perhaps outliers" in note] == [True]
