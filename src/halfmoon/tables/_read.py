"""Read data files: CSV, TSV, Parquet, Feather, NPZ, libsvm and folders of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from halfmoon.exceptions import DataFileError
from halfmoon.tables._images import read_images
from halfmoon.tables._libsvm import read_libsvm
from halfmoon.tables._table import Table, as_cells, first_line, known_columns, take_target
from halfmoon.tables._text import read_delimited
from halfmoon.tables._wanted import Wanted

__all__ = ["IN_SUFFIXES", "read_table"]

Reader = Callable[[Path, Wanted], Table]


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    texts: Iterable[str] = (),
    columns: dict[str, str] | None = None,
    image_shape: tuple[int, int, int] | None = None,
) -> Table:
    r"""Read features and target of a data file.

    Parameters
    ----------
    path : str or Path
        A file, read by its suffix, or a folder of images whose subfolders are the classes.
    target : str, default=None
        Column of the target; name of an array in an NPZ file. libsvm files and folders know theirs.
    ignore : iterable of str, default=()
        Columns that are left out.
    categorical : iterable of str, default=()
        Columns of numbers that are names of categories.
    texts : iterable of str, default=()
        Columns of texts, compared by their words.
    columns : dict of str to str, default=None
        Kind of every column that a model knows, "number" or "text": text is read as it is written.
    image_shape : tuple of int, default=None
        Height, width and channels to bring images to; None finds them.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from halfmoon.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "few.csv"
    ...     _ = path.write_text("size,kind\n1.5,a\n2.5,\n")
    ...     table = read_table(path, target="kind")
    >>> table.X["size"].tolist(), table.target.tolist()
    ([1.5, 2.5], ['a', nan])
    """
    path = Path(path)
    wanted = Wanted(target, tuple(ignore), tuple(categorical), columns, tuple(texts))
    table = read_images(path, image_shape, wanted) if path.is_dir() else _reader(path)(path, wanted)
    if not table.X.shape[0]:
        raise table.error("there are no rows of data.")
    return table


def _reader(path: Path) -> Reader:
    """Return the reader of a file by its suffix."""
    if not path.exists():
        raise DataFileError(f"{path}: no such file or folder.")
    if path.suffix.lower() not in READERS:
        raise DataFileError(
            f"{path}: the suffix {path.suffix!r} is not known. Use {', '.join(READERS)} or a folder of images."
        )
    if path.stat().st_size == 0:
        raise DataFileError(f"{path}: the file is empty.")
    return READERS[path.suffix.lower()]


def _columns(path: Path, frame: Any, wanted: Wanted, **how: Any) -> Table:
    """Return the table of a data frame."""
    wanted.check_names(path, list(frame.columns))
    notes = []
    if "" in frame.columns:  # what a data frame's index becomes in a text file
        frame = frame.drop(columns="")
        notes.append("the column without a name is left out")
    frame = (
        frame.copy()
    )  # pandas reads one block per column; a copy has one block per type: 10,000 columns cost no more time
    X, y = take_target(frame.drop(columns=list(wanted.ignore)), wanted.target)
    return Table(path, X, y, wanted.target, notes=notes, categorical=wanted.categorical, texts=wanted.texts, **how)


def _read_text(separator: str) -> Reader:
    """Return a reader of text files with this separator."""

    def read(path: Path, wanted: Wanted) -> Table:
        frame, lines = read_delimited(path, separator, wanted)
        return _columns(path, frame, wanted, unit="line", rows=lines)

    return read


def _read_arrow(function: str) -> Reader:
    """Return a reader of Parquet or Feather files."""

    def read(path: Path, wanted: Wanted) -> Table:
        import pandas as pd
        import pyarrow as pa

        try:
            frame = getattr(pd, function)(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error
        frame.columns = [str(name) for name in frame.columns]
        return _columns(path, frame.reset_index(drop=True), wanted)

    return read


def _read_npz(path: Path, wanted: Wanted) -> Table:
    """Read arrays: X, or the only one of features, and the target; X of three or four dimensions is images."""
    wanted.check_no_names(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # numpy and zipfile raise a dozen kinds for damaged files
        raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error
    matrices = [
        name
        for name, array in arrays.items()
        if array.ndim in (2, 3, 4) and all(array.shape[1:]) and array.dtype.kind in "fiub"
    ]
    features = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if features is None:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise DataFileError(
            f"{path}: features are a two-dimensional array of numbers named 'X', or images of shape "
            f"(n, height, width). It has {shapes}."
        )
    X, y, target = arrays[features], None, wanted.target
    if target is not None:
        if target not in arrays:
            raise DataFileError(f"{path}: there is no array {target!r}. {known_columns(target, list(arrays))}")
        if arrays[target].shape != (X.shape[0],):
            raise DataFileError(
                f"{path}: {target!r} has shape {arrays[target].shape} and X has {X.shape[0]} rows. Give one per row."
            )
        y = as_cells(arrays[target].astype(object))
    shape = None if X.ndim == 2 else (X.shape[1], X.shape[2], X.shape[3] if X.ndim == 4 else 1)
    X = X.reshape(X.shape[0], math.prod(X.shape[1:]))
    return Table(path, X if X.dtype.kind == "f" else X.astype(np.float64), y, target, image_shape=shape)


READERS: dict[str, Reader] = {
    ".csv": _read_text(","),
    ".tsv": _read_text("\t"),
    ".parquet": _read_arrow("read_parquet"),
    ".feather": _read_arrow("read_feather"),
    ".npz": _read_npz,
    ".libsvm": read_libsvm,
    ".svmlight": read_libsvm,
    ".svm": read_libsvm,
}
IN_SUFFIXES = tuple(READERS)
