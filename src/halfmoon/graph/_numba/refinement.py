"""Neighbours of neighbours, the ranking of candidates by exact distances, and the audit of a sample.

Each function works on a range of rows and writes arrays for this range alone: the result does not depend on threads.
When stop[0] is set, they return early; what they have written is then of no use.
"""

from __future__ import annotations

import numpy as np

from halfmoon.graph._numba.distances import as_float, rank_of, squared_norms
from halfmoon.graph._numba.lists import NOBODY, entry_of, insert_key, key_of
from halfmoon.runtime.jit import inner_njit, njit

__all__ = ["audit_rows", "rank_rows", "refine"]

SEEN = 4096  # slots of the table of candidates met: a power of two
TILE = 512  # points audited at once


@inner_njit
def met_before(
    seen,  # IN/OUT  (SEEN,)  int64, of row << 32 | j; a newer candidate takes the slot of an older one
    row,  # IN
    j,  # IN
):
    """Return whether j is known to have been met in this row, and remember it; a forgotten one is measured again."""
    key = (np.int64(row) << np.int64(32)) | np.int64(j)
    slot = j & (SEEN - 1)
    met = seen[slot] == key
    seen[slot] = key
    return met


@inner_njit
def collect_candidates(
    i,  # IN
    own,  # IN   (c,)    keys of i
    entries,  # IN   (n, m)
    reverse,  # IN   (n, r)
    counts,  # IN   (n,)
    seen,  # WORK (SEEN,)
    candidates,  # OUT  ((m+r)(m+1) + 1,)
):
    """Collect the neighbours of the neighbours of i, less pairs tried a round ago; return their count."""
    m = entries.shape[1]
    count = 0
    for u in range(m + counts[i]):  # no branches on what is far in memory: the loads overlap
        middle = entries[i, u] if u < m else reverse[i, u - m]
        if middle < 0:
            continue
        candidates[count] = middle >> 1
        count += middle & 1
        for v in range(m):
            candidates[count] = entries[middle >> 1, v] >> 1
            count += (middle | entries[middle >> 1, v]) & 1
    for key in own:
        if key != NOBODY:
            met_before(seen, i, entry_of(key) >> 1)
    kept = 0
    for p in range(count):
        j = candidates[p]
        candidates[kept] = j
        kept += j >= 0 and j != i and not met_before(seen, i, j)
    return kept


@njit
def refine(
    space,  # IN   where distances are measured, see `distances.rank_of`
    old,  # IN   (n, c)  keys
    entries,  # IN   (n, m)  the first m of each list
    reverse,  # IN   (n, r)  who names a point
    counts,  # IN   (n,)
    lo,  # IN   rows lo .. hi-1
    hi,  # IN
    stop,  # IN   (1,)
    new,  # OUT  (hi-lo, c)  keys
):
    """Try the neighbours of the neighbours: old lists in, new lists out."""
    seen = np.full(SEEN, -1, np.int64)
    m = entries.shape[1]
    candidates = np.empty((m + reverse.shape[1]) * (m + 1) + 1, np.int32)
    tried = np.empty(candidates.size, np.int64)
    for i in range(lo, hi):
        if stop[0]:
            return
        own = new[i - lo]
        for u in range(own.size):
            own[u] = old[i, u] if old[i, u] == NOBODY else old[i, u] & ~np.int64(1)
        count = collect_candidates(i, own, entries, reverse, counts, seen, candidates)
        for p in range(count):  # all distances first: what is far in memory is loaded side by side
            tried[p] = key_of(rank_of(space, i, candidates[p]), candidates[p])
        for p in range(count):
            insert_key(own, tried[p])


@njit
def rank_rows(
    space,  # IN   (X, row)
    rows,  # IN   (q,)    points
    keys,  # IN   (q, c)  lists of these points
    stop,  # IN   (1,)
    ranked,  # OUT  (q, w)  keys
):
    """Order the lists of some points by exact distances."""
    for q in range(rows.size):
        if stop[0]:
            return
        ranked[q] = NOBODY
        for key in keys[q]:
            if key != NOBODY:
                j = entry_of(key) >> 1
                insert_key(ranked[q], key_of(rank_of(space, rows[q], j), j))


@inner_njit
def limit_of(space, key, rounding):
    """Return the square of the distance of a key, a little longer; inf for nobody."""
    if key == NOBODY:
        return np.float32(np.inf)
    return (np.sqrt(as_float(space, key >> np.int64(32))) + rounding) ** 2


@njit
def audit_rows(
    space,  # IN   (X, row)
    head,  # IN   (n, s)  float32, a projection of X
    rounding,  # IN   how much longer than in X a distance of heads may be
    product_rounding,  # IN   how wrong a squared distance by products may be
    sample,  # IN   (q,)    points to audit
    stop,  # IN   (1,)
    truth,  # IN/OUT  (q, k)  keys by exact distances: neighbours to start from, then the true ones
):
    """Find the true neighbours of a sample: all points, except those that the head proves too far."""
    last = truth.shape[1] - 1
    n, s = head.shape
    own = np.empty((sample.size, s), np.float32)
    for q in range(sample.size):
        own[q] = head[sample[q]]
    own_norms = np.empty(sample.size, np.float32)
    squared_norms(own, sample.size, own_norms)
    norms = np.empty(TILE, np.float32)
    work = np.empty(sample.size * TILE, np.float32)
    for first in range(0, n, TILE):
        if stop[0]:
            return
        width = min(TILE, n - first)
        squared_norms(head[first : first + width], width, norms)
        products = work[: sample.size * width].reshape(sample.size, width)
        np.dot(own, head[first : first + width].T, products)
        for q in range(sample.size):
            i = sample[q]
            limit = limit_of(space, truth[q, last], rounding) + product_rounding - own_norms[q]
            for p in range(width):
                if norms[p] - np.float32(2.0) * products[q, p] <= limit and first + p != i:
                    insert_key(truth[q], key_of(rank_of(space, i, first + p), first + p))
                    limit = limit_of(space, truth[q, last], rounding) + product_rounding - own_norms[q]
