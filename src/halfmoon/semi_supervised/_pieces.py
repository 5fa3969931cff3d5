"""The kernels that a decision function is made of, on the labelled rows, and the function made of them.

Three kernels come out of one fit of a `DataDependentKernel`: the base kernel, its kernel extension (eq. 6) and its
graph extension. A model is a dual solution on a weighted sum of them, each scaled to unit mean diagonal on the labelled
rows, so that C, alpha and weights mean the same on every data set. Its decision function collapses:

    f(x) = sum over labelled z and landmarks z of c_z K(x, z)  +  mean over neighbours of the values on the graph,

one base-kernel expansion and one neighbour query, whatever the number of unlabelled points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._base_kernels import BaseKernel
from halfmoon._extensions import GraphExtension, KernelExtension
from halfmoon.kernels import DataDependentKernel

__all__ = ["Decision", "LabeledKernels"]

Matrix = NDArray[np.float64]
BLOCK = 1 << 23  # kernel values held at once while predicting


class LabeledKernels:
    """Gram matrices of the base kernel and its two extensions on the labelled rows of the training data X."""

    def __init__(self, kernel: DataDependentKernel, X: Any, rows: NDArray[np.intp], T: Matrix | None = None) -> None:
        self.kernel, self.rows, self.T = kernel, rows, T
        self.X_L = X[rows].astype(np.float64)

    @cached_property
    def base(self) -> Matrix:
        """K on the labelled rows."""
        return self.kernel.base_kernel_(self.X_L, self.X_L)

    @cached_property
    def measured(self) -> tuple[KernelExtension, Matrix]:
        """The kernel extension and its k_x' F on the labelled rows, with F F' = (A + eta K_hat)^-1."""
        extension = self.kernel.extend("kernel")
        assert isinstance(extension, KernelExtension)
        return extension, extension.measured(self.X_L)

    @cached_property
    def bent(self) -> Matrix:
        """Equation 6 on the labelled rows."""
        extension, M = self.measured
        return self.base - extension.eta * (M @ M.T)

    @cached_property
    def placed(self) -> tuple[GraphExtension, Matrix]:
        """The graph extension and t_x of the labelled rows."""
        extension = self.kernel.extension_
        if not isinstance(extension, GraphExtension):
            extension = self.kernel.extend("graph")
            assert isinstance(extension, GraphExtension)
        if self.T is not None:  # known from another kernel with the same regulariser
            return extension, self.T
        if self.kernel.method == "budget":  # the graph sees the landmarks only: labelled rows are new points to it
            return extension, extension.average(self.X_L, np.eye(len(self.kernel.landmarks_)))
        return extension, extension.rows(self.rows)

    @cached_property
    def graph(self) -> Matrix:
        """t_x' K_SS t_x' on the labelled rows."""
        extension, T = self.placed
        return T @ extension.K_SS @ T.T

    def gram(self, name: str) -> Matrix:
        """Return one of the kernels, scaled to unit mean diagonal."""
        return self._raw(name) * self.unit(name)

    def unit(self, name: str) -> float:
        """Return the factor that brings the mean diagonal to 1."""
        mean = float(np.trace(self._raw(name))) / len(self.rows)
        return 1.0 / mean if mean > 0.0 else 1.0

    def _raw(self, name: str) -> Matrix:
        grams = {"base": lambda: self.base, "kernel": lambda: self.bent, "graph": lambda: self.graph}
        return grams[name]()

    def mixed(self, weights: Mapping[str, float]) -> Matrix:
        """Return the weighted sum of scaled kernels."""
        return sum((weight * self.gram(name) for name, weight in weights.items()), np.zeros((len(self.rows),) * 2))

    def against(self, weights: Mapping[str, float], A: Any) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the weighted sum of kernels between the rows of A and the examples, and its diagonal on A.

        The diagonal of the graph extension takes the features of all training points, of size n x n_hat.
        """
        cross, own = np.zeros((A.shape[0], len(self.rows))), np.zeros(A.shape[0])
        for name, weight in weights.items():
            scale = weight * self.unit(name)
            if name == "graph":
                graph, T = self.placed
                cross += scale * graph.average(A, graph.on_training_points(graph.K_SS @ T.T))
                own += scale * graph.diag(A)
                continue
            if name == "base":
                base = self.kernel.base_kernel_
                cross, own = cross + scale * base(A, self.X_L), own + scale * base.diag(A)
            else:
                extension, _ = self.measured
                cross, own = cross + scale * extension.gram(A, self.X_L), own + scale * extension.diag(A)
        return cross, own

    def decision(self, weights: Mapping[str, float], dual: Matrix, intercept: NDArray[np.float64]) -> Decision:
        """Return f(x) = sum_i dual_i K(x_i, x) + intercept for the weighted sum of kernels."""
        scaled = {name: weight * self.unit(name) for name, weight in weights.items() if weight > 0.0}
        on_labeled = (scaled.get("base", 0.0) + scaled.get("kernel", 0.0)) * dual
        centers, coef = [self.X_L], [on_labeled]
        if "kernel" in scaled:  # -eta k_x' F F' k_L dual, an expansion over the landmarks
            extension, M = self.measured
            centers.append(self.kernel.landmarks_)
            coef.append(-extension.eta * scaled["kernel"] * (extension.root @ (M.T @ dual)))
        values, graph = None, None
        if "graph" in scaled:
            graph, T = self.placed
            values = graph.on_training_points(scaled["graph"] * (graph.K_SS @ (T.T @ dual)))
        expands = "base" in scaled or "kernel" in scaled
        return Decision(
            base=self.kernel.base_kernel_,
            centers=_stacked(centers) if expands else None,
            coef=np.concatenate(coef),
            graph=graph,
            values=values,
            intercept=intercept,
        )


@dataclass(frozen=True)
class Decision:
    """A decision function on the whole input space, one column a class or target."""

    base: BaseKernel
    centers: Any  # labelled points, then landmarks; None if only the graph speaks
    coef: Matrix
    graph: GraphExtension | None
    values: Matrix | None  # on the distinct training points
    intercept: NDArray[np.float64]

    def __call__(self, A: Any) -> Matrix:
        """Return f at the rows of A, block by block."""
        out = np.tile(self.intercept, (A.shape[0], 1))
        step = max(1, BLOCK // max(len(self.coef), 1))
        for start in range(0, A.shape[0], step):
            rows = slice(start, min(start + step, A.shape[0]))
            if self.centers is not None:
                out[rows] += self.base(A[rows], self.centers) @ self.coef
        if self.graph is not None:
            assert self.values is not None
            out += self.graph.average(A, self.values)
        return out

    def on_training_points(self, X: Any) -> Matrix:
        """Return f at the distinct training points X, without any neighbour query."""
        without_graph = Decision(self.base, self.centers, self.coef, None, None, self.intercept)
        return without_graph(X) if self.values is None else without_graph(X) + self.values


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
