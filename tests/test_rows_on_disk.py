"""Rows that stay on disk: the same bits as in memory, one look at them per fit, memory below its limit."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import halfmoon._validation as validation
from halfmoon import DataDependentKernel, Geometry, KernelKMeans, LapRLSClassifier, LapSVC, open_rows, select_landmarks
from halfmoon.exceptions import DataFileError, MemoryLimitError
from halfmoon.graph import find_duplicates, knn_graph
from halfmoon.runtime.spool import gather_rows, is_on_disk


def drawn_rows(rng, dtype, n=900, d=40):
    X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, d))
    if dtype == np.uint8:
        return np.clip(30 * X + 128, 0, 255).astype(np.uint8)
    return X.astype(dtype)


def few_labels(n):
    y = np.full(n, -1)
    y[: n // 10] = np.arange(n // 10) % 3
    return y


def to_parquet(X, path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{j}": pa.array(np.ascontiguousarray(column)) for j, column in enumerate(X.T)}
    pq.write_table(pa.table(columns), path, row_group_size=200)
    return path


def to_zarr(X, path):
    import zarr

    array = zarr.create_array(path, shape=X.shape, dtype=X.dtype, chunks=(130, 17))
    array[:] = X
    return path


def to_npy(X, path):
    np.save(path, X)
    return path


def to_fortran(X, path):
    np.save(path, np.asfortranarray(X))
    return path


WRITERS = {"rows.npy": to_npy, "fortran.npy": to_fortran, "rows.parquet": to_parquet, "rows.zarr": to_zarr}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8])
@pytest.mark.parametrize("name", WRITERS)
def test_files_hold_the_rows_in_their_type(rng, tmp_path, name, dtype):
    X = drawn_rows(rng, dtype)
    rows = open_rows(WRITERS[name](X, tmp_path / name))
    assert rows.dtype == dtype
    assert is_on_disk(rows)
    assert not rows.flags.writeable
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
def test_a_fit_gives_the_same_bits_as_in_memory(rng, tmp_path, dtype):
    X, y = drawn_rows(rng, dtype), few_labels(900)
    X[7] = X[3]  # distinct rows are gathered, on disk too
    models = [
        LapSVC(n_neighbors=6, n_landmarks=60, random_state=0).fit(rows, y)
        for rows in (X, np.load(to_npy(X, tmp_path / "rows.npy"), mmap_mode="r"))
    ]
    assert models[1].kernel_.points_.dtype == dtype
    assert is_on_disk(models[1].kernel_.points_)
    for method in ("decision_function", "predict"):
        np.testing.assert_array_equal(getattr(models[0], method)(X), getattr(models[1], method)(X))
    np.testing.assert_array_equal(models[0].transduction_, models[1].transduction_)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_graphs_of_half_floats_are_those_of_floats(rng, metric, method):
    X = drawn_rows(rng, np.float16)
    half, single = (
        knn_graph(rows, n_neighbors=5, metric=metric, method=method, random_state=0)
        for rows in (X, X.astype(np.float32))
    )
    assert (half != single).nnz == 0


def test_digests_of_half_floats_are_those_of_their_numbers(rng):
    X = rng.normal(size=(150_000, 30)).astype(np.float16)  # long enough for the compiled digest
    X[5, :4] = [np.finfo(np.float16).smallest_subnormal, -0.0, np.finfo(np.float16).max, -1e-5]
    X[9] = X[5]
    X[9, 1] = 0.0
    found = find_duplicates(X)
    assert found.group[9] == found.group[5]
    np.testing.assert_array_equal(found.group, find_duplicates(X.astype(np.float32)).group)


def test_x_is_looked_at_once_per_fit(rng, tmp_path, monkeypatch):
    X = np.load(to_npy(drawn_rows(rng, np.float32), tmp_path / "rows.npy"), mmap_mode="r")
    seen = []
    largest = validation._largest
    monkeypatch.setattr(validation, "_largest", lambda block: seen.append(block.shape[0]) or largest(block))
    LapRLSClassifier(n_neighbors=5, n_landmarks=50).fit(X, few_labels(900))
    assert sum(seen) == 900
    seen.clear()
    DataDependentKernel(n_neighbors=5, n_landmarks=50).fit(X)
    assert sum(seen) == 900
    seen.clear()
    Geometry.build(X, n_landmarks=50)
    assert sum(seen) == 900
    seen.clear()
    clusters = KernelKMeans(3, n_neighbors=5, n_landmarks=50, n_init=1, random_state=0).fit(X)
    assert sum(seen) == 900
    seen.clear()
    clusters.predict(X)
    assert sum(seen) == 900


@pytest.mark.parametrize(("bad", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_is_no_number_is_named_by_row_and_column(rng, tmp_path, monkeypatch, dtype, bad, name):
    monkeypatch.setattr(validation, "SCANNED", 4000)  # many blocks
    X = drawn_rows(rng, dtype)
    X[897, 31] = bad
    rows = np.load(to_npy(X, tmp_path / "rows.npy"), mmap_mode="r")
    with pytest.raises(ValueError, match=f"Input X contains {name}, first in row 897, column 31"):
        LapRLSClassifier().fit(rows, few_labels(900))


def test_farthest_landmarks_go_through_blocks(rng, tmp_path, monkeypatch):
    import halfmoon.geometry._landmarks as landmarks

    X = drawn_rows(rng, np.uint8)
    expected = select_landmarks(X.astype(np.float64), 20, method="farthest", random_state=1)
    monkeypatch.setattr(landmarks, "BLOCK", 4000)
    rows = np.load(to_npy(X, tmp_path / "rows.npy"), mmap_mode="r")
    np.testing.assert_array_equal(select_landmarks(rows, 20, method="farthest", random_state=1), expected)


def test_gathered_rows_stay_on_disk(rng, tmp_path):
    X = drawn_rows(rng, np.float32)
    rows = rng.permutation(900)[:500]
    gathered = gather_rows(np.load(to_npy(X, tmp_path / "rows.npy"), mmap_mode="r"), rows)
    assert is_on_disk(gathered)
    np.testing.assert_array_equal(gathered, X[rows])
    assert not is_on_disk(gather_rows(X, rows))


def test_parquet_folders_and_lists(rng, tmp_path):
    X = drawn_rows(rng, np.float32, n=100)
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(4):
        rows = slice(25 * part, 25 * part + 25)
        frame = {"id": np.arange(25), "embedding": list(X[rows, :39]), "last": X[rows, 39]}
        pd.DataFrame(frame).to_parquet(folder / f"part-{part}.parquet")
    np.testing.assert_array_equal(open_rows(folder, ignore=["id"]), X)
    np.testing.assert_array_equal(open_rows(folder, columns=["last"])[:, 0], X[:, 39])


def test_copies_in_a_folder_are_found_again(rng, tmp_path, caplog):
    X = drawn_rows(rng, np.float32, n=100)
    path, spool = to_parquet(X, tmp_path / "rows.parquet"), tmp_path / "spool"
    spool.mkdir()
    with caplog.at_level(logging.INFO, logger="halfmoon"):
        first = open_rows(path, spool=spool)
        assert "is copied to" in caplog.text
        caplog.clear()
        np.testing.assert_array_equal(open_rows(path, spool=spool), first)
        assert "is copied to" not in caplog.text
    to_parquet(X + 1, path)
    np.testing.assert_array_equal(open_rows(path, spool=spool), X + 1)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"a": [1.0, 2.0], "b": ["x", "y"]}, "column 'b' holds .*string.*Leave it out"),
        ({"a": [1.0, None]}, "row 1, column 'a' is empty"),
        ({"a": [[1.0, 2.0], [1.0]]}, r"row 1, column 'a': the list has 1 numbers, and that of row 0 has 2"),
    ],
)
def test_what_is_no_row_of_numbers_is_refused(tmp_path, frame, message):
    path = tmp_path / "rows.parquet"
    pd.DataFrame(frame).to_parquet(path)
    with pytest.raises(DataFileError, match=message):
        open_rows(path)


def test_other_files_are_refused(tmp_path):
    np.save(tmp_path / "flat.npy", np.ones(3))
    with pytest.raises(DataFileError, match="two-dimensional array of numbers"):
        open_rows(tmp_path / "flat.npy")
    with pytest.raises(DataFileError, match="no such file"):
        open_rows(tmp_path / "none.npy")
    (tmp_path / "rows.csv").write_text("a\n1\n")
    with pytest.raises(DataFileError, match=r"\.npy, \.parquet, \.zarr"):
        open_rows(tmp_path / "rows.csv")


def test_a_fit_that_cannot_stay_below_its_limit_is_refused(rng):
    X = rng.normal(size=(2500, 8))
    with pytest.raises(MemoryLimitError, match=r"takes up to [\d,]+ bytes beyond its rows .* Raise max_memory to"):
        LapRLSClassifier(max_memory=1_000_000).fit(X, few_labels(2500))


def test_the_limit_is_told_and_changes_nothing_but_memory(rng, capsys):
    X, y = rng.normal(size=(2500, 5)), few_labels(2500)
    limited = LapRLSClassifier(n_landmarks=80, random_state=0, max_memory=400_000_000, verbose=True).fit(X, y)
    assert "memory up to" in capsys.readouterr().out
    free = LapRLSClassifier(n_landmarks=80, random_state=0).fit(X, y)
    np.testing.assert_allclose(limited.decision_function_, free.decision_function_, atol=1e-5)


CLAIM = """
import json, sys, threading, time
import numpy as np
from halfmoon import LapRLSClassifier, open_rows


def anonymous():  # pages of a memory map are the system's to drop; these are not
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


X = open_rows(sys.argv[1])
limit = X.nbytes // 2
y = np.full(len(X), -1)
y[:60] = np.arange(60) % 3
peak, before, done = [0], anonymous(), threading.Event()


def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], anonymous())


watcher = threading.Thread(target=watch)
watcher.start()
model = LapRLSClassifier(n_neighbors=5, n_landmarks=100, random_state=0, max_memory=limit).fit(X, y)
done.set()
watcher.join()
print(json.dumps({"rows": X.nbytes, "limit": limit, "peak": peak[0] - before}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RssAnon is Linux's")
def test_rows_twice_the_limit_are_fitted_below_it(rng, tmp_path):
    n, d = 24_000, 5_000
    path = tmp_path / "rows.npy"
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    frame = rng.normal(size=(6, d)).astype(np.float32)
    for start in range(0, n, 1000):
        rows[start : start + 1000] = rng.normal(size=(1000, 6)).astype(np.float32) @ frame
    del rows
    told = subprocess.run([sys.executable, "-c", CLAIM, path], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout.splitlines()[-1])
    assert found["rows"] >= 2 * found["limit"]
    assert found["peak"] < found["limit"], found
