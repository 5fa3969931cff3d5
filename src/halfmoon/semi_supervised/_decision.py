"""The decision function: a base-kernel expansion and values on the training points, whatever it was learnt from.

    f(x) = sum over labelled z and landmarks z of c_z K(x, z)  +  mean of values over neighbours / mean of s,

one base-kernel expansion and one neighbour query, whatever the number of unlabelled points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.geometry import weighted_mean
from halfmoon.kernels import BaseKernel, GraphExtension
from halfmoon.runtime.executor import ThreadExecutor, thread_count
from halfmoon.runtime.storable import storable

__all__ = ["SMALLEST_SIZE", "DecisionFunction", "bounded_away"]

Matrix = NDArray[np.float64]
ROWS = 1 << 15  # rows predicted at once
BLOCK = 1 << 20  # kernel values, and features, that a thread holds at once while predicting
SMALLEST_SIZE = 1e-2  # of s_x, relative to its mean on the landmarks or on the labelled rows


@storable
@dataclass(frozen=True)
class DecisionFunction:
    """A decision function on the whole input space, one column per class or target."""

    base: BaseKernel
    centers: Any  # labelled points, then landmarks; None if there is no base kernel in it
    coef: Matrix
    graph: GraphExtension | None
    values: Matrix | None  # on the distinct training points
    sizes: Matrix | None  # s there: what values are divided by
    intercept: NDArray[np.float64]
    n_jobs: int | None = None

    def __call__(self, A: Any) -> Matrix:
        """Return f at the rows of A, `ROWS` at a time: memory does not grow with A, but for the result."""
        out = np.tile(self.intercept, (A.shape[0], 1))
        for start in range(0, A.shape[0], ROWS):
            rows = slice(start, start + ROWS)
            if self.centers is not None:
                out[rows] += self._expansion(A[rows])
            if self.graph is not None and self.values is not None and self.sizes is not None:
                near = self.graph.geometry.nearest(A[rows])
                out[rows] += _ratio(weighted_mean(self.values, *near), weighted_mean(self.sizes, *near), self.graph)
        return out

    def _expansion(self, A: Any) -> Matrix:
        """Return the base-kernel expansion, one block of rows per task."""
        step = max(1, BLOCK // max(len(self.coef), A.shape[1], 1))
        blocks = (A[start : start + step] for start in range(0, A.shape[0], step))
        with ThreadExecutor(thread_count(self.n_jobs)) as executor:
            return np.concatenate(list(executor.map(_expand, (self.base, self.centers, self.coef), blocks)))

    def on_training_points(self, X: Any, expansion: Matrix | None = None) -> Matrix:
        """Return f at the training points X, without a neighbour query where the graph knows them all.

        `expansion` is the base-kernel expansion at X, where it is known.
        """
        if self.graph is not None and self.graph.geometry.n != X.shape[0]:
            return self(X)
        if self.graph is None or self.values is None or self.sizes is None:
            out = np.zeros((X.shape[0], len(self.intercept)))
        else:
            out = self.graph.geometry.duplicates.spread(_ratio(self.values, self.sizes, self.graph))
        if self.centers is not None:
            out += self._expansion(X) if expansion is None else expansion
        out += self.intercept  # in place: these arrays are as large as anything that a refit makes
        return out


def _expand(prepared: tuple[BaseKernel, Any, Matrix], rows: Any) -> Matrix:
    base, centers, coef = prepared
    return base(rows, centers) @ coef


def _ratio(values: Matrix, s: Matrix, graph: GraphExtension) -> Matrix:
    return values / bounded_away(s, graph.sizes)


def bounded_away(s: Matrix, sizes: NDArray[np.float64]) -> Matrix:
    """Return s, lifted to the least of `sizes` (at least a hundredth of their mean) where an interpolant undershoots.

    On a component without landmark s and all values are 0, and so is their ratio.
    """
    return np.maximum(s, max(SMALLEST_SIZE * float(sizes.mean()), float(sizes.min()), np.finfo(float).tiny))
