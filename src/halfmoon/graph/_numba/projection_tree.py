"""Trees of balanced cells, and the comparison of each cell with the cells near it.

Each function works on a range of cells and writes arrays for this range alone: the result does not depend on threads.
When stop[0] is set, they return early; what they have written is then of no use.
"""

from __future__ import annotations

import numpy as np

from halfmoon.graph._numba.distances import squared_norms
from halfmoon.graph._numba.lists import holds, insert
from halfmoon.runtime.jit import fast_njit, njit

__all__ = ["cell_means", "probe_cells", "search_cells", "split_cells"]

LANES = 16  # columns tested together against the worst entry of a list
COLUMNS = 512  # points multiplied at once: the block of products stays in cache


@njit
def scramble(
    x,  # IN   uint64
):
    """Return the next number of the splitmix64 sequence after x."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@fast_njit
def project_members(
    points,  # IN   (n, s)
    members,  # IN   (m,)
    lo,  # IN   project members[lo:hi]
    hi,  # IN
    seed,  # IN   uint64
    keys,  # OUT  (m,)  keys[lo:hi]
):
    """Project members on the line through two of them, drawn by the seed."""
    count = np.uint64(hi - lo)
    draw = scramble(seed)
    a = members[lo + np.int64(draw % count)]
    b = members[lo + np.int64(scramble(draw + np.uint64(1)) % count)]
    direction = points[a] - points[b]
    for p in range(lo, hi):
        row = points[members[p]]
        key = np.float32(0.0)
        for t in range(direction.size):
            key += row[t] * direction[t]
        keys[p] = key


@njit
def select_half(
    keys,  # IN/OUT  (m,)
    members,  # IN/OUT  (m,)  moved along with the keys
    lo,  # IN
    hi,  # IN
    mid,  # IN
):
    """Reorder keys[lo:hi] so that none before mid exceeds one from mid on (quickselect)."""
    left = lo
    right = hi - 1
    while left < right:
        a = keys[left]
        b = keys[(left + right) // 2]
        c = keys[right]
        pivot = max(min(a, b), min(max(a, b), c))
        i = left
        j = right
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                members[i], members[j] = members[j], members[i]
                i += 1
                j -= 1
        if mid <= j:
            right = j
        elif mid >= i:
            left = i
        else:
            return


@njit
def split_cells(
    points,  # IN   (n, s)
    bounds,  # IN   (cells+1,)  cell a holds the positions bounds[a] .. bounds[a+1]-1
    first,  # IN   split the cells first .. last-1, a power of two of them
    last,  # IN
    depth,  # IN   number of levels to split
    seed,  # IN   uint64
    stop,  # IN   (1,)
    members,  # IN/OUT  (m,)  at the positions from bounds[first] on
):
    """Halve the members of a range of cells, again and again, at the median along a random line."""
    keys = np.empty(members.size, np.float32)
    start = bounds[first]
    width = last - first
    for _ in range(depth):
        if width == 1:
            return
        for cell in range(first, last, width):
            if stop[0]:
                return
            lo = bounds[cell]
            hi = bounds[cell + width]
            of_cell = seed + np.uint64(0x9E3779B97F4A7C15) * np.uint64(lo) + np.uint64(hi)
            project_members(points, members, lo - start, hi - start, of_cell, keys)
            select_half(keys, members, lo - start, hi - start, bounds[cell + width // 2] - start)
        width //= 2


@njit
def cell_means(
    points,  # IN   (n, s)
    members,  # IN   (n,)
    bounds,  # IN   (cells+1,)
    lo,  # IN   cells lo .. hi-1
    hi,  # IN
    means,  # OUT  (hi-lo, s)
):
    """Average the members of each cell."""
    for cell in range(lo, hi):
        mean = means[cell - lo]
        mean[:] = 0.0
        for p in range(bounds[cell], bounds[cell + 1]):
            row = points[members[p]]
            for t in range(row.size):
                mean[t] += row[t]
        for t in range(mean.size):
            mean[t] /= bounds[cell + 1] - bounds[cell]


@fast_njit
def distances_from_products(
    norms,  # IN   (m,)
    products,  # IN/OUT  (m,)  a'b, becomes |b|^2 - 2 a'b
):
    """Turn one row of inner products into squared distances, short of |a|^2."""
    for j in range(products.size):
        products[j] = norms[j] - np.float32(2.0) * products[j]


@fast_njit
def smallest_of_lanes(
    row,  # IN   (m,)
    first,  # IN
):
    """Return the smallest of LANES entries."""
    smallest = row[first]
    for u in range(1, LANES):
        smallest = min(smallest, row[first + u])
    return smallest


@njit
def merge_row(
    row,  # IN   (m,)  squared distances of me to the points of a block, short of |me|^2
    names,  # IN   (m,)  the points of the block
    norm,  # IN   |me|^2
    me,  # IN
    squares,  # IN/OUT  (c,)
    entries,  # IN/OUT  (c,)
):
    """Merge the points of a block that are near enough into the list of one point."""
    last = squares.size - 1
    worst = squares[last] - norm
    for first in range(0, row.size, LANES):
        if smallest_of_lanes(row, first) >= worst:
            continue
        for j in range(first, first + LANES):
            if row[j] < worst and names[j] != me and not holds(entries, names[j]):
                insert(squares, entries, max(np.float32(0.0), row[j] + norm), 2 * names[j] + 1)
                worst = squares[last] - norm


@njit
def gather_cells(
    points,  # IN   (n, s)
    members,  # IN   (n,)
    bounds,  # IN   (cells+1,)
    near,  # IN   (p,)    cells to gather
    start,  # IN   first of them
    origin,  # IN   (s,)    subtracted, so that products lose no digits
    block,  # OUT  (m, s)
    names,  # OUT  (m,)
    norms,  # OUT  (m,)
):
    """Copy the points of near cells into a block until it is full; return the next cell and the padded length."""
    count = 0
    while start < near.size and count < COLUMNS:
        for p in range(bounds[near[start]], bounds[near[start] + 1]):
            names[count] = members[p]
            for t in range(origin.size):
                block[count, t] = points[members[p], t] - origin[t]
            count += 1
        start += 1
    squared_norms(block, count, norms)
    padded = -(-count // LANES) * LANES
    for j in range(count, padded):
        block[j] = 0.0
        norms[j] = np.inf
        names[j] = -1
    return start, padded


@njit
def search_cells(
    points,  # IN   (n, s)  float32
    members,  # IN   (n,)
    bounds,  # IN   (cells+1,)
    means,  # IN   (cells, s)
    near,  # IN   (cells, p)  cells to search for the members of a cell
    lo,  # IN   cells lo .. hi-1
    hi,  # IN
    stop,  # IN   (1,)
    squares,  # IN/OUT  (m, c)  lists of the members of these cells, in the order of `members`
    entries,  # IN/OUT  (m, c)
):
    """Merge into the lists of the members of each cell all points of its near cells, by blocks of inner products."""
    s = points.shape[1]
    largest = 0
    for cell in range(bounds.size - 1):
        largest = max(largest, bounds[cell + 1] - bounds[cell])
    own = np.empty((largest, s), np.float32)
    own_names = np.empty(largest, np.int32)
    own_norms = np.empty(largest, np.float32)
    room = COLUMNS + largest + LANES
    block = np.empty((room, s), np.float32)
    names = np.empty(room, np.int32)
    norms = np.empty(room, np.float32)
    space = np.empty(largest * room, np.float32)
    for cell in range(lo, hi):
        if stop[0]:
            return
        m = bounds[cell + 1] - bounds[cell]
        first = bounds[cell] - bounds[lo]
        for i in range(m):
            own_names[i] = members[bounds[cell] + i]
            for t in range(s):
                own[i, t] = points[own_names[i], t] - means[cell, t]
        squared_norms(own, m, own_norms)
        start = 0
        while start < near.shape[1]:
            start, count = gather_cells(points, members, bounds, near[cell], start, means[cell], block, names, norms)
            products = space[: m * count].reshape(m, count)
            np.dot(own[:m], block[:count].T, products)
            for i in range(m):
                distances_from_products(norms, products[i])
                merge_row(
                    products[i], names[:count], own_norms[i], own_names[i], squares[first + i], entries[first + i]
                )


@fast_njit
def distance_to(
    query,  # IN   (s,)
    point,  # IN   (s,)
):
    """Return |query - point|^2."""
    total = np.float32(0.0)
    for t in range(query.size):
        difference = query[t] - point[t]
        total += difference * difference
    return total


@njit
def probe_cells(
    queries,  # IN   (b, s)  float32
    points,  # IN   (n, s)  float32, in the order of the cells
    bounds,  # IN   (cells+1,)
    near,  # IN   (b, p)  cells to search for a query
    stop,  # IN   (1,)
    found,  # OUT  (b, c)  the nearest points in these cells, nearest first; 0 where there are fewer
):
    """Find the nearest points to each query among those of some cells."""
    squares = np.empty(found.shape[1], np.float32)
    for i in range(queries.shape[0]):
        if stop[0]:
            return
        squares[:] = np.inf
        found[i] = 0
        for cell in near[i]:
            for p in range(bounds[cell], bounds[cell + 1]):
                square = distance_to(queries[i], points[p])
                if square < squares[-1]:
                    insert(squares, found[i], square, p)
