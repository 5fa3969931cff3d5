"""Where the labelled rows lie in the graph: their rows of T, solved for once and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.geometry import Geometry
from halfmoon.runtime.storable import storable

__all__ = ["PlacedRows"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


@storable
@dataclass(frozen=True)
class PlacedRows:
    """Rows t_i of the interpolation T (Theorem 3.2), for every power of the geometry."""

    rows: Indices  # rows of the data
    T: Mapping[int, Matrix]  # power -> one row per row

    @classmethod
    def solve(cls, geometry: Geometry, rows: Indices) -> PlacedRows:
        """Solve for the given rows."""
        return cls(rows, geometry.rows_of_powers(rows))

    def extended(self, geometry: Geometry, rows: Indices) -> PlacedRows:
        """Return the placement of other rows of the same geometry; only those that are new need solves."""
        place = {int(row): number for number, row in enumerate(self.rows)}
        at = np.array([place.get(int(row), -1) for row in rows])
        new = PlacedRows.solve(geometry, rows[at < 0]) if np.any(at < 0) else self
        T = {}
        for power, known in self.T.items():
            T[power] = np.empty((len(rows), known.shape[1]))
            T[power][at >= 0] = known[at[at >= 0]]
            T[power][at < 0] = new.T[power][: int((at < 0).sum())]
        return PlacedRows(rows, T)

    def of_power(self, power: int | None) -> Matrix:
        """Return the rows for one power; None: the first."""
        return next(iter(self.T.values())) if power is None or power not in self.T else self.T[power]
