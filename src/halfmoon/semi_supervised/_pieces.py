"""The kernels that a decision function is made of, on the labelled rows, and the function made of them.

Three kernels come out of one fit of a `DataDependentKernel`: the base kernel, its kernel extension (eq. 6) and its
graph extension. A model is a dual solution on a weighted sum of them, brought to a common scale, so that C, alpha and
weights mean the same on every data set: base kernel and kernel extension to unit mean diagonal on the labelled rows,
the graph extension to unit diagonal, K_g(x, x') / (s_x s_x') with s = sqrt(K_g(x, x)) on the landmarks and the
labelled rows and interpolated like any function elsewhere, s_x = t_x' s_S: one column more in the solves. The decision
function collapses:

    f(x) = sum over labelled z and landmarks z of c_z K(x, z)  +  mean of values over neighbours / mean of s,

one base-kernel expansion and one neighbour query, whatever the number of unlabelled points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from halfmoon.kernels import DataDependentKernel
from halfmoon.kernels._base import BaseKernel
from halfmoon.kernels._extensions import GraphExtension, KernelExtension, Measured
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.executor import ThreadExecutor, thread_count

__all__ = ["Decision", "LabeledKernels"]

Matrix = NDArray[np.float64]
BLOCK = 1 << 20  # kernel values that a thread holds at once while predicting
SMALLEST_SIZE = 1e-2  # of s_x, relative to its mean on the landmarks or on the labelled rows


class LabeledKernels:
    """Gram matrices of the base kernel and its two extensions on the labelled rows of the training data X."""

    def __init__(self, kernel: DataDependentKernel, X: Any, rows: NDArray[np.intp], T: Matrix | None = None) -> None:
        self.kernel, self.rows, self.T = kernel, rows, T
        self.known: tuple[NDArray[np.intp], Matrix] | None = None
        self.X_L = X[rows].astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again without a solve."""
        return without_caches(self, kept=("placed",)) | {"known": None}

    @property
    def leaves_components_out(self) -> bool:
        """Whether the graph has components without a labelled row (for the budget kernel: several components)."""
        components = self.kernel.regularizer_.components
        if self.kernel.method == "budget":
            return components.count > 1
        return len(np.unique(components.labels[self.rows])) < components.count

    @property
    def beyond_landmarks(self) -> bool:
        """Whether no labelled row shares a component of the graph with a landmark: the graph kernel vanishes on all."""
        if self.kernel.method == "budget":
            return False  # labelled rows are placed by their nearest landmarks
        components = self.kernel.regularizer_.components
        covered = components.covered_by(self.kernel.landmark_indices_) > 0
        return not covered[components.labels[self.rows]].any()

    @cached_property
    def base(self) -> Matrix:
        """K on the labelled rows."""
        return self.kernel.base_kernel_(self.X_L, self.X_L)

    @cached_property
    def measured(self) -> tuple[KernelExtension, Measured]:
        """The kernel extension and the labelled rows as it sees them."""
        extension = self.kernel.extension_
        if not isinstance(extension, KernelExtension):
            extension = self.kernel.extend("kernel")
            assert isinstance(extension, KernelExtension)
        return extension, extension.measure(self.X_L, self.to_landmarks)

    @cached_property
    def to_landmarks(self) -> Matrix:
        """K between the labelled rows and the landmarks."""
        return self.kernel.base_kernel_(self.X_L, self.kernel.landmarks_)

    @cached_property
    def bent(self) -> Matrix:
        """Equation 6 on the labelled rows."""
        extension, seen = self.measured
        return extension.between(seen, seen, self.base)

    def bent_without(self, held_out: NDArray[np.intp]) -> Matrix:
        """Equation 6 on the labelled rows, measured at all landmarks but those among the held-out rows.

        A held-out row that stays a landmark is no new point: the graph itself speaks there (footnote 5 of the paper).
        F F' less some of the rows and columns of its inverse is F F' off the span of these rows of F.
        """
        extension, seen = self.measured
        left_out = np.isin(self.kernel.landmark_indices_, self.rows[held_out])
        MZ = seen.within @ linalg.qr(extension.root[left_out].T, mode="economic")[0]
        return self.bent + extension.eta * (MZ @ MZ.T)

    @cached_property
    def placed(self) -> tuple[GraphExtension, Matrix]:
        """The graph extension and t_x of the labelled rows."""
        extension = self.kernel.extension_
        if not isinstance(extension, GraphExtension):
            extension = self.kernel.extend("graph")
            assert isinstance(extension, GraphExtension)
        if self.T is not None:  # known from another kernel with the same regulariser
            return extension, self.T
        if self.known is not None:  # only rows that were not labelled before need solves
            return extension, self._with_known_rows(extension, *self.known)
        if self.kernel.method == "budget":  # the graph sees the landmarks only: labelled rows are new points to it
            return extension, extension.average(self.X_L, np.eye(len(self.kernel.landmarks_)))
        return extension, extension.rows(self.rows)

    def _with_known_rows(self, extension: GraphExtension, rows: NDArray[np.intp], T: Matrix) -> Matrix:
        place = {int(row): number for number, row in enumerate(rows)}
        at = np.array([place.get(int(row), -1) for row in self.rows])
        found = np.empty((len(self.rows), T.shape[1]))
        found[at >= 0] = T[at[at >= 0]]
        found[at < 0] = extension.rows(self.rows[at < 0])
        return found

    def like(self, earlier: LabeledKernels) -> LabeledKernels:
        """Take over the rows of T that an earlier fit on the same kernel has solved for."""
        if self.kernel.method != "budget" and "placed" in vars(earlier):
            self.known = (earlier.rows, earlier.placed[1])
        return self

    def sharing_base(self, earlier: LabeledKernels | None) -> LabeledKernels:
        """Take over what the base kernel of a kernel with other eta or power has given on the same rows."""
        if earlier is not None and earlier.kernel.K_hat_ is self.kernel.K_hat_:
            for name in ("base", "to_landmarks"):
                if name in vars(earlier):
                    vars(self)[name] = vars(earlier)[name]
        return self

    @cached_property
    def _among(self) -> tuple[Matrix, NDArray[np.float64]]:
        """K_g on the labelled rows, and the roots of its diagonal."""
        extension, T = self.placed
        K = extension.among(T)
        sizes = np.sqrt(np.maximum(np.diagonal(K), 0.0))
        return K, bounded_away(sizes, sizes)

    @property
    def located(self) -> Matrix:
        """t_x / sqrt(K_g(x, x)) of the labelled rows."""
        return self.placed[1] / self._among[1][:, None]

    @cached_property
    def graph(self) -> Matrix:
        """K_g(x, x') / (s_x s_x') on the labelled rows."""
        K, sizes = self._among
        return K / sizes[:, None] / sizes  # not by the products, which underflow where the graph kernel vanishes

    def unit(self, name: str) -> float:
        """Return the factor that brings the mean diagonal on the labelled rows to 1."""
        mean = float(np.trace(self.base if name == "base" else self.bent)) / len(self.rows)
        return 1.0 / mean if mean > 0.0 else 1.0

    def gram(self, name: str) -> Matrix:
        """Return one of the kernels at the common scale."""
        if name == "graph":
            return self.graph
        return self.unit(name) * (self.base if name == "base" else self.bent)

    def mixed(self, weights: Mapping[str, float]) -> Matrix:
        """Return the weighted sum of the kernels."""
        return sum((weight * self.gram(name) for name, weight in weights.items()), np.zeros((len(self.rows),) * 2))

    def against(self, weights: Mapping[str, float], A: Any) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the weighted sum of kernels between the rows of A and the examples, and its diagonal on A.

        The diagonal of the graph extension takes the features of all training points, of size n x n_hat.
        """
        cross, own = np.zeros((A.shape[0], len(self.rows))), np.zeros(A.shape[0])
        for name, weight in weights.items():
            if name == "graph":
                graph, _ = self.placed
                Phi = graph.transform(A)
                s = bounded_away(graph.average(A, graph.sizes_everywhere), graph.sizes)
                landmarks = graph.features[graph.copies.group[graph.restriction.landmarks]]
                cross += weight * (Phi / s) @ (self.located @ landmarks).T
                own += weight * np.square(Phi / s).sum(axis=1)
            elif name == "base":
                base, unit = self.kernel.base_kernel_, weight * self.unit(name)
                cross, own = cross + unit * base(A, self.X_L), own + unit * base.diag(A)
            else:
                (extension, _), unit = self.measured, weight * self.unit(name)
                cross, own = cross + unit * extension.gram(A, self.X_L), own + unit * extension.diag(A)
        return cross, own

    def on_landmarks(self, dual: Matrix) -> Matrix:
        """Return s_x sum_i dual_i K_g(x_i, x) / (s_i s_x) on the landmarks."""
        return self.placed[0].K_SS @ (self.located.T @ dual)

    def decision(
        self,
        weights: Mapping[str, float],
        dual: Matrix,
        intercept: NDArray[np.float64],
        known: Matrix | None = None,
    ) -> Decision:
        """Return f(x) = sum_i dual_i K(x_i, x) + intercept for the weighted sum of kernels.

        `known` is T `on_landmarks(dual)`, where it has been solved for together with others.
        """
        used = {name: weight for name, weight in weights.items() if weight > 0.0}
        scale = {name: weight * self.unit(name) for name, weight in used.items() if name != "graph"}
        centers, coef = [self.X_L], [scale.get("base", 0.0) * dual]
        if "kernel" in scale:  # r_x as an expansion over the labelled rows and the landmarks
            _, seen = self.measured
            coef[0] = coef[0] + scale["kernel"] * np.where(seen.on[:, None], 0.0, dual)
            centers.append(self.kernel.landmarks_)
            coef.append(scale["kernel"] * (seen.rest.T @ dual))
        values, graph = None, None
        if "graph" in used:
            graph, _ = self.placed
            _ = graph.sizes_everywhere  # what every prediction divides by is solved for here, not in the first of them
            values = used["graph"] * (graph.on_training_points(self.on_landmarks(dual)) if known is None else known)
        return Decision(
            base=self.kernel.base_kernel_,
            centers=_stacked(centers) if scale else None,
            coef=np.concatenate(coef),
            graph=graph,
            values=values,
            intercept=intercept,
            n_jobs=self.kernel.n_jobs,
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
    n_jobs: int | None = None

    def __call__(self, A: Any) -> Matrix:
        """Return f at the rows of A, block by block."""
        out = np.tile(self.intercept, (A.shape[0], 1))
        if self.centers is not None:
            out += self._expansion(A)
        if self.graph is not None:
            assert self.values is not None
            out += _ratio(self.graph.average(A, np.hstack([self.values, self.graph.sizes_everywhere])), self.graph)
        return out

    def _expansion(self, A: Any) -> Matrix:
        """Return the base-kernel expansion, a block of rows to a thread."""
        step = max(1, BLOCK // max(len(self.coef), 1))
        blocks = (A[start : start + step] for start in range(0, A.shape[0], step))
        with ThreadExecutor(thread_count(self.n_jobs)) as executor:
            return np.concatenate(list(executor.map(_expand, (self.base, self.centers, self.coef), blocks)))

    def on_training_points(self, X: Any) -> Matrix:
        """Return f at the training points X, without a neighbour query where the graph knows them all."""
        if self.graph is None or self.values is None or self.graph.X.shape[0] != X.shape[0]:
            return self(X)
        of_graph = _ratio(np.hstack([self.values, self.graph.sizes_everywhere]), self.graph)[self.graph.copies.group]
        return replace(self, graph=None, values=None)(X) + of_graph


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


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
