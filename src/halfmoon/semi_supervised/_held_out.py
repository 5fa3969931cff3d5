"""What models that have not seen an example say about it: the choice of mixture and ridge is made without it, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised._mixture_selection import Coverage, Trial, trials
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised.losses import Loss

__all__ = ["MOST_NESTED", "held_out_values"]

Matrix = NDArray[np.float64]
MOST_NESTED = 200  # labels up to which the choice is repeated without each; beyond, one label hardly sways it


def held_out_values(
    mixture: KernelMixture, problem: LearningProblem, extension: str, coverage: Coverage, loss: Callable[[float], Loss]
) -> Matrix:
    """Return decision values on the examples, each of a model that was chosen and fitted without it.

    Parameters
    ----------
    mixture : KernelMixture
        The kernels on the labelled rows.
    problem : LearningProblem
        What is to be learnt.
    extension : str
        "auto", or the kernel that is used alone: "base" for a model that does not know the unlabelled rows.
    coverage : Coverage
        Which components the labelled rows reach.
    loss : callable
        The loss for a ridge.

    Returns
    -------
    ndarray of shape (l, c)
    """
    tried = list(trials(mixture, problem, extension, coverage))
    best = _best_without_each(tried, problem)
    values = np.empty_like(problem.Y)
    for number in np.unique(best):
        rows, trial = np.flatnonzero(best == number), tried[number]
        K = mixture.mixed(trial.weights)
        values[rows] = loss(trial.alpha).leave_one_out(K, problem.Y, problem.weights, rows)[rows]
    return values


def _best_without_each(tried: list[Trial], problem: LearningProblem) -> NDArray[np.intp]:
    """Return which trial is best when each example is left out altogether."""
    if problem.training.n_examples > MOST_NESTED:
        losses = np.array([trial.loss(problem) for trial in tried])
        return np.full(problem.training.n_examples, losses.argmin())
    return np.argmin([trial.losses_without_each(problem) for trial in tried], axis=0)
