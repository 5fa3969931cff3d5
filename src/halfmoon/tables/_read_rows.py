"""Tables whose features stay on disk: `.npy` and Zarr arrays, Parquet files and folders of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError
from halfmoon.tables._open_rows import open_rows
from halfmoon.tables._sources import ON_DISK, parquet_file, parquet_files
from halfmoon.tables._table import Table, as_cells, first_line, known_columns, target_cells

__all__ = ["column_names", "lies_on_disk", "read_rows"]


def lies_on_disk(path: Path) -> bool:
    """Return whether a path is one that only `open_rows` reads: a `.npy` file, a Zarr array, a folder of Parquet."""
    return path.suffix.lower() in (".npy", ".zarr") or (path.is_dir() and bool(parquet_files(path)))


def column_names(path: Path) -> list[str] | None:
    """Return the names of the columns of a Parquet file or folder; None for formats without names."""
    if path.suffix.lower() in (".npy", ".zarr"):
        return None
    if not parquet_files(path):
        raise DataFileError(f"{path}: rows on disk are {', '.join(ON_DISK)}, or a folder of .parquet files.")
    return [str(name) for name in parquet_file(parquet_files(path)[0]).schema_arrow.names]


def _read_column(path: Path, name: str) -> NDArray[Any]:
    """Return one column of a Parquet file or folder, as `read_table` returns a target."""
    names = column_names(path) or []
    if name not in names:
        raise DataFileError(f"{path}: there is no column {name!r}. {known_columns(name, names)}")
    parts = [parquet_file(file).read([name]).column(0).to_pylist() for file in parquet_files(path)]
    return as_cells([value for part in parts for value in part])


def read_rows(
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    ignore: Iterable[str] = (),
    columns: Iterable[str] | None = None,
) -> Table:
    """Return a table whose features stay on disk.

    Parameters
    ----------
    path : path
        What `open_rows` opens.
    target : str, default=None
        A column of a Parquet file. For formats without names a second `.npy` file, with one target per row.
    ignore, columns : iterable of str
        Columns of a Parquet file that are left out, or all that are used.

    Returns
    -------
    Table
    """
    place = Path(path)
    if not place.exists():
        raise DataFileError(f"{place}: no such file or folder.")
    known = column_names(place)
    if known is None:
        X = open_rows(place, ignore=ignore)
        return Table(place, X, None if target is None else _targets(place, Path(target), len(X)), target)
    cells = None if target is None else _read_column(place, target)
    left_out = [name for name in known if name in {target, *ignore}]
    names = [name for name in known if name not in left_out] if columns is None else list(columns)
    unknown = [name for name in ignore if name not in known]
    if unknown:
        raise DataFileError(f"{place}: there is no column {unknown[0]!r}. {known_columns(unknown[0], known)}")
    return Table(place, open_rows(place, columns=names), cells, target, names=tuple(names))


def _targets(path: Path, file: Path, n: int) -> NDArray[Any]:
    """Return the targets in a `.npy` file."""
    if file.suffix.lower() != ".npy" or not file.is_file():
        raise DataFileError(
            f"{path}: its columns have no names, so --target must name a .npy file with one target per row. Got {file}."
        )
    try:
        targets = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataFileError(f"{file}: the file cannot be read ({first_line(error)}).") from error
    return target_cells(path, str(file), targets, n)
