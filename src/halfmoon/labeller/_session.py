"""A session of labelling: labels, their journal, and threads that learn from them and say what comes next.

The first thread builds the geometry. Then, whenever labels have changed, it refits and publishes predictions of all
rows; labels that come while a refit runs are learnt together by the next one. What takes longer (suggestions, held-out
scores, doubts) is left to the second thread, step by step with the newest model, so that no label waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.labeller._answers import doubts_of, explanation_of, verdict_of
from halfmoon.labeller._book import Book
from halfmoon.labeller._export import label_columns, named_labels, to_model
from halfmoon.labeller._fingerprint import fingerprint
from halfmoon.labeller._items import Items
from halfmoon.labeller._labels import NO_CLASS, ActionError, Labels, NotReadyError
from halfmoon.labeller._learner import Assessment, Learned, Learner
from halfmoon.labeller._map import lay_out
from halfmoon.labeller._predictions import Predictions
from halfmoon.labeller._queue import LENGTH, Entry, RandomOrder, make_queue
from halfmoon.labeller._scores import Score
from halfmoon.persistence import save
from halfmoon.runtime.progress import progress_callback
from halfmoon.runtime.small_algebra import small_algebra
from halfmoon.semi_supervised import Calibration
from halfmoon.tables import PreparedTable, write_columns

__all__ = ["Session"]

Listener = Callable[[str, dict[str, Any]], Any]
STEPS = 3  # of a report
PAINT = 0.12  # seconds that pages get to paint predictions before anything else is computed


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
        self._X, self._options, self._prepared = X, options, prepared
        self.items, self.title, self.n = items, title, int(X.shape[0])
        self.folder = folder or (Path() if journal is None else journal.parent)
        header = {"rows": self.n, "data": "" if journal is None else fingerprint(X), "seed": seed}
        self._book = Book(Labels(self.n, classes, given), journal, header)
        self._labels = self._book.labels
        self.notes = list(self._book.notes)
        self._order = RandomOrder(self.n, self._book.seed)
        self._suggested: list[int] = []
        self._queue: list[Entry] = []
        self.positions = np.zeros((0, 2), dtype=np.float32)
        self._learned = Learned(-1, np.full(self.n, -1, dtype=np.intp), None)
        self._predictions = Predictions.nothing(self.n)
        self._assessment: Assessment | None = None  # of a model with the classes of the newest one
        self._doubts: list[dict[str, Any]] = []
        self._reported = -1  # revision
        self._phase, self._progress = "preparing", dict[str, Any]()
        self._failure: BaseException | None = None
        self._closed = False
        self._listeners: list[Listener] = []
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
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
        """End the threads and let others write to the journal."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(10.0)
        self._book.close()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a function with the name and the data of each event, from any thread; return what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def act(self, action: dict[str, Any]) -> dict[str, Any]:
        """Do what a page asks for; when this returns it is on the disk."""
        with self._changed:
            if self._phase != "ready":
                raise NotReadyError("The map is still being prepared. Wait a moment.")
            if self._book.has_done(action):
                return self.state()
            undone = self._book.write(action, self._queue)
            self._renew_queue(undone)
            self._changed.notify_all()
            state = self.state()
            self._tell("labels", state)
            return state

    def _renew_queue(self, undone: Any) -> None:
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
                    "curve": [score.to_dict() for _, score in sorted(self._book.curve.items())],
                    "single": None if self._assessment is None else self._assessment.single,
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
            label = int(self._labels.of_row[row])
            model, assessment, predictions = self._learned.model, self._assessment, self._predictions
        known = {"row": row, "label": label if label >= 0 else None, **self.items.describe(row)}
        if model is None or predictions.classes[row] == NO_CLASS:
            return known
        return known | verdict_of(row, model, assessment, predictions)

    def picture(self, row: int) -> bytes | None:
        """Return a picture of a row as PNG; None where there is none."""
        self._check_row(row)
        return self.items.picture(row)

    def explain(self, row: int) -> dict[str, Any]:
        """Return the labelled rows that drove a prediction, with their shares."""
        self._check_row(row)
        return explanation_of(row, self._learned.model)

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
            return to_model(self._learned.model, self._labels, self._prepared)

    def save_labels(self, path: Path) -> None:
        """Write labels and predictions of all rows to a CSV, TSV, Parquet, Feather or NPZ file."""
        with self._lock:
            drawn = None if self._assessment is None else self._assessment.drawn
            columns = label_columns(self.items, self._labels, self._predictions, self._learned.model, drawn)
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
            learner = Learner(self._X, random_state=self._book.seed, **self._options)
            self.notes += learner.notes
            self.positions = learner.of_points(lay_out(learner.kernel, self._book.seed))
        self._learn(learner)
        self._suggest(learner, self._learned)
        with self._changed:
            self._learner = learner
            self._phase = "ready"
            self._changed.notify_all()
        self._tell("labels", self.state())
        while self._wait_for(lambda: self._learned.revision != self._labels.revision):
            self._learn(learner)

    def _report_on(self) -> None:
        """Say what comes next, how good the model is, and which labels look wrong, one after the other.

        A label that comes meanwhile is learnt at once, and the next step has its model: nobody who labels fast waits
        for the first step forever, nor for the last. The report is complete when all steps had the same labels.
        """
        last, same = self._learned, 0
        for step in cycle((self._suggest, self._assess, self._doubt)):
            if not self._wait_for(lambda: self._phase == "ready" and self._reported != self._learned.revision):
                return
            if self._learned is not last:
                self._let_pages_paint()
                last, same = self._learned, 0
            with small_algebra(len(self._learner.kernel.landmark_indices_)):  # pages need the other cores
                step(self._learner, last)
            same += 1
            if same >= STEPS:
                with self._changed:
                    self._reported = last.revision
                    self._changed.notify_all()
            self._tell("labels", self.state())

    def _let_pages_paint(self) -> None:
        """Wait until predictions are out and pages have had the time to paint them: all of this shares a few cores."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._predictions.revision == self._learned.revision)
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
            of_row, revision, before = self._labels.of_row, self._labels.revision, self._learned
        learned = learner.learn(of_row, revision)
        is_known = before.revision >= 0 and np.array_equal(of_row, before.of_row)  # after a skip, say
        with self._changed:
            if not learned.has_classes_of(before):
                self._assessment = None
            self._learned = learned
            if is_known:
                self._predictions = replace(self._predictions, revision=revision)
            self._changed.notify_all()
        if not is_known:
            self._publish(learned)

    def _publish(self, learned: Learned) -> None:
        """Tell everybody what the model says, unless there is a newer one."""
        model, assessment = learned.model, self._assessment
        if model is None:
            nothing = Predictions.nothing(self.n)
            classes, confidence = nothing.classes, nothing.confidence
        else:
            known = Calibration.before_labels(len(model.classes)) if assessment is None else assessment.calibration
            classes, confidence = model.predict(known)
        with self._changed:
            if learned is not self._learned:
                return
            rows, version = learned.rows, self._predictions.version + 1
            self._predictions = Predictions(version, learned.revision, classes, confidence, rows, learned.of_row[rows])
            moved = {
                "version": version,
                "revision": learned.revision,
                "expected_error": self._predictions.expected_error,
                "predicted": self._predictions.counts(len(self._labels.classes)),
            }
            self._changed.notify_all()
        self._tell("predictions", moved)

    def _suggest(self, learner: Learner, learned: Learned) -> None:
        """Bring the queue up to date."""
        with self._lock:
            labels, first = self._labels, self._queue[:1]
            settled = [*labels.skipped, *self._order.next(labels, 2), *(entry.row for entry in first)]
        if learned.model is None:
            suggested = learner.first_rows(LENGTH, [*learned.rows.tolist(), *settled])
        else:
            suggested = learned.model.suggest(LENGTH, settled, self._book.seed + learned.revision)
        with self._lock:
            self._suggested = suggested
            self._renew_queue(None)

    def _assess(self, learner: Learner, learned: Learned) -> None:
        """Score the model on random draws, and make its confidences those of its held-out labels."""
        if learned.model is None:
            return
        with self._lock:
            counted = self._order.counted(self._labels)
        assessment = learned.model.assess(counted[learned.of_row[counted] >= 0])
        with self._lock:
            if not learned.has_classes_of(self._learned):
                return
            self._assessment = assessment
            drawn = assessment.drawn
            self._book.keep_score(Score(len(learned.rows), drawn.right, len(drawn.targets)))
        self._publish(learned)

    def _doubt(self, learner: Learner, learned: Learned) -> None:
        """List labels that the others contradict."""
        doubts = doubts_of(learned.model)
        with self._lock:
            self._doubts = doubts

    def _tell(self, event: str, data: dict[str, Any]) -> None:
        for listener in tuple(self._listeners):
            listener(event, data)
