"""Trials: computed in processes, written one by one, continued after a kill.

A trial is a number; it gives rows of a table, the same for the same seed whatever else runs. Finished trials are kept
in one CSV file that is replaced as a whole: a killed run loses the trials in flight and nothing else.
"""

from __future__ import annotations

import csv
import hashlib
import io
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from halfmoon import __version__
from halfmoon.exceptions import DataFileError, DisconnectedGraphWarning
from halfmoon.experiments._processes import computed_in_processes
from halfmoon.runtime.atomic_write import atomic_write
from halfmoon.runtime.naming import naming
from halfmoon.runtime.progress import report

__all__ = ["Job", "Row", "TrialTable", "disconnected_as_they_are", "run_trials", "trial_seed"]

END = "\r\n"  # an empty line, which readers of CSV skip
Row = Mapping[str, Any]
Result = tuple[int, list[dict[str, Any]]]  # the number of a trial and its rows


@dataclass(frozen=True)
class Job:
    """A function of trial numbers, and what its result depends on besides."""

    name: str
    work: Callable[[int], list[dict[str, Any]]]
    trials: int
    fingerprint: str
    alone: bool = False  # timings: one trial at a time


class TrialTable:
    """Rows in a CSV file; every row has a column `trial`, and an empty line ends the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            text = _whole(path)
            self.rows = [{key: _number(cell) for key, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]

    @property
    def done(self) -> set[int]:
        """The trials that are there."""
        return {row["trial"] for row in self.rows}

    def add(self, trial: int, rows: Iterable[Row]) -> None:
        """Add the rows of a trial and replace the file."""
        self.rows += [{"trial": trial, **row} for row in rows]
        self.rows.sort(key=lambda row: row["trial"])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, fieldnames=list(self.rows[0]))
        writer.writeheader()
        writer.writerows(self.rows)
        text.write(END)
        with atomic_write(self.path) as file:
            file.write(text.getvalue().encode())


def _whole(path: Path) -> str:
    """Return the text of a table, or say that a part of it is missing."""
    with naming(path):
        text = path.read_bytes().decode()
    if not text.endswith(f"\n{END}"):
        raise DataFileError(f"{path} is cut short: its end is missing. Delete it, and its trials are computed again.")
    return text


def run_trials(job: Job, folder: Path, *, jobs: int, resume: bool) -> list[dict[str, Any]]:
    """Return the rows of all trials of a job, computing those that are not there yet."""
    digest = hashlib.sha256(f"{__version__} {job.fingerprint}".encode()).hexdigest()[:8]
    path = folder / f"{job.name.lower().replace(' ', '-')}-{digest}.csv"  # other parameters, another file
    if not resume:
        path.unlink(missing_ok=True)
    table = TrialTable(path)
    missing = [trial for trial in range(job.trials) if trial not in table.done]
    report(job.name, job.trials - len(missing), job.trials)
    if missing:
        count = 1 if job.alone else min(jobs, len(missing))
        task = partial(_numbered, job.work)
        with closing(_mapped(task, missing) if count == 1 else computed_in_processes(task, missing, count)) as results:
            for number, (trial, rows) in enumerate(results):
                table.add(trial, rows)
                report(job.name, job.trials - len(missing) + number + 1, job.trials)
    # What was computed and what was read are the same: a number has one text, and the file has it.
    return [row for row in TrialTable(path).rows if row["trial"] < job.trials]


def _mapped(task: Callable[[int], Result], trials: Iterable[int]) -> Generator[Result, None, None]:
    yield from map(task, trials)


def trial_seed(seed: int, trial: int) -> int:
    """Return the seed of one trial of a run."""
    return int(np.random.SeedSequence([seed, trial]).generate_state(1)[0])


@contextmanager
def disconnected_as_they_are() -> Iterator[None]:
    """Leave disconnected graphs unmentioned: circles and moons are meant to come apart, and small samples do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        yield


def _numbered(work: Callable[[int], list[dict[str, Any]]], trial: int) -> Result:
    with disconnected_as_they_are():
        return trial, work(trial)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
