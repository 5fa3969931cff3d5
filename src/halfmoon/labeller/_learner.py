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

__all__ = ["Learner", "Model"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


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

    def held_out(self) -> tuple[Matrix, Indices, Indices]:
        """Return values of models that have not seen an example, its column, and its point; one row per example."""
        training = self.estimator.learned_.problem.training
        held_out = self.estimator.held_out_values()
        values = held_out[:, 0] if held_out.shape[1] == 1 else held_out
        return per_class(values), training.targets, training.rows

    def calibrate(self, held_out: tuple[Matrix, Indices, Indices]) -> Calibration:
        """Return what makes probabilities of decision values."""
        return Calibration.fit(held_out[0], held_out[1], self.estimator.learned_.problem.weights)

    def drawn(self, held_out: tuple[Matrix, Indices, Indices], rows: Indices) -> HeldOut:
        """Return what was held out of the given rows, which are labelled."""
        values, targets, points = held_out
        wanted = np.isin(points, self.estimator.learned_.problem.training.point[rows])
        return HeldOut(values[wanted], targets[wanted])

    def suggest(self, count: int, exclude: list[int], seed: int) -> list[int]:
        """Return the rows to label next."""
        return suggest(self.estimator, n=count, random_state=seed, exclude=exclude).tolist()

    def doubts(self, count: int) -> list[LabelIssue]:
        """Return labels that look wrong."""
        issues = self.estimator.label_issues()
        return [issues[i] for i in range(min(count, issues.n_suspicious))]


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
            self._unlabeled = LapRLSClassifier(instant_refits=True, **options).prepare(X)
        self.notes = [" ".join(str(warning.message).split()) for warning in caught]
        self._last = self._unlabeled
        self.n = int(X.shape[0])
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

    def learn(self, of_row: Indices) -> Model | None:
        """Return the model of these class numbers (-1: unlabelled); None if there are fewer than two classes."""
        if len(np.unique(of_row[of_row >= 0])) < 2:
            return None
        estimator = copy.copy(self._last)  # refits leave copies as they were
        with warnings.catch_warnings():
            for category in (LandmarkWarning, DisconnectedGraphWarning):
                warnings.simplefilter("ignore", category)  # advice for scripts: here labels are still to come
            estimator.refit(of_row)
        self._last = estimator
        return Model(estimator, per_class(estimator.decision_function_))

    def first_rows(self, count: int, exclude: list[int]) -> list[int]:
        """Return the rows to label while there are fewer than two classes: they cover the data."""
        settled = np.unique(self._point[np.asarray(exclude, dtype=np.intp)])
        if len(settled) == len(self._row):
            return []
        points = suggest(self.kernel, n=count, random_state=0, exclude=settled)
        return self._row[points].tolist()
