"""The base kernel between all training points and the labelled ones, kept from refit to refit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.kernels import BaseKernel
from halfmoon.runtime.float32_product import combination, combination_rounding

__all__ = ["BaseColumns"]

Matrix = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class BaseColumns:
    """Columns K(., x_i) of the base kernel in float32, for some of the training points.

    `of_rows` returns another object that shares the columns of the points that both have.

    Attributes
    ----------
    base : BaseKernel
        K.
    X : ndarray or csr_array
        The training points.
    max_memory : int
        Bytes that the columns may take.
    n_jobs : int or None
        Threads.
    columns : dict
        Point -> array of shape (n,).
    """

    base: BaseKernel
    X: Any
    max_memory: int
    n_jobs: int | None
    columns: Mapping[int, Single] = field(default_factory=dict)

    def of_rows(self, rows: Indices) -> BaseColumns:
        """Return the columns of these points and of no others; only those that are new are evaluated."""
        wanted = np.unique(rows).tolist()
        self._check_memory(len(wanted))
        new = [row for row in wanted if row not in self.columns]
        columns = {row: self.columns[row] for row in wanted if row in self.columns}
        if new:
            evaluated = self.base.columns(self.X, self.X[new].astype(np.float64), self.n_jobs)
            columns |= {row: np.ascontiguousarray(evaluated[:, number]) for number, row in enumerate(new)}
        return replace(self, columns=columns)

    def _check_memory(self, count: int) -> None:
        n = self.X.shape[0]
        if 4 * n * count > self.max_memory:
            raise ValueError(
                f"The base kernel between {count} labelled points and all {n} takes {4 * n * count:,} bytes, and "
                f"max_memory leaves {self.max_memory:,} for it. Raise max_memory, or fit with instant_refits=False."
            )

    def expansion(self, rows: Indices, coef: Matrix) -> Matrix:
        """Return sum_i coef_i K(., x_i) at all training points, for points that there are columns of."""
        return combination([self.columns[row] for row in rows.tolist()], coef, self.n_jobs)

    def rounding(self, rows: Indices, coef: Matrix) -> Matrix:
        """Return a bound on the rounding of `expansion`."""
        return combination_rounding([self.columns[row] for row in rows.tolist()], coef, self.n_jobs)
