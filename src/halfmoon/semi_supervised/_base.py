"""What the semi-supervised estimators share: from data and labels to a decision function."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_points, validate_data
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.kernels import DataDependentKernel, fit_small
from halfmoon.regularizers import Regularizer
from halfmoon.semi_supervised._calibration import Calibration
from halfmoon.semi_supervised._class_priors import offsets_for_priors
from halfmoon.semi_supervised._diagnosis import Diagnosis
from halfmoon.semi_supervised._mixture_selection import Choice, choose_kernel
from halfmoon.semi_supervised._pieces import LabeledKernels
from halfmoon.semi_supervised._training_set import TrainingSet, class_labels

__all__ = ["LapClassifier", "LapEstimator"]

Matrix = NDArray[np.float64]


class LapEstimator(BaseEstimator):
    """Fit a data-dependent kernel on all rows, then a dual problem on the labelled ones."""

    kernel: DataDependentKernel | None

    @abstractmethod
    def _solve(self, K: Matrix, examples: TrainingSet) -> tuple[Matrix, NDArray[np.float64]]:
        """Return dual coefficients and intercepts, one column a function."""

    @abstractmethod
    def _leave_one_out(self, K: Matrix, examples: TrainingSet) -> Matrix:
        """Return decision values on the examples, each from a model that has not seen it."""

    @property
    @abstractmethod
    def _given_alpha(self) -> float | None:
        """The ridge that the user's parameters amount to; None if it is to be chosen."""

    def _choose(self, examples: TrainingSet, pieces: LabeledKernels) -> Choice:
        extension, alpha = self.kernel_.extension, self._given_alpha
        if extension != "auto" and alpha is not None:
            return Choice({extension: 1.0}, alpha, "as given")
        classes = examples.targets if is_classifier(self) else None
        return choose_kernel(pieces, self._targets(examples), examples.weights, classes, extension)

    @abstractmethod
    def _targets(self, examples: TrainingSet) -> Matrix:
        """Return what a ridge regression would be fitted to, one column a function."""

    @abstractmethod
    def _read(self, X: Any, y: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Return which rows are labelled and the targets of all rows; remember the classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data.
        y : array-like of shape (n,)
            Labels, or targets. Classifiers take -1, None, NaN or pandas.NA for unlabelled rows, regressors NaN.
        sample_weight : array-like of shape (n,), default=None
            Weights of the labelled rows; a row of weight 0 is left out altogether.

        Returns
        -------
        self
        """
        self._learn(self._prepare(X, y, sample_weight))
        return self

    def refit(self, y: Any, sample_weight: Any = None) -> Self:
        """Fit to other labels of the rows given to `fit`; graph, landmarks and solves are kept.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels, or targets.
        sample_weight : array-like of shape (n,), default=None
            Weights of the labelled rows.

        Returns
        -------
        self
        """
        check_is_fitted(self, "decision_")
        labeled, targets = self._read(self._examples.point, y)
        examples = self._examples.relabeled(labeled, targets, sample_weight)
        self._learn(examples, LabeledKernels(self.kernel_, examples.X, examples.rows).like(self._pieces))
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """Fit the kernel on all rows; return the labelled examples."""
        X = check_points(validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_min_samples=2))
        labeled, targets = self._read(X, y)
        kernel = DataDependentKernel() if self.kernel is None else clone(self.kernel)
        examples = TrainingSet.gather(X, labeled, targets, sample_weight, merge=not _numbers_rows(kernel))
        known = np.zeros(examples.X.shape[0], dtype=bool)
        known[examples.rows] = True
        if len(known) == 1:
            raise ValueError("All rows of X are equal (1 distinct sample): there is nothing to learn from.")
        self.kernel_ = fit_small(kernel, examples.X, np.where(known, 0, -1))
        if self.kernel_.points_ is None or self.kernel_.method == "budget":
            return examples
        return replace(examples, X=self.kernel_.points_)  # sparse rows are copied by the kernel: keep one copy

    def _learn(self, examples: TrainingSet, pieces: LabeledKernels | None = None) -> None:
        """Choose the kernel and fit the model to the examples."""
        if pieces is None:
            pieces = LabeledKernels(self.kernel_, examples.X, examples.rows)
        _warn_if_beyond_landmarks(pieces)
        self._examples, self._pieces = examples, pieces
        self.choice_ = self._choose(examples, pieces)
        self.dual_coef_, self.intercept_ = self._solve(pieces.mixed(self.choice_.weights), examples)
        self.decision_ = pieces.decision(self.choice_.weights, self.dual_coef_, self.intercept_)

    def _decide(self, X: Any) -> Matrix:
        """Return the decision values at new points."""
        check_is_fitted(self, "decision_")
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return self.decision_(check_points(X))

    def _decide_training(self) -> Matrix:
        """Return the decision values at the training rows; a row of weight 0 is a new point."""
        check_is_fitted(self, "decision_")
        examples = self._examples
        values = self.decision_.on_training_points(examples.X)[examples.point]
        if examples.left_out.shape[0]:
            values[examples.point < 0] = self.decision_(examples.left_out)
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class LapClassifier(ClassifierMixin, LapEstimator):
    """A semi-supervised classifier: one function a class (one in all for two classes)."""

    class_weight: Any
    priors: Any
    probability: bool

    def _read(self, X: Any, y: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        labeled, self.classes_, numbers = class_labels(y, X.shape[0])
        return labeled, numbers

    def _learn(self, examples: TrainingSet, pieces: LabeledKernels | None = None) -> None:
        present = np.bincount(examples.targets, minlength=len(self.classes_))
        if not present.all():
            raise ValueError(f"The labelled rows of class {self.classes_[present.argmin()]!r} all have weight 0.")
        super()._learn(self._weighted(examples), pieces)
        self._offsets = np.zeros(len(self.intercept_))
        if self.priors is not None:
            values = self._decide_training()[self._examples.point >= 0]
            self._offsets = offsets_for_priors(values, self.priors, len(self.classes_))
        if self.probability:
            held_out = self._leave_one_out(self._pieces.mixed(self.choice_.weights), examples)
            self.calibration_ = Calibration.fit(held_out + self._offsets, examples.targets, examples.weights)

    def _weighted(self, examples: TrainingSet) -> TrainingSet:
        """Multiply the weights of the examples by those of their classes."""
        if self.class_weight is None:
            return examples
        masses = np.bincount(examples.targets, weights=examples.weights, minlength=len(self.classes_))
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            factors = masses.sum() / (len(masses) * masses)
        else:
            labels = self.classes_[examples.targets]
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
        return examples.scaled(factors[examples.targets])

    def _targets(self, examples: TrainingSet) -> Matrix:
        """Return +1 for a class and -1 for the others; one column for two classes."""
        signs = np.where(examples.targets[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        return signs[:, 1:] if len(self.classes_) == 2 else signs

    def decision_function(self, X: Any) -> Matrix:
        """Return the decision values of new points, one column a class; 1-D for two classes.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
        """
        values = self._decide(X)
        return self._shaped(values + self._offsets)

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
        return self.classes_[self._winners(values + self._offsets)]

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

    @property
    def decision_function_(self) -> Matrix:
        """Decision values of the training rows."""
        values = self._decide_training()
        return self._shaped(values + self._offsets)

    @property
    def transduction_(self) -> NDArray[Any]:
        """Classes of the training rows."""
        values = self._decide_training()
        return self.classes_[self._winners(values + self._offsets)]

    def _shaped(self, values: Matrix) -> Matrix:
        return values[:, 0] if values.shape[1] == 1 else values

    def _winners(self, values: Matrix) -> NDArray[np.intp]:
        return (values[:, 0] > 0.0).astype(np.intp) if values.shape[1] == 1 else values.argmax(axis=1)

    def diagnose(self) -> Diagnosis:
        """Return a readout: components, landmarks, error bound, and whether the unlabelled rows help.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> import numpy as np
        >>> from halfmoon import LapRLSClassifier
        >>> X, y = make_moons(200, noise=0.1, random_state=0)
        >>> print(LapRLSClassifier().fit(X, np.where(np.arange(200) % 20 == 0, y, -1)).diagnose())
        halfmoon ...
        """
        check_is_fitted(self, "decision_")
        return Diagnosis.of(self, self._scores())

    def _scores(self) -> dict[str, float]:
        """Return the held-out accuracy on the examples under each kernel, and under the one chosen."""
        chosen = self._held_out_score(self.choice_.weights)
        return {"chosen": chosen, "base kernel alone": self._held_out_score({"base": 1.0})}

    def _held_out_score(self, weights: Mapping[str, float]) -> float:
        held_out = self._leave_one_out(self._pieces.mixed(weights), self._examples)
        right = self._winners(held_out) == self._examples.targets
        return float(np.average(right, weights=self._examples.weights))


def _warn_if_beyond_landmarks(pieces: LabeledKernels) -> None:
    """Warn of labels that the graph cannot spread; the kernel extension speaks through the base kernel everywhere."""
    kernel = pieces.kernel
    if kernel.extension == "kernel" or not pieces.beyond_landmarks:
        return
    components, landmarks = kernel.regularizer_.components, kernel.landmark_indices_
    remains = "the base kernel decides alone" if kernel.extension == "auto" else "only the intercept is learnt"
    warnings.warn(
        f"None of the {len(np.unique(pieces.rows))} labelled rows shares a component of the graph with a landmark: "
        f"the landmarks ({len(landmarks)}) lie in {int((components.covered_by(landmarks) > 0).sum())} of "
        f"{components.count} components. The graph says nothing about the labels, and {remains}. Use "
        "landmarks='random', which prefers labelled rows, raise n_landmarks, or connect the graph with "
        "graph_params={'connect': True}.",
        DisconnectedGraphWarning,
        stacklevel=4,
    )


def _asked_too_late() -> bool:
    raise AttributeError("predict_proba needs probability=True at the time of fit.")


def _numbers_rows(kernel: DataDependentKernel) -> bool:
    """Tell whether a graph or a regulariser was given for the rows of X, in their order."""
    given = kernel.regularizer
    ready = isinstance(given, Regularizer) or sparse.issparse(given) or isinstance(given, np.ndarray)
    return kernel.graph is not None or ready
