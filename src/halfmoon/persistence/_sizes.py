"""What the members of a model file unfold to in memory, counted before anything is unfolded."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import IO, Any
from zipfile import ZipFile

import numpy as np

from halfmoon.exceptions import ModelFileError

__all__ = ["check_unfolded_size"]

# Arrays are stored as they are. Sparse matrices are packed, and the ones of a graph pack well: about 10 to 1.
LARGEST_RATIO = 50
ALLOWANCE = 1 << 26  # bytes that even a small file may unfold to
SPARSE_FORMATS = ("csr", "csc")  # whose arrays are as long as their shape says, so that a shape alone takes no memory


def check_unfolded_size(archive: ZipFile, members: Mapping[str, str], file_size: int) -> None:
    """Refuse an archive whose members, given with their loaders, take far more memory than the file takes on disk."""
    stored = sum(member.file_size for member in archive.infolist())
    if stored > file_size:
        raise ModelFileError(f"Its members hold {stored} bytes and the file has {file_size}: they overlap.")
    budget = ALLOWANCE + LARGEST_RATIO * file_size
    total = 0
    for name, loader in members.items():
        total += COUNTERS.get(loader, _plain_size)(archive, name)
        if total > budget:
            raise ModelFileError(
                f"It unfolds to {total} bytes and more, from a file of {file_size} bytes: no more than {budget} are "
                "read. Save the model again from the program that fitted it."
            )


def _plain_size(archive: ZipFile, name: str) -> int:
    return archive.getinfo(name).file_size


def _array_size(archive: ZipFile, name: str) -> int:
    """Return the bytes of an array in numpy's format, which must be there to the last one."""
    stored = archive.getinfo(name).file_size
    with archive.open(name) as file:
        shape, dtype = _read_header(file, name)
        present = stored - file.tell()
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != present:
        raise ModelFileError(f"The array {name} says that it has shape {shape} of {dtype}, and has {present} bytes.")
    return math.prod(shape) * max(dtype.itemsize, 1)


def _read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in readers:
        raise ModelFileError(f"The array {name} has version {version} of numpy's format; halfmoon writes 1.0 or 2.0.")
    shape, _, dtype = readers[version](file)
    return shape, dtype


def _sparse_size(archive: ZipFile, name: str) -> int:
    """Return the bytes of a sparse matrix: of the arrays in the archive that it is."""
    with ZipFile(io.BytesIO(archive.read(name))) as parts:
        sizes = {part: _array_size(parts, part) for part in parts.namelist()}
        if sizes.get("format.npy", ALLOWANCE) < ALLOWANCE:
            kind = np.load(io.BytesIO(parts.read("format.npy")), allow_pickle=False).item()
            kind = kind.decode() if isinstance(kind, bytes) else kind
            if kind in SPARSE_FORMATS:
                return sum(sizes.values())
    raise ModelFileError(f"The sparse matrix {name} is not in one of the formats {', '.join(SPARSE_FORMATS)}.")


COUNTERS = {"NdArrayNode": _array_size, "SparseMatrixNode": _sparse_size}
