"""What a fitted semi-supervised estimator says: decision values, report, explanations, label issues, guarantees."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import validate_points
from halfmoon.kernels import DataDependentKernel
from halfmoon.runtime.small_algebra import small_algebra
from halfmoon.semi_supervised._assessment import Comparison
from halfmoon.semi_supervised._choices_without_each import MOST_EXAMPLES
from halfmoon.semi_supervised._conformal import check_level
from halfmoon.semi_supervised._decision import DecisionFunction
from halfmoon.semi_supervised._diagnosis import Diagnosis
from halfmoon.semi_supervised._explain import explain, explain_rows
from halfmoon.semi_supervised._explanation import Explanation
from halfmoon.semi_supervised._guarantee import ConformalGuarantee
from halfmoon.semi_supervised._held_out import held_out_values
from halfmoon.semi_supervised._label_issues import LabelIssues
from halfmoon.semi_supervised._label_noise import find_label_issues
from halfmoon.semi_supervised._learned import LearnedModel, choices_without_each, coverage_of
from halfmoon.semi_supervised._mixture_selection import Choice, select_mixture
from halfmoon.semi_supervised._prepared import Prepared
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised._report import Report
from halfmoon.semi_supervised.losses import Loss

__all__ = ["FittedEstimator"]

Matrix = NDArray[np.float64]
SAMPLE = 2000  # unlabelled rows on which the report compares the model with its base kernel


class FittedEstimator(BaseEstimator):
    """An estimator that has learnt a model, and what can be asked of it; `LapEstimator` adds how it learns."""

    _learned: LearnedModel
    _prepared: Prepared

    @abstractmethod
    def loss(self, alpha: float) -> Loss:
        """Return the loss of this estimator for a ridge alpha."""

    @property
    @abstractmethod
    def given_alpha(self) -> float | None:
        """The ridge that the user's parameters amount to; None if it is to be chosen."""

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
        ('the weights of the kernels or the ridge were chosen by the labels (fix the extension, and alpha or C)',)
        """
        level, learned = check_level(level), self._fitted
        return ConformalGuarantee.of(learned, level, self.given_alpha, priors=getattr(self, "priors", None) is not None)

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
            n_unlabeled=learned.problem.training.n_unlabeled,
            n_compared=sample.shape[0],
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
        LapRLSClassifier: 200 different rows, 10 labelled; ...
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
        return explain(self._learned, A, self._added, of)

    def explain_rows(self, rows: ArrayLike, of: Any = None) -> Explanation:
        """Return why training rows are predicted as they are: the shares of `explain`, without paths in the graph.

        With ``instant_refits`` it takes milliseconds: the rows of T are stored, and nothing is solved.

        Parameters
        ----------
        rows : array-like of int
            Rows of the X given to `fit`.
        of : class, default=None
            As for `explain`.

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
        return explain_rows(self._learned, points, self._added, of)

    @property
    def _added(self) -> NDArray[np.float64]:
        """What is added to all decision values: classifiers that know shares of classes shift them."""
        return np.zeros(len(self._learned.decision.intercept))

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
