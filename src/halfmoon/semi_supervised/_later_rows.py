"""Rows that arrive after a fit: distinct points among them, a kernel that has them, labels of old and new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import labeled_mask
from halfmoon.graph import RowLookup, find_duplicates, stacked
from halfmoon.kernels import DataDependentKernel
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised._training_set import TrainingSet, label_kind, label_list

__all__ = ["with_later_rows"]

Read = Callable[[Any, int], tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any] | None]]


def with_later_rows(
    learned: LearnedModel, X_new: Any, y_new: Any, read: Read, class_weight: Any
) -> tuple[LearningProblem, DataDependentKernel]:
    """Return the problem and the kernel of a model with further rows; those that are copies of points stay copies.

    `read` reads the labels of all rows, as for a fit.
    """
    before = learned.problem.unweighted
    point, fresh = _points_of(X_new, before.X)
    kernel = learned.kernel.append(X_new[fresh]) if len(fresh) else learned.kernel
    if kernel.method == "budget":
        X = stacked(before.X, X_new[fresh])
    else:
        X = kernel.points_  # one copy in memory
    training = replace(before, X=X, point=np.concatenate([before.point, point]))
    labeled, targets, classes = read(_all_labels(learned.problem, y_new, len(point)), len(training.point))
    training = training.relabeled(labeled, targets, _all_weights(before, len(point)))
    return LearningProblem.of(training, classes, class_weight), kernel


def _points_of(X_new: Any, X: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the point of each new row, numbered after those of X if it is none of them, and the first row of each."""
    copies = find_duplicates(X_new)
    number = RowLookup(X).find(X_new[copies.first])
    unknown = number < 0
    number[unknown] = X.shape[0] + np.arange(int(unknown.sum()))
    return number[copies.group], copies.first[unknown]


def _all_labels(problem: LearningProblem, y_new: Any, m: int) -> NDArray[np.object_]:
    """Return the labels of all rows, None where there is none; an array with NaN has 1.0 for the class 1."""
    labels = label_list(y_new, m)
    if problem.classes is not None:
        _check_kind(labels, labeled_mask(np.array(labels, dtype=object), m), problem.classes)
    if problem.classes is not None and problem.classes.dtype.kind in "iu":
        labels = [_whole(label) for label in labels]
    n = len(problem.training.point)
    y = np.full(n + m, None, dtype=object)
    y[problem.training.origins] = problem.truth.tolist()
    y[n:] = labels
    return y


def _whole(label: Any) -> Any:
    return int(label) if isinstance(label, float | np.floating) and label.is_integer() else label


def _check_kind(labels: list[Any], labeled: NDArray[np.bool_], classes: NDArray[Any]) -> None:
    """Refuse labels of another kind than the classes that are known: numpy would turn 1 among texts into "1"."""
    known = classes.tolist()
    kind = label_kind(known[0])
    for row in np.flatnonzero(labeled).tolist():
        if label_kind(labels[row]) != kind:
            raise ValueError(
                f"y holds {labels[row]!r} in row {row}; the classes of this model are {kind}: {known[0]!r}, "
                f"{known[1]!r}{', ...' if len(known) > 2 else ''}. Give the new labels as {kind}, or fit all rows anew."
            )


def _all_weights(training: TrainingSet, m: int) -> NDArray[np.float64]:
    """Return weights of all rows: an example has that of all equal ones, new rows have 1."""
    weights = np.ones(len(training.point) + m)
    weights[training.origins] = training.weights
    return weights
