"""The factor in a numbering of its own that keeps triangular sweeps in cache."""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import njit

__all__ = ["local_order", "predecessors", "renumber", "transpose"]


@njit
def transpose(ptr, ind, value):
    # IN CSR of a square matrix
    """Return the CSR of its transpose, columns ascending."""
    n = ptr.size - 1
    out_ptr = np.zeros(n + 1, np.uint32)
    for k in range(ind.size):
        out_ptr[ind[k] + 1] += 1
    for i in range(n):
        out_ptr[i + 1] += out_ptr[i]
    fill = out_ptr[:-1].copy()
    out_ind = np.empty(ind.size, np.uint32)
    out = np.empty(ind.size)
    for i in range(n):
        for k in range(ptr[i], ptr[i + 1]):
            j = ind[k]
            out_ind[fill[j]] = i
            out[fill[j]] = value[k]
            fill[j] += 1
    return out_ptr, out_ind, out


@njit
def local_order(before_ptr, before):
    # IN lists of the vertices that must come before each vertex
    """Return a topological order that emits what a vertex needs just before it, depth first: sweeps stay in cache."""
    n = before_ptr.size - 1
    vertex = np.empty(n, np.int64)
    cursor = before_ptr[:-1].copy()
    seen = np.zeros(n, np.bool_)
    stack = np.empty(n, np.int64)
    emitted = 0
    for root in range(n):
        if seen[root]:
            continue
        seen[root] = True
        stack[0] = root
        height = 1
        while height > 0:
            v = stack[height - 1]
            if cursor[v] < before_ptr[v + 1]:
                u = before[cursor[v]]
                cursor[v] += 1
                if not seen[u]:
                    seen[u] = True
                    stack[height] = u
                    height += 1
            else:
                vertex[emitted] = v
                emitted += 1
                height -= 1
    return vertex


@njit
def renumber(order, start, row, value, inverse, vertex):
    # IN factor in elimination order, vertex: new order
    """Return the upper CSR (row i of C') and the inverse pivots in the new numbering."""
    n = order.size
    position = np.empty(n, np.uint32)
    eliminated = np.empty(n, np.int64)
    for i in range(n):
        position[vertex[i]] = i
        eliminated[order[i]] = i
    ptr = np.zeros(n + 1, np.uint32)
    ind = np.empty(row.size, np.uint32)
    out = np.empty(row.size)
    inv = np.empty(n)
    used = 0
    for i in range(n):
        e = eliminated[vertex[i]]
        inv[i] = inverse[e]
        for k in range(start[e], start[e + 1]):
            ind[used] = position[row[k]]
            out[used] = value[k]
            used += 1
        ptr[i + 1] = used
    return ptr, ind, out, inv


@njit
def predecessors(order, start, row):
    # IN factor in elimination order
    """Return, for every vertex, the vertices whose columns touch it, as lists."""
    n = order.size
    ptr = np.zeros(n + 1, np.uint32)
    for k in range(row.size):
        ptr[row[k] + 1] += 1
    for i in range(n):
        ptr[i + 1] += ptr[i]
    fill = ptr[:-1].copy()
    before = np.empty(row.size, np.uint32)
    for i in range(n):
        for k in range(start[i], start[i + 1]):
            before[fill[row[k]]] = order[i]
            fill[row[k]] += 1
    return ptr, before
