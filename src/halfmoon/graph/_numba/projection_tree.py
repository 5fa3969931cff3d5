"""Trees of balanced cells, and the comparison of each cell with the cells near it.

Each function works on a range of cells and writes arrays for this range alone: the result does not depend on threads.
When stop[0] is set, they return early; what they have written is then of no use.
"""

from __future__ import annotations

import numpy as np

from halfmoon.graph._numba.distances import as_float, rank_of, squared_norms
from halfmoon.graph._numba.lists import NOBODY, insert_key, key_of
from halfmoon.runtime.jit import fast_inner_njit, inner_njit, njit

__all__ = ["LANES", "cell_means", "search_cells", "split_cells"]

LANES = 16  # columns whose smallest entry is found together


@inner_njit
def scramble(
    x,  # IN   uint64
):
    """Return the next number of the splitmix64 sequence after x."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@fast_inner_njit
def project_members(
    points,  # IN   (n, s)
    members,  # IN   (m,)
    lo,  # IN   project members[lo:hi]
    hi,  # IN
    seed,  # IN   uint64
    direction,  # WORK (s,)
    keys,  # OUT  (m,)  keys[lo:hi]
):
    """Project members on the line through two of them, drawn by the seed."""
    count = np.uint64(hi - lo)
    draw = scramble(seed)
    a = members[lo + np.int64(draw % count)]
    b = members[lo + np.int64(scramble(draw + np.uint64(1)) % count)]
    for t in range(direction.size):
        direction[t] = points[a, t] - points[b, t]
    for p in range(lo, hi):
        row = points[members[p]]
        key = np.float32(0.0)
        for t in range(direction.size):
            key += row[t] * direction[t]
        keys[p] = key


@inner_njit
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
    direction,  # WORK (s,)
    keys,  # WORK (m,)   float32
    members,  # IN/OUT  (m,)  at the positions from bounds[first] on
):
    """Halve the members of a range of cells, again and again, at the median along a random line."""
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
            project_members(points, members, lo - start, hi - start, of_cell, direction, keys)
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
        for t in range(mean.size):
            mean[t] = 0.0
        for p in range(bounds[cell], bounds[cell + 1]):
            row = points[members[p]]
            for t in range(row.size):
                mean[t] += row[t]
        for t in range(mean.size):
            mean[t] /= bounds[cell + 1] - bounds[cell]


@inner_njit(fastmath={"reassoc", "contract", "nsz", "nnan"})  # nnan: or smallest numbers are not found side by side
def squares_from_products(
    norms,  # IN   (m,)
    norm,  # IN   |a|^2
    products,  # IN/OUT  (m,)  a'b, becomes |a - b|^2
    smallest,  # OUT  (m / LANES,)  of each LANES entries
):
    """Turn one row of inner products into squared distances."""
    for block in range(smallest.size):
        least = np.float32(np.inf)
        for j in range(block * LANES, (block + 1) * LANES):
            products[j] = norm + norms[j] - np.float32(2.0) * products[j]
            least = min(least, products[j])
        smallest[block] = least


@inner_njit
def limit_for(
    smallest,  # IN   (b,)  smallest entries of disjoint parts of a row
    limit,  # IN
    sorted_smallest,  # WORK (w,)
):
    """Return a limit, at most the given one, below or at which the row has w entries if it has as many parts."""
    for q in range(sorted_smallest.size):
        sorted_smallest[q] = limit
    last = sorted_smallest.size - 1
    for b in range(smallest.size):
        value = smallest[b]
        if value < sorted_smallest[last]:
            q = last
            while q > 0 and sorted_smallest[q - 1] > value:
                sorted_smallest[q] = sorted_smallest[q - 1]
                q -= 1
            sorted_smallest[q] = value
    return sorted_smallest[last]


@inner_njit
def gather_cells(
    points,  # IN   (n, s)
    members,  # IN   (n,)
    bounds,  # IN   (cells+1,)
    near,  # IN   (p,)    cells to gather
    origin,  # IN   (s,)    subtracted, so that products lose no digits
    block,  # OUT  (m, s)
    names,  # OUT  (m,)
    norms,  # OUT  (m,)
):
    """Copy the points of near cells into a block; the rest of it is zeros, infinitely far away."""
    count = np.int64(0)  # a literal would be a type of its own to `squared_norms`
    for u in range(near.size):
        cell = near[u]
        for p in range(bounds[cell], bounds[cell + 1]):
            names[count] = members[p]
            for t in range(origin.size):
                block[count, t] = points[members[p], t] - origin[t]
            count += 1
    squared_norms(block, count, norms)
    for j in range(count, norms.size):
        for t in range(origin.size):
            block[j, t] = 0.0
        norms[j] = np.inf


@njit
def search_cells(
    points,  # IN   (n, s)  float32
    space,  # IN   where distances are measured in the end, see `distances.rank_of`
    unit,  # IN   squared distance of points per squared distance in the space
    members,  # IN   (n,)
    bounds,  # IN   (cells+1,)
    means,  # IN   (cells, s)
    near,  # IN   (cells, p)  cells to search for the members of a cell, itself first
    lo,  # IN   cells lo .. hi-1
    hi,  # IN
    stop,  # IN   (1,)
    block,  # WORK (r, s)  float32, r: room for the points of near cells, a multiple of LANES
    names,  # WORK (r,)    int32
    norms,  # WORK (r,)    float32
    products,  # WORK (c, r)  float32, c: points of the largest cell
    smallest,  # WORK (r / LANES,)  float32
    sorted_smallest,  # WORK (w,)  float32, w: points kept per point, at least where there are so many blocks of LANES
    keys,  # IN/OUT  (m, c)  lists of the members of these cells, in the order of `members`
):
    """Merge into the lists of the members of each cell the nearest points of its near cells, by a matrix product."""
    blocks = smallest.size
    for cell in range(lo, hi):
        if stop[0]:
            return
        first = bounds[cell] - bounds[lo]
        gather_cells(points, members, bounds, near[cell], means[cell], block, names, norms)
        np.dot(block[: products.shape[0]], block.T, products)
        for i in range(bounds[cell + 1] - bounds[cell]):
            row = products[i]
            own = keys[first + i]
            worst = own[own.size - 1]
            limit = np.float32(np.inf) if worst == NOBODY else unit * as_float(space, worst >> np.int64(32))
            row[i] = -np.inf  # not its own neighbour
            squares_from_products(norms, norms[i], row, smallest)
            limit = limit_for(smallest, limit, sorted_smallest)
            for b in range(blocks):
                if smallest[b] > limit:
                    continue
                for j in range(b * LANES, (b + 1) * LANES):
                    if row[j] <= limit and row[j] < np.inf:
                        insert_key(own, key_of(rank_of(space, names[i], names[j]), names[j]))
