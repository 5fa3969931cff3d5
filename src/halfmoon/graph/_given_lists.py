"""Neighbour lists that somebody already has, of UMAP, pynndescent, faiss or a vector database."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise

from halfmoon.exceptions import AccuracyWarning
from halfmoon.graph._neighbor_index import Metric, NeighborLists

__all__ = ["check_neighbors"]

SAMPLE = 200  # rows whose distances are measured again
TOLERANCE = 1e-2  # lists are often computed in half precision


def check_neighbors(neighbors: Any, X: Any, k: int, metric: Metric = "euclidean") -> NeighborLists:
    """Return given neighbour lists as lists of the k nearest other rows, or say what is wrong with them.

    Parameters
    ----------
    neighbors : tuple of array-like
        Indices and distances, both of shape (n, m); more parts, as UMAP's `precomputed_knn` has, are not looked at. A
        row may be its own neighbour, in any place.
    X : ndarray or csr_array of shape (n, d)
        The data.
    k : int
        Neighbours that are wanted.
    metric : str or callable, default="euclidean"
        What distances should be; measured on some of them.

    Returns
    -------
    NeighborLists

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import check_neighbors
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> lists = check_neighbors(([[0, 1], [1, 0], [2, 1]], [[0.0, 1.0], [0.0, 1.0], [0.0, 2.0]]), X, 1)
    >>> lists.indices.tolist(), lists.distances.tolist()
    ([[1], [0], [1]], [[1.0], [1.0], [2.0]])
    """
    indices, distances = _as_arrays(neighbors, X.shape[0])
    _check_entries(indices, distances)
    indices, distances = _others(indices, distances)
    if indices.shape[1] < k:
        raise ValueError(
            f"n_neighbors={k} is more than the {indices.shape[1]} other rows that each list of 'neighbors' holds. "
            f"Compute lists of {k + 1}, the row itself included, or lower n_neighbors."
        )
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    indices, distances = np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)
    _check_distances(indices, distances, X, metric)
    return NeighborLists(distances, indices, "given")


def _as_arrays(neighbors: Any, n: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return indices and distances as arrays of one shape."""
    if not isinstance(neighbors, list | tuple) or len(neighbors) < 2:
        raise ValueError(
            f"The 'neighbors' parameter must be a pair (indices, distances). Got {type(neighbors).__name__} instead."
        )
    indices, distances = np.asarray(neighbors[0]), np.asarray(neighbors[1])
    if indices.dtype.kind == "f" and distances.dtype.kind in "iu":
        raise ValueError("neighbors=(indices, distances): here the distances come first, as faiss has them. Swap them.")
    if indices.dtype.kind not in "iu" or distances.dtype.kind not in "fiu":
        raise ValueError(
            "neighbors=(indices, distances) must hold whole numbers and numbers. Got arrays of type "
            f"{indices.dtype} and {distances.dtype}."
        )
    if indices.ndim != 2 or indices.shape != distances.shape or indices.shape[0] != n:
        raise ValueError(
            f"neighbors=(indices, distances) must be two arrays of shape ({n}, m), with a list for every row of X. Got "
            f"shapes {indices.shape} and {distances.shape}."
        )
    return indices.astype(np.intp), distances.astype(np.float64)


def _check_entries(indices: NDArray[np.intp], distances: NDArray[np.float64]) -> None:
    """Refuse numbers that are no rows, distances that are none, and neighbours that are named twice."""
    n = len(indices)
    missing = np.argwhere((indices < 0) | (indices >= n))
    if len(missing):
        row, place = missing[0]
        raise ValueError(
            f"The list of row {row} in 'neighbors' names row {indices[row, place]}, and rows go from 0 to {n - 1}. -1 "
            "stands for a neighbour that was not found: search again with more effort, or leave the row out."
        )
    wrong = np.argwhere(~(np.isfinite(distances) & (distances >= 0.0)))
    if len(wrong):
        row, place = wrong[0]
        raise ValueError(
            f"The list of row {row} in 'neighbors' has the distance {distances[row, place]:g}. Distances are finite, "
            "and not negative; turn similarities into distances, cosines into 1 - cosine."
        )
    ordered = np.sort(indices, axis=1)
    twice = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    if len(twice):
        row, place = twice[0]
        raise ValueError(f"The list of row {row} in 'neighbors' names row {ordered[row, place]} twice. Name it once.")


def _others(indices: NDArray[np.intp], distances: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the lists without the rows themselves; where some lists have these, the others lose their last entry."""
    n, m = indices.shape
    own = indices == np.arange(n)[:, None]
    if not own.any():
        return indices, distances
    furthest = distances.argmax(axis=1)
    bare = ~own.any(axis=1)
    own[bare, furthest[bare]] = True
    return indices[~own].reshape(n, m - 1), distances[~own].reshape(n, m - 1)


def _check_distances(indices: NDArray[np.intp], distances: NDArray[np.float64], X: Any, metric: Metric) -> None:
    """Measure the first neighbours of some rows: squares are refused, other disagreement is worth a warning."""
    rows = np.unique(np.linspace(0, len(indices) - 1, SAMPLE).astype(np.intp))
    said = distances[rows, 0]
    true = pairwise.paired_distances(X[rows].astype(np.float64), X[indices[rows, 0]].astype(np.float64), metric=metric)
    scale = float(np.median(true))
    if _agree(said, true, scale):
        return
    if _agree(said, np.square(true), scale**2):
        raise ValueError(
            f"The distances in 'neighbors' are squares: row {rows[0]} is at {true[0]:.6g} from row "
            f"{indices[rows[0], 0]}, not at {said[0]:.6g}. faiss returns squares; pass "
            "neighbors=(indices, numpy.sqrt(distances))."
        )
    warnings.warn(
        f"The distances in 'neighbors' are not those of metric={metric!r}: row {rows[0]} is said to be at "
        f"{said[0]:.6g} from row {indices[rows[0], 0]}, and is at {true[0]:.6g}. New points are placed by "
        f"metric={metric!r}. Name the metric that the lists were computed with, and check that they are of these "
        "rows, in this order.",
        AccuracyWarning,
        stacklevel=2,
    )


def _agree(said: NDArray[np.float64], true: NDArray[np.float64], scale: float) -> bool:
    return bool((np.abs(said - true) <= TOLERANCE * np.maximum(true, scale)).mean() >= 0.9)
