"""The index of nearest neighbours, and the choice of a search by metric, dimension and size.

It is built once on the data and asked many times: for the graph itself and for new points. No search ever holds an
n x n array.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._validation import check_choice, check_integer
from halfmoon.exceptions import AccuracyWarning
from halfmoon.graph._approximate import ApproximateSearch
from halfmoon.graph._choice import choose_search
from halfmoon.graph._duplicates import find_duplicates
from halfmoon.graph._exact import KDTreeSearch, Neighbors, PairwiseSearch, euclidean_search, without_self
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._points import FLOAT32_SPANS, fits_float32, in_form, unit_rows
from halfmoon.graph._queries import CellSearch
from halfmoon.graph._shards import SHARD, ShardedSearch
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.execution import executor_for
from halfmoon.runtime.memory import allowance
from halfmoon.runtime.spool import gather_rows
from halfmoon.runtime.storable import storable

__all__ = ["METRICS", "NeighborIndex", "NeighborLists"]

Metric = str | Callable[..., float]

METRICS = {"euclidean": 2, "manhattan": 1, "cosine": 2}  # name -> the p of the Minkowski search behind it
KDTREE_MAX_FEATURES = 12  # of metrics that only exact searches know: above this a KD-tree visits most of its leaves
TREE_QUERIES = 3  # features up to which queries of a KD-tree are as fast as cells
CELLS_FROM = 4096  # points from which on cells are worth it
QUERIES_FOLLOW = ("auto", "approximate")  # methods whose queries may miss a neighbour; the others are exact throughout


@dataclass(frozen=True)
class NeighborLists:
    """The nearest other rows of every row, and how they were found.

    Attributes
    ----------
    distances, indices : ndarray of shape (n, k)
        Nearest first; duplicates of a row come before all others.
    method : str
        The search that found them: exact search takes over where the approximate one misses its recall.
    recall : float
        Share of the true neighbours that were found: 1 for exact searches, else estimated.
    recall_sample : int
        Rows that the estimate rests on; 0 for exact searches.
    """

    distances: NDArray[np.float64]
    indices: NDArray[np.intp]
    method: str
    recall: float = 1.0
    recall_sample: int = 0


@storable
class NeighborIndex:
    """Nearest neighbours among the rows of X: built once, asked for the graph of X and for new points.

    Equal rows are one point of the index; for the cosine metric, rows of equal direction are.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Data as `check_points` returns them.
    metric : {"euclidean", "manhattan", "cosine"} or callable, default="euclidean"
        A callable is given two rows and returns their distance.
    method : {"auto", "kdtree", "exact", "approximate"}, default="auto"
        "auto": the cheapest by sizes and work counted on a pilot, an exact one where it costs little more; for other
        metrics than the euclidean and cosine the KD-tree for dense data of at most 12 features, else exact search.
        New rows (`query`): among at least 4096 points of more than 3 features, "auto" and "approximate" find a share
        `options.query_recall` of their neighbours; "kdtree" and "exact" find them all.
    options : SearchOptions, default=None
        Recall, threads, seed and progress.
    only_queries : bool, default=False
        Whether it is asked for new rows alone, the lists of the data being known: what these need is not built.

    Attributes
    ----------
    duplicates : Duplicates
        Which rows are which point.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import NeighborIndex
    >>> index = NeighborIndex(np.array([[0.0], [1.0], [5.0]]))
    >>> distances, points = index.query(np.array([[4.0]]), 2)
    >>> points.tolist(), distances.tolist()
    ([[2, 1]], [[1.0, 3.0]])
    """

    def __init__(
        self,
        X: Any,
        *,
        metric: Metric = "euclidean",
        method: str = "auto",
        options: SearchOptions | None = None,
        only_queries: bool = False,
    ) -> None:
        if not callable(metric):
            check_choice("metric", metric, METRICS, advice="Or pass a function of two rows.")
        check_choice("method", method, ("auto", *SEARCHES))
        options = options or SearchOptions()
        self.options = options if method in QUERIES_FOLLOW else replace(options, query_recall=1.0)
        self.X, self.metric = X, metric
        self.duplicates = find_duplicates(self._measurable(X))
        if only_queries and method == "auto" and self._has_cells():
            self.method = "approximate"  # queries go through cells, whatever would be best for the lists
            return
        self.method = self._choose() if method == "auto" else method
        _ = self._search  # what is expensive happens here; only a copy from a file searches anew for itself

    def _has_cells(self) -> bool:
        """Return whether there are enough points for queries by cells, and of a kind that these are made for."""
        return self.n_points >= CELLS_FROM and self.metric in APPROXIMABLE and fits_float32(self.points)

    def _measurable(self, X: Any) -> Any:
        return unit_rows(X) if self.metric == "cosine" else X

    @property
    def n_points(self) -> int:
        """Number of distinct points."""
        return len(self.duplicates.first)

    @cached_property
    def points(self) -> Any:
        """The distinct points, as they are measured."""
        rows = self._measurable(self.X)
        return rows if self.n_points == self.X.shape[0] else gather_rows(rows, self.duplicates.first)

    @cached_property
    def _search(self) -> Search | ApproximateSearch | ShardedSearch:
        return SEARCHES[self.method](self.points, self.metric, self.options)

    @cached_property
    def _queries(self) -> Search:
        """The search for new rows: by cells among many points, else exact."""
        exact = self.options.query_recall == 1.0 or self.options.recall == 1.0
        as_fast = self.n_points < CELLS_FROM or (self.method == "kdtree" and self.X.shape[1] <= TREE_QUERIES)
        if not (exact or as_fast) and self.metric in APPROXIMABLE and fits_float32(self.points):
            return CellSearch(self.points, self.options)
        if self.method == "approximate":
            return _exact(self.points, self.metric, self.options)
        assert not isinstance(self._search, ApproximateSearch | ShardedSearch)
        return self._search

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made from the rows, and whom to report to."""
        quiet = {} if self.options.progress is None else {"options": replace(self.options, progress=None)}
        return without_caches(self) | quiet

    def _choose(self) -> str:
        if self.metric in APPROXIMABLE:
            return choose_search(self.points, self.options.recall, self.options.seed)
        low = not sparse.issparse(self.points) and self.points.shape[1] <= KDTREE_MAX_FEATURES
        return "kdtree" if low and not callable(self.metric) else "exact"

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return distances and numbers of the k nearest points to each row of Y, nearest first."""
        check_integer("k", k, low=1, high=self.n_points, advice=f"The index has {self.n_points} distinct points.")
        Y = in_form(Y, as_sparse=sparse.issparse(self.X))
        return self._distances(*self._queries.query(self._measurable(Y), k))

    def prepare_queries(self, k: int) -> None:
        """Build what queries of k neighbours need and compile it, so that the first is as fast as the others."""
        queries = self._queries
        if isinstance(queries, CellSearch):
            queries.query(self.points[:1], k)

    def neighbors_of_data(self, k: int) -> NeighborLists:
        """Return, for every row of X, its k nearest other rows; duplicates are each other's nearest."""
        others = min(k, self.n_points - 1)
        method, recall, sample = self.method, 1.0, 0
        if others == 0:  # all points are equal: duplicates alone fill every list
            distances, indices = np.empty((1, 0)), np.empty((1, 0), dtype=np.intp)
        elif isinstance(self._search, ApproximateSearch | ShardedSearch):
            distances, indices = self._distances(*self._search.neighbors_of_data(others))
            recall, sample = self._search.recall, self._search.recall_sample
            method = "approximate" if sample else "exact"  # which takes over if need be
            if allowance() is not None:  # little memory: the sketch is made anew for other lists, which are rare
                del self._search
        else:
            distances, indices = self._distances(*without_self(*self._search.query(self.points, others + 1)))
        if not callable(self.metric):  # a function of the user's may well find distinct points equal
            _warn_if_lost(distances)
        if self.n_points < self.X.shape[0]:
            distances, indices = self.duplicates.expand(distances, indices, k)
        return NeighborLists(distances, indices, method, recall, sample)

    def _distances(self, distances: NDArray[np.float64], indices: NDArray[np.intp]) -> Neighbors:
        if self.metric == "cosine":  # 1 - cos = |u - v|^2 / 2 for unit rows
            distances = 0.5 * distances**2
        return distances, indices


def _warn_if_lost(distances: NDArray[np.float64]) -> None:
    """Warn of distinct points at distance 0: which of them are neighbours is left to chance."""
    lost = int((distances == 0.0).any(axis=1).sum())
    if lost:
        warnings.warn(
            f"{lost} of {len(distances)} distinct points have a neighbour at distance 0 that is not a duplicate: "
            "squares of their differences vanish in float64. Rescale the features, or drop the rows that are far from "
            "all others.",
            AccuracyWarning,
            stacklevel=3,
        )


class Search(Protocol):
    """What a search for new rows must provide."""

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return distances and indices of the k nearest rows, nearest first."""
        ...


APPROXIMABLE = ("euclidean", "cosine")


def _kdtree(X: Any, metric: Metric, options: SearchOptions) -> Search:
    if callable(metric) or sparse.issparse(X):
        raise ValueError("method='kdtree' needs dense X and a named metric. Use method='exact' or method='auto'.")
    return KDTreeSearch(X, METRICS[metric], options)


def _exact(X: Any, metric: Metric, options: SearchOptions) -> Search:
    return euclidean_search(X, options) if metric in APPROXIMABLE else PairwiseSearch(X, metric, options)


def _approximate(X: Any, metric: Metric, options: SearchOptions) -> ApproximateSearch | ShardedSearch:
    if metric not in APPROXIMABLE:
        raise ValueError(
            f"method='approximate' needs metric='euclidean' or 'cosine'. Got {metric!r}. Use method='exact'."
        )
    if not fits_float32(X):
        raise ValueError(
            f"Approximate search works in float32: the features must span {FLOAT32_SPANS[0]:g} to "
            f"{FLOAT32_SPANS[1]:g}. Rescale them, with StandardScaler say, or use method='exact'."
        )
    on_cluster = not executor_for(options.threads).shares_memory
    return (ShardedSearch if on_cluster and X.shape[0] > SHARD else ApproximateSearch)(X, options)


SEARCHES: dict[str, Callable[[Any, Metric, SearchOptions], Search | ApproximateSearch | ShardedSearch]] = {
    "kdtree": _kdtree,
    "exact": _exact,
    "approximate": _approximate,
}
