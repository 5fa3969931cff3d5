"""The choice of mixture and ridge, repeated without each example: held-out values that selection has not seen.

Selection on the labels makes their leave-one-out values look better than those of other rows. So each example is
predicted by a model that was also chosen without it; leave-two-out is closed form for a ridge, and all of it costs
about as much as l selections on one example each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._learned import LearnedModel, coverage_of
from halfmoon.semi_supervised._mixture_selection import (
    ALPHAS,
    ALPHAS_OF_TARGETS,
    Choice,
    candidates,
    loss_of,
    unit_free,
)
from halfmoon.semi_supervised.losses import RidgePath

__all__ = ["ChoicesWithoutEach", "is_given"]

MOST_EXAMPLES = 200  # with more of them one does not change the choice by much


@dataclass(frozen=True)
class ChoicesWithoutEach:
    """Distinct choices, and which of them was made without which example."""

    choices: tuple[Choice, ...]
    of_example: NDArray[np.intp]  # (l,)

    @classmethod
    def make(cls, learned: LearnedModel, alpha: float | None) -> ChoicesWithoutEach:
        """Select again without each example; `alpha` is the ridge of the user, or None."""
        l = len(learned.problem.weights)  # noqa: E741
        if is_given(learned, alpha) or not 2 < l <= MOST_EXAMPLES:
            return cls((learned.choice,), np.zeros(l, dtype=np.intp))
        made, losses = _losses_without_each(learned)
        if alpha is not None:
            made = [Choice(choice.weights, alpha, choice.reason) for choice in made]
        used, of_example = np.unique(losses.argmin(axis=0), return_inverse=True)
        return cls(tuple(made[number] for number in used), of_example)

    def groups(self) -> list[tuple[Choice, NDArray[np.intp]]]:
        """Return each choice with the examples that it was made without."""
        return [(choice, np.flatnonzero(self.of_example == number)) for number, choice in enumerate(self.choices)]


def is_given(learned: LearnedModel, alpha: float | None) -> bool:
    """Tell whether the labels had no say in mixture and ridge; `alpha` is the ridge of the user, or None."""
    return learned.kernel.extension != "auto" and alpha is not None


def _losses_without_each(learned: LearnedModel) -> tuple[list[Choice], NDArray[np.float64]]:
    """Return all candidates and their losses, (candidates, l), without each example."""
    problem, kernel, classes = learned.problem, learned.kernel, learned.problem.numbers
    Y, weights = unit_free(problem.Y, classes), problem.weights
    others = np.where(np.eye(len(weights), dtype=bool), 0.0, weights)
    made, losses = [], []
    for mix in candidates(kernel.extension, coverage_of(problem, kernel)):
        path = RidgePath(learned.mixture.mixed(mix), Y, weights)
        for alpha in ALPHAS_OF_TARGETS if classes is None else ALPHAS:
            held_out = Y - path.at(alpha).residuals_without_each()
            made.append(Choice(mix, alpha, learned.choice.reason))
            losses.append(loss_of(held_out, Y, others, classes, mix, alpha))
    return made, np.array(losses)
