"""Laplacian regularised least squares: ridge regression in the data-dependent kernel, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_points, check_real, validate_data
from halfmoon.kernels import DataDependentKernel
from halfmoon.semi_supervised._base import LapClassifier, LapEstimator
from halfmoon.semi_supervised._diagnosis import Diagnosis
from halfmoon.semi_supervised._losses._ridge import RidgePath, RidgeSolution
from halfmoon.semi_supervised._scores import r_squared
from halfmoon.semi_supervised._training_set import TrainingSet, regression_targets

__all__ = ["LapRLSClassifier", "LapRLSRegressor"]

Matrix = NDArray[np.float64]


class _Ridge(LapEstimator):
    """Ridge regression on the labelled rows."""

    alpha: float | None

    @property
    def _given_alpha(self) -> float | None:
        return None if self.alpha is None else check_real("alpha", self.alpha, strict=True)

    def _ridge(self, K: Matrix, examples: TrainingSet) -> RidgeSolution:
        alpha = self.choice_.alpha if self._given_alpha is None else self._given_alpha
        return RidgePath(K, self._targets(examples), examples.weights).at(alpha)

    def _solve(self, K: Matrix, examples: TrainingSet) -> tuple[Matrix, NDArray[np.float64]]:
        solution = self._ridge(K, examples)
        return solution.dual, solution.intercept

    def _leave_one_out(self, K: Matrix, examples: TrainingSet) -> Matrix:
        return self._targets(examples) - self._ridge(K, examples).residuals

    @property
    def loo_residuals_(self) -> Matrix:
        """Leave-one-out residuals on the labelled examples: y_i - f(x_i), f fitted without i."""
        check_is_fitted(self, "decision_")
        return self._ridge(self._pieces.mixed(self.choice_.weights), self._examples).residuals


class LapRLSClassifier(LapClassifier, _Ridge):
    """Semi-supervised classifier: least squares on the labels, smoothness on all the data.

    One ridge regression a class on targets +1 and -1, in the data-dependent kernel of all rows; closed form, with
    leave-one-out errors for free.

    Parameters
    ----------
    alpha : float, default=None
        Ridge, for a kernel of unit diagonal; None takes the best by leave-one-out.
    kernel : DataDependentKernel, default=None
        The kernel; None means ``DataDependentKernel()``. With its ``extension="auto"`` the labels decide, by
        leave-one-out, how much of the graph and how much of the base kernel to take.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    priors : array-like of shape (n_classes,), default=None
        Shares of the classes among all rows: decision values are shifted until the training rows agree.
    probability : bool, default=False
        Fit what `predict_proba` needs.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    kernel_ : DataDependentKernel
        The kernel, fitted on the distinct rows of X.
    choice_ : Choice
        Which kernels are summed, with which weights, and why.
    transduction_ : ndarray of shape (n,)
        Classes of the training rows.
    decision_function_ : ndarray of shape (n,) or (n, n_classes)
        Decision values of the training rows.
    loo_residuals_ : ndarray
        Leave-one-out residuals of the labelled examples.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from halfmoon import DataDependentKernel, LapRLSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 40, y, -1)     # -1 is unlabelled
    >>> kernel = DataDependentKernel(n_neighbors=8, random_state=0)
    >>> LapRLSClassifier(kernel=kernel).fit(X, few).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        alpha: float | None = None,
        *,
        kernel: DataDependentKernel | None = None,
        class_weight: Any = None,
        priors: Any = None,
        probability: bool = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.class_weight = class_weight
        self.priors = priors
        self.probability = probability


class LapRLSRegressor(RegressorMixin, _Ridge):
    """Semi-supervised regression: least squares on the known targets, smoothness on all the data.

    Parameters
    ----------
    alpha : float, default=None
        Ridge, for a kernel of unit diagonal; None takes the best by leave-one-out.
    kernel : DataDependentKernel, default=None
        The kernel; None means ``DataDependentKernel()``.

    Attributes
    ----------
    kernel_ : DataDependentKernel
        The kernel, fitted on the distinct rows of X.
    choice_ : Choice
        Which kernels are summed, with which weights, and why.
    transduction_ : ndarray of shape (n,)
        Predictions at the training rows.
    loo_residuals_ : ndarray
        Leave-one-out residuals of the labelled examples.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_swiss_roll
    >>> from halfmoon import LapRLSRegressor
    >>> X, t = make_swiss_roll(600, random_state=0)
    >>> few = np.where(np.arange(600) < 20, t, np.nan)     # NaN is unlabelled
    >>> LapRLSRegressor().fit(X, few).score(X, t) > 0.8
    True
    """

    def __init__(self, alpha: float | None = None, *, kernel: DataDependentKernel | None = None) -> None:
        self.alpha = alpha
        self.kernel = kernel

    def _read(self, X: Any, y: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        return regression_targets(y, X.shape[0])

    def _targets(self, examples: TrainingSet) -> Matrix:
        return examples.targets[:, None].astype(np.float64)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return predictions at new points.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        return_std : bool, default=False
            Return also the standard deviation of the Gaussian process with this kernel and this ridge as noise.

        Returns
        -------
        mean : ndarray of shape (m,)
        std : ndarray of shape (m,)
            Only with ``return_std=True``.
        """
        mean = self._decide(X)[:, 0]
        if not return_std:
            return mean
        A = check_points(validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False))
        return mean, self._deviation(A)

    def _deviation(self, A: Any) -> NDArray[np.float64]:
        """Return the predictive standard deviation, the scale of the kernel set by the targets themselves."""
        weights, pieces, examples = self.choice_.weights, self._pieces, self._examples
        solution = self._ridge(pieces.mixed(weights), examples)
        variance = solution.variance(*pieces.against(weights, A))
        unit = np.abs(examples.targets).max() or 1.0  # squares of targets may overflow
        y = examples.targets / unit
        y = y - np.average(y, weights=examples.weights)
        scale = float(y @ solution.inverse @ y) / len(y)  # the marginal likelihood's own estimate
        return unit * np.sqrt(scale * variance)

    @property
    def transduction_(self) -> NDArray[np.float64]:
        """Predictions at the training rows."""
        return self._decide_training()[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2 of the predictions, for targets in any unit.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        y : array-like of shape (m,)
            True targets.
        sample_weight : array-like of shape (m,), default=None
            Weights of the points.

        Returns
        -------
        float
        """
        return r_squared(y, self.predict(X), sample_weight)

    def diagnose(self) -> Diagnosis:
        """Return a readout: components, landmarks, error bound, and whether the unlabelled rows help."""
        check_is_fitted(self, "decision_")
        y, w = self._examples.targets, self._examples.weights

        def score(mix: Mapping[str, float]) -> float:
            held_out = self._leave_one_out(self._pieces.mixed(mix), self._examples)
            return r_squared(y, held_out[:, 0], w)

        scores = {"chosen": score(self.choice_.weights), "base kernel alone": score({"base": 1.0})}
        return Diagnosis.of(self, scores)
