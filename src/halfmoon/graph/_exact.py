"""Exact searches: a KD-tree in low dimension, BLAS for the Euclidean metric, scikit-learn's pairs for the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.neighbors import NearestNeighbors

from halfmoon._validation import row_blocks
from halfmoon.graph._numba.nearest import keep_nearest, order_pairs, subtract_all
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._points import column_means, fits_float32, rows_at_once
from halfmoon.runtime.executor import ThreadExecutor, stop_flag
from halfmoon.runtime.half_floats import as_bits

__all__ = [
    "BlasSearch",
    "KDTreeSearch",
    "Neighbors",
    "PairwiseSearch",
    "euclidean_search",
    "nearest_first",
    "without_self",
]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]
_Candidates = tuple[NDArray[Any], NDArray[np.intp]]

MARGIN = 4  # products round: fetch a few more candidates, then measure them exactly
QUERY_PANEL, DATA_PANEL = 1024, 2048  # rows at most
NORMS_BLOCK = 1 << 16  # numbers squared at once, in cache
TREE_BLOCK = 512  # queries of a KD-tree at once, well below a second in 12 dimensions
PAIRS = 1e9  # numbers that scikit-learn reads at once: fractions of a second
PYTHON_PAIRS = 1e5  # calls of a metric written in Python at once


class KDTreeSearch:
    """SciPy's KD-tree."""

    def __init__(self, X: NDArray[Any], minkowski: int, options: SearchOptions) -> None:
        self.minkowski, self.options = minkowski, options
        with ThreadExecutor(1) as executor:
            self.tree = executor.run(KDTree, X)

    def query(self, Y: NDArray[Any], k: int) -> Neighbors:
        """Return the k nearest rows of each row of Y."""
        return _by_blocks(_query_tree, _TreeQuery(self.tree, self.minkowski, Y, k), TREE_BLOCK, self.options)


@dataclass(frozen=True)
class _TreeQuery:
    tree: KDTree
    minkowski: int
    Y: NDArray[Any]
    k: int


def _query_tree(query: _TreeQuery, rows: slice) -> Neighbors:
    # workers=1: threads of SciPy's own would go on after an interrupt, on arrays that are freed meanwhile.
    distances, indices = query.tree.query(query.Y[rows], k=np.arange(1, query.k + 1), p=query.minkowski, workers=1)
    return distances, indices


class PairwiseSearch:
    """Scikit-learn's blocked brute force: sparse rows, and metrics other than the Euclidean."""

    def __init__(self, X: Any, metric: str | Callable[..., float], options: SearchOptions) -> None:
        self.X, self.metric, self.options = X, metric, options
        self.search = NearestNeighbors(algorithm="brute", metric=metric, n_jobs=1).fit(X)

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return the k nearest rows of each row of Y; ties go to the lowest index."""
        width = self.X.nnz / self.X.shape[0] if sparse.issparse(self.X) else self.X.shape[1]
        pairs = PYTHON_PAIRS if callable(self.metric) else PAIRS / (width + 1)
        rows = max(1, min(QUERY_PANEL, int(pairs / self.X.shape[0])))
        return _by_blocks(_query_pairs, _PairsQuery(self.search, self.X, self.metric, Y, k), rows, self.options)


@dataclass(frozen=True)
class _PairsQuery:
    search: NearestNeighbors
    X: Any
    metric: str | Callable[..., float]
    Y: Any
    k: int


def _query_pairs(query: _PairsQuery, rows: slice) -> Neighbors:
    Y = query.Y[rows]
    n_candidates = min(query.k + MARGIN, query.X.shape[0])
    distances, indices = query.search.kneighbors(Y, n_neighbors=n_candidates)
    if np.isnan(distances).any():
        raise ValueError(f"metric={query.metric!r} gives no number for some rows. Return a distance, at least 0.")
    if query.metric == "euclidean":  # by subtraction, free of cancellation
        of_rows = np.repeat(np.arange(Y.shape[0]), n_candidates)
        distances = paired_euclidean_distances(Y[of_rows], query.X[indices.ravel()]).reshape(indices.shape)
    return sorted_nearest(distances, indices, query.k)


class BlasSearch:
    """Euclidean distances of dense rows as |x|^2 - 2 x'y in float32, verified, in float64 where that fails.

    A few more than k candidates are measured by subtraction in float64. If the last candidate is farther than the
    k-th by more than products can round, no other row can belong to the k nearest; rows without this certificate (a
    tight cluster far away, many ties) are searched again in float64, and finally by subtraction alone.
    """

    def __init__(self, X: NDArray[Any], options: SearchOptions) -> None:
        self.X, self.options = X, options
        # Far from the origin (a timestamp among the features, say) |x|^2 - 2 x'y would lose all digits.
        self.center = column_means(X)

    def query(self, Y: NDArray[Any], k: int) -> Neighbors:
        """Return the k nearest rows of each row of Y; ties go to the lowest index."""
        kinds = (np.float32, np.float64) if fits_float32(self.X) and fits_float32(Y) else (np.float64,)
        norms = [self._norms(kind) for kind in kinds]
        rows = rows_at_once(QUERY_PANEL, self.X.shape[1])
        return _by_blocks(_query_products, _ProductsQuery(self.X, self.center, norms, Y, k), rows, self.options)

    def _norms(self, dtype: Any) -> NDArray[Any]:
        blocks = (((self.X[rows] - self.center).astype(dtype, copy=False)) for rows in row_blocks(self.X, NORMS_BLOCK))
        return np.concatenate([np.square(block).sum(axis=1, dtype=np.float64) for block in blocks]).astype(dtype)


@dataclass(frozen=True)
class _ProductsQuery:
    X: NDArray[Any]
    center: NDArray[np.float64]
    norms: list[NDArray[Any]]  # |x - center|^2 in each precision, lowest first
    Y: NDArray[Any]
    k: int


def _query_products(query: _ProductsQuery, rows: slice) -> Neighbors:
    Y = query.Y[rows].astype(np.float64)
    distances, indices = np.empty((len(Y), query.k)), np.empty((len(Y), query.k), dtype=np.intp)
    at = np.arange(len(Y))
    for norms in query.norms:
        if at.size:
            distances[at], indices[at], certain = _certified(query, Y[at], norms)
            at = at[~certain]
    if at.size:
        distances[at], indices[at] = _subtract(query, Y[at])
    return distances, indices


def _certified(
    query: _ProductsQuery, Y: NDArray[np.float64], norms: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.bool_]]:
    """Return the neighbours and which rows are proven to have the right ones, in the precision of `norms`."""
    n, d = query.X.shape
    c = min(query.k + MARGIN, n)
    queries = (Y - query.center).astype(norms.dtype)
    values, candidates = (_nearest_of_panel if n <= DATA_PANEL else _nearest_of_panels)(query, queries, norms, c)
    distances, indices = sorted_nearest(_measured(Y, query.X, candidates), candidates, query.k)
    # |fl(|x|^2 - 2 x'y) - exact| <= (d + 4) eps (|x| + |y|)^2, centring included.
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
    rounding = (d + 4) * np.finfo(norms.dtype).eps * (float(np.sqrt(norms.max())) + lengths) ** 2
    reach = distances[:, -1] ** 2 - lengths**2
    certain = (values[:, -1].astype(np.float64) - rounding > reach + rounding) | (c == n)
    return distances, indices, certain


def _nearest_of_panel(query: _ProductsQuery, queries: NDArray[Any], norms: NDArray[Any], c: int) -> _Candidates:
    """Return the c smallest |x|^2 - 2 x'y of each row, and their x; the largest comes last."""
    panel = (query.X - query.center).astype(norms.dtype, copy=False)
    values = norms - 2 * (queries @ panel.T)
    columns = np.argpartition(values, c - 1, axis=1)[:, :c]
    return np.take_along_axis(values, columns, axis=1), columns


def _nearest_of_panels(query: _ProductsQuery, queries: NDArray[Any], norms: NDArray[Any], c: int) -> _Candidates:
    """Return the same, panel by panel of X."""
    values = np.full((len(queries), c), np.inf, dtype=norms.dtype)
    columns = np.zeros((len(queries), c), dtype=np.intp)
    stop = stop_flag()
    rows = rows_at_once(DATA_PANEL, query.X.shape[1])
    for start in range(0, len(norms), rows):
        if stop[0]:
            break
        panel = (query.X[start : start + rows] - query.center).astype(norms.dtype, copy=False)
        keep_nearest(queries @ panel.T, norms[start : start + rows], start, values, columns)
    return values, columns


def _measured(Y: NDArray[np.float64], X: NDArray[Any], candidates: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return |y_i - x_j| for the candidates j of each row i, by subtraction."""
    distances = np.empty(candidates.shape)
    for column, rows in enumerate(candidates.T):
        gaps = Y - X[rows]
        distances[:, column] = np.einsum("ij,ij->i", gaps, gaps)
    return np.sqrt(distances, out=distances)


def _subtract(query: _ProductsQuery, Y: NDArray[np.float64]) -> Neighbors:
    """Return the neighbours by differences of all pairs: slow, and right for every scale of the data."""
    distances, columns = np.full((len(Y), query.k), np.inf), np.zeros((len(Y), query.k), dtype=np.int64)
    subtract_all(Y, as_bits(query.X), stop_flag(), distances, columns)
    return sorted_nearest(distances, columns, query.k)


def _by_blocks(task: Callable[[Any, slice], Neighbors], query: Any, size: int, options: SearchOptions) -> Neighbors:
    """Ask a query for `size` rows of Y at a time and put the answers together."""
    n = query.Y.shape[0]
    distances, indices = np.empty((n, query.k)), np.empty((n, query.k), dtype=np.intp)
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    with ThreadExecutor(options.threads) as executor:
        for rows, found in zip(blocks, executor.map(task, query, blocks), strict=True):
            distances[rows], indices[rows] = found
            options.report_step(rows.stop, n, "exact search")
    return distances, indices


def euclidean_search(X: Any, options: SearchOptions) -> BlasSearch | PairwiseSearch:
    """Return exact search of dense or sparse rows."""
    return PairwiseSearch(X, "euclidean", options) if sparse.issparse(X) else BlasSearch(X, options)


def nearest_first(X: Any, rows: NDArray[Any], found: NDArray[np.intp]) -> Neighbors:
    """Return the neighbours found for some rows of X in order, with their distances in float64."""
    if sparse.issparse(X):
        gaps = X[np.repeat(rows, found.shape[1])] - X[found.ravel()]
        return sorted_nearest(sparse.linalg.norm(gaps, axis=1).reshape(found.shape), found, found.shape[1])
    distances, indices = np.empty(found.shape), found.copy()
    order_pairs(as_bits(X), rows.astype(np.intp, copy=False), indices, distances)
    return distances, indices


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
