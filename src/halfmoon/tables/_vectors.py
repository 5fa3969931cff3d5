"""Columns whose cells are vectors, such as embeddings: lists of numbers, all of one length."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from halfmoon.runtime.storable import storable
from halfmoon.tables._numbers import LARGEST
from halfmoon.tables._table import Table

__all__ = ["CommonScaler", "are_vectors", "feature_names", "stack_vectors", "vector_kind", "width_of"]

VECTOR = re.compile(r"(\d+) numbers")
WRITTEN = r"\s*\[[-+0-9.,eE\s]*\]\s*"  # as Python and numpy print a list


def vector_kind(width: int) -> str:
    """Return the kind of a column of vectors of this length."""
    return f"{width} numbers"


def width_of(kind: str) -> int | None:
    """Return the length of the vectors of a column, or None if it holds something else.

    Examples
    --------
    >>> from halfmoon.tables._vectors import width_of
    >>> width_of("384 numbers"), width_of("number")
    (384, None)
    """
    found = VECTOR.fullmatch(kind)
    return None if found is None else int(found[1])


def feature_names(name: str, width: int) -> list[str]:
    """Return the names of the features that a column of vectors becomes."""
    return [f"{name}[{i}]" for i in range(width)]


def are_vectors(present: Any) -> bool:
    """Return whether the cells of a column are lists, or texts that spell lists of numbers."""
    first = present.iloc[0]
    if isinstance(first, str):
        return bool(re.fullmatch(WRITTEN, first)) and bool(present.astype(str).str.fullmatch(WRITTEN).all())
    return isinstance(first, list | tuple | np.ndarray)


def stack_vectors(table: Table, name: str, width: int | None = None) -> NDArray[np.floating[Any]]:
    """Return a column of vectors as a matrix, or refuse the first row that does not fit.

    Parameters
    ----------
    table : Table
        Data with this column.
    name : str
        The column.
    width : int, default=None
        The length that vectors must have; None: that of the first row.
    """
    rows: list[NDArray[np.floating[Any]]] = []
    for i, cell in enumerate(table.X[name]):
        row = _as_row(cell)
        if row is None:
            what = "is empty" if cell is None or cell is np.nan else "is not a list of numbers"
            raise table.error(
                f"{table.row(i)}, column {name!r}: the cell {what}. Leave the row out or --ignore {name}."
            )
        width = len(row) if width is None else width
        if len(row) != width:
            raise table.error(
                f"{table.row(i)}, column {name!r}: there are {len(row)} numbers, not {width}. Vectors of a "
                f"column must have one length; use --ignore {name} if it is no feature."
            )
        rows.append(row)
    matrix = np.stack(rows)
    wrong = np.flatnonzero(~(np.abs(matrix) <= min(LARGEST, float(np.finfo(matrix.dtype).max))).all(axis=1))
    if len(wrong):
        raise table.error(
            f"{table.row(int(wrong[0]))}, column {name!r}: the vector holds a missing or infinite number, or one above "
            f"{LARGEST:g}. Correct it or leave the row out."
        )
    return matrix


def _as_row(cell: Any) -> NDArray[np.floating[Any]] | None:
    """Return a cell as a vector of floats, or None: float32 stays, all else is computed with in float64."""
    if isinstance(cell, str):
        cell = [part for part in re.split(r"[,\s]+", cell.strip().strip("[]")) if part]
    if not isinstance(cell, list | tuple | np.ndarray):
        return None
    try:
        row = np.asarray(cell)
        row = row.astype(np.float32 if row.dtype in (np.float16, np.float32) else np.float64)
    except (TypeError, ValueError):
        return None
    return row if row.ndim == 1 and len(row) else None


@storable
class CommonScaler(TransformerMixin, BaseEstimator):
    """Centre features and divide all of them by one number, so that their mean variance is 1.

    Coordinates of a vector share a unit. One deviation for each would turn noise into signal; one for all keeps
    directions and ratios of distances, and brings vectors to the scale of other columns.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.tables._vectors import CommonScaler
    >>> CommonScaler().fit_transform(np.array([[0.0, 0.0], [2.0, 4.0]])).round(2).tolist()
    [[-0.63, -1.26], [0.63, 1.26]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find centre and scale."""
        X = np.asarray(X)
        self.n_features_in_ = X.shape[1]
        self.mean_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        variance = float(X.var(axis=0, dtype=np.float64).mean())
        self.scale_ = float(np.sqrt(variance)) or 1.0
        return self

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return centred and scaled rows, in the precision of the data."""
        X = np.asarray(X)
        return (X - self.mean_) / X.dtype.type(self.scale_)
