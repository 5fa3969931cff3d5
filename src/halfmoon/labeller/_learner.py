"""The model of a session: prepared before there is any label, and refitted with each one."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.active_learning import suggest
from halfmoon.exceptions import DisconnectedGraphWarning, LandmarkWarning
from halfmoon.graph import find_duplicates
from halfmoon.kernels import DataDependentKernel
from halfmoon.labeller._scores import HeldOut, per_class
from halfmoon.semi_supervised import Calibration, LabelIssue, LapRLSClassifier

__all__ = ["Assessment", "Learned", "Learner", "Model"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Assessment:
    """How good a model is, by its labels, each predicted by a model that has not seen it.

    Attributes
    ----------
    calibration : Calibration
        What makes probabilities of its decision values.
    drawn : HeldOut
        The labels of rows that were drawn at random.
    single : float or None
        Share of rows whose prediction set has one class; None while there are too few draws.
    """

    calibration: Calibration
    drawn: HeldOut
    single: float | None


@dataclass(frozen=True, eq=False)
class Model:
    """A model of two classes or more, and what it says about all rows.

    Attributes
    ----------
    estimator : LapRLSClassifier
        Fitted to class numbers.
    values : ndarray of shape (n, c)
        Decision values of all rows, one column per class of `estimator.classes_`.
    """

    estimator: LapRLSClassifier
    values: Matrix

    @property
    def classes(self) -> Indices:
        """Numbers of the classes, in the order of the columns."""
        return np.asarray(self.estimator.classes_, dtype=np.intp)

    def predict(self, calibration: Calibration) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the class of every row and how sure it is, one byte each."""
        best = self.values.argmax(axis=1)
        p = calibration.probabilities(self.values)[np.arange(len(best)), best]
        return self.classes[best].astype(np.uint8), np.rint(255.0 * p).astype(np.uint8)

    def assess(self, rows: Indices) -> Assessment:
        """Return how good the model is, by its labels, each held out; `rows` are the labelled ones drawn at random."""
        learned = self.estimator.learned_
        training = learned.problem.training
        values = self.estimator.held_out_values()
        values = per_class(values[:, 0] if values.shape[1] == 1 else values)
        wanted = np.isin(training.rows, training.point[rows])
        drawn = HeldOut(values[wanted], training.targets[wanted])
        return Assessment(
            Calibration.fit(values, training.targets, learned.problem.weights),
            drawn,
            float((drawn.sets(self.values).sum(axis=1) == 1).mean()) if np.isfinite(drawn.threshold) else None,
        )

    def suggest(self, count: int, exclude: list[int], seed: int) -> list[int]:
        """Return the rows to label next."""
        return suggest(self.estimator, n=count, random_state=seed, exclude=exclude).tolist()

    def doubts(self, count: int) -> list[LabelIssue]:
        """Return labels that look wrong, at most so many."""
        issues = self.estimator.label_issues()
        return [issues[i] for i in range(min(count, issues.n_suspicious))]


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learnt from a revision of the labels.

    Attributes
    ----------
    revision : int
        Of the labels; -1: of none.
    of_row : ndarray of shape (n,)
        Class number of every row, -1 for unlabelled ones.
    model : Model or None
        None while there are fewer than two classes.
    """

    revision: int
    of_row: Indices
    model: Model | None

    @property
    def rows(self) -> Indices:
        """The labelled rows."""
        return np.flatnonzero(self.of_row >= 0)

    def has_classes_of(self, other: Learned) -> bool:
        """Return whether both have models, of the same classes."""
        if self.model is None or other.model is None:
            return False
        return np.array_equal(self.model.classes, other.model.classes)


class Learner:
    """A geometry that is built once, and a model on it for any labels.

    Parameters
    ----------
    X : array-like or scipy sparse of shape (n, d)
        All rows.
    **options
        Parameters of `LapRLSClassifier`: n_neighbors, n_landmarks, random_state and so on.

    Attributes
    ----------
    notes : list of str
        What was warned of.
    """

    def __init__(self, X: Any, **options: Any) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _ignore_advice()
            self._unlabeled = LapRLSClassifier(instant_refits=True, **options).prepare(X)
        self.notes = [" ".join(str(warning.message).split()) for warning in caught]
        self._estimator = self._unlabeled  # the last one that was fitted: refits go on from it
        self.n = int(X.shape[0])
        self._last = Learned(-1, np.full(self.n, -1, dtype=np.intp), None)
        self._point, self._row = self._points_of_rows(X)

    def _points_of_rows(self, X: Any) -> tuple[Indices, Indices]:
        """Return the point of each row, and the first row of each point: copies of a row are one point."""
        if self.kernel.geometry_.n == self.n:
            return np.arange(self.n), np.arange(self.n)
        copies = find_duplicates(np.asarray(X) if not hasattr(X, "tocsr") else X.tocsr())
        return copies.group, copies.first

    @property
    def kernel(self) -> DataDependentKernel:
        """The kernel, fitted on the distinct rows."""
        return self._unlabeled.kernel_

    def of_points(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the distinct points for all rows."""
        return values if len(self._row) == self.n else values[self._point]

    def learn(self, of_row: Indices, revision: int) -> Learned:
        """Return what is learnt from these class numbers (-1: unlabelled)."""
        last = self._last
        if np.array_equal(of_row, last.of_row):
            self._last = Learned(revision, of_row, last.model)
        elif len(np.unique(of_row[of_row >= 0])) < 2:
            self._last = Learned(revision, of_row, None)
        else:
            self._last = Learned(revision, of_row, self._refitted(of_row))
        return self._last

    def _refitted(self, of_row: Indices) -> Model:
        estimator = copy.copy(self._estimator)  # refits leave copies as they were
        with warnings.catch_warnings():
            _ignore_advice()
            estimator.refit(of_row)
        self._estimator = estimator
        return Model(estimator, per_class(estimator.decision_function_))

    def first_rows(self, count: int, exclude: list[int]) -> list[int]:
        """Return the rows to label while there are fewer than two classes: they cover the data."""
        settled = np.unique(self._point[np.asarray(exclude, dtype=np.intp)])
        if len(settled) == len(self._row):
            return []
        points = suggest(self.kernel, n=count, random_state=0, exclude=settled)
        return self._row[points].tolist()


def _ignore_advice() -> None:
    """Drop advice for scripts: labels are still to come, and parts of the graph without one are suggested first."""
    for category in (LandmarkWarning, DisconnectedGraphWarning):
        warnings.simplefilter("ignore", category)
