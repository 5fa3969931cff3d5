"""What a prediction set or interval of some level promises, and on which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halfmoon.semi_supervised._learned import LearnedModel

__all__ = ["ConformalGuarantee"]


@dataclass(frozen=True)
class ConformalGuarantee:
    """The promise of `predict_set` or `predict_interval`; print it.

    Attributes
    ----------
    level : float
        The level asked for.
    proven : float or None
        Probability that is proven for unlabelled rows of X, over draws of the labelled rows; None: nothing is proven.
    method : str
        How the sets are made.
    obstacles : tuple of str
        Why nothing is proven; empty if something is.
    """

    level: float
    proven: float | None
    method: str
    obstacles: tuple[str, ...]

    @classmethod
    def of(
        cls, learned: LearnedModel, level: float, method: str, proven: float, obstacles: list[str]
    ) -> ConformalGuarantee:
        """Look at a learnt model; `obstacles` are those that its estimator knows of."""
        found = (*obstacles, *_obstacles(learned))
        return cls(level, None if found else max(proven, 0.0), method, found)

    def __str__(self) -> str:
        if self.proven is None:
            return (
                f"Level {self.level:g} by {self.method}: measured on average over many data sets, not proven for this "
                f"model, because {'; '.join(self.obstacles)}."
            )
        return (
            f"Level {self.level:g} by {self.method}: an unlabelled row of X (for classes, one whose class has a label) "
            f"is covered with probability {self.proven:g} or more if the labelled rows were drawn uniformly. For new "
            "points, labels per class or labels chosen by a model it is measured, not proven."
        )


def _obstacles(learned: LearnedModel) -> Iterator[str]:
    """Yield what makes labelled rows differ from others in more than their labels."""
    kernel, training = learned.kernel, learned.problem.training
    rule = kernel.landmarks
    looks = callable(rule) or (isinstance(rule, str) and rule == "random")
    if looks and len(kernel.landmark_indices_) < training.X.shape[0]:
        yield "the landmarks were chosen with a look at which rows are labelled (landmarks='kmeans++' is not)"
    if kernel.extension != "graph":
        yield f"extension={kernel.extension!r} depends on the labelled rows (extension='graph' does not)"
    if np.ptp(learned.problem.weights) > 0.0:
        yield "the labelled rows have different weights"
    if training.X.shape[0] < len(training.point):
        yield "some rows are copies of others or have weight 0"
