"""k-NN graphs (sections 2 and 5.1): exact, symmetric, without loops, never an n x n array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._validation import check_choice, check_features, check_integer
from halfmoon.graph._duplicates import find_copies
from halfmoon.graph._neighbors import NeighborSearch, unit_rows
from halfmoon.graph._weights import edge_weights

__all__ = ["knn_graph"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]


def knn_graph(
    X: Any,
    *,
    n_neighbors: int = 5,
    weights: str | Callable[[Any], Any] = "binary",
    bandwidth: float | None = None,
    metric: str | Callable[..., float] = "euclidean",
    symmetrize: str = "union",
    method: str = "auto",
    random_state: Any = None,
) -> sparse.csr_array:
    """Return the symmetric k-nearest-neighbour graph W of the rows of X (section 5.1).

    Parameters
    ----------
    X : array-like or scipy sparse of shape (n, d)
        The data; with ``metric="precomputed"`` an (n, n) matrix of distances. In a sparse distance
        matrix only the stored entries count as known.
    n_neighbors : int, default=5
        Neighbours of each vertex, itself not counted.
    weights : {"binary", "heat"} or callable, default="binary"
        "binary": 1. "heat": ``exp(-d**2 / (2 * bandwidth**2))``, floored at 1e-12 so that no edge
        vanishes. A callable maps an array of distances to positive weights.
    bandwidth : float, default=None
        Width of the heat weights; None takes the median distance of neighbours that are not copies.
    metric : {"euclidean", "manhattan", "cosine", "precomputed"} or callable, default="euclidean"
        A callable takes two rows and returns their distance, and is assumed symmetric.
    symmetrize : {"union", "mutual"}, default="union"
        Keep an edge if either end, or if both ends, name the other as a neighbour.
    method : {"auto", "kdtree", "brute"}, default="auto"
        Exact search; "auto" takes a KD-tree for dense data of at most 12 features.
    random_state : int, RandomState instance or None, default=None
        Accepted for every method; the exact ones draw nothing.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        Exactly symmetric, positive weights, no self-loops, sorted indices. The same input gives the
        same graph. With "union" every vertex has at least `n_neighbors` neighbours.

    Notes
    -----
    Equal rows are each other's nearest neighbours, at distance 0. Where a point has more than
    `n_neighbors` copies, the copies lie on a circle and each is linked to the nearest ones there, so that
    none becomes a hub and all stay connected.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import knn_graph
    >>> knn_graph(np.array([[0.0], [1.0], [3.0], [3.5]]), n_neighbors=1).toarray().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])
    """
    check_choice("symmetrize", symmetrize, SYMMETRIZE)
    X = check_features(X, minimum=2)
    n = X.shape[0]
    check_integer("n_neighbors", n_neighbors, low=1, high=n - 1, advice=f"X has {n} rows, so at most {n - 1} others.")
    if isinstance(metric, str) and metric == "precomputed":
        distances, indices = _precomputed_neighbors(X, n_neighbors)
    else:
        distances, indices = _neighbors(X, n_neighbors, metric, method)
    data = edge_weights(distances, weights, bandwidth)
    index_type = np.int32 if 2 * data.size <= np.iinfo(np.int32).max else np.int64
    indptr = np.arange(0, data.size + 1, n_neighbors, dtype=index_type)
    directed = sparse.csr_array((data.ravel(), indices.ravel().astype(index_type), indptr), shape=(n, n))
    W = sparse.csr_array(SYMMETRIZE[symmetrize](directed, sparse.csr_array(directed.T)))
    W.eliminate_zeros()
    W.sort_indices()
    return W


def _neighbors(X: Any, k: int, metric: str | Callable[..., float], method: str) -> Neighbors:
    """Return the k nearest rows of each row, copies of a point being found before the search."""
    copies = find_copies(unit_rows(X) if metric == "cosine" else X)
    if len(copies.first) == X.shape[0]:
        return NeighborSearch(X, metric=metric, method=method).neighbors_of_data(k)
    distinct = NeighborSearch(X[copies.first], metric=metric, method=method)
    q = min(k, len(copies.first) - 1)
    if q == 0:  # all points are equal: copies alone fill every list
        return copies.expand(np.empty((1, 0)), np.empty((1, 0), dtype=np.intp), k)
    return copies.expand(*distinct.neighbors_of_data(q), k)


def _precomputed_neighbors(D: Any, k: int) -> Neighbors:
    """Return the k nearest columns of each row of a distance matrix; ties go to the next index in cycle."""
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(f"metric='precomputed' needs a square matrix of distances. Got shape {D.shape}.")
    distances, indices = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
    for i in range(n):
        columns, row = _known_distances(D, i)
        if columns.size < k:
            raise ValueError(
                f"Row {i} of the sparse distance matrix knows {columns.size} other points, fewer than "
                f"n_neighbors={k}. Store more distances or lower n_neighbors."
            )
        if row.min() < 0.0:
            raise ValueError(f"Distances must be >= 0: row {i} holds {row.min():g}.")
        near = np.flatnonzero(row <= np.partition(row, k - 1)[k - 1])
        order = near[np.lexsort(((columns[near] - i) % n, row[near]))[:k]]
        distances[i], indices[i] = row[order], columns[order]
    return distances, indices


def _known_distances(D: Any, i: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the columns j != i whose distance to i is known, and these distances."""
    if sparse.issparse(D):
        stored = slice(D.indptr[i], D.indptr[i + 1])
        columns, row = D.indices[stored].astype(np.intp), D.data[stored]
    else:
        columns, row = np.arange(D.shape[0]), D[i]
    others = columns != i
    return columns[others], row[others]


SYMMETRIZE = {
    "union": lambda A, B: A.maximum(B),
    "mutual": lambda A, B: A.minimum(B),
}
