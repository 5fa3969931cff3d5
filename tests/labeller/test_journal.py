"""What a journal has acknowledged is there, torn lines are dropped, and there is one writer."""

import json
import os

import pytest
from numpy.testing import assert_array_equal

from halfmoon.labeller import ActionError, Journal, JournalError, Labels
from halfmoon.labeller._fingerprint import fingerprint

HEADER = {"rows": 4, "data": "abc", "seed": 1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.jsonl"


def reopened(path, header=HEADER):
    journal = Journal(path, header)
    journal.close()
    return journal


def test_records_come_back_in_order(path):
    journal = Journal(path, HEADER)
    records = [{"kind": "class", "name": "Katze ü"}, {"kind": "label", "rows": [1], "class": 0}]
    for record in records:
        journal.append(record)
    journal.close()
    assert list(reopened(path).records) == records


def test_every_record_is_synced_before_append_returns(path, monkeypatch):
    journal = Journal(path, HEADER)
    sizes = []
    monkeypatch.setattr(os, "fsync", lambda fd: sizes.append(os.fstat(fd).st_size))
    journal.append({"kind": "undo"})
    assert sizes == [path.stat().st_size]
    journal.close()


@pytest.mark.parametrize("torn", [b'{"kind":"lab', b"\x00\x00\x00", b'{"kind":"label"}\x00\n'])
def test_a_torn_last_line_is_dropped_and_said(path, torn):
    journal = Journal(path, HEADER)
    journal.append({"kind": "class", "name": "a"})
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    again = reopened(path)
    assert [record["name"] for record in again.records] == ["a"]
    assert "incomplete" in again.notes[0]
    assert path.read_bytes() == whole


def test_every_torn_prefix_of_a_journal_gives_a_prefix_of_its_records(path):
    journal = Journal(path, HEADER)
    for number in range(3):
        journal.append({"kind": "label", "rows": [number], "class": 0})
    journal.close()
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in range(first, len(whole) + 1):
        path.write_bytes(whole[:size])
        records = reopened(path).records
        assert len(records) == whole[first:size].count(b"\n")


def test_a_damaged_line_in_the_middle_is_refused(path):
    journal = Journal(path, HEADER)
    journal.append({"kind": "class", "name": "a"})
    journal.close()
    path.write_bytes(path.read_bytes().replace(b'"kind":"class"', b"rubbish") + b'{"kind":"undo"}\n')
    with pytest.raises(JournalError, match="line 2"):
        Journal(path, HEADER)


def test_there_is_one_writer(path):
    journal = Journal(path, HEADER)
    with pytest.raises(JournalError, match="another process is writing"):
        Journal(path, HEADER)
    journal.close()
    reopened(path)


@pytest.mark.parametrize("other", [{"rows": 5}, {"data": "xyz"}])
def test_a_journal_of_other_data_is_refused(path, other):
    reopened(path)
    with pytest.raises(JournalError, match="belongs to other data"):
        Journal(path, HEADER | other)


def test_other_files_are_refused_and_stay(path):
    path.write_text('{"a": 1}\n')
    with pytest.raises(JournalError, match="no journal"):
        Journal(path, HEADER)
    assert path.read_text() == '{"a": 1}\n'


def test_a_newer_version_is_refused(path):
    path.write_text(json.dumps({"journal": "halfmoon labels", "version": 2, **HEADER}) + "\n")
    with pytest.raises(JournalError, match="version 2"):
        Journal(path, HEADER)


def test_a_full_disk_leaves_the_journal_as_it_was(path, monkeypatch):
    journal = Journal(path, HEADER)
    before = path.read_bytes()

    def fail(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(JournalError, match="No space left"):
        journal.append({"kind": "undo"})
    monkeypatch.undo()
    assert path.read_bytes() == before
    journal.append({"kind": "undo"})
    journal.close()
    assert len(reopened(path).records) == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path / "missing" / "labels.jsonl", HEADER)


def test_fingerprints_tell_data_apart(rng):
    from scipy import sparse

    X = rng.normal(size=(5, 3))
    changed = X.copy()
    changed[3, 1] += 1e-9
    assert fingerprint(X) == fingerprint(X.copy()) != fingerprint(changed)
    assert fingerprint(sparse.csr_array(X)) != fingerprint(sparse.csr_array(changed))
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert fingerprint(frame) != fingerprint(frame.rename(columns={"a": "c"}))


def random_records(rng, n, count):
    """Return records that can be applied one after the other."""
    labels, records = Labels(n), []
    while len(records) < count:
        kind = rng.choice(["label", "skip", "class", "rename", "undo"])
        record = {"kind": str(kind)}
        if kind in ("label", "skip"):
            record |= {"rows": rng.integers(n, size=2).tolist(), "how": "queue", "drawn": bool(rng.random() < 0.5)}
        if kind in ("label", "rename"):
            record["class"] = int(rng.integers(3))
        if kind in ("class", "rename"):
            record["name"] = f"name {len(records)}"
        try:
            labels.check(record)
        except ActionError:
            continue
        labels.apply(record)
        records.append(record)
    return records, labels


def state_of(labels):
    return labels.classes, labels.of_row.tolist(), sorted(labels.skipped), sorted(labels.drawn), labels.answered


def test_undo_gives_back_every_earlier_state(rng):
    records, labels = random_records(rng, 6, 60)
    kept = []  # the records that no undo has taken back
    for record in records:
        if record["kind"] == "undo":
            kept.pop()
        else:
            kept.append(record)
    again = Labels(6)
    for record in kept:
        again.apply(record)
    assert state_of(again) == state_of(labels)


@pytest.mark.parametrize("kind", ["label", "skip"])
def test_a_row_that_is_named_twice_can_be_undone(kind):
    labels = Labels(4, ("a",))
    before = state_of(labels)
    labels.apply({"kind": kind, "rows": [0, 0], "class": 0, "how": "queue", "drawn": True})
    labels.apply({"kind": "undo"})
    assert state_of(labels) == before


def test_labels_that_somebody_reads_do_not_change(rng):
    labels = Labels(4, ("a",))
    seen = labels.of_row
    labels.apply({"kind": "label", "rows": [2], "class": 0})
    assert_array_equal(seen, [-1, -1, -1, -1])


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "dance"},
        {"kind": "label", "rows": [], "class": 0},
        {"kind": "label", "rows": [4], "class": 0},
        {"kind": "label", "rows": [-1], "class": 0},
        {"kind": "label", "rows": [True], "class": 0},
        {"kind": "label", "rows": "all", "class": 0},
        {"kind": "label", "rows": [1], "class": 7},
        {"kind": "class", "name": " "},
        {"kind": "class", "name": "a"},
        {"kind": "class", "name": 81 * "x"},
        {"kind": "rename", "class": 0, "name": "a"},
        {"kind": "undo"},
    ],
)
def test_what_cannot_be_done_is_refused(record):
    with pytest.raises(ActionError):
        Labels(4, ("a",)).check(record)
