"""Small data are fitted without compiling anything, and what runs in place of compiled functions gives the same."""

import subprocess
import sys

import numpy as np
import pytest

from halfmoon.graph import NeighborIndex, _duplicates, _exact
from halfmoon.graph._numba.duplicates import digest_dense
from halfmoon.semi_supervised.losses import _hinge, support_vector_machine

FIT_DIGITS = """
import sys, warnings
import numpy as np
from sklearn.datasets import load_digits
from halfmoon import LapSVC
from numba.core import event

compiled = []
class Listener(event.Listener):
    def on_start(self, entry):
        compiled.append(entry.data["dispatcher"].py_func.__name__)
    def on_end(self, entry):
        pass
event.register("numba:compile", Listener())

warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)
seen = np.random.default_rng(int(sys.argv[1])).permutation(len(y)) < 40
score = LapSVC(random_state=0).fit(X, np.where(seen, y, -1)).score(X, y)
print(score > 0.5, compiled)
"""


def test_digits_are_fitted_and_predicted_without_compiling(rng, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # nothing there: whatever is compiled shows
    command = [sys.executable, "-c", FIT_DIGITS, str(rng.integers(1000))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "True []"


@pytest.mark.parametrize("C", [1e-1, 1e2, 1e13])
def test_interpreted_machines_are_the_compiled_ones(rng, monkeypatch, C):
    size = int(rng.integers(5, 40))
    X, signs = rng.normal(size=(size, 2)), np.where(rng.random(size) < 0.5, 1.0, -1.0)
    K, bounds = np.exp(-np.square(X[:, None] - X).sum(axis=-1)), C * rng.uniform(0.0, 2.0, size=size)
    solutions = []
    for interpreted in (0, np.iinfo(np.int64).max):
        monkeypatch.setattr(_hinge, "INTERPRETED", interpreted)
        solutions.append(support_vector_machine(K, signs, bounds))
    np.testing.assert_array_equal(solutions[0][0], solutions[1][0])
    assert solutions[0][1] == solutions[1][1]


def test_machines_are_compiled_once_they_are_many(rng, monkeypatch):
    monkeypatch.setattr(_hinge._Interpreted, "work", 0)
    monkeypatch.setattr(_hinge, "INTERPRETED", 1000)
    K, signs = np.eye(10), np.where(np.arange(10) < 5, 1.0, -1.0)
    for _ in range(20):
        support_vector_machine(K, signs, np.ones(10))
    assert 900 <= _hinge._Interpreted.work <= 2000


def test_digests_by_columns_are_the_compiled_ones(rng):
    bits = rng.integers(2**63, size=(int(rng.integers(1, 50)), int(rng.integers(1, 20))), dtype=np.uint64)
    by_columns, by_rows = np.empty((2, len(bits), 2), dtype=np.uint64)
    _duplicates.digest_columns(bits, by_columns)
    digest_dense(bits, by_rows)
    np.testing.assert_array_equal(by_columns, by_rows)


def test_interpreted_lists_of_duplicates_are_the_compiled_ones(rng, monkeypatch):
    index = NeighborIndex(rng.integers(0, 4, size=(80, 2)).astype(float))
    lists = []
    for interpreted in (0, 1000):
        monkeypatch.setattr(_duplicates, "INTERPRETED", interpreted)
        lists.append(index.neighbors_of_data(5))
    np.testing.assert_array_equal(lists[0].indices, lists[1].indices)
    np.testing.assert_array_equal(lists[0].distances, lists[1].distances)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_one_panel_finds_what_several_find(rng, monkeypatch, dtype):
    X = rng.integers(0, 10, size=(300, 15)).astype(dtype)  # with ties
    index = NeighborIndex(X, method="exact")
    distances, found = index.query(X, 7)
    monkeypatch.setattr(_exact, "DATA_PANEL", 64)
    other_distances, other_found = index.query(X, 7)
    np.testing.assert_array_equal(distances, other_distances)
    np.testing.assert_array_equal(found, other_found)
