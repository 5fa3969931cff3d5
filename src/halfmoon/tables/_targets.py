"""Targets as they are written in files: which rows are unlabelled, which task they mean, classes and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.tables._table import Table

__all__ = ["class_codes", "class_names", "guess_task", "labeled_rows", "regression_values"]

FEW_VALUES = 10  # whole numbers with so many values are classes whatever the number of rows


def labeled_rows(table: Table, unlabeled: str | None = None) -> NDArray[np.bool_]:
    """Return which rows have a target: the cell is not empty and not the mark of unlabelled rows."""
    assert table.target is not None
    mask = np.array([not _is_empty(value, unlabeled) for value in table.target], dtype=bool)
    if not mask.any():
        raise table.error(f"no row is labelled: all {len(mask)} cells of {table.target_name!r} are empty.")
    return mask


def _is_empty(value: Any, mark: str | None) -> bool:
    """Tell whether a cell stands for "unlabelled"; a missing value is the one not equal to itself."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return True
    return mark is not None and (str(value) == mark or _number(value) == _number(mark) is not None)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def guess_task(values: NDArray[Any]) -> str:
    """Return "regress" for numbers that are not whole, or nearly all different; "classify" for anything else.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.tables._targets import guess_task
    >>> guess_task(np.array([0, 1, 1], dtype=object)), guess_task(np.array([0.5, 1.0], dtype=object))
    ('classify', 'regress')
    """
    if not all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        return "classify"
    numbers = values.astype(np.float64)
    different = len(np.unique(numbers))
    whole = bool(np.all(numbers == np.round(numbers)))
    return "classify" if whole and different <= max(FEW_VALUES, len(numbers) // 2) else "regress"


def class_codes(table: Table, labeled: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, and the class number of every row, -1 where unlabelled."""
    assert table.target is not None
    classes, codes = np.unique(class_names(table.target[labeled]), return_inverse=True)
    if len(classes) < 2:
        raise table.error(
            f"{table.target_name!r} has one class, {classes[0].item()!r}, on {int(labeled.sum())} labelled rows. "
            "A classifier needs two."
        )
    numbers = np.full(len(labeled), -1, dtype=np.int64)
    numbers[labeled] = codes
    return classes, numbers


def class_names(values: NDArray[Any]) -> NDArray[Any]:
    """Return labels as whole numbers where all are, else as texts."""
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        return np.array([str(value).strip() for value in values])
    if any(isinstance(value, bool | np.bool_) for value in values):
        return np.array([str(value) for value in values])
    whole = bool(np.all(np.isfinite(numbers)) and np.all(numbers == np.round(numbers)))
    return numbers.astype(np.int64) if whole else np.array([str(value).strip() for value in values])


def regression_values(table: Table, labeled: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the targets as numbers, NaN where there is none; an error names the row that is none."""
    assert table.target is not None
    values = np.full(len(labeled), np.nan)
    for i in np.flatnonzero(labeled):
        number = _number(table.target[i])
        if number is None or not np.isfinite(number):
            raise table.error(
                f"{table.row(int(i))}, column {table.target_name!r}: {table.target[i]!r} is not a number. "
                "Mend it, or classify instead."
            )
        values[i] = number
    return values
