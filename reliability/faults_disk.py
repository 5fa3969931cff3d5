"""Disks that are full or read-only, and files that cannot be read to their end.

On Linux, where `unshare` may mount, the disk is a tmpfs of its own that is gone with the process. Elsewhere a limit on
the size of files (RLIMIT_FSIZE) stands for a full disk, and permissions for one that is read-only. Whatever fails must
say so with the name of the file, leave what was there as it was and no temporary file, and succeed once there is room.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from typer.testing import CliRunner

from halfmoon import DataDependentKernel, LapRLSClassifier, load, save
from halfmoon.cli._app import app

from halfmoon.experiments._trials import Job, run_trials
from halfmoon.labeller import Journal
from halfmoon.tables import read_table
from reliability.alone import alone, answer
from reliability.judge import ERRORS

__all__ = ["DISK", "UNSHARE", "on_a_disk"]

SIZE, PAGE = 8 << 20, 4096
HEADER = {"rows": 300, "data": "0"}  # of a journal
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


# What is written.


@dataclass(frozen=True)
class Writer:
    """Something that writes into a folder: what is there before, the act, and what a finished one must give."""

    prepare: Callable[[Path], object]
    act: Callable[[Path], object]
    result: Callable[[Path], object]
    grows: bool = False  # whether parts that were finished stay
    passing: int = 0  # bytes of files that are gone in the end


@cache
def _data() -> tuple[np.ndarray, np.ndarray]:
    rng, truth = np.random.default_rng(8), np.arange(300) % 2
    return rng.normal(size=(300, 3)) + 2.0 * truth[:, None], np.where(np.arange(300) < 20, truth, -1)


@cache
def _model(labels: int) -> LapRLSClassifier:
    X, y = _data()
    return LapRLSClassifier(n_landmarks=20, random_state=0).fit(X, np.where(np.arange(300) < labels, y, -1))


def _values(path: Path) -> bytes:
    return bytes(load(path).decision_function(_data()[0]).tobytes())


def _fit(folder: Path) -> bytes:
    kernel = DataDependentKernel(n_neighbors=6, n_landmarks=40, solver="approx_cholesky", random_state=0)
    return bytes(LapRLSClassifier(kernel=kernel, checkpoint=folder / "run").fit(*_data()).decision_function_.tobytes())


def _fit_rows_on_disk(folder: Path) -> bytes:
    """Fit rows that stay on disk: what is made of them goes to temporary files."""
    X = np.load(folder / "X.npy", mmap_mode="r")
    y = np.where(np.arange(len(X)) < 20, np.arange(len(X)) % 2, -1)
    with mock.patch("tempfile.tempdir", str(folder)):
        return bytes(LapRLSClassifier(n_landmarks=20, random_state=0).fit(X, y).decision_function_.tobytes())


def _save_rows(folder: Path) -> None:
    X = np.random.default_rng(9).normal(size=(2000, 3)) + 2.0 * (np.arange(2000) % 2)[:, None]
    np.save(folder / "X.npy", np.vstack([X, X[:30]]))  # copies are merged: the others go to a file


def _trial(trial: int) -> list[dict[str, Any]]:
    return [{"method": f"method {number}", "value": (trial + number) / 7} for number in range(40)]


def _trials(folder: Path) -> object:
    return run_trials(Job("job", _trial, 12, "parameters"), folder / "trials", jobs=1, resume=True)


def _journal(folder: Path) -> list[Any]:
    """Append labels until all are there; return them."""
    with closing(Journal(folder / "labels.jsonl", HEADER)) as journal:
        for number in range(len(journal.records), 200):
            journal.append({"kind": "label", "rows": [number], "class": number % 2, "how": "map"})
    return _records(folder)


def _records(folder: Path) -> list[Any]:
    with closing(Journal(folder / "labels.jsonl", HEADER)) as journal:
        return list(map(dict, journal.records))


def _write_csv(folder: Path) -> None:
    X, y = _data()
    lines = ["a,b,c,kind", *(f"{a!r},{b!r},{c!r},{k if k >= 0 else ''}" for (a, b, c), k in zip(X.tolist(), y.tolist(), strict=True))]
    (folder / "data.csv").write_text("\n".join(lines))


class CommandError(Exception):
    """A command has failed with one line and an exit code."""


def _command(*words: str | Path) -> None:
    done = CliRunner().invoke(app, [*map(str, words), "--quiet"])
    if done.exit_code == 0:
        return
    told = done.stderr.strip().splitlines()
    if done.exit_code not in (1, 2) or len(told) != 1 or not told[0].startswith("halfmoon: "):
        raise AssertionError(f"exit code {done.exit_code}, {done.stderr!r}, {done.exception!r}")
    raise CommandError(told[0])


def _predicted(suffix: str) -> Writer:
    def prepare(folder: Path) -> None:
        _write_csv(folder)
        _command("fit", folder / "data.csv", "--target", "kind", "--landmarks", "20", "--out", folder / "model.hm")
        (folder / f"out{suffix}").write_text("old")

    def act(folder: Path) -> None:
        _command("predict", folder / "model.hm", folder / "data.csv", "--proba", "--keep", "--out", folder / f"out{suffix}")

    return Writer(prepare, act, lambda folder: _table(folder / f"out{suffix}"))


def _table(path: Path) -> object:
    if path.suffix == ".npz":
        return {name: values.tolist() for name, values in np.load(path).items()}
    return read_table(path).X.to_csv()


def _commanded_fit(folder: Path) -> None:
    _command("fit", folder / "data.csv", "--target", "kind", "--landmarks", "20", "--out", folder / "model.hm")


def _old_model(folder: Path) -> None:
    _write_csv(folder)
    save(_model(12), folder / "model.hm")


def _loaded(path: Path) -> object:
    return load(path).estimator.decision_function(_data()[0][:, :3]).tobytes()


WRITERS: dict[str, Writer] = {
    "save": Writer(
        _old_model,
        lambda folder: save(_model(20), folder / "model.hm"),
        lambda folder: _values(folder / "model.hm"),
    ),
    "checkpoint": Writer(lambda folder: None, _fit, _fit, grows=True),
    "rows on disk": Writer(_save_rows, _fit_rows_on_disk, _fit_rows_on_disk, passing=1 << 16),
    "reproduce": Writer(lambda folder: None, _trials, _trials, grows=True),
    "journal": Writer(lambda folder: None, _journal, _journal, grows=True),
    "halfmoon fit": Writer(_old_model, _commanded_fit, lambda folder: _loaded(folder / "model.hm")),
    **{f"halfmoon predict {suffix}": _predicted(suffix) for suffix in (".csv", ".parquet", ".npz", ".feather", ".tsv")},
}


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _attempt(writer: Writer, folder: Path) -> Exception | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            writer.act(folder)
        except AssertionError:
            raise
        except Exception as error:
            return error
    return None


def _check_clear(error: Exception, folder: Path) -> None:
    """Demand an error of ours, or of the system with the name of a file in the folder."""
    text = " ".join(str(error).split())
    ours = isinstance(error, (*ERRORS, CommandError)) or (isinstance(error, OSError) and error.filename)
    assert ours and str(folder) in text, f"not a clear error: {type(error).__name__}: {text}"


def _check_kept(writer: Writer, before: dict[str, bytes], folder: Path) -> None:
    now = _snapshot(folder)
    left = [name for name in now if name.endswith(".tmp") or "halfmoon-rows" in name]
    assert not left, f"left behind: {left}"
    if writer.grows:
        return
    assert now == before, f"changed: {sorted(name for name in now.keys() | before if now.get(name) != before.get(name))}"


def _broken(writer: Writer, disk: Disk, fault: Callable[[], Any], expected: object) -> bool:
    """Write while something is wrong, and again when it is not; return whether the first failed."""
    folder = Path(tempfile.mkdtemp(dir=disk.place))
    try:
        writer.prepare(folder)
        before = _snapshot(folder)
        with fault():
            error = _attempt(writer, folder)
        if error is not None:
            _check_clear(error, folder)
            _check_kept(writer, before, folder)
            assert (again := _attempt(writer, folder)) is None, f"fails with room: {again!r}"
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
