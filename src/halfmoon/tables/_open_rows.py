"""Rows of numbers that stay on disk: `.npy` files as they are, Parquet and Zarr copied once into one."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.exceptions import DataFileError
from halfmoon.runtime.progress import report
from halfmoon.runtime.spool import write_rows
from halfmoon.tables._sources import Source, readable, source_of

__all__ = ["open_rows"]

_logger = logging.getLogger("halfmoon")


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
    source = source_of(place, columns, tuple(ignore))
    if source.mapped is not None:
        return source.mapped
    dtype = readable(source.dtype)
    if spool is None:
        _logger.info("%s is copied to a temporary file of %.1f MB", place, dtype.itemsize * np.prod(source.shape) / 1e6)
        return write_rows(_reported(source), source.shape, dtype)
    copy = Path(spool) / f"rows-{source.digest}.npy"
    if not copy.exists():
        _logger.info("%s is copied to %s, %.1f MB", place, copy, dtype.itemsize * np.prod(source.shape) / 1e6)
        return write_rows(_reported(source), source.shape, dtype, copy)
    return np.load(copy, mmap_mode="r")


def _reported(source: Source) -> Iterator[NDArray[Any]]:
    done = 0
    for block in source.blocks():
        yield block
        done += len(block)
        report("rows", done, source.shape[0])
