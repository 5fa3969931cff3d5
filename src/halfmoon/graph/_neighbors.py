"""Nearest neighbours: the choice of a search by metric, dimension and size.

A `NeighborSearch` is built once on the data and asked many times: by `knn_graph` for the graph itself and
by the graph extension of the kernel for new points. No search ever holds an n x n array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._validation import check_choice
from halfmoon.graph._approximate import ApproximateSearch
from halfmoon.graph._exact import BlasSearch, KDTreeSearch, PairwiseSearch, without_self
from halfmoon.graph._options import SearchOptions
from halfmoon.graph._points import FLOAT32_SPANS, fits_float32, unit_rows

__all__ = ["METRICS", "NeighborSearch"]

Neighbors = tuple[NDArray[np.float64], NDArray[np.intp]]
Metric = str | Callable[..., float]

METRICS = {"euclidean": 2, "manhattan": 1, "cosine": 2}  # name -> the p of the Minkowski search behind it
KDTREE_MAX_FEATURES = 12  # above this a KD-tree visits most of its leaves
EXACT_WORK = 1e11  # up to which exact search takes seconds
SELECTION = 64  # features that keeping the nearest of a row of distances costs as much as


class NeighborSearch:
    """K-nearest-neighbour search among the rows of X.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Data as `check_points` returns them.
    metric : {"euclidean", "manhattan", "cosine"} or callable, default="euclidean"
        A callable takes two rows and returns their distance.
    method : {"auto", "kdtree", "exact", "approximate"}, default="auto"
        "auto" takes the KD-tree for dense data of at most 12 features, exact search while n^2 (d + 64) <= 1e11 or
        where the metric needs it, approximate search above.
    options : SearchOptions, default=None
        Recall, threads, seed and progress.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import NeighborSearch
    >>> search = NeighborSearch(np.array([[0.0], [1.0], [5.0]]))
    >>> distances, indices = search.query(np.array([[4.0]]), 2)
    >>> indices.tolist(), distances.tolist()
    ([[2, 1]], [[1.0, 3.0]])
    """

    def __init__(
        self, X: Any, *, metric: Metric = "euclidean", method: str = "auto", options: SearchOptions | None = None
    ) -> None:
        if not callable(metric):
            check_choice("metric", metric, METRICS, advice="Or pass a function of two rows.")
        check_choice("method", method, ("auto", *SEARCHES))
        self.options = options or SearchOptions()
        self.metric = metric
        self.X = unit_rows(X) if metric == "cosine" else X
        self.method = self._choose() if method == "auto" else method
        self._search = SEARCHES[self.method](self.X, metric, self.options)

    @property
    def recall(self) -> float:
        """Share of the true neighbours of the data that were found: 1 for exact searches, else estimated."""
        return self._search.recall if isinstance(self._search, ApproximateSearch) else 1.0

    @property
    def recall_sample(self) -> int:
        """Rows that the estimate rests on; 0 for exact searches."""
        return self._search.recall_sample if isinstance(self._search, ApproximateSearch) else 0

    def _choose(self) -> str:
        n, d = self.X.shape
        dense = not sparse.issparse(self.X)
        if dense and d <= KDTREE_MAX_FEATURES and not callable(self.metric):
            return "kdtree"
        width = d if dense else self.X.nnz / n
        affordable = float(n) * n * (width + SELECTION) <= EXACT_WORK or self.options.recall == 1.0
        return "exact" if affordable or self.metric not in APPROXIMABLE else "approximate"

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return distances and indices of the k nearest rows of X to each row of Y, nearest first."""
        return self._distances(*self._search.query(unit_rows(Y) if self.metric == "cosine" else Y, k))

    def neighbors_of_data(self, k: int) -> Neighbors:
        """Return, for every row of X, its k nearest rows other than itself (by index, not by value)."""
        if isinstance(self._search, ApproximateSearch):
            found = self._distances(*self._search.neighbors_of_data(k))
            self.method = "approximate" if self.recall_sample else "exact"  # which takes over if need be
            return found
        return self._distances(*without_self(*self._search.query(self.X, k + 1)))

    def _distances(self, distances: NDArray[np.float64], indices: NDArray[np.intp]) -> Neighbors:
        if self.metric == "cosine":  # 1 - cos = |u - v|^2 / 2 for unit rows
            distances = 0.5 * distances**2
        return distances, indices


class Search(Protocol):
    """What a search must provide: one class, and one row of SEARCHES."""

    def query(self, Y: Any, k: int) -> Neighbors:
        """Return distances and indices of the k nearest rows, nearest first."""
        ...


APPROXIMABLE = ("euclidean", "cosine")


def _kdtree(X: Any, metric: Metric, options: SearchOptions) -> Search:
    if callable(metric) or sparse.issparse(X):
        raise ValueError("method='kdtree' needs dense X and a named metric. Use method='exact' or method='auto'.")
    return KDTreeSearch(X, METRICS[metric], options)


def _exact(X: Any, metric: Metric, options: SearchOptions) -> Search:
    if metric in APPROXIMABLE and not sparse.issparse(X):
        return BlasSearch(X, options)
    return PairwiseSearch(X, "euclidean" if metric == "cosine" else metric, options)


def _approximate(X: Any, metric: Metric, options: SearchOptions) -> Search:
    if metric not in APPROXIMABLE:
        raise ValueError(
            f"method='approximate' needs metric='euclidean' or 'cosine'. Got {metric!r}. Use method='exact'."
        )
    if not fits_float32(X):
        raise ValueError(
            f"Approximate search works in float32: the features must span {FLOAT32_SPANS[0]:g} to "
            f"{FLOAT32_SPANS[1]:g}. Rescale them, with StandardScaler say, or use method='exact'."
        )
    return ApproximateSearch(X, options)


SEARCHES: dict[str, Callable[[Any, Metric, SearchOptions], Search]] = {
    "kdtree": _kdtree,
    "exact": _exact,
    "approximate": _approximate,
}
