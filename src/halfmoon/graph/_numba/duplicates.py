"""Duplicates of a point: digests of rows, and lists in which duplicates come first."""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import njit

__all__ = ["digest_dense", "digest_sparse", "expand_duplicates"]

FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # odd, bits well mixed


@njit
def mixed(state, bits, factor):
    """One step of a multiplicative hash."""
    state = (state ^ bits) * factor
    return state ^ (state >> np.uint64(32))


@njit
def digest_dense(
    bits,  # IN   (n, d)  uint64, the bits of float64 numbers
    digests,  # OUT  (n, 2)  uint64
):
    """Give every row a digest of 128 bits."""
    n, d = bits.shape
    for i in range(n):
        a, b = FIRST, SECOND
        for j in range(d):
            a = mixed(a, bits[i, j], FIRST)
            b = mixed(b, bits[i, j], SECOND)
        digests[i, 0], digests[i, 1] = a, b


@njit
def digest_sparse(
    indptr,  # IN   CSR without stored zeros, sorted
    indices,
    bits,
    digests,  # OUT  (n, 2)  uint64
):
    """Give every row a digest of 128 bits of its entries and their places."""
    for i in range(digests.shape[0]):
        a, b = FIRST, SECOND
        for k in range(indptr[i], indptr[i + 1]):
            place = np.uint64(indices[k])
            a = mixed(mixed(a, place, FIRST), bits[k], FIRST)
            b = mixed(mixed(b, place, SECOND), bits[k], SECOND)
        digests[i, 0], digests[i, 1] = a, b


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
