"""Scores of candidates on the same splits of the labelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from halfmoon.model_selection._candidates import Candidate
from halfmoon.semi_supervised import Choice, LapEstimator, LearningProblem, choose

__all__ = ["Trials"]

Matrix = NDArray[np.float64]


class Trials:
    """Scores candidates by cross-validation, or by leave-one-out.

    Parameters
    ----------
    splits : list of ndarray, or None
        The examples held out in each split; None: leave-one-out, all examples together.
    scorer : callable
        Called as ``scorer(estimator, X, y)``.
    """

    def __init__(self, splits: list[NDArray[np.intp]] | None, scorer: Any) -> None:
        self.splits, self.scorer = splits, scorer
        self._chosen: tuple[Any, Any, Choice] | None = None  # mixture and problem that the last choice was made for

    def scores(self, candidate: Candidate) -> NDArray[np.float64]:
        """Return the score of every split."""
        problem, alpha = candidate.problem, candidate.estimator.given_alpha
        choice = self._choice(candidate)
        K = candidate.mixture.mixed(choice.weights)
        loss = candidate.estimator.loss(choice.alpha if alpha is None else alpha)
        if self.splits is None:
            held_out = loss.leave_one_out(K, problem.Y, problem.weights)
            return np.array([self._score(candidate.estimator, problem, held_out)])
        scores = []
        for test in self.splits:
            train = np.setdiff1d(np.arange(problem.training.n_examples), test)
            seen = problem.subset(train)
            solution = loss.fit(K[np.ix_(train, train)], seen.Y, seen.weights)
            values = K[np.ix_(test, train)] @ solution.dual + solution.intercept
            scores.append(self._score(candidate.estimator, problem.subset(test), values))
        return np.array(scores)

    def _choice(self, candidate: Candidate) -> Choice:
        """Return the choice of the mixture, which candidates that differ in C or alpha alone share."""
        if candidate.kernel.extension != "auto" and candidate.estimator.given_alpha is not None:
            return choose(candidate.problem, candidate.kernel, candidate.mixture, candidate.estimator.given_alpha)
        if self._chosen is None or self._chosen[:2] != (id(candidate.mixture), id(candidate.problem)):
            choice = choose(candidate.problem, candidate.kernel, candidate.mixture, None)
            self._chosen = (id(candidate.mixture), id(candidate.problem), choice)
        return self._chosen[2]

    def _score(self, estimator: LapEstimator, problem: LearningProblem, values: Matrix) -> float:
        outcome = _Outcome(estimator, problem, values)
        return float(self.scorer(outcome, np.arange(len(values)), problem.truth))


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
