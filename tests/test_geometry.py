"""Geometry: built once, asked many times, never changed."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from halfmoon import DataDependentKernel, Geometry, restrict
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.graph import knn_graph
from halfmoon.kernels import warp
from halfmoon.regularizers import PowerRegularizer, SpectralRegularizer


@pytest.fixture
def X(rng):
    return rng.normal(size=(150, 3))


def build(X, **settings):
    return Geometry.build(X, **({"n_neighbors": 9, "n_landmarks": 25, "random_state": 3} | settings))


def test_stages_are_those_of_the_functions(X):
    """Sections 2 to 4: the graph, the regulariser and eq. 7, one after the other."""
    geometry = build(X, powers=[2], ridge=0.05)
    W = knn_graph(X, n_neighbors=9, random_state=0)
    assert (abs(geometry.graph - W)).max() == 0.0
    expected = restrict(PowerRegularizer(W, power=2, ridge=0.05), geometry.landmarks)
    assert_allclose(geometry.restriction(2).smooth, expected.smooth, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "shared", "anew"),
    [
        ({"ridge": 0.5}, ["index", "graph", "landmarks"], ["regularizer"]),
        ({"n_landmarks": 10}, ["index", "graph", "regularizer"], ["landmarks"]),
        ({"n_neighbors": 7}, ["index", "landmarks"], ["graph", "regularizer"]),
        ({"powers": (3, 1)}, ["index", "graph", "regularizer", "landmarks"], []),
    ],
)
def test_replace_computes_only_what_lies_downstream(X, change, shared, anew):
    before = build(X)
    after = before.replace(**change)
    assert all(getattr(after, name) is getattr(before, name) for name in shared)
    assert not any(getattr(after, name) is getattr(before, name) for name in anew)
    scratch = build(X, **change)
    for power in after.settings.powers:
        assert_allclose(after.restriction(power).smooth, scratch.restriction(power).smooth, rtol=1e-9)


def test_known_powers_are_kept(X):
    before = build(X, powers=[3])
    after = before.replace(powers=(1, 3))
    assert after.restriction(3) is before.restriction(3)
    with pytest.raises(ValueError, match=r"was built for the powers \[1, 3\]"):
        after.restriction(2)
    with pytest.raises(ValueError, match=r"no parameters \['eta'\]"):
        after.replace(eta=1.0)


def test_frozen(X):
    geometry = build(X)
    for thing in (geometry, geometry.settings, warp(geometry)):
        with pytest.raises(AttributeError):
            thing.eta = 1.0


def test_a_kernel_is_its_geometry_warped(X):
    kernel = DataDependentKernel(n_neighbors=9, n_landmarks=25, random_state=3, eta=0.3).fit(X)
    same = warp(build(X), eta=0.3)
    assert_allclose(kernel(X[:10]), same(X[:10]), rtol=1e-8)
    assert_allclose(kernel.rewarp(eta=5.0)(X[:10]), warp(kernel.geometry_, eta=5.0)(X[:10]))
    with pytest.raises(ValueError, match="cannot change"):
        kernel.rewarp(n_neighbors=3)
    with pytest.raises(ValueError, match="'extension' parameter must be one of"):
        kernel.rewarp(extension="nonsense")


def test_unit_scale(X):
    """The mean diagonal on the landmarks is 1; scale=None gives the paper's formula, up to that factor."""
    for extension in ("graph", "kernel"):
        unit, paper = (warp(build(X), extension=extension, scale=scale) for scale in ("unit", None))
        assert_allclose(unit.diag(unit.geometry.landmark_points).mean(), 1.0)
        assert_allclose(unit(X[:8]), unit.factor * paper(X[:8]))


def test_interpolation_and_rows_agree(X, rng):
    geometry = build(X, powers=[1, 2])
    h = rng.normal(size=25)
    for power in (1, 2):
        values = geometry.extend(h, power)
        assert_allclose(values[geometry.landmarks], h, atol=1e-7)
        rows = rng.permutation(150)[:12]
        assert_allclose(geometry.rows(rows, power) @ h, values[rows], atol=1e-6)
    assert_allclose(geometry.rows_of_powers(rows)[2] @ h, values[rows], atol=1e-6)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("n_apart", [0, 20])
def test_masses_gathered_at_landmarks_are_column_sums_of_T(rng, n_apart):
    """The mass of h* is that of its landmark values; a component without landmark has none."""
    X = np.concatenate([rng.normal(size=(100, 3)), rng.normal(size=(50, 3)) + 50.0, rng.normal(size=(n_apart, 3)) - 50])
    n = len(X)
    geometry = build(X, landmarks=rng.permutation(150)[:40], n_landmarks=None, powers=[1, 2])
    masses = rng.uniform(size=n)
    for power in (1, 2):
        T = geometry.rows(np.arange(n), power)
        assert_allclose(geometry.gather(masses, power), masses @ T, atol=1e-6 * n)
    whole = build(X, landmarks=np.arange(n), n_landmarks=None)
    assert_array_equal(whole.gather(masses), masses)


def test_fewer_landmarks_without_a_solve(X):
    geometry = build(X)
    few = geometry.fewer_landmarks(np.arange(10))
    assert_array_equal(few.landmarks, geometry.landmarks[:10])
    assert_allclose(few.restriction().smooth, geometry.restriction().smooth[:10, :10])


def test_graph_params_reach_the_search_for_new_points(rng):
    X = rng.normal(size=(400, 20))
    geometry = build(X, graph_params={"method": "approximate", "recall": 0.8})
    assert geometry.index.method == "approximate"
    assert geometry.index.options.recall == 0.8


def test_the_warning_counts_labels_and_names_the_parameter(rng):
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(20, 2)) + 50.0])
    with pytest.warns(
        DisconnectedGraphWarning, match=r"1 of them, with 20 of 60 vertices, hold no labelled row.*graph_params="
    ):
        build(X, labeled=np.arange(60) < 5, landmarks=np.arange(0, 60, 3), n_landmarks=None)


def test_memory_and_functions_that_cannot_be_pickled(X, tmp_path):
    with pytest.raises(ValueError, match="needs a regulariser that can be pickled"):
        build(X, regularizer=lambda W: SpectralRegularizer(W, lambda x: 1.0 + x), memory=str(tmp_path))


def test_given_landmarks_and_their_number(X):
    with pytest.raises(ValueError, match="n_landmarks=25 does not go with 3 given landmarks"):
        build(X, landmarks=[1, 2, 3])


def test_precomputed_distances_must_be_symmetric(rng):
    D = rng.random((20, 20))
    for given in (D, sparse.csr_array(D)):
        with pytest.raises(ValueError, match="not symmetric"):
            knn_graph(given, metric="precomputed", n_neighbors=3)


def test_the_table_of_equations_names_what_there_is():
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    names = re.findall(r"`(halfmoon\.[\w.]+)`", text.split("## Where the equations are")[1].split("\n## ")[0])
    assert len(names) >= 18
    for name in names:
        module, *attributes = name.split(".")[:2], *name.split(".")[2:]
        thing = import_module(".".join(module))
        for attribute in attributes:
            thing = getattr(thing, attribute)
    steps = re.findall(r"^\d+\. ", text.split("to the answer")[1].split("\n## ")[0], flags=re.M)
    assert len(steps) <= 15


def test_known_points_placed_as_if_they_were_new(rng):
    X, values = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    geometry = Geometry.build(X, n_neighbors=4, n_landmarks=10, random_state=0)
    found = geometry.average(X, values, as_new=True)
    for i in range(50):
        others = np.delete(np.arange(50), i)
        distances = np.linalg.norm(X[others] - X[i], axis=1)
        near = np.argsort(distances)[:4]
        weights = distances[near] ** -2.0
        np.testing.assert_allclose(found[i], weights @ values[others[near]] / weights.sum(), rtol=1e-5)
    np.testing.assert_array_equal(geometry.average(X, values), values)
    assert geometry.knows(X).all()
    assert not geometry.knows(X + 0.01).any()
