"""Sparse factorisation without pivoting, and what it says about eigenvalues."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import SuperLU, splu

from halfmoon.exceptions import FloatRangeError

__all__ = ["backward_error", "factorize", "negative_pivots"]


def factorize(A: sparse.csr_array) -> SuperLU:
    """Return the symmetric-mode LU factors of A: diagonal pivots only, minimum-degree order of A' + A."""
    try:
        return splu(
            sparse.csc_array(A),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError as error:
        raise FloatRangeError(
            f"The matrix is singular in float64 ({error}). Raise the ridge, or scale weights that are close to 0."
        ) from error


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


def backward_error(factor: SuperLU) -> NDArray[np.float64]:
    """Return bounds on the row sums of |L U - A|, the rounding of a factorisation (Higham, Theorem 9.3).

    |L U - A| <= gamma |L| |U| with gamma = k u / (1 - k u), k the most terms in a sum; the product with a vector of
    ones costs two passes over the factors.
    """
    L, U = abs(factor.L), abs(factor.U)
    terms = int(np.diff(sparse.csr_array(L).indptr).max()) + 2
    gamma = 1.01 * terms * np.finfo(float).eps
    sums = gamma * (L @ (U @ np.ones(U.shape[1])))
    return np.asarray(sums[factor.perm_r])
