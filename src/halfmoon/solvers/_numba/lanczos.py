"""Steps of the Lanczos recurrence."""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import fast_njit


@fast_njit
def lanczos(
    ptr,  # IN    CSR of R
    ind,
    val,
    first,  # IN    steps first .. last - 1 are made
    last,
    V,  # INOUT (at least last + 1, n) orthonormal rows; row `first` is known
    main,  # INOUT (last,) diagonal of T
    off,  # INOUT (last,) below the diagonal
):
    """R V[k] = off[k-1] V[k-1] + main[k] V[k] + off[k] V[k+1]."""
    n = ptr.size - 1
    for k in range(first, last):
        before, v, w = V[max(k - 1, 0)], V[k], V[k + 1]
        back = off[k - 1] if k > 0 else 0.0
        product = 0.0
        for i in range(n):
            total = -back * before[i]
            for e in range(ptr[i], ptr[i + 1]):
                total += val[e] * v[ind[e]]
            w[i] = total
            product += total * v[i]
        main[k] = product
        square = 0.0
        for i in range(n):
            w[i] -= product * v[i]
            square += w[i] * w[i]
        off[k] = np.sqrt(square)
        if off[k] > 0.0:
            for i in range(n):
                w[i] /= off[k]
