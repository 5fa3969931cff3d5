"""Lower bounds on the spectrum of R off its modes, for certificates: proven by a spanning tree, or probable by chance.

A ridge mu is a bound by itself. Without one, or where it is too weak, two others are to be had without a factorisation.

Tree (proven). Let x on a component C have mass' x = 0. Then

    vol(C) x'Gx = sum_{i<j} g_i g_j (x_i - x_j)^2 <= sum_{i<j} g_i g_j r_ij x'Lx <= vol(C)^2 / 2 * r x'Lx,

where the effective resistance r_ij is at most that of the path in any spanning tree, and those are at most r. So
lambda_2 >= 2 / (vol(C) r). Only positive numbers are added: rounding is harmless.

Chance (probable). A standard normal column y has |v'y| <= t with probability at most t sqrt(2 / pi) for the eigenvector
v of the smallest eigenvalue lambda. After m solves |R^-m y| >= lambda^-m |v'y|. So unless all of the s columns are
unlucky, lambda^-m t <= max |R^-m y| (Dixon 1983); with s = 16 the chance of that is (t sqrt(2 / pi))^16.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from halfmoon.solvers._kernels.lanes import WIDTH
from halfmoon.solvers._kernels.tile import mass_times, squared_norms
from halfmoon.solvers._tiled import TiledSystem, random_rhs

__all__ = ["FAILURE_PROBABILITY", "probable_floor", "tree_floor"]

FAILURE_PROBABILITY = 1e-12
LUCK = FAILURE_PROBABILITY ** (1 / WIDTH) * np.sqrt(np.pi / 2)  # the t of the module's docstring
SOLVES = 5  # m
SAFE = 1.0 + 1e-6  # far above the rounding of the sums here


def tree_floor(
    W: sparse.csr_array, mass: NDArray[np.float64], labels: NDArray[np.intp], volume: NDArray[np.float64]
) -> float:
    """Return a proven lower bound on the smallest positive eigenvalue of G^-1/2 L G^-1/2 for a graph W.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from halfmoon.solvers._floor import tree_floor
    >>> edge = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))                   # L has eigenvalues 0 and 2
    >>> round(tree_floor(edge, np.ones(2), np.zeros(2, dtype=int), np.array([2.0])), 3)
    0.5
    """
    if W.nnz == 0:
        return np.inf
    lengths = sparse.csr_array((1.0 / W.data, W.indices, W.indptr), shape=W.shape)
    tree = sparse.csr_array(csgraph.minimum_spanning_tree(lengths))
    n, count = W.shape[0], len(volume)
    first = np.zeros(count, dtype=np.intp)
    first[labels[::-1]] = np.arange(n)[::-1]  # one vertex of each component: the root of its tree
    to_roots = sparse.csr_array(
        (np.full(count, 1e-9 * tree.data.min()), (np.zeros(count, dtype=np.intp), first)), shape=(1, n)
    )
    rooted = sparse.block_array([[tree, None], [to_roots, sparse.csr_array((1, 1))]], format="csr")
    depth = csgraph.dijkstra(rooted, directed=False, indices=n)[:n]
    deepest = np.zeros(count)
    np.maximum.at(deepest, labels, depth)
    several = np.bincount(labels, minlength=count) > 1  # a vertex of its own has nothing off its mode
    return float((2.0 / (volume[several] * 2.0 * deepest[several])).min()) / SAFE


def probable_floor(tiled: TiledSystem, seed: int) -> float:
    """Return a lower bound on the spectrum of R off the modes that fails with probability FAILURE_PROBABILITY.

    Solves are inexact: with residuals rho_k the computed norm N obeys lambda^-m t <= N + sum_k lambda^-(m-k+1) rho_k.
    """
    space = tiled.workspace()
    random_rhs(tiled, seed, space.b)
    sizes, residuals = [float(np.sqrt(squared_norms(tiled.op, -1, space.b).max()))], []
    for _ in range(SOLVES):
        result = tiled.solve_tile(space, 0.01 * LUCK * sizes[-1] / np.sqrt(tiled.n))
        residuals.append(float((result.norms + result.rounding).max()))
        sizes.append(float(np.sqrt(squared_norms(tiled.op, 1, space.x).max())))
        mass_times(tiled.op, space.x, space.b)
    return 1.0 / (SAFE * _largest_inverse(sizes[-1], residuals)) if np.isfinite(sizes[-1]) else 0.0


def _largest_inverse(size: float, residuals: list[float]) -> float:
    """Return the largest u with u^m LUCK <= size + sum_k u^(m-k+1) rho_k, or infinity."""
    m = len(residuals)
    polynomial = np.array([LUCK, *([0.0] * m)])
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
