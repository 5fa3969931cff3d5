"""Stochastic descent of a neighbour embedding: edges pull, random pairs push."""

import numpy as np

from halfmoon.runtime.jit import inner_njit, njit

LIMIT = np.float32(4.0)  # of a single step, so that close pairs do not fly apart


@inner_njit
def _clipped(value):
    return min(max(value, -LIMIT), LIMIT)


@inner_njit
def _next(state):
    """Return the next state of a xorshift generator of 64 bits."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit
def descend(
    indptr, indices,  # IN      graph
    rate,             # IN      step size
    pushes,           # IN      random pairs per edge
    state,            # IN      of the generator, not 0
    Y,                # IN OUT  (n, 2) positions, float32
):  # fmt: skip
    """Go once over all edges; return the state of the generator.

    With q = 1 / (1 + d^2) an edge goes down -log q, a random pair down -log(1 - q).
    """
    n = len(indptr) - 1
    for i in range(n):
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            dx, dy = Y[i, 0] - Y[j, 0], Y[i, 1] - Y[j, 1]
            pull = np.float32(-2.0) / (np.float32(1.0) + dx * dx + dy * dy)
            mx, my = rate * _clipped(pull * dx), rate * _clipped(pull * dy)
            Y[i, 0] += mx
            Y[i, 1] += my
            Y[j, 0] -= mx
            Y[j, 1] -= my
            for _ in range(pushes):
                state = _next(state)
                j = np.int64((state >> np.uint64(11)) % np.uint64(n))
                dx, dy = Y[i, 0] - Y[j, 0], Y[i, 1] - Y[j, 1]
                square = dx * dx + dy * dy
                push = np.float32(2.0) / ((np.float32(0.001) + square) * (np.float32(1.0) + square))
                Y[i, 0] += rate * _clipped(push * dx)
                Y[i, 1] += rate * _clipped(push * dy)
    return state
