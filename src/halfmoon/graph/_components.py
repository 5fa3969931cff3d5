"""Connected components, computed once and kept, and the null modes of the Laplacian that they carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

__all__ = ["Components", "connected_components"]

NAMED_SIZES = 8  # of the largest components, in descriptions


@dataclass(frozen=True)
class Components:
    """The connected components of a graph.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Component of each vertex, 0 .. count - 1.
    sizes : ndarray of shape (count,)
        Number of vertices of each component.
    """

    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.sizes)

    def describe(self) -> str:
        """Return the number of components and the largest and smallest sizes, in words.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon.graph import Components
        >>> Components(np.array([0, 0, 0, 1, 2]), np.array([3, 1, 1])).describe()
        '3 components of sizes 3, 1, 1'
        """
        if self.count == 1:
            return f"connected, {self.sizes[0]} vertices"
        ordered = np.sort(self.sizes)[::-1]
        shown = ", ".join(str(size) for size in ordered[:NAMED_SIZES])
        rest = f", ... down to {ordered[-1]}" if self.count > NAMED_SIZES else ""
        return f"{self.count} components of sizes {shown}{rest}"

    def covered_by(self, vertices: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return how many of the given distinct vertices each component holds."""
        return np.bincount(self.labels[vertices], minlength=self.count)

    def modes(self, weights: NDArray[np.float64]) -> sparse.csr_array:
        """Return orthonormal columns, one per component, proportional to sqrt(weights) on it.

        With unit weights these are the null vectors 1_C / sqrt|C| of L, with the degrees those of
        L_norm, D^1/2 1_C / sqrt(vol C).
        """
        volume = np.bincount(self.labels, weights=weights, minlength=self.count)
        data = np.sqrt(weights / volume[self.labels])
        n = len(self.labels)
        return sparse.csr_array((data, self.labels, np.arange(n + 1)), shape=(n, self.count))


def connected_components(W: sparse.csr_array) -> Components:
    """Return the connected components of a symmetric sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import check_graph, connected_components
    >>> components = connected_components(check_graph(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])))
    >>> components.count, components.sizes.tolist()
    (2, [2, 1])
    """
    _, labels = csgraph.connected_components(W, directed=False)
    return Components(labels=labels.astype(np.int32, copy=False), sizes=np.bincount(labels))
