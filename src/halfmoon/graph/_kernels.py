"""Numba kernels of the graph layer: arrays in, arrays out."""

from __future__ import annotations

from halfmoon._jit import njit

__all__ = ["expand_copies"]


@njit
def expand_copies(
    group,  # IN   (n,)    distinct point that row i is a copy of
    rank,  # IN   (n,)    position of row i among the copies
    start,  # IN   (m+1,)  copies of distinct point g: members[start[g]:start[g+1]]
    members,  # IN   (n,)
    near,  # IN   (m, q)  distinct neighbours of a distinct point, nearest first
    near_distances,  # IN   (m, q)
    indices,  # OUT  (n, k)
    distances,  # OUT  (n, k)
):
    """Give row i its nearest copies on a circle, then the copies of its distinct neighbours, up to k."""
    n, k = indices.shape
    for i in range(n):
        g = group[i]
        copies = start[g + 1] - start[g]
        filled = 0
        for step in range(min(copies - 1, k)):
            offset = step // 2 + 1 if step % 2 == 0 else -(step // 2 + 1)  # next, previous, next but one, ...
            indices[i, filled] = members[start[g] + (rank[i] + offset + copies) % copies]
            distances[i, filled] = 0.0
            filled += 1
        column = 0
        while filled < k:
            h = near[g, column]
            copies = start[h + 1] - start[h]
            for step in range(min(copies, k - filled)):
                indices[i, filled] = members[start[h] + (rank[i] + step) % copies]
                distances[i, filled] = near_distances[g, column]
                filled += 1
            column += 1
