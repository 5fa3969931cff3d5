"""Neighbour lists that somebody already has: the same graph as from X, and clear errors for lists that are wrong."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from halfmoon import DataDependentKernel, Geometry, LapSVC
from halfmoon.exceptions import AccuracyWarning
from halfmoon.graph import NeighborIndex, knn_graph
from halfmoon.model_selection import KernelSearchCV
from halfmoon.runtime.pieces import digest
from halfmoon.semi_supervised._checkpointed import _described


@pytest.fixture
def points(rng):
    return rng.normal(size=(120, 5))


def lists_of(X, k, itself=True):
    """Indices and distances as UMAP, pynndescent and scikit-learn return them."""
    search = NearestNeighbors(n_neighbors=k).fit(X)
    distances, indices = search.kneighbors(X if itself else None)
    return indices, distances


@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize("weights", ["binary", "self-tuning"])
def test_given_lists_make_the_same_graph(points, itself, weights):
    ready = lists_of(points, 12, itself)
    geometry = Geometry.build(points, neighbors=ready, n_neighbors=6, weights=weights, n_landmarks=30, random_state=0)
    expected = knn_graph(points, n_neighbors=6, weights=weights)
    np.testing.assert_allclose(geometry.graph.toarray(), expected.toarray())


def test_the_order_within_lists_and_the_place_of_the_row_itself_do_not_matter(points, rng):
    indices, distances = lists_of(points, 9)
    order = np.argsort(rng.random(indices.shape), axis=1)
    shuffled = tuple(np.take_along_axis(array, order, axis=1) for array in (indices, distances.astype(np.float32)))
    one, other = (
        Geometry.build(points, neighbors=lists, n_neighbors=8, n_landmarks=30, random_state=0).graph.toarray()
        for lists in ((indices, distances), shuffled)
    )
    np.testing.assert_array_equal(one, other)


def test_a_row_that_missed_itself_loses_its_last_neighbour(points):
    indices, distances = lists_of(points, 6)
    alone = lists_of(points, 6, itself=False)
    indices[7], distances[7] = alone[0][7], alone[1][7]
    geometry = Geometry.build(points, neighbors=(indices, distances), n_neighbors=5, n_landmarks=30, random_state=0)
    np.testing.assert_array_equal(geometry.graph.toarray(), knn_graph(points, n_neighbors=5).toarray())


def test_an_estimator_with_given_neighbors_is_the_one_without():
    X, y = load_digits(return_X_y=True)
    few = np.where(np.arange(len(y)) < 40, y, -1)
    kernel = {"n_neighbors": 8, "n_landmarks": 100, "random_state": 0}
    given = LapSVC(kernel=DataDependentKernel(neighbors=lists_of(X, 10), **kernel)).fit(X[:1797], few)
    own = LapSVC(kernel=DataDependentKernel(**kernel)).fit(X, few)
    assert given.score(X, y) == pytest.approx(own.score(X, y), abs=0.01)  # ties are broken otherwise
    new = X[:50] + 0.1
    assert (given.predict(new) == own.predict(new)).mean() > 0.95


def test_a_search_over_numbers_of_neighbours_cuts_the_lists(points):
    y = np.where(np.arange(120) < 30, np.arange(120) % 2, -1)
    estimator = LapSVC(kernel=DataDependentKernel(neighbors=lists_of(points, 13), n_landmarks=30, random_state=0))
    search = KernelSearchCV(estimator, {"kernel__n_neighbors": [6, 12], "kernel__power": [1, 2]}, cv=2, random_state=0)
    assert search.fit(points, y).best_params_["kernel__n_neighbors"] in (6, 12)


def test_three_parts_as_umap_has_them(points):
    ready = (*lists_of(points, 9), object())
    kernel = DataDependentKernel(neighbors=ready, n_neighbors=8, n_landmarks=20, random_state=0).fit(points)
    assert kernel.graph_.shape == (120, 120)


def test_no_lists_are_searched_for_where_they_are_given(rng, monkeypatch):
    """Among many points an index for new points is enough."""
    X = rng.normal(size=(4200, 6)).astype(np.float32)
    ready = lists_of(X, 9)
    monkeypatch.setattr(NeighborIndex, "neighbors_of_data", lambda *_: pytest.fail("searched"))
    monkeypatch.setattr(NeighborIndex, "_choose", lambda *_: pytest.fail("searched"))
    geometry = Geometry.build(X, neighbors=ready, n_neighbors=8, n_landmarks=20, random_state=0)
    assert "_search" not in vars(geometry.index)
    assert geometry.knows(X[:5]).all()


def test_other_powers_and_other_lists(points):
    geometry = Geometry.build(points, neighbors=lists_of(points, 9), n_neighbors=8, n_landmarks=20, random_state=0)
    assert geometry.replace(powers=[1]).restriction(1).n_components == geometry.restriction().n_components
    fewer = geometry.replace(neighbors=lists_of(points, 14), n_neighbors=12)
    assert fewer.graph.nnz > geometry.graph.nnz
    with pytest.raises(ValueError, match="The 'neighbors' of this geometry was given for its 120 rows"):
        geometry.append(points[:2] + 1.0)


def test_checkpoints_tell_lists_apart(points):
    one, other = lists_of(points, 9), lists_of(points + 1.0 * points**2, 9)
    assert digest(_described(one)) == digest(_described(lists_of(points, 9))) != digest(_described(other))


def swapped(indices, distances):
    return distances, indices


def squares(indices, distances):
    return indices, distances**2


def missing(indices, distances):
    indices[3, 4] = -1
    return indices, distances


def beyond(indices, distances):
    indices[3, 4] = 120
    return indices, distances


def negative(indices, distances):
    distances[5, 2] = -0.5
    return indices, distances


def infinite(indices, distances):
    distances[5, 2] = np.inf
    return indices, distances


def twice(indices, distances):
    indices[6, 3] = indices[6, 2]
    return indices, distances


WRONG = {
    swapped: "here the distances come first, as faiss has them. Swap them",
    squares: r"are squares: row 0 is at .* pass neighbors=\(indices, numpy.sqrt\(distances\)\)",
    missing: "The list of row 3 in 'neighbors' names row -1, and rows go from 0 to 119",
    beyond: "The list of row 3 in 'neighbors' names row 120",
    negative: "The list of row 5 in 'neighbors' has the distance -0.5",
    infinite: "The list of row 5 in 'neighbors' has the distance inf",
    twice: "The list of row 6 in 'neighbors' names row .* twice",
    lambda i, d: (i[:-1], d[:-1]): r"must be two arrays of shape \(120, m\).* Got shapes \(119, 9\) and \(119, 9\)",
    lambda i, d: (i, d[:, 1:]): r"Got shapes \(120, 9\) and \(120, 8\)",
    lambda i, d: (i[:, :5], d[:, :5]): "n_neighbors=8 is more than the 4 other rows",
    lambda i, d: i: r"must be a pair \(indices, distances\). Got ndarray",
    lambda i, d: (i + 0.5, d): "whole numbers and numbers. Got arrays of type float64",
}


@pytest.mark.parametrize("spoil", WRONG)
def test_lists_that_are_wrong(points, spoil):
    ready = spoil(*lists_of(points, 9))
    with pytest.raises(ValueError, match=WRONG[spoil]):
        Geometry.build(points, neighbors=ready, n_neighbors=8, n_landmarks=20, random_state=0)


def test_lists_of_another_metric_are_reported(points):
    search = NearestNeighbors(n_neighbors=9, metric="cosine").fit(points)
    distances, indices = search.kneighbors(points)
    with pytest.warns(AccuracyWarning, match="not those of metric='euclidean'.* New points are placed by"):
        Geometry.build(points, neighbors=(indices, distances), n_neighbors=8, n_landmarks=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        Geometry.build(
            points, neighbors=(indices, distances), metric="cosine", n_neighbors=8, n_landmarks=20, random_state=0
        )


def test_a_graph_and_lists_contradict_each_other(points):
    with pytest.raises(ValueError, match="Both 'graph' and 'neighbors' are given"):
        DataDependentKernel(graph=knn_graph(points), neighbors=lists_of(points, 9)).fit(points)
