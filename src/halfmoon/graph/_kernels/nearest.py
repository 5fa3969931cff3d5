"""Lists of the nearest: keep the smallest of a panel of distances, and measure pairs exactly."""

from __future__ import annotations

import numpy as np

from halfmoon._jit import fast_njit, njit

__all__ = ["keep_nearest", "measure_pairs"]


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
                place = c - 1
                while place > 0 and values[i, place - 1] > value:
                    values[i, place], columns[i, place] = values[i, place - 1], columns[i, place - 1]
                    place -= 1
                values[i, place], columns[i, place] = value, first + j
                worst = values[i, c - 1]


@fast_njit
def measure_pairs(
    Y,  # IN   (b, d)  float64
    X,  # IN   (n, d)
    candidates,  # IN   (b, c)  rows of X
    distances,  # OUT  (b, c)  float64
):
    """Distances <- |y_i - x_j| by subtraction, free of the cancellation of |y|^2 + |x|^2 - 2 x'y."""
    for i in range(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            total = 0.0
            for f in range(Y.shape[1]):
                difference = Y[i, f] - np.float64(X[j, f])
                total += difference * difference
            distances[i, c] = np.sqrt(total)
