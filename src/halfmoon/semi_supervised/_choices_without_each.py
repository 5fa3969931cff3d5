"""The choice of mixture and ridge, repeated without each example: held-out values that selection has not seen.

Selection on the labels makes their leave-one-out values look better than those of other rows. So each example is
predicted by a model that was also chosen without it; leave-two-out is closed form for a ridge, and all of it costs
about as much as l selections on one example each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised._mixture_selection import Choice, Coverage, trials
from halfmoon.semi_supervised._problem import LearningProblem

__all__ = ["MOST_EXAMPLES", "ChoicesWithoutEach"]

MOST_EXAMPLES = 200  # with more of them one does not change the choice by much


@dataclass(frozen=True)
class ChoicesWithoutEach:
    """Distinct choices, and which of them was made without which example."""

    choices: tuple[Choice, ...]
    of_example: NDArray[np.intp]  # (l,)

    @classmethod
    def make(
        cls,
        mixture: KernelMixture,
        problem: LearningProblem,
        extension: str,
        coverage: Coverage,
        alpha: float | None,
    ) -> ChoicesWithoutEach:
        """Select again without each example.

        Parameters
        ----------
        mixture : KernelMixture
            The kernels on the labelled rows.
        problem : LearningProblem
            What is to be learnt.
        extension : str
            "auto", or the kernel that is used alone.
        coverage : Coverage
            Which components the labelled rows reach.
        alpha : float or None
            The ridge of the user.

        Returns
        -------
        ChoicesWithoutEach
        """
        size = problem.training.n_examples
        if extension != "auto" and alpha is not None:
            return cls((Choice({extension: 1.0}, alpha, "as given"),), np.zeros(size, dtype=np.intp))
        tried = trials(mixture, problem, extension, coverage)
        if 2 < size <= MOST_EXAMPLES:
            best = np.argmin(np.concatenate([of_mixture.losses_without_each() for of_mixture in tried]), axis=0)
        else:
            best = np.full(size, np.argmin([of_mixture.losses() for of_mixture in tried]))
        used, of_example = np.unique(best, return_inverse=True)
        made = (divmod(int(number), len(tried[0].alphas)) for number in used)
        found = (tried[mix].choice(ridge, "leave-one-out") for mix, ridge in made)
        return cls(tuple(choice if alpha is None else replace(choice, alpha=alpha) for choice in found), of_example)

    def groups(self) -> list[tuple[Choice, NDArray[np.intp]]]:
        """Return each choice with the examples that it was made without."""
        return [(choice, np.flatnonzero(self.of_example == number)) for number, choice in enumerate(self.choices)]
