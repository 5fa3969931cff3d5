"""Rows that arrive after an index and a graph were built: both are extended, neither is built again.

The index of the first rows stays as it is. Rows that came later are searched exactly, and the two answers are merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._duplicates import find_duplicates
from halfmoon.graph._exact import Neighbors
from halfmoon.graph._neighbor_index import NeighborIndex
from halfmoon.graph._points import in_form
from halfmoon.graph._weights import weight_function
from halfmoon.runtime.storable import storable

__all__ = ["AppendedIndex", "append_links", "stacked"]


@storable
class AppendedIndex(NeighborIndex):
    """An index of neighbours with rows after its own.

    Parameters
    ----------
    index : NeighborIndex
        An index; one with appended rows keeps these.
    X_new : ndarray or csr_array of shape (m, d)
        Rows as `check_points` returns them.

    Attributes
    ----------
    first : NeighborIndex
        The index of the rows that it was built on.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import AppendedIndex, NeighborIndex
    >>> index = AppendedIndex(NeighborIndex(np.array([[0.0], [1.0], [5.0]])), np.array([[4.0], [1.0]]))
    >>> distances, points = index.query(np.array([[4.5]]), 3)
    >>> points.tolist(), distances.tolist(), index.n_points
    ([[2, 3, 1]], [[0.5, 0.5, 3.5]], 4)
    """

    def __init__(self, index: NeighborIndex, X_new: Any) -> None:
        self.first: NeighborIndex = index.first if isinstance(index, AppendedIndex) else index
        self.X = stacked(index.X, X_new)
        self.metric, self.method = index.metric, index.method
        self.options = replace(index.options)  # a copy: model files write what two objects share only once
        self.duplicates = find_duplicates(self._measurable(self.X))  # points keep their numbers: they came first

    @cached_property
    def _later(self) -> NeighborIndex:
        """The points that only the later rows are."""
        rows = self.X[self.duplicates.first[self.first.n_points :]]
        return NeighborIndex(rows, metric=self.metric, method="exact", options=self.options)

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return distances and numbers of the k nearest points to each row of Y, nearest first."""
        known = self.first.n_points
        distances, points = self.first.query(Y, min(k, known))
        if self.n_points == known:
            return distances, points
        later_distances, later_points = self._later.query(Y, min(k, self.n_points - known))
        distances = np.concatenate([distances, later_distances], axis=1)
        points = np.concatenate([points, later_points + known], axis=1)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(distances, nearest, axis=1), np.take_along_axis(points, nearest, axis=1)

    def prepare_queries(self, k: int) -> None:
        """Build what queries of k neighbours need and compile it, so that the first is as fast as the others."""
        self.first.prepare_queries(k)


def append_links(
    W: sparse.csr_array,
    index: NeighborIndex,
    k: int,
    weights: str | Callable[[Any], Any] = "binary",
    bandwidth: float | None = None,
) -> sparse.csr_array:
    """Return a graph of the first rows of an index with the other rows linked to their k nearest points.

    The lists of the first rows stay as they are, and new links count in both directions. Heat weights without a
    bandwidth, and self-tuning ones, measure the new links by the distances of the new rows.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import NeighborIndex, append_links, knn_graph
    >>> X = np.array([[0.0], [1.0], [3.0], [3.5]])
    >>> append_links(knn_graph(X[:3], n_neighbors=1), NeighborIndex(X), 1).toarray().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """
    n, known = index.X.shape[0], W.shape[0]
    rows = np.arange(known, n)
    distances, heads = _others(index, rows, min(k, index.n_points - 1))
    number = np.broadcast_to(np.arange(len(rows))[:, None], heads.shape)
    data = weight_function(weights, bandwidth, distances)(distances, number, number)
    tails = np.broadcast_to(rows[:, None], heads.shape)
    links = sparse.csr_array((data.ravel(), (tails.ravel(), heads.ravel())), shape=(n, n))
    before = W.copy()
    before.resize((n, n))
    W = sparse.csr_array(before.maximum(links).maximum(sparse.csr_array(links.T)))
    W.sort_indices()
    return W


def _others(index: NeighborIndex, rows: NDArray[np.intp], k: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the k nearest points of some rows, each by the first row that is this point, and none by itself."""
    distances, points = index.query(index.X[rows], k + 1)
    heads = index.duplicates.first[points]
    own = heads == rows[:, None]
    own[~own.any(axis=1), -1] = True  # a duplicate, which is linked to the first of its kind
    shape = (len(rows), heads.shape[1] - 1)
    return distances[~own].reshape(shape), heads[~own].reshape(shape)


def stacked(X: Any, X_new: Any) -> Any:
    """Return the rows of both, in the form of X and in its type where that holds all values."""
    X_new = in_form(X_new, as_sparse=sparse.issparse(X))
    if sparse.issparse(X):
        return sparse.csr_array(sparse.vstack([X, X_new], format="csr"))
    with np.errstate(invalid="ignore", over="ignore"):  # of values that the type does not hold
        same = X_new.astype(X.dtype)
    return np.concatenate([X, same if np.array_equal(same, X_new) else X_new])
