"""A grid search that builds graph and solves once and shares them over eta, width, power, C and alpha (method 8)."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_flag, check_integer
from halfmoon.model_selection._candidates import CandidatesOfKernel, Group, grouped
from halfmoon.model_selection._split import LabeledKFold
from halfmoon.model_selection._trials import Trials
from halfmoon.runtime.progress import report, showing
from halfmoon.runtime.storable import storable
from halfmoon.runtime.transaction import transaction
from halfmoon.semi_supervised import LapEstimator, LearningProblem, r_squared

__all__ = ["KernelSearchCV"]

Matrix = NDArray[np.float64]
FEW = 5  # labels per class below which every labelled row is left out in turn


@storable
class KernelSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Exhaustive search over parameters of a semi-supervised estimator and of its kernel.

    Like scikit-learn's GridSearchCV, with its attributes. Graph, landmarks and solves do not depend on eta, on the
    base kernel, on C or alpha, and all powers come out of one chain of solves: they are computed once for all
    candidates, and again only where other parameters of the kernel (ridge, n_neighbors, ...) are in the grid.
    Unlabelled rows are in every training part. Candidates are scored on the threads of `n_jobs`,
    one task per kernel; the scores do not depend on how many there are.

    Parameters
    ----------
    estimator : LapSVC, LapRLSClassifier or LapRLSRegressor, or a Pipeline that ends in one
        What to tune. The other steps of a pipeline are fitted once, to all rows.
    param_grid : dict or list of dict
        Values to try, such as ``{"kernel__eta": [0.1, 1, 10], "kernel__power": [1, 2], "C": [1, 10]}``.
    cv : int, splitter or None, default=None
        Folds of the labelled rows; None: 5, or leave-one-out (closed form for ridge models) where a class has
        fewer than 5 labels. A splitter is given the labelled examples.
    scoring : str or callable, default=None
        As in GridSearchCV; None: accuracy, or R^2 for regressors.
    refit : bool, default=True
        Fit the best candidate to all labels.
    random_state : int, default=0
        Seed of the folds.
    verbose : bool, default=False
        Print what takes time while it is done.

    Attributes
    ----------
    best_params_ : dict
        The best candidate.
    best_score_ : float
        Its mean score.
    best_index_ : int
        Its place in `cv_results_`.
    best_estimator_ : estimator
        The best candidate, fitted.
    cv_results_ : dict of arrays
        Parameters, scores of every split, their mean, deviation and rank.
    n_splits_ : int
        Number of splits.
    refit_time_ : float
        Seconds that the last fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import DataDependentKernel, LapRLSClassifier
    >>> from halfmoon.model_selection import KernelSearchCV
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> few = np.where(np.arange(200) < 20, y, -1)
    >>> estimator = LapRLSClassifier(kernel=DataDependentKernel(n_landmarks=50, random_state=0))
    >>> grid = {"kernel__eta": [0.1, 1.0, 10.0], "kernel__power": [1, 2, 3]}
    >>> search = KernelSearchCV(estimator, grid).fit(X, few)
    >>> sorted(search.best_params_), len(search.cv_results_["mean_test_score"])
    (['kernel__eta', 'kernel__power'], 9)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Try every candidate, and fit the best one to all labels.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data.
        y : array-like of shape (n,)
            Labels, as the estimator reads them.
        sample_weight : array-like of shape (n,), default=None
            Weights of the labelled rows.

        Returns
        -------
        self
        """
        with showing(self.verbose), transaction(self) as staged:
            head, last, prefix = _unfolded(staged.estimator)
            if head is not None:
                X = head.fit_transform(X)
            grid = staged.param_grid
            grid = (
                grid.tolist() if isinstance(grid, np.ndarray) else grid
            )  # an array of no dimension cannot be iterated
            candidates = [_within(prefix, params) for params in ParameterGrid(grid)]
            if not candidates:
                raise ValueError(f"param_grid={staged.param_grid!r} holds no candidate. Give values for a parameter.")
            check_flag("refit", staged.refit)
            group, candidates_of_kernel, number = staged._search(last, candidates, X, y, sample_weight)
            if staged.refit:
                start = time.perf_counter()
                model = group.fit(candidates_of_kernel, number)
                staged.best_estimator_ = model if head is None else Pipeline([*head.steps, (prefix[:-2], model)])
                staged.refit_time_ = time.perf_counter() - start
        return self

    def _search(
        self, base: LapEstimator, candidates: list[dict[str, Any]], X: Any, y: Any, weight: Any
    ) -> tuple[Group, CandidatesOfKernel, int]:
        """Score all candidates; return the best, with the group and the kernel that it belongs to."""
        scores: dict[int, NDArray[np.float64]] = {}
        best: tuple[float, int] = (-np.inf, 0)  # score, and minus the number: the first of equals wins
        winner: tuple[Group, CandidatesOfKernel, int] | None = None
        for shared, members in grouped(base, candidates):
            group = Group.build(clone(base).set_params(**shared), members, X, y, weight)
            for of_kernel, found in Trials(self._splits(group.problem), self.scorer_).run(group):
                for number, values in zip(of_kernel.members, found, strict=True):
                    scores[number] = values
                    if (float(values.mean()), -number) > best:
                        best, winner = (float(values.mean()), -number), (group, of_kernel, number)
                report("tuning", len(scores), len(candidates))
        if winner is None:
            raise ValueError(
                f"None of the {len(candidates)} candidates has a finite score: {group.problem.training.n_examples} "
                "labelled rows are too few to compare them by. Label more rows, or fit the estimator without a search."
            )
        named = list(ParameterGrid(self.param_grid))
        self._record(named, np.array([scores[i] for i in range(len(candidates))]))
        self.best_score_, self.best_index_ = best[0], -best[1]
        self.best_params_ = named[self.best_index_]
        return winner

    def _splits(self, problem: LearningProblem) -> list[NDArray[np.intp]] | None:
        """Return the examples held out in each split; None for leave-one-out."""
        targets = problem.training.targets
        # Numbers are not stratified: as labels, whole ones would be classes and -1 unlabelled.
        labels = np.zeros(len(targets)) if problem.classes is None else targets
        if hasattr(self.cv, "split") and not isinstance(self.cv, str | bytes):
            places = np.arange(len(targets)).reshape(-1, 1)
            return [np.asarray(test) for _, test in self.cv.split(places, labels)]
        if self.cv is None:
            counts = np.array([len(targets)]) if problem.classes is None else np.bincount(targets)
            if counts.min() < FEW:
                return None
        folds = LabeledKFold(
            check_integer("cv", 5 if self.cv is None else self.cv, low=2), random_state=self.random_state
        )
        return [test for _, test in folds.split(labels, labels)]

    def _record(self, candidates: list[dict[str, Any]], scores: Matrix) -> None:
        self.n_splits_ = scores.shape[1]
        results: dict[str, Any] = {"params": candidates}
        for name in sorted({name for params in candidates for name in params}):
            column = np.empty(len(candidates), dtype=object)
            column[:] = [params.get(name) for params in candidates]
            results[f"param_{name}"] = np.ma.MaskedArray(column, mask=[name not in params for params in candidates])
        for k in range(scores.shape[1]):
            results[f"split{k}_test_score"] = scores[:, k]
        results["mean_test_score"], results["std_test_score"] = scores.mean(axis=1), scores.std(axis=1)
        results["rank_test_score"] = rankdata(-scores.mean(axis=1), method="min").astype(np.int32)
        self.cv_results_ = results

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the best estimator."""
        return self._best().predict(X)

    @available_if(lambda self: hasattr(_unfolded(self.estimator)[1], "decision_function"))
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the decision values of the best estimator."""
        return self._best().decision_function(X)

    @available_if(lambda self: hasattr(_unfolded(self.estimator)[1], "predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the class probabilities of the best estimator."""
        return self._best().predict_proba(X)

    @property
    def scorer_(self) -> Any:
        """What the candidates are scored by; a function, so it is not kept in the state, which goes into files."""
        if self.scoring is not None:
            return get_scorer(self.scoring)
        return _accuracy if is_classifier(_unfolded(self.estimator)[1]) else _r2

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the best estimator on new points."""
        return float(self.scorer_(self._best(), X, y))

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        if not self.refit:
            raise AttributeError("The search was run with refit=False: it knows the best parameters, not a model.")
        return self.best_estimator_

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in `fit`."""
        return int(self._best().n_features_in_)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return self._best().classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = _unfolded(self.estimator)[1].__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.target_tags = inner.regressor_tags, inner.target_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags


def _unfolded(estimator: Any) -> tuple[Pipeline | None, Any, str]:
    """Return the steps before the last, the estimator to tune, and the prefix of its parameters."""
    head, last, prefix = None, estimator, ""
    if isinstance(estimator, Pipeline):
        head = clone(estimator)[:-1] if len(estimator.steps) > 1 else None
        name, last = estimator.steps[-1]
        prefix = f"{name}__"
    if not isinstance(last, LapEstimator):
        raise TypeError(f"KernelSearchCV tunes the estimators of halfmoon, alone or last in a pipeline. Got {last!r}.")
    return head, clone(last).set_params(kernel=last.resolved_kernel()), prefix


def _within(prefix: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a candidate without the prefix of the pipeline's last step."""
    outside = sorted(name for name in params if not name.startswith(prefix))
    if outside:
        raise ValueError(
            f"The grid names {outside}. Only parameters of the last step can be searched, as {prefix}*: the other "
            "steps are fitted once."
        )
    return {name.removeprefix(prefix): value for name, value in params.items()}


def _accuracy(model: Any, X: Any, y: NDArray[Any]) -> float:
    return float(np.mean(model.predict(X) == y))


def _r2(model: Any, X: Any, y: NDArray[np.float64]) -> float:
    return r_squared(y, model.predict(X))
