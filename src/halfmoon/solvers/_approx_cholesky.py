"""The approximate Cholesky preconditioner: sampled elimination, then a numbering that keeps its sweeps in cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from halfmoon.runtime.executor import Stopped, stop_flag
from halfmoon.solvers._numba.cg import Factor
from halfmoon.solvers._numba.elimination import factorise
from halfmoon.solvers._numba.ordering import local_order
from halfmoon.solvers._numba.renumbering import earlier_neighbors, renumber_columns, transpose

__all__ = ["approximate_cholesky"]


def approximate_cholesky(
    W: sparse.csr_array,
    excess: NDArray[np.float64],
    pinned: NDArray[np.bool_],
    s: NDArray[np.float64],
    seed: int,
    dtype: DTypeLike,
) -> tuple[NDArray[np.int64], Factor]:
    """Return an order of the vertices and, in that order, a factor C D C' ~ s (L + diag(excess)) s of the graph W.

    The ridge acts as edges to a ground vertex that is never eliminated: one factor covers every component. A
    `pinned` component has no excess; its last vertex is held at 0.
    """
    stop = stop_flag()
    order, first, row, value, inverse = factorise(W, excess, pinned, seed, stop)
    if stop[0]:
        raise Stopped
    vertex = _near_order(first, row, order)
    position = _inverse(vertex)
    column, s = _inverse(order)[vertex], s[vertex]
    largest = np.sqrt(np.finfo(dtype).max)  # of a nearly singular graph: any positive number preconditions
    upper = _compressed(len(order), len(row), dtype)
    renumber_columns(first, row, value, column, position, s, float(largest), *upper)
    lower = _compressed(len(order), len(row), dtype)
    transpose(*upper, *lower)
    return vertex, Factor(*lower, *upper, np.minimum(inverse[column] / s**2, largest).astype(dtype))


def _near_order(first: NDArray[np.int64], row: NDArray[np.uint32], order: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return an order in which every vertex comes after those whose columns it is in, and soon."""
    ptr, before = np.empty(len(order) + 1, np.int64), np.empty(len(row), np.uint32)
    earlier_neighbors(first, row, order, ptr, before)
    return local_order(ptr, before)


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each number in an order."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


def _compressed(n: int, entries: int, dtype: DTypeLike) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return room for a sparse matrix."""
    return np.empty(n + 1, np.uint32), np.empty(entries, np.uint32), np.empty(entries, dtype)
