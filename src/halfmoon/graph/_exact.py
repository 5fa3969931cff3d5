"""Exact searches: a KD-tree in low dimension, BLAS for the Euclidean metric, scikit-learn's pairs for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.neighbors import NearestNeighbors

from halfmoon._parallel import Team
from halfmoon.graph._kernels.nearest import keep_nearest, measure_pairs, subtract_all
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._points import column_means, fits_float32, row_blocks

__all__ = ["BlasSearch", "KDTreeSearch", "PairwiseSearch", "sorted_nearest", "without_self"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]

MARGIN = 4  # products round: fetch a few more candidates, then measure them exactly
QUERY_PANEL, DATA_PANEL = 1024, 2048
WORTH_THREADS = 5000  # queries of a KD-tree from which threads of their own pay


class KDTreeSearch:
    """SciPy's KD-tree."""

    def __init__(self, X: NDArray[Any], minkowski: int, options: SearchOptions) -> None:
        self.minkowski, self.options = minkowski, options
        self.tree = KDTree(X)

    def query(self, Y: NDArray[Any], k: int) -> Neighbors:
        """Return the k nearest rows of each row of Y."""
        workers = self.options.threads if len(Y) > WORTH_THREADS else 1
        distances, indices = self.tree.query(Y, k=np.arange(1, k + 1), p=self.minkowski, workers=workers)
        return distances, indices


class PairwiseSearch:
    """Scikit-learn's blocked brute force: sparse rows, and metrics other than the Euclidean."""

    def __init__(self, X: Any, metric: str | Callable[..., float], options: SearchOptions) -> None:
        self.X, self.metric = X, metric
        self.search = NearestNeighbors(algorithm="brute", metric=metric, n_jobs=options.threads).fit(X)

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return the k nearest rows of each row of Y; ties go to the lowest index."""
        n_candidates = min(k + MARGIN, self.X.shape[0])
        distances, indices = self.search.kneighbors(Y, n_neighbors=n_candidates)
        if self.metric == "euclidean":
            distances = self._measure(Y, indices)
        return sorted_nearest(distances, indices, k)

    def _measure(self, Y: Any, indices: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return |y_i - x_j| by subtraction."""
        distances = np.empty(indices.shape)
        for rows in row_blocks(indices):
            of_rows = np.repeat(np.arange(rows.start, rows.stop), indices.shape[1])
            pairs = paired_euclidean_distances(Y[of_rows], self.X[indices[rows].ravel()])
            distances[rows] = pairs.reshape(-1, indices.shape[1])
        return distances


class BlasSearch:
    """Euclidean distances of dense rows as |x|^2 - 2 x'y in float32, verified, in float64 where that fails.

    A few more than k candidates are measured by subtraction in float64. If the last candidate is farther than the
    k-th by more than products can round, no other row can belong to the k nearest; rows without this certificate (a
    tight cluster far away, many ties) are searched again in float64, and at last by subtraction alone.
    """

    def __init__(self, X: NDArray[Any], options: SearchOptions) -> None:
        self.X, self.options = X, options
        # Far from the origin (a timestamp among the features, say) |x|^2 - 2 x'y would lose all digits.
        self.center = column_means(X)

    def query(self, Y: NDArray[Any], k: int) -> Neighbors:
        """Return the k nearest rows of each row of Y; ties go to the lowest index."""
        distances, indices = np.empty((Y.shape[0], k)), np.empty((Y.shape[0], k), dtype=np.intp)
        kinds = (np.float32, np.float64) if fits_float32(self.X) and fits_float32(Y) else (np.float64,)
        norms = [self._norms(kind) for kind in kinds]

        def work(rows: slice) -> int:
            at = np.arange(rows.start, rows.stop)
            for own in norms:
                if at.size:
                    distances[at], indices[at], certain = self._search(Y[at].astype(np.float64), k, own)
                    at = at[~certain]
            distances[at], indices[at] = self._subtract(Y[at].astype(np.float64), k)
            return rows.stop

        panels = [slice(i, min(i + QUERY_PANEL, Y.shape[0])) for i in range(0, Y.shape[0], QUERY_PANEL)]
        with Team(self.options.threads) as team:
            for done in team.map(work, panels):
                self.options.tell(done, Y.shape[0], "exact search")
        return distances, indices

    def _search(
        self, Y: NDArray[np.float64], k: int, norms: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.bool_]]:
        """Return the neighbours and which rows are proven to have the right ones, in the precision of `norms`."""
        n, d = self.X.shape
        c = min(k + MARGIN, n)
        queries = (Y - self.center).astype(norms.dtype)
        values = np.full((len(Y), c), np.inf, dtype=norms.dtype)
        candidates = np.zeros((len(Y), c), dtype=np.int64)
        for start in range(0, n, DATA_PANEL):
            panel = self._centered(slice(start, start + DATA_PANEL), norms.dtype)
            keep_nearest(queries @ panel.T, norms[start : start + DATA_PANEL], start, values, candidates)
        measured = np.empty((len(Y), c))
        measure_pairs(Y, self.X, candidates, measured)
        distances, indices = sorted_nearest(measured, candidates, k)
        # |fl(|x|^2 - 2 x'y) - exact| <= (d + 4) eps (|x| + |y|)^2, centring included.
        lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
        rounding = (d + 4) * np.finfo(norms.dtype).eps * (float(np.sqrt(norms.max())) + lengths) ** 2
        reach = distances[:, -1] ** 2 - lengths**2
        certain = (values[:, -1].astype(np.float64) - rounding > reach + rounding) | (c == n)
        return distances, indices, certain

    def _subtract(self, Y: NDArray[np.float64], k: int) -> Neighbors:
        """Return the neighbours by differences of all pairs: slow, and right for every scale of the data."""
        distances, columns = np.full((len(Y), k), np.inf), np.zeros((len(Y), k), dtype=np.int64)
        subtract_all(Y, self.X, distances, columns)
        return sorted_nearest(distances, columns, k)

    def _centered(self, rows: slice, dtype: Any) -> NDArray[Any]:
        return (self.X[rows] - self.center).astype(dtype, copy=False)

    def _norms(self, dtype: Any) -> NDArray[Any]:
        return np.concatenate(
            [np.square(self._centered(rows, dtype)).sum(axis=1, dtype=np.float64) for rows in row_blocks(self.X)]
        ).astype(dtype)


def sorted_nearest(distances: NDArray[np.float64], indices: NDArray[Any], k: int) -> Neighbors:
    """Return the k nearest candidates of each row in order; ties go to the lowest index."""
    order = np.lexsort((indices, distances), axis=1)[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1).astype(np.intp)


def without_self(distances: NDArray[np.float64], indices: NDArray[np.intp]) -> Neighbors:
    """Drop each row's own index from its list; where ties at distance 0 have pushed it out, the last one."""
    n, width = indices.shape
    is_self = indices == np.arange(n)[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    return distances[~is_self].reshape(n, width - 1), indices[~is_self].reshape(n, width - 1)
