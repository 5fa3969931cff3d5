"""Scores of candidates on the same splits of the labelled rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator

from halfmoon.model_selection._candidates import CandidatesOfKernel, Group
from halfmoon.runtime.execution import executor_for
from halfmoon.runtime.executor import thread_count
from halfmoon.semi_supervised import LapEstimator, LearningProblem, choose
from halfmoon.semi_supervised.losses import Loss

__all__ = ["Trials"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Trials:
    """How candidates are scored: by cross-validation, or by leave-one-out.

    Attributes
    ----------
    splits : list of ndarray, or None
        The examples held out in each split; None: leave-one-out, all examples together.
    scorer : callable
        Called as ``scorer(estimator, X, y)``.
    """

    splits: list[NDArray[np.intp]] | None
    scorer: Any

    def run(self, group: Group) -> Iterator[tuple[CandidatesOfKernel, Matrix]]:
        """Yield the candidates of a group, kernel by kernel, with their scores: one row each, one column per split."""
        # Thousands of small problems: checks of input would take longer than the work. The settings are the thread's.
        config = get_config() | {"assume_finite": True, "skip_parameter_validation": True}
        with executor_for(thread_count(group.kernel.n_jobs)) as executor:
            items = group.by_kernel(executor)
            yield from zip(items, executor.map(_score, (self, group, config), items), strict=True)

    def scores(self, estimator: LapEstimator, loss: Loss, K: Matrix, problem: LearningProblem) -> list[float]:
        """Return the score of every split, for a model with kernel matrix K on the examples."""
        if self.splits is None:
            return [self._score(estimator, problem, loss.leave_one_out(K, problem.Y, problem.weights))]
        scores = []
        for test in self.splits:
            train = np.setdiff1d(np.arange(problem.training.n_examples), test)
            seen = problem.subset(train)
            solution = loss.fit(K[np.ix_(train, train)], seen.Y, seen.weights)
            values = K[np.ix_(test, train)] @ solution.dual + solution.intercept
            scores.append(self._score(estimator, problem.subset(test), values))
        return scores

    def _score(self, estimator: LapEstimator, problem: LearningProblem, values: Matrix) -> float:
        outcome = _Outcome(estimator, problem, values)
        score = self.scorer(outcome, np.arange(len(values)), problem.truth)
        if not isinstance(score, Real):
            raise TypeError(f"The 'scoring' function must return a number. It returned {score!r}.")
        return float(score)


def _score(prepared: tuple[Trials, Group, dict[str, Any]], candidates: CandidatesOfKernel) -> Matrix:
    """Score the candidates that share a kernel: a task."""
    trials, group, config = prepared
    with config_context(**config):
        kernel = group.kernel_of(candidates)
        mixture = group.mixture(kernel, candidates.on_rows)
        estimators = [group.estimator_with(params) for params in candidates.members.values()]
        problem, alphas = group.problem_for(estimators[0]), [estimator.given_alpha for estimator in estimators]
        choice = choose(problem, kernel, mixture, None if None in alphas else alphas[0])
        K = mixture.mixed(choice.weights)
        losses = [
            estimator.loss(choice.alpha if alpha is None else alpha)
            for estimator, alpha in zip(estimators, alphas, strict=True)
        ]
        return np.array(
            [trials.scores(estimator, loss, K, problem) for estimator, loss in zip(estimators, losses, strict=True)]
        )


class _Outcome(BaseEstimator):
    """Decision values that are known already, for scorers that ask an estimator."""

    def __init__(self, estimator: LapEstimator, problem: LearningProblem, values: Matrix) -> None:
        self.estimator, self.problem, self.values = estimator, problem, values
        if problem.classes is not None:
            self.classes_ = problem.classes

    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.problem.decide(self.values[rows])

    def decision_function(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        values = self.values[rows]
        return values[:, 0] if values.shape[1] == 1 else values

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True
