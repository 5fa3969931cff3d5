"""How the semi-supervised estimators learn: parameters -> problem -> kernel -> learnt model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import validate_points
from halfmoon.kernels import SHARED, DataDependentKernel, fit_small, resolve_kernel
from halfmoon.planning import FitMemory
from halfmoon.regularizers import Regularizer
from halfmoon.runtime.memory import allowance
from halfmoon.runtime.progress import showing
from halfmoon.runtime.small_algebra import small_algebra
from halfmoon.runtime.transaction import transaction
from halfmoon.semi_supervised._base_columns import BaseColumns
from halfmoon.semi_supervised._beyond_landmarks import warn_if_beyond_landmarks
from halfmoon.semi_supervised._checkpointed import checkpointed
from halfmoon.semi_supervised._fitted import FittedEstimator
from halfmoon.semi_supervised._instant_refits import store_for_refits
from halfmoon.semi_supervised._later_rows import with_later_rows
from halfmoon.semi_supervised._learned import LearnedModel, learn
from halfmoon.semi_supervised._memory import predicted_memory, within_memory
from halfmoon.semi_supervised._placed_rows import PlacedRows
from halfmoon.semi_supervised._prepared import Prepared
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = ["LapEstimator"]


class LapEstimator(FittedEstimator):
    """Fit a data-dependent kernel on all rows, then a dual problem on the labelled ones."""

    kernel: Any
    checkpoint: str | Path | None
    instant_refits: Any
    max_memory: int | None
    verbose: bool

    @abstractmethod
    def read(self, y: Any, n: int) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any] | None]:
        """Return which of the n rows are labelled, the targets of all rows, and the classes (None for regression)."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data. Memory maps stay on disk; `halfmoon.open_rows` opens files.
        y : array-like of shape (n,)
            Labels, or targets; they must be given. Classifiers read -1, None, NaN or pandas.NA as unlabelled,
            regressors NaN or None.
        sample_weight : array-like of shape (n,), default=None
            Weights of the labelled rows; a row of weight 0 is left out altogether.

        Returns
        -------
        self
        """
        with showing(self.verbose), transaction(self) as staged:
            problem, kernel = staged.problem(X, y, sample_weight), staged.resolved_kernel()
            memory = predicted_memory(kernel, problem.training, self.max_memory, _n_functions(problem))
            with within_memory(memory, self.max_memory), checkpointed(self.checkpoint, kernel, problem.training):
                kernel, base_columns = staged.prepare_refits(staged.fit_kernel(problem.training), memory)
                problem = _sharing_rows(problem, kernel)
                staged.adopt(staged.learn(problem, kernel, base_columns=base_columns))
                _prepare_queries(kernel)
        return self

    def prepare(self, X: Any) -> Self:
        """Build all that does not depend on labels: graph, landmarks, solves; `refit` learns from the first labels on.

        For rows that are labelled one by one, beginning with none. With ``instant_refits`` the interpolation is stored
        here, so that the first labels are as quick as all later ones.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from halfmoon import LapRLSClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = LapRLSClassifier(n_neighbors=8, random_state=0, instant_refits=True).prepare(X)
        >>> few = np.full(len(y), -1)
        >>> few[:2] = y[:2]
        >>> model.refit(few).transduction_.shape
        (1797,)
        """
        with showing(self.verbose), transaction(self) as staged:
            training = TrainingSet.unlabeled(staged._checked_rows(X), merge=staged._merges_rows)
            _check_distinct(training)
            kernel = staged.resolved_kernel()
            memory = predicted_memory(kernel, training, self.max_memory)
            with within_memory(memory, self.max_memory), checkpointed(self.checkpoint, kernel, training):
                kernel, base_columns = staged.prepare_refits(staged.fit_kernel(training), memory)
                _prepare_queries(kernel)
            if kernel.method != "budget":
                training = replace(training, X=kernel.points_)
            staged.__dict__.pop("_learned", None)
            staged._prepared = Prepared(training, kernel, None, base_columns)
        return self

    def refit(self, y: Any, sample_weight: Any = None) -> Self:
        """Fit to other labels of the rows given to `fit` or `prepare`; graph, landmarks and solves are kept.

        With ``instant_refits`` no system is solved, neither for new labelled rows nor for decision values of all rows.

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
        if "_prepared" not in vars(self):
            check_is_fitted(self, "decision_")
        before = self._prepared if "_prepared" in vars(self) else Prepared.of(self._learned)
        labeled, targets, classes = self.read(y, len(before.training.point))
        training = before.training.relabeled(labeled, targets, sample_weight)
        problem = LearningProblem.of(training, classes, getattr(self, "class_weight", None))
        return self.adopt(self.learn(problem, before.kernel, before.placed, before.base_columns))

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Append rows that have arrived after `fit`, with or without labels, and learn from all labels there are.

        Graph, landmarks and solves are kept; the new rows are placed by their neighbours (`Geometry.append`). After
        many of them, `refresh` gives the exact model. The first call on an estimator that is not fitted is `fit`; after
        `prepare`, labels of the prepared rows come first (`refit`).

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (m, d)
            New rows, numbered after those that are there.
        y : array-like of shape (m,)
            Their labels, or targets; unlabelled rows are marked as for `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon import LapRLSRegressor
        >>> X = np.linspace(0.0, 3.0, 60)[:, None]
        >>> y = np.where(np.arange(60) % 6 == 0, np.sin(X[:, 0]), np.nan)
        >>> model = LapRLSRegressor().fit(X[::2], y[::2])
        >>> len(model.partial_fit(X[1::2], y[1::2]).transduction_)
        60
        """
        if "_prepared" in vars(self):
            raise ValueError(
                f"This {type(self).__name__} was prepared with {len(self._prepared.training.point):,} rows and has no "
                "labels yet: call refit(y) with labels of those rows first, or fit with all rows."
            )
        if "_learned" not in vars(self):
            return self.fit(X, y)
        X = validate_points(self, X, reset=False)
        with showing(self.verbose):
            class_weight = getattr(self, "class_weight", None)
            problem, kernel = with_later_rows(self._learned, X, y, self.read, class_weight)
            kernel, base_columns = self.prepare_refits(kernel)
            return self.adopt(self.learn(problem, kernel, self._learned.placed, base_columns))

    def refresh(self) -> Self:
        """Solve for all rows, those of `partial_fit` included, on the same landmarks: the model that `fit` would give.

        Returns
        -------
        self
        """
        check_is_fitted(self, "decision_")
        problem, kernel = self._learned.problem, self._learned.kernel
        with showing(self.verbose):
            geometry = kernel.geometry_.refresh()
            exact = kernel.rewarp(geometry=geometry, landmark_kernel=kernel.warped_.landmark_kernel)
            exact, base_columns = self.prepare_refits(exact)
            return self.adopt(self.learn(_sharing_rows(problem, exact), exact, base_columns=base_columns))

    def learn(
        self,
        problem: LearningProblem,
        kernel: DataDependentKernel,
        known: PlacedRows | None = None,
        base_columns: BaseColumns | None = None,
    ) -> LearnedModel:
        """Return the model that these parameters give; rows of T and columns that are known are not computed again."""
        with small_algebra(len(kernel.landmark_indices_)):
            return learn(
                problem,
                kernel,
                self.loss,
                self.given_alpha,
                known=known,
                base_columns=base_columns,
                shares=self.shares(problem),
            )

    def prepare_refits(
        self, kernel: DataDependentKernel, memory: FitMemory | None = None
    ) -> tuple[DataDependentKernel, BaseColumns | None]:
        """Return a fitted kernel with its interpolation stored, and a cache of the base kernel, if asked for.

        They may take what is left of `max_memory` beside the `memory` of the fit itself.
        """
        if not self.instant_refits:
            return kernel, None
        left = self.max_memory
        if left is not None and memory is not None:
            left = max(left - max(memory.stages["labels"], memory.stages["queries"]), 1)
        return store_for_refits(kernel, self.instant_refits, left)

    def shares(self, problem: LearningProblem) -> NDArray[np.float64] | None:
        """Return the shares of the classes that the user knows."""
        return None

    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> LearningProblem:
        """Return what is to be learnt from checked data: distinct points, examples, weights."""
        X = self._checked_rows(X)
        labeled, targets, classes = self.read(y, X.shape[0])
        training = TrainingSet.gather(X, labeled, targets, sample_weight, merge=self._merges_rows)
        _check_distinct(training)
        return LearningProblem.of(training, classes, getattr(self, "class_weight", None))

    def _checked_rows(self, X: Any) -> Any:
        return validate_points(self, X, minimum=2, to_learn=True)

    @property
    def _merges_rows(self) -> bool:
        """Whether copies of a row are one point: not where a graph numbers the rows."""
        return not _numbers_rows(self.resolved_kernel())

    def resolved_kernel(self) -> DataDependentKernel:
        """Return the kernel that will be fitted."""
        return resolve_kernel(self.kernel, **{name: getattr(self, name) for name in SHARED})

    def fit_kernel(self, training: TrainingSet) -> DataDependentKernel:
        """Return the kernel, fitted to the distinct points; examples, if there are any, attract landmarks."""
        if not training.n_examples:
            return fit_small(self.resolved_kernel(), training.X)
        labeled = np.full(training.X.shape[0], -1)
        labeled[training.rows] = 0
        return fit_small(self.resolved_kernel(), training.X, labeled)

    def adopt(self, learned: LearnedModel) -> Self:
        """Become the model that was learnt elsewhere, in a search say, from a problem of this estimator."""
        warn_if_beyond_landmarks(learned)
        self._learned = learned
        for name in ("report_", "_prepared"):  # of the model before
            self.__dict__.pop(name, None)
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__*`` also where `kernel` is None or a base kernel."""
        nested = any(name.startswith("kernel__") for name in params)
        if nested and "kernel" not in params and not isinstance(self.kernel, DataDependentKernel):
            self.kernel = resolve_kernel(self.kernel)
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _check_distinct(training: TrainingSet) -> None:
    if training.X.shape[0] == 1:
        raise ValueError("All rows of X are equal (1 distinct sample): there is nothing to learn from.")


def _n_functions(problem: LearningProblem) -> int:
    return 1 if problem.classes is None else len(problem.classes)


def _prepare_queries(kernel: DataDependentKernel) -> None:
    """Build what the first prediction would have to build, where limited memory has kept the geometry from it."""
    if allowance() is not None:
        kernel.geometry_.prepare_queries()


def _sharing_rows(problem: LearningProblem, kernel: DataDependentKernel) -> LearningProblem:
    """Return the problem with the rows that the kernel keeps: sparse ones are copied there, and one copy is enough."""
    if kernel.method == "budget":
        return problem
    unweighted = replace(problem.unweighted, X=kernel.points_)
    is_plain = problem.training is problem.unweighted
    training = unweighted if is_plain else replace(problem.training, X=kernel.points_)
    return replace(problem, training=training, unweighted=unweighted)


def _numbers_rows(kernel: DataDependentKernel) -> bool:
    """Tell whether a graph, neighbours or a regulariser were given for the rows of X, in their order."""
    given = kernel.regularizer
    ready = isinstance(given, Regularizer) or sparse.issparse(given) or isinstance(given, np.ndarray)
    return kernel.graph is not None or kernel.neighbors is not None or ready
