"""Cross-validation on the labels only, for any method: the unlabelled rows stay in every training part."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from benchmarks.accuracy.problem import Answer, Method, Problem

FOLDS = 3


def tuned(method: Method, problem: Problem) -> dict[str, Answer]:
    """Return the answers of the best candidate of a grid; the defaults with one label per class or without a grid.

    Among equals the first candidate wins, which is the default: a handful of labels often cannot tell them apart.
    """
    if method.tune is not None:
        return method.tune(problem)
    folds = splitter(problem)
    if method.grid is None or folds is None:
        return method.solve(problem)
    rows = np.flatnonzero(problem.labeled)
    held_out = [rows[test] for _, test in folds.split(rows, problem.few[rows])]
    candidates = list(ParameterGrid(method.grid))
    right = [sum(hits(method, problem, part, candidate) for part in held_out) for candidate in candidates]
    return method.solve(problem, **candidates[int(np.argmax(right))])


def splitter(problem: Problem) -> StratifiedKFold | None:
    """Return how labels are held out, the same for every method; None where a class has a single one."""
    folds = min(FOLDS, int(np.bincount(problem.few[problem.labeled]).min()))
    return StratifiedKFold(folds, shuffle=True, random_state=problem.seed % 2**32) if folds > 1 else None


def hits(method: Method, problem: Problem, held_out: np.ndarray, candidate: dict) -> int:
    """Count the labels that a candidate finds again."""
    answer = method.solve(problem.hiding(held_out), **candidate)[method.suffixes[0]]
    return int(np.sum(answer.train[held_out] == problem.few[held_out]))
