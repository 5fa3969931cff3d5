"""What a data file holds, once it is read: features, target, and how its rows are called."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError

__all__ = [
    "NUMBER",
    "SHOWN",
    "TEXT",
    "WORDS",
    "Table",
    "as_cells",
    "first_line",
    "known_columns",
    "listed",
    "take_target",
    "target_cells",
]

# Kinds of columns: numbers, names of categories, texts whose words count. There are dates and vectors besides.
NUMBER, TEXT, WORDS = "number", "text", "words"
SHOWN = 8  # names of columns that a message lists


@dataclass(frozen=True)
class Table:
    """Features and target of a data file.

    Attributes
    ----------
    path : Path
        The file.
    X : DataFrame, ndarray or csr_array
        Features: named columns, or numbers only.
    target : ndarray of object or None
        Target of every row as it was read; None if none was asked for.
    target_name : str or None
        Its column.
    unit : str
        What a row is called in messages: "line", "row" or "image".
    rows : sequence
        Number of every row, or name of every image.
    image_shape : tuple of int or None
        Height, width and channels that images were brought to.
    notes : list of str
        What the reader should know.
    categorical : tuple of str
        Columns of features that are names of categories, whatever they look like.
    text : tuple of str
        Columns of features whose words count, whatever they look like.
    day_first : bool or None
        Whether 01/02/2024 is in February; None: the cells must tell.
    names : tuple of str or None
        Columns that rows on disk were made of, where these have names.
    """

    path: Path
    X: Any
    target: NDArray[Any] | None = None
    target_name: str | None = None
    unit: str = "row"
    rows: Sequence[Any] = ()
    image_shape: tuple[int, int, int] | None = None
    notes: list[str] = field(default_factory=list)
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    day_first: bool | None = None
    names: tuple[str, ...] | None = None

    def row(self, i: int) -> str:
        """Return how row i is called in messages."""
        return f"{self.unit} {self.rows[i] if len(self.rows) else i + 1}"

    @property
    def unit_of_data(self) -> str:
        """What a row is, wherever it is written: an image or a row."""
        return "image" if self.unit == "image" else "row"

    def error(self, text: str) -> DataFileError:
        """Return an error that names the file."""
        return DataFileError(f"{self.path}: {text}")


def take_target(frame: Any, target: str | None) -> tuple[Any, NDArray[Any] | None]:
    """Return the frame without the target column, and that column."""
    if target is None:
        return frame, None
    return frame.drop(columns=target), as_cells(frame[target])


def as_cells(values: Any) -> NDArray[Any]:
    """Return the values of a target as objects; bytes become the text that they spell."""
    cells = [value.decode(errors="backslashreplace") if isinstance(value, bytes) else value for value in values]
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def target_cells(path: Path, name: str, values: NDArray[Any], n: int) -> NDArray[Any]:
    """Return an array of targets as cells; there must be one for every row."""
    if values.ndim == 2 and values.shape[0] == n and values.shape[1] > 1:
        raise DataFileError(
            f"{path}: {name!r} has {values.shape[1]} targets per row, and a model has one. Save each column as an "
            "array of its own and fit a model for each."
        )
    if values.shape not in ((n,), (n, 1)):
        raise DataFileError(
            f"{path}: {name!r} has shape {values.shape} and there are {n} rows. Give one target per row."
        )
    return as_cells(values.ravel().astype(object))


def known_columns(wanted: str, names: list[str]) -> str:
    """Return a sentence with the nearest of some names, or with the first ones."""
    by_case = {name.casefold(): name for name in reversed(names)}
    near = difflib.get_close_matches(wanted.casefold(), by_case, n=1)
    if near:
        return f"Did you mean {by_case[near[0]]!r}?"
    return f"It has {listed(names)}."


def listed(names: Sequence[str]) -> str:
    """Return names in quotes, the first ones if there are many."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more


def first_line(error: Exception) -> str:
    """Return what another library says is wrong, in one line."""
    return str(error).strip().split("\n")[0] or type(error).__name__
