"""A numbering of the factor that keeps triangular sweeps in cache."""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import njit

__all__ = ["local_order"]


@njit
def local_order(before_ptr, before):
    # IN lists of the vertices that must come before each vertex
    """Return a topological order that emits what a vertex needs just before it, depth first: sweeps stay in cache."""
    n = before_ptr.size - 1
    vertex, stack, cursor = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        cursor[v] = -1  # not seen
    emitted = 0
    for root in range(n):
        if cursor[root] >= 0:
            continue
        cursor[root] = before_ptr[root]
        stack[0] = root
        height = 1
        while height > 0:
            v = stack[height - 1]
            if cursor[v] < before_ptr[v + 1]:
                u = before[cursor[v]]
                cursor[v] += 1
                if cursor[u] < 0:
                    cursor[u] = before_ptr[u]
                    stack[height] = u
                    height += 1
            else:
                vertex[emitted] = v
                emitted += 1
                height -= 1
    return vertex
