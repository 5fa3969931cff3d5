"""What pages are told about a row, and about labels that look wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfmoon.labeller._learner import Assessment, Model
from halfmoon.labeller._predictions import Predictions

__all__ = ["doubts_of", "explanation_of", "verdict_of"]

DOUBTS = 12  # labels to check that are listed
SHARES = 5  # labelled rows that an explanation names


def verdict_of(row: int, model: Model, assessment: Assessment | None, predictions: Predictions) -> dict[str, Any]:
    """Return what a model says about a row: class, confidence, and what else it may well be."""
    verdict = {
        "prediction": int(predictions.classes[row]),
        "confidence": float(predictions.confidence[row]) / 255.0,
    }
    if assessment is not None and np.isfinite(assessment.drawn.threshold):
        verdict["may_be"] = model.classes[assessment.drawn.sets(model.values[[row]])[0]].tolist()
    return verdict


def explanation_of(row: int, model: Model | None) -> dict[str, Any]:
    """Return the labelled rows that drove a prediction, with their shares."""
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


def doubts_of(model: Model | None) -> list[dict[str, Any]]:
    """Return the labels that are worth a second look."""
    return [
        {"row": issue.row, "given": issue.given, "suggested": issue.suggested, "score": issue.score}
        for issue in ([] if model is None else model.doubts(DOUBTS))
    ]
