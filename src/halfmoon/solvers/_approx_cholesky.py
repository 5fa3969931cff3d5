"""The approximate Cholesky preconditioner: sampled elimination, then a numbering that keeps its sweeps in cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from halfmoon.solvers._kernels.cg import Factor
from halfmoon.solvers._kernels.elimination import factorise
from halfmoon.solvers._kernels.ordering import local_order, predecessors, renumber, transpose

__all__ = ["approximate_cholesky"]


def approximate_cholesky(
    W: sparse.csr_array, excess: NDArray[np.float64], pinned: NDArray[np.bool_], seed: int, dtype: DTypeLike
) -> tuple[NDArray[np.int64], Factor]:
    """Return an order of the vertices and, in that order, a factor C D C' ~ L + diag(excess) of the graph W.

    The ridge acts as edges to a ground vertex that is never eliminated: one factor covers every component. A
    `pinned` component has no excess; its last vertex is held at 0.
    """
    order, start, row, value, inverse = factorise(W.indptr, W.indices, W.data, excess, pinned, seed)
    vertex = local_order(*predecessors(order, start, row))
    ptr, ind, upper, inverse = renumber(order, start, row, value, inverse, vertex)
    lower_ptr, lower_ind, lower = transpose(ptr, ind, upper)
    factor = Factor(lower_ptr, lower_ind, lower.astype(dtype), ptr, ind, upper.astype(dtype), inverse.astype(dtype))
    return vertex, factor
