"""Values as files and digests: numbers, text, arrays and the library's dataclasses, without running code.

A value is a tree of tuples, lists, dicts, dataclasses and arrays. Its structure is JSON in which an array stands as
its number; the arrays follow as raw bytes, and a digest of everything ends the file. So a file is read whole and
sound, or not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["DamagedError", "digest", "read_piece", "write_piece"]

MAGIC = b"halfmoon piece 1\n"
CHUNK = 1 << 24  # bytes hashed and written at once
DIGEST = 32  # bytes


class DamagedError(ValueError):
    """A file is not complete or not what was written."""


def digest(value: Any) -> str:
    """Return a digest of a value: equal for equal values, in any process.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.runtime.pieces import digest
    >>> digest((1, np.arange(3))) == digest((1, np.arange(3))) != digest((1, np.arange(4)))
    True
    """
    summary = hashlib.blake2b(digest_size=DIGEST)
    for part in _parts(value):
        summary.update(part)
    return summary.hexdigest()[:DIGEST]


def write_piece(file: BinaryIO, value: Any) -> None:
    """Write a value; `read_piece` returns it with the same bits.

    Examples
    --------
    >>> import io
    >>> from halfmoon.runtime.pieces import read_piece, write_piece
    >>> file = io.BytesIO()
    >>> write_piece(file, {"rows": (1, 2.5, None)})
    >>> _ = file.seek(0)
    >>> read_piece(file)
    {'rows': (1, 2.5, None)}
    """
    summary = hashlib.blake2b(digest_size=DIGEST)
    file.write(MAGIC)
    for part in _parts(value):
        file.write(part)
        summary.update(part)
    file.write(summary.digest())


def read_piece(file: BinaryIO) -> Any:
    """Return what `write_piece` has written, or raise `DamagedError`."""
    if file.read(len(MAGIC)) != MAGIC:
        raise DamagedError("not a piece of a checkpoint")
    summary = hashlib.blake2b(digest_size=DIGEST)
    header = file.readline()
    summary.update(header)
    try:
        contents = json.loads(header)
        _check_length(file, contents["arrays"])
        arrays = [_read_array(file, summary, *described) for described in contents["arrays"]]
    except (ValueError, KeyError, TypeError, SyntaxError) as error:  # the last by names of types
        raise DamagedError(str(error)) from None
    if file.read(DIGEST) != summary.digest():
        raise DamagedError("the digest does not fit the contents")
    return _unfold(contents["value"], arrays)


def _parts(value: Any) -> Iterator[bytes | memoryview]:
    """Yield the bytes that stand for a value: the structure as a line of JSON, then the arrays."""
    arrays: list[NDArray[Any]] = []
    structure = _fold(value, arrays)
    described = [(array.dtype.str, array.shape) for array in arrays]
    yield json.dumps({"value": structure, "arrays": described}, sort_keys=True).encode() + b"\n"
    for array in arrays:
        raw = array.reshape(-1).view(np.uint8)
        for start in range(0, raw.size, CHUNK):
            yield raw[start : start + CHUNK].data


def _check_length(file: BinaryIO, described: list[tuple[str, list[int]]]) -> None:
    """Compare the length of the file with what it says: a damaged number must not ask for all the memory there is."""
    here = file.tell()
    rest = file.seek(0, io.SEEK_END) - here
    file.seek(here)
    if rest != DIGEST + sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in described):
        raise DamagedError("the length of the file does not fit its contents")


def _read_array(file: BinaryIO, summary: Any, dtype: str, shape: list[int]) -> NDArray[Any]:
    array = np.empty(tuple(shape), np.dtype(dtype))
    raw = array.reshape(-1).view(np.uint8)
    for start in range(0, raw.size, CHUNK):
        part = raw[start : start + CHUNK]
        part[:] = np.frombuffer(file.read(part.size), np.uint8)
        summary.update(part.data)
    return array


def _fold(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return the structure of a value as JSON and collect its arrays."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("An array of Python objects cannot be kept in a checkpoint.")
        arrays.append(np.ascontiguousarray(value).reshape(value.shape))
        return {"array": len(arrays) - 1}
    if isinstance(value, np.generic):
        return _fold(np.asarray(value), arrays) | {"scalar": True}
    if isinstance(value, dict):
        return {"dict": [[_fold(key, arrays), _fold(entry, arrays)] for key, entry in value.items()]}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, sparse.csr_array):
        return {"csr": [_fold(part, arrays) for part in (value.data, value.indices, value.indptr, value.shape)]}
    if is_dataclass(value) or hasattr(value, "_fields"):
        return {"object": _name(type(value)), "fields": [_fold(getattr(value, name), arrays) for name in _names(value)]}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [_fold(entry, arrays) for entry in value]}
    raise TypeError(f"A {type(value).__name__} cannot be kept in a checkpoint.")


def _unfold(structure: Any, arrays: list[NDArray[Any]]) -> Any:
    if not isinstance(structure, dict):
        return structure
    if "array" in structure:
        array = arrays[structure["array"]]
        return array[()] if "scalar" in structure else array
    if "dict" in structure:
        return {_unfold(key, arrays): _unfold(entry, arrays) for key, entry in structure["dict"]}
    if "slice" in structure:
        return slice(*structure["slice"])
    if "csr" in structure:
        data, indices, indptr, shape = (_unfold(part, arrays) for part in structure["csr"])
        return sparse.csr_array((data, indices, indptr), shape=shape)
    if "object" in structure:
        return _class(structure["object"])(*(_unfold(entry, arrays) for entry in structure["fields"]))
    ((kind, entries),) = structure.items()
    return (tuple if kind == "tuple" else list)(_unfold(entry, arrays) for entry in entries)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(value)) if is_dataclass(value) else value._fields


def _name(cls: type) -> str:
    if not cls.__module__.startswith("halfmoon."):
        raise TypeError(f"A {cls.__name__} cannot be kept in a checkpoint.")
    return f"{cls.__module__}:{cls.__qualname__}"


def _class(name: str) -> Any:
    """Return a dataclass or named tuple of the library: nothing else is made from a file."""
    module, _, qualname = name.partition(":")
    cls = getattr(import_module(module), qualname, None) if module.startswith("halfmoon.") else None
    if not isinstance(cls, type) or not (is_dataclass(cls) or hasattr(cls, "_fields")):
        raise DamagedError(f"{name} is not a class of data")
    return cls
