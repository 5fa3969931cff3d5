"""Write columns to a file, all or nothing: a temporary file takes the place of the old one when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError

__all__ = ["OUT_SUFFIXES", "check_writable", "write_columns"]


def check_writable(path: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Say what is wrong with the place of a result before the work begins."""
    if path.is_dir():
        raise DataFileError(f"{path}: this is a folder. Name a file.")
    if not path.parent.is_dir():
        raise DataFileError(f"{path}: the folder {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise DataFileError(f"{path}: the folder {path.parent} cannot be written to.")
    if suffixes and path.suffix.lower() not in suffixes:
        raise DataFileError(f"{path}: the suffix {path.suffix!r} is not known. Use {', '.join(suffixes)}.")


def write_columns(columns: Mapping[str, NDArray[Any]], path: str | Path) -> None:
    """Write equally long columns to a CSV, TSV, Parquet, Feather or NPZ file.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The columns.
    path : str or Path
        Where to; the suffix decides on the format.

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
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            WRITERS[path.suffix.lower()](columns, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _write_text(separator: str) -> Callable[[Mapping[str, NDArray[Any]], Any], None]:
    return lambda columns, file: _frame(columns).to_csv(file, sep=separator, index=False)


def _write_npz(columns: Mapping[str, NDArray[Any]], file: Any) -> None:
    arrays: dict[str, Any] = dict(columns)
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
