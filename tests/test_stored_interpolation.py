"""The interpolation of Theorem 3.2, stored in float32, against solves."""

import gc
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from halfmoon import Geometry, progress_callback
from halfmoon.regularizers import HeatRegularizer

pytestmark = pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")


def build(X, **settings):
    return Geometry.build(X, **({"n_neighbors": 9, "n_landmarks": 25, "random_state": 3} | settings))


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_rows_and_extensions_are_those_of_solves(rng, graph, power):
    n = graph.shape[0]
    landmarks = rng.permutation(n)[: rng.integers(3, n // 2)]
    solving = build(rng.normal(size=(n, 2)), graph=graph, landmarks=landmarks, n_landmarks=None, powers=[power])
    stored = solving.storing_interpolation()
    h_hat = rng.normal(size=(len(landmarks), 3))
    solved = solving.extend(h_hat)
    difference = np.abs(stored.extend(h_hat) - solved)
    assert np.all(difference <= stored.rounding(h_hat) + 1e-9 * np.abs(solved).max())
    assert_allclose(stored.extend(h_hat[:, 0]), stored.extend(h_hat)[:, 0], rtol=1e-12)
    rows = rng.permutation(n)
    T = solving.rows(rows)
    assert_allclose(stored.rows(rows), T, rtol=1e-6, atol=1e-7 * np.abs(T).max())
    assert_array_equal(stored.rows(landmarks), np.eye(len(landmarks)))
    assert_array_equal(stored.on_points(h_hat)[stored.duplicates.group[landmarks]], h_hat)


def test_components_without_landmark_have_rows_of_zeros(rng):
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 50.0])
    stored = build(X, landmarks=np.arange(12), n_landmarks=None).storing_interpolation()
    assert not stored.rows(np.arange(40, 70)).any()
    assert not stored.extend(rng.normal(size=12))[40:].any()


def test_every_power_is_stored(rng):
    solving = build(rng.normal(size=(150, 3)), powers=[1, 3])
    stored = solving.storing_interpolation()
    rows = rng.permutation(150)[:20]
    for power, T in stored.rows_of_powers(rows).items():
        assert_allclose(T, solving.rows(rows, power), atol=1e-5)
        assert stored.stored_interpolation.T[power].dtype == np.float32


def test_large_graphs_are_solved_in_blocks_of_columns(rng, monkeypatch):
    """Iterative solvers, several blocks, progress for each."""
    monkeypatch.setattr("halfmoon.geometry._stored_interpolation.SOLVED_AT_ONCE", 1)
    solving = build(rng.normal(size=(2500, 3)), n_landmarks=40)
    done = []
    with progress_callback(lambda stage, *steps: done.append(steps) if stage == "interpolation" else None):
        stored = solving.storing_interpolation()
    assert done == [(16, 40), (32, 40), (40, 40)]
    h_hat = rng.normal(size=(40, 2))
    assert_allclose(stored.extend(h_hat), solving.extend(h_hat), atol=1e-5)


def test_other_regularisers(rng, cloud):
    X, W = cloud
    solving = build(X, regularizer=HeatRegularizer(W))
    h_hat = solving.restriction().greens @ rng.normal(size=25)  # what exp(-L) can represent
    assert_allclose(
        solving.storing_interpolation().extend(h_hat), solving.extend(h_hat), atol=1e-5 * np.abs(h_hat).max()
    )


def test_values_of_any_size(rng):
    stored = build(rng.normal(size=(150, 3))).storing_interpolation()
    h_hat = rng.normal(size=(25, 1))
    for size in (1e200, 1e-200):
        assert_allclose(stored.extend(size * h_hat), size * stored.extend(h_hat), rtol=1e-9)


def test_disk_is_memory_and_leaves_nothing(rng, tmp_path):
    solving = build(rng.normal(size=(150, 3)))
    in_memory, on_disk = solving.storing_interpolation(), solving.storing_interpolation(tmp_path)
    assert isinstance(on_disk.stored_interpolation.T[3], np.memmap)
    h_hat, rows = rng.normal(size=(25, 2)), rng.permutation(150)[:9]
    assert_array_equal(on_disk.extend(h_hat), in_memory.extend(h_hat))
    assert_array_equal(on_disk.rows(rows), in_memory.rows(rows))
    assert list(tmp_path.iterdir())
    del on_disk
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_threads_do_not_matter(rng):
    X, h_hat = rng.normal(size=(3000, 3)), rng.normal(size=(25, 2))
    one, three = (build(X, n_jobs=n).storing_interpolation() for n in (1, 3))
    assert_array_equal(one.stored_interpolation.T[3], three.stored_interpolation.T[3])
    assert_array_equal(one.extend(h_hat), three.extend(h_hat))


def test_what_does_not_fit_is_refused(rng, tmp_path):
    geometry = build(rng.normal(size=(150, 3)))
    assert geometry.storing_interpolation(max_memory=4 * 150 * 25).stored_interpolation.size == 4 * 150 * 25
    message = r"25 landmarks to 150 points takes 15,000 bytes, and max_memory allows 14,999.*folder.*\(24 would fit\)"
    with pytest.raises(ValueError, match=message):
        geometry.storing_interpolation(max_memory=14_999)
    geometry.storing_interpolation(tmp_path, max_memory=14_999)  # of memory it takes none
    with pytest.raises(ValueError, match="no folder"):
        geometry.storing_interpolation(tmp_path / "missing")


def test_other_geometries_and_pickles_are_without_it(rng):
    stored = build(rng.normal(size=(150, 3))).storing_interpolation()
    assert stored.storing_interpolation() is stored
    others = [stored.replace(ridge=0.5), stored.fewer_landmarks(np.arange(10)), pickle.loads(pickle.dumps(stored))]
    assert all(other.stored_interpolation is None for other in others)
    assert_allclose(others[2].extend(np.ones(25)), stored.extend(np.ones(25)), atol=1e-6)


def test_where_every_point_is_a_landmark_there_is_nothing_to_store(rng):
    X = rng.normal(size=(30, 3))
    assert build(X, landmarks=np.arange(30), n_landmarks=None).storing_interpolation().stored_interpolation is None


def test_values_are_checked(rng):
    stored = build(rng.normal(size=(150, 3))).storing_interpolation()
    with pytest.raises(ValueError, match="one finite value per landmark"):
        stored.extend(np.full(25, np.nan))
