"""Squared distances: of codes in whole numbers, of sketches, dense rows of any type and sparse rows in float32."""

from __future__ import annotations

import numpy as np
from numba.core import types
from numba.extending import overload

from halfmoon.graph._numba.codes import code_distance
from halfmoon.runtime.half_floats import number
from halfmoon.runtime.jit import fast_inner_njit, inner_njit
from halfmoon.runtime.lanes import WIDTH, load_part, muladd, sub, sum_of, zeros32
from halfmoon.runtime.prefetch import fetch_row

__all__ = ["as_float", "exact_distance", "fetch", "rank_of"]


@fast_inner_njit(forceinline=True)
def sketch_distance(
    points,  # IN   (n, s)  float32
    i,  # IN
    j,  # IN
):
    """Return |points_i - points_j|^2."""
    whole = points.shape[1] - points.shape[1] % WIDTH
    squares = zeros32()
    for t in range(0, whole, WIDTH):
        gaps = sub(load_part(points, i, t), load_part(points, j, t))
        squares = muladd(gaps, gaps, squares)
    total = sum_of(squares)
    for t in range(whole, points.shape[1]):
        difference = points[i, t] - points[j, t]
        total += difference * difference
    return total


def gap(a, b):
    """Return a - b in float32; compiled only, by the overload below."""


@overload(gap, inline="always")
def _gap(a, b):
    if isinstance(a, types.Float):  # in their own precision: float64 rows may lie far from the origin
        return lambda a, b: np.float32(a - b)
    return lambda a, b: np.float32(number(a)) - np.float32(number(b))


@fast_inner_njit
def dense_distance(
    X,  # IN   (n, d)  float64, float32, uint8 or bits of float16
    i,  # IN
    j,  # IN
):
    """Return |x_i - x_j|^2 in float32."""
    total = np.float32(0.0)
    for t in range(X.shape[1]):
        difference = gap(X[i, t], X[j, t])
        total += difference * difference
    return total


@inner_njit
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


def rank_of(space, i, j):
    """Return an int32 that sorts like the distance of the points i and j; compiled only, by the overload below.

    A space is int8 codes (n, w), float32 points (n, s), or a tuple (X, row) for exact distances of rows of X. The int32
    is the squared distance of codes, else the bits of the squared distance in float32, which sort like the number.
    """


@overload(rank_of, inline="always")
def _rank_of(space, i, j):
    if isinstance(space, types.BaseTuple):
        return lambda space, i, j: np.float32(exact_distance(space[0], space[1][i], space[1][j])).view(np.int32)
    if space.dtype is types.int8:
        return lambda space, i, j: code_distance(space, i, j)
    return lambda space, i, j: np.float32(sketch_distance(space, i, j)).view(np.int32)


def as_float(space, rank):
    """Return the squared distance in a space that `rank_of` has made an int32 of; compiled only."""


@overload(as_float, inline="always")
def _as_float(space, rank):
    if not isinstance(space, types.BaseTuple) and space.dtype is types.int8:
        return lambda space, rank: np.float32(rank)
    return lambda space, rank: np.int32(rank).view(np.float32)


def fetch(space, j):
    """Ask memory for what `rank_of` is going to read of a point j; compiled only, by the overload below."""


@overload(fetch, inline="always")
def _fetch(space, j):
    if not isinstance(space, types.BaseTuple):
        return lambda space, j: fetch_row(space, j)
    if not isinstance(space[0], types.BaseTuple):
        return lambda space, j: fetch_row(space[0], space[1][j])
    return lambda space, j: None  # a sparse row lies in two places
