"""What the semi-supervised classifiers share: one function per class, priors, probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_points, labeled_mask, validate_data
from halfmoon.semi_supervised._base import LapEstimator
from halfmoon.semi_supervised._calibration import Calibration
from halfmoon.semi_supervised._class_priors import offsets_for_priors
from halfmoon.semi_supervised._conformal import ROUNDING, check_level
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._problem import winners
from halfmoon.semi_supervised._scores import labeled_rows
from halfmoon.semi_supervised._training_set import class_labels

__all__ = ["LapClassifier"]

Matrix = NDArray[np.float64]


class LapClassifier(ClassifierMixin, LapEstimator):
    """A semi-supervised classifier: one function per class (one in all for two classes)."""

    class_weight: Any
    priors: Any
    probability: bool

    def read(self, y: Any, n: int) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any] | None]:
        """Return which of the n rows are labelled, the class numbers of all rows, and the classes."""
        labeled, classes, numbers = class_labels(y, n)
        return labeled, numbers, classes

    def adopt(self, learned: LearnedModel) -> Self:
        """Become the model that was learnt elsewhere, in a search say, from a problem of this estimator."""
        problem = learned.problem
        assert problem.classes is not None
        offsets, calibration = np.zeros(len(learned.solution.intercept)), None
        if self.priors is not None:
            values = learned.decision.on_training_points(problem.training.X)
            counts = np.bincount(problem.training.point[problem.training.point >= 0], minlength=len(values))
            offsets = offsets_for_priors(np.repeat(values, counts, axis=0), self.priors, len(problem.classes))
        if self.probability:
            K = learned.mixture.mixed(learned.choice.weights)
            held_out = self.loss(learned.choice.alpha).leave_one_out(K, problem.Y, problem.weights)
            calibration = Calibration.fit(held_out + offsets, problem.training.targets, problem.weights)
        super().adopt(learned)
        self.classes_, self._offsets = problem.classes, offsets
        if calibration is not None:
            self.calibration_ = calibration
        return self

    def decision_function(self, X: Any) -> Matrix:
        """Return the decision values of new points, one column per class; 1-D for two classes.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
        """
        values = self._decide(X)
        return _shaped(values + self._offsets)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes of new points.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m,)
        """
        values = self._decide(X)
        return self.classes_[winners(values + self._offsets)]

    @available_if(lambda self: self.probability or _asked_too_late())
    def predict_proba(self, X: Any) -> Matrix:
        """Return class probabilities of new points, calibrated on values held out from the labelled rows.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        values = self._decide(X)
        return self.calibration_.probabilities(values + self._offsets)

    def predict_set(self, X: Any, level: float = 0.9) -> NDArray[np.bool_]:
        """Return, for each point, the classes that it may well have: conformal prediction sets.

        The true class is in the set of about a share `level` of the points; `conformal_guarantee` says what is proven.
        A set of one class is an answer, a set of several or of none says that the model cannot tell.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        level : float, default=0.9
            Share of the points whose class is to be in their sets, between 0 and 1.

        Returns
        -------
        ndarray of bool of shape (m, n_classes)
            One column per class of `classes_`.
        """
        level = check_level(level)
        check_is_fitted(self, "decision_")
        A = check_points(validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False))
        return self._p_values(A) > 1.0 - level + ROUNDING

    @abstractmethod
    def _p_values(self, A: Any) -> Matrix:
        """Return, for each row of A and each class, the share of examples at least as odd as the row."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labelled rows; unlabelled ones (-1, None, NaN) are skipped.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        y : array-like of shape (m,)
            True classes.
        sample_weight : array-like of shape (m,), default=None
            Weights of the points.

        Returns
        -------
        float
        """
        check_is_fitted(self, "decision_")
        X, y, sample_weight = labeled_rows(X, y, sample_weight, labeled_mask(y, len(y)))
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    @property
    def decision_function_(self) -> Matrix:
        """Decision values of the training rows."""
        return _shaped(self._decide_training() + self._offsets)

    @property
    def transduction_(self) -> NDArray[Any]:
        """Classes of the training rows."""
        return self.classes_[winners(self._decide_training() + self._offsets)]

    def _score_of(self, held_out: Matrix) -> float:
        training = self._learned.problem.training
        return float(np.average(winners(held_out) == training.targets, weights=training.weights))


def _shaped(values: Matrix) -> Matrix:
    return values[:, 0] if values.shape[1] == 1 else values


def _asked_too_late() -> bool:
    raise AttributeError("predict_proba needs probability=True at the time of fit.")
