"""A proven lower bound on the smallest positive eigenvalue of a graph Laplacian, from a spanning tree.

Let x on a component C have mass' x = 0. Then

    vol(C) x'Gx = sum_{i<j} g_i g_j (x_i - x_j)^2 <= sum_{i<j} g_i g_j r_ij x'Lx <= vol(C)^2 / 2 * r x'Lx,

where the effective resistance r_ij is at most that of the path in any spanning tree, and those are at most r. So
lambda_2 >= 2 / (vol(C) r). It is weak, but it needs no ridge and no factorisation, and only positive numbers are added:
rounding is harmless.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

__all__ = ["tree_floor"]

SAFE = 1.0 + 1e-6  # far above the rounding of the sums here


def tree_floor(W: sparse.csr_array, mass: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Return a proven lower bound on the smallest positive eigenvalue of G^-1/2 L G^-1/2 for a graph W.

    `labels` names the component of each vertex, 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from halfmoon.solvers._tree_floor import tree_floor
    >>> edge = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))                   # L has eigenvalues 0 and 2
    >>> round(tree_floor(edge, np.ones(2), np.zeros(2, dtype=int)), 3)
    0.5
    """
    if W.nnz == 0:
        return np.inf
    lengths = sparse.csr_array((1.0 / W.data, W.indices, W.indptr), shape=W.shape)
    tree = sparse.csr_array(csgraph.minimum_spanning_tree(lengths))
    volume = np.bincount(labels, weights=mass)
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
