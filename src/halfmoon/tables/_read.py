"""Read data files: CSV, TSV, Parquet, Feather, NPZ, libsvm and folders of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from halfmoon.exceptions import DataFileError
from halfmoon.tables._images import read_images
from halfmoon.tables._table import Table, known_columns, take_target
from halfmoon.tables._text import read_delimited

__all__ = ["read_table"]


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    ignore: Iterable[str] = (),
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
    if path.is_dir():
        _no_named_columns(path, tuple(ignore))
        return read_images(path, image_shape)
    if not path.exists():
        raise DataFileError(f"{path}: no such file or folder.")
    if path.suffix.lower() not in READERS:
        raise DataFileError(
            f"{path}: the suffix {path.suffix!r} is not known. Use {', '.join(READERS)} or a folder of images."
        )
    if path.stat().st_size == 0:
        raise DataFileError(f"{path}: the file is empty.")
    return READERS[path.suffix.lower()](path, target, tuple(ignore))


def _columns(path: Path, frame: Any, target: str | None, ignore: tuple[str, ...], **how: Any) -> Table:
    """Return the table of a data frame."""
    for name in ignore:
        if name not in frame.columns:
            raise DataFileError(f"{path}: there is no column {name!r}. {known_columns(name, list(frame.columns))}")
    notes = []
    if "" in frame.columns:  # what a data frame's index becomes in a text file
        frame = frame.drop(columns="")
        notes.append("the column without a name is left out")
    X, y = take_target(path, frame.drop(columns=list(ignore)), target)
    if not len(X):
        raise DataFileError(f"{path}: there are no rows below the header.")
    return Table(path, X, y, target, notes=notes, **how)


def _read_text(separator: str) -> Callable[[Path, str | None, tuple[str, ...]], Table]:
    """Return a reader of text files with this separator."""

    def read(path: Path, target: str | None, ignore: tuple[str, ...]) -> Table:
        frame, lines = read_delimited(path, separator)
        return _columns(path, frame, target, ignore, unit="line", rows=lines)

    return read


def _read_arrow(function: str) -> Callable[[Path, str | None, tuple[str, ...]], Table]:
    """Return a reader of Parquet or Feather files."""

    def read(path: Path, target: str | None, ignore: tuple[str, ...]) -> Table:
        import pandas as pd
        import pyarrow as pa

        try:
            frame = getattr(pd, function)(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataFileError(f"{path}: the file cannot be read ({_first_line(error)}).") from error
        frame.columns = [str(name) for name in frame.columns]
        return _columns(path, frame.reset_index(drop=True), target, ignore)

    return read


def _read_npz(path: Path, target: str | None, ignore: tuple[str, ...]) -> Table:
    """Read arrays: X, or the only two-dimensional one, and the target."""
    _no_named_columns(path, ignore)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # numpy and zipfile raise a dozen kinds for damaged files
        raise DataFileError(f"{path}: the file cannot be read ({_first_line(error)}).") from error
    matrices = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiub"]
    features = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if features is None:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise DataFileError(f"{path}: features are a two-dimensional array of numbers named 'X'. It has {shapes}.")
    X, y = arrays[features], None
    if target is not None:
        if target not in arrays:
            raise DataFileError(f"{path}: there is no array {target!r}. {known_columns(target, list(arrays))}")
        y = arrays[target].astype(object)
        if y.shape != (X.shape[0],):
            raise DataFileError(f"{path}: {target!r} has shape {y.shape} and X has {X.shape[0]} rows. Give one a row.")
    return Table(path, X if X.dtype.kind == "f" else X.astype(np.float64), y, target)


def _read_libsvm(path: Path, target: str | None, ignore: tuple[str, ...]) -> Table:
    """Read ``label index:value ...`` lines; the label nan is an unlabelled row."""
    from sklearn.datasets import load_svmlight_file

    _no_named_columns(path, ignore)
    try:
        # Not shifted: whether indices begin at 0 or 1 must not be guessed file by file.
        X, y = load_svmlight_file(str(path), zero_based=True)
    except ValueError as error:
        raise DataFileError(f"{path}: {_bad_libsvm_line(path) or _first_line(error)}") from error
    return Table(path, sparse.csr_array(X), y.astype(object), "label")


def _no_named_columns(path: Path, ignore: tuple[str, ...]) -> None:
    if ignore:
        raise DataFileError(f"{path}: the column {ignore[0]!r} cannot be left out, the file does not name its columns.")


def _bad_libsvm_line(path: Path) -> str | None:
    """Return what is wrong with the first line that is not ``label index:value ...``."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            label, *pairs = line.split("#")[0].split() or ["0"]
            for word, parts in [(label, [label]), *((pair, pair.split(":")) for pair in pairs if pair[:4] != "qid:")]:
                try:
                    numbers = [float(part) for part in parts]
                except ValueError:
                    return f"line {number}: {word!r} is not a number."
                if word is not label and len(numbers) != 2:
                    return f"line {number}: {word!r} is not of the form index:value."
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__


READERS: dict[str, Callable[[Path, str | None, tuple[str, ...]], Table]] = {
    ".csv": _read_text(","),
    ".tsv": _read_text("\t"),
    ".parquet": _read_arrow("read_parquet"),
    ".feather": _read_arrow("read_feather"),
    ".npz": _read_npz,
    ".libsvm": _read_libsvm,
    ".svmlight": _read_libsvm,
    ".svm": _read_libsvm,
}
