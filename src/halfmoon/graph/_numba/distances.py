"""Squared distances in float32: of sketches, of dense rows of any type, of sparse rows."""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from halfmoon.runtime.jit import fast_njit, njit

__all__ = ["exact_distance", "sketch_distance", "squared_norms"]


@fast_njit
def sketch_distance(
    points,  # IN   (n, s)  float32
    i,  # IN
    j,  # IN
):
    """Return |points_i - points_j|^2."""
    total = np.float32(0.0)
    for t in range(points.shape[1]):
        difference = points[i, t] - points[j, t]
        total += difference * difference
    return total


def gap(a, b):
    """Return a - b in float32; compiled only, by the overload below."""


@overload(gap, inline="always")
def _gap(a, b):
    if isinstance(a, types.Float):  # in their own precision: float64 rows may lie far from the origin
        return lambda a, b: np.float32(a - b)
    return lambda a, b: np.float32(a) - np.float32(b)


@fast_njit
def dense_distance(
    X,  # IN   (n, d)  float64, float32 or uint8
    i,  # IN
    j,  # IN
):
    """Return |x_i - x_j|^2 in float32."""
    total = np.float32(0.0)
    for t in range(X.shape[1]):
        difference = gap(X[i, t], X[j, t])
        total += difference * difference
    return total


@njit
def sparse_distance(
    X,  # IN   (data, indices, indptr) of a csr_array with sorted indices
    i,  # IN
    j,  # IN
):
    """Return |x_i - x_j|^2 by a merge of two sparse rows."""
    data, indices, indptr = X
    p = indptr[i]
    q = indptr[j]
    total = np.float32(0.0)
    while p < indptr[i + 1] or q < indptr[j + 1]:
        difference = np.float32(0.0)
        has_p = p < indptr[i + 1]
        has_q = q < indptr[j + 1]
        take_p = has_p and (not has_q or indices[p] <= indices[q])
        take_q = has_q and (not has_p or indices[q] <= indices[p])
        if take_p:
            difference += np.float32(data[p])
            p += 1
        if take_q:
            difference -= np.float32(data[q])
            q += 1
        total += difference * difference
    return total


def exact_distance(X, i, j):
    """Return |x_i - x_j|^2 of dense rows, or of sparse rows given as a tuple; compiled only, by the overload below."""


@overload(exact_distance, inline="always")
def _exact_distance(X, i, j):
    if isinstance(X, types.BaseTuple):
        return lambda X, i, j: sparse_distance(X, i, j)
    return lambda X, i, j: dense_distance(X, i, j)


@fast_njit
def squared_norms(
    block,  # IN   (m, s)
    count,  # IN   rows to take
    norms,  # OUT  (m,)
):
    """Fill norms with the squared lengths of the first rows."""
    for j in range(count):
        total = np.float32(0.0)
        for t in range(block.shape[1]):
            total += block[j, t] * block[j, t]
        norms[j] = total
