"""The graph's part of a kernel mixture, at unit diagonal: on the labelled rows, on all training points, on new ones.

With t_x the row of T and K_SS the kernel on the landmarks it is

    S(x, x') = t_x' K_SS t_x' / (s_x s_x'),

where s = sqrt(t_x' K_SS t_x) on the landmarks and the labelled rows, and elsewhere is interpolated like any function,
s_x = t_x' s_S: one column more in the solves. Without the modes of the graph (`GraphExtension.with_modes`) a graph of
several components needs what tells them apart, at the weight of the rest: (S + B) / 2, B(x, x') = 1 in one component.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.kernels import GraphExtension
from halfmoon.runtime.caches import without_caches
from halfmoon.semi_supervised._decision import SMALLEST_SIZE, bounded_away

__all__ = ["GraphTerm"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class GraphTerm:
    """A graph kernel of unit diagonal on the labelled rows.

    Attributes
    ----------
    extension : GraphExtension
        The kernel before it is brought to unit diagonal.
    T : ndarray of shape (l, n_hat)
        Rows of T of the labelled rows.
    component : ndarray of shape (l,), or None
        Components of the labelled rows; None: B is not needed.
    """

    extension: GraphExtension
    T: Matrix
    component: NDArray[np.intp] | None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again without a solve."""
        return without_caches(self)

    @property
    def share(self) -> float:
        """Weight of S."""
        return 1.0 if self.component is None else 0.5

    @cached_property
    def _unscaled(self) -> tuple[Matrix, NDArray[np.float64]]:
        """The kernel on the labelled rows, and the roots of its diagonal."""
        K = self.extension.among(self.T)
        sizes = np.maximum(np.sqrt(np.maximum(np.diagonal(K), 0.0)), self.extension.least_size)
        return K, bounded_away(sizes, sizes)

    @cached_property
    def gram(self) -> Matrix:
        """The kernel of unit diagonal on the labelled rows."""
        K, sizes = self._unscaled
        S = K / sizes[:, None] / sizes  # not by the products, which underflow where the graph kernel vanishes
        return S if self.component is None else (S + (self.component[:, None] == self.component)) / 2

    @property
    def located(self) -> Matrix:
        """t_x / s_x of the labelled rows."""
        return self.T / self._unscaled[1][:, None]

    def on_landmarks(self, dual: Matrix) -> Matrix:
        """Return s_x sum_i dual_i S(x_i, x) on the landmarks."""
        return self.extension.K_SS @ (self.located.T @ dual)

    def on_points(self, dual: Matrix, known: tuple[Matrix, Matrix] | None = None) -> tuple[Matrix, Matrix]:
        """Return s_x f(x) and s_x on the distinct training points, for f = sum_i dual_i K(x_i, .).

        `known` is T `on_landmarks(dual)` and T s, where they have been solved for together with others.
        """
        graph = self.extension
        values, sizes = known or graph.on_points_with_sizes(self.on_landmarks(dual))
        if self.component is None:
            return values, sizes
        sizes = bounded_away(sizes, graph.sizes)
        geometry = graph.geometry
        on_components = np.zeros((geometry.components.count, dual.shape[1]))
        np.add.at(on_components, self.component, dual)
        own = geometry.components.labels[geometry.duplicates.first]
        return (values + on_components[own] * sizes) / 2, sizes

    def at_points(self, points: NDArray[np.intp]) -> Matrix:
        """Return the kernel between training points and the labelled rows, as `on_points` has it, from rows of T."""
        graph, geometry = self.extension, self.extension.geometry
        T, own = geometry.rows(points, graph.power), geometry.duplicates.group[points]
        sizes = bounded_away(graph.sizes_everywhere[own], graph.sizes)
        S = T @ (graph.K_SS @ self.located.T) / sizes
        if self.component is None:
            return S
        return (S + (geometry.components.labels[points][:, None] == self.component)) / 2

    def cross(self, A: Any, *, alike: bool, as_new: bool) -> tuple[Matrix, NDArray[np.float64]]:
        """Return the kernel between the rows of A and the labelled rows, and its diagonal on A.

        The diagonal needs the features of all training points, of size n x n_hat. `alike` and `as_new`: see
        `KernelMixture.cross`.
        """
        graph, geometry = self.extension, self.extension.geometry
        Phi = graph.transform(A, as_new=as_new)
        if alike:
            Phi = Phi / self._sizes_alike(Phi)
        else:
            Phi = Phi / bounded_away(geometry.average(A, graph.sizes_everywhere), graph.sizes)
        S, own = Phi @ (self.located @ graph.on_landmarks).T, np.square(Phi).sum(axis=1)
        if self.component is None:
            return S, own
        present, column = np.unique(self.component, return_inverse=True)
        labels = geometry.components.labels[geometry.duplicates.first]
        within = geometry.average(A, (labels[:, None] == present).astype(np.float64), as_new=as_new)
        return (S + within[:, column]) / 2, (own + 1.0) / 2

    def _sizes_alike(self, Phi: Matrix) -> Matrix:
        """Return sqrt(K(x, x)) for rows with features Phi, away from 0 as on the labelled rows."""
        least = SMALLEST_SIZE * float(self._unscaled[1].mean())
        return np.maximum(np.linalg.norm(Phi, axis=1, keepdims=True), max(least, np.finfo(float).tiny))
