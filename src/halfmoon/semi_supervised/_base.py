"""What the semi-supervised estimators share: parameters -> problem -> kernel -> learnt model."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_points, validate_data
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.kernels import SHARED, DataDependentKernel, fit_small, resolve_kernel
from halfmoon.regularizers import Regularizer
from halfmoon.runtime.progress import showing
from halfmoon.runtime.transaction import transaction
from halfmoon.semi_supervised._conformal import check_level
from halfmoon.semi_supervised._decision import DecisionFunction
from halfmoon.semi_supervised._diagnosis import Diagnosis
from halfmoon.semi_supervised._guarantee import ConformalGuarantee
from halfmoon.semi_supervised._learned import LearnedModel, coverage_of, learn
from halfmoon.semi_supervised._mixture_selection import Choice
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised._training_set import TrainingSet
from halfmoon.semi_supervised.losses import Loss

__all__ = ["LapEstimator"]

Matrix = NDArray[np.float64]


class LapEstimator(BaseEstimator):
    """Fit a data-dependent kernel on all rows, then a dual problem on the labelled ones."""

    kernel: Any
    verbose: bool

    @abstractmethod
    def read(self, y: Any, n: int) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any] | None]:
        """Return which of the n rows are labelled, the targets of all rows, and the classes (None for regression)."""

    @abstractmethod
    def loss(self, alpha: float) -> Loss:
        """Return the loss of this estimator for a ridge alpha."""

    @property
    @abstractmethod
    def given_alpha(self) -> float | None:
        """The ridge that the user's parameters amount to; None if it is to be chosen."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data.
        y : array-like of shape (n,)
            Labels, or targets. Classifiers read -1, None, NaN or pandas.NA as unlabelled, regressors NaN.
        sample_weight : array-like of shape (n,), default=None
            Weights of the labelled rows; a row of weight 0 is left out altogether.

        Returns
        -------
        self
        """
        with showing(self.verbose), transaction(self) as staged:
            problem = staged.problem(X, y, sample_weight)
            kernel = staged.fit_kernel(problem)
            problem = _sharing_rows(problem, kernel)
            staged.adopt(learn(problem, kernel, staged.loss, staged.given_alpha))
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
        before = self._learned
        labeled, targets, classes = self.read(y, len(before.problem.training.point))
        training = before.problem.unweighted.relabeled(labeled, targets, sample_weight)
        problem = LearningProblem.of(training, classes, getattr(self, "class_weight", None))
        return self.adopt(learn(problem, before.kernel, self.loss, self.given_alpha, before.placed))

    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> LearningProblem:
        """Return what is to be learnt from checked data: distinct points, examples, weights."""
        X = check_points(validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_min_samples=2))
        labeled, targets, classes = self.read(y, X.shape[0])
        merge = not _numbers_rows(self.resolved_kernel())
        training = TrainingSet.gather(X, labeled, targets, sample_weight, merge=merge)
        if training.X.shape[0] == 1:
            raise ValueError("All rows of X are equal (1 distinct sample): there is nothing to learn from.")
        return LearningProblem.of(training, classes, getattr(self, "class_weight", None))

    def resolved_kernel(self) -> DataDependentKernel:
        """Return the kernel that will be fitted."""
        return resolve_kernel(self.kernel, **{name: getattr(self, name) for name in SHARED})

    def fit_kernel(self, problem: LearningProblem) -> DataDependentKernel:
        """Return the kernel, fitted to the distinct points of a problem."""
        training = problem.training
        labeled = np.full(training.X.shape[0], -1)
        labeled[training.rows] = 0
        return fit_small(self.resolved_kernel(), training.X, labeled)

    def adopt(self, learned: LearnedModel) -> Self:
        """Become the model that was learnt elsewhere, in a search say, from a problem of this estimator."""
        _warn_if_beyond_landmarks(learned)
        self._learned = learned
        return self

    @property
    def kernel_(self) -> DataDependentKernel:
        """The kernel, fitted on the distinct rows of X."""
        return self._fitted.kernel

    @property
    def choice_(self) -> Choice:
        """Which kernels are summed, with which weights, and why."""
        return self._fitted.choice

    @property
    def dual_coef_(self) -> Matrix:
        """Dual coefficients, one column per function."""
        return self._fitted.solution.dual

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts, one per function."""
        return self._fitted.solution.intercept

    @property
    def decision_(self) -> DecisionFunction:
        """The decision function."""
        return self._fitted.decision

    @property
    def learned_(self) -> LearnedModel:
        """Everything that `fit` has made: problem, kernel, mixture, choice, solution, decision function."""
        return self._fitted

    @property
    def _fitted(self) -> LearnedModel:
        if "_learned" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")
        return self._learned

    def _held_out(self, weights: Any) -> Matrix:
        """Return leave-one-out values on the examples under a mixture of kernels, with the ridge that was chosen."""
        learned = self._fitted
        problem = learned.problem
        return self.loss(learned.choice.alpha).leave_one_out(learned.mixture.mixed(weights), problem.Y, problem.weights)

    def _decide(self, X: Any) -> Matrix:
        """Return the decision values at new points."""
        check_is_fitted(self, "decision_")
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return self.decision_(check_points(X))

    def _decide_training(self) -> Matrix:
        """Return the decision values at the training rows; a row of weight 0 is a new point."""
        check_is_fitted(self, "decision_")
        training = self._learned.problem.training
        values = self.decision_.on_training_points(training.X)[training.point]
        if training.left_out.shape[0]:
            values[training.point < 0] = self.decision_(training.left_out)
        return values

    def conformal_guarantee(self, level: float = 0.9) -> ConformalGuarantee:
        """Return what is proven about prediction sets or intervals of a level, and what stands in the way of more.

        Parameters
        ----------
        level : float, default=0.9
            The level, as for `predict_set` and `predict_interval`.

        Returns
        -------
        ConformalGuarantee

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> import numpy as np
        >>> from halfmoon import DataDependentKernel, LapRLSClassifier
        >>> X, y = make_moons(200, noise=0.1, random_state=0)
        >>> few = np.where(np.random.default_rng(0).permutation(200) < 20, y, -1)
        >>> kernel = DataDependentKernel(extension="graph", landmarks="kmeans++", n_landmarks=100)
        >>> LapRLSClassifier(0.1, kernel=kernel).fit(X, few).conformal_guarantee().proven
        0.9
        >>> LapRLSClassifier().fit(X, few).conformal_guarantee().obstacles
        ('mixture or ridge were selected by the labels (give the extension, and alpha or C)',)
        """
        level, learned = check_level(level), self._fitted
        return ConformalGuarantee.of(learned, level, self.given_alpha, priors=getattr(self, "priors", None) is not None)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__*`` also where `kernel` is None or a base kernel."""
        nested = any(name.startswith("kernel__") for name in params)
        if nested and "kernel" not in params and not isinstance(self.kernel, DataDependentKernel):
            self.kernel = resolve_kernel(self.kernel)
        return super().set_params(**params)

    @abstractmethod
    def _score_of(self, held_out: Matrix) -> float:
        """Return the score of held-out values on the examples."""

    def diagnose(self) -> Diagnosis:
        """Return a readout: components, landmarks, accuracy of the solves, and whether the unlabelled rows help.

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
        scores = {
            "chosen": self._score_of(self._held_out(self.choice_.weights)),
            "base kernel alone": self._score_of(self._held_out({"base": 1.0})),
        }
        return Diagnosis.of(type(self).__name__, self._learned, scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _sharing_rows(problem: LearningProblem, kernel: DataDependentKernel) -> LearningProblem:
    """Return the problem with the rows that the kernel keeps: sparse ones are copied there, and one copy is enough."""
    if kernel.method == "budget":
        return problem
    unweighted = replace(problem.unweighted, X=kernel.points_)
    is_plain = problem.training is problem.unweighted
    training = unweighted if is_plain else replace(problem.training, X=kernel.points_)
    return replace(problem, training=training, unweighted=unweighted)


def _warn_if_beyond_landmarks(learned: LearnedModel) -> None:
    """Warn of labels that the graph cannot spread; the kernel extension rests on the base kernel everywhere."""
    kernel = learned.kernel
    if kernel.extension == "kernel" or not coverage_of(learned.problem, kernel).beyond_landmarks:
        return
    components, landmarks = kernel.geometry_.components, kernel.landmark_indices_
    remains = "the base kernel decides alone" if kernel.extension == "auto" else "only the intercept is learnt"
    warnings.warn(
        f"None of the {len(np.unique(learned.problem.training.rows))} labelled rows shares a component of the graph "
        f"with a landmark: landmarks ({len(landmarks)}) lie in {int((components.covered_by(landmarks) > 0).sum())} of "
        f"{components.count} components. The graph says nothing about the labels, and {remains}. Use "
        "landmarks='random', which prefers labelled rows, raise n_landmarks, or connect the graph with "
        "graph_params={'connect': True}.",
        DisconnectedGraphWarning,
        stacklevel=4,
    )


def _numbers_rows(kernel: DataDependentKernel) -> bool:
    """Tell whether a graph or a regulariser was given for the rows of X, in their order."""
    given = kernel.regularizer
    ready = isinstance(given, Regularizer) or sparse.issparse(given) or isinstance(given, np.ndarray)
    return kernel.graph is not None or ready
