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
    n = len(order)
    columns = sparse.csr_array(
        (value, row, first), shape=(n, n)
    )  # row i: the column of C that was i-th to be eliminated
    by_vertex = columns.tocsc()
    vertex = local_order(by_vertex.indptr, order[by_vertex.indices])
    eliminated, position = _inverse(order)[vertex], _inverse(vertex)
    columns, inverse, s = columns[eliminated], inverse[eliminated], s[vertex]
    ind = position[columns.indices]
    upper = columns.data * s[ind] / np.repeat(s, np.diff(columns.indptr))  # s C s^-1 has the unit diagonal of C
    largest = np.sqrt(np.finfo(dtype).max)  # of a nearly singular graph: any positive number preconditions
    upper, inverse = np.minimum(upper, largest), np.minimum(inverse / s**2, largest).astype(dtype)
    rows = sparse.csr_array((upper.astype(dtype), ind, columns.indptr), shape=(n, n))
    return vertex, Factor(*_compressed(rows.tocsc()), *_compressed(rows), inverse)


def _inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each number in an order."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


def _compressed(A: sparse.csr_array | sparse.csc_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    return A.indptr.astype(np.uint32), A.indices.astype(np.uint32), A.data
