"""Probabilities from decision values: one temperature and, for two classes, one bias, fitted to held-out values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from halfmoon.runtime.storable import storable

__all__ = ["Calibration"]

Matrix = NDArray[np.float64]
PRIOR_PRECISION = 0.1  # of log temperature and bias: with a few labels they stay near 0


@storable
@dataclass(frozen=True)
class Calibration:
    """P(class | f) = softmax(slope f + bias)."""

    slope: float
    bias: float  # of the second of two classes

    @classmethod
    def fit(cls, values: Matrix, targets: NDArray[np.intp], weights: NDArray[np.float64]) -> Calibration:
        """Maximise the likelihood of the labels, given decision values of models that have not seen them."""

        def loss(parameters: NDArray[np.float64]) -> float:
            scores = cls(float(np.exp(parameters[0])), float(parameters[1])).scores(values)
            likelihood = np.sum(weights * log_softmax(scores, axis=1)[np.arange(len(targets)), targets])
            return float(PRIOR_PRECISION * np.sum(parameters**2) - likelihood)

        best = minimize(loss, np.zeros(2), method="Nelder-Mead").x
        return cls(float(np.exp(best[0])), float(best[1]))

    def scores(self, values: Matrix) -> Matrix:
        """Return one log-odds column a class."""
        if values.shape[1] == 1:
            return np.hstack([np.zeros_like(values), 2.0 * self.slope * values + self.bias])
        return self.slope * values

    def probabilities(self, values: Matrix) -> Matrix:
        """Return class probabilities."""
        return softmax(self.scores(values), axis=1)
