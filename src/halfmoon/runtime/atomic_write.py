"""Files that are there as a whole or not at all: a temporary file takes the place of the old one when complete."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from halfmoon.runtime.naming import naming

__all__ = ["atomic_write", "leftovers", "try_writing"]

PREFIX, SUFFIX = ".halfmoon.", ".tmp"


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file that is complete or as it was before, also after a loss of power.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from halfmoon.runtime.atomic_write import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "out.txt"
    ...     with atomic_write(path) as file:
    ...         _ = file.write(b"all of it")
    ...     path.read_text()
    'all of it'
    """
    place = _place(path)
    temporary = _temporary(place)
    try:
        with naming(place), temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    finally:
        _remove(temporary)


def try_writing(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that `atomic_write` would meet, by trying: permissions alone do not show it."""
    place = _place(path)
    with contextlib.suppress(FileNotFoundError):
        os.lstat(place)  # refuses names that are too long
    temporary = _temporary(place)
    try:
        temporary.open("xb").close()
    finally:
        _remove(temporary)


def leftovers(folder: Path) -> list[Path]:
    """Return the temporary files in a folder: where nobody is writing, what killed writers have left."""
    return list(folder.glob(f"{PREFIX}*{SUFFIX}"))


def _remove(temporary: Path) -> None:
    """Remove a temporary file, also when a second interrupt comes meanwhile."""
    try:
        temporary.unlink(missing_ok=True)
    except KeyboardInterrupt:
        temporary.unlink(missing_ok=True)
        raise


def _place(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to: a link stays, and what it points to is written."""
    place = os.path.realpath(path)
    folder = os.path.dirname(place)
    if not os.path.exists(folder):
        raise FileNotFoundError(errno.ENOENT, "this folder does not exist, create it first", folder)
    circular = os.path.islink(place)
    if circular or (os.path.exists(path) and not os.path.isfile(path)):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return Path(place)


def _temporary(place: Path) -> Path:
    """Return a name in the same folder; a short one, so that it fits wherever the name of the file fits."""
    return place.with_name(f"{PREFIX}{secrets.token_hex(4)}{SUFFIX}")
