"""What the semi-supervised estimators share: parameters -> problem -> kernel -> learnt model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import validate_points
from halfmoon.kernels import SHARED, DataDependentKernel, fit_small, resolve_kernel
from halfmoon.planning import FitMemory
from halfmoon.regularizers import Regularizer
from halfmoon.runtime.progress import showing
from halfmoon.runtime.small_algebra import small_algebra
from halfmoon.runtime.transaction import transaction
from halfmoon.semi_supervised._assessment import Comparison
from halfmoon.semi_supervised._base_columns import BaseColumns
from halfmoon.semi_supervised._beyond_landmarks import warn_if_beyond_landmarks
from halfmoon.semi_supervised._checkpointed import checkpointed
from halfmoon.semi_supervised._choices_without_each import MOST_EXAMPLES
from halfmoon.semi_supervised._conformal import check_level
from halfmoon.semi_supervised._decision import DecisionFunction
from halfmoon.semi_supervised._diagnosis import Diagnosis
from halfmoon.semi_supervised._explain import explain, explain_rows
from halfmoon.semi_supervised._explanation import Explanation
from halfmoon.semi_supervised._guarantee import ConformalGuarantee
from halfmoon.semi_supervised._held_out import held_out_values
from halfmoon.semi_supervised._instant_refits import store_for_refits
from halfmoon.semi_supervised._label_issues import LabelIssues
from halfmoon.semi_supervised._label_noise import find_label_issues
from halfmoon.semi_supervised._later_rows import with_later_rows
from halfmoon.semi_supervised._learned import LearnedModel, choices_without_each, coverage_of, learn
from halfmoon.semi_supervised._memory import predicted_memory, within_memory
from halfmoon.semi_supervised._mixture_selection import Choice, select_mixture
from halfmoon.semi_supervised._placed_rows import PlacedRows
from halfmoon.semi_supervised._prepared import Prepared
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised._report import Report
from halfmoon.semi_supervised._training_set import TrainingSet
from halfmoon.semi_supervised.losses import Loss

__all__ = ["LapEstimator"]

Matrix = NDArray[np.float64]
SAMPLE = 2000  # unlabelled rows on which the report compares the model with its base kernel


class LapEstimator(BaseEstimator):
    """Fit a data-dependent kernel on all rows, then a dual problem on the labelled ones."""

    kernel: Any
    checkpoint: str | Path | None
    instant_refits: Any
    max_memory: int | None
    verbose: bool
    _learned: LearnedModel
    _prepared: Prepared

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
            All the data. Memory maps stay on disk; `halfmoon.open_rows` opens files.
        y : array-like of shape (n,)
            Labels, or targets. Classifiers read -1, None, NaN or pandas.NA as unlabelled, regressors NaN.
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
            left = max(left - memory.stages["labels"], 1)
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

    @property
    def kernel_(self) -> DataDependentKernel:
        """The kernel, fitted on the distinct rows of X."""
        return self._prepared.kernel if "_prepared" in vars(self) else self._fitted.kernel

    @property
    def choice_(self) -> Choice:
        """Which kernels are summed, with which weights, and why."""
        return self._fitted.choice

    @property
    def dual_coef_(self) -> Matrix:
        """Dual coefficients, one column per function; those of landmarks of assumed classes come last."""
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

    def held_out_values(self, extension: str | None = None) -> Matrix:
        """Return decision values on the labelled examples, each of a model that was chosen and fitted without it.

        Parameters
        ----------
        extension : str, default=None
            "base" for models that know nothing of the unlabelled rows; None: as this model was fitted.

        Returns
        -------
        ndarray of shape (l, c)
        """
        learned = self._fitted
        with small_algebra(len(learned.kernel.landmark_indices_)):
            choices = choices_without_each(learned, self.given_alpha, extension)
            return held_out_values(learned.mixture, learned.problem, choices, self.loss)

    def _decide(self, X: Any) -> Matrix:
        """Return the decision values at new points."""
        check_is_fitted(self, "decision_")
        return self.decision_(validate_points(self, X, reset=False))

    def _decide_training(self) -> Matrix:
        """Return the decision values at the training rows, not to be written to; a row of weight 0 is a new point."""
        check_is_fitted(self, "decision_")
        training = self._learned.problem.training
        values = self._learned.training_values
        if training.is_plain:
            return values
        values = values[training.point]
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

    @cached_property
    def report_(self) -> Report:
        """How good the model is, held out, and whether the unlabelled rows help; computed when first asked for."""
        check_is_fitted(self, "decision_")
        learned = self._fitted
        names = type(self).__name__, f"{learned.mixture.kernel.base.name} kernel, labelled rows alone"
        sample = _unlabeled_sample(learned.problem)
        nothing = np.zeros((0, len(learned.solution.intercept)))
        with small_algebra(len(learned.kernel.landmark_indices_)):
            decisions = learned.decision, self.base_decision()
            of_model, of_base = (decide(sample) if sample.shape[0] else nothing for decide in decisions)
            compared = self._compare(names, of_model, of_base)
        return Report(
            estimator=type(self).__name__,
            n_rows=learned.problem.training.X.shape[0],
            n_labeled=learned.problem.training.n_examples,
            disagreement=self._disagreement(of_model, of_base),
            how=_how(learned.problem),
            kernel=str(learned.choice),
            **vars(compared),
        )

    @abstractmethod
    def _compare(self, names: tuple[str, str], of_model: Matrix, of_base: Matrix) -> Comparison:
        """Compare the model with its base kernel, given what both say on a sample of the unlabelled rows."""

    @abstractmethod
    def _disagreement(self, of_model: Matrix, of_base: Matrix) -> float:
        """Return how much the two differ on a sample of the unlabelled rows."""

    def base_decision(self) -> DecisionFunction:
        """Return the decision function that the base kernel gives on the labelled rows alone."""
        learned = self._fitted
        problem, mixture = learned.problem, learned.mixture
        choice = select_mixture(mixture, problem, "base", coverage_of(problem, learned.kernel))
        solution = self.loss(choice.alpha).fit(mixture.mixed(choice.weights), problem.Y, problem.weights)
        return mixture.decision(choice.weights, solution.dual, solution.intercept)

    def diagnose(self) -> Diagnosis:
        """Return a readout: the report, and components, landmarks and accuracy of the solves beneath it.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> import numpy as np
        >>> from halfmoon import LapRLSClassifier
        >>> X, y = make_moons(200, noise=0.1, random_state=0)
        >>> print(LapRLSClassifier().fit(X, np.where(np.arange(200) % 20 == 0, y, -1)).diagnose())
        LapRLSClassifier: 200 distinct rows, 10 labelled; ...
          ...
        """
        return Diagnosis.of(self._fitted, self.report_)

    def explain(self, X: Any, of: Any = None) -> Explanation:
        """Return why points are predicted as they are: the shares of the labelled rows, and paths in the graph.

        A decision value is a sum over the labelled rows plus the intercept, so the shares say exactly how it came
        about. They cost one solve on the graph per labelled row (for LapSVC, per support vector), as many at once as
        128 MB hold, and one search for shortest paths per labelled row with the largest share of some point.

        Parameters
        ----------
        X : array-like or scipy sparse of shape (m, d)
            Points, training rows or new ones.
        of : class, default=None
            The class whose decision values are explained; None: that which is predicted at each point.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from halfmoon import DataDependentKernel, LapRLSClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) < 40, y, -1)
        >>> kernel = DataDependentKernel(n_neighbors=8, graph_params={"connect": True}, random_state=0)
        >>> model = LapRLSClassifier(kernel=kernel).fit(X, few)
        >>> print(model.explain(X[[1001]])[0])
        row 0: 4, decision value ...
          row ...
          ... other rows ...
          intercept ...
          path ...
        """
        check_is_fitted(self, "decision_")
        A = validate_points(self, X, reset=False)
        offsets = getattr(self, "_offsets", np.zeros(len(self._learned.decision.intercept)))
        return explain(self._learned, A, offsets, of)

    def explain_rows(self, rows: ArrayLike, of: Any = None) -> Explanation:
        """Return why training rows are predicted as they are: the shares of `explain`, without paths in the graph.

        With ``instant_refits`` it takes milliseconds: the rows of T are stored, and nothing is solved.

        Parameters
        ----------
        rows : array-like of int
            Rows of the X given to `fit`.
        of : class, default=None
            The class whose decision values are explained; None: that which is predicted at each row.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from halfmoon import LapRLSClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) < 40, y, -1)
        >>> model = LapRLSClassifier(n_neighbors=8, random_state=0, instant_refits=True).fit(X, few)
        >>> why = model.explain_rows([1001])[0]
        >>> bool(np.isclose(why.shares.sum() + why.intercept, why.total, atol=1e-5))
        True
        """
        check_is_fitted(self, "decision_")
        if self._learned.kernel.method == "budget":
            raise ValueError("The budget kernel has only landmarks in its graph. Use explain(X).")
        points = self._learned.problem.training.point[np.asarray(rows, dtype=np.intp)]
        if np.any(points < 0):
            raise ValueError("Rows of weight 0 are new points to the model. Use explain(X) for them.")
        offsets = getattr(self, "_offsets", np.zeros(len(self._learned.decision.intercept)))
        return explain_rows(self._learned, points, offsets, of)

    def label_issues(self) -> LabelIssues:
        """Return the labelled rows, those first whose labels the others contradict most.

        The scores are probabilities that labels are wrong, from what models say that have not seen them: leave-one-out
        in closed form, of ridge regressions also for LapSVC. Nothing is solved on the graph.

        Returns
        -------
        LabelIssues

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from halfmoon import DataDependentKernel, LapRLSClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> few = np.where(np.arange(len(y)) < 200, y, -1)
        >>> few[[30, 60]] = 8, 2                                              # wrong labels
        >>> kernel = DataDependentKernel(n_neighbors=8, graph_params={"connect": True}, random_state=0)
        >>> model = LapRLSClassifier(kernel=kernel).fit(X, few)
        >>> issues = model.label_issues()
        >>> sorted(issues.rows[:2].tolist()), issues.suggested[issues.rows == 30].tolist(), int(y[30])
        ([30, 60], [0], 0)
        """
        check_is_fitted(self, "decision_")
        with small_algebra(len(self._learned.kernel.landmark_indices_)):
            return find_label_issues(self._learned)

    def __getstate__(self) -> Any:
        """Leave out the report, which can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "report_"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _check_distinct(training: TrainingSet) -> None:
    if training.X.shape[0] == 1:
        raise ValueError("All rows of X are equal (1 distinct sample): there is nothing to learn from.")


def _unlabeled_sample(problem: LearningProblem) -> Any:
    """Return some of the unlabelled points, evenly spread over their rows."""
    training = problem.training
    unlabeled = np.setdiff1d(np.arange(training.X.shape[0]), training.rows)
    return training.X[unlabeled[:: -(-len(unlabeled) // SAMPLE) or 1]].astype(np.float64)


def _how(problem: LearningProblem) -> str:
    """Return how scores are held out, in words."""
    if problem.training.n_examples > MOST_EXAMPLES:
        return "scores by leave-one-out"
    return "scores by leave-one-out, the choice of the kernel repeated each time"


def _n_functions(problem: LearningProblem) -> int:
    return 1 if problem.classes is None else len(problem.classes)


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
