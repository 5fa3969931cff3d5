"""A ready-made graph in the one form the library works with: symmetric CSR, positive weights, no loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from halfmoon._validation import check_sparse

__all__ = ["check_graph"]


def check_graph(W: Any) -> sparse.csr_array:
    """Return a graph as a symmetric CSR array of positive weights without self-loops.

    Parameters
    ----------
    W : scipy sparse array or matrix, 2-D numpy array, or networkx.Graph
        The edge weights. A NetworkX graph is read in the order of its nodes, with the edge
        attribute "weight" (1 where it is missing).

    Returns
    -------
    scipy.sparse.csr_array
        Sorted indices, float64 data, no stored zeros. `W` itself is not changed.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import check_graph
    >>> check_graph(np.array([[0, 2], [2, 0]])).nnz
    2
    """
    W = _to_csr(W)
    if W.shape[0] != W.shape[1] or W.shape[0] == 0:
        raise ValueError(f"A graph needs a square, non-empty weight matrix W. Got shape {W.shape}.")
    if not np.isfinite(W.data).all():
        row = _row_of_entry(W, int(np.flatnonzero(~np.isfinite(W.data))[0]))
        raise ValueError(f"W holds NaN or infinite weights, first in row {row}. Remove or replace them.")
    if W.nnz and W.data.min() < 0:
        row = _row_of_entry(W, int(np.argmin(W.data)))
        raise ValueError(
            f"Edge weights must be positive: row {row} has weight {W.data.min():g}. "
            "Pass a similarity, not a Laplacian; a regulariser of your own goes into MatrixRegularizer(Q)."
        )
    loops = np.flatnonzero(W.diagonal())
    if loops.size:
        raise ValueError(f"W has {loops.size} self-loops, first at vertex {loops[0]}. Remove them with W.setdiag(0).")
    asymmetry = abs(W - W.T)
    worst = float(asymmetry.max()) if asymmetry.nnz else 0.0
    if worst > 1e-10 * float(W.data.max(initial=0.0)):
        i, j = np.unravel_index(int(asymmetry.tocoo().argmax()), W.shape)
        raise ValueError(
            f"W is not symmetric: W[{i}, {j}] = {W[i, j]:g} but W[{j}, {i}] = {W[j, i]:g}. "
            "Symmetrise it with W.maximum(W.T) (union) or W.minimum(W.T) (mutual)."
        )
    if worst > 0.0:  # rounding only: make the symmetry exact, the solvers rely on it
        W = sparse.csr_array((W + W.T) / 2)
        W.sort_indices()
    return W


def _to_csr(W: Any) -> sparse.csr_array:
    """Copy any accepted graph into canonical float64 CSR."""
    if any(cls.__module__.split(".")[0] == "networkx" for cls in type(W).__mro__):
        import networkx

        return _canonical(sparse.csr_array(networkx.to_scipy_sparse_array(W, weight="weight", dtype=float)))
    if sparse.issparse(W):
        check_sparse("W", W)
        if W.dtype.kind not in "buif":
            raise ValueError(f"Edge weights are real numbers. Got W of type {W.dtype}. Give W.real or abs(W).")
        return _canonical(sparse.csr_array(W, dtype=np.float64, copy=True))
    dense = np.asarray(W)
    if dense.ndim != 2 or dense.dtype.kind not in "buif":
        raise ValueError(
            "A graph is a scipy sparse array, a square numpy array or a networkx.Graph. "
            f"Got {type(W).__name__} of shape {dense.shape}."
        )
    return _canonical(sparse.csr_array(dense.astype(np.float64)))


def _canonical(W: sparse.csr_array) -> sparse.csr_array:
    W.sum_duplicates()
    W.eliminate_zeros()
    W.sort_indices()
    return W


def _row_of_entry(W: sparse.csr_array, entry: int) -> int:
    return int(np.searchsorted(W.indptr, entry, side="right")) - 1
