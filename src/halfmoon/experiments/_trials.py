"""Trials: computed in processes, written one by one, continued after a kill.

A trial is a number; it gives rows of a table, the same for the same seed whatever else runs. Finished trials are kept
in one CSV file that is replaced as a whole: a killed run loses the trials in flight and nothing else.
"""

from __future__ import annotations

import csv
import hashlib
import io
import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

from halfmoon import __version__
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.runtime.atomic_write import atomic_write
from halfmoon.runtime.progress import report

__all__ = ["Job", "Row", "TrialTable", "disconnected_as_they_are", "ending_processes", "run_trials", "trial_seed"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """A function of trial numbers, and what its result depends on besides."""

    name: str
    work: Callable[[int], list[dict[str, Any]]]
    trials: int
    fingerprint: str
    alone: bool = False  # timings: one trial at a time


class TrialTable:
    """Rows in a CSV file; every row has a column `trial`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            with path.open(newline="") as file:
                self.rows = [{key: _number(text) for key, text in row.items()} for row in csv.DictReader(file)]

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
        with atomic_write(self.path) as file:
            file.write(text.getvalue().encode())


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
        pool = Parallel(
            n_jobs=1 if job.alone else min(jobs, len(missing)), return_as="generator_unordered", pre_dispatch="n_jobs"
        )
        with ExitStack() as stack:
            with _processes_without_interrupts():
                results = pool(delayed(_numbered)(job.work, trial) for trial in missing)
                stack.callback(_close, results)  # an interrupt that has waited comes at the end of this block
            for number, (trial, rows) in enumerate(results):
                table.add(trial, rows)
                report(job.name, job.trials - len(missing) + number + 1, job.trials)
    # What was computed and what was read are the same: a number has one text, and the file has it.
    return [row for row in TrialTable(path).rows if row["trial"] < job.trials]


@contextmanager
def ending_processes() -> Iterator[None]:
    """End the processes of trials with the block: idle ones would hold up the end of an interrupted program."""
    try:
        yield
    finally:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)


@contextmanager
def _processes_without_interrupts() -> Iterator[None]:
    """Start processes that do not see Ctrl-C: it is for this process, and joblib then ends the others."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would let signals through again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit this; for us it waits
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _close(results: Generator[Any, None, None]) -> None:
    """Drop the trials in flight; joblib would warn of results that nobody has asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results.close()


def trial_seed(seed: int, trial: int) -> int:
    """Return the seed of one trial of a run."""
    return int(np.random.SeedSequence([seed, trial]).generate_state(1)[0])


@contextmanager
def disconnected_as_they_are() -> Iterator[None]:
    """Leave disconnected graphs unmentioned: circles and moons are meant to come apart, and small samples do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        yield


def _numbered(work: Callable[[int], list[dict[str, Any]]], trial: int) -> tuple[int, list[dict[str, Any]]]:
    with disconnected_as_they_are():
        return trial, work(trial)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
