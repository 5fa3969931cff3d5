"""Disks that are full or read-only, and files that cannot be read to their end.

On Linux, where `unshare` may mount, the disk is a tmpfs of its own that is gone with the process. Elsewhere a limit on
the size of files (RLIMIT_FSIZE) stands for a full disk, and permissions for one that is read-only. Whatever fails must
say so with the name of the file, leave what was there as it was and no temporary file, and succeed once there is room.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from reliability.alone import alone, answer
from reliability.files_at_risk import WRITERS, Writer, attempt, check_clear

__all__ = ["DISK", "UNSHARE", "on_a_disk"]

SIZE, PAGE = 8 << 20, 4096
UNSHARE = (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"])
TMPFS = "HALFMOON_RELIABILITY_TMPFS"  # set in processes that may mount


class Disk:
    """A small disk to write to."""

    how = f"tmpfs of {SIZE >> 20} MiB"

    def __init__(self, place: Path) -> None:
        self.place = place
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)], check=True)

    @contextmanager
    def with_room(self, bytes_left: int) -> Iterator[None]:
        """Fill the disk up to some bytes."""
        ballast = self.place / "ballast"
        free = os.statvfs(self.place).f_bavail * PAGE
        with ballast.open("wb") as file:
            if free > bytes_left:
                os.posix_fallocate(file.fileno(), 0, free - bytes_left)
        try:
            yield
        finally:
            ballast.unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Let nobody write."""
        gc.collect()  # models in cycles of references keep their files open
        subprocess.run(["mount", "-o", "remount,ro", str(self.place)], check=True)
        try:
            yield
        finally:
            subprocess.run(["mount", "-o", "remount,rw", str(self.place)], check=True)


class LimitedFiles(Disk):
    """A folder in which files cannot grow beyond a limit: the stand-in where nobody may mount."""

    how = "RLIMIT_FSIZE and permissions"

    def __init__(self, place: Path) -> None:
        self.place = place
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the call fails instead

    @contextmanager
    def with_room(self, bytes_left: int) -> Iterator[None]:
        """Limit the size of files."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Take away the permission to write."""
        folders = [self.place, *(path for path in self.place.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        try:
            yield
        finally:
            for folder in folders:
                folder.chmod(0o755)


@cache
def mounts() -> list[str] | None:
    """Return the command behind which a process may mount, or None."""
    for words in UNSHARE if shutil.which("unshare") else ():
        with tempfile.TemporaryDirectory() as place:
            mount = ["mount", "-t", "tmpfs", "tmpfs", place]
            if subprocess.run([*words, *mount], capture_output=True).returncode == 0:
                return ["env", f"{TMPFS}=1", *words]
    return None


def on_a_disk(name: str, amount: int, seed: int) -> tuple[int, str]:
    """Run a check of this module in a process that has a disk of its own, where that can be had."""
    return alone(__name__, name, amount, seed, before=mounts() or ())


@contextmanager
def _disk() -> Iterator[Disk]:
    with tempfile.TemporaryDirectory() as name:
        disk = Disk(Path(name)) if os.environ.get(TMPFS) else LimitedFiles(Path(name))
        try:
            yield disk
        finally:
            if type(disk) is Disk:
                subprocess.run(["umount", "--lazy", name], check=True)


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _check_kept(writer: Writer, before: dict[str, bytes], folder: Path) -> None:
    now = _snapshot(folder)
    left = [name for name in now if name.endswith(".tmp") or "halfmoon-rows" in name]
    assert not left, f"left behind: {left}"
    if writer.grows:
        return
    assert now == before, (
        f"changed: {sorted(name for name in now.keys() | before if now.get(name) != before.get(name))}"
    )


def _broken(writer: Writer, disk: Disk, fault: Callable[[], Any], expected: object) -> bool:
    """Write while something is wrong, and again when it is not; return whether the first failed."""
    folder = Path(tempfile.mkdtemp(dir=disk.place))
    try:
        writer.prepare(folder)
        before = _snapshot(folder)
        with fault():
            error = attempt(writer.act, folder)
        if error is not None:
            check_clear(error, folder)
            _check_kept(writer, before, folder)
            assert (again := attempt(writer.act, folder)) is None, f"fails with room: {again!r}"
        assert writer.result(folder) == expected, "another result"
        return error is not None
    finally:
        shutil.rmtree(folder)


def _expected(writer: Writer, disk: Disk) -> tuple[object, int]:
    """Return what an undisturbed act gives, and how many bytes it writes."""
    folder = Path(tempfile.mkdtemp(dir=disk.place))
    writer.prepare(folder)
    before = _snapshot(folder)
    writer.act(folder)
    written = sum(len(data) for name, data in _snapshot(folder).items() if before.get(name) != data)
    expected = writer.result(folder)
    shutil.rmtree(folder)
    return expected, written + writer.passing


def _full(amount: int, seed: int) -> tuple[int, str]:
    """Write to a disk that has room for a part of it, page by page."""
    rng, tries, failed = np.random.default_rng(seed), 0, 0
    with _disk() as disk:
        for name, writer in WRITERS.items():
            expected, written = _expected(writer, disk)
            for room in [0, *(PAGE * int(rng.integers(-(-written // PAGE))) for _ in range(amount - 1))]:
                try:
                    failed += _broken(writer, disk, partial(disk.with_room, room), expected)
                except AssertionError as error:
                    raise AssertionError(f"{name}, room for {room} bytes: {error}") from error
                tries += 1
        return tries, f"{disk.how}, {len(WRITERS)} writers: {failed} failed clearly, nothing changed or left behind"


def _read_only(amount: int, seed: int) -> tuple[int, str]:
    tries = 0
    with _disk() as disk:
        for name, writer in WRITERS.items():
            expected, _ = _expected(writer, disk)
            for _ in range(amount):
                try:
                    assert _broken(writer, disk, disk.read_only, expected), "it was written"
                except AssertionError as error:
                    raise AssertionError(f"{name}: {error}") from error
                tries += 1
        return tries, f"{disk.how}, {len(WRITERS)} writers: all failed clearly, nothing changed or left behind"


DISK: dict[str, Callable[[int, int], tuple[int, str]]] = {"full": _full, "read-only": _read_only}

if __name__ == "__main__":
    answer(DISK)
