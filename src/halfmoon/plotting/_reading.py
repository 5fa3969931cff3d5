"""Reading fitted estimators: the kernel inside, its labelled examples, and what it predicts how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_clusterer, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_integer, check_random_state, take_rows
from halfmoon.kernels import DataDependentKernel
from halfmoon.semi_supervised import LapEstimator, LapRLSRegressor

__all__ = [
    "Prediction",
    "at_most",
    "class_scores",
    "find_kernel",
    "fitted_kernel",
    "margins",
    "own_examples",
    "predict",
    "unit_diagonal",
    "unwrap",
]

Matrix = NDArray[np.float64]
SURE = 95  # percentile of the margins from which on a prediction counts as fully sure; a few extremes set no scale


@dataclass(frozen=True)
class Prediction:
    """Predictions at some points.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Class numbers, or predicted targets.
    confidence : ndarray of shape (n,)
        From 0 to 1.
    classes : ndarray or None
        Names of the classes or clusters; None for targets.
    """

    values: NDArray[Any]
    confidence: Matrix
    classes: NDArray[Any] | None


def unwrap(estimator: Any) -> Any:
    """Return the estimator that a search has found, or the estimator itself; pipelines are refused."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline):
        raise TypeError(
            "A Pipeline transforms X before the kernel sees it. Pass its last step and the transformed data: "
            "from_estimator(pipeline[-1], pipeline[:-1].transform(X))."
        )
    return estimator


def find_kernel(estimator: Any) -> DataDependentKernel | None:
    """Return the data-dependent kernel that an estimator is or holds; None if there is none."""
    candidates = (estimator, getattr(estimator, "kernel_", None), getattr(estimator, "kernel", None))
    return next((one for one in candidates if isinstance(one, DataDependentKernel)), None)


def fitted_kernel(estimator: Any) -> DataDependentKernel:
    """Return the data-dependent kernel inside a fitted estimator, or say what can be passed."""
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    kernel = find_kernel(estimator)
    if kernel is None:
        raise TypeError(
            f"There is no data-dependent kernel in {type(estimator).__name__}. Pass a fitted DataDependentKernel, or "
            "an estimator that holds one: LapSVC, LapRLSClassifier, LapRLSRegressor, KernelKMeans, LandmarkFeatures, "
            "SVC(kernel=kernel)."
        )
    check_is_fitted(kernel)
    return kernel


def own_examples(estimator: Any) -> tuple[Any, NDArray[Any]] | None:
    """Return the labelled points that halfmoon's estimators remember, and their labels or targets."""
    if not isinstance(estimator, LapEstimator):
        return None
    problem = estimator.learned_.problem
    return problem.training.X_L, problem.truth


def at_most(max_rows: int, random_state: Any, X: Any, *columns: Any) -> list[Any]:
    """Return X and columns of its length, cut to the same random rows where there are more than `max_rows`."""
    check_integer("max_rows", max_rows, low=2)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n <= max_rows:
        return [X, *columns]
    rows = np.sort(check_random_state(random_state).choice(n, size=max_rows, replace=False))
    return [None if part is None else take_rows(part, rows) for part in (X, *columns)]


def class_scores(estimator: Any, X: Any) -> tuple[NDArray[Any], Matrix]:
    """Return the classes or clusters, and one column of scores a class; the largest wins."""
    if is_clusterer(estimator) and hasattr(estimator, "transform"):
        distances = estimator.transform(X)
        return np.arange(distances.shape[1]), -distances
    name = next((name for name in ("decision_function", "predict_proba") if hasattr(estimator, name)), None)
    if name is None or not hasattr(estimator, "classes_"):
        raise TypeError(
            f"{type(estimator).__name__} predicts no classes or clusters. Pass a fitted classifier (LapSVC, "
            "LapRLSClassifier, SVC) or KernelKMeans."
        )
    scores = np.asarray(getattr(estimator, name)(X))
    return estimator.classes_, np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def margins(scores: Matrix) -> Matrix:
    """Return how far each class is above the best of the others; 0 or more for the winner."""
    if scores.shape[1] == 1:
        return np.zeros_like(scores)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    rival = np.where(scores == best[:, None], second[:, None], best[:, None])
    return scores - rival


def predict(estimator: Any, X: Any) -> Prediction | None:
    """Return predictions and how sure they are; None for a kernel, which predicts nothing."""
    if not hasattr(estimator, "predict"):
        return None
    if is_regressor(estimator):
        return _predict_targets(estimator, X)
    classes, scores = class_scores(estimator, X)
    if hasattr(estimator, "predict_proba"):
        probability = estimator.predict_proba(X).max(axis=1)
        confidence = (probability - 1.0 / len(classes)) / (1.0 - 1.0 / len(classes))
    else:
        margin = margins(scores).max(axis=1)
        scale = float(np.percentile(margin, SURE))
        confidence = margin / scale if scale > 0.0 else np.ones_like(margin)
    return Prediction(scores.argmax(axis=1), np.clip(confidence, 0.0, 1.0), classes)


def _predict_targets(estimator: Any, X: Any) -> Prediction:
    """Return predicted targets; confidence falls from 1 to 0 over the range of the predictive deviations."""
    if not isinstance(estimator, LapRLSRegressor):
        values = estimator.predict(X)
        return Prediction(values, np.ones(len(values)), None)
    values, deviation = estimator.predict(X, return_std=True)
    low, high = np.percentile(deviation, [100 - SURE, SURE])
    confidence = (high - deviation) / (high - low) if high > low else np.ones(len(values))
    return Prediction(values, np.clip(confidence, 0.0, 1.0), None)


def unit_diagonal(K: Matrix) -> Matrix:
    """Return K(x, x') / sqrt(K(x, x) K(x', x')), the cosines of the angles in feature space; 0 where K(x, x) is 0."""
    size = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    return K * np.outer(inverse, inverse)
