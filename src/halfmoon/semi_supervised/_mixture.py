"""The kernels that a model is made of, on the labelled rows, and the decision function of a dual solution on them.

Four kernels come out of one warped kernel: the base kernel, its kernel extension (eq. 6), its graph extension, and the
graph extension without the modes ("smooth"). A model is a dual solution on a weighted sum of them, brought to a common
scale, so that C, alpha and weights mean the same on every data set: base kernel and kernel extension to unit mean
diagonal on the labelled rows, the graph's kernels to unit diagonal (`GraphTerm`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from halfmoon.kernels import LandmarkKernel, Measured, WarpedKernel
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._decision import DecisionFunction
from halfmoon.semi_supervised._graph_term import GraphTerm

__all__ = ["OF_GRAPH", "BaseOnRows", "KernelMixture"]

Matrix = NDArray[np.float64]
OF_GRAPH = ("graph", "smooth")  # the kernels that rest on T


@dataclass(frozen=True)
class BaseOnRows:
    """The base kernel among the labelled rows and between them and the landmarks; kernels of any eta share it."""

    among: Matrix
    to_landmarks: Matrix

    @classmethod
    def compute(cls, kernel: LandmarkKernel, X_L: Any, landmark_points: Any) -> BaseOnRows:
        """Evaluate the base kernel."""
        return cls(kernel.base(X_L, X_L), kernel.base(X_L, landmark_points))


@storable
@dataclass(frozen=True)
class KernelMixture:
    """Gram matrices of the base kernel and its extensions on the labelled rows.

    Attributes
    ----------
    kernel : WarpedKernel
        Where they come from.
    X_L : ndarray or csr_array of shape (l, d)
        The labelled rows, in float64.
    T : ndarray of shape (l, n_hat), or None
        Their rows of T; None if the graph extension is not wanted.
    component : ndarray of shape (l,), or None
        Their components of the graph; None if it is connected.
    known_base : BaseOnRows, default=None
        The base kernel on the rows, where it is known.
    """

    kernel: WarpedKernel
    X_L: Any
    T: Matrix | None
    component: NDArray[np.intp] | None = None
    known_base: BaseOnRows | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again without a solve."""
        return without_caches(self) | {"known_base": None}

    @property
    def n_rows(self) -> int:
        """Number of labelled rows."""
        return int(self.X_L.shape[0])

    def with_landmarks(self, places: NDArray[np.intp]) -> KernelMixture:
        """Return the kernels on the labelled rows and, after them, on the landmarks at the given places."""
        geometry, K_hat, to_S = self.kernel.geometry, self.kernel.K_hat, self.base_to_landmarks
        base = BaseOnRows(
            np.block([[self.base_among, to_S[:, places]], [to_S[:, places].T, K_hat[np.ix_(places, places)]]]),
            np.concatenate([to_S, K_hat[places]]),
        )
        identity = np.eye(len(geometry.landmarks))
        labels = geometry.components.labels[geometry.landmarks[places]]
        return KernelMixture(
            self.kernel,
            _stacked([self.X_L, geometry.landmark_points[places]]),
            None if self.T is None else np.concatenate([self.T, identity[places]]),
            None if self.component is None else np.concatenate([self.component, labels]),
            base,
        )

    @cached_property
    def base_among(self) -> Matrix:
        """The base kernel among the labelled rows."""
        return self.kernel.base(self.X_L, self.X_L) if self.known_base is None else self.known_base.among

    @cached_property
    def base_to_landmarks(self) -> Matrix:
        """The base kernel between the labelled rows and the landmarks."""
        if self.known_base is not None:
            return self.known_base.to_landmarks
        return self.kernel.base(self.X_L, self.kernel.geometry.landmark_points)

    @cached_property
    def measured(self) -> Measured:
        """The labelled rows as eq. 6 sees them."""
        return self.kernel.kernel_extension.measure(self.X_L, self.base_to_landmarks)

    @cached_property
    def extended(self) -> Matrix:
        """Eq. 6 on the labelled rows."""
        return self.kernel.kernel_extension.between(self.measured, self.measured, self.base_among)

    def extended_without(self, left_out: NDArray[np.bool_]) -> Matrix:
        """Return eq. 6 on the labelled rows, measured at all landmarks but those left out.

        A held-out row that stays a landmark is no new point: the graph itself decides there (footnote 5 of the paper).
        F F' less some of the rows and columns of its inverse is F F' off the span of these rows of F.
        """
        extension = self.kernel.kernel_extension
        MZ = self.measured.within @ linalg.qr(extension.root[left_out].T, mode="economic")[0]
        return self.extended + extension.eta * (MZ @ MZ.T)

    @property
    def _placed(self) -> Matrix:
        if self.T is None:
            raise ValueError("The graph extension of these rows was not solved for.")
        return self.T

    @cached_property
    def _graph(self) -> GraphTerm:
        return GraphTerm(self.kernel.graph_extension, self._placed, None)

    @cached_property
    def _smooth(self) -> GraphTerm:
        return GraphTerm(self.kernel.smooth_extension, self._placed, self.component)

    def of_graph(self, name: str) -> GraphTerm:
        """Return one of the kernels that rest on T, "graph" or "smooth"."""
        return self._graph if name == "graph" else self._smooth

    def unit(self, name: str) -> float:
        """Return the factor that brings the mean diagonal on the labelled rows to 1."""
        mean = float(np.trace(self.base_among if name == "base" else self.extended)) / self.n_rows
        return 1.0 / mean if mean > 0.0 else 1.0

    def gram(self, name: str) -> Matrix:
        """Return one of the kernels, "base", "kernel", "graph" or "smooth", at the common scale."""
        if name in OF_GRAPH:
            return self.of_graph(name).gram
        return self.unit(name) * (self.base_among if name == "base" else self.extended)

    def mixed(self, weights: Mapping[str, float]) -> Matrix:
        """Return the weighted sum of the kernels."""
        return sum((weight * self.gram(name) for name, weight in weights.items()), np.zeros((self.n_rows,) * 2))

    def cross(
        self, weights: Mapping[str, float], A: Any, *, alike: bool = False, as_new: bool = False
    ) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the weighted sum of kernels between the rows of A and the labelled rows, and its diagonal on A.

        The diagonal of the graph's kernels needs the features of all training points, of size n x n_hat. With `alike`
        rows of A are scaled as labelled rows are, and not by the interpolated s of the decision function: nothing but
        its label then tells a labelled row from another row of the graph. With `as_new` they are placed by their
        neighbours even where the graph knows them.
        """
        values, own = np.zeros((A.shape[0], self.n_rows)), np.zeros(A.shape[0])
        for name, weight in weights.items():
            if name in OF_GRAPH:
                K, diagonal = self.of_graph(name).cross(A, alike=alike, as_new=as_new)
            else:
                K, diagonal = self._cross(name, A)
            values, own = values + weight * K, own + weight * diagonal
        return values, own

    def at_points(self, weights: Mapping[str, float], points: NDArray[np.intp]) -> Matrix:
        """Return the weighted sum of kernels between training points and the labelled rows, as `decision` has it."""
        A = self.kernel.geometry.X[points].astype(np.float64)
        values = np.zeros((len(points), self.n_rows))
        for name, weight in weights.items():
            K = self.of_graph(name).at_points(points) if name in OF_GRAPH else self._cross(name, A)[0]
            values += weight * K
        return values

    def _cross(self, name: str, A: Any) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the base kernel or its kernel extension between the rows of A and the labelled rows."""
        unit = self.unit(name)
        if name == "base":
            return unit * self.kernel.base(A, self.X_L), unit * self.kernel.base.diag(A)
        extension = self.kernel.kernel_extension
        return unit * extension.gram(A, self.X_L), unit * extension.diag(A)

    def decision(
        self,
        weights: Mapping[str, float],
        dual: Matrix,
        intercept: NDArray[np.float64],
        known: tuple[Matrix, Matrix] | None = None,
    ) -> DecisionFunction:
        """Return f(x) = sum_i dual_i K(x_i, x) + intercept for the weighted sum of kernels.

        `known` is what `GraphTerm.on_points` can be given.
        """
        used = {name: weight for name, weight in weights.items() if weight > 0.0}
        scale = {name: weight * self.unit(name) for name, weight in used.items() if name not in OF_GRAPH}
        centers, coef = [self.X_L], [scale.get("base", 0.0) * dual]
        if "kernel" in scale:  # r_x as an expansion over the labelled rows and the landmarks
            seen = self.measured
            coef[0] = coef[0] + scale["kernel"] * np.where(seen.on[:, None], 0.0, dual)
            centers.append(self.kernel.geometry.landmark_points)
            coef.append(scale["kernel"] * (seen.rest.T @ dual))
        values, sizes, graph = None, None, None
        for name in used.keys() & set(OF_GRAPH):  # one at the most
            graph = self.of_graph(name).extension
            values, sizes = self.of_graph(name).on_points(dual, known)
            values = used[name] * values
        return DecisionFunction(
            base=self.kernel.base,
            centers=_stacked(centers) if scale else None,
            coef=np.concatenate(coef),
            graph=graph,
            values=values,
            sizes=sizes,
            intercept=intercept,
            n_jobs=self.kernel.geometry.settings.n_jobs,
        )


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
