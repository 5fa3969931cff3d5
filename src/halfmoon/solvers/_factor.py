"""Sparse factorisation without pivoting, and what it tells about eigenvalues."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import SuperLU, splu

__all__ = ["factorize", "negative_pivots"]


def factorize(A: sparse.csr_array) -> SuperLU:
    """Return the symmetric-mode LU factors of A: diagonal pivots only, minimum-degree order of A' + A."""
    return splu(
        sparse.csc_array(A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def negative_pivots(factor: SuperLU) -> int:
    """Return the number of negative eigenvalues of a symmetric matrix (Sylvester's law of inertia).

    With diagonal pivots P A P' = L D L', and D has the signs of the eigenvalues.
    """
    if not np.array_equal(factor.perm_r, factor.perm_c):
        raise ArithmeticError("SuperLU left the diagonal for a pivot; its factors do not show the inertia.")
    pivots = factor.U.diagonal()
    if np.abs(pivots).min() <= len(pivots) * np.finfo(float).eps * np.abs(pivots).max():
        raise ArithmeticError("A pivot vanished to rounding: the matrix is singular, its inertia is not defined.")
    return int((pivots < 0.0).sum())
