"""Lists of the nearest: keep the smallest of a panel of distances, and order pairs by exact distances."""

from __future__ import annotations

import numpy as np

from halfmoon.graph._numba.lists import insert
from halfmoon.runtime.half_floats import number
from halfmoon.runtime.jit import fast_inner_njit, njit

__all__ = ["keep_nearest", "order_pairs", "subtract_all"]


@njit
def keep_nearest(
    products,  # IN     (b, m)  y_i' x_j of a panel
    norms,  # IN     (m,)    |x_j|^2
    first,  # IN     number of the panel's first column
    values,  # INOUT  (b, c)  smallest |x_j|^2 - 2 y_i' x_j so far, ascending
    columns,  # INOUT  (b, c)  their columns
):
    """Merge a panel into the lists; ties keep the lower column."""
    c = values.shape[1]
    for i in range(products.shape[0]):
        worst = values[i, c - 1]
        for j in range(products.shape[1]):
            value = norms[j] - 2 * products[i, j]
            if value < worst:
                insert(values[i], columns[i], value, first + j)
                worst = values[i, c - 1]


@fast_inner_njit
def distance(
    y,  # IN   (d,)
    x,  # IN   (d,)
):
    """|y - x| in float64 by subtraction, free of the cancellation of |y|^2 + |x|^2 - 2 x'y."""
    total = 0.0
    for f in range(y.size):
        difference = np.float64(number(y[f])) - np.float64(number(x[f]))
        total += difference * difference
    return np.sqrt(total)


@njit
def order_pairs(
    X,  # IN     (n, d)
    rows,  # IN     (b,)    of X
    indices,  # INOUT  (b, c)  rows of X, in about the right order
    distances,  # OUT    (b, c)  float64
):
    """Order indices[i] by the distances of these rows of X from row rows[i]; ties go to the lowest index."""
    for i in range(indices.shape[0]):
        for c in range(indices.shape[1]):
            j = indices[i, c]
            value = distance(X[rows[i]], X[j])
            q = c
            while q > 0 and (distances[i, q - 1] > value or (distances[i, q - 1] == value and indices[i, q - 1] > j)):
                distances[i, q] = distances[i, q - 1]
                indices[i, q] = indices[i, q - 1]
                q -= 1
            distances[i, q] = value
            indices[i, q] = j


@njit
def subtract_all(
    Y,  # IN     (b, d)  float64
    X,  # IN     (n, d)
    stop,  # IN     (1,)    not 0: return early
    distances,  # INOUT  (b, k)  smallest so far, ascending
    columns,  # INOUT  (b, k)
):
    """Find the nearest rows of X by the differences of all pairs; ties keep the lower column."""
    k = distances.shape[1]
    for i in range(Y.shape[0]):
        for j in range(X.shape[0]):
            if stop[0]:
                return
            value = distance(Y[i], X[j])
            if value < distances[i, k - 1]:
                insert(distances[i], columns[i], value, j)
