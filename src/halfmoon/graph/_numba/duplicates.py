"""Duplicates of a point: digests of rows, and lists in which duplicates come first."""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.half_floats import number
from halfmoon.runtime.jit import inner_njit, njit

__all__ = ["FIRST", "SECOND", "digest_dense", "digest_sparse", "expand_duplicates"]

FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)  # odd, bits well mixed


@inner_njit
def share_of(place, value):
    """Return what a number at a place adds to the two halves of a digest; -0.0 and 0.0 are one number."""
    bits = np.float64(np.float64(number(value)) + 0.0).view(np.uint64) ^ (np.uint64(place) * FIRST)
    bits = (bits ^ (bits >> np.uint64(30))) * SECOND
    bits = (bits ^ (bits >> np.uint64(27))) * FIRST
    return bits ^ (bits >> np.uint64(31)), (bits ^ (bits >> np.uint64(29))) * SECOND


@njit
def digest_dense(
    X,  # IN   (n, d)
    digests,  # OUT  (n, 2)  uint64
):
    """Give every row a digest of 128 bits."""
    n, d = X.shape
    for i in range(n):
        first, second = np.uint64(0), np.uint64(0)
        for j in range(d):  # a sum: the numbers are mixed side by side
            a, b = share_of(j, X[i, j])
            first += a
            second += b
        digests[i, 0], digests[i, 1] = first, second


@njit
def digest_sparse(
    indptr,  # IN   CSR without stored zeros
    indices,
    data,
    digests,  # OUT  (n, 2)  uint64
):
    """Give every row a digest of 128 bits of its entries and their places."""
    for i in range(digests.shape[0]):
        first, second = np.uint64(0), np.uint64(0)
        for k in range(indptr[i], indptr[i + 1]):
            a, b = share_of(indices[k], data[k])
            first += a
            second += b
        digests[i, 0], digests[i, 1] = first, second


@njit
def expand_duplicates(
    group,  # IN   (n,)    distinct point that row i is a copy of
    rank,  # IN   (n,)    position of row i among the rows equal to it
    start,  # IN   (m+1,)  rows equal to distinct point g: members[start[g]:start[g+1]]
    members,  # IN   (n,)
    near,  # IN   (m, q)  distinct neighbours of a distinct point, nearest first
    near_distances,  # IN   (m, q)
    indices,  # OUT  (n, k)
    distances,  # OUT  (n, k)
):
    """Give row i its nearest duplicates on a circle, then the rows equal to its distinct neighbours, up to k."""
    n, k = indices.shape
    for i in range(n):
        g = group[i]
        rows = start[g + 1] - start[g]
        filled = 0
        for step in range(min(rows - 1, k)):
            offset = step // 2 + 1 if step % 2 == 0 else -(step // 2 + 1)  # next, previous, next but one, ...
            indices[i, filled] = members[start[g] + (rank[i] + offset + rows) % rows]
            distances[i, filled] = 0.0
            filled += 1
        column = 0
        while filled < k:
            h = near[g, column]
            rows = start[h + 1] - start[h]
            for step in range(min(rows, k - filled)):
                indices[i, filled] = members[start[h] + (rank[i] + step) % rows]
                distances[i, filled] = near_distances[g, column]
                filled += 1
            column += 1
