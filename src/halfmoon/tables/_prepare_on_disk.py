"""Features of rows on disk: standardised block by block, into another file on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from halfmoon._validation import row_blocks
from halfmoon.runtime.spool import write_rows
from halfmoon.tables._table import Table

__all__ = ["prepare_on_disk"]


def prepare_on_disk(table: Table, *, standardize: bool) -> tuple[NDArray[Any], Any]:
    """Return the features as the estimator reads them, on disk, and the fitted transformer for new rows.

    Missing values are not filled in: the median of a feature needs all its values. The fit names the first one.
    """
    if not standardize:
        return table.X, FunctionTransformer().fit(table.X[:1])
    scaler = StandardScaler()
    for block in _floats(table.X):
        scaler.partial_fit(block)
    dtype = np.float64 if table.X.dtype == np.float64 else np.float32
    return write_rows((scaler.transform(block) for block in _floats(table.X)), table.X.shape, dtype), scaler


def _floats(X: NDArray[Any]) -> Iterator[NDArray[Any]]:
    for rows in row_blocks(X):
        yield X[rows] if X.dtype in (np.float64, np.float32) else X[rows].astype(np.float32)
