"""Exact nearest neighbours: a KD-tree in low dimension, blocked BLAS brute force above.

A `NeighborSearch` is built once on the data and asked many times: by `knn_graph` for the graph itself and
by the graph extension of the kernel for new points. Neither backend ever holds an n x n array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from halfmoon._validation import check_choice

__all__ = ["METRICS", "NeighborSearch"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]

METRICS = {"euclidean": 2, "manhattan": 1, "cosine": 2}  # name -> the p of the Minkowski search behind it
KDTREE_MAX_FEATURES = 12  # above this a KD-tree visits most of its leaves and BLAS wins
RERANK_MARGIN = 4  # BLAS distances cancel: fetch a few more candidates, then measure them exactly
RERANK_BLOCK = 1 << 24  # floats held at once while measuring candidates


class NeighborSearch:
    """Exact k-nearest-neighbour search among the rows of X.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Validated float64 data.
    metric : {"euclidean", "manhattan", "cosine"} or callable, default="euclidean"
        A callable takes two rows and returns their distance.
    method : {"auto", "kdtree", "brute"}, default="auto"
        "auto" takes the KD-tree for dense data of at most 12 features.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import NeighborSearch
    >>> search = NeighborSearch(np.array([[0.0], [1.0], [5.0]]))
    >>> distances, indices = search.query(np.array([[4.0]]), 2)
    >>> indices.tolist(), distances.tolist()
    ([[2, 1]], [[1.0, 3.0]])
    """

    def __init__(self, X: Any, *, metric: str | Callable[..., float] = "euclidean", method: str = "auto") -> None:
        if not callable(metric):
            check_choice("metric", metric, METRICS, advice="Or pass a function of two rows.")
        check_choice("method", method, ("auto", *BACKENDS))
        if method == "kdtree" and (callable(metric) or sparse.issparse(X)):
            raise ValueError("method='kdtree' needs dense X and a named metric. Use method='brute' or method='auto'.")
        self.metric = metric
        self.X = unit_rows(X) if metric == "cosine" else X
        self.method = self._choose() if method == "auto" else method
        self._backend = BACKENDS[self.method](self.X, metric)

    def _choose(self) -> str:
        low_dimensional = not sparse.issparse(self.X) and self.X.shape[1] <= KDTREE_MAX_FEATURES
        return "kdtree" if low_dimensional and not callable(self.metric) else "brute"

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return distances and indices of the k nearest rows of X to each row of Y, nearest first."""
        return self._query(unit_rows(Y) if self.metric == "cosine" else Y, k)

    def neighbors_of_data(self, k: int) -> Neighbors:
        """Return, for every row of X, its k nearest rows other than itself (by index, not by value)."""
        n = self.X.shape[0]
        distances, indices = self._query(self.X, k + 1)
        is_self = indices == np.arange(n)[:, None]
        # With more than k ties at distance 0 the row itself may be missing: drop the last one instead.
        is_self[~is_self.any(axis=1), -1] = True
        return distances[~is_self].reshape(n, k), indices[~is_self].reshape(n, k)

    def _query(self, Y: Any, k: int) -> Neighbors:
        distances, indices = self._backend.query(Y, k)
        if self.metric == "cosine":  # 1 - cos = |u - v|^2 / 2 for unit rows
            distances = 0.5 * distances**2
        return distances, indices


def unit_rows(X: Any) -> Any:
    """Return X with rows of length 1, for the cosine metric."""
    norms = sparse.linalg.norm(X, axis=1) if sparse.issparse(X) else np.linalg.norm(X, axis=1)
    zero = np.flatnonzero(norms == 0.0)
    if zero.size:
        raise ValueError(
            f"The cosine distance of a zero row is undefined: {zero.size} rows of X are zero, first row "
            f"{zero[0]}. Drop these rows or use metric='euclidean'."
        )
    return normalize(X, copy=True)


class Backend(Protocol):
    """What a search method must provide: one class and one row of BACKENDS."""

    def __init__(self, X: Any, metric: str | Callable[..., float]) -> None: ...

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return distances and indices of the k nearest rows, nearest first."""
        ...


class KDTreeBackend:
    """SciPy's KD-tree."""

    def __init__(self, X: Any, metric: str | Callable[..., float]) -> None:
        assert isinstance(metric, str)
        self.p = METRICS[metric]
        self.tree = KDTree(X)

    def query(self, Y: Any, k: int) -> Neighbors:
        distances, indices = self.tree.query(Y, k=np.arange(1, k + 1), p=self.p, workers=-1)
        return distances, indices


class BruteBackend:
    """Scikit-learn's blocked brute force (BLAS for euclidean), then an exact re-rank of the candidates."""

    def __init__(self, X: Any, metric: str | Callable[..., float]) -> None:
        self.metric = "euclidean" if metric == "cosine" else metric
        # |y|^2 + |x|^2 - 2 x'y loses all digits far from the origin (a timestamp among the features, say).
        centered = self.metric == "euclidean" and not sparse.issparse(X)
        self.center = X.mean(axis=0) if centered else None
        self.X = self._shifted(X)
        self.search = NearestNeighbors(algorithm="brute", metric=self.metric).fit(self.X)

    def _shifted(self, Y: Any) -> Any:
        return Y if self.center is None else Y - self.center

    def query(self, Y: Any, k: int) -> Neighbors:
        Y = self._shifted(Y)
        n_candidates = min(k + RERANK_MARGIN, self.X.shape[0])
        distances, indices = self.search.kneighbors(Y, n_neighbors=n_candidates)
        if self.metric == "euclidean":
            distances = self._measure(Y, indices)
        order = np.lexsort((indices, distances), axis=1)[:, :k]
        return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)

    def _measure(self, Y: Any, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return |y_i - x_j| by subtraction, free of the cancellation of |y|^2 + |x|^2 - 2 x'y."""
        n_rows, n_candidates = indices.shape
        distances = np.empty((n_rows, n_candidates))
        step = max(1, RERANK_BLOCK // (n_candidates * self.X.shape[1]))
        for start in range(0, n_rows, step):
            block = slice(start, min(start + step, n_rows))
            rows = np.repeat(np.arange(block.start, block.stop), n_candidates)
            pairs = paired_euclidean_distances(Y[rows], self.X[indices[block].ravel()])
            distances[block] = pairs.reshape(-1, n_candidates)
        return distances


BACKENDS: dict[str, type[Backend]] = {"kdtree": KDTreeBackend, "brute": BruteBackend}
