"""k-NN graphs (sections 2 and 5.1): symmetric, without loops, never an n x n array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._validation import (
    check_choice,
    check_features,
    check_flag,
    check_integer,
    check_points,
    check_random_state,
)
from halfmoon.graph._components import connected_components
from halfmoon.graph._links import Links, shortest_links
from halfmoon.graph._neighbor_index import Metric, NeighborIndex, NeighborLists
from halfmoon.graph._options import SearchOptions, SearchProgress
from halfmoon.graph._points import unit_rows
from halfmoon.graph._report import GraphReport
from halfmoon.graph._weights import WeightFunction, weight_function

__all__ = ["graph_of_lists", "knn_graph"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


def knn_graph(
    X: Any,
    *,
    n_neighbors: int = 5,
    weights: str | Callable[[Any], Any] = "binary",
    bandwidth: float | None = None,
    metric: Metric = "euclidean",
    symmetrize: str = "union",
    method: str = "auto",
    recall: float = 0.95,
    connect: bool = False,
    n_jobs: int | None = None,
    progress: SearchProgress | None = None,
    random_state: Any = None,
    return_report: bool = False,
) -> Any:
    """Return the symmetric k-nearest-neighbour graph W of the rows of X (section 5.1).

    Parameters
    ----------
    X : array-like or scipy sparse of shape (n, d)
        The data. float64, float32 and uint8 arrays are read as they are, memory maps stay on disk; other
        types become float32 where that holds all values. With ``metric="precomputed"`` an (n, n) matrix of
        distances; in a sparse one only the stored entries count as known.
    n_neighbors : int, default=5
        Neighbours of each vertex, itself not counted.
    weights : {"binary", "heat", "self-tuning"} or callable, default="binary"
        "binary": 1. "heat": ``exp(-d**2 / (2 * bandwidth**2))``. "self-tuning": ``exp(-d**2 / (s_i * s_j))``
        with s the distance of a vertex's last neighbour (Zelnik-Manor and Perona). Both are floored at 1e-12
        so that no edge vanishes. A callable maps an array of distances to positive weights.
    bandwidth : float, default=None
        Width of the heat weights; None uses the median distance of neighbours that are not duplicates.
    metric : {"euclidean", "manhattan", "cosine", "precomputed"} or callable, default="euclidean"
        A callable is given two rows and returns their distance, and is assumed symmetric.
    symmetrize : {"union", "mutual"}, default="union"
        Keep an edge if either end, or if both ends, name the other as a neighbour.
    method : {"auto", "kdtree", "exact", "approximate"}, default="auto"
        "auto": the cheapest by sizes and by work counted on a pilot, an exact one where it costs little more (up to
        about 4,000 rows of 784 features); metrics other than euclidean and cosine have exact searches only.
    recall : float, default=0.95
        Share of the true neighbours that the approximate search must find. It is estimated on a random sample
        of rows against exact search, and the search goes on until it is met; exact search takes over if need be.
    connect : bool, default=False
        Join the components of the graph by the shortest links found between them.
    n_jobs : int, default=None
        Threads; None means all cores. The graph does not depend on it.
    progress : callable, default=None
        Called as ``progress(rows_done, rows, step)``.
    random_state : int, RandomState instance or None, default=None
        Seed of the approximate search and of the choice of links; exact searches draw nothing.
    return_report : bool, default=False
        Return also a `GraphReport`: the search used, its recall, the components.

    Returns
    -------
    W : scipy.sparse.csr_array of shape (n, n)
        Exactly symmetric, positive weights, no self-loops, sorted indices. The same input and seed give the
        same graph. With "union" every vertex has at least `n_neighbors` neighbours.
    report : GraphReport
        Only with ``return_report=True``.

    Notes
    -----
    Equal rows are each other's nearest neighbours, at distance 0. Where a point has more than
    `n_neighbors` duplicates, these lie on a circle and each is linked to the nearest ones there, so that
    none becomes a hub and all stay connected.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import knn_graph
    >>> X = np.array([[0.0], [1.0], [3.0], [3.5]])
    >>> knn_graph(X, n_neighbors=1).toarray().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])
    >>> W, report = knn_graph(X, n_neighbors=1, connect=True, return_report=True)
    >>> print(report)
    k-NN graph by kdtree search; 2 components of sizes 2, 2, joined by 1 links
    """
    check_choice("symmetrize", symmetrize, SYMMETRIZE)
    check_flag("connect", connect)
    check_flag("return_report", return_report)
    rng = check_random_state(random_state)
    options = SearchOptions(recall, n_jobs, int(rng.randint(1 << 31)), progress)
    if isinstance(metric, str) and metric == "precomputed":
        X = check_features(X, minimum=2)
        _check_n_neighbors(n_neighbors, X.shape[0])
        lists = NeighborLists(*_precomputed_neighbors(X, n_neighbors), "precomputed")
    else:
        X = check_points(X, minimum=2, to_learn=True)
        _check_n_neighbors(n_neighbors, X.shape[0])
        lists = NeighborIndex(X, metric=metric, method=method, options=options).neighbors_of_data(n_neighbors)
    W, report = graph_of_lists(
        X,
        lists,
        metric=metric,
        weights=weights,
        bandwidth=bandwidth,
        symmetrize=symmetrize,
        connect=connect,
        seed=options.seed,
    )
    return (W, report) if return_report else W


def graph_of_lists(
    X: Any,
    lists: NeighborLists,
    *,
    metric: Metric = "euclidean",
    weights: str | Callable[[Any], Any] = "binary",
    bandwidth: float | None = None,
    symmetrize: str = "union",
    connect: bool = False,
    seed: int = 0,
) -> tuple[sparse.csr_array, GraphReport]:
    """Return the symmetric graph of given neighbour lists, and what there is to say about it.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import NeighborIndex, graph_of_lists
    >>> X = np.array([[0.0], [1.0], [3.0], [3.5]])
    >>> W, report = graph_of_lists(X, NeighborIndex(X).neighbors_of_data(1))
    >>> W.nnz, report.components.count
    (4, 2)
    """
    check_choice("symmetrize", symmetrize, SYMMETRIZE)
    weigh = weight_function(weights, bandwidth, lists.distances)
    W = _symmetric(lists, weigh, symmetrize)
    components = connected_components(W)
    links = _links(X, components.labels, metric, seed) if connect else Links.none()
    report = GraphReport(lists.method, lists.recall, lists.recall_sample, components, len(links.lengths))
    return _joined(W, links, weigh), report


def _check_n_neighbors(n_neighbors: int, n: int) -> None:
    check_integer("n_neighbors", n_neighbors, low=1, high=n - 1, advice=f"X has {n} rows, so at most {n - 1} others.")


def _symmetric(lists: NeighborLists, weigh: WeightFunction, symmetrize: str) -> sparse.csr_array:
    """Return the weighted union or intersection of the directed lists and their reverse."""
    n, k = lists.indices.shape
    data = weigh(lists.distances, np.arange(n)[:, None], lists.indices)
    index_type = np.int32 if 2 * data.size <= np.iinfo(np.int32).max else np.int64
    indptr = np.arange(0, data.size + 1, k, dtype=index_type)
    directed = sparse.csr_array((data.ravel(), lists.indices.ravel().astype(index_type), indptr), shape=(n, n))
    W = sparse.csr_array(SYMMETRIZE[symmetrize](directed, sparse.csr_array(directed.T)))
    W.eliminate_zeros()
    W.sort_indices()
    return W


def _links(X: Any, labels: NDArray[Any], metric: Metric, seed: int) -> Links:
    if metric == "precomputed" and sparse.issparse(X):
        raise ValueError("connect=True needs all distances: give features or a dense matrix of distances.")
    if metric == "cosine":
        X = unit_rows(X)
    return shortest_links(X, labels, metric, np.random.default_rng(seed))


def _joined(W: sparse.csr_array, links: Links, weigh: WeightFunction) -> sparse.csr_array:
    """Return W with the links as edges."""
    if not links.lengths.size:
        return W
    data = weigh(links.lengths, links.tails, links.heads)
    extra = sparse.csr_array((data, (links.tails, links.heads)), shape=W.shape)
    W = sparse.csr_array(W + extra + extra.T)
    W.sort_indices()
    return W


def _precomputed_neighbors(D: Any, k: int) -> tuple[Matrix, Indices]:
    """Return the k nearest columns of each row of a distance matrix; ties go to the next index in cycle."""
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(f"metric='precomputed' needs a square matrix of distances. Got shape {D.shape}.")
    difference = abs(D - D.T)
    if sparse.issparse(D):  # a distance may be stored on one side alone
        known = sparse.csr_array(D != 0)
        difference = difference * known * known.T
    if difference.max() > 1e-8 * abs(D).max():
        raise ValueError(
            "The matrix of distances is not symmetric. Symmetrise it with (D + D.T) / 2 or check its rows."
        )
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
