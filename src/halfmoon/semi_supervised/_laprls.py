"""Laplacian regularised least squares: ridge regression in the data-dependent kernel, in closed form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_real, validate_points
from halfmoon.runtime.chunks import by_chunk
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._assessment import Comparison, compare_targets
from halfmoon.semi_supervised._base import LapEstimator
from halfmoon.semi_supervised._classifier import LapClassifier
from halfmoon.semi_supervised._conformal import (
    check_level,
    inflation,
    jackknife_interval,
    jackknife_p_values,
    ridge_interval,
    ridge_p_values,
)
from halfmoon.semi_supervised._jackknife import JackknifeRidge
from halfmoon.semi_supervised._learned import is_given
from halfmoon.semi_supervised._scores import labeled_rows, r_squared
from halfmoon.semi_supervised._training_set import regression_targets
from halfmoon.semi_supervised.losses import RidgeLoss, RidgeSolution

__all__ = ["LapRLSClassifier", "LapRLSRegressor"]

Matrix = NDArray[np.float64]


class _Ridge(LapEstimator):
    """Ridge regression on the labelled rows."""

    alpha: float | None

    @property
    def given_alpha(self) -> float | None:
        """The ridge, or None."""
        return None if self.alpha is None else check_real("alpha", self.alpha, strict=True)

    def loss(self, alpha: float) -> RidgeLoss:
        """Return least squares with a ridge."""
        return RidgeLoss(alpha)

    def _solution(self) -> RidgeSolution:
        solution = self._fitted.solution
        assert isinstance(solution, RidgeSolution)
        return solution

    @property
    def loo_residuals_(self) -> Matrix:
        """Leave-one-out residuals on the labelled examples: y_i - f(x_i), f fitted without i."""
        return self._solution().residuals[: self._fitted.problem.training.n_examples]


@storable
class LapRLSClassifier(LapClassifier, _Ridge):
    """Semi-supervised classifier: least squares on the labels, smoothness on all the data.

    One ridge regression per class on targets +1 and -1, in the data-dependent kernel of all rows; closed form, with
    leave-one-out errors for free.

    Parameters
    ----------
    alpha : float, default=None
        Ridge, for a kernel of unit diagonal; None uses the best by leave-one-out.
    kernel : DataDependentKernel, str or callable, default=None
        The kernel; None means ``DataDependentKernel()``, and a name or function is its base kernel.
        With its ``extension="auto"`` the labels decide, by
        leave-one-out, how much of the graph and how much of the base kernel to use.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    priors : array-like of shape (n_classes,), dict, "balanced" or None, default=None
        Shares of the classes among all rows, in the order of `classes_`; whole numbers are counts, a dict names the
        classes, "balanced" means equal shares. The landmarks get classes that agree with labels and shares and become
        examples; then the decision values are shifted until the training rows agree.
    probability : bool, default=False
        Fit what `predict_proba` needs.
    n_neighbors, n_landmarks, random_state, n_jobs : default=None
        Parameters of the kernel that can be set here; None means the kernel's value.
    instant_refits : bool, str or Path, default=False
        Store the interpolation from the landmarks to all rows in `fit`, n x n_landmarks in float32: `refit` then solves
        nothing. True: in memory. A folder: there, removed with the model. Pickles and model files leave it out.
    max_memory : int, default=None
        Bytes that `fit` may take beyond the rows themselves, what is kept for instant refits included. The peak is
        predicted before graph and solves, work is done so that it stays below, and a fit that cannot is refused. Up to
        2,000 rows, and for kernels other than powers of the Laplacian of a Euclidean or cosine graph of dense rows, it
        bounds instant refits alone. None: columns, and what is kept for instant refits, may each take half of the free
        memory.
    checkpoint : str or Path, default=None
        A folder for the finished pieces of a long `fit`: neighbours, landmarks, factor, columns. A run that was killed
        goes on from there when it is called again with the same data and parameters. Delete the folder afterwards.
    verbose : bool, default=False
        Print what takes time while it is done.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    kernel_ : DataDependentKernel
        The kernel, fitted on the distinct rows of X.
    choice_ : Choice
        Which kernels are summed, with which weights, and why.
    report_ : Report
        How good the model is on labels it has not seen, and whether the unlabelled rows help.
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
        kernel: Any = None,
        class_weight: Any = None,
        priors: Any = None,
        probability: bool = False,
        n_neighbors: int | None = None,
        n_landmarks: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        instant_refits: bool | str | Path = False,
        max_memory: int | None = None,
        checkpoint: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.class_weight = class_weight
        self.priors = priors
        self.probability = probability
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.instant_refits = instant_refits
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.verbose = verbose

    def _p_values(self, A: Any) -> Matrix:
        learned = self._fitted
        if is_given(learned.kernel, self.given_alpha):
            return ridge_p_values(learned, learned.choice.alpha, self._offsets, A)
        return jackknife_p_values(learned, JackknifeRidge.fit(learned, self.given_alpha), self._offsets, A)


@storable
class LapRLSRegressor(RegressorMixin, _Ridge):
    """Semi-supervised regression: least squares on the known targets, smoothness on all the data.

    Parameters
    ----------
    alpha : float, default=None
        Ridge, for a kernel of unit diagonal; None uses the best by leave-one-out.
    kernel : DataDependentKernel, str or callable, default=None
        The kernel; None means ``DataDependentKernel()``, and a name or function is its base kernel.
    n_neighbors, n_landmarks, random_state, n_jobs : default=None
        Parameters of the kernel that can be set here; None means the kernel's value.
    instant_refits : bool, str or Path, default=False
        Store the interpolation from the landmarks to all rows in `fit`, n x n_landmarks in float32: `refit` then solves
        nothing. True: in memory. A folder: there, removed with the model. Pickles and model files leave it out.
    max_memory : int, default=None
        Bytes that `fit` may take beyond the rows themselves, what is kept for instant refits included. The peak is
        predicted before graph and solves, work is done so that it stays below, and a fit that cannot is refused. Up to
        2,000 rows, and for kernels other than powers of the Laplacian of a Euclidean or cosine graph of dense rows, it
        bounds instant refits alone. None: columns, and what is kept for instant refits, may each take half of the free
        memory.
    checkpoint : str or Path, default=None
        A folder for the finished pieces of a long `fit`: neighbours, landmarks, factor, columns. A run that was killed
        goes on from there when it is called again with the same data and parameters. Delete the folder afterwards.
    verbose : bool, default=False
        Print what takes time while it is done.

    Attributes
    ----------
    kernel_ : DataDependentKernel
        The kernel, fitted on the distinct rows of X.
    choice_ : Choice
        Which kernels are summed, with which weights, and why.
    report_ : Report
        How good the model is on targets it has not seen, and whether the unlabelled rows help.
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

    def __init__(
        self,
        alpha: float | None = None,
        *,
        kernel: Any = None,
        n_neighbors: int | None = None,
        n_landmarks: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        instant_refits: bool | str | Path = False,
        max_memory: int | None = None,
        checkpoint: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.instant_refits = instant_refits
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.verbose = verbose

    def read(self, y: Any, n: int) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any] | None]:
        """Return which of the n rows have a target, and the targets."""
        return *regression_targets(y, n), None

    @by_chunk
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return predictions at new points.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        return_std : bool, default=False
            Return also a standard deviation for the target of each point, noise included: that of the Gaussian process
            with this kernel and this ridge, scaled by the leave-one-out residuals.

        Returns
        -------
        mean : ndarray of shape (m,)
        std : ndarray of shape (m,)
            Only with ``return_std=True``.
        """
        mean = self._decide(X)[:, 0]
        if not return_std:
            return mean
        A = validate_points(self, X, reset=False)
        return mean, self._deviation(A)

    def _deviation(self, A: Any) -> NDArray[np.float64]:
        """Return the predictive standard deviation, its scale set by leave-one-out residuals."""
        learned, solution = self._fitted, self._solution()
        noise = learned.choice.alpha / float(learned.problem.weights.mean())
        variance = solution.variance(*learned.mixture.cross(learned.choice.weights, A, alike=True)) + noise
        jackknife = JackknifeRidge.fit(learned, self.given_alpha)
        return solution.scale * inflation(learned, jackknife, A) * np.sqrt(variance)

    @by_chunk
    def predict_interval(self, X: Any, level: float = 0.9) -> Matrix:
        """Return an interval for the target of each point: full conformal prediction.

        The true target is in the interval of about a share `level` of the points; `conformal_guarantee` says what is
        proven. With fewer than level / (1 - level) known targets intervals are infinite: 9 are needed for 0.9.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.
        level : float, default=0.9
            Share of the points whose target is to be in their intervals, between 0 and 1.

        Returns
        -------
        ndarray of shape (m, 2)
            Lower and upper ends.
        """
        level = check_level(level)
        check_is_fitted(self, "decision_")
        A = validate_points(self, X, reset=False)
        learned = self._fitted
        if is_given(learned.kernel, self.given_alpha):
            return ridge_interval(learned, learned.choice.alpha, level, A)
        return jackknife_interval(learned, JackknifeRidge.fit(learned, self.given_alpha), level, A)

    @property
    def transduction_(self) -> NDArray[np.float64]:
        """Predictions at the training rows."""
        return self._decide_training()[:, 0].copy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2 on the rows with a target, in any unit; NaN are skipped.

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
        check_is_fitted(self, "decision_")
        y = np.asarray(y, dtype=np.float64)
        X, y, sample_weight = labeled_rows(X, y, sample_weight, ~np.isnan(y))
        if len(y) < 2:
            raise ValueError(f"R^2 compares targets with their mean: it needs at least 2 of them. Got {len(y)}.")
        return r_squared(y, self.predict(X), sample_weight)

    def _compare(self, names: tuple[str, str], of_model: Matrix, of_base: Matrix) -> Comparison:
        problem = self.learned_.problem
        model, base = self.held_out_values()[:, 0], self.held_out_values("base")[:, 0]
        return compare_targets(problem, model, base, names, (of_model - of_base)[:, 0], problem.training.n_unlabeled)

    def _disagreement(self, of_model: Matrix, of_base: Matrix) -> float:
        targets = self.learned_.problem.training.targets
        unit = self.learned_.problem.unit
        variance = float(np.var(targets / unit)) or float("nan")  # of equal targets there is no measure
        return float(np.mean(np.square((of_model - of_base) / unit))) / variance if len(of_model) else 0.0
