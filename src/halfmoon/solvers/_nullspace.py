"""The null space of an SDD matrix, known from its graph alone, and projection out of it.

A connected component C of an SDD matrix is singular exactly when every row has zero excess (diagonal equal to
the off-diagonal sum) and the signs are balanced: some vector of signs makes all off-diagonals negative. For a
Laplacian that vector is 1_C. Balance is read off the double cover (Gremban): two copies of each vertex, a
negative entry joins equal copies, a positive one opposite copies; C is balanced when its cover falls apart.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

__all__ = ["exact_excess", "excess", "null_modes", "off_diagonal", "project_out"]

ROUNDING = 1e-12  # excess below this share of the diagonal is rounding


def off_diagonal(A: sparse.csr_array) -> sparse.csr_array:
    """Return A without its diagonal."""
    off = sparse.csr_array(A - sparse.diags_array(A.diagonal()))
    off.eliminate_zeros()
    return off


def excess(A: sparse.csr_array) -> NDArray[np.float64]:
    """Return the diagonal minus the sum of absolute off-diagonals of each row."""
    return A.diagonal() - np.asarray(abs(off_diagonal(A)).sum(axis=1)).ravel()


def exact_excess(A: sparse.csr_array) -> tuple[NDArray[np.float64], float]:
    """Return the excess of each row without cancellation, at least 0, and the share of the diagonal that clipping took.

    Rows that are singular up to rounding have excess 0, as `null_modes` reads them.
    """
    diagonal, off = A.diagonal(), off_diagonal(A)
    cuts = off.indptr
    slack = np.array(
        [
            math.fsum([d, *(-abs(off.data[first:last]))])
            for d, first, last in zip(diagonal, cuts[:-1], cuts[1:], strict=True)
        ]
    )
    singular = np.abs(slack) <= ROUNDING * diagonal
    clipped = np.where(singular | (slack < 0.0), 0.0, slack)
    taken = np.divide(np.abs(slack - clipped), diagonal, out=np.zeros_like(slack), where=diagonal > 0.0)
    return clipped, float(taken.max())


def null_modes(A: sparse.csr_array) -> sparse.csr_array:
    """Return orthonormal sparse columns that span the null space of an SDD matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from halfmoon.solvers import null_modes
    >>> edge = sparse.csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> null_modes(edge).toarray().round(3).tolist()
    [[0.707], [0.707]]
    """
    n = A.shape[0]
    labels, signs, balanced = _signed_components(off_diagonal(A))
    surplus = excess(A) > ROUNDING * A.diagonal()
    singular = balanced & (np.bincount(labels, weights=surplus, minlength=len(balanced)) == 0)
    column = np.cumsum(singular) - 1  # singular component -> column of the result
    rows = np.flatnonzero(singular[labels])
    counts = np.bincount(labels, minlength=len(balanced))
    data = signs[rows] / np.sqrt(counts[labels[rows]])
    return sparse.csr_array((data, (rows, column[labels[rows]])), shape=(n, int(singular.sum())))


def project_out(modes: sparse.csr_array, B: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (I - V V') B for orthonormal columns V.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from halfmoon.solvers import project_out
    >>> V = sparse.csr_array(np.array([[1.0], [0.0]]))
    >>> project_out(V, np.ones((2, 1))).ravel().tolist()
    [0.0, 1.0]
    """
    return B - modes @ (modes.T @ B)


def _signed_components(
    off: sparse.csr_array,
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.bool_]]:
    """Return component labels, a sign per vertex, and for each component whether the signs balance."""
    count, labels = csgraph.connected_components(off, directed=False)
    n = off.shape[0]
    if off.nnz == 0 or off.data.max() < 0.0:
        return labels, np.ones(n), np.ones(count, dtype=bool)
    negative, positive = abs(off.minimum(0.0)), off.maximum(0.0)
    cover = sparse.block_array([[negative, positive], [positive, negative]], format="csr")
    _, cover_labels = csgraph.connected_components(cover, directed=False)
    upper, lower = cover_labels[:n], cover_labels[n:]
    balanced = np.ones(count, dtype=bool)
    balanced[labels[upper == lower]] = False
    return labels, np.where(upper < lower, 1.0, -1.0), balanced
