"""What a run has found, as JSON and as a page; both are written while it goes on, so that one cut short is told too."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks._machine import machine
from halfmoon.runtime.atomic_write import atomic_write
from reliability.programme import Line, Tally

__all__ = ["Report", "page"]

SHOWN = 20  # failures of a line
WRITE = 15.0  # seconds between writes
HEAD = """# Reliability

What was tried to break the library, how often, with which seed, and what happened. `make reliability` writes this
page, part after part. `python -m reliability --only "CASE"` repeats a case as the page names it. A reduced
part runs in `make test`, with seeds of its own, and `.github/workflows/nightly.yml` runs a longer one every night with
fresh seeds. How many changes of the code the tests notice is on [a page of its own](mutants.md).

The rule for hostile inputs: the right result, or a clear error. Where the same data exist as plain float64 arrays, the
right result is theirs; otherwise it is finite and of the documented shape. A clear error is raised on purpose, by us or
by scikit-learn's checks. Everything else is a failure: other exceptions, warnings of numpy, NaN, changed inputs, a
changed state of the process, no answer within a minute, an end by signal. Warnings of the library
(`halfmoon.exceptions`) are allowed.

The rule for faults: no file is damaged, nothing goes on running, and what is continued or repeated gives the bits of an
undisturbed run. Moments of kills are drawn from the whole duration of such a run. An error of the system names its
file, and leaves the old one and no temporary file. An exception that is raised inside a fit comes out as itself, with
no thread of the library running and the estimator as it was; it is raised at every call of a function of the library
by a counter, in all threads. A killed `save` or `reproduce` may leave one temporary file (`.halfmoon.*.tmp`).
"""


class Report:
    """The sections of the parts that were run, one file of JSON and, if asked for, the page."""

    def __init__(self, out: Path, docs: Path | None, *, keep: bool) -> None:
        self.out, self.docs = out, docs
        self.sections: dict[str, Any] = json.loads(out.read_text()) if keep and out.exists() else {}
        self.start = self.written = time.monotonic()

    def begin(self, part: str, command: str) -> None:
        """Begin a section; it replaces that of an earlier run."""
        self.start = time.monotonic()
        self.sections[part] = {"command": command, "machine": machine("numpy", "scipy", "scikit-learn", "numba")}

    def note(self, tally: Tally, *, ended: bool = False) -> None:
        """Write what there is, every now and then and at the end of a part."""
        now = time.monotonic()
        if not ended and now - self.written < WRITE and tally.done:
            return
        self.written = now
        lines = tally.lines()
        facts = {"seconds": round(now - self.start), "planned": tally.planned, "done": tally.done, "ended": ended}
        self.sections[tally.part] |= facts | {"lines": [asdict(line) for line in lines]}
        cases, failed = sum(line.times for line in lines), sum(len(line.failures) for line in lines)
        told = f"{tally.part}: {tally.done:,} of {tally.planned:,} pieces, {cases:,} cases, {failed:,} failures"
        print(f"{told}, {facts['seconds']:,} s", file=sys.stderr, flush=True)
        self.write()

    def write(self) -> None:
        """Write JSON and page."""
        for path, text in ((self.out, json.dumps(self.sections, indent=1)), (self.docs, page(self.sections))):
            if path is not None:
                with atomic_write(path) as file:
                    file.write(text.encode())

    @property
    def failed(self) -> bool:
        """Whether anything failed."""
        return any(line["failures"] for section in self.sections.values() for line in section["lines"])


def page(sections: dict[str, Any]) -> str:
    """Return the page."""
    lines = {part: [Line(**line) for line in section["lines"]] for part, section in sections.items()}
    cases = {part: sum(line.times for line in rows) for part, rows in lines.items()}
    failed = {part: sum(len(line.failures) for line in rows) for part, rows in lines.items()}
    text = [HEAD, f"In all {sum(cases.values()):,} cases, {sum(failed.values()):,} failures.", ""]
    text += ["| part | cases | failures | seconds | how far |", "|---|---|---|---|---|"]
    text += [
        f"| {part} | {cases[part]:,} | {failed[part]:,} | {section['seconds']:,} | {_how_far(section)} |"
        for part, section in sections.items()
    ]
    for part, section in sections.items():
        text += ["", f"## {part.capitalize()}", "", f"`{section['command']}` on: {section['machine']}.", ""]
        text += ["| tried | times | seed | what happened |", "|---|---|---|---|"]
        text += [f"| {line.what} | {line.times:,} | {line.seed} | {line.result} |" for line in lines[part]]
        shown = [failure for line in lines[part] for failure in line.failures[:SHOWN]]
        text += ["", *(f"- {' '.join(failure.split())[:300]}" for failure in shown)] if shown else []
    return "\n".join(text) + "\n"


def _how_far(section: dict[str, Any]) -> str:
    done, planned = section["done"], section["planned"]
    if done == planned:
        return "all that was planned"
    return f"{done:,} of {planned:,} pieces, {'by its limit of time' if section['ended'] else 'cut short'}"
