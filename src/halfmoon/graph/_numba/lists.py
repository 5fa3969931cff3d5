"""Neighbour lists: (n, c) arrays, nearest first: squared distances (inf where empty) and entries.

An entry is ``2 * neighbour + fresh`` (-1 where empty); fresh entries are those of the last round of refinement.
"""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import njit

__all__ = ["copy_as_tried", "holds", "insert", "new_table", "reverse_lists", "seen_before"]


@njit
def insert(
    squares,  # IN/OUT  (c,)  one list, nearest first; the last one drops out
    entries,  # IN/OUT  (c,)
    square,  # IN
    entry,  # IN
):
    """Insert an entry that is nearer than the last one of its list."""
    q = squares.size - 1
    while q > 0 and squares[q - 1] > square:
        squares[q] = squares[q - 1]
        entries[q] = entries[q - 1]
        q -= 1
    squares[q] = square
    entries[q] = entry


@njit
def holds(
    entries,  # IN   (c,)
    neighbor,  # IN
):
    """Return whether a list names the neighbour."""
    for u in range(entries.size):  # noqa: SIM110  compiled
        if entries[u] >> 1 == neighbor:
            return True
    return False


@njit
def seen_before(
    seen,  # IN/OUT  (power of two,)  int64 hash table of row << 32 | j; entries of other rows count as free
    row,  # IN
    j,  # IN
):
    """Return whether j was met before in this row, and remember it."""
    mask = seen.size - 1
    slot = (j * 0x9E3779B1 >> 7) & mask
    key = (np.int64(row) << 32) | np.int64(j)
    while seen[slot] >> 32 == row:
        if seen[slot] == key:
            return True
        slot = (slot + 1) & mask
    seen[slot] = key
    return False


@njit
def new_table(
    capacity,  # IN
):
    """Return an empty hash table for `seen_before`, at most half full with this many numbers."""
    size = 64
    while size < 2 * capacity:
        size *= 2
    return np.full(size, -1, np.int64)


@njit
def copy_as_tried(
    old,  # IN   (c,)
    entries,  # OUT  (c,)
):
    """Copy a list, no entry fresh any more."""
    for u in range(old.size):
        entries[u] = -1 if old[u] < 0 else old[u] & ~1


@njit
def reverse_lists(
    entries,  # IN   (n, c)
    lo,  # IN   points lo .. hi-1
    hi,  # IN
    stop,  # IN   (1,)    not 0: return early
    reverse,  # OUT  (hi-lo, r)  entries 2 i + fresh of the points i that name a point, nearest first
    counts,  # OUT  (hi-lo,)
):
    """List, for each of some points, up to r of the points that name it."""
    counts[:] = 0
    for u in range(entries.shape[1]):
        if stop[0]:
            return
        for i in range(entries.shape[0]):
            j = (entries[i, u] >> 1) - lo
            if 0 <= j < hi - lo and counts[j] < reverse.shape[1]:
                reverse[j, counts[j]] = 2 * i + (entries[i, u] & 1)
                counts[j] += 1
