"""What a session leaves behind: a table of labels and predictions, and a model file."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.labeller._items import Items
from halfmoon.labeller._labels import NO_CLASS, ActionError, Labels
from halfmoon.labeller._learner import Model
from halfmoon.labeller._predictions import Predictions
from halfmoon.labeller._scores import HeldOut
from halfmoon.tables import PreparedTable, class_names

__all__ = ["label_columns", "named_labels", "to_model"]


def named_labels(labels: Labels) -> NDArray[np.object_]:
    """Return the name of every row's class, None where there is no label."""
    names = np.array([*labels.classes, None], dtype=object)
    return names[labels.of_row]


def label_columns(
    items: Items, labels: Labels, predictions: Predictions, model: Model | None, drawn: HeldOut | None
) -> dict[str, NDArray[Any]]:
    """Return the columns of the table: item, label, prediction, confidence, and what the row may well be."""
    n = labels.n
    names = np.array([*labels.classes, *[None] * (NO_CLASS + 1 - len(labels.classes))], dtype=object)
    columns: dict[str, NDArray[Any]] = {
        "item": np.array([items.name(row) for row in range(n)], dtype=object),
        "label": named_labels(labels),
        "prediction": names[predictions.classes],
        "confidence": np.round(predictions.confidence / 255.0, 3),
    }
    if model is not None and drawn is not None and np.isfinite(drawn.threshold):
        columns["may_be"] = _listed(drawn.sets(model.values), names[model.classes])
    return columns


def _listed(sets: NDArray[np.bool_], names: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return the members of each set as one text; rows with equal sets share it."""
    different, which = np.unique(sets, axis=0, return_inverse=True)
    texts = [" | ".join(str(name) for name in names[members]) for members in different]
    return np.array(texts, dtype=object)[which.ravel()]


def to_model(model: Model | None, labels: Labels, prepared: PreparedTable | None) -> Any:
    """Return a model to save, with probabilities: of the table if there is one, else the estimator on class names."""
    if model is None:
        raise ActionError("There is no model yet. Label items of two classes first.")
    present = labels.present
    names = class_names(np.array([labels.classes[number] for number in present]))
    codes = np.where(labels.of_row >= 0, np.searchsorted(present, labels.of_row), -1)
    estimator = copy.copy(model.estimator).set_params(probability=True)
    if prepared is None:
        named = np.full(labels.n, None, dtype=object)
        named[labels.rows] = names[codes[labels.rows]].tolist()
        return estimator.refit(named)
    return prepared.model(estimator.refit(codes), "classify", names, len(labels.rows))
