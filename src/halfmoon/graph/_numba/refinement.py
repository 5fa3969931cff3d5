"""Neighbours of neighbours, and the ranking of candidates by exact distances.

Each function works on a range of rows and writes arrays for this range alone: the result does not depend on threads.
When stop[0] is set, they return early; what they have written is then of no use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._numba.distances import fetch, rank_of
from halfmoon.graph._numba.lists import NOBODY, entry_of, insert_key, key_of
from halfmoon.runtime.jit import inner_njit, njit
from halfmoon.runtime.prefetch import AHEAD

__all__ = ["rank_rows", "refine"]

Array = NDArray[Any]

SEEN = 4096  # slots of the table of candidates met: a power of two


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
    entries,  # IN   (n, c)
    reverse,  # IN   (n, c)
    counts,  # IN   (n,)
    m,  # IN   entries of each list, and points that name i, to join at most
    seen,  # WORK (SEEN,)
    candidates,  # OUT  (2 m (m+1) + 1,)
):
    """Collect the neighbours of the neighbours of i, less pairs tried a round ago; return their count."""
    count = 0
    for u in range(m + min(m, counts[i])):  # no branches on what is far in memory: the loads overlap
        middle = entries[i, u] if u < m else reverse[i, u - m]
        if middle < 0:
            continue
        candidates[count] = middle >> 1
        count += middle & 1
        for v in range(m):
            candidates[count] = entries[middle >> 1, v] >> 1
            count += (middle | entries[middle >> 1, v]) & 1
    for u in range(own.size):
        if own[u] != NOBODY:
            met_before(seen, i, np.int32(entry_of(own[u]) >> 1))
    kept = 0
    for p in range(count):
        j = candidates[p]
        candidates[kept] = j
        kept += j >= 0 and j != i and not met_before(seen, i, j)
    return kept


@njit
def try_candidates(
    space,  # IN   where distances are measured, see `distances.rank_of`
    old,  # IN   (n, w)  keys
    entries,  # IN   (n, c)  the first entries of each list
    reverse,  # IN   (n, c)  who names a point
    counts,  # IN   (n,)
    joined,  # IN   entries of each list to join, at most c
    rows,  # IN   (q,)    points to try them for
    stop,  # IN   (1,)
    seen,  # WORK (SEEN,)  int64, all -1
    candidates,  # WORK (2 joined (joined+1) + 1,)  int32
    tried,  # WORK (2 joined (joined+1) + 1,)  int64
    new,  # OUT  (q, w)  keys
):
    """Try the neighbours of the neighbours: old lists in, new lists out."""
    for q in range(rows.size):
        if stop[0]:
            return
        i = rows[q]
        own = new[q]
        for u in range(own.size):
            own[u] = old[i, u] if old[i, u] == NOBODY else old[i, u] & ~np.int64(1)
        count = collect_candidates(i, own, entries, reverse, counts, joined, seen, candidates)
        for p in range(count):  # all distances first: what is far in memory is loaded side by side
            fetch(space, candidates[min(p + AHEAD, count - 1)])
            tried[p] = key_of(rank_of(space, np.int32(i), candidates[p]), candidates[p])
        for p in range(count):
            insert_key(own, tried[p])


def refine(
    space: Any,
    old: Array,
    entries: Array,
    reverse: Array,
    counts: Array,
    joined: int,
    rows: Array,
    stop: Array,
    new: Array,
) -> None:
    """Try the neighbours of the neighbours in `try_candidates`, with arrays to work in: these are not compiled."""
    most = 2 * joined * (joined + 1) + 1
    work = np.full(SEEN, -1, np.int64), np.empty(most, np.int32), np.empty(most, np.int64)
    try_candidates(space, old, entries, reverse, counts, joined, rows, stop, *work, new)


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
        nearest = ranked[q]
        for u in range(nearest.size):
            nearest[u] = NOBODY
        for u in range(keys.shape[1]):
            following = keys[q, min(u + 1, keys.shape[1] - 1)]
            if following != NOBODY:
                fetch(space, entry_of(following) >> 1)
            if keys[q, u] != NOBODY:
                j = entry_of(keys[q, u]) >> 1
                insert_key(nearest, key_of(rank_of(space, rows[q], j), j))
