"""How good the model is on rows that were drawn at random: a score with its uncertainty, and prediction sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

__all__ = ["LEVEL", "HeldOut", "Score", "per_class"]

Matrix = NDArray[np.float64]
LEVEL = 0.9  # of intervals and of prediction sets


@dataclass(frozen=True)
class Score:
    """Right answers among held-out labels of rows that were drawn at random."""

    labels: int  # of all kinds that the model has
    right: int
    counted: int

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Interval of level 0.9 for the share of right answers, by Jeffreys' prior."""
        tail, wrong = (1.0 - LEVEL) / 2.0, self.counted - self.right
        low = 0.0 if self.right == 0 else float(betaincinv(self.right + 0.5, wrong + 0.5, tail))
        high = 1.0 if wrong == 0 else float(betaincinv(self.right + 0.5, wrong + 0.5, 1.0 - tail))
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Return the score for JSON; as error, because that is what falls."""
        low, high = self.interval
        error = (self.counted - self.right) / self.counted if self.counted else None
        return {
            "labels": self.labels,
            "right": self.right,
            "counted": self.counted,
            "error": error,
            "low": 1.0 - high,
            "high": 1.0 - low,
        }


@dataclass(frozen=True)
class HeldOut:
    """Labels of drawn rows and what models said that had not seen them."""

    values: Matrix  # (m, c)
    targets: NDArray[np.intp]  # (m,) columns of `values`

    @property
    def right(self) -> int:
        """Number of right answers."""
        return int((self.values.argmax(axis=1) == self.targets).sum()) if len(self.targets) else 0

    @property
    def threshold(self) -> float:
        """How odd a class may be and still be in a prediction set: infinite while there are too few drawn labels.

        As for split conformal prediction, with leave-one-out in place of a split.
        """
        m = len(self.targets)
        rank = int(np.ceil(LEVEL * (m + 1) - 1e-9))
        if rank > m:
            return float("inf")
        oddness = odd(self.values)[np.arange(m), self.targets]
        return float(np.sort(oddness)[rank - 1])

    def sets(self, values: Matrix) -> NDArray[np.bool_]:
        """Return, for each row of decision values, the classes that it may well have."""
        return odd(values) <= self.threshold


def odd(values: Matrix) -> Matrix:
    """Return by how much the best other class beats each class."""
    best = values.argmax(axis=1)
    each = np.arange(len(values))
    largest = values[each, best]
    others = values.copy()
    others[each, best] = -np.inf
    oddness = largest[:, None] - values
    oddness[each, best] = others.max(axis=1) - largest
    return oddness


def per_class(values: NDArray[np.float64]) -> Matrix:
    """Return decision values with one column per class, for two classes too."""
    return np.column_stack([-values, values]) if values.ndim == 1 else values
