"""Conformal prediction: for each class or target of a row, how many of the examples are at least as odd as it.

Ridge with a given mixture: full conformal prediction. The row joins the examples with a class, or a target, and
leave-one-out values of all of them say how odd each one is; in closed form (`AugmentedRidge`). Hinge, or a mixture that
was selected: jackknife+. An example is compared with the row under the model that has seen neither.

How odd an example of class y is: the largest value of another class less the value of its own. An example alone in its
class says nothing when left out: it has no vote, and what is said of a row holds for rows whose class has a label. How
odd a target is: its residual over the predictive deviation. Jackknife+ compares a point that the graph does not know
with the examples as they would be were they new to it: placed by their neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import check_real
from halfmoon.semi_supervised._jackknife import HeldOut, Jackknife, KernelOnRows
from halfmoon.semi_supervised._learned import LearnedModel
from halfmoon.semi_supervised._mixture_selection import Choice
from halfmoon.semi_supervised.losses import AugmentedRidge, RidgeSolution

__all__ = [
    "ROUNDING",
    "check_level",
    "inflation",
    "jackknife_interval",
    "jackknife_p_values",
    "oddness",
    "ridge_interval",
    "ridge_p_values",
]

Matrix = NDArray[np.float64]
BLOCK = 1 << 22  # numbers held at once
ROUNDING = 1e-9  # of shares of examples: 1 - 0.9 is not 0.1


def check_level(level: Any) -> float:
    """Return a level strictly between 0 and 1, or say what is wrong.

    Examples
    --------
    >>> from halfmoon.semi_supervised._conformal import check_level
    >>> check_level(0.95)
    0.95
    """
    value = check_real("level", level, strict=True, advice="It is a share between 0 and 1.")
    if value >= 1.0:
        raise ValueError(f"The 'level' parameter must be below 1. Got {level!r} instead; 95 % is level=0.95.")
    return value


def oddness(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for every class, the largest value of another class less its own; classes are along the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised._conformal import oddness
    >>> oddness(np.array([3.0, 1.0, 0.0])), oddness(np.array([0.5]))
    (array([-2.,  2.,  3.]), array([ 1., -1.]))
    """
    if values.shape[-1] == 1:  # two classes, -f and f
        return np.concatenate([2.0 * values, -2.0 * values], axis=-1)
    first = values.max(axis=-1, keepdims=True)
    second = np.partition(values, -2, axis=-1)[..., -2:-1]
    return np.where(values == first, second, first) - values


def ridge_p_values(learned: LearnedModel, alpha: float, offsets: NDArray[np.float64], A: Any) -> Matrix:
    """Return, for each row of A and each class, the share of examples and row that are at least as odd as the row."""
    problem, solution = learned.problem, learned.solution
    assert isinstance(solution, RidgeSolution)
    assert problem.classes is not None
    y, Y, n_classes = problem.training.targets, problem.Y, len(problem.classes)
    targets = np.array([[-1.0], [1.0]]) if n_classes == 2 else 2.0 * np.eye(n_classes) - 1.0
    weights = np.bincount(y, weights=problem.weights) / np.bincount(y)
    parts = []
    for rows in _blocks(A, Y.size):
        augmented = AugmentedRidge.of(solution, Y, *kernel_on_rows(learned, rows)(learned.choice))
        of_row = oddness(augmented.values + offsets)
        p = np.empty((len(of_row), n_classes))
        for c in range(n_classes):
            held_out = Y - augmented.residuals(Y, targets[c], alpha / weights[c]) + offsets
            of_examples = oddness(held_out)[:, np.arange(len(y)), y]
            p[:, c] = _share(of_examples >= of_row[:, c, None], y, c)
        parts.append(p)
    return np.concatenate(parts)


def jackknife_p_values(learned: LearnedModel, jackknife: Jackknife, offsets: NDArray[np.float64], A: Any) -> Matrix:
    """Return, for each row of A and each class, the share of examples and row that are at least as odd as the row."""
    problem = learned.problem
    assert problem.classes is not None
    y, n_classes = problem.training.targets, len(problem.classes)
    in_graph, as_new = (
        oddness(held_out.values + offsets)[np.arange(len(y)), y] for held_out in examples_held_out(learned, jackknife)
    )
    parts = []
    for rows in _blocks(A, problem.Y.size):
        of_examples = np.where(_is_in_graph(learned, rows)[:, None], in_graph, as_new)
        of_row = oddness(jackknife.on_rows(kernel_on_rows(learned, rows)).values + offsets)
        shares = [_share(of_examples >= of_row[:, :, c], y, c) for c in range(n_classes)]
        parts.append(np.column_stack(shares))
    return np.concatenate(parts)


def jackknife_interval(learned: LearnedModel, jackknife: Jackknife, level: float, A: Any) -> Matrix:
    """Return the interval of targets at which at least a share 1 - level of examples and row are as odd as the row."""
    y = learned.problem.Y
    wanted = _wanted(level, len(y))
    in_graph, as_new = _odd_targets(learned, jackknife)
    parts = []
    for rows in _blocks(A, len(y)):
        found = jackknife.on_rows(kernel_on_rows(learned, rows))
        reach = np.where(_is_in_graph(learned, rows)[:, None], in_graph, as_new) * found.deviations
        parts.append(_ends(found.values[:, :, 0] - reach, found.values[:, :, 0] + reach, wanted))
    return np.concatenate(parts)


def inflation(learned: LearnedModel, jackknife: Jackknife, A: Any) -> NDArray[np.float64]:
    """Return what predictive deviations at the rows of A are to be multiplied by.

    How large, in its root mean square, the residual of an example is over the deviation that a model says which was
    neither fitted to it nor chosen with it; and a Student distribution of l - 1 degrees of freedom, as l residuals set
    the scale.
    """
    n_examples = len(learned.problem.Y)
    in_graph, as_new = (np.sqrt(np.mean(np.square(odd))) for odd in _odd_targets(learned, jackknife))
    student = (n_examples - 1) / (n_examples - 3) if n_examples > 3 else 1.0
    return np.sqrt(student) * np.where(_is_in_graph(learned, A), in_graph, as_new)


def _odd_targets(learned: LearnedModel, jackknife: Jackknife) -> Iterator[NDArray[np.float64]]:
    """Yield the residuals of the examples over their deviations: as rows of the graph, and as new points."""
    for held_out in examples_held_out(learned, jackknife):
        residuals = np.abs(learned.problem.Y - held_out.values)[:, 0]
        positive = held_out.deviations > 0.0  # 0 where all targets are equal
        yield np.divide(residuals, held_out.deviations, out=np.zeros(len(residuals)), where=positive)


def examples_held_out(learned: LearnedModel, jackknife: Jackknife) -> tuple[HeldOut, HeldOut]:
    """Return what is said of the examples by the models that have not seen them: as rows of the graph, and as new."""
    in_graph = jackknife.held_out
    if learned.placed is None:
        return in_graph, in_graph
    found = jackknife.on_rows(kernel_on_rows(learned, learned.problem.training.X_L, as_new=True))
    each = np.arange(len(found.values))
    return in_graph, HeldOut(found.values[each, each], found.deviations[each, each])


def _is_in_graph(learned: LearnedModel, rows: Any) -> NDArray[np.bool_]:
    """Tell which rows are treated as rows of the graph."""
    if learned.placed is None:  # the examples are not in it, or it has no say
        return np.ones(rows.shape[0], dtype=bool)
    return learned.kernel.geometry_.knows(rows)


def ridge_interval(learned: LearnedModel, alpha: float, level: float, A: Any) -> Matrix:
    """Return the targets at which at least a share 1 - level of examples and row are as odd as the row: an interval.

    Odd is a large studentised leave-one-out residual. Infinite where l + 1 < 1 / (1 - level).
    """
    problem, solution = learned.problem, learned.solution
    assert isinstance(solution, RidgeSolution)
    wanted, noise = _wanted(level, len(problem.weights)), alpha / float(problem.weights.mean())
    parts = []
    for rows in _blocks(A, len(problem.weights)):
        augmented = AugmentedRidge.of(solution, problem.Y, *kernel_on_rows(learned, rows)(learned.choice))
        ends = _ends(*augmented.crossings(noise), wanted)
        parts.append(augmented.values + np.sqrt(augmented.spread + noise)[:, None] * ends)
    return np.concatenate(parts)


def _wanted(level: float, n_examples: int) -> int:
    """Return how many examples must be as odd as the row."""
    return int(np.floor((1.0 - level) * (n_examples + 1) + ROUNDING))


def _ends(below: Matrix, above: Matrix, wanted: int) -> Matrix:
    """Return the hull of the points that lie between `wanted` pairs of ends or more."""
    if wanted == 0:
        return np.tile([-np.inf, np.inf], (len(below), 1))
    wanted = min(wanted, below.shape[1])  # at a level close to 0
    return np.column_stack([np.sort(below, axis=1)[:, wanted - 1], np.sort(above, axis=1)[:, -wanted]])


def _blocks(A: Any, per_row: int) -> Iterator[Any]:
    """Yield blocks of rows for which so many numbers each fit."""
    step = max(1, BLOCK // per_row)
    return (A[start : start + step] for start in range(0, A.shape[0], step))


def kernel_on_rows(learned: LearnedModel, rows: Any, *, as_new: bool = False) -> KernelOnRows:
    """Return the kernels of rows with the examples and with themselves under a choice, scaled as the examples are."""
    known: dict[str, tuple[Matrix, NDArray[np.float64]]] = {}

    def kernel(choice: Choice) -> tuple[Matrix, NDArray[np.float64]]:
        cross, own = np.zeros((rows.shape[0], learned.mixture.n_rows)), np.zeros(rows.shape[0])
        for name, weight in choice.weights.items():
            if name not in known:
                known[name] = learned.mixture.cross({name: 1.0}, rows, alike=True, as_new=as_new)
            cross, own = cross + weight * known[name][0], own + weight * known[name][1]
        return cross, own

    return kernel


def _share(at_least: NDArray[np.bool_], y: NDArray[np.intp], c: int) -> NDArray[np.float64]:
    """Return the share of those with a vote, the row of class c among them, who are at least as odd as the row."""
    counts = np.bincount(y, minlength=c + 1)
    counts[c] += 1
    votes = counts[y] > 1
    return (at_least[:, votes].sum(axis=1) + 1.0) / (votes.sum() + 1.0)
