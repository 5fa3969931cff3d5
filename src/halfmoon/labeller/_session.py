"""A session of labelling: labels, their journal, and threads that learn from them and say what comes next.

The first thread builds the geometry. Then, whenever labels have changed, it refits and publishes predictions of all
rows; labels that come while a refit runs are learnt together by the next one. What takes longer (suggestions, held-out
scores, doubts) is the business of the second thread, step by step with the newest model, so that no label waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.labeller._export import label_columns, named_labels, to_model
from halfmoon.labeller._fingerprint import fingerprint
from halfmoon.labeller._items import Items
from halfmoon.labeller._journal import Journal, MemoryJournal
from halfmoon.labeller._labels import HOW, ActionError, Labels, NotReadyError
from halfmoon.labeller._learner import Learner, Model
from halfmoon.labeller._map import lay_out
from halfmoon.labeller._predictions import Predictions
from halfmoon.labeller._queue import LENGTH, Entry, RandomOrder, make_queue
from halfmoon.labeller._scores import HeldOut, Score
from halfmoon.persistence import save
from halfmoon.runtime.progress import progress_callback
from halfmoon.semi_supervised import Calibration
from halfmoon.tables import PreparedTable, write_columns

__all__ = ["Session"]

Listener = Callable[[str, dict[str, Any]], Any]
PAINT = 0.12  # seconds that pages get to paint predictions before anything else is computed
DOUBTS = 12  # labels to check that are listed
SHARES = 5  # labelled rows that an explanation names


class Closed(Exception):
    """The session was closed while it was being prepared."""


class Session:
    """Rows, their labels so far, and a model that follows.

    Parameters
    ----------
    X : array-like or scipy sparse of shape (n, d)
        Features of all rows.
    items : Items
        What people see of them.
    title : str
        Name of the data.
    classes : sequence of str, default=()
        Classes that are there from the beginning.
    given : ndarray of shape (n,), default=None
        Class numbers that the data brings along, -1 for unlabelled rows.
    journal : Path, default=None
        File in which labels are kept; None: in this process only.
    prepared : PreparedTable, default=None
        How the features came about, for model files.
    folder : Path, default=None
        Where tables and models are saved; None: that of the journal, or the current one.
    seed : int, default=0
        Of landmarks, map and random draws; a journal that is continued has its own.
    **options
        Parameters of the model: n_neighbors, n_landmarks and so on.
    """

    def __init__(
        self,
        X: Any,
        items: Items,
        *,
        title: str = "data",
        classes: tuple[str, ...] = (),
        given: NDArray[np.intp] | None = None,
        journal: Path | None = None,
        prepared: PreparedTable | None = None,
        folder: Path | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self._X, self._options = X, options
        self.items, self.title, self.n = items, title, int(X.shape[0])
        self._prepared = prepared
        self.folder = folder or (Path() if journal is None else journal.parent)
        header = {"rows": self.n, "data": "" if journal is None else fingerprint(X), "seed": seed}
        self._journal = MemoryJournal() if journal is None else Journal(journal, header)
        self.notes = list(self._journal.notes)
        self._seed = int(self._journal.header.get("seed", seed))
        self._labels = Labels(self.n, classes, given)
        self._done: dict[str, int] = {}
        self._curve: dict[int, Score] = {}
        for record in self._journal.records:
            self._replay(record)
        self._order = RandomOrder(self.n, self._seed)
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._listeners: list[Listener] = []
        self._phase = "preparing"
        self._failure: BaseException | None = None
        self._closed = False
        self._progress: dict[str, Any] = {}
        self._learner: Learner | None = None
        self._model: Model | None = None
        self._calibration: Calibration | None = None
        self._drawn: HeldOut | None = None
        self._doubts: list[dict[str, Any]] = []
        self._single: float | None = None
        self._suggested: list[int] = []
        self._queue: list[Entry] = []
        self._predictions = Predictions.nothing(self.n)
        self._learned = self._reported = -1  # revisions
        self._of_row: NDArray[np.intp] | None = None  # what the model was fitted to
        self.positions = np.zeros((0, 2), dtype=np.float32)
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), name=f"halfmoon-{work.__name__}", daemon=True)
            for work in (self._learn_on, self._report_on)
        ]

    # What others call

    def start(self) -> Session:
        """Begin to prepare, in a thread of its own."""
        for thread in self._threads:
            thread.start()
        return self

    def wait(self, timeout: float | None = None) -> Session:
        """Wait until the model has learnt all labels and the report is there; raise what has gone wrong."""
        with self._changed:
            self._changed.wait_for(lambda: self._phase == "failed" or self._settled, timeout)
            if self._failure is not None:
                raise self._failure
        return self

    @property
    def _settled(self) -> bool:
        return self._phase == "ready" and self._reported == self._labels.revision

    def close(self) -> None:
        """End the thread and give the journal back."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(10.0)
        self._journal.close()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the name and the data of each event, from any thread; return what ends that."""
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def act(self, action: dict[str, Any]) -> dict[str, Any]:
        """Do what a page asks for; when this returns it is on the disk."""
        with self._changed:
            if self._phase != "ready":
                raise NotReadyError("The map is still being prepared. Wait a moment.")
            operation = str(action.get("op", ""))
            if operation and operation in self._done:  # sent again because the answer was lost
                return self.state()
            record = self._record_of(action)
            self._labels.check(record)
            self._journal.append(record | {"time": round(time.time(), 3)})
            undone = self._labels.last if record["kind"] == "undo" else None
            self._replay(record)
            self._after(record, undone)
            self._changed.notify_all()
            self._tell("labels", self.state())
            return self.state()

    def _record_of(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return what the journal keeps of an action."""
        wanted = {"label": ("rows", "class"), "skip": ("rows",), "class": ("name",), "rename": ("class", "name")}
        kind = action.get("kind")
        record = {"kind": kind} | {name: action.get(name) for name in wanted.get(str(kind), ())}
        if kind in ("label", "skip"):
            record["how"] = action["how"] if action.get("how") in HOW else "map"
            head = {entry.row: entry for entry in self._queue}
            rows = record["rows"] if isinstance(record["rows"], list) else []
            if record["how"] == "queue" and len(rows) == 1 and rows[0] in head and head[rows[0]].drawn:
                record["drawn"] = True
        if action.get("op"):
            record["op"] = str(action["op"])[:40]
        return record

    def _replay(self, record: Any) -> None:
        """Apply a record of the journal."""
        if record["kind"] == "score":
            self._curve[record["labels"]] = Score(record["labels"], record["right"], record["counted"])
            return
        self._labels.apply(record)
        if "op" in record:
            self._done[record["op"]] = self._labels.revision
            if len(self._done) > 2000:
                del self._done[next(iter(self._done))]
        count = len(self._labels.rows)
        self._curve = {labels: score for labels, score in self._curve.items() if labels <= count}

    def _after(self, record: dict[str, Any], undone: Any) -> None:
        """Bring the queue up to date until suggestions are."""
        first = self._queue[0] if self._queue else None
        if undone is not None and undone["kind"] in ("label", "skip") and undone.get("how") == "queue":
            first = Entry(undone["rows"][0], bool(undone.get("drawn")))
        self._queue = make_queue(self._labels, self._order, self._suggested, first)

    def state(self) -> dict[str, Any]:
        """Return all that a page shows, but for positions and predictions."""
        with self._lock:
            labels, predictions = self._labels, self._predictions
            counts, predicted = labels.counts, predictions.counts(len(labels.classes))
            return {
                "title": self.title,
                "kind": self.items.kind,
                "rows": self.n,
                "phase": self._phase,
                "progress": self._progress,
                "message": None if self._failure is None else str(self._failure),
                "revision": labels.revision,
                "version": predictions.version,
                "classes": [
                    {"name": name, "labels": count, "predicted": total}
                    for name, count, total in zip(labels.classes, counts, predicted, strict=True)
                ],
                "labels": len(labels.rows),
                "queue": [{"row": entry.row, "drawn": entry.drawn} for entry in self._queue],
                "can_undo": labels.last is not None,
                "expected_error": predictions.expected_error,
                "report": {
                    "fresh": self._reported == labels.revision,
                    "curve": [score.to_dict() for _, score in sorted(self._curve.items())],
                    "single": self._single,
                    "doubts": self._doubts,
                },
            }

    @property
    def failure(self) -> BaseException | None:
        """What has gone wrong for good."""
        return self._failure

    @property
    def predictions(self) -> Predictions:
        """Predictions of all rows, as of now."""
        return self._predictions

    def item(self, row: int) -> dict[str, Any]:
        """Return what the page shows of a row: the item, its label, and what the model says."""
        self._check_row(row)
        with self._lock:
            labels, model, drawn, predictions = self._labels, self._model, self._drawn, self._predictions
            label = int(labels.of_row[row])
        known = {"row": row, "label": label if label >= 0 else None, **self.items.describe(row)}
        if model is None:
            return known
        known["prediction"] = int(predictions.classes[row])
        known["confidence"] = float(predictions.confidence[row]) / 255.0
        if drawn is not None and np.isfinite(drawn.threshold) and drawn.values.shape[1] == model.values.shape[1]:
            known["may_be"] = model.classes[drawn.sets(model.values[[row]])[0]].tolist()
        return known

    def picture(self, row: int) -> bytes | None:
        """Return a picture of a row as PNG; None where there is none."""
        self._check_row(row)
        return self.items.picture(row)

    def explain(self, row: int) -> dict[str, Any]:
        """Return the labelled rows that drove a prediction, with their shares."""
        self._check_row(row)
        model = self._model
        if model is None:
            return {"row": row, "shares": []}
        why = model.estimator.explain_rows([row])[0]
        total = float(np.abs(why.shares).sum()) or 1.0
        return {
            "row": row,
            "prediction": int(why.prediction),
            "shares": [
                {"row": int(why.rows[i]), "class": int(why.labels[i]), "share": float(why.shares[i]) / total}
                for i in range(min(SHARES, len(why.rows)))
            ],
        }

    def _check_row(self, row: int) -> None:
        if not 0 <= row < self.n:
            raise ActionError(f"There is no row {row}. Rows are numbers from 0 to {self.n - 1}.")

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return list(self._labels.classes)

    @property
    def labels(self) -> NDArray[np.object_]:
        """Name of the class of every row, None where there is no label."""
        return named_labels(self._labels)

    @property
    def model(self) -> Any:
        """The model as it is now, with probabilities; an error says if there is none."""
        with self._lock:
            return to_model(self._model, self._labels, self._prepared)

    def save_labels(self, path: Path) -> None:
        """Write labels and predictions of all rows to a CSV, TSV, Parquet, Feather or NPZ file."""
        with self._lock:
            columns = label_columns(self.items, self._labels, self._predictions, self._model, self._drawn)
        write_columns(columns, path)

    def save_model(self, path: Path) -> None:
        """Save the model to a file for `halfmoon.load` and ``halfmoon predict``."""
        save(self.model, path)

    # What the threads do

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Closed:
            return
        except BaseException as error:
            with self._changed:
                self._phase, self._failure = "failed", error
                self._changed.notify_all()
            self._tell("labels", self.state())

    def _learn_on(self) -> None:
        """Prepare, then learn from labels as they come."""
        with progress_callback(self._on_progress):
            learner = self._learner = Learner(self._X, random_state=self._seed, **self._options)
            self.notes += learner.notes
            self.positions = learner.of_points(lay_out(learner.kernel, self._seed))
        self._learn(learner)
        self._suggest()
        with self._changed:
            self._phase = "ready"
            self._changed.notify_all()
        self._tell("labels", self.state())
        while self._wait_for(lambda: self._learned != self._labels.revision):
            self._learn(learner)

    def _report_on(self) -> None:
        """Say what comes next, how good the model is, and which labels look wrong, one after the other."""
        steps = (self._suggest, self._hold_out, self._doubt)
        number, fresh, revision = 0, 0, -1  # steps in a row that had the same labels
        while self._wait_for(lambda: self._phase == "ready" and self._reported != self._learned):
            if revision != self._learned:
                self._let_pages_paint()
            fresh = fresh + 1 if revision == self._learned else 1
            revision = self._learned
            steps[number % len(steps)]()
            number += 1
            if fresh >= len(steps):
                with self._changed:
                    self._reported = revision
                    self._changed.notify_all()
            self._tell("labels", self.state())

    def _let_pages_paint(self) -> None:
        """Wait until predictions are out and pages have had the time to paint them: all of this shares a few cores."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._predictions.revision == self._learned)
            self._changed.wait_for(lambda: self._closed, PAINT)

    def _wait_for(self, wanted: Callable[[], bool]) -> bool:
        """Wait for something to do; return False when the session is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or wanted())
            return not self._closed

    def _on_progress(self, stage: str, done: int, total: int) -> None:
        if self._closed:
            raise Closed
        with self._lock:
            self._progress = {"stage": stage, "done": int(done), "total": int(total)}
        self._tell("progress", self._progress)

    def _learn(self, learner: Learner) -> None:
        """Refit and publish predictions."""
        with self._lock:
            of_row, revision = self._labels.of_row, self._labels.revision
        same = self._of_row is not None and np.array_equal(self._of_row, of_row)
        model = self._model if same else learner.learn(of_row)
        with self._changed:
            if model is None or self._model is None or not np.array_equal(model.classes, self._model.classes):
                self._calibration, self._drawn = None, None
            self._model, self._of_row, self._learned = model, of_row, revision
            self._changed.notify_all()
        if same:
            with self._changed:
                self._predictions = replace(self._predictions, revision=revision)
                self._changed.notify_all()
        else:
            self._publish(model)

    def _publish(self, model: Model | None) -> None:
        """Tell everybody what the model says, unless there is a newer one."""
        nothing = Predictions.nothing(self.n)
        classes, confidence = nothing.classes, nothing.confidence
        if model is not None:
            classes, confidence = model.predict(self._calibration or Calibration.before_labels(len(model.classes)))
        with self._changed:
            if model is not self._model or self._of_row is None:
                return
            rows, version = np.flatnonzero(self._of_row >= 0), self._predictions.version + 1
            self._predictions = Predictions(version, self._learned, classes, confidence, rows, self._of_row[rows])
            moved = {
                "version": version,
                "revision": self._learned,
                "expected_error": self._predictions.expected_error,
                "predicted": self._predictions.counts(len(self._labels.classes)),
            }
            self._changed.notify_all()
        self._tell("predictions", moved)

    def _suggest(self) -> None:
        assert self._learner is not None
        with self._lock:
            labels, model = self._labels, self._model
            first = self._queue[0] if self._queue else None
            settled = [*labels.skipped, *self._order.next(labels, 2), *([] if first is None else [first.row])]
            labeled = labels.rows.tolist()
        if model is None:
            suggested = self._learner.first_rows(LENGTH, [*labeled, *settled])
        else:
            suggested = model.suggest(LENGTH, settled, self._seed + self._learned)
        with self._lock:
            self._suggested = suggested
            first = self._queue[0] if self._queue else None
            self._queue = make_queue(self._labels, self._order, suggested, first)

    def _hold_out(self) -> None:
        with self._lock:
            model, of_row = self._model, self._of_row
            counted = self._order.counted(self._labels)
        if model is None or of_row is None:
            with self._lock:
                self._single = None
            return
        held_out = model.held_out()
        calibration = model.calibrate(held_out)
        drawn = model.drawn(held_out, counted[of_row[counted] >= 0])
        single = float((drawn.sets(model.values).sum(axis=1) == 1).mean()) if np.isfinite(drawn.threshold) else None
        with self._changed:
            if self._model is None or not np.array_equal(self._model.classes, model.classes):
                return  # of other classes than there are now
            self._calibration, self._drawn, self._single = calibration, drawn, single
            self._keep_score(Score(int((of_row >= 0).sum()), drawn.right, len(drawn.targets)))
        self._publish(model)

    def _keep_score(self, score: Score) -> None:
        """Add a point to the learning curve, and to the journal if it is a new one."""
        if score.counted and score.labels <= len(self._labels.rows) and self._curve.get(score.labels) != score:
            self._curve[score.labels] = score
            self._journal.append(
                {"kind": "score", "labels": score.labels, "right": score.right, "counted": score.counted}
            )

    def _doubt(self) -> None:
        model = self._model
        doubts = [] if model is None else model.doubts(DOUBTS)
        with self._lock:
            self._doubts = [
                {"row": issue.row, "given": issue.given, "suggested": issue.suggested, "score": issue.score}
                for issue in doubts
            ]

    def _tell(self, event: str, data: dict[str, Any]) -> None:
        for listener in tuple(self._listeners):
            listener(event, data)
