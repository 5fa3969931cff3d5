"""Features in which k-means looks for small normalised cuts of the graph.

With weights D, k-means in the metric of D^-1/2 L_norm^+ D^-1/2 minimises a relaxation of the normalised cut (Dhillon,
Guan and Kulis 2007). K-means on the features Phi of the kernel as they are fails on two counts:

- those of L_norm grow with the root of the degree, so that hubs are far from all other rows;
- a landmark is far from all other rows by its own spike Q^+_ii. In large graphs this is about 1 / d_i and says nothing
  of the graph (von Luxburg, Radl and Hein 2010), but it makes clusters of one row.

So rows are divided by the root of their degree, and each is the mean of its neighbours' rows: D^-1 W D^-1/2 Phi.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.geometry import Geometry
from halfmoon.graph import scaling_degrees
from halfmoon.kernels import DataDependentKernel, GraphExtension
from halfmoon.runtime.storable import storable

__all__ = ["CutFeatures", "normalized_cut"]

BLOCK = 1 << 23  # numbers averaged at once


@storable
class CutFeatures:
    """D^-1 W D^-1/2 Phi on the distinct points of a geometry, and its means at new ones.

    It is D^-1 W Phi where the regulariser has L in place of L_norm.

    Attributes
    ----------
    geometry : Geometry
        Of the rows.
    values : ndarray of shape (n_points, rank)
        The features, one row per distinct point. Their weighted mean is 0: constants would only cost digits.
    """

    def __init__(self, kernel: DataDependentKernel, dtype: Any) -> None:
        extension = kernel.warped_.extension
        assert isinstance(extension, GraphExtension)
        self.geometry: Geometry = kernel.geometry_
        scale = np.sqrt(kernel.warped_.factor)
        blocks = (self._smoothed(scale * block).astype(dtype, copy=False) for block in extension.blocks())
        self.values: NDArray[Any] = np.hstack(list(blocks))

    @staticmethod
    def serve(kernel: DataDependentKernel, X: Any) -> bool:
        """Tell whether a kernel goes on through a graph whose vertices are the rows of X."""
        geometry = kernel.geometry_
        return isinstance(kernel.warped_.extension, GraphExtension) and (
            geometry.graph is not None and geometry.graph.shape[0] == X.shape[0]
        )

    def _smoothed(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        W, duplicates, d = self.geometry.graph, self.geometry.duplicates, self.degrees
        assert W is not None
        rows = duplicates.spread(features)
        if getattr(self.geometry.regularizer, "normalized", False):
            rows = rows / np.sqrt(d)[:, None]
        isolated = sparse.diags_array(d - W.sum(axis=1))
        means = (W @ rows + isolated @ rows) / d[:, None]
        means -= np.average(means, axis=0, weights=d)
        return duplicates.mean(means)

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Degrees of the rows, what each counts; an isolated one counts 1."""
        return scaling_degrees(self.geometry.graph)

    @property
    def of_rows(self) -> NDArray[Any]:
        """The features of the rows that the kernel was fitted to."""
        return self.geometry.duplicates.spread(self.values)

    def transform_checked(self, X: Any) -> NDArray[Any]:
        """Return the features of points that `validate_points` returned."""
        out = np.empty((X.shape[0], self.values.shape[1]), dtype=self.values.dtype)
        step = max(1, BLOCK // max(out.shape[1], 1))
        for start in range(0, X.shape[0], step):
            out[start : start + step] = self.geometry.average(X[start : start + step], self.values)
        return out


def normalized_cut(W: sparse.csr_array, labels: NDArray[Any]) -> float:
    """Return the sum over clusters of the weight of the edges that leave one, over that of all its edges.

    A cluster of one row adds 1, as much as it can; one without any edge adds nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from halfmoon.cluster._cut_features import normalized_cut
    >>> path = sparse.csr_array(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    >>> normalized_cut(path, np.array([0, 0, 1, 1])), normalized_cut(path, np.array([0, 1, 1, 1]))
    (0.6666666666666666, 1.2)
    """
    member = np.eye(int(labels.max()) + 1)[labels]
    degree = np.asarray(W.sum(axis=1)).ravel()
    volume = degree @ member
    within = np.einsum("ik,ik->k", member, W @ member)
    return float(np.divide(volume - within, volume, out=np.zeros_like(volume), where=volume > 0.0).sum())
