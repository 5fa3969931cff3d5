"""Rows of numbers that stay on disk: `.npy` files as they are, Parquet and Zarr copied once into one."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError
from halfmoon.runtime.progress import report
from halfmoon.runtime.spool import write_rows
from halfmoon.tables._table import Table, as_cells, first_line, known_columns

__all__ = ["lies_on_disk", "open_rows", "read_rows"]

_logger = logging.getLogger("halfmoon")

AS_THEY_ARE = (np.float64, np.float32, np.float16, np.uint8)  # types that searches read
ON_DISK = (".npy", ".parquet", ".zarr")
COPIED = 1 << 20  # numbers copied at once
PAGES = 1 << 20  # bytes of a Parquet file read at once


def open_rows(
    path: str | os.PathLike[str],
    *,
    columns: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    spool: str | os.PathLike[str] | None = None,
) -> NDArray[Any]:
    """Return the rows of a file as an array that stays on disk, to fit to and to predict.

    A `.npy` file in C order of float64, float32, float16 or uint8 is mapped into memory as it is. Everything else is
    copied once, block by block, into such a file: Parquet and Zarr cannot be read row by row at random. Numbers keep
    their type where it is one of these four, and become the smallest float that holds them otherwise.

    Parameters
    ----------
    path : path
        A `.npy` file; a Parquet file, or a folder of them, read in the order of their names; a Zarr array. Columns of a
        Parquet file are numbers, or lists of equally many numbers.
    columns : iterable of str, default=None
        Columns of a Parquet file, in this order; None: all.
    ignore : iterable of str, default=()
        Columns of a Parquet file that are left out.
    spool : path, default=None
        An existing folder to keep the copy in: the next call finds it there, unless the source has changed. None: a
        nameless temporary file, gone with the array. The logger "halfmoon" says what is copied and where to.

    Returns
    -------
    ndarray of shape (n, d)
        A memory map that cannot be written to.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from halfmoon import open_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.npy"
    ...     np.save(path, np.arange(6, dtype=np.uint8).reshape(3, 2))
    ...     X = open_rows(path)
    >>> X.shape, X.dtype, X[1].tolist()
    ((3, 2), dtype('uint8'), [2, 3])
    """
    place = Path(path)
    if not place.exists():
        raise DataFileError(f"{place}: no such file or folder.")
    source = _source(place, columns, tuple(ignore))
    if source.mapped is not None:
        return source.mapped
    dtype = _readable(source.dtype)
    if spool is None:
        _logger.info("%s is copied to a temporary file of %.1f MB", place, dtype.itemsize * np.prod(source.shape) / 1e6)
        return write_rows(_reported(source), source.shape, dtype)
    copy = Path(spool) / f"rows-{source.digest}.npy"
    if not copy.exists():
        _logger.info("%s is copied to %s, %.1f MB", place, copy, dtype.itemsize * np.prod(source.shape) / 1e6)
        return write_rows(_reported(source), source.shape, dtype, copy)
    return np.load(copy, mmap_mode="r")


def lies_on_disk(path: Path) -> bool:
    """Return whether a path is one that only `open_rows` reads: a `.npy` file, a Zarr array, a folder of Parquet."""
    return path.suffix.lower() in (".npy", ".zarr") or (path.is_dir() and bool(_parquet_files(path)))


def column_names(path: Path) -> list[str] | None:
    """Return the names of the columns of a Parquet file or folder; None for formats without names."""
    if path.suffix.lower() in (".npy", ".zarr"):
        return None
    if not _parquet_files(path):
        raise DataFileError(f"{path}: rows on disk are {', '.join(ON_DISK)}, or a folder of .parquet files.")
    return [str(name) for name in _parquet_file(_parquet_files(path)[0]).schema_arrow.names]


def read_column(path: Path, name: str) -> NDArray[Any]:
    """Return one column of a Parquet file or folder, as `read_table` returns a target."""
    names = column_names(path) or []
    if name not in names:
        raise DataFileError(f"{path}: there is no column {name!r}. {known_columns(name, names)}")
    parts = [_parquet_file(file).read([name]).column(0).to_pylist() for file in _parquet_files(path)]
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
    cells = None if target is None else read_column(place, target)
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
    if targets.shape != (n,):
        raise DataFileError(f"{file}: it has shape {targets.shape} and {path} has {n} rows. Give one target per row.")
    return as_cells(targets.astype(object))


def _source(path: Path, columns: Iterable[str] | None, ignore: tuple[str, ...]) -> _Source:
    suffix = path.suffix.lower()
    if suffix in (".npy", ".zarr"):
        if columns is not None or ignore:
            raise DataFileError(f"{path}: columns of {suffix} files have no names. Leave `columns` and `ignore` out.")
        return _ArraySource.npy(path) if suffix == ".npy" else _ArraySource.zarr(path)
    files = _parquet_files(path)
    if not files:
        raise DataFileError(f"{path}: rows on disk are {', '.join(ON_DISK)}, or a folder of .parquet files.")
    return _ParquetSource.of(path, files, columns, ignore)


def _readable(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that rows are kept in."""
    if dtype in AS_THEY_ARE:
        return dtype
    if dtype == np.bool_:
        return np.dtype(np.uint8)
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32) else np.float64)


def _reported(source: _Source) -> Iterator[NDArray[Any]]:
    done = 0
    for block in source.blocks():
        yield block
        done += len(block)
        report("rows", done, source.shape[0])


def _step(width: int) -> int:
    return max(1, COPIED // max(width, 1))


def _digest(files: Iterable[Path], *more: Any) -> str:
    """Return what changes when files are changed."""
    known = [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    return hashlib.blake2b(json.dumps([known, more]).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class _ArraySource:
    """A two-dimensional array that gives slices of rows."""

    array: Any
    digest: str

    @classmethod
    def npy(cls, path: Path) -> _ArraySource:
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error
        return cls(_checked(path, array), _digest([path]))

    @classmethod
    def zarr(cls, path: Path) -> _ArraySource:
        try:
            import zarr
        except ImportError as error:
            raise ImportError('Zarr arrays need zarr. Install it with pip install "halfmoon[zarr]".') from error
        try:
            array = zarr.open_array(path, mode="r")
        except Exception as error:  # zarr raises many kinds for what is no array
            raise DataFileError(f"{path}: the Zarr array cannot be read ({first_line(error)}).") from error
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return cls(_checked(path, array), _digest(files))

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.array.shape[0]), int(self.array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.array.dtype)

    @property
    def mapped(self) -> NDArray[Any] | None:
        ready = isinstance(self.array, np.memmap) and self.array.flags.c_contiguous and self.dtype in AS_THEY_ARE
        return self.array if ready and self.dtype.isnative else None

    def blocks(self) -> Iterator[NDArray[Any]]:
        step = _step(self.shape[1])
        for start in range(0, self.shape[0], step):
            yield np.asarray(self.array[start : start + step])


def _checked(path: Path, array: Any) -> Any:
    kind = np.dtype(array.dtype).kind
    if len(array.shape) != 2 or kind not in "fiub":
        raise DataFileError(
            f"{path}: rows are a two-dimensional array of numbers. This one has shape {tuple(array.shape)} and type "
            f"{array.dtype}."
        )
    if 0 in array.shape:
        raise DataFileError(f"{path}: there are no rows of data, the shape is {tuple(array.shape)}.")
    return array


def _parquet_files(path: Path) -> list[Path]:
    """Return a Parquet file, or those of a folder in the order of their names; names with _ or . are no data."""
    if not path.is_dir():
        return [path] if path.suffix.lower() == ".parquet" else []
    found = sorted(path.rglob("*.parquet"))
    return [file for file in found if not any(part[0] in "_." for part in file.relative_to(path).parts)]


def _parquet_file(path: Path) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow. Install it with pip install "halfmoon[cli]".') from error
    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=PAGES)
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error


@dataclass(frozen=True)
class _ParquetSource:
    """Columns of Parquet files with the same schema."""

    files: Sequence[Path]
    names: list[str]
    widths: list[int]  # features per column: 1, or the length of its lists
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    digest: str
    mapped: None = None

    @classmethod
    def of(
        cls, path: Path, files: list[Path], columns: Iterable[str] | None, ignore: tuple[str, ...]
    ) -> _ParquetSource:
        opened = [_parquet_file(file) for file in files]
        known = [str(name) for name in opened[0].schema_arrow.names]
        names = [name for name in known if name not in ignore] if columns is None else list(columns)
        for name in (*names, *ignore):
            if name not in known:
                raise DataFileError(f"{path}: there is no column {name!r}. {known_columns(name, known)}")
        n = sum(file.metadata.num_rows for file in opened)
        if not n or not names:
            raise DataFileError(f"{path}: there are no {'columns' if n else 'rows'} of data.")
        first = next(file for file in opened if file.metadata.num_rows).schema_arrow
        kinds = [_kind(path, name, first.field(name).type) for name in names]
        widths = _widths(files, opened, names)
        dtype = np.result_type(*kinds)
        return cls(files, names, widths, (n, sum(widths)), dtype, _digest(files, names))

    def blocks(self) -> Iterator[NDArray[Any]]:
        dtype, first = _readable(self.dtype), 0
        for path in self.files:
            batches = _parquet_file(path).iter_batches(_step(self.shape[1]), columns=self.names, use_threads=False)
            for batch in batches:
                block = np.empty((len(batch), self.shape[1]), dtype)
                place = 0
                for name, width in zip(self.names, self.widths, strict=True):
                    block[:, place : place + width] = _numbers(path, name, batch.column(name), width, first)
                    place += width
                first += len(batch)
                yield block


def _kind(path: Path, name: str, kind: Any) -> np.dtype[Any]:
    """Return the type of the numbers in a column."""
    import pyarrow as pa

    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    number = kind.value_type if lists else kind
    if not (pa.types.is_integer(number) or pa.types.is_floating(number) or pa.types.is_boolean(number)):
        raise DataFileError(
            f"{path}: column {name!r} holds {kind}, and rows on disk are numbers. Leave it out (ignore={name!r})."
        )
    return np.dtype(number.to_pandas_dtype())


def _widths(files: list[Path], opened: list[Any], names: list[str]) -> list[int]:
    """Return how many features each column is, by the first row."""
    (row,) = (
        next(file for file in opened if file.metadata.num_rows).iter_batches(1, columns=names).__next__().to_pylist()
    )
    for name in names:
        if isinstance(row[name], list) and not row[name]:
            raise DataFileError(f"{files[0]}: row 0, column {name!r}: the list is empty.")
    return [len(row[name]) if isinstance(row[name], list) else 1 for name in names]


def _numbers(path: Path, name: str, column: Any, width: int, first: int) -> NDArray[Any]:
    """Return a column of a batch as a matrix; an error names the row of a missing value or of a shorter list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = first + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataFileError(f"{path}: row {row}, column {name!r} is empty. Fill it in, or leave the row out.")
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or hasattr(column.type, "list_size")):
        return column.to_numpy(zero_copy_only=False)[:, None]
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    if np.any(lengths != width):
        row = int(np.flatnonzero(lengths != width)[0])
        raise DataFileError(
            f"{path}: row {first + row}, column {name!r}: the list has {lengths[row]} numbers, and that of row 0 has "
            f"{width}. Bring all lists to one length."
        )
    values = column.flatten()
    if values.null_count:
        row = first + int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]) // width
        raise DataFileError(f"{path}: row {row}, column {name!r}: a number of the list is missing.")
    return values.to_numpy(zero_copy_only=False).reshape(-1, width)


_Source = _ArraySource | _ParquetSource
