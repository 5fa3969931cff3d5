"""A grid search that builds graph and solves once and shares them over eta, width, power, C and alpha (method 8)."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from halfmoon._validation import check_integer
from halfmoon.geometry import Restriction, interpolation_rows_of_powers, restrict_powers
from halfmoon.kernels import VARIABLE, DataDependentKernel
from halfmoon.kernels._extensions import GraphExtension
from halfmoon.model_selection._split import LabeledKFold
from halfmoon.regularizers import PowerRegularizer
from halfmoon.runtime.progress import report
from halfmoon.semi_supervised._pieces import LabeledKernels
from halfmoon.semi_supervised._scores import r_squared
from halfmoon.semi_supervised._training_set import TrainingSet

__all__ = ["KernelSearchCV"]

Matrix = NDArray[np.float64]
FEW = 5  # labels a class below which every labelled row is left out in turn
KERNEL = "kernel__"


class KernelSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Exhaustive search over parameters of a semi-supervised estimator and of its kernel.

    Like scikit-learn's GridSearchCV, with its attributes. Graph, landmarks and solves do not depend on eta, on the
    base kernel, on C or alpha, and all powers come out of one chain of solves: they are computed once for all
    candidates, and again only where other parameters of the kernel (ridge, n_neighbors, ...) are in the grid.
    Unlabelled rows are in every training part.

    Parameters
    ----------
    estimator : LapSVC, LapRLSClassifier or LapRLSRegressor
        What to tune.
    param_grid : dict or list of dict
        Values to try, such as ``{"kernel__eta": [0.1, 1, 10], "kernel__power": [1, 2], "C": [1, 10]}``.
    cv : int or None, default=None
        Folds of the labelled rows; None: 5, or leave-one-out (closed form for ridge models) where a class has
        fewer than 5 labels.
    scoring : str or callable, default=None
        As in GridSearchCV; None: accuracy, or R^2 for regressors.
    refit : bool, default=True
        Fit the best candidate to all labels.
    random_state : int, default=0
        Seed of the folds.

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
        cv: int | None = None,
        scoring: Any = None,
        refit: bool = True,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Try every candidate, and fit the best one to all labels.

        Parameters
        ----------
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data.
        y : array-like of shape (n,)
            Labels, as the estimator takes them.
        sample_weight : array-like of shape (n,), default=None
            Weights of the labelled rows.

        Returns
        -------
        self
        """
        base = clone(self.estimator)
        if base.kernel is None:
            base.set_params(kernel=DataDependentKernel())
        # Thousands of small problems: threads of BLAS and checks of input would take longer than the work.
        with threadpool_limits(1, user_api="blas"), config_context(assume_finite=True, skip_parameter_validation=True):
            return self._search(base, X, y, sample_weight)

    def _search(self, base: Any, X: Any, y: Any, sample_weight: Any) -> Self:
        candidates = list(ParameterGrid(self.param_grid))
        scores: dict[int, NDArray[np.float64]] = {}
        best: tuple[float, int] = (-np.inf, 0)  # score, and minus the number: the first of equals wins
        for shared, numbers in _grouped(candidates, base):
            group = _Group(clone(base).set_params(**shared), [candidates[i] for i in numbers], X, y, sample_weight)
            trials = _Trials(group.examples, self._splits(group.examples), self.scorer_)
            for place, model, pieces in group.models():
                number = numbers[place]
                scores[number] = trials.scores(model, pieces)
                report("tuning", len(scores), len(candidates))
                if (float(scores[number].mean()), -number) > best:
                    best, winner = (float(scores[number].mean()), -number), (model, pieces, group.examples)
        if best[0] == -np.inf:
            raise ValueError(
                f"None of the {len(candidates)} candidates has a finite score: {len(group.examples.rows)} labelled "
                "rows are too few to compare them by. Label more rows, or fit the estimator without a search."
            )
        self._record(candidates, np.array([scores[i] for i in range(len(candidates))]))
        self.best_score_, self.best_index_ = best[0], -best[1]
        self.best_params_ = candidates[self.best_index_]
        if self.refit:
            start = time.perf_counter()
            model, pieces, examples = winner
            model._learn(examples, pieces)
            self.best_estimator_, self.refit_time_ = model, time.perf_counter() - start
        return self

    def _splits(self, examples: TrainingSet) -> list[NDArray[np.intp]] | None:
        """Return the examples held out in each split; None for leave-one-out."""
        targets = examples.targets
        # Numbers are not stratified: as labels, whole ones would be classes and -1 unlabelled.
        labels = np.zeros(len(targets)) if targets.dtype.kind == "f" else targets
        if self.cv is None:
            counts = np.bincount(targets) if targets.dtype.kind in "iu" else np.array([len(targets)])
            if counts.min() < FEW:
                return None
        folds = LabeledKFold(check_integer("cv", self.cv or 5, low=2), random_state=self.random_state)
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

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the decision values of the best estimator."""
        return self._best().decision_function(X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the class probabilities of the best estimator."""
        return self._best().predict_proba(X)

    @property
    def scorer_(self) -> Any:
        """What the candidates are scored by; a function, so it is not kept in the state, which goes into files."""
        if self.scoring is not None:
            return get_scorer(self.scoring)
        return _accuracy if is_classifier(self.estimator) else _r2

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the best estimator on new points."""
        return float(self.scorer_(self._best(), X, y))

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        if not self.refit:
            raise AttributeError("The search was run with refit=False: it knows the best parameters, not a model.")
        return self.best_estimator_

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return self._best().classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.target_tags = inner.regressor_tags, inner.target_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags


def _grouped(candidates: list[dict[str, Any]], estimator: Any) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Yield the parameters that need a graph and solves of their own, with the numbers of the candidates they serve."""
    groups: dict[str, tuple[dict[str, Any], list[int]]] = {}
    known = estimator.get_params()
    for number, params in enumerate(candidates):
        unknown = params.keys() - known.keys()
        if unknown:
            raise ValueError(f"The grid names {sorted(unknown)}, which {estimator!r} does not have.")
        own = {n: v for n, v in params.items() if n.startswith(KERNEL) and n.removeprefix(KERNEL) not in VARIABLE}
        groups.setdefault(repr(sorted(own.items())), (own, []))[1].append(number)
    yield from groups.values()


class _Group:
    """Candidates that share graph, landmarks and solves."""

    def __init__(self, estimator: Any, candidates: list[dict[str, Any]], X: Any, y: Any, sample_weight: Any) -> None:
        powers = {candidate.get(f"{KERNEL}power", estimator.kernel.power) for candidate in candidates}
        self.candidates = candidates
        self.estimator = estimator.set_params(kernel__power=min(powers))  # all powers follow from one chain
        self.examples: TrainingSet = estimator._prepare(X, y, sample_weight)
        self.restrictions = self._restrictions(sorted(powers))
        self._placed: dict[int, Matrix] = {}
        self._last: LabeledKernels | None = None
        self._variant = self.estimator.kernel_
        self._given = {name: getattr(self._variant, name) for name in VARIABLE}

    def _restrictions(self, powers: list[int]) -> dict[int, Restriction]:
        kernel = self.estimator.kernel_
        if len(powers) == 1:
            return {powers[0]: kernel.restriction_}
        if not isinstance(kernel.regularizer_, PowerRegularizer):
            raise ValueError(f"A grid over kernel__power needs regularizer='power'. Got {kernel.regularizer!r}.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the kernel has said it all
            return restrict_powers(
                kernel.regularizer_,
                kernel.restriction_.landmarks,
                powers,
                eps=kernel.eps,
                solver=kernel.solver,
                n_jobs=kernel.n_jobs,
            )

    def models(self) -> Iterator[tuple[int, Any, LabeledKernels]]:
        """Yield each candidate's number, its estimator, and the kernels on the labelled rows, kernel by kernel."""
        by_kernel: dict[str, list[int]] = {}
        for place, params in enumerate(self.candidates):
            by_kernel.setdefault(repr(sorted(_of_kernel(params).items(), key=_base_first)), []).append(place)
        for _, places in sorted(by_kernel.items()):
            pieces = self._pieces(_of_kernel(self.candidates[places[0]]))
            for place in places:
                model = copy.copy(self.estimator)
                rest = {name: value for name, value in self.candidates[place].items() if not name.startswith(KERNEL)}
                vars(model).update(rest, kernel=pieces.kernel, kernel_=pieces.kernel)
                yield place, model, pieces

    def _all_placed(self, extension: GraphExtension) -> dict[int, Matrix]:
        """Return t_x of the labelled rows for every power; the budget kernel places them by their neighbours."""
        if self.estimator.kernel_.method == "budget":
            return {}
        Q = self.estimator.kernel_.regularizer_
        return interpolation_rows_of_powers(Q, self.restrictions, self.examples.rows, extension.options)

    def _pieces(self, params: Mapping[str, Any]) -> LabeledKernels:
        power = params.get("power", self.estimator.kernel_.power)
        # Variants of the last variant: the base kernel on the landmarks is computed again only where it changes.
        self._variant = variant = self._variant.variant(
            restriction=self.restrictions[power], **(self._given | dict(params))
        )
        extension = variant.extension_
        if isinstance(extension, GraphExtension) and not self._placed and len(self.restrictions) > 1:
            self._placed = self._all_placed(extension)
        pieces = LabeledKernels(variant, self.examples.X, self.examples.rows, self._placed.get(power))
        self._last = pieces.sharing_base(self._last)
        if variant.extension != "kernel" and power not in self._placed:
            self._placed[power] = pieces.placed[1]
        return pieces


@dataclass(frozen=True)
class _Fold:
    """What one split asks of every candidate."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    seen: TrainingSet
    truth: NDArray[Any]


class _Trials:
    """Scores of candidates on the same splits."""

    def __init__(self, examples: TrainingSet, splits: list[NDArray[np.intp]] | None, scorer: Any) -> None:
        self.examples, self.splits, self.scorer = examples, splits, scorer
        self._weighted: TrainingSet | None = None  # the examples, weighted by class, that the folds were cut for

    def scores(self, model: Any, pieces: LabeledKernels) -> NDArray[np.float64]:
        """Return the score of every split; of leave-one-out, of all examples together."""
        weighted = model._weighted(self.examples) if is_classifier(model) else self.examples
        model.choice_ = model._choose(weighted, pieces)
        K = pieces.mixed(model.choice_.weights)
        if self.splits is None:
            held_out = model._leave_one_out(K, weighted)
            truth = _truth(model, self.examples)
            return np.array([self.scorer(_Outcome(model, held_out), np.arange(len(held_out)), truth)])
        scores = []
        for fold in self._folds(model, weighted):
            dual, intercept = model._solve(K[np.ix_(fold.train, fold.train)], fold.seen)
            values = K[np.ix_(fold.test, fold.train)] @ dual + intercept
            scores.append(self.scorer(_Outcome(model, values), np.arange(len(fold.test)), fold.truth))
        return np.array(scores)

    def _folds(self, model: Any, weighted: TrainingSet) -> list[_Fold]:
        if weighted is not self._weighted:
            assert self.splits is not None
            self._weighted, self._cut = weighted, []
            for test in self.splits:
                train = np.setdiff1d(np.arange(len(weighted.rows)), test)
                self._cut.append(_Fold(train, test, weighted.subset(train), _truth(model, self.examples.subset(test))))
        return self._cut


def _accuracy(model: Any, X: Any, y: NDArray[Any]) -> float:
    return float(np.mean(model.predict(X) == y))


def _r2(model: Any, X: Any, y: NDArray[np.float64]) -> float:
    return r_squared(y, model.predict(X))


def _truth(model: Any, examples: TrainingSet) -> NDArray[Any]:
    return model.classes_[examples.targets] if is_classifier(model) else examples.targets


def _base_first(parameter: tuple[str, Any]) -> tuple[bool, str]:
    return not parameter[0].startswith(("base_kernel", "gamma")), parameter[0]


def _of_kernel(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the kernel that need no solves of their own."""
    own = {name.removeprefix(KERNEL): value for name, value in params.items() if name.startswith(KERNEL)}
    return {name: value for name, value in own.items() if name in VARIABLE}


class _Outcome(BaseEstimator):
    """Decision values that are known already, for scorers that ask an estimator."""

    def __init__(self, model: Any, values: Matrix) -> None:
        self.model, self.values = model, values
        if is_classifier(model):
            self.classes_ = model.classes_

    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        if is_classifier(self.model):
            return self.model.classes_[self.model._winners(self.values[rows])]
        return self.values[rows, 0]

    def decision_function(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.model._shaped(self.values[rows])

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True
