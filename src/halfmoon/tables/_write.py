"""Write columns to a file, all or nothing, and check beforehand that a file can be written there."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError
from halfmoon.runtime.atomic_write import atomic_write, try_writing
from halfmoon.tables._images import SUFFIXES as IMAGE_SUFFIXES
from halfmoon.tables._separators import DECIMAL_COMMA, find_dialect

__all__ = ["OUT_SUFFIXES", "check_writable", "write_columns"]

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # what spreadsheets compute when they open a text file


def check_writable(
    path: Path, suffixes: tuple[str, ...] = (), inputs: tuple[Path, ...] = (), *, force: bool = True
) -> None:
    """Say what is wrong with the place of a result before the work begins.

    A result must not overwrite an input, and another file only with `force`.
    """
    if os.path.isdir(path):
        raise DataFileError(f"{path}: this is a folder. Name a file.")
    if not os.path.isdir(path.parent):
        raise DataFileError(f"{path}: the folder {path.parent} does not exist.")
    if suffixes and path.suffix.lower() not in suffixes:
        raise DataFileError(f"{path}: the suffix {path.suffix!r} is not known. Use {', '.join(suffixes)}.")
    for source in inputs:
        if _is_part(path, source):
            raise DataFileError(f"{path}: the result would overwrite the input {source}. Name another file.")
    if not force and path.is_file():
        raise DataFileError(f"{path}: there is a file already. Name another one, or replace it with --force.")
    try:
        try_writing(path)
    except OSError as error:
        raise DataFileError(f"{path}: no file can be written there ({error.strerror}). Name another file.") from error


def _is_part(path: Path, source: Path) -> bool:
    """Return whether a path is an input file, or one of the files in an input folder."""
    if not (os.path.exists(path) and os.path.exists(source)):
        return False
    if source.is_dir():
        return path.suffix.lower() in (*IMAGE_SUFFIXES, ".parquet") and path.resolve().is_relative_to(source.resolve())
    return os.path.samefile(path, source)


def write_columns(columns: Mapping[str, NDArray[Any]], path: str | Path, *, like: Path | None = None) -> None:
    """Write equally long columns to a CSV, TSV, Parquet, Feather or NPZ file.

    Spreadsheets compute cells of text files that begin with =, +, -, @, a tab or a line end. Such texts, numbers apart,
    get an apostrophe in front in CSV and TSV files; the other formats hold them as they are.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The columns.
    path : str or Path
        Where to; the suffix decides on the format.
    like : Path, default=None
        A CSV file whose separator and decimal comma another one gets.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from halfmoon.tables import write_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "out.csv"
    ...     write_columns({"prediction": np.array(["a", "b"])}, path)
    ...     path.read_text().split()
    ['prediction', 'a', 'b']
    """
    path = Path(path)
    check_writable(path, OUT_SUFFIXES)
    with atomic_write(path) as file:
        if like is not None and path.suffix.lower() == like.suffix.lower() == ".csv":
            dialect = find_dialect(like, ",")
            _write_text(dialect.separator, "," if dialect.decimal_comma else ".")(columns, file)
        else:
            WRITERS[path.suffix.lower()](columns, file)


def _write_text(separator: str, decimal: str = ".") -> Callable[[Mapping[str, NDArray[Any]], Any], None]:
    def write(columns: Mapping[str, NDArray[Any]], file: Any) -> None:
        harmless = {_harmless(name): _harmless_cells(values) for name, values in _written(columns).items()}
        texts = [*harmless, *(value for values in harmless.values() if values.dtype == object for value in values)]
        returns = any("\r" in text for text in texts if isinstance(text, str))
        quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL  # which leaves a carriage return bare
        _frame(harmless).to_csv(file, sep=separator, decimal=decimal, index=False, quoting=quoting)

    return write


def _harmless_cells(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "OUT":
        return values
    return np.array([_harmless(value) for value in values.tolist()], dtype=object)


def _harmless(value: Any) -> Any:
    """Return a text that no spreadsheet takes for a formula; whatever is no such text stays as it is."""
    if not isinstance(value, str) or not value.startswith(FORMULAS):
        return value
    if DECIMAL_COMMA.fullmatch(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _written(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return columns with vectors written out as lists: pandas would shorten long ones."""
    return {
        name: np.array([_as_text(cell) for cell in cells], dtype=object) if _is_nested(cells) else cells
        for name, cells in columns.items()
    }


def _is_nested(cells: NDArray[Any]) -> bool:
    return cells.dtype == object and any(isinstance(cell, list | np.ndarray) for cell in cells)


def _as_text(cell: Any) -> Any:
    return json.dumps(np.asarray(cell).tolist()) if isinstance(cell, list | np.ndarray) else cell


def _write_npz(columns: Mapping[str, NDArray[Any]], file: Any) -> None:
    # Objects would be pickled: texts are stored as such.
    arrays: dict[str, Any] = {
        name: np.array([str(cell) for cell in cells]) if np.asarray(cells).dtype.kind == "O" else cells
        for name, cells in _written(columns).items()
    }
    np.savez_compressed(file, **arrays)


def _frame(columns: Mapping[str, NDArray[Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(columns))


WRITERS: dict[str, Callable[[Mapping[str, NDArray[Any]], Any], None]] = {
    ".csv": _write_text(","),
    ".tsv": _write_text("\t"),
    ".parquet": lambda columns, file: _frame(columns).to_parquet(file, index=False),
    ".feather": lambda columns, file: _frame(columns).to_feather(file),
    ".npz": _write_npz,
}
OUT_SUFFIXES = tuple(WRITERS)
