"""Points in panels: 16 points side by side, coordinate after coordinate, so that one instruction serves them all.

Points are (p s, 16) float32 arrays: row q s + t holds coordinate t of the 16 points of panel q. Places that no point
fills hold inf, which is infinitely far from everything. Four queries are compared with a panel at once, while it is
in registers. Sums run over the coordinates in their order: a distance is the same number whatever it is computed with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.graph._numba.lists import insert
from halfmoon.graph._numba.nearest import distance
from halfmoon.runtime.jit import fast_inner_njit, inner_njit, njit
from halfmoon.runtime.lanes import WIDTH, load, muladd, splat, store, sub, zeros_of

__all__ = ["measure_found", "nearest_cells", "project_rows", "scan_cells"]

Array = NDArray[Any]


@inner_njit
def four_distances(
    queries,  # IN   (b, s)  float32
    i,  # IN   four of them
    j,  # IN
    k,  # IN
    m,  # IN
    panels,  # IN   (p s, 16)  float32
    row,  # IN   first row of a panel
    squares,  # OUT  (4, 16)  float32
):
    """Fill squares with the squared distances of four queries to the points of a panel."""
    a = zeros_of(squares)
    b = zeros_of(squares)
    c = zeros_of(squares)
    d = zeros_of(squares)
    for t in range(queries.shape[1]):
        x = load(panels, row + t)
        from_i = sub(x, splat(queries[i, t]))
        from_j = sub(x, splat(queries[j, t]))
        from_k = sub(x, splat(queries[k, t]))
        from_m = sub(x, splat(queries[m, t]))
        a = muladd(from_i, from_i, a)
        b = muladd(from_j, from_j, b)
        c = muladd(from_k, from_k, c)
        d = muladd(from_m, from_m, d)
    store(squares, 0, a)
    store(squares, 1, b)
    store(squares, 2, c)
    store(squares, 3, d)


@fast_inner_njit
def smallest(
    row,  # IN   (16,)
):
    """Return the smallest number of a row of lanes."""
    least = row[0]
    for u in range(1, WIDTH):
        least = min(least, row[u])
    return least


@njit
def scan_panels(
    queries,  # IN   (b, s)  float32
    members,  # IN   (m,)    of them
    panels,  # IN   (p s, 16)
    first,  # IN   panels first .. last-1
    last,  # IN
    nearest,  # IN/OUT  (b, w)  squared distances of the nearest so far, ascending
    places,  # IN/OUT  (b, w)  their places in the panels
):
    """Merge the points of some panels into the lists of some queries; among equals the first stays."""
    s = queries.shape[1]
    end = members.size - 1
    worst = nearest.shape[1] - 1
    squares = np.empty((4, WIDTH), np.float32)
    for g in range(0, members.size, 4):
        i, j, k, m = members[g], members[min(g + 1, end)], members[min(g + 2, end)], members[min(g + 3, end)]
        for p in range(first, last):
            four_distances(queries, i, j, k, m, panels, p * s, squares)
            for q in range(min(4, members.size - g)):
                own = members[g + q]
                if smallest(squares[q]) >= nearest[own, worst]:
                    continue
                for u in range(WIDTH):
                    if squares[q, u] < nearest[own, worst]:
                        insert(nearest[own], places[own], squares[q, u], p * WIDTH + u)


def nearest_cells(queries: Array, means: Array, cells: Array) -> None:
    # IN queries: (b, s) float32, means: (m s, 16) of the cells, in panels  OUT cells: (b, p), nearest first
    """Find the p cells with the nearest means to each query."""
    nearest = np.full(cells.shape, np.inf, np.float32)
    scan_panels(queries, np.arange(len(queries)), means, 0, len(means) // queries.shape[1], nearest, cells)


@inner_njit
def group_by_cell(
    cells,  # IN   (b, p)  cells of each query
    first,  # IN   columns first .. last-1
    last,  # IN
    bounds,  # OUT  (count+1,)
    at,  # WORK (count,)
    members,  # OUT  (b (last-first),)  the queries of cell a: members[bounds[a]:bounds[a+1]]
):
    """List the queries of each cell, in their order."""
    for a in range(bounds.size):
        bounds[a] = 0
    for i in range(cells.shape[0]):
        for u in range(first, last):
            bounds[cells[i, u] + 1] += 1
    for a in range(bounds.size - 1):
        bounds[a + 1] += bounds[a]
        at[a] = bounds[a]
    for i in range(cells.shape[0]):
        for u in range(first, last):
            members[at[cells[i, u]]] = i
            at[cells[i, u]] += 1


@njit
def scan_in_cells(
    queries,  # IN   (b, s)  float32
    panels,  # IN   (p s, 16)  points, cell after cell
    bounds,  # IN   (count+1,)  cell a has the panels bounds[a] .. bounds[a+1]-1
    cells,  # IN   (b, c)  to scan, nearest first
    stop,  # IN   (1,)    not 0: return early
    of_cell,  # WORK (count+1,)  int64
    at,  # WORK (count,)    int64
    members,  # WORK (b c,)    int64
    nearest,  # IN/OUT  (b, w)  inf, then squared distances of the nearest points in these cells, ascending
    places,  # OUT  (b, w)  their places in the panels, where there are so many
):
    """Find the nearest points to each query in its cells: first in its nearest cell, then cell by cell in the others.

    A cell is compared with all its queries while it is in the cache; after the nearest one few points are near enough.
    """
    for part in range(2):
        group_by_cell(cells, part, 1 if part == 0 else cells.shape[1], of_cell, at, members)
        for a in range(bounds.size - 1):
            if stop[0]:
                return
            own = members[of_cell[a] : of_cell[a + 1]]
            scan_panels(queries, own, panels, bounds[a], bounds[a + 1], nearest, places)


def scan_cells(
    queries: Array, panels: Array, bounds: Array, cells: Array, stop: Array, nearest: Array, places: Array
) -> None:
    """Find the nearest points to each query in its cells by `scan_in_cells`, with arrays to work in."""
    nearest[:] = np.inf
    work = np.empty(bounds.size, np.int64), np.empty(bounds.size - 1, np.int64), np.empty(cells.size, np.int64)
    scan_in_cells(queries, panels, bounds, cells, stop, *work, nearest, places)


@njit
def project_rows(
    rows,  # IN   (b, d)  float32
    components,  # IN   (p d, 16)  columns, in panels
    points,  # OUT  (b, 16 p)
):
    """Fill points with rows @ components, four rows and a panel of columns at once."""
    b, d = rows.shape
    lanes = points.reshape(-1, WIDTH)
    count = points.shape[1] // WIDTH
    for i in range(0, b, 4):
        j, k, m = min(i + 1, b - 1), min(i + 2, b - 1), min(i + 3, b - 1)
        for p in range(count):
            of_i = zeros_of(lanes)
            of_j = zeros_of(lanes)
            of_k = zeros_of(lanes)
            of_m = zeros_of(lanes)
            for t in range(d):
                x = load(components, p * d + t)
                of_i = muladd(x, splat(rows[i, t]), of_i)
                of_j = muladd(x, splat(rows[j, t]), of_j)
                of_k = muladd(x, splat(rows[k, t]), of_k)
                of_m = muladd(x, splat(rows[m, t]), of_m)
            store(lanes, i * count + p, of_i)
            store(lanes, j * count + p, of_j)
            store(lanes, k * count + p, of_k)
            store(lanes, m * count + p, of_m)


@njit
def measure_found(
    Y,  # IN   (b, d)  float64
    X,  # IN   (n, d)
    equal,  # IN   (b,)    row of X that equals a row of Y, or -1
    found,  # IN   (b, w)  rows of X, -1 where there is none
    distances,  # OUT  (b, k)  float64, ascending, inf where fewer than k rows are found
    indices,  # OUT  (b, k)  -1 there
):
    """Find the k nearest of the rows found, and of the one known to be equal; ties go to the lowest index."""
    k = indices.shape[1]
    for i in range(Y.shape[0]):
        for v in range(k):
            distances[i, v] = np.inf
            indices[i, v] = -1
        for u in range(-1, found.shape[1]):
            j = np.int64(equal[i]) if u < 0 else np.int64(found[i, u])
            if j < 0 or (u >= 0 and j == equal[i]):
                continue
            d = distance(Y[i], X[j])
            q = k
            while q > 0 and (d < distances[i, q - 1] or (d == distances[i, q - 1] and j < indices[i, q - 1])):
                q -= 1
            for v in range(k - 1, q, -1):
                distances[i, v] = distances[i, v - 1]
                indices[i, v] = indices[i, v - 1]
            if q < k:
                distances[i, q] = d
                indices[i, q] = j
