"""Files that cannot be read to their end: cut short, or on a disk that gives errors.

A reader must say so with the name of the file, or get to the right result without it: a piece of a checkpoint is
computed again, and a journal has all records up to the place where it was cut.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from reliability import files_at_risk as files
from reliability.alone import answer

__all__ = ["READS"]


@dataclass(frozen=True)
class Reader:
    """Something that reads a file of a folder: which ones, and what it gives if they are sound."""

    prepare: Callable[[Path], object]
    files: str  # pattern
    act: Callable[[Path], object]
    prefix: bool = False  # whether a file that is cut short is a shorter file


def _predict(folder: Path) -> object:
    out = folder / "out.csv"
    out.unlink(missing_ok=True)
    files.command("predict", folder / "model.hm", folder / "data.csv", "--out", out)
    return out.read_bytes()


def _fitted(folder: Path) -> None:
    files.write_csv(folder)
    files.fit_by_command(folder)


READERS: dict[str, Reader] = {
    "load": Reader(files.write_old_model, "model.hm", lambda folder: files.model_values(folder / "model.hm")),
    "checkpoint": Reader(files.fit_with_checkpoint, "run/*", files.fit_with_checkpoint),
    "reproduce": Reader(files.compute_trials, "trials/*.csv", files.compute_trials),
    "journal": Reader(files.fill_journal, "labels.jsonl", files.records, prefix=True),
    "model of halfmoon predict": Reader(_fitted, "model.hm", _predict),
    "data of halfmoon predict": Reader(_fitted, "data.csv", _predict, prefix=True),
}


def _cut(path: Path, at: int) -> None:
    path.write_bytes(path.read_bytes()[:at])


class _Failing(io.FileIO):
    """A file on a disk that gives errors after some bytes."""

    left = 0

    def readinto(self, buffer: Any) -> int:
        """Read what is sound, then fail."""
        if self.left <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        with memoryview(buffer).cast("B") as view:
            count = super().readinto(view[: self.left]) or 0
        self.left -= count
        return count

    def readall(self) -> bytes:
        """Read on until the error."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@contextmanager
def _failing(path: Path, sound: int) -> Iterator[None]:
    """Let all reads of a file through Python's own functions fail after some sound bytes."""
    original, place = io.open, os.path.realpath(path)

    def opened(file: Any, mode: str = "r", *options: Any, **more: Any) -> Any:
        named = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.path.realpath(file)
        if named != place or not set(mode) <= set("rbt"):
            return original(file, mode, *options, **more)
        raw = _Failing(file, "rb")
        raw.left = sound
        if "b" in mode:
            return io.BufferedReader(raw)
        return io.TextIOWrapper(io.BufferedReader(raw), more.get("encoding"), more.get("errors"), more.get("newline"))

    with mock.patch.object(io, "open", opened), mock.patch.object(builtins, "open", opened):
        yield


def _read(reader: Reader, folder: Path) -> tuple[object, Exception | None]:
    found: list[object] = [None]

    def act(place: Path) -> None:
        found[0] = reader.act(place)

    error = files.attempt(act, folder)
    return found[0], error


def _judge(reader: Reader, folder: Path, path: Path, found: object, expected: object, error: Exception | None) -> str:
    """Return what came of it; what must not happen raises."""
    if error is not None:
        files.check_clear(error, folder)
        assert path.name in str(error), f"another file is named: {error}"
        return "refused"
    if found == expected:
        return "right"
    assert reader.prefix, "read as if it were sound"
    if isinstance(expected, list):
        assert found == expected[: len(found)], "records that were not there"  # type: ignore[arg-type]
    return "shorter"


def _damaged(amount: int, seed: int, cut: bool) -> tuple[int, str]:
    rng, seen = np.random.default_rng(seed), {"refused": 0, "right": 0, "shorter": 0}
    for name, reader in READERS.items():
        with tempfile.TemporaryDirectory() as place:
            sound, folder = Path(place, "sound"), Path(place, "damaged")
            sound.mkdir()
            reader.prepare(sound)
            expected = reader.act(shutil.copytree(sound, Path(place, "read")))
            for _ in range(amount):
                shutil.copytree(sound, folder)
                path = folder / str(
                    rng.choice([str(file.relative_to(sound)) for file in sorted(sound.glob(reader.files))])
                )
                at = int(rng.integers(path.stat().st_size))
                try:
                    if cut:
                        _cut(path, at)
                        found, error = _read(reader, folder)
                    else:
                        with _failing(path, at):
                            found, error = _read(reader, folder)
                    seen[_judge(reader, folder, path, found, expected, error)] += 1
                except AssertionError as problem:
                    raise AssertionError(f"{name}, {path.name} after {at} bytes: {problem}") from problem
                shutil.rmtree(folder)
    told = f"{seen['refused']} refused with the name of the file, {seen['right']} right without it"
    return amount * len(READERS), told + (f", {seen['shorter']} read up to the cut" if cut else "")


READS: dict[str, Callable[[int, int], tuple[int, str]]] = {
    "cut": lambda amount, seed: _damaged(amount, seed, cut=True),
    "error": lambda amount, seed: _damaged(amount, seed, cut=False),
}

if __name__ == "__main__":
    answer(READS)
