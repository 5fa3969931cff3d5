"""Rows in files: whether an array lies on disk, and arrays that are made there, block by block."""

from __future__ import annotations

import io
import mmap
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from halfmoon.runtime.atomic_write import atomic_write
from halfmoon.runtime.naming import naming

__all__ = ["gather_rows", "is_on_disk", "write_rows"]

GATHERED = 1 << 20  # numbers gathered at once


def is_on_disk(X: Any) -> bool:
    """Return whether an array is a memory map, or a view of one.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.spool import is_on_disk
    >>> is_on_disk(np.ones(3))
    False
    """
    while X is not None:
        if isinstance(X, np.memmap | mmap.mmap):
            return True
        X = getattr(X, "base", None)
    return False


def write_rows(
    blocks: Iterable[NDArray[Any]],
    shape: tuple[int, int],
    dtype: DTypeLike,
    path: str | os.PathLike[str] | None = None,
) -> NDArray[Any]:
    """Write blocks of rows, one after the other, and return them as a memory map that cannot be written to.

    Parameters
    ----------
    blocks : iterable of ndarray
        Rows, in their order.
    shape, dtype
        Of all rows together.
    path : path, default=None
        A `.npy` file, which is there as a whole or not at all; None: a nameless file in the folder for temporary ones
        (TMPDIR names another), which is gone with the array.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.spool import is_on_disk, write_rows
    >>> rows = write_rows((np.full((2, 3), i) for i in range(2)), (4, 3), np.float32)
    >>> rows[:, 0].tolist(), is_on_disk(rows)
    ([0.0, 0.0, 1.0, 1.0], True)
    """
    if path is not None:
        with atomic_write(path) as file:
            _write(file, blocks, shape, dtype)
        return np.load(Path(path), mmap_mode="r")
    with naming(tempfile.gettempdir()), tempfile.TemporaryFile(prefix="halfmoon-rows-") as temporary:
        offset = _write(temporary, blocks, shape, dtype)
        temporary.flush()
        return np.memmap(temporary, dtype=dtype, mode="r", offset=offset, shape=shape)


def _write(file: BinaryIO | Any, blocks: Iterable[NDArray[Any]], shape: tuple[int, int], dtype: DTypeLike) -> int:
    """Write a header and the blocks; return where the rows begin."""
    kind = np.dtype(dtype)
    header = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, described)
    file.write(header.getvalue())
    written = 0
    for block in blocks:
        file.write(np.ascontiguousarray(block, dtype=kind).data)
        written += len(block)
    if written != shape[0]:
        raise ValueError(f"{shape[0]} rows were announced and {written} came. The source has changed meanwhile?")
    return len(header.getvalue())


def gather_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows: in memory, or on disk where X is there.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.spool import gather_rows
    >>> gather_rows(np.arange(6).reshape(3, 2), np.array([2, 0])).tolist()
    [[4, 5], [0, 1]]
    """
    if not is_on_disk(X):
        return X[rows]
    step = max(1, GATHERED // max(X.shape[1], 1))
    blocks = (X[rows[start : start + step]] for start in range(0, len(rows), step))
    return write_rows(blocks, (len(rows), X.shape[1]), X.dtype)
