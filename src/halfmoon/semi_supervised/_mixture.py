"""The kernels that a model is made of, on the labelled rows, and the decision function of a dual solution on them.

Three kernels come out of one warped kernel: the base kernel, its kernel extension (eq. 6) and its graph extension. A
model is a dual solution on a weighted sum of them, brought to a common scale, so that C, alpha and weights mean the
same on every data set: base kernel and kernel extension to unit mean diagonal on the labelled rows, the graph
extension to unit diagonal, K_g(x, x') / (s_x s_x') with s = sqrt(K_g(x, x)) on the landmarks and the labelled rows and
interpolated like any function elsewhere, s_x = t_x' s_S: one column more in the solves.
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
from halfmoon.semi_supervised._decision import SMALLEST_SIZE, DecisionFunction, bounded_away

__all__ = ["BaseOnRows", "KernelMixture"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    """Gram matrices of the base kernel and its two extensions on the labelled rows.

    Attributes
    ----------
    kernel : WarpedKernel
        Where they come from.
    X_L : ndarray or csr_array of shape (l, d)
        The labelled rows, in float64.
    T : ndarray of shape (l, n_hat), or None
        Their rows of T; None if the graph extension is not wanted.
    known_base : BaseOnRows, default=None
        The base kernel on the rows, where it is known.
    """

    kernel: WarpedKernel
    X_L: Any
    T: Matrix | None
    known_base: BaseOnRows | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again without a solve."""
        return without_caches(self) | {"known_base": None}

    @property
    def n_rows(self) -> int:
        """Number of labelled rows."""
        return int(self.X_L.shape[0])

    @cached_property
    def base_on_rows(self) -> BaseOnRows:
        """The base kernel on the labelled rows."""
        if self.known_base is not None:
            return self.known_base
        return BaseOnRows.compute(self.kernel.landmark_kernel, self.X_L, self.kernel.geometry.landmark_points)

    @cached_property
    def measured(self) -> Measured:
        """The labelled rows as eq. 6 sees them."""
        return self.kernel.kernel_extension.measure(self.X_L, self.base_on_rows.to_landmarks)

    @cached_property
    def extended(self) -> Matrix:
        """Eq. 6 on the labelled rows."""
        return self.kernel.kernel_extension.between(self.measured, self.measured, self.base_on_rows.among)

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
    def _graph_unscaled(self) -> tuple[Matrix, NDArray[np.float64]]:
        """K_g on the labelled rows, and the roots of its diagonal."""
        K = self.kernel.graph_extension.among(self._placed)
        sizes = np.sqrt(np.maximum(np.diagonal(K), 0.0))
        return K, bounded_away(sizes, sizes)

    @property
    def _located(self) -> Matrix:
        """t_x / sqrt(K_g(x, x)) of the labelled rows."""
        return self._placed / self._graph_unscaled[1][:, None]

    @cached_property
    def _graph(self) -> Matrix:
        """K_g(x, x') / (s_x s_x') on the labelled rows."""
        K, sizes = self._graph_unscaled
        return K / sizes[:, None] / sizes  # not by the products, which underflow where the graph kernel vanishes

    def unit(self, name: str) -> float:
        """Return the factor that brings the mean diagonal on the labelled rows to 1."""
        mean = float(np.trace(self.base_on_rows.among if name == "base" else self.extended)) / self.n_rows
        return 1.0 / mean if mean > 0.0 else 1.0

    def gram(self, name: str) -> Matrix:
        """Return one of the kernels, "base", "kernel" or "graph", at the common scale."""
        if name == "graph":
            return self._graph
        return self.unit(name) * (self.base_on_rows.among if name == "base" else self.extended)

    def mixed(self, weights: Mapping[str, float]) -> Matrix:
        """Return the weighted sum of the kernels."""
        return sum((weight * self.gram(name) for name, weight in weights.items()), np.zeros((self.n_rows,) * 2))

    def cross(
        self, weights: Mapping[str, float], A: Any, *, alike: bool = False, as_new: bool = False
    ) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the weighted sum of kernels between the rows of A and the labelled rows, and its diagonal on A.

        The diagonal of the graph extension needs the features of all training points, of size n x n_hat. With `alike`
        rows of A are scaled as labelled rows are, to K_g(x, x) = 1, and not by the interpolated s of the decision
        function: nothing but its label then tells a labelled row from another row of the graph. With `as_new` they are
        placed by their neighbours even where the graph knows them.
        """
        values, own = np.zeros((A.shape[0], self.n_rows)), np.zeros(A.shape[0])
        for name, weight in weights.items():
            if name == "graph":
                graph, geometry = self.kernel.graph_extension, self.kernel.geometry
                Phi = graph.transform(A, as_new=as_new)
                interpolated = None if alike else geometry.average(A, graph.sizes_everywhere)
                s = self._sizes_alike(Phi) if interpolated is None else bounded_away(interpolated, graph.sizes)
                values += weight * (Phi / s) @ (self._located @ graph.on_landmarks).T
                own += weight * np.square(Phi / s).sum(axis=1)
            elif name == "base":
                base, unit = self.kernel.base, weight * self.unit(name)
                values, own = values + unit * base(A, self.X_L), own + unit * base.diag(A)
            else:
                extension, unit = self.kernel.kernel_extension, weight * self.unit(name)
                values, own = values + unit * extension.gram(A, self.X_L), own + unit * extension.diag(A)
        return values, own

    def _sizes_alike(self, Phi: Matrix) -> Matrix:
        """Return sqrt(K_g(x, x)) for rows with features Phi, away from 0 as on the labelled rows."""
        least = SMALLEST_SIZE * float(self._graph_unscaled[1].mean())
        return np.maximum(np.linalg.norm(Phi, axis=1, keepdims=True), max(least, np.finfo(float).tiny))

    def on_landmarks(self, dual: Matrix) -> Matrix:
        """Return s_x sum_i dual_i K_g(x_i, x) / (s_i s_x) on the landmarks."""
        return self.kernel.graph_extension.K_SS @ (self._located.T @ dual)

    def decision(
        self,
        weights: Mapping[str, float],
        dual: Matrix,
        intercept: NDArray[np.float64],
        known: tuple[Matrix, Matrix] | None = None,
    ) -> DecisionFunction:
        """Return f(x) = sum_i dual_i K(x_i, x) + intercept for the weighted sum of kernels.

        `known` is T `on_landmarks(dual)` and T s, where they have been solved for together with others.
        """
        used = {name: weight for name, weight in weights.items() if weight > 0.0}
        scale = {name: weight * self.unit(name) for name, weight in used.items() if name != "graph"}
        centers, coef = [self.X_L], [scale.get("base", 0.0) * dual]
        if "kernel" in scale:  # r_x as an expansion over the labelled rows and the landmarks
            seen = self.measured
            coef[0] = coef[0] + scale["kernel"] * np.where(seen.on[:, None], 0.0, dual)
            centers.append(self.kernel.geometry.landmark_points)
            coef.append(scale["kernel"] * (seen.rest.T @ dual))
        values, sizes, graph = None, None, None
        if "graph" in used:
            graph = self.kernel.graph_extension
            values, sizes = known or (graph.on_points(self.on_landmarks(dual)), graph.sizes_everywhere)
            values = used["graph"] * values
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
