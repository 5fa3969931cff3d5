"""A session learns from every label, says what comes next, and goes on where it was."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from halfmoon import LapRLSClassifier, load
from halfmoon.labeller import ActionError, JournalError, Labels
from halfmoon.labeller._queue import EVERY, LENGTH, Entry, RandomOrder, make_queue
from halfmoon.labeller._scores import HeldOut, Score, odd


def test_labels_of_the_queue_make_predictions_right(sessions, label, blobs):
    session = sessions()
    assert session.state()["expected_error"] is None
    label(session, 12)
    state = session.state()
    assert np.mean(session.predictions.classes == blobs[1]) > 0.95
    assert state["labels"] == 12
    assert state["expected_error"] < 0.4
    assert sum(entry["predicted"] for entry in state["classes"]) == 150


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_predictions_are_those_of_a_model_that_was_fitted_to_the_labels(sessions, label, blobs):
    session = sessions()
    rows = label(session, 10)
    few = np.full(150, -1)
    few[rows] = blobs[1][rows]
    landmarks = session.model.kernel_.landmark_indices_
    model = LapRLSClassifier(n_neighbors=6).set_params(kernel__landmarks=landmarks).fit(blobs[0], few)
    assert_array_equal(session.predictions.classes, model.transduction_)


def test_one_item_in_five_is_drawn_at_random_and_only_these_count(sessions, label):
    session = sessions()
    drawn = []
    for number in range(15):
        entry = session.state()["queue"][0]
        assert entry["drawn"] == (number % EVERY == EVERY - 1)
        drawn += [entry["row"]] if entry["drawn"] else []
        label(session, 1)
    order = RandomOrder(150, 0)
    labels = Labels(150)
    assert set(drawn) <= set(order.next(labels, 150)[:15])
    assert session.state()["report"]["curve"][-1]["counted"] >= 3


def test_draws_are_a_prefix_of_one_random_order(seed):
    order, labels = RandomOrder(40, seed), Labels(40, ("a",))
    everyone = order.next(labels, 40)
    assert sorted(everyone) == list(range(40))
    labels.apply({"kind": "label", "rows": [everyone[0]], "class": 0, "how": "map"})  # by chance, not by the draw
    assert order.next(labels, 2) == everyone[1:3]
    assert len(order.counted(labels)) == 0
    labels.apply({"kind": "label", "rows": [everyone[1]], "class": 0, "how": "queue", "drawn": True})
    assert_array_equal(order.counted(labels), sorted(everyone[:2]))
    labels.apply({"kind": "skip", "rows": [everyone[2]], "how": "queue", "drawn": True})
    assert order.next(labels, 1) == [everyone[3]]
    assert len(order.counted(labels)) == 2


def test_the_queue_keeps_what_somebody_looks_at_and_repeats_nothing(seed):
    order, labels = RandomOrder(60, seed), Labels(60, ("a",))
    queue = make_queue(labels, order, range(20), Entry(33, False))
    rows = [entry.row for entry in queue]
    assert rows[0] == 33
    assert len(set(rows)) == len(rows) == LENGTH
    labels.apply({"kind": "label", "rows": [33], "class": 0, "how": "queue"})
    assert 33 not in [entry.row for entry in make_queue(labels, order, range(20), queue[0])]


def test_everything_can_be_labelled_to_the_last_row(sessions):
    X = np.arange(12.0)[:, None]
    session = sessions(X=X, classes=("a", "b"))
    while session.state()["queue"]:
        row = session.state()["queue"][0]["row"]
        session.act({"kind": "label", "rows": [row], "class": int(row > 5), "how": "queue"})
        session.wait(60)
    assert session.state()["labels"] == 12


def test_undo_takes_label_curve_and_queue_back(sessions, label):
    session = sessions()
    label(session, 9)
    before = session.state()
    last = label(session, 1)[0]
    session.act({"kind": "undo"})
    session.wait(60)
    state = session.state()
    assert state["labels"] == 9
    assert state["queue"][0]["row"] == last
    assert max(point["labels"] for point in state["report"]["curve"]) <= 9
    assert before["expected_error"] == pytest.approx(state["expected_error"], abs=0.01)


def test_undo_to_nothing_predicts_nothing(sessions, label):
    session = sessions()
    label(session, 4)
    for _ in range(4):
        session.act({"kind": "undo"})
    session.wait(60)
    assert (session.predictions.classes == 255).all()
    assert session.state()["expected_error"] is None
    with pytest.raises(ActionError, match="nothing to undo"):
        session.act({"kind": "undo"})


def test_a_session_goes_on_where_it_was(sessions, label, tmp_path):
    journal = tmp_path / "labels.jsonl"
    session = sessions(journal=journal, seed=7)
    label(session, 10)
    session.act({"kind": "rename", "class": 1, "name": "bee"})
    session.act({"kind": "skip", "rows": [session.state()["queue"][0]["row"]], "how": "queue"})
    session.wait(60)
    before, classes = session.state(), session.predictions.classes
    session.close()
    again = sessions(journal=journal, seed=8)  # the journal knows its seed
    after = again.state()
    for name in ("labels", "classes", "revision"):
        assert after[name] == before[name]
    assert after["report"]["curve"] == before["report"]["curve"]
    assert [e["row"] for e in after["queue"] if e["drawn"]][:1] == [e["row"] for e in before["queue"] if e["drawn"]][:1]
    assert_array_equal(again.predictions.classes, classes)
    assert after["classes"][1]["name"] == "bee"


def test_a_journal_of_other_rows_is_refused(sessions, tmp_path, blobs):
    sessions(journal=tmp_path / "labels.jsonl").close()
    with pytest.raises(JournalError, match="belongs to other data"):
        sessions(X=blobs[0] + 1.0, journal=tmp_path / "labels.jsonl")


def test_what_is_sent_twice_counts_once(sessions, tmp_path):
    session = sessions(journal=tmp_path / "labels.jsonl")
    action = {"kind": "class", "name": "new", "op": "one" * 30}
    first = session.act(action)
    assert session.act(action)["revision"] == first["revision"]
    session.wait(60).close()
    again = sessions(journal=tmp_path / "labels.jsonl")  # also by a server that was started anew
    assert again.act(action)["revision"] == first["revision"]


def test_a_label_that_cannot_be_written_is_not_there(sessions, monkeypatch, tmp_path):
    session = sessions(journal=tmp_path / "labels.jsonl")

    def fail(record):
        raise JournalError("no room")

    monkeypatch.setattr(session._book._journal, "append", fail)
    with pytest.raises(JournalError):
        session.act({"kind": "label", "rows": [1], "class": 0})
    assert session.state()["labels"] == 0


def test_a_score_that_cannot_be_written_does_not_end_the_session(sessions, label, monkeypatch, tmp_path):
    session = sessions(journal=tmp_path / "labels.jsonl")
    append = session._book._journal.append

    def fail_for_scores(record):
        if record["kind"] == "score":
            raise JournalError("no room")
        append(record)

    monkeypatch.setattr(session._book._journal, "append", fail_for_scores)
    label(session, 11)
    assert session.failure is None
    assert session.state()["report"]["curve"][-1]["labels"] == 11


def test_pages_are_told_predictions_before_the_first_label(sessions, blobs):
    assert sessions().state()["version"] == 1
    given = sessions(y=np.where(np.arange(150) < 15, blobs[1], -1), classes=())
    assert given.predictions.rows.tolist() == list(range(15))


def test_labels_that_the_data_brings_along_are_there_at_once(sessions, blobs):
    y = blobs[1]
    few = np.where(np.arange(150) < 15, y, -1)
    session = sessions(y=few, classes=())
    state = session.state()
    assert [entry["name"] for entry in state["classes"]] == ["0", "1", "2"]
    assert state["labels"] == 15
    assert np.mean(session.predictions.classes == y) > 0.95
    assert state["report"]["curve"] == []  # nobody knows how they were chosen


def test_equal_rows_have_one_place_and_one_prediction(sessions, label, blobs):
    X = np.concatenate([blobs[0], blobs[0][:30]])
    session = sessions(X=X)
    label(session, 8, np.concatenate([blobs[1], blobs[1][:30]]))
    assert session.positions.shape == (180, 2)
    assert_array_equal(session.positions[150:], session.positions[:30])
    assert_array_equal(session.predictions.classes[150:], session.predictions.classes[:30])


def test_items_say_what_the_model_thinks_and_why(sessions, label, blobs):
    session = sessions()
    assert session.explain(3)["shares"] == []
    assert "prediction" not in session.item(3)
    rows = label(session, 12)
    free = int(np.setdiff1d(np.arange(150), rows)[0])
    item, why = session.item(free), session.explain(free)
    assert item["prediction"] == why["prediction"] == session.predictions.classes[free]
    assert {share["row"] for share in why["shares"]} <= set(rows.tolist())
    best = max(why["shares"], key=lambda share: share["share"])
    assert best["class"] == blobs[1][free]
    with pytest.raises(ActionError, match="no row 150"):
        session.item(150)


def test_labels_that_the_others_contradict_are_listed(sessions, blobs):
    y = blobs[1]
    few = np.where(np.arange(150) < 60, y, -1)
    few[7] = (y[7] + 1) % 3
    doubts = sessions(y=few, classes=()).state()["report"]["doubts"]
    assert [doubt["row"] for doubt in doubts] == [7]
    assert (doubts[0]["given"], doubts[0]["suggested"]) == (few[7], y[7])


def test_saved_tables_and_models_say_what_the_page_says(sessions, label, tmp_path, blobs):
    session = sessions()
    with pytest.raises(ActionError, match="no model yet"):
        session.save_model(tmp_path / "none.hm")
    rows = label(session, 12)
    for name in ("labels.csv", "labels.parquet"):
        session.save_labels(tmp_path / name)
    frame = pd.read_csv(tmp_path / "labels.csv")
    names = np.array(["a", "b", "c"])
    assert frame["prediction"].tolist() == names[session.predictions.classes].tolist()
    assert frame["label"].dropna().index.tolist() == sorted(rows.tolist())
    assert pd.read_parquet(tmp_path / "labels.parquet")["confidence"].between(0, 1).all()
    session.save_model(tmp_path / "model.hm")
    model = load(tmp_path / "model.hm")
    assert model.predict(blobs[0]).tolist() == frame["prediction"].tolist()
    assert_allclose(model.predict_proba(blobs[0]).sum(axis=1), 1.0)


def test_packed_predictions_are_what_the_page_reads(sessions, label):
    session = sessions()
    rows = np.sort(label(session, 6))
    data = session.predictions.pack()
    version, revision, n, k = np.frombuffer(data, "<u4", 4)
    assert (revision, n, k) == (6, 150, 6)
    assert_array_equal(np.frombuffer(data, "<u4", k, 16), rows)
    assert_array_equal(np.frombuffer(data, np.uint8, n, 16 + 4 * k), session.predictions.classes)
    assert len(data) == 16 + 4 * k + 2 * n + k
    assert version == session.state()["version"]


def test_listeners_hear_of_labels_and_predictions(sessions):
    session = sessions()
    heard = []
    stop = session.subscribe(lambda event, data: heard.append((event, data["revision"])))
    session.act({"kind": "label", "rows": [0, 1], "class": 0})
    session.wait(60)
    stop()
    assert ("labels", 1) in heard
    assert ("predictions", 1) in heard
    count = len(heard)
    session.act({"kind": "undo"})
    session.wait(60)
    assert len(heard) == count


def test_states_can_be_written_as_json(sessions, label):
    session = sessions()
    label(session, 6)
    assert json.loads(json.dumps(session.state()))["labels"] == 6


def test_data_that_cannot_be_prepared_are_reported():
    from halfmoon.labeller import session_of_arrays

    session = session_of_arrays(np.ones((9, 2)), classes=("a",)).start()
    with pytest.raises(ValueError, match="All rows of X are equal"):
        session.wait(60)
    assert session.state()["phase"] == "failed"
    assert isinstance(session.failure, ValueError)
    session.close()


def test_actions_wait_for_the_map():
    from halfmoon.labeller import session_of_arrays

    session = session_of_arrays(np.eye(5))
    with pytest.raises(ActionError, match="being prepared"):
        session.act({"kind": "undo"})
    session.close()


def test_intervals_cover_the_share_of_right_answers(rng):
    p, n, inside = 0.85, 30, 0
    for right in rng.binomial(n, p, size=400):
        low, high = Score(9, int(right), n).interval
        inside += low <= p <= high
    assert inside / 400 > 0.8
    assert Score(9, 0, 3).interval[0] == 0.0
    assert Score(9, 3, 3).to_dict()["low"] == 0.0


def test_prediction_sets_hold_the_truth_at_their_level(rng):
    covered = []
    for _ in range(60):
        values, targets = rng.normal(size=(420, 3)), rng.integers(3, size=420)
        values[np.arange(420), targets] += 1.5
        held_out = HeldOut(values[:40], targets[:40])
        sets = held_out.sets(values[40:])
        covered.append(sets[np.arange(380), targets[40:]].mean())
    assert abs(np.mean(covered) - 0.9) < 0.03


def test_few_draws_allow_every_class(rng):
    held_out = HeldOut(rng.normal(size=(8, 3)), np.zeros(8, dtype=int))
    assert held_out.sets(rng.normal(size=(5, 3))).all()


def test_oddness_is_the_lead_of_the_best_other_class():
    assert_allclose(odd(np.array([[3.0, 1.0, 2.0]])), [[-1.0, 2.0, 1.0]])
