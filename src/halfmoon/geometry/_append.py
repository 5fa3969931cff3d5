"""Rows that arrive after a geometry was built.

A new row x gets what a point to be predicted gets: the mean t_x = sum_j w_xj t_j of rows of T over its nearest points,
with Shepard weights. Written over the rows of the last exact state this is T_new = P T with a sparse P whose rows sum
to 1. Landmarks and the regulariser on them stay as they are: a new row changes neither what its neighbours' rows are
nor which of them are neighbours of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._validation import check_points
from halfmoon.geometry._stages import GeometrySettings
from halfmoon.graph import AppendedIndex, Components, append_links
from halfmoon.regularizers import Regularizer
from halfmoon.runtime.storable import storable

__all__ = ["AppendedRows", "append_to_graph", "check_new_rows"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


@storable
@dataclass(frozen=True)
class AppendedRows:
    """How the rows that came later follow from those of the last exact state.

    Attributes
    ----------
    P : csr_array of shape (m, n)
        T_new = P T.
    component : ndarray of shape (m,)
        Components of the new rows: those of their nearest points.
    """

    P: sparse.csr_array
    component: Indices

    @classmethod
    def none(cls, n: int) -> AppendedRows:
        """Return what follows from n rows while nothing has been appended."""
        return cls(sparse.csr_array((0, n)), np.empty(0, dtype=np.intp))

    def followed_by(self, neighbors: Indices, weights: Matrix, components: Components) -> AppendedRows:
        """Return these rows and new ones, given their nearest rows (of any age) and the weights of these."""
        (m, k), (earlier, n) = neighbors.shape, self.P.shape
        ends = np.arange(0, m * k + 1, k)
        means = sparse.csr_array((weights.ravel(), neighbors.ravel(), ends), shape=(m, n + earlier))
        P_new = means[:, :n] + means[:, n:] @ self.P  # means of means where a neighbour was itself appended
        labels = np.concatenate([components.labels[:n], self.component])
        component = np.concatenate([self.component, labels[neighbors[:, 0]]])
        return AppendedRows(sparse.csr_array(sparse.vstack([self.P, P_new], format="csr")), component)

    def extend(self, values: Matrix) -> Matrix:
        """Return values on all rows, given those on the rows of the exact state."""
        return np.concatenate([values, self.P @ values])

    def masses(self, rows: Indices) -> Matrix:
        """Return P' e_i for some of the new rows i, numbered from 0: one column each."""
        return self.P[rows].T.toarray()

    def fold(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return masses on the rows of the exact state that have the same T' m as masses on all rows."""
        n = self.P.shape[1]
        return masses[:n] + self.P.T @ masses[n:]

    def join(self, components: Components) -> Components:
        """Return the components with the new rows in them."""
        labels = np.concatenate([components.labels, self.component.astype(components.labels.dtype)])
        return Components(labels, np.bincount(labels, minlength=components.count))


def check_new_rows(X_new: Any, X: Any, settings: GeometrySettings) -> Any:
    """Return rows that can be appended to X, or say why they cannot."""
    given = settings.regularizer
    ready = isinstance(given, Regularizer) or sparse.issparse(given) or isinstance(given, np.ndarray)
    if settings.graph is not None or settings.neighbors is not None or ready:
        name = "regularizer" if ready else "graph" if settings.graph is not None else "neighbors"
        raise ValueError(
            f"The '{name}' of this geometry was given for its {X.shape[0]} rows, and says nothing about new ones. "
            f"Build a geometry of all rows with a {name} of all rows, or leave the '{name}' to n_neighbors."
        )
    X_new = check_points(X_new)
    if X_new.shape[1] != X.shape[1]:
        raise ValueError(
            f"X_new has {X_new.shape[1]} features, but the geometry was built on {X.shape[1]}. Give the same columns "
            "in the same order."
        )
    if sparse.issparse(X) != sparse.issparse(X_new):
        X_new = sparse.csr_array(X_new.astype(np.float64)) if sparse.issparse(X) else X_new.toarray()
    return X_new


def append_to_graph(
    W: sparse.csr_array | None, index: AppendedIndex, settings: GeometrySettings
) -> sparse.csr_array | None:
    """Return W with the rows of the index that it does not have yet, each linked to its nearest points."""
    if W is None:
        return None
    bandwidth = (settings.graph_params or {}).get("bandwidth")
    return append_links(W, index, settings.n_neighbors, settings.weights, bandwidth)
