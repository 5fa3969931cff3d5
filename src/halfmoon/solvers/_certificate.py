"""The error bound of a landmark block, from the residuals of the chain of solves behind it.

Y_0 = P E, Y_j ~ R^-1 Y_{j-1}, rho_j = Y_{j-1} - R Y_j, and lambda a lower bound on the spectrum of R off the modes. The
errors e_j = Y_j - R^-j P E obey R e_j = e_{j-1} - rho_j, hence |e_j| <= (|e_{j-1}| + |rho_j|) / lambda, and the energy
of a residual is rho' R^-1 rho <= |rho|^2 / lambda. Norms of residuals include their rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoundKind", "error_norms", "even_bound", "largest", "odd_bound", "over", "row_bound"]

Vector = NDArray[np.float64]
BoundKind = Literal["proven", "probable", "estimated"]


def error_norms(residuals: Sequence[Vector], floor: float) -> Vector:
    """Return bounds on |e_a| for every column, from the norms of rho_1 .. rho_a."""
    errors = np.zeros_like(residuals[0]) if residuals else np.zeros(1)
    for residual in residuals:
        errors = over(errors + residual, floor)
    return errors


def even_bound(errors: Vector, norms: Vector) -> float:
    """Bound |Y_a' Y_a - Y_a*' Y_a*| entrywise: first order in the errors of Y_a."""
    return 2 * largest(errors, norms) + largest(errors, errors)


def odd_bound(errors: Vector, norms_Z: Vector, residual: Vector, floor: float) -> float:
    """Bound |Y_a' Z + Z' rho - Y_a*' R^-1 Y_a*| entrywise: second order in Z, first order in Y_a."""
    bound = largest(residual, over(residual, floor))  # |rho_i' R^-1 rho_j|
    if errors.max() != 0.0:
        exact_Z = norms_Z + over(residual, floor)  # bounds |R^-1 Y_a|
        bound += 2 * largest(errors, exact_Z) + largest(errors, over(errors, floor))
    return bound


def row_bound(residuals: Sequence[Vector], norms: Sequence[Vector], floor: float) -> float:
    """Bound the landmark rows of Y_p: e_i' (Y_p* - Y_p)_j = sum_k (R^-(p-k+1) P e_i)' rho_k,j.

    The norms of the first factors are those of the exact Y_{p-k+1}, at most |Y_{p-k+1}| + |e_{p-k+1}|.
    """
    p = len(residuals)
    exact = [norms[q] + error_norms(residuals[: q + 1], floor) for q in range(p)]
    return sum(largest(residuals[k], exact[p - k - 1]) for k in range(p))


def over(values: Vector, floor: float) -> Vector:
    """Return values / floor with 0 / 0 = 0: what is exact needs no bound on the spectrum. NaN stays NaN."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(values == 0.0, 0.0, values / floor)


def largest(a: Vector, b: Vector) -> float:
    """Return max_ij a_i b_j of non-negative vectors, with 0 times infinity = 0. NaN stays NaN."""
    largest_a, largest_b = float(a.max()), float(b.max())
    if np.isnan(largest_a) or np.isnan(largest_b):
        return np.nan
    return largest_a * largest_b if largest_a > 0.0 and largest_b > 0.0 else 0.0
