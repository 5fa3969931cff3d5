"""Where rows on disk come from: `.npy` files, Zarr arrays, Parquet files and folders, read block by block."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._extras import need
from halfmoon.exceptions import DataFileError
from halfmoon.tables._table import first_line, known_columns

__all__ = ["Source", "parquet_file", "parquet_files", "readable", "source_of"]

AS_THEY_ARE = (np.float64, np.float32, np.float16, np.uint8)  # types that searches read
ON_DISK = (".npy", ".parquet", ".zarr")
COPIED = 1 << 20  # numbers copied at once
PAGES = 1 << 20  # bytes of a Parquet file read at once


def source_of(path: Path, columns: Iterable[str] | None, ignore: tuple[str, ...]) -> Source:
    """Return where the rows of a file or folder come from."""
    suffix = path.suffix.lower()
    if suffix in (".npy", ".zarr"):
        if columns is not None or ignore:
            raise DataFileError(f"{path}: columns of {suffix} files have no names. Leave `columns` and `ignore` out.")
        return ArraySource.npy(path) if suffix == ".npy" else ArraySource.zarr(path)
    files = parquet_files(path)
    if not files:
        raise DataFileError(f"{path}: rows on disk are {', '.join(ON_DISK)}, or a folder of .parquet files.")
    return ParquetSource.of(path, files, columns, ignore)


def readable(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that rows are kept in."""
    if dtype in AS_THEY_ARE:
        return dtype
    if dtype == np.bool_:
        return np.dtype(np.uint8)
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32) else np.float64)


def _step(width: int) -> int:
    return max(1, COPIED // max(width, 1))


def _digest(files: Iterable[Path], *more: Any) -> str:
    """Return what changes when files are changed."""
    known = [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    return hashlib.blake2b(json.dumps([known, more]).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class ArraySource:
    """A two-dimensional array that gives slices of rows."""

    array: Any
    digest: str

    @classmethod
    def npy(cls, path: Path) -> ArraySource:
        """Map a `.npy` file."""
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error
        return cls(_checked(path, array), _digest([path]))

    @classmethod
    def zarr(cls, path: Path) -> ArraySource:
        """Open a Zarr array."""
        need("Zarr arrays", "zarr", "zarr")
        import zarr

        try:
            array = zarr.open_array(path, mode="r")
        except Exception as error:  # zarr raises many kinds for what is no array
            raise DataFileError(f"{path}: the Zarr array cannot be read ({first_line(error)}).") from error
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return cls(_checked(path, array), _digest(files))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return int(self.array.shape[0]), int(self.array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(self.array.dtype)

    @property
    def mapped(self) -> NDArray[Any] | None:
        """The array itself, if it can be read as it is."""
        ready = isinstance(self.array, np.memmap) and self.array.flags.c_contiguous and self.dtype in AS_THEY_ARE
        return self.array if ready and self.dtype.isnative else None

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Yield all rows, some at a time."""
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


def parquet_files(path: Path) -> list[Path]:
    """Return a Parquet file, or those of a folder in the order of their names; names with _ or . are no data."""
    if not path.is_dir():
        return [path] if path.suffix.lower() == ".parquet" else []
    found = sorted(path.rglob("*.parquet"))
    return [file for file in found if not any(part[0] in "_." for part in file.relative_to(path).parts)]


def parquet_file(path: Path) -> Any:
    """Open a Parquet file."""
    need("Parquet files", "cli", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=PAGES)
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(f"{path}: the file cannot be read ({first_line(error)}).") from error


@dataclass(frozen=True)
class ParquetSource:
    """Columns of Parquet files with the same schema."""

    files: Sequence[Path]
    names: list[str]
    widths: list[int]  # features per column: 1, or the length of its lists
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    digest: str
    mapped: None = None

    @classmethod
    def of(cls, path: Path, files: list[Path], columns: Iterable[str] | None, ignore: tuple[str, ...]) -> ParquetSource:
        """Look at names, types and lengths; nothing is read but the first row."""
        opened = [parquet_file(file) for file in files]
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
        """Yield all rows, some at a time."""
        dtype, first = readable(self.dtype), 0
        for path in self.files:
            batches = parquet_file(path).iter_batches(_step(self.shape[1]), columns=self.names, use_threads=False)
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


Source = ArraySource | ParquetSource
