"""What the columns of a table hold: numbers, categories, words, dates or vectors; and which of them are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.tables._dates import DATE, ISO, AmbiguousDatesError, date_format, date_slip
from halfmoon.tables._table import NUMBER, TEXT, WORDS, Table
from halfmoon.tables._vectors import are_vectors, stack_vectors, vector_kind

__all__ = ["Kinds", "find_kinds", "mostly_numbers", "ready_numbers"]

MAX_CATEGORIES = 100  # of a column; rarer texts share one feature
MANY = 0.9  # share of different texts from which on they are not categories
MANY_ROWS = 20  # rows from which on that share says something
SENTENCE = 3.0  # words of a cell, on average, from which on they are worth counting


@dataclass(frozen=True)
class Kinds:
    """What the columns hold.

    Attributes
    ----------
    columns : dict of str to str
        Kind of every column that is used.
    left_out : dict of str to str
        Why the others are not.
    counters : list of str
        Columns of numbers that count the rows.
    """

    columns: dict[str, str]
    left_out: dict[str, str]
    counters: list[str]


def find_kinds(table: Table) -> Kinds:
    """Look at every column."""
    X = table.X
    filled, ready = X.notna().any(), ready_numbers(X)
    columns, left_out = {}, {}
    for name, has_cells, is_ready in zip(X.columns, filled, ready, strict=True):
        if not has_cells:
            left_out[name] = "it is empty"
        elif name in table.categorical:
            columns[name] = TEXT
        elif name in table.text:
            columns[name] = WORDS
        else:
            kind, reason = (NUMBER, None) if is_ready else _kind(table, name)
            if reason is None:
                columns[name] = kind
            else:
                left_out[name] = reason
    return Kinds(columns, left_out, [name for name in X.columns[ready] if _counts_rows(X[name])])


def ready_numbers(X: Any) -> NDArray[np.bool_]:
    """Return which columns hold numbers of numpy: they are read all at once, as a call for each of 10,000 is slow."""
    return np.array([isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in X.dtypes], dtype=bool)


def mostly_numbers(present: Any) -> bool:
    """Return whether more than half of some cells are numbers: a word among them is a slip."""
    import pandas as pd

    return bool(pd.to_numeric(present.astype(str), errors="coerce").notna().mean() > 0.5)


def _kind(table: Table, name: str) -> tuple[str, str | None]:
    """Return the kind of a column that is not empty, and why it is left out if it is."""
    import pandas as pd

    column = table.X[name]
    present = column[column.notna()]
    inferred = pd.api.types.infer_dtype(present, skipna=True)
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or inferred in ("date", "datetime"):
        return DATE + ISO, None
    # True and False are objects as soon as one is missing, and must not become texts by that.
    numeric = pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(column.dtype)
    if numeric or inferred == "boolean":
        return NUMBER, None
    if are_vectors(present):
        return vector_kind(stack_vectors(table, name).shape[1]), None
    texts = present.astype(str)
    if mostly_numbers(texts):
        return NUMBER, None
    try:
        form = date_format(texts, table.day_first)
    except AmbiguousDatesError as error:
        raise table.error(
            f"column {name!r} holds dates, and {error}. Name --day-first or --month-first, or --ignore {name}."
        ) from None
    if form:
        return DATE + form, None
    slip = date_slip(texts, table.day_first)
    if slip is not None:
        row = table.row(table.X.index.get_loc(texts.index[slip]))
        raise table.error(
            f"{row}, column {name!r}: {texts.iloc[slip]!r} is no date as the other cells are. Correct it or empty the "
            f"cell; --categorical {name} reads all of them as names, --ignore {name} leaves the column out."
        )
    return _kind_of_texts(texts)


def _kind_of_texts(texts: Any) -> tuple[str, str | None]:
    """Return whether texts are categories or sentences; names of the rows are left out."""
    different = texts.nunique()
    nearly_all = len(texts) >= MANY_ROWS and different > MANY * len(texts)
    if not nearly_all and different <= MAX_CATEGORIES:
        return TEXT, None
    if texts.str.split().str.len().mean() >= SENTENCE:
        return WORDS, None
    return TEXT, f"{different} different texts in {len(texts)} rows (--text uses its words)" if nearly_all else None


def _counts_rows(column: Any) -> bool:
    """Return whether whole numbers go up by one from row to row."""
    return len(column) >= MANY_ROWS and column.dtype.kind in "iu" and bool((np.diff(column.to_numpy()) == 1).all())
