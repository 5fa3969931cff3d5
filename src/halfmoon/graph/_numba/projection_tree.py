"""Trees of balanced cells, and the comparison of each cell with the cells near it.

Each function works on a range of cells and writes arrays for this range alone: the result does not depend on threads.
When stop[0] is set, they return early; what they have written is then of no use.
"""

from __future__ import annotations

import numpy as np

from halfmoon.graph._numba.distances import as_float, fetch, rank_of
from halfmoon.graph._numba.lists import NOBODY, insert_key, key_of
from halfmoon.runtime.jit import fast_inner_njit, inner_njit, njit
from halfmoon.runtime.lanes import WIDTH, at_most, larger, load, lowest_one, muladd, ones, smaller, splat, store
from halfmoon.runtime.prefetch import AHEAD, fetch_row

__all__ = ["cell_means", "search_cells", "split_cells"]

FARTHEST = np.finfo(np.float32).max  # finite: places without a point are farther
BISECTIONS = 12


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


@inner_njit
def gather_panels(
    points,  # IN   (n, s)
    members,  # IN   (n,)
    bounds,  # IN   (cells+1,)
    near,  # IN   (p,)    cells to gather
    origin,  # IN   (s,)    subtracted, so that products lose no digits
    panels,  # OUT  (q s, WIDTH)  row b s + t: coordinate t of the points of panel b
    halves,  # OUT  (q, WIDTH)  half their squared lengths
    names,  # OUT  (q WIDTH,)
):
    """Lay the points of near cells side by side; places without a point are zeros, infinitely far away."""
    s = origin.size
    count = 0
    for u in range(near.size):
        for p in range(bounds[near[u]], bounds[near[u] + 1]):
            fetch_row(points, members[min(p + AHEAD, members.size - 1)])
            point = points[members[p]]
            row = count // WIDTH * s
            lane = count % WIDTH
            square = np.float32(0.0)
            for t in range(s):
                x = point[t] - origin[t]
                panels[row + t, lane] = x
                square += x * x
            halves[count // WIDTH, lane] = np.float32(0.5) * square
            names[count] = members[p]
            count += 1
    for j in range(count, names.size):
        for t in range(s):
            panels[j // WIDTH * s + t, j % WIDTH] = 0.0
        halves[j // WIDTH, j % WIDTH] = np.inf


@inner_njit
def compare_four(
    panels,  # IN   (q s, WIDTH)
    halves,  # IN   (q, WIDTH)
    i,  # IN   a multiple of 4
    gaps,  # OUT  (4 q, WIDTH)  rows r q .. r q + q - 1: of point i + r
):
    """Set gaps <- (|a - b|^2 - |a|^2) / 2 for four of the points and all of them: |b|^2 / 2 - a'b."""
    q = halves.shape[0]
    s = panels.shape[0] // q
    own = i // WIDTH * s
    lane = i % WIDTH
    for p in range(q):
        a = load(halves, p)
        b = a
        c = a
        d = a
        for t in range(s):
            x = load(panels, p * s + t)
            a = muladd(x, splat(-panels[own + t, lane]), a)
            b = muladd(x, splat(-panels[own + t, lane + 1]), b)
            c = muladd(x, splat(-panels[own + t, lane + 2]), c)
            d = muladd(x, splat(-panels[own + t, lane + 3]), d)
        store(gaps, p, a)
        store(gaps, q + p, b)
        store(gaps, 2 * q + p, c)
        store(gaps, 3 * q + p, d)


@inner_njit
def parts_within(a, b, c, d, limit):
    # IN a, b, c, d: smallest entries of WIDTH parts each
    """Return how many parts have an entry within a limit."""
    x = splat(limit)
    return ones(at_most(a, x)) + ones(at_most(b, x)) + ones(at_most(c, x)) + ones(at_most(d, x))


@inner_njit
def limit_for(
    gaps,  # IN   (4 q, WIDTH)
    first,  # IN   rows first .. last-1, a multiple of 4 of them
    last,  # IN
    wanted,  # IN
    limit,  # IN
    extremes,  # WORK (2, WIDTH)
):
    """Return a limit, at most the given one, that not many more than the wanted entries are below or at.

    They are counted by the smallest entries of 4 WIDTH parts: as many parts have an entry within the limit.
    """
    a = load(gaps, first)
    b = load(gaps, first + 1)
    c = load(gaps, first + 2)
    d = load(gaps, first + 3)
    for p in range(first + 4, last, 4):
        a = smaller(a, load(gaps, p))
        b = smaller(b, load(gaps, p + 1))
        c = smaller(c, load(gaps, p + 2))
        d = smaller(d, load(gaps, p + 3))
    store(extremes, 0, smaller(smaller(a, b), smaller(c, d)))
    store(extremes, 1, larger(larger(a, b), larger(c, d)))
    low = extremes[0, 0]
    high = extremes[1, 0]
    for u in range(1, WIDTH):
        low = min(low, extremes[0, u])
        high = max(high, extremes[1, u])
    high = min(high, limit)
    if parts_within(a, b, c, d, high) < wanted:
        return limit
    for _ in range(BISECTIONS):
        middle = np.float32(0.5) * (low + high)
        count = parts_within(a, b, c, d, middle)
        if count < wanted:
            low = middle
        else:
            high = middle
        if count == wanted:
            break
    return high


@inner_njit
def names_within(
    gaps,  # IN   (4 q, WIDTH)
    first,  # IN   rows first .. last-1
    last,  # IN
    limit,  # IN
    names,  # IN   (q WIDTH,)
    found,  # OUT  (q WIDTH,)
):
    """List the names of the entries within a limit; return their count."""
    count = 0
    all_lanes = splat(limit)
    for p in range(first, last):
        mask = at_most(load(gaps, p), all_lanes)
        while mask != 0:
            found[count] = names[(p - first) * WIDTH + lowest_one(mask)]
            count += 1
            mask &= mask - 1
    return count


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
    wanted,  # IN   points kept per point, about
    stop,  # IN   (1,)
    panels,  # WORK (q s, WIDTH)  float32, q: panels that hold the points of near cells, a multiple of 4
    halves,  # WORK (q, WIDTH)    float32
    names,  # WORK (q WIDTH,)     int32
    gaps,  # WORK (4 q, WIDTH)  float32
    extremes,  # WORK (2, WIDTH)    float32
    found,  # WORK (q WIDTH,)     int32
    tried,  # WORK (q WIDTH,)     int64
    keys,  # IN/OUT  (m, c)  lists of the members of these cells, in the order of `members`
):
    """Merge into the lists of the members of each cell the nearest points of its near cells."""
    q = halves.shape[0]
    for cell in range(lo, hi):
        if stop[0]:
            return
        first = bounds[cell] - bounds[lo]
        gather_panels(points, members, bounds, near[cell], means[cell], panels, halves, names)
        for i in range(bounds[cell + 1] - bounds[cell]):
            row = i % 4 * q
            if row == 0:
                compare_four(panels, halves, i, gaps)
            own = keys[first + i]
            worst = own[own.size - 1]
            limit = FARTHEST
            if worst != NOBODY:
                limit = np.float32(0.5) * unit * as_float(space, worst >> np.int64(32)) - halves[i // WIDTH, i % WIDTH]
            gaps[row + i // WIDTH, i % WIDTH] = np.inf  # not its own neighbour
            limit = limit_for(gaps, row, row + q, wanted, limit, extremes)
            count = names_within(gaps, row, row + q, limit, names, found)
            for u in range(count):  # all distances first: what is far in memory is loaded side by side
                fetch(space, found[min(u + AHEAD, count - 1)])
                tried[u] = key_of(rank_of(space, names[i], found[u]), found[u])
            for u in range(count):
                insert_key(own, tried[u])
