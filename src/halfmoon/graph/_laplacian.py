"""Graph Laplacians (section 2): L = D - W and L_norm = D^-1/2 L D^-1/2."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.exceptions import FloatRangeError
from halfmoon.graph._adjacency import check_graph

__all__ = ["degrees", "laplacian", "scaling_degrees"]

EXPONENT = 300  # of two: what keeps products of 1 / sqrt(degree) within float64


def laplacian(W: Any, *, normalized: bool = False) -> sparse.csr_array:
    """Return the Laplacian L = D - W of a graph, or L_norm = D^-1/2 L D^-1/2 (section 2).

    Parameters
    ----------
    W : sparse array, numpy array or networkx.Graph
        Symmetric positive edge weights, see :func:`halfmoon.graph.check_graph`.
    normalized : bool, default=False
        Return L_norm. The row and column of an isolated vertex are zero, as they are in L.

    Returns
    -------
    scipy.sparse.csr_array
        Symmetric and positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import laplacian
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> laplacian(path).toarray().astype(int)
    array([[ 1, -1,  0],
           [-1,  2, -1],
           [ 0, -1,  1]])
    """
    W = check_graph(W)
    L = sparse.csr_array(sparse.diags_array(degrees(W)) - W)
    if normalized:
        scale = 1.0 / np.sqrt(scaling_degrees(W))
        rows = np.repeat(np.arange(W.shape[0]), np.diff(L.indptr))
        with np.errstate(over="ignore"):
            products = scale[rows] * scale[L.indices]  # one product a pair keeps the symmetry exact
        far = np.flatnonzero(np.isinf(products))  # pairs of degrees that are nearly 0
        beyond = np.ldexp(scale[rows[far]], -EXPONENT) * np.ldexp(scale[L.indices[far]], -EXPONENT)
        far_entries = np.ldexp(L.data[far], 2 * EXPONENT) * beyond
        products[far] = 1.0
        L.data *= products
        L.data[far] = far_entries
    L.sort_indices()
    return L


def degrees(W: sparse.csr_array) -> NDArray[np.float64]:
    """Return the weighted degrees D_ii = sum_j W_ij."""
    with np.errstate(over="ignore"):
        d = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    if not np.isfinite(d).all():
        raise FloatRangeError(f"Weights up to {W.data.max():.3g} add up to more than float64 holds. Divide W by it.")
    return d


def scaling_degrees(W: sparse.csr_array) -> NDArray[np.float64]:
    """Return the degrees with 1 for isolated vertices: what D^1/2 and D^-1/2 are made of.

    An isolated vertex then is a component of its own with null vector e_i, for L_norm as for L, and
    its row of L_norm + mu I is mu, not 0/0.
    """
    d = degrees(W)
    return np.where(d > 0.0, d, 1.0)
