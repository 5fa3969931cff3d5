"""Why a prediction is what it is: by the representer theorem a decision value is a sum over the labelled rows.

Classes: f(x) = sum_i dual_i K(x_i, x) + intercept. With a free intercept the dual sums to 0, so that anything may be
added to all K(x_i, x) at once. The smallest is taken off: what all labelled rows have in common with x favours no
class, and the least similar of them has no share.

Targets: dual = P y makes it f(x) = sum_i h_i(x) y_i with sum_i h_i(x) = 1, a mean of the known targets. A dual, what a
target has beyond its neighbours, would say little about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph import Path, shortest_paths
from halfmoon.semi_supervised._explanation import Explanation
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._problem import LearningProblem, winners
from halfmoon.semi_supervised.losses import RidgeSolution

__all__ = ["explain", "explain_rows"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
Kernel = Callable[[Matrix], Matrix]  # mixers -> sum_i mixers_ij K(x_i, x), one row per explained point
AT_ONCE = 1 << 24  # values on the training points that are held at once, 128 MB


def explain(learned: LearnedModel, A: Any, offsets: Matrix, of: Any = None) -> Explanation:
    """Split the decision values at the rows of A into shares of the labelled rows; `offsets` are added to all."""
    values = learned.decision(A) + offsets
    explanation = _split(learned, values, lambda mixers: _kernel_values(learned, A, mixers), offsets, of)
    paths = _paths(learned, A, _sources(learned, explanation.shares))
    rows_of = learned.problem.training.rows_of
    return replace(
        explanation,
        paths=tuple(None if path is None else rows_of(path.vertices) for path in paths),
        lengths=np.array([np.inf if path is None else path.length for path in paths]),
    )


def explain_rows(learned: LearnedModel, points: Indices, offsets: Matrix, of: Any = None) -> Explanation:
    """Split the decision values at training points, without paths; where T is stored nothing is solved."""
    K = learned.expansion.at_points(learned.choice.weights, points)
    return _split(learned, learned.training_values[points] + offsets, lambda mixers: K @ mixers, offsets, of)


def _split(learned: LearnedModel, values: Matrix, kernel: Kernel, offsets: Matrix, of: Any) -> Explanation:
    """Split decision values into shares; without paths."""
    problem, solution, examples = learned.problem, learned.solution, learned.examples
    functions, signs = _explained(problem, values, of)
    if problem.classes is None:
        assert isinstance(solution, RidgeSolution)
        shares, constants = _shares_of_targets(learned, solution, kernel)
    else:
        shares = _shares_of_duals(signs[:, None] * solution.dual.T[functions], kernel)
        constants = signs * (learned.decision.intercept + offsets)[functions]
    return Explanation(
        predictions=problem.decide(values),
        of=_names(problem, functions, signs),
        rows=examples.training.origins,
        labels=examples.truth,
        assumed=np.arange(examples.training.n_examples) >= problem.training.n_examples,
        shares=shares,
        intercept=constants,
        total=signs * values[np.arange(len(values)), functions],
        paths=(None,) * len(values),
        lengths=np.full(len(values), np.inf),
        numbers=np.arange(len(values)),
        rests_on_graph=_rests_on_graph(learned),
    )


def _shares_of_duals(dual: Matrix, kernel: Kernel) -> Matrix:
    """Return dual_i (K(x_i, x) - min of K(x_j, x) over j), one row per explained point; `dual` has one row for each."""
    used = np.flatnonzero((dual != 0.0).any(axis=0))  # of a support vector machine, few
    if not used.size:
        return np.zeros_like(dual)
    K = kernel(np.eye(dual.shape[1])[:, used])
    least = np.where(dual[:, used] != 0.0, K, np.inf).min(axis=1, keepdims=True)
    shares = np.zeros_like(dual)
    shares[:, used] = dual[:, used] * (K - np.where(np.isfinite(least), least, 0.0))
    return shares


def _shares_of_targets(learned: LearnedModel, solution: RidgeSolution, kernel: Kernel) -> tuple[Matrix, Matrix]:
    """Return h_i(x) (y_i - mean of y), one row per explained point, and that mean."""
    y, weights = learned.problem.training.targets, learned.problem.weights
    mean = float(np.average(y, weights=weights))
    K = kernel(np.eye(len(y)))
    h = K @ solution.inverse + solution.sums / solution.sums.sum()
    return h * (y - mean), np.full(len(K), mean)


def _kernel_values(learned: LearnedModel, A: Any, mixers: Matrix) -> Matrix:
    """Return sum_i mixers_ij K(x_i, x) for the rows x of A, as the decision function computes it.

    A column is a decision function of its own: one solve on the graph each, many at once, and never more than some
    values on all training points in memory.
    """
    step = max(1, AT_ONCE // learned.problem.training.X.shape[0])
    columns = []
    for start in range(0, mixers.shape[1], step):
        block = mixers[:, start : start + step]
        decision = learned.expansion.decision(learned.choice.weights, block, np.zeros(block.shape[1]))
        columns.append(decision(A))
    return np.hstack(columns)


def _explained(problem: LearningProblem, values: Matrix, of: Any) -> tuple[Indices, Matrix]:
    """Return which function is explained at each point, and its sign: two classes share one function."""
    m, classes = len(values), problem.classes
    if classes is None:
        if of is not None:
            raise ValueError(f"of={of!r}: a regressor has one function and no classes to choose from. Leave `of` out.")
        return np.zeros(m, dtype=np.intp), np.ones(m)
    if of is None:
        numbers = winners(values)
    else:
        known = np.flatnonzero(classes == of) if np.isscalar(of) else np.empty(0, dtype=np.intp)
        if len(known) != 1:
            raise ValueError(f"of={of!r} is not a class of this model. It has {classes.tolist()}.")
        numbers = np.full(m, known[0])
    if values.shape[1] == 1:
        return np.zeros(m, dtype=np.intp), np.where(numbers == 1, 1.0, -1.0)
    return numbers, np.ones(m)


def _names(problem: LearningProblem, functions: Indices, signs: Matrix) -> NDArray[Any] | None:
    if problem.classes is None:
        return None
    return problem.classes[(signs > 0.0).astype(np.intp) if len(problem.classes) == 2 else functions]


def _sources(learned: LearnedModel, shares: Matrix) -> Indices:
    """Return the point of the example with the largest share; for numbers, the largest in size.

    A row that counts against a class is not where the class came from.
    """
    sizes = shares if learned.problem.classes is not None else np.abs(shares)
    return learned.examples.training.rows[sizes.argmax(axis=1)]


def _rests_on_graph(learned: LearnedModel) -> bool:
    return any(weight > 0.0 for name, weight in learned.choice.weights.items() if name != "base")


def _paths(learned: LearnedModel, A: Any, sources: Indices) -> list[Path | None]:
    """Return the shortest paths to the training points nearest to A; the budget kernel has only landmarks in its graph.

    Where a regulariser was given there may be no graph at all, and where the base kernel decides alone, a path explains
    nothing.
    """
    geometry = learned.kernel.geometry_
    if not _rests_on_graph(learned) or geometry.graph is None or learned.kernel.method == "budget":
        return [None] * len(sources)
    _, nearest = geometry.index.query(A, 1)
    return shortest_paths(geometry.graph, sources, geometry.duplicates.first[nearest[:, 0]])
