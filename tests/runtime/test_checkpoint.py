"""Checkpoints: finished pieces are read, not computed; damaged ones are computed again; strangers are refused."""

import hashlib
import io
import json
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from halfmoon.exceptions import CheckpointError
from halfmoon.graph import Duplicates
from halfmoon.runtime.checkpoint import Checkpoint, CheckpointedExecutor, kept
from halfmoon.runtime.executor import ThreadExecutor
from halfmoon.runtime.pieces import DamagedError, digest, read_piece, write_piece

calls = []


@kept
def scaled(A, item):
    calls.append(item)
    return {"rows": A * item, "number": item}


@kept
def total(A):
    calls.append("total")
    return float(A.sum())


def plain(A, item):
    calls.append(item)
    return item


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


def written(value):
    file = io.BytesIO()
    write_piece(file, value)
    return file.getvalue()


def test_values_come_back_with_their_bits(rng):
    W = sparse.random(6, 6, 0.4, format="csr", random_state=1)
    value = {
        1: (None, True, -3, 0.1, float("inf"), "text", [1, (2,)], slice(0, 3)),
        "arrays": [
            rng.normal(size=(3, 0, 2)),
            rng.normal(size=(4, 5)).T,
            np.arange(3, dtype=np.uint8),
            np.float32(0.1),
        ],
        "graph": sparse.csr_array(W),
        "object": Duplicates(np.array([0, 1, 0]), np.array([0, 1])),
    }
    back = read_piece(io.BytesIO(written(value)))
    assert back[1] == value[1]
    for found, expected in zip(back["arrays"], value["arrays"], strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert (back["graph"] != value["graph"]).nnz == 0
    np.testing.assert_array_equal(back["object"].group, value["object"].group)
    assert digest(back) == digest(value)


def test_every_damaged_byte_is_noticed(rng):
    whole = written((rng.normal(size=4), 3))
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(DamagedError):
            read_piece(io.BytesIO(bytes(damaged)))
    for length in range(len(whole)):
        with pytest.raises(DamagedError):
            read_piece(io.BytesIO(whole[:length]))


@dataclass
class Foreign:
    x: int = 0


@pytest.mark.parametrize("value", [Foreign(), {1, 2}, print, np.array([None])])
def test_what_is_no_data_is_not_written(value):
    with pytest.raises(TypeError, match="cannot be kept in a checkpoint"):
        digest(value)


def test_a_file_cannot_name_other_classes():
    header = json.dumps({"value": {"object": "os:system", "fields": ["true"]}, "arrays": []}).encode() + b"\n"
    file = b"halfmoon piece 1\n" + header + hashlib.blake2b(header, digest_size=32).digest()
    with pytest.raises(DamagedError, match="not a class of data"):
        read_piece(io.BytesIO(file))


def test_a_second_run_computes_what_is_missing_alone(tmp_path, rng):
    A, items = rng.normal(size=(5, 2)), [3, 1, 2]

    def run(wanted):
        calls.clear()
        checkpoint = Checkpoint.open(tmp_path / "run", {"data": "a"})
        with CheckpointedExecutor(ThreadExecutor(2), checkpoint) as executor:
            return [found["rows"] for found in executor.map(scaled, A, wanted)], executor.run(total, A)

    first = run(items)
    assert sorted(map(str, calls)) == ["1", "2", "3", "total"]
    again = run(items)
    assert calls == []
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1] == again[1]
    more, _ = run([3, 7, 1])
    assert calls == [7]
    np.testing.assert_array_equal(more, [A * 3, A * 7, A * 1])


def test_other_data_are_other_pieces(tmp_path):
    checkpoint = Checkpoint.open(tmp_path, {"data": "a"})
    with CheckpointedExecutor(ThreadExecutor(1), checkpoint) as executor:
        assert executor.run(total, np.ones(3)) == 3.0
        assert executor.run(total, np.ones(4)) == 4.0


def test_a_damaged_piece_is_computed_again_with_a_warning(tmp_path, rng):
    A = rng.normal(size=3)
    checkpoint = Checkpoint.open(tmp_path, {})
    with CheckpointedExecutor(ThreadExecutor(1), checkpoint) as executor:
        (first,) = executor.map(scaled, A, [2])
        (path,) = tmp_path.glob("*.piece")
        path.write_bytes(path.read_bytes()[:-5])
        with pytest.warns(UserWarning, match="damaged"):
            (again,) = executor.map(scaled, A, [2])
    np.testing.assert_array_equal(first["rows"], again["rows"])
    with path.open("rb") as file:
        assert read_piece(file)["number"] == 2


def test_tasks_that_are_not_worth_it_leave_no_file(tmp_path):
    checkpoint = Checkpoint.open(tmp_path, {})
    with CheckpointedExecutor(ThreadExecutor(1), checkpoint) as executor:
        assert list(executor.map(plain, None, [1, 2])) == [1, 2]
    assert not list(tmp_path.glob("*.piece"))


def test_the_folder_of_something_else_is_refused(tmp_path):
    Checkpoint.open(tmp_path / "run", {"data": "a", "n_neighbors": "5"})
    with pytest.raises(CheckpointError, match=r"it differs in n_neighbors \(n_neighbors: 5 there, 6 now"):
        Checkpoint.open(tmp_path / "run", {"data": "a", "n_neighbors": "6"})
    with pytest.raises(CheckpointError, match="not a checkpoint: it holds 1 other files, 'run'"):
        Checkpoint.open(tmp_path, {})
    (tmp_path / "run" / "halfmoon-checkpoint.json").write_text("{")
    with pytest.raises(CheckpointError, match="damaged"):
        Checkpoint.open(tmp_path / "run", {})
    (tmp_path / "run" / "halfmoon-checkpoint.json").write_text('{"format": 99, "fingerprint": {}}')
    with pytest.raises(CheckpointError, match="format 99"):
        Checkpoint.open(tmp_path / "run", {})


def test_equal_items_have_one_piece(rng, tmp_path):
    A, items = rng.normal(size=3), [2, 2, 3, 2, 5]
    with CheckpointedExecutor(ThreadExecutor(1), Checkpoint.open(tmp_path, {})) as executor:
        results = list(executor.map(scaled, A, items))
    assert [result["number"] for result in results] == items
    assert sorted(calls) == [2, 3, 5]


def test_what_a_kill_left_is_removed(tmp_path):
    """A kill before the manifest is in place leaves a temporary file and nothing else: the run must go on."""
    leftover = tmp_path / ".halfmoon.0123abcd.tmp"
    for _ in range(2):  # without a manifest, and beside one
        leftover.write_bytes(b"half of it")
        Checkpoint.open(tmp_path, {"rows": "5"})
        assert not leftover.exists()
