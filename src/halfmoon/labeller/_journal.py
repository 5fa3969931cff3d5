"""An append-only file of records: what has been acknowledged is on the disk, whatever happens next."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halfmoon.exceptions import DataFileError
from halfmoon.runtime.naming import naming

__all__ = ["Journal", "JournalError", "MemoryJournal"]

Record = Mapping[str, Any]
KIND, VERSION = "halfmoon labels", 1


class JournalError(DataFileError):
    """A journal cannot be used; the message names the file and what to do."""


class MemoryJournal:
    """A journal that nobody keeps, for sessions whose labels stay in the process."""

    def __init__(self) -> None:
        self.header: Record = {}
        self.records: tuple[Record, ...] = ()
        self.notes: tuple[str, ...] = ()

    def append(self, record: Record) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Do nothing."""


class Journal:
    """One JSON object per line, the first a header; a line is on the disk when `append` returns.

    There is one writer: the file is locked until `close`, or until the process ends, however it ends. A last line that
    a kill has torn is dropped when the journal is opened: nobody was told that it is there.

    Parameters
    ----------
    path : Path
        The file; it is created if there is none.
    header : mapping
        What the journal is about, "rows" and "data" (a fingerprint) among it: a journal of other data is refused.

    Attributes
    ----------
    header : mapping
        That of the file.
    records : tuple of mappings
        What the file held when it was opened.
    notes : tuple of str
        What the user should know.
    """

    def __init__(self, path: Path, header: Record) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise JournalError(
                f"{path}: the journal cannot be opened ({error.strerror}). Name another file."
            ) from error
        try:
            _lock(self._fd, path)
            self._begin(header)
        except BaseException:
            os.close(self._fd)
            raise

    def _begin(self, header: Record) -> None:
        with naming(self.path):
            text = _read(self._fd)
        lines, torn = _complete_lines(self.path, text)
        self._size = len(text) - len(torn)
        self.notes: tuple[str, ...] = ()
        if torn:
            os.ftruncate(self._fd, self._size)
            self.notes = (f"{self.path}: the last line was incomplete and has been dropped",)
        if not lines:
            self.append({"journal": KIND, "version": VERSION, **header})
            _sync_folder(self.path.parent)
            lines = [{"journal": KIND, "version": VERSION, **header}]
        self.header, self.records = lines[0], tuple(lines[1:])
        _check_header(self.path, self.header, header)

    def append(self, record: Record) -> None:
        """Write a record; when this returns it is on the disk, and if it raises it is not in the file."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise JournalError(
                f"{self.path}: the label could not be written ({error.strerror}). Make room, then label it again."
            ) from error
        self._size += len(line)

    def close(self) -> None:
        """Let others write."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int, path: Path) -> None:
    """Lock a file for as long as it is open; a process that ends gives its locks back."""
    try:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # pragma: no cover
        _lock_on_windows(fd, path)
    except OSError as error:
        raise JournalError(
            f"{path}: another process is writing to this journal. Use the page that it has opened, or end it first."
        ) from error


def _lock_on_windows(fd: int, path: Path) -> None:  # pragma: no cover
    import msvcrt

    far = 1 << 40  # locked bytes cannot be read by others: lock one that is not there
    try:
        os.lseek(fd, far, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError as error:
        raise JournalError(f"{path}: another process is writing to this journal. End it first.") from error


def _read(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    with os.fdopen(os.dup(fd), "rb") as file:
        return file.read()


def _complete_lines(path: Path, text: bytes) -> tuple[list[dict[str, Any]], bytes]:
    """Return the records of all complete lines, and what follows the last of them."""
    *lines, torn = text.split(b"\n")
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            if number == len(lines) and not torn:  # a block of the last line that never reached the disk
                return records, line + b"\n"
            raise JournalError(f"{path}: line {number} is no record of a journal. Restore the file from a copy.")
        records.append(record)
    return records, torn


def _check_header(path: Path, found: Record, wanted: Record) -> None:
    if found.get("journal") != KIND:
        raise JournalError(f"{path}: this file is no journal of labels. Name another one with --journal.")
    if found.get("version") != VERSION:
        raise JournalError(
            f"{path}: the journal has version {found.get('version')!r} and this halfmoon reads {VERSION}. Update it."
        )
    if found.get("rows") != wanted["rows"] or found.get("data") != wanted["data"]:
        raise JournalError(
            f"{path}: the journal belongs to other data ({found.get('rows')} rows; here there are {wanted['rows']}"
            f"{', which differ' if found.get('rows') == wanted['rows'] else ''}). Name another one with --journal."
        )


def _sync_folder(folder: Path) -> None:
    """Bring the name of a new file to the disk."""
    with contextlib.suppress(OSError):  # not every system opens folders
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
