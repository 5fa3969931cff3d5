"""Neighbours of neighbours, the ranking of candidates by exact distances, and the audit of a sample.

Each function works on a range of rows and writes arrays for this range alone: the result does not depend on threads.
When stop[0] is set, they return early; what they have written is then of no use.
"""

from __future__ import annotations

import numpy as np

from halfmoon.graph._numba.distances import exact_distance, sketch_distance
from halfmoon.graph._numba.lists import copy_as_tried, holds, insert, new_table, seen_before
from halfmoon.runtime.jit import njit

__all__ = ["audit_rows", "rank_candidates", "refine_exact", "refine_sketch"]

TILE = 256  # points audited at once


@njit
def collect_candidates(
    i,  # IN
    old,  # IN   (n, c)
    reverse,  # IN   (n, r)
    counts,  # IN   (n,)
    seen,  # WORK hash table
    candidates,  # OUT  (more than (c+r)(c+1),)
):
    """Collect the neighbours of the neighbours of i, each once, less pairs tried a round ago; return their count."""
    c = old.shape[1]
    count = 0
    for u in range(c + counts[i]):  # no branches on what is far in memory: the loads overlap
        middle = old[i, u] if u < c else reverse[i, u - c]
        if middle < 0:
            continue
        candidates[count] = middle >> 1
        count += middle & 1
        for v in range(c):
            candidates[count] = old[middle >> 1, v] >> 1
            count += (middle | old[middle >> 1, v]) & 1
    seen_before(seen, i, i)
    for u in range(c):
        seen_before(seen, i, old[i, u] >> 1)
    kept = 0
    for p in range(count):
        j = candidates[p]
        if j >= 0 and not seen_before(seen, i, j):
            candidates[kept] = j
            kept += 1
    return kept


@njit
def refine_sketch(
    points,  # IN   (n, s)
    old_squares,  # IN   (n, c)
    old,  # IN   (n, c)
    reverse,  # IN   (n, r)
    counts,  # IN   (n,)
    lo,  # IN   rows lo .. hi-1
    hi,  # IN
    stop,  # IN   (1,)
    squares,  # OUT  (hi-lo, c)
    entries,  # OUT  (hi-lo, c)
):
    """Try the neighbours of the neighbours by distances in the sketch: old lists in, new lists out."""
    c = old.shape[1]
    capacity = (c + reverse.shape[1]) * (c + 1) + c + 1
    seen = new_table(capacity)
    candidates = np.empty(capacity, np.int32)
    tried = np.empty(capacity, np.float32)
    for i in range(lo, hi):
        if stop[0]:
            return
        own_squares = squares[i - lo]
        own_entries = entries[i - lo]
        own_squares[:] = old_squares[i]
        copy_as_tried(old[i], own_entries)
        count = collect_candidates(i, old, reverse, counts, seen, candidates)
        for p in range(count):
            tried[p] = sketch_distance(points, i, candidates[p])
        for p in range(count):
            if tried[p] < own_squares[c - 1]:
                insert(own_squares, own_entries, tried[p], 2 * candidates[p] + 1)


@njit
def refine_exact(
    X,  # IN   (m, d) array, or tuple of a csr_array
    row,  # IN   (n,)    row of X of a point
    points,  # IN   (n, s)  a projection of X: distances there are never larger
    old_squares,  # IN   (n, c)  exact squared distances
    old,  # IN   (n, c)
    reverse,  # IN   (n, r)
    counts,  # IN   (n,)
    k,  # IN   improve the first k
    lo,  # IN   rows lo .. hi-1
    hi,  # IN
    stop,  # IN   (1,)
    squares,  # OUT  (hi-lo, c)
    entries,  # OUT  (hi-lo, c)
):
    """Try the neighbours of the neighbours by exact distances, less those that the sketch proves too far."""
    c = old.shape[1]
    capacity = (c + reverse.shape[1]) * (c + 1) + c + 1
    seen = new_table(capacity)
    candidates = np.empty(capacity, np.int32)
    bound = np.empty(capacity, np.float32)
    for i in range(lo, hi):
        if stop[0]:
            return
        own_squares = squares[i - lo]
        own_entries = entries[i - lo]
        own_squares[:] = old_squares[i]
        copy_as_tried(old[i], own_entries)
        count = collect_candidates(i, old, reverse, counts, seen, candidates)
        for p in range(count):
            bound[p] = sketch_distance(points, i, candidates[p])
        for p in range(count):
            if bound[p] < own_squares[k - 1]:
                square = exact_distance(X, row[i], row[candidates[p]])
                if square < own_squares[k - 1]:
                    insert(own_squares, own_entries, square, 2 * candidates[p] + 1)


@njit
def rank_candidates(
    X,  # IN   (m, d) array, or tuple of a csr_array
    row,  # IN   (n,)
    candidates,  # IN   (n, c)  entries
    lo,  # IN   rows lo .. hi-1
    hi,  # IN
    stop,  # IN   (1,)
    squares,  # IN/OUT  (hi-lo, w)  exact squared distances
    entries,  # IN/OUT  (hi-lo, w)
):
    """Merge candidates into lists by their exact distances."""
    last = squares.shape[1] - 1
    for i in range(lo, hi):
        if stop[0]:
            return
        own_squares = squares[i - lo]
        own_entries = entries[i - lo]
        for u in range(candidates.shape[1]):
            if candidates[i, u] < 0 or holds(own_entries, candidates[i, u] >> 1):
                continue
            square = exact_distance(X, row[i], row[candidates[i, u] >> 1])
            if square < own_squares[last]:
                insert(own_squares, own_entries, square, candidates[i, u] | 1)


@njit
def audit_rows(
    X,  # IN   (m, d) array, or tuple of a csr_array
    row,  # IN   (n,)
    points,  # IN   (n, s)  a projection of X
    rounding,  # IN   how much longer than in X a distance of points may be
    sample,  # IN   (q,)    points to audit
    candidates,  # IN   (n, c)  entries, to start from
    stop,  # IN   (1,)
    squares,  # OUT  (q, k)
    entries,  # OUT  (q, k)
):
    """Find the true neighbours of a sample: all points, except those that the sketch proves too far."""
    last = squares.shape[1] - 1
    limits = np.empty(sample.size, np.float32)
    for q in range(sample.size):
        i = sample[q]
        squares[q] = np.inf
        entries[q] = -1
        for u in range(candidates.shape[1]):
            if candidates[i, u] >= 0:
                square = exact_distance(X, row[i], row[candidates[i, u] >> 1])
                if square < squares[q, last]:
                    insert(squares[q], entries[q], square, candidates[i, u])
        limits[q] = (np.sqrt(squares[q, last]) + rounding) ** 2
    for first in range(0, points.shape[0], TILE):  # a tile of points stays in cache for all samples
        if stop[0]:
            return
        for q in range(sample.size):
            for j in range(first, min(first + TILE, points.shape[0])):
                if sketch_distance(points, sample[q], j) > limits[q]:
                    continue
                if j == sample[q] or holds(entries[q], j):
                    continue
                square = exact_distance(X, row[sample[q]], row[j])
                if square < squares[q, last]:
                    insert(squares[q], entries[q], square, 2 * j)
                    limits[q] = (np.sqrt(squares[q, last]) + rounding) ** 2
