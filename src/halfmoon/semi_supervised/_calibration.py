"""Probabilities from decision values: a slope, a bias per class and a share of the class prior.

    P(class c | f) = (1 - share) softmax(slope f + bias)_c + share prior_c

Slope and biases maximise the likelihood of the labels, given values of models that have not seen them, times a prior:
with a label per class such values say nothing, and the slope is what was best on average over many data sets. The share
is of the order of 1 / l: after l labels nothing is certain beyond that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from halfmoon.runtime.storable import storable

__all__ = ["Calibration"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
LOG_SLOPE_OF_TWO, WIDTH_OF_TWO = 0.75, 0.5  # mean and standard deviation of the prior of log slope, two classes
LOG_SLOPE_OF_MORE, WIDTH_OF_MORE = 1.15, 0.35  # the same for more classes
BIAS_WIDTH = 0.5
DOUBT = 0.5  # share of the prior: this many of l + 2 labels
LARGEST_LOG_SLOPE = 10.0


@storable
@dataclass(frozen=True)
class Calibration:
    """P(class | f), see the module.

    Attributes
    ----------
    slope : float
        Of all classes.
    bias : ndarray of shape (n_classes,)
        One per class.
    prior : ndarray of shape (n_classes,)
        Shares of the classes among the labels, one more counted for each.
    share : float
        Share of that prior.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised._calibration import Calibration
    >>> values, targets = np.array([[-1.0], [-0.8], [0.1], [0.9]]), np.array([0, 0, 1, 1])
    >>> calibration = Calibration.fit(values, targets, np.ones(4))
    >>> calibration.probabilities(np.array([[-1.0], [0.0], [100.0]])).round(2)
    array([[0.95, 0.05],
           [0.47, 0.53],
           [0.04, 0.96]])
    """

    slope: float
    bias: Vector
    prior: Vector
    share: float

    @classmethod
    def fit(cls, values: Matrix, targets: NDArray[np.intp], weights: Vector) -> Calibration:
        """Fit to decision values of models that have not seen the labels.

        An example alone in its class does not count: without it no model knew of the class.
        """
        V, l = _per_class(values), len(targets)  # noqa: E741
        n_classes = V.shape[1]
        votes = np.bincount(targets)[targets] > 1
        masses = l * np.bincount(targets, weights=weights, minlength=n_classes) / weights.sum()
        unfitted = cls(1.0, np.zeros(n_classes), (masses + 1.0) / (l + n_classes), DOUBT / (l + 2.0))
        start = np.zeros(1 + n_classes)
        start[0] = LOG_SLOPE_OF_TWO if n_classes == 2 else LOG_SLOPE_OF_MORE
        bounds = [(-LARGEST_LOG_SLOPE, LARGEST_LOG_SLOPE)] + n_classes * [(None, None)]
        arguments = (V[votes], targets[votes], weights[votes], unfitted)
        best = minimize(_loss, start, arguments, method="L-BFGS-B", jac=True, bounds=bounds).x
        return cls(float(np.exp(best[0])), best[1:], unfitted.prior, unfitted.share)

    @classmethod
    def before_labels(cls, n_classes: int) -> Calibration:
        """Return what is assumed before anything was held out: the slope that was best on average."""
        log_slope = LOG_SLOPE_OF_TWO if n_classes == 2 else LOG_SLOPE_OF_MORE
        return cls(float(np.exp(log_slope)), np.zeros(n_classes), np.full(n_classes, 1.0 / n_classes), DOUBT / 2.0)

    def probabilities(self, values: Matrix) -> Matrix:
        """Return class probabilities."""
        sure = softmax(self.slope * _per_class(values) + self.bias, axis=1)
        return (1.0 - self.share) * sure + self.share * self.prior


def _per_class(values: Matrix) -> Matrix:
    """Return one column per class: f of the second of two classes is -f of the first."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def _loss(
    parameters: Vector, V: Matrix, targets: NDArray[np.intp], weights: Vector, given: Calibration
) -> tuple[float, Vector]:
    """Return minus the log of likelihood times prior, and its gradient, for log slope and biases."""
    mean, width = (LOG_SLOPE_OF_TWO, WIDTH_OF_TWO) if len(given.bias) == 2 else (LOG_SLOPE_OF_MORE, WIDTH_OF_MORE)
    gaps = np.concatenate([[(parameters[0] - mean) / width], parameters[1:] / BIAS_WIDTH])
    slope, each = np.exp(parameters[0]), np.arange(len(targets))
    sure = softmax(slope * V + parameters[1:], axis=1)
    own = (1.0 - given.share) * sure[each, targets]
    likely = own + given.share * given.prior[targets]
    loss = 0.5 * float(gaps @ gaps) - float(weights @ np.log(likely))
    by_score = sure * (weights * own / likely)[:, None]
    by_score[each, targets] -= weights * own / likely
    gradient = np.concatenate([[slope * np.sum(by_score * V)], by_score.sum(axis=0)])
    return loss, gradient + gaps / np.array([width] + (len(gaps) - 1) * [BIAS_WIDTH])
