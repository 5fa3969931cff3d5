"""What a prediction set or interval of some level promises, and on which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halfmoon.semi_supervised._jackknife import MOST_MACHINES
from halfmoon.semi_supervised._learned import LearnedModel, is_given
from halfmoon.semi_supervised.losses import RidgeSolution

__all__ = ["ConformalGuarantee"]


@dataclass(frozen=True)
class ConformalGuarantee:
    """The promise of `predict_set` or `predict_interval`; print it.

    Attributes
    ----------
    level : float
        The level asked for.
    method : {"full conformal prediction", "jackknife+", "CV+"}
        How the sets are made.
    proven : float or None
        Coverage that is proven for unlabelled rows of X, on average over uniform draws of the labelled rows; None:
        nothing is proven.
    obstacles : tuple of str
        Why nothing is proven; empty if something is.
    """

    level: float
    method: str
    proven: float | None
    obstacles: tuple[str, ...]

    @classmethod
    def of(cls, learned: LearnedModel, level: float, alpha: float | None, *, priors: bool) -> ConformalGuarantee:
        """Look at a learnt model; `alpha` is the ridge of the user, or None, and `priors` whether shares were given."""
        obstacles = tuple(_obstacles(learned, alpha, priors))
        n_examples = len(learned.problem.weights)
        if isinstance(learned.solution, RidgeSolution) and is_given(learned.kernel, alpha):
            method, proven = "full conformal prediction", level
        elif isinstance(learned.solution, RidgeSolution) or n_examples <= MOST_MACHINES:
            method, proven = "jackknife+", 2.0 * level - 1.0
        else:
            method, proven = "CV+", 2.0 * level - 1.0 - np.sqrt(2.0 / n_examples)
        return cls(level, method, None if obstacles else float(np.round(max(proven, 0.0), 12)), obstacles)

    def __str__(self) -> str:
        if self.proven is None:
            why = "; ".join(self.obstacles)
            return f"Level {self.level:g} by {self.method}: measured on many data sets, not proven here, because {why}."
        return (
            f"Level {self.level:g} by {self.method}: proven to cover {self.proven:g} of the unlabelled rows of X (for "
            "classes: of those whose class has a label) on average over uniform draws of the labelled rows. For new "
            "points, labels per class and labels chosen by a model it is measured, not proven."
        )


def _obstacles(learned: LearnedModel, alpha: float | None, priors: bool) -> Iterator[str]:
    """Yield what makes labelled rows differ from others in more than their labels."""
    kernel, training = learned.kernel, learned.problem.training
    if not is_given(learned.kernel, alpha):
        yield "the weights of the kernels or the ridge were chosen by the labels (fix the extension, and alpha or C)"
    elif kernel.extension != "graph":
        yield f"extension={kernel.extension!r} is scaled by the labelled rows (use extension='graph')"
    looks = callable(kernel.landmarks) or (isinstance(kernel.landmarks, str) and kernel.landmarks == "random")
    if looks and len(kernel.landmark_indices_) < training.X.shape[0]:
        yield "the landmarks were chosen with labelled rows preferred (use landmarks='kmeans++')"
    if priors:
        yield "the decision values were shifted to given priors"
    if np.ptp(learned.problem.weights) > 0.0:
        yield "the labelled rows have different weights"
    if training.X.shape[0] < len(training.point):
        yield "some rows are duplicates of others or have weight 0"
