"""What a command says: notes and progress on stderr, the result on stdout, errors as one line and an exit code."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from halfmoon.cli._interrupts import NOTHING, Interrupted, caused_by_interrupt
from halfmoon.cli._stages import StageLines, show_bars
from halfmoon.exceptions import DisconnectedGraphWarning, MissingExtraError

__all__ = ["Report", "reporting"]

FLAGS = {  # what the library calls the data and the values of options
    r"\bX has\b": "The data have",
    r"(?:The )?'(\w+)' parameter must be an integer in \[(\d+), (\d+)\]": r"\1 must be between \2 and \3",
    **{
        rf"(?:The )?['`]?(?<![\w./-]){name}(?![\w/=-]|\.\w)['`]?(?: parameter)?": flag
        for name, flag in (
            ("n_clusters", "--clusters"),
            ("n_landmarks", "--landmarks"),
            ("n_neighbors", "--neighbors"),
            ("max_memory", "--max-memory"),
            ("day_first", "--day-first"),
            ("random_state", "--seed"),
        )
    },
}
FAILED, BAD_INPUT = 1, 2  # exit codes: something broke; the user can fix it


class Report:
    """One command's voice.

    Parameters
    ----------
    quiet : bool
        Say nothing but errors, and the JSON object if it is asked for.
    as_json : bool
        Say everything in one JSON object at the end.
    """

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.notes: list[str] = []
        self._out = _console()
        self._err = _console(stderr=True)
        self._start = time.perf_counter()
        self._out_file: tuple[Path, Any] | None = None
        self._parts: Path | None = None
        self._lines = StageLines(self._err)

    def writes(self, path: Path) -> None:
        """Name the file that the command is going to write: after an interrupt the user wants to know about it."""
        self._out_file = (path, _version(path))

    def collects(self, folder: Path) -> None:
        """Name the folder in which the command keeps every part of its work."""
        self._parts = folder

    @property
    def kept(self) -> str:
        """What an interrupted command leaves behind."""
        if self._parts is not None:
            return f"finished trials are kept in {self._parts}; the same command goes on with the rest."
        if self._out_file is None:
            return NOTHING
        path, before = self._out_file
        now = _version(path)
        if now != before:
            return f"{path} was written."
        return NOTHING if now is None else f"{path} was not changed."

    def note(self, text: str) -> None:
        """Report something that the user did not ask for but should know, once."""
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.quiet and not self.as_json:
            self._err.print(f"note: {text}", style="dim")

    def show(self, text: str) -> None:
        """Print a part of the result that people read."""
        if not self.quiet and not self.as_json:
            self._out.print(text)

    def announce(self, address: str) -> None:
        """Print an address that people and programs have to know while the command runs."""
        if self.as_json:
            _print_json({"address": address})
        else:
            self._out.print(f"Open {address}" if not self.quiet else address)
        sys.stdout.flush()

    @contextmanager
    def working(self, stage: str) -> Iterator[None]:
        """Show what is going on: bars for the parts that report progress, or one line for each without a terminal."""
        if self.quiet or self.as_json:
            yield
        elif self._err.is_terminal:
            with show_bars(self._err, stage):
                yield
        else:
            with self._lines.showing():
                yield

    def finish(self, done: str, where: str | None = None, *, timed: bool = True, **facts: Any) -> None:
        """Print the last line: what was done, in which time unless that says nothing, and where the result is."""
        seconds = time.perf_counter() - self._start
        if self.as_json:
            result = facts | {"seconds": round(seconds, 3), "out": where, "notes": self.notes}
            _print_json({name: value for name, value in result.items() if value is not None})
        elif not self.quiet:
            took = f" in {seconds:.1f} s" if timed and seconds >= 0.05 else ""
            self._out.print(f"{done}{took}{'' if where is None else f': {where}'}", style="bold")

    def fail(self, error: Exception, code: int) -> typer.Exit:
        """Print the error as one line; return what ends the command."""
        text = _with_flags(" ".join(str(error).split())) or type(error).__name__
        if code == FAILED:
            text = f"{type(error).__name__}: {text} (HALFMOON_TRACEBACK=1 shows where)"
        if self.as_json:
            _print_json({"error": text, "exit_code": code})
        else:
            self._err.print(f"halfmoon: {text}", style="red")
        return typer.Exit(code)


def _version(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is replaced; None if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _console(stderr: bool = False) -> Console:
    """Return a console that prints texts as they are: names of files and columns are no markup and hold no emoji."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _print_json(result: dict[str, Any]) -> None:
    print(json.dumps(_finite(result), allow_nan=False))


def _finite(value: Any) -> Any:
    """Return a value with None for every number that JSON does not have: NaN and the infinities."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def reporting(quiet: bool, as_json: bool) -> Iterator[Report]:
    """Run a command: warnings become notes, errors one line and an exit code."""
    report = Report(quiet, as_json)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)  # for programmers
        # scikit-learn's, of targets: what is doubtful about them is said in words of the command line
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than")
        warnings.showwarning = lambda message, *where, **how: report.note(_as_note(message))
        try:
            yield report
        except KeyboardInterrupt:
            raise Interrupted(report.kept) from None
        except Exception as error:
            if caused_by_interrupt(error):
                raise Interrupted(report.kept) from None
            if os.environ.get("HALFMOON_TRACEBACK"):
                raise
            raise report.fail(error, _exit_code(error)) from None


def _as_note(message: Warning | str) -> str:
    """Return a warning in one line; what Python users may do about it, as people at the command line can."""
    text = " ".join(str(message).split())
    if isinstance(message, DisconnectedGraphWarning):
        text = text.partition(", or connect them: ")[0] + "."
    return _with_flags(text)


def _with_flags(text: str) -> str:
    """Return a text with parameters of Python as the options that set them."""
    for pattern, flag in FLAGS.items():
        text = re.sub(pattern, flag, text)
    return text


def _exit_code(error: Exception) -> int:
    """Return 2 for what the library says about data and options: its ValueErrors name values and the next step."""
    return BAD_INPUT if isinstance(error, ValueError | MissingExtraError) else FAILED
