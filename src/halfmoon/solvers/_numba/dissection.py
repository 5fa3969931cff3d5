"""Nested dissection of a graph: an elimination order in which little fills in, and its tree of separators.

A connected part is cut halfway between two far ends u and v: the key of a vertex is dist(u) - dist(v), and the
separator consists of the vertices on one side of a threshold that have neighbours on the other. A part that falls
into components is split between them. Parts of at most LEAF vertices stay whole, and so do parts without an even cut.
"""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import njit

__all__ = ["dissect"]

LEAF = 40
MOST_UNEVEN = 0.25  # of a part: the smaller side of a cut has at least this share


@njit
def search(ptr, ind, part, t, source, first, queue, distance):
    # IN graph, part: (n,) whose vertices have part[v] = t, source, first  INOUT queue[first:], distance: -1 if unseen
    """Search the component of `source` breadth first; return the end of the queue."""
    queue[first] = source
    distance[source] = 0
    head, tail = first, first + 1
    while head < tail:
        v = queue[head]
        head += 1
        for k in range(ptr[v], ptr[v + 1]):
            u = ind[k]
            if part[u] == t and distance[u] < 0:
                distance[u] = distance[v] + 1
                queue[tail] = u
                tail += 1
    return tail


@njit
def split_components(ptr, ind, part, t, members, queue, distance):
    # IN graph, part, t, members of the part  OUT queue: members, component by component  INOUT distance: all -1
    """Return where to cut the queue between components, or 0 if the part is connected."""
    size = members.size
    tail = cut = 0
    for v in members:
        if distance[v] < 0:
            if tail > 0 and (cut == 0 or tail <= size // 2):
                cut = tail
            tail = search(ptr, ind, part, t, v, tail, queue, distance)
    return cut


@njit
def best_threshold(ptr, ind, part, t, members, key, low, high):
    # IN graph, part, t, members, key: (n,) in low .. high
    """Return the threshold of the smallest separator of an even cut, whether it lies above it, and its size.

    Where no cut is even the separator is the whole part.
    """
    count = np.zeros(high - low + 2, np.int64)
    below, above = np.zeros(high - low + 2, np.int64), np.zeros(high - low + 2, np.int64)
    for v in members:
        least = most = key[v]
        for k in range(ptr[v], ptr[v + 1]):
            if part[ind[k]] == t:
                least, most = min(least, key[ind[k]]), max(most, key[ind[k]])
        count[key[v] - low] += 1
        below[key[v] - low] += 1  # in the separator below the thresholds key <= x < most
        below[most - low] -= 1
        above[least - low] += 1  # and above the thresholds least <= x < key
        above[key[v] - low] -= 1
    best, upper, fewest = low, False, members.size
    done = in_below = in_above = 0
    for x in range(high - low):
        done += count[x]
        in_below += below[x]
        in_above += above[x]
        even = min(done, members.size - done) >= MOST_UNEVEN * members.size
        if even and min(in_below, in_above) < fewest:
            best, upper, fewest = low + x, in_above < in_below, min(in_below, in_above)
    return best, upper, fewest


@njit
def cut_in_two(ptr, ind, part, t, members, queue, near, far):
    # IN graph, part, t  INOUT members: reordered as [side, other side, separator]  WORK queue, near, far
    """Cut a part; return the sizes of its first side and of its separator. Sides begin with their farthest vertex."""
    size = members.size
    for v in members:
        near[v] = far[v] = -1
    cut = split_components(ptr, ind, part, t, members, queue, far)
    if cut > 0:
        members[:] = queue[:size]
        return cut, 0
    one, other = members[0], queue[size - 1]
    search(ptr, ind, part, t, other, 0, queue, near)
    low, high = np.int32(0), np.int32(0)
    for v in members:
        near[v] -= far[v]
        low, high = min(low, near[v]), max(high, near[v])
    threshold, upper, separated = best_threshold(ptr, ind, part, t, members, near, low, high)
    if separated == size:
        return 0, size
    first, last, cutting = 0, size - separated - 1, size - separated
    for v in members:
        inside = near[v] > threshold
        borders = False
        if inside == upper:
            for k in range(ptr[v], ptr[v + 1]):
                borders = borders or (part[ind[k]] == t and (near[ind[k]] > threshold) != inside)
        if borders:
            queue[cutting] = v
            cutting += 1
        elif inside:
            queue[last] = v
            last -= 1
        else:
            queue[first] = v
            first += 1
    members[:] = queue[:size]
    for k in range(size):  # `other` has the lowest key, `one` the highest
        if members[k] == other and k < first:
            members[k], members[0] = members[0], other
        elif members[k] == one and first <= k < size - separated:
            members[k], members[first] = members[first], one
    return first, separated


@njit
def dissect(ptr, ind, free, budget, stop):
    # IN graph, free: (n,) bool, the vertices to order, budget: multiplications that the separators may cost, stop
    """Return order, and for each node of the tree its first vertex in order, its end, its pivots, and its subtree.

    Nodes are in preorder, subtree[t] of them from t on; the pivots of a node are the last of its vertices in `order`.
    The tree is empty if the separators alone cost more than the budget.
    """
    n = ptr.size - 1
    order = np.flatnonzero(free)
    part = np.full(n, -1, np.int32)
    queue, near, far = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
    most = 2 * order.size + 1
    start, end, pivots = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    subtree, parent = np.ones(most, np.int64), np.empty(most, np.int64)
    stack = [(0, order.size, -1)]
    nodes, work = 0, 0.0
    while len(stack) > 0 and not stop[0]:
        lo, hi, above = stack.pop()
        t = nodes
        nodes += 1
        start[t], end[t], pivots[t], parent[t] = lo, hi, hi - lo, above
        if hi - lo <= LEAF:
            continue
        members = order[lo:hi]
        for v in members:
            part[v] = t
        side, separated = cut_in_two(ptr, ind, part, t, members, queue, near, far)
        work += float(separated) ** 3 / 6.0
        if work > budget:
            nodes = 0
            break
        if separated == hi - lo:  # a clique, a star: nothing to cut
            continue
        pivots[t] = separated
        stack.append((lo, lo + side, t))
        stack.append((lo + side, hi - separated, t))
    for t in range(nodes - 1, 0, -1):
        subtree[parent[t]] += subtree[t]
    return order, start[:nodes], end[:nodes], pivots[:nodes], subtree[:nodes]
