"""What the faults of disks are tried on: everything that writes or reads files, in a small version."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
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
from reliability.judge import ERRORS

__all__ = [
    "WRITERS", "CommandError", "Writer", "attempt", "check_clear", "command", "compute_trials", "fill_journal",
    "fit_by_command", "fit_with_checkpoint", "model_values", "records", "write_csv", "write_old_model",
]  # fmt: skip

HEADER = {"rows": 300, "data": "0"}  # of a journal


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


def model_values(path: Path) -> bytes:
    """Return what a model file predicts, to the last bit."""
    return bytes(load(path).decision_function(_data()[0]).tobytes())


def fit_with_checkpoint(folder: Path) -> bytes:
    """Fit, keep the pieces in the folder, and return what was found."""
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


def compute_trials(folder: Path) -> object:
    """Return the rows of trials, computed or read."""
    return run_trials(Job("job", _trial, 12, "parameters"), folder / "trials", jobs=1, resume=True)


def fill_journal(folder: Path) -> list[Any]:
    """Append labels until all are there; return them."""
    with closing(Journal(folder / "labels.jsonl", HEADER)) as journal:
        for number in range(len(journal.records), 200):
            journal.append({"kind": "label", "rows": [number], "class": number % 2, "how": "map"})
    return records(folder)


def records(folder: Path) -> list[Any]:
    """Return what the journal holds."""
    with closing(Journal(folder / "labels.jsonl", HEADER)) as journal:
        return list(map(dict, journal.records))


def write_csv(folder: Path) -> None:
    """Write a data file."""
    X, y = _data()
    kinds = ["" if label < 0 else str(label) for label in y]
    lines = [",".join([*map(repr, row), kind]) for row, kind in zip(X.tolist(), kinds, strict=True)]
    (folder / "data.csv").write_text("\n".join(["a,b,c,kind", *lines]))


class CommandError(Exception):
    """A command has failed with one line and an exit code."""


def command(*words: str | Path) -> None:
    """Run a command; it may end well, or with one line and an exit code."""
    done = CliRunner().invoke(app, [*map(str, words), "--quiet"])
    if done.exit_code == 0:
        return
    told = done.stderr.strip().splitlines()
    if done.exit_code not in (1, 2) or len(told) != 1 or not told[0].startswith("halfmoon: "):
        raise AssertionError(f"exit code {done.exit_code}, {done.stderr!r}, {done.exception!r}")
    raise CommandError(told[0])


def _predicted(suffix: str) -> Writer:
    def prepare(folder: Path) -> None:
        write_csv(folder)
        command("fit", folder / "data.csv", "--target", "kind", "--landmarks", "20", "--out", folder / "model.hm")
        (folder / f"out{suffix}").write_text("old")

    def act(folder: Path) -> None:
        out = folder / f"out{suffix}"
        command("predict", folder / "model.hm", folder / "data.csv", "--proba", "--keep", "--force", "--out", out)

    return Writer(prepare, act, lambda folder: _table(folder / f"out{suffix}"))


def _table(path: Path) -> object:
    if path.suffix == ".npz":
        return {name: values.tolist() for name, values in np.load(path).items()}
    return read_table(path).X.to_csv()


def fit_by_command(folder: Path) -> None:
    """Fit and save a model."""
    command("fit", folder / "data.csv", "--target", "kind", "--landmarks", "20", "--out", folder / "model.hm")


def write_old_model(folder: Path) -> None:
    """Write a data file and a model that is to be replaced."""
    write_csv(folder)
    save(_model(12), folder / "model.hm")


def _loaded(path: Path) -> object:
    return load(path).estimator.decision_function(_data()[0][:, :3]).tobytes()


WRITERS: dict[str, Writer] = {
    "save": Writer(
        write_old_model,
        lambda folder: save(_model(20), folder / "model.hm"),
        lambda folder: model_values(folder / "model.hm"),
    ),
    "checkpoint": Writer(lambda folder: None, fit_with_checkpoint, fit_with_checkpoint, grows=True),
    "rows on disk": Writer(_save_rows, _fit_rows_on_disk, _fit_rows_on_disk, passing=1 << 16),
    "reproduce": Writer(lambda folder: None, compute_trials, compute_trials, grows=True),
    "journal": Writer(lambda folder: None, fill_journal, fill_journal, grows=True),
    "halfmoon fit": Writer(write_old_model, fit_by_command, lambda folder: _loaded(folder / "model.hm")),
    **{f"halfmoon predict {suffix}": _predicted(suffix) for suffix in (".csv", ".parquet", ".npz", ".feather", ".tsv")},
}


def attempt(act: Callable[[Path], object], folder: Path) -> Exception | None:
    """Return the error that an act in a folder ends with, if it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            act(folder)
        except AssertionError:
            raise
        except Exception as error:
            return error
    return None


def check_clear(error: Exception, folder: Path) -> None:
    """Demand an error of ours, or of the system with the name of a file in the folder."""
    text = " ".join(str(error).split())
    ours = isinstance(error, (*ERRORS, CommandError)) or (isinstance(error, OSError) and error.filename)
    assert ours, f"not a clear error: {type(error).__name__}: {text}"
    assert str(folder) in text, f"the file is not named: {text}"
