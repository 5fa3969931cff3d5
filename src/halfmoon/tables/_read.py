"""Read data files: CSV, TSV, Parquet, Arrow, NPY, NPZ, libsvm and folders of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from halfmoon._extras import need
from halfmoon.exceptions import DataFileError
from halfmoon.runtime.naming import naming
from halfmoon.tables._arrays import read_npz
from halfmoon.tables._images import read_images
from halfmoon.tables._libsvm import read_libsvm
from halfmoon.tables._read_rows import column_names, lies_on_disk, read_rows
from halfmoon.tables._separators import check_separator
from halfmoon.tables._table import Table, first_line, take_target
from halfmoon.tables._text import read_delimited
from halfmoon.tables._wanted import Wanted

__all__ = ["IN_SUFFIXES", "read_columns", "read_table"]

Reader = Callable[[Path, Wanted], Table]


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    text: Iterable[str] = (),
    day_first: bool | None = None,
    separator: str | None = None,
    columns: dict[str, str] | None = None,
    image_shape: tuple[int, int, int] | None = None,
    on_disk: bool = False,
) -> Table:
    r"""Read features and target of a data file.

    Parameters
    ----------
    path : str or Path
        A file, read by its suffix, or a folder of images whose subfolders are the classes. Rows of `.npy` files, Zarr
        arrays and folders of Parquet files stay on disk (`open_rows`).
    target : str, default=None
        Column of the target; name of an array in an NPZ file; another NPY file beside one of features. libsvm files
        and folders know theirs.
    ignore : iterable of str, default=()
        Columns that are left out.
    categorical : iterable of str, default=()
        Columns of numbers that are names of categories.
    text : iterable of str, default=()
        Columns whose words become features, by TF-IDF.
    day_first : bool, default=None
        Whether the date 01/02/2024 is in February; None: other cells of the column must tell.
    separator : str, default=None
        Between the cells of a text file; None finds it.
    columns : dict of str to str, default=None
        Kind of every column that a model knows, see `TableModel`: text is read as it is written.
    image_shape : tuple of int, default=None
        Height, width and channels to bring images to; None finds them.
    on_disk : bool, default=False
        Leave the rows of a Parquet file on disk too.

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
    wanted = Wanted(
        target,
        tuple(ignore),
        tuple(categorical),
        tuple(text),
        day_first,
        None if separator is None else check_separator(separator),
        columns,
    )
    if on_disk or lies_on_disk(path):
        return _read_on_disk(path, wanted)
    table = read_images(path, image_shape, wanted) if path.is_dir() else _read_file(path, wanted)
    if not table.X.shape[0]:
        raise table.error("there are no rows of data.")
    return table


def read_columns(path: str | Path, names: Iterable[str] = (), *, separator: str | None = None) -> dict[str, Any]:
    r"""Return columns of a data file as they are written, to be carried over to a file of results.

    Parameters
    ----------
    path : str or Path
        A file that names its columns.
    names : iterable of str, default=()
        Which ones; none named: all.
    separator : str, default=None
        Between the cells of a text file; None finds it.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from halfmoon.tables import read_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "few.csv"
    ...     _ = path.write_text("id,size\n007,1.50\n")
    ...     read_columns(path, ["id"])["id"].tolist()
    ['007']
    """
    path, names = Path(path), tuple(names)
    separator = None if separator is None else check_separator(separator)
    table = None if path.is_dir() else _read_file(path, Wanted(separator=separator, as_written=True))
    if table is None or not hasattr(table.X, "columns"):
        raise DataFileError(f"{path}: it does not name its columns, so that none can be carried over.")
    Wanted(ignore=names).check_names(path, list(table.X.columns))
    return {name: table.X[name].to_numpy() for name in names or table.X.columns}


def _read_file(path: Path, wanted: Wanted) -> Table:
    """Read a file by its suffix."""
    if not path.exists():
        raise DataFileError(f"{path}: no such file or folder.")
    if path.suffix.lower() not in READERS:
        if path.suffix.lower() in WORKBOOKS:
            raise DataFileError(f"{path}: workbooks are not read. Save the sheet as 'CSV UTF-8' in Excel.")
        raise DataFileError(
            f"{path}: the suffix {path.suffix!r} is not known. Use {', '.join(READERS)} or a folder of images."
        )
    if path.stat().st_size == 0:
        raise DataFileError(f"{path}: the file is empty.")
    if path.suffix.lower() in FRAMES:
        need("Tables", "cli", "pandas", "pyarrow")
    with naming(path):
        return READERS[path.suffix.lower()](path, wanted)


def _read_on_disk(path: Path, wanted: Wanted) -> Table:
    """Return a table whose features stay on disk."""
    wanted.check_no_separator(path)
    if not path.exists() or column_names(path) is None:
        wanted.check_no_names(path)
    wanted.check_numbers_only(path)
    with naming(path):
        return read_rows(path, target=wanted.target, ignore=wanted.ignore)


def _columns(path: Path, frame: Any, wanted: Wanted, **how: Any) -> Table:
    """Return the table of a data frame."""
    wanted.check_names(path, list(frame.columns))
    notes = list(how.pop("notes", ()))
    if "" in frame.columns:  # what a data frame's index becomes in a text file
        frame = frame.drop(columns="")
        notes.append("the column without a name is left out")
    frame = (
        frame.copy()
    )  # pandas reads one block per column; a copy has one block per type: 10,000 columns cost no more time
    X, y = take_target(frame.drop(columns=list(wanted.ignore)), wanted.target)
    roles: dict[str, Any] = {"categorical": wanted.categorical, "text": wanted.text, "day_first": wanted.day_first}
    return Table(path, X, y, wanted.target, notes=notes, **roles, **how)


def _read_text(separator: str) -> Reader:
    """Return a reader of text files with this separator."""

    def read(path: Path, wanted: Wanted) -> Table:
        frame, lines, notes = read_delimited(path, separator, wanted)
        return _columns(path, frame, wanted, unit="line", rows=lines, notes=notes)

    return read


def _read_arrow(function: str) -> Reader:
    """Return a reader of Parquet or Feather files."""

    def read(path: Path, wanted: Wanted) -> Table:
        import pandas as pd
        import pyarrow as pa

        wanted.check_no_separator(path)
        try:
            frame = getattr(pd, function)(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error
        frame.columns = [str(name) for name in frame.columns]
        return _columns(path, frame.reset_index(drop=True), wanted)

    return read


READERS: dict[str, Reader] = {
    ".csv": _read_text(","),
    ".tsv": _read_text("\t"),
    ".parquet": _read_arrow("read_parquet"),
    ".feather": _read_arrow("read_feather"),
    ".arrow": _read_arrow("read_feather"),
    ".npy": _read_on_disk,
    ".npz": read_npz,
    ".libsvm": read_libsvm,
    ".svmlight": read_libsvm,
    ".svm": read_libsvm,
}
IN_SUFFIXES = tuple(READERS)
WORKBOOKS = (".xls", ".xlsx", ".xlsm", ".ods", ".numbers")
FRAMES = (".csv", ".tsv", ".parquet", ".feather", ".arrow")  # read by pandas
