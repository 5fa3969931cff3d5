"""What models that have not seen an example say about it: the choice of mixture and ridge is made without it, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._choices_without_each import ChoicesWithoutEach
from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised.losses import Loss

__all__ = ["held_out_values"]

Matrix = NDArray[np.float64]


def held_out_values(
    mixture: KernelMixture, problem: LearningProblem, choices: ChoicesWithoutEach, loss: Callable[[float], Loss]
) -> Matrix:
    """Return decision values on the examples, each of a model that was chosen and fitted without it.

    `loss` gives the loss for a ridge.
    """
    values = np.empty_like(problem.Y)
    for choice, rows in choices.groups():
        K = mixture.mixed(choice.weights)
        values[rows] = loss(choice.alpha).leave_one_out(K, problem.Y, problem.weights, rows)[rows]
    return values
