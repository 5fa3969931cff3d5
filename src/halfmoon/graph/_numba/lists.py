"""Neighbour lists: (n, c) arrays of int64 keys, nearest first.

A key is ``rank << 32 | 2 * neighbour + fresh``: rank is an int32 that sorts like the distance (`distances.rank_of`),
and fresh entries are those of the last round. Keys sort by distance, and a neighbour that a list has already is found
where it would be inserted. NOBODY, larger than any key, fills the rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from halfmoon.runtime.jit import inner_njit, njit

__all__ = ["NOBODY", "entry_of", "insert", "insert_key", "key_of", "list_entries", "reverse_lists"]

NOBODY = np.int64(0x7FFF_FFFF_FFFF_FFFF)
ENTRY = np.int64(0xFFFF_FFFF)


@inner_njit
def key_of(
    rank,  # IN   int32
    neighbor,  # IN
):
    """Return the key of a fresh neighbour."""
    return (np.int64(rank) << np.int64(32)) | np.int64(2 * neighbor + 1)


@inner_njit
def entry_of(
    key,  # IN
):
    """Return 2 * neighbour + fresh, -1 for nobody."""
    return np.int32(-1) if key == NOBODY else np.int32(key & ENTRY)


@inner_njit
def insert_key(
    keys,  # IN/OUT  (c,)  one list; the last one drops out
    key,  # IN   of a fresh neighbour
):
    """Insert a neighbour unless the list has it, or is full of nearer ones."""
    last = keys.size - 1
    if key >= keys[last]:
        return
    known = np.int64(0)
    for u in range(keys.size):
        known += np.int64((keys[u] | 1) == key)  # fresh or not
    if known:
        return
    for q in range(last, 0, -1):  # no branches: neighbouring numbers are moved side by side
        keys[q] = max(keys[q - 1], min(keys[q], key))
    keys[0] = min(keys[0], key)


def list_entries(keys: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    """Return `entry_of` the first keys of each list, -1 for NOBODY: what other rows read, in few bytes."""
    return keys[:, :count].astype(np.int32)  # the lower half


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
    for j in range(counts.size):
        counts[j] = 0
    for u in range(entries.shape[1]):
        if stop[0]:
            return
        for i in range(entries.shape[0]):
            j = (entries[i, u] >> 1) - lo
            if 0 <= j < hi - lo and counts[j] < reverse.shape[1]:
                reverse[j, counts[j]] = 2 * i + (entries[i, u] & 1)
                counts[j] += 1


@inner_njit
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
