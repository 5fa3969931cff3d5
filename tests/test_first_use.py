"""Small data are fitted without compiling anything, and what runs in place of compiled functions gives the same."""

import json
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

from halfmoon.geometry import GeometrySettings, _first_use
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

FIT_AFTER_STAGES = """
import json, sys, warnings
import numpy as np
from halfmoon import Geometry
from halfmoon.geometry._first_use import compile_stages
from halfmoon.runtime.memory import Allowance, allowing
from numba.core import event

wanted = json.loads(sys.argv[1])
compile_stages(json.dumps(wanted))

class Listener(event.Listener):
    def on_start(self, entry):
        compiled.add(entry.data["dispatcher"].py_func.__module__)
    def on_end(self, entry):
        pass
compiled = set()
event.register("numba:compile", Listener())

warnings.simplefilter("ignore")
X = np.random.default_rng(int(sys.argv[2])).normal(size=(4200, wanted["features"])).astype(wanted["dtype"])
weights = "heat" if wanted["weighted"] else "binary"
with allowing(Allowance(threads=2, tile_width=wanted["tile_width"], columns=1 << 30, wide_codes=True)):
    Geometry.build(X, n_landmarks=40, weights=weights, random_state=0)
print([name for name in compiled if "solvers" in name or "cells" in name])
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


@pytest.mark.parametrize(("weighted", "features", "tile_width"), [(False, 20, 16), (True, 70, 16), (False, 20, 8)])
def test_the_second_process_compiles_what_solves_and_queries_need(
    rng, tmp_path, monkeypatch, weighted, features, tile_width
):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    wanted = {"weighted": weighted, "tile_width": tile_width, "dtype": "<f4"}
    wanted |= {"features": features, "as_sparse": False}
    command = [sys.executable, "-c", FIT_AFTER_STAGES, json.dumps(wanted), str(rng.integers(1000))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines() == ["solvers", "queries", "[]"]


@pytest.mark.parametrize(
    ("rows", "settings", "compiled", "begun"),
    [
        (_first_use.MANY, {"n_jobs": 2}, False, True),
        (_first_use.MANY - 1, {"n_jobs": 2}, False, False),
        (_first_use.MANY, {"n_jobs": 1}, False, False),
        (_first_use.MANY, {"n_jobs": 2, "metric": "manhattan"}, False, False),
        (_first_use.MANY, {"n_jobs": 2}, True, False),
    ],
)
def test_a_second_process_is_begun_where_there_is_time_for_it(monkeypatch, rows, settings, compiled, begun):
    calls = []
    monkeypatch.setattr(_first_use, "compiling_ahead", lambda *call: calls.append(call) or nullcontext())
    monkeypatch.setattr(_first_use, "solvers_are_compiled", lambda: compiled)
    monkeypatch.setattr(_first_use, "queries_are_compiled", lambda: compiled)
    with _first_use.compiling_later_stages(np.zeros((rows, 2)), GeometrySettings(**settings)):
        pass
    assert len(calls) == begun
