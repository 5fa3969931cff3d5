"""Multifrontal elimination of a graph with excess, without a subtraction.

A front is a dense graph on the pivots of a node and on the vertices that they are joined to by then. Eliminating a
pivot v with weights w_u, excess g and S = sum w + g adds w_a w_b / S to the weight of a and b and w_a g / S to the
excess of a. Nothing is subtracted: every number has a small relative error, whatever the condition of the matrix.

Positions number vertices in elimination order, the kept vertices last. Fronts are upper triangles by rows.
"""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import fast_njit, njit

__all__ = ["boundaries", "eliminate_kept", "eliminate_node", "eliminate_subtree"]

PANEL = 64  # pivots whose rows are finished before the rest of the front is updated
STRIP = 192  # rows of one product; fronts with less to update do it row by row


@njit
def boundaries(ptr, ind, end, pivots, subtree):
    # IN graph in elimination order, tree
    """Return the positions that the pivots of each node are joined to, ascending, as lists."""
    n, nodes = ptr.size - 1, end.size
    first, last = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    out = np.empty(4 * n + 16, np.int32)
    mark = np.full(n, -1, np.int32)
    used = 0
    for t in range(nodes - 1, -1, -1):
        begin = used
        if used + n > out.size:
            out = np.concatenate((out, np.empty(out.size + n, np.int32)))
        child = t + 1
        while child < t + subtree[t]:
            for k in range(first[child], last[child]):
                j = out[k]
                if j >= end[t] and mark[j] != t:
                    mark[j] = t
                    out[used] = j
                    used += 1
            child += subtree[child]
        for i in range(end[t] - pivots[t], end[t]):
            for k in range(ptr[i], ptr[i + 1]):
                j = ind[k]
                if j >= end[t] and mark[j] != t:
                    mark[j] = t
                    out[used] = j
                    used += 1
        out[begin:used] = np.sort(out[begin:used])
        first[t], last[t] = begin, used
    return first, last, out[:used].copy()


@fast_njit
def row_sum(F, k, width):
    # IN F, k, width: columns of the front
    """Return the sum of row k right of its diagonal."""
    total = 0.0
    for j in range(k + 1, width):
        total += F[k, j]
    return total


@fast_njit
def add_rows(F, first, last, i, c, width):
    # IN first, last: pivot rows of F, c: (PANEL,) their factors  INOUT F[i, i + 1 : width]
    """Add the pivot rows, four at a time, each times its factor, to row i."""
    k = first
    while k + 4 <= last:
        a, b, d, e = c[k - first], c[k - first + 1], c[k - first + 2], c[k - first + 3]
        for j in range(i + 1, width):
            F[i, j] += (a * F[k, j] + b * F[k + 1, j]) + (d * F[k + 2, j] + e * F[k + 3, j])
        k += 4
    while k < last:
        a = c[k - first]
        for j in range(i + 1, width):
            F[i, j] += a * F[k, j]
        k += 1


@njit
def update_by_blas(F, first, last, pivot):
    # INOUT F: rows from `last` on  IN first, last: pivot rows of F, pivot
    """Add the pivot rows, over their pivots, times themselves to the rest of the front, a strip of rows at a time."""
    m = F.shape[1]
    rows = F[first:last, last:].copy()
    for low in range(last, m, STRIP):
        high = min(low + STRIP, m)
        factors = np.empty((high - low, last - first))
        for i in range(high - low):
            for b in range(last - first):
                factors[i, b] = rows[b, low - last + i] / pivot[first + b]
        products = np.dot(factors, rows[:, low - last :].copy())
        for i in range(low, high):
            for j in range(i + 1, m):
                F[i, j] += products[i - low, j - low]


@njit
def eliminate(F, g, count, pivot, stop):
    # INOUT F: (m, m) weights, upper triangle, g: (m,) excess  IN count: pivots, stop  OUT pivot: (count,)
    """Eliminate the first `count` vertices of a front; their rows keep the weights at the time of their elimination."""
    m = g.size
    c = np.empty(PANEL)
    for first in range(0, count, PANEL):
        if stop[0]:
            break
        last = min(first + PANEL, count)
        for k in range(first, last):
            for b in range(first, k):
                c[b - first] = F[b, k] / pivot[b]
                g[k] += c[b - first] * g[b]
            add_rows(F, first, k, k, c, m)
            pivot[k] = row_sum(F, k, m) + g[k]
        for_blas = m - last >= STRIP
        for i in range(last, m):
            for b in range(first, last):
                c[b - first] = F[b, i] / pivot[b]
                g[i] += c[b - first] * g[b]
            if not for_blas:
                add_rows(F, first, last, i, c, m)
        if for_blas:
            update_by_blas(F, first, last, pivot)


@njit
def place_child(boundary, own, pivots, left, F, g):
    # IN boundary, own: first pivot, pivots, left: what a child left: boundary, weights, excess  INOUT F, g
    """Add what a child left to the front of its parent."""
    child_boundary, U, h = left
    m = child_boundary.size
    place = np.empty(m, np.int64)
    k = 0
    for a in range(m):
        j = child_boundary[a]
        if j < own + pivots:
            place[a] = j - own
        else:
            while boundary[k] != j:
                k += 1
            place[a] = pivots + k
    for a in range(m):
        row = place[a]
        g[row] += h[a]
        for b in range(a + 1, m):
            F[row, place[b]] += U[a, b]


@njit
def front_of(graph, own, pivots, boundary):
    # IN graph: (ptr, ind, weight, excess) in elimination order, own: first pivot, pivots, boundary
    """Return the front of a node before its children are added: the edges and the excess of its pivots."""
    ptr, ind, weight, excess = graph
    m = pivots + boundary.size
    F, g = np.zeros((m, m)), np.zeros(m)
    for i in range(pivots):
        g[i] = excess[own + i]
        for k in range(ptr[own + i], ptr[own + i + 1]):
            j = ind[k]
            if j >= own + pivots:
                F[i, pivots + np.searchsorted(boundary, j)] += weight[k]
            elif j > own + i:
                F[i, j - own] += weight[k]
    return F, g


@njit
def eliminate_node(graph, own, pivots, boundary, one, other, stop):
    # IN graph: (ptr, ind, weight, excess) in elimination order, the node, one, other: what its children left, stop
    """Return what a node leaves: its boundary, and the weights and the excess there."""
    F, g = front_of(graph, own, pivots, boundary)
    place_child(boundary, own, pivots, one, F, g)
    place_child(boundary, own, pivots, other, F, g)
    eliminate(F, g, pivots, np.empty(pivots), stop)
    return boundary, F[pivots:, pivots:].copy(), g[pivots:].copy()


@njit
def eliminate_subtree(graph, end, pivots, subtree, first, last, joined, top, stop):
    # IN graph: (ptr, ind, weight, excess) in elimination order, tree, boundaries, top: root of the subtree, stop
    """Return what a subtree leaves on the boundary of its root."""
    nothing = (joined[:0], np.empty((0, 0)), np.empty(0))
    left = [nothing]
    for t in range(top + subtree[top] - 1, top - 1, -1):
        if stop[0]:
            break
        own, boundary = end[t] - pivots[t], joined[first[t] : last[t]]
        one, other = (left.pop(), left.pop()) if subtree[t] > 1 else (nothing, nothing)
        left.append(eliminate_node(graph, own, pivots[t], boundary, one, other, stop))
    return left[-1]


@njit
def eliminate_kept(graph, own, left, stop):
    # IN graph: (ptr, ind, weight, excess) in elimination order, own: first kept, left: what the root left, stop
    """Return the weights and the pivots of the elimination of the kept vertices, of which nothing is left."""
    count = graph[0].size - 1 - own
    F, g = front_of(graph, own, count, left[0][:0])
    place_child(left[0][:0], own, count, left, F, g)
    pivot = np.empty(count)
    eliminate(F, g, count, pivot, stop)
    return F, pivot
