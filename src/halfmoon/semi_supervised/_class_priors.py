"""Class-mass normalisation: shift the decision values until the training rows fall into classes as priors say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

__all__ = ["offsets_for_priors"]

Matrix = NDArray[np.float64]
ROUNDS = 200
TOLERANCE = 1e-4


def offsets_for_priors(values: Matrix, priors: Any, n_classes: int) -> NDArray[np.float64]:
    """Return what to add to each column so that the shares of rows won by each class match the priors.

    Shares are counted softly, by a softmax whose temperature is the spread of the values, so that the solution is
    unique and does not jump.
    """
    priors = np.asarray(priors, dtype=np.float64)
    if priors.shape != (n_classes,) or np.any(priors <= 0.0) or abs(priors.sum() - 1.0) > 1e-6:
        raise ValueError(
            f"The 'priors' parameter must hold {n_classes} positive shares, one per class in the order of classes_, "
            f"that sum to 1. Got {priors!r}."
        )
    if values.shape[1] == 1:  # two classes: a quantile
        return -np.quantile(values, priors[0], axis=0)
    sharpness = 4.0 / max(float(values.std()), np.finfo(float).tiny)
    offsets = np.zeros(n_classes)
    for _ in range(ROUNDS):
        shares = softmax(sharpness * (values + offsets), axis=1).mean(axis=0)
        step = np.log(priors / np.maximum(shares, np.finfo(float).tiny)) / sharpness
        offsets += step - step.mean()
        if np.abs(shares - priors).max() < TOLERANCE:
            break
    return offsets
