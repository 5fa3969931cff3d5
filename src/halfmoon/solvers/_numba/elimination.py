"""Sampled elimination: the approximate Cholesky factor of M = L + excess (Kyng-Sachdeva; Gao, Kyng and Spielman).

Eliminating v with neighbours u_1 .. u_m (weights ascending w_1 <= .. <= w_m), excess g and S = sum w + g leaves the
column c_t = w_t / S, the pivot S and a clique. The excess part of the clique is kept exactly (g_t += w_t g / S). Of the
rest each t < m keeps one edge, to u_q with q > t drawn with probability w_q / S_{>t}, of weight w_t S_{>t} / S, where
S_{>t} = sum_{q > t} w_q: right in expectation, connected, and no more edges than before.

Half-edges are kept in linked lists; the twin of h is h ^ 1. The edge (t, q) reuses the pair that joined v and u_t, so
nothing is allocated. A half-edge that points to an eliminated vertex is dead and is skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.runtime.jit import inner_njit, njit

__all__ = ["eliminate", "factorise"]

NONE = np.int32(-1)
LINEAR_BUCKETS = 256
GAPS = np.array([1750, 701, 301, 132, 57, 23, 10, 4, 1])  # of the Shell sort


@inner_njit
def random_unit(state):
    # INOUT state: (1,) uint64
    """Uniform number in [0, 1): splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner_njit
def bucket_of(degree):
    """Degrees below LINEAR_BUCKETS have a bucket each, larger ones share one per power of two."""
    if degree < LINEAR_BUCKETS:
        return degree
    bucket = LINEAR_BUCKETS
    degree //= LINEAR_BUCKETS
    while degree > 1:
        degree //= 2
        bucket += 1
    return bucket


@inner_njit
def enqueue(v, bucket, head, before, after, place):
    # IN v, bucket  INOUT the queue
    """Put v in front of its bucket (last in, first out: the next vertex lies near the last one, in cache)."""
    place[v] = bucket
    before[v] = NONE
    after[v] = head[bucket]
    if head[bucket] != NONE:
        before[head[bucket]] = v
    head[bucket] = v


@inner_njit
def dequeue(v, head, before, after, place):
    # IN v  INOUT the queue
    """Take v out of its bucket."""
    bucket = place[v]
    if before[v] == NONE:
        head[bucket] = after[v]
    else:
        after[before[v]] = after[v]
    if after[v] != NONE:
        before[after[v]] = before[v]
    place[v] = NONE


@inner_njit
def build_lists(ptr, ind, weight, first, following, target, size):
    # IN CSR of W  OUT first: (n,) list heads, following, target, size: (nnz,) half-edges
    """Turn each undirected edge into a pair of half-edges."""
    used = 0
    for i in range(first.size):
        first[i] = NONE
    for i in range(ptr.size - 1):
        for k in range(ptr[i], ptr[i + 1]):
            j = ind[k]
            if j > i:
                target[used] = j
                following[used] = first[i]
                first[i] = used
                target[used + 1] = i
                following[used + 1] = first[j]
                first[j] = used + 1
                size[used] = size[used + 1] = weight[k]
                used += 2


@inner_njit
def collect(v, first, following, target, size, place, slot, degree, edge, edge_w):
    # IN v, lists, place (NONE = eliminated)  INOUT slot: all NONE, degree  OUT edge, edge_w: kept half-edges of v
    """Gather the live half-edges of v, parallel ones merged; return how many."""
    kept = 0
    h = first[v]
    while h != NONE:
        u = target[h]
        if place[u] != NONE:
            degree[u] -= 1
            if slot[u] == NONE:
                edge[kept] = h
                edge_w[kept] = size[h]
                slot[u] = kept
                kept += 1
            else:
                edge_w[slot[u]] += size[h]
        h = following[h]
    for t in range(kept):
        slot[target[edge[t]]] = NONE
    return kept


@inner_njit
def sort_by_key(count, item, key):
    # IN count  INOUT item[:count], key[:count]
    """Ascending keys, with their items (Shell sort)."""
    for place in range(GAPS.size):
        gap = GAPS[place]
        for t in range(gap, count):
            e, w = item[t], key[t]
            k = t - gap
            while k >= 0 and key[k] > w:
                item[k + gap], key[k + gap] = item[k], key[k]
                k -= gap
            item[k + gap], key[k + gap] = e, w


@inner_njit
def draw(suffix, t, count, u):
    # IN suffix: sums of the weights from each place on, t, count, u: uniform number
    """Q in (t, count) with probability w_q / sum_{k > t} w_k."""
    x = u * suffix[t + 1]
    low, high = t + 1, count - 1
    while low < high:
        middle = (low + high + 1) // 2
        if suffix[middle] > x:
            low = middle
        else:
            high = middle - 1
    return low


@inner_njit
def sample_clique(count, pivot, edge, edge_w, suffix, state, first, following, target, size, degree):
    # IN count, pivot, edge, edge_w: sorted  WORK suffix  INOUT state, lists, degree
    """Replace the star of the eliminated vertex by one sampled edge for each neighbour but the heaviest."""
    suffix[count] = 0.0
    for t in range(count - 1, -1, -1):
        suffix[t] = suffix[t + 1] + edge_w[t]
    for t in range(count - 1):
        q = draw(suffix, t, count, random_unit(state))
        h = edge[t]
        ut = target[h]
        uq = target[edge[q]]
        if ut != uq:
            w = edge_w[t] * (suffix[t + 1] / pivot)
            size[h] = size[h ^ 1] = w
            degree[ut] += 1
            degree[uq] += 1
            target[h ^ 1] = uq
            target[h] = ut
            following[h] = first[uq]
            first[uq] = h


@inner_njit
def grown(row, value, used):
    # IN row, value, used: how many entries there are
    """Return arrays of twice the size with the same entries."""
    new_row, new_value = np.empty(2 * row.size, np.uint32), np.empty(2 * row.size)
    for k in range(used):
        new_row[k] = row[k]
        new_value[k] = value[k]
    return new_row, new_value


def factorise(
    W: sparse.csr_array, excess: NDArray[np.float64], pinned: NDArray[np.bool_], seed: int, stop: NDArray[np.uint8]
) -> tuple[NDArray[Any], ...]:
    # IN W: CSR in float64, excess >= 0 of each row, pinned: (n,) its component is singular, seed, stop: (1,) uint8
    """Return order, column pointers, rows, values and inverse pivots of the approximate factor of L + excess.

    After a stop the factor is incomplete: the caller must not use it.
    """
    n, half = len(excess), W.nnz
    lists = np.empty(n, np.int32), np.empty(half, np.int32), np.empty(half, np.int32), np.empty(half)
    head = np.full(LINEAR_BUCKETS + 32, NONE)
    before, after, place = np.empty((3, n), np.int32)
    star = np.empty(half + 1, np.int32), np.empty(half + 1), np.empty(half + 1, np.int32), np.empty(half + 2)
    of_vertex = np.diff(W.indptr).astype(np.int32), np.full(n, NONE), excess.copy()
    row, value = np.empty(2 * half + n, np.uint32), np.empty(2 * half + n)
    order, start, inverse = np.empty(n, np.uint32), np.zeros(n + 1, np.int64), np.empty(n)
    row, value = eliminate(
        W.indptr,
        W.indices,
        W.data,
        pinned,
        np.array([seed], np.uint64),
        stop,
        *lists,
        head,
        before,
        after,
        place,
        *star,
        *of_vertex,
        row,
        value,
        order,
        start,
        inverse,
    )
    return order, start, row, value, inverse


@njit
def eliminate(
    ptr,  # IN   CSR of W
    ind,  # IN
    weight,  # IN   float64
    pinned,  # IN   (n,)
    state,  # INOUT  (1,)  uint64, of random numbers
    stop,  # IN   (1,)  uint8
    first,  # WORK (n,)
    following,  # WORK (nnz,)
    target,  # WORK (nnz,)
    size,  # WORK (nnz,)
    head,  # INOUT  all NONE
    before,  # WORK (n,)
    after,  # WORK (n,)
    place,  # WORK (n,)
    edge,  # WORK (nnz + 1,)
    edge_w,  # WORK (nnz + 1,)
    neighbour,  # WORK (nnz + 1,)
    suffix,  # WORK (nnz + 2,)
    degree,  # INOUT  (n,)  of W
    slot,  # INOUT  (n,)  all NONE
    ground,  # INOUT  (n,)  excess
    row,  # WORK  room for rows of the factor
    value,  # WORK  room for values of the factor
    order,  # OUT  (n,)
    start,  # OUT  (n + 1,)  start[0] is 0
    inverse,  # OUT  (n,)
):
    """Eliminate all vertices; return rows and values of the factor."""
    n = order.size
    build_lists(ptr, ind, weight, first, following, target, size)
    for v in range(n - 1, -1, -1):
        enqueue(np.int32(v), np.int64(bucket_of(degree[v])), head, before, after, place)
    used, bucket = np.int64(0), np.int64(0)  # literals would be types of their own to what is called
    for position in range(n):
        if stop[0]:
            break
        while head[bucket] == NONE:
            bucket += 1
        v = head[bucket]
        dequeue(v, head, before, after, place)
        count = collect(v, first, following, target, size, place, slot, degree, edge, edge_w)
        sort_by_key(count, edge, edge_w)
        pivot = ground[v]
        for t in range(count - 1, -1, -1):
            pivot += edge_w[t]
            neighbour[t] = target[edge[t]]
        order[position] = v
        inverse[position] = 0.0 if pivot <= 0.0 or (count == 0 and pinned[v]) else 1.0 / pivot
        if used + count > row.size:
            row, value = grown(row, value, used)
        joined = count if pivot > 0.0 else 0  # weights that underflow join nothing
        for t in range(joined):
            row[used] = neighbour[t]
            value[used] = edge_w[t] / pivot
            ground[neighbour[t]] += edge_w[t] * (ground[v] / pivot)
            used += 1
        start[position + 1] = used
        if joined > 1:
            sample_clique(count, pivot, edge, edge_w, suffix, state, first, following, target, size, degree)
        for t in range(count):
            u = neighbour[t]
            place_of_u = bucket_of(degree[u])
            if place_of_u != place[u]:
                dequeue(u, head, before, after, place)
                enqueue(u, place_of_u, head, before, after, place)
                bucket = min(bucket, place_of_u)
    return row[:used], value[:used]
