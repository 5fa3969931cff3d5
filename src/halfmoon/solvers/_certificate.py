"""The error bound of a landmark block, from what is known of the chain of solves behind it.

Y_0 = P E, Y_j ~ R^-1 Y_{j-1}, rho_j = Y_{j-1} - R Y_j, E_j >= rho_j' R^-1 rho_j (the energy of the last error). Then
e_j = Y_j - R^-j P E obeys R e_j = e_{j-1} - rho_j, hence |e_j| <= |e_{j-1}| / lambda + sqrt(E_j / lambda) for any lower
bound lambda on the spectrum off the modes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["error_norms", "even_bound", "largest", "odd_bound", "over"]

Vector = NDArray[np.float64]


def error_norms(energies: list[Vector], floor: float) -> Vector:
    """Return bounds on |e_a| for every column, from the energies of the levels 1 .. a."""
    errors = np.zeros_like(energies[0]) if energies else np.zeros(1)
    for energy in energies:
        errors = over(errors, floor) + np.sqrt(over(energy, floor))
    return errors


def even_bound(errors: Vector, norms: Vector) -> float:
    """Bound |Y_a' Y_a - Y_a*' Y_a*| entrywise: first order in the errors of Y_a."""
    return 2 * largest(errors, norms) + largest(errors, errors)


def odd_bound(errors: Vector, norms_Z: Vector, energy: Vector, floor: float) -> float:
    """Bound |Y_a' Z + Z' rho - Y_a*' R^-1 Y_a*| entrywise: second order in Z, first order in Y_a."""
    bound = float(energy.max())  # |rho_i' R^-1 rho_j| <= sqrt(E_i E_j)
    if errors.max() > 0.0:
        exact_Z = norms_Z + np.sqrt(over(energy, floor))  # bounds |R^-1 Y_a|
        bound += 2 * largest(errors, exact_Z) + largest(errors, over(errors, floor))
    return bound


def over(values: Vector, floor: float) -> Vector:
    """Return values / floor with 0 / 0 = 0: what is exact needs no bound on the spectrum."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0.0, values / floor, 0.0)


def largest(a: Vector, b: Vector) -> float:
    """Return max_ij a_i b_j of non-negative vectors, with 0 times infinity = 0."""
    largest_a, largest_b = float(a.max()), float(b.max())
    return largest_a * largest_b if largest_a > 0.0 and largest_b > 0.0 else 0.0
