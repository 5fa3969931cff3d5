"""Progress of a command: a bar for every stage on a terminal, else a line for every stage that is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["StageLines", "show_bars"]

WORTH = 1.0  # seconds from which on a stage of a single step has a line
NAMES = {"graph": "neighbours"}  # the search that makes the graph finds the neighbours of new rows too


@contextmanager
def show_bars(console: Console, work: str) -> Iterator[None]:
    """Show a line for the work itself, and a bar for each stage that reports how far it is."""
    from halfmoon.runtime.progress import progress_callback

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        progress.add_task(work, total=None)
        with progress_callback(_Bars(progress)):
            yield


class _Bars:
    """A progress bar for each stage that reports."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.tasks: dict[str, TaskID] = {}
        self.done: dict[str, int] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in self.tasks:
            self.tasks[stage] = self.progress.add_task(NAMES.get(stage, stage), total=total)
        elif done < self.done[stage]:  # the stage has begun anew
            self.progress.reset(self.tasks[stage])
        self.done[stage] = done
        self.progress.update(self.tasks[stage], completed=done, total=total)


class StageLines:
    """One line for each stage of a command, however often it runs; the time is that since the line before."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.shown: set[str] = set()
        self.heard: dict[str, tuple[int, int]] = {}  # steps done and in all, by stage
        self.current: str | None = None
        self.since = time.perf_counter()

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Print a line for each stage once it is done and the next one begins, or the block ends."""
        from halfmoon.runtime.progress import progress_callback

        self.since = time.perf_counter()
        with progress_callback(self._hear):
            yield
        for stage in self.heard:
            self._print(stage)

    def _hear(self, stage: str, done: int, total: int) -> None:
        if self.current is not None and self.current != stage:
            before, of = self.heard[self.current]
            if before >= of:  # another stage may be part of one that goes on, as solves are of tuning
                self._print(self.current)
        self.current = stage
        self.heard[stage] = (done, total)

    def _print(self, stage: str) -> None:
        if stage in self.shown:
            return
        (done, total), now = self.heard[stage], time.perf_counter()
        if total == 1 and now - self.since < WORTH:
            return
        self.console.print(f"{NAMES.get(stage, stage)}: {done:,} of {total:,} in {now - self.since:.1f} s", style="dim")
        self.shown.add(stage)
        self.since = now
