"""A lower bound on the spectrum of R off its modes that fails with a known, tiny probability, for certificates.

A standard normal column y has |v'y| <= t with probability at most t sqrt(2 / pi) for the eigenvector v of the smallest
eigenvalue lambda. After m solves |R^-m y| >= lambda^-m |v'y|. So unless all of the s columns of a tile are unlucky,
lambda^-m t <= max |R^-m y| (Dixon 1983); the chance of that is (t sqrt(2 / pi))^s.
"""

from __future__ import annotations

import numpy as np

from halfmoon.solvers._numba.tile import squared_norms
from halfmoon.solvers._tile_chain import mass_times
from halfmoon.solvers._tiled import TiledSystem, random_rhs

__all__ = ["FAILURE_PROBABILITY", "probable_floor"]

FAILURE_PROBABILITY = 1e-12
SOLVES = 5  # m
SAFE = 1.0 + 1e-6  # far above the rounding of the sums here


@np.errstate(all="ignore")  # what is not finite proves nothing
def probable_floor(prepared: tuple[TiledSystem, int]) -> float:
    """Return a lower bound on the spectrum of R off the modes that fails with probability FAILURE_PROBABILITY; a task.

    Solves are inexact: with residuals rho_k the computed norm N obeys lambda^-m t <= N + sum_k lambda^-(m-k+1) rho_k.
    """
    tiled, seed = prepared
    space, t = tiled.workspace(), FAILURE_PROBABILITY ** (1 / tiled.width) * np.sqrt(np.pi / 2)
    random_rhs(tiled, seed, space.b)
    norms, residuals = [float(np.sqrt(squared_norms(tiled.op, -1, space.b).max()))], []
    for _ in range(SOLVES):
        result = tiled.solve_tile(space, 0.01 * t * norms[-1] / np.sqrt(tiled.n))
        residuals.append(float((result.norms + result.rounding).max()))
        norms.append(float(np.sqrt(squared_norms(tiled.op, 1, space.x).max())))
        mass_times(tiled.op, space.x, space.b)
    return 1.0 / (SAFE * _largest_inverse(t, norms[-1], residuals)) if np.isfinite(norms[-1]) else 0.0


def _largest_inverse(t: float, size: float, residuals: list[float]) -> float:
    """Return the largest u with u^m t <= size + sum_k u^(m-k+1) rho_k, or infinity."""
    m = len(residuals)
    polynomial = np.array([t, *([0.0] * m)])
    polynomial[:m] -= residuals
    polynomial[m] -= size
    if not polynomial[0] > 0.0 or not np.isfinite(polynomial).all():
        return np.inf
    scale = (size / polynomial[0]) ** (1 / m)  # u in units of its value for exact solves
    if not 0.0 < scale < np.inf:
        return np.inf
    coefficients = polynomial * scale ** np.arange(m, -1.0, -1.0) / (polynomial[0] * scale**m)
    roots = np.roots(coefficients)
    return scale * float(roots[np.abs(roots.imag) < 1e-9].real.max())
