"""What a loss is: a dual problem on a Gram matrix, solved, and solved without each example in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.storable import storable

__all__ = ["DualSolution", "Loss"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@storable
@dataclass(frozen=True)
class DualSolution:
    """f(x) = sum_i dual_i K(x_i, x) + intercept, one column per function."""

    dual: Matrix  # (l, c)
    intercept: Vector  # (c,)


class Loss(Protocol):
    """A loss with its parameter; Y holds one column of targets per function."""

    def fit(self, K: Matrix, Y: Matrix, weights: Vector) -> DualSolution:
        """Solve the dual problem."""
        ...

    def leave_one_out(self, K: Matrix, Y: Matrix, weights: Vector, rows: NDArray[np.intp] | None = None) -> Matrix:
        """Return decision values on the examples, each of a model that has not seen it; only those of `rows` count."""
        ...
