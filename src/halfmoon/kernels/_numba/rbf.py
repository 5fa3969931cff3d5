"""The RBF kernel between many rows and a few points, from differences: nothing is copied, nothing cancels."""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.half_floats import number
from halfmoon.runtime.jit import fast_njit

__all__ = ["rbf_columns"]


@fast_njit
def rbf_columns(
    X,  # IN   (n, d)  float64, float32, uint8 or bits of float16
    Z,  # IN   (m, d)  float64
    gamma,  # IN
    K,  # OUT  (n, m)  float32
):
    """K_ij <- exp(-gamma |x_i - z_j|^2)."""
    for i in range(X.shape[0]):
        for j in range(Z.shape[0]):
            total = 0.0
            for t in range(X.shape[1]):
                difference = np.float64(number(X[i, t])) - Z[j, t]
                total += difference * difference
            K[i, j] = np.exp(-gamma * total)
