"""The decision function: a base-kernel expansion and values on the training points, whatever it was learnt from.

    f(x) = sum over labelled z and landmarks z of c_z K(x, z)  +  mean of values over neighbours / mean of s,

one base-kernel expansion and one neighbour query, whatever the number of unlabelled points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.kernels import BaseKernel, GraphExtension
from halfmoon.runtime.executor import ThreadExecutor, thread_count
from halfmoon.runtime.storable import storable

__all__ = ["SMALLEST_SIZE", "DecisionFunction", "bounded_away"]

Matrix = NDArray[np.float64]
BLOCK = 1 << 20  # kernel values that a thread holds at once while predicting
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
        """Return f at the rows of A, block by block."""
        out = np.tile(self.intercept, (A.shape[0], 1))
        if self.centers is not None:
            out += self._expansion(A)
        if self.graph is not None and self.values is not None and self.sizes is not None:
            on_points = np.hstack([self.values, self.sizes])
            out += _ratio(self.graph.geometry.average(A, on_points), self.graph)
        return out

    def _expansion(self, A: Any) -> Matrix:
        """Return the base-kernel expansion, one block of rows per task."""
        step = max(1, BLOCK // max(len(self.coef), 1))
        blocks = (A[start : start + step] for start in range(0, A.shape[0], step))
        with ThreadExecutor(thread_count(self.n_jobs)) as executor:
            return np.concatenate(list(executor.map(_expand, (self.base, self.centers, self.coef), blocks)))

    def on_training_points(self, X: Any) -> Matrix:
        """Return f at the training points X, without a neighbour query where the graph knows them all."""
        if self.graph is None or self.values is None or self.sizes is None or self.graph.geometry.n != X.shape[0]:
            return self(X)
        of_graph = _ratio(np.hstack([self.values, self.sizes]), self.graph)
        return replace(self, graph=None, values=None, sizes=None)(X) + of_graph[self.graph.geometry.duplicates.group]


def _expand(prepared: tuple[BaseKernel, Any, Matrix], rows: Any) -> Matrix:
    base, centers, coef = prepared
    return base(rows, centers) @ coef


def _ratio(values: Matrix, graph: GraphExtension) -> Matrix:
    """Divide all columns by the last one, s."""
    return values[:, :-1] / bounded_away(values[:, -1:], graph.sizes)


def bounded_away(s: Matrix, sizes: NDArray[np.float64]) -> Matrix:
    """Return s, lifted to the least of `sizes` (at least a hundredth of their mean) where an interpolant undershoots.

    On a component without landmark s and all values are 0, and so is their ratio.
    """
    return np.maximum(s, max(SMALLEST_SIZE * float(sizes.mean()), float(sizes.min()), np.finfo(float).tiny))
