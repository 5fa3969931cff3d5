"""The approximate Cholesky preconditioner: sampled elimination, then a numbering that keeps its sweeps in cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from halfmoon.runtime.executor import Stopped, stop_flag
from halfmoon.solvers._numba.cg import Factor
from halfmoon.solvers._numba.elimination import factorise
from halfmoon.solvers._numba.ordering import local_order, predecessors, renumber, transpose

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
    order, first, row, value, inverse = factorise(W.indptr, W.indices, W.data, excess, pinned, seed, stop)
    if stop[0]:
        raise Stopped
    vertex = local_order(*predecessors(order, first, row))
    ptr, ind, upper, inverse = renumber(order, first, row, value, inverse, vertex)
    s = s[vertex]
    upper *= s[ind] / np.repeat(s, np.diff(ptr.astype(np.int64)))  # s C s^-1 has the unit diagonal of C
    largest = np.sqrt(np.finfo(dtype).max)  # of a nearly singular graph: any positive number preconditions
    upper, inverse = np.minimum(upper, largest), np.minimum(inverse / s**2, largest).astype(dtype)
    lower_ptr, lower_ind, lower = transpose(ptr, ind, upper)
    return vertex, Factor(lower_ptr, lower_ind, lower.astype(dtype), ptr, ind, upper.astype(dtype), inverse)
