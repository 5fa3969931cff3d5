"""What was measured, one JSON line per method, set, number of labels and draw; a killed run goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

Key = tuple[str, str, int, int, bool, int]


@dataclass(frozen=True)
class Result:
    """One measurement.

    Attributes
    ----------
    set, method, labels, draw, tuned, seed
        What was measured: `labels` per class, `seed` of the whole benchmark.
    train, new : float or None
        Errors in per cent on unlabelled rows of the graph and on new points.
    fit, predict : float or None
        Seconds of processor time.
    reason : str or None
        Why there is no error.
    """

    set: str
    method: str
    labels: int
    draw: int
    tuned: bool
    seed: int
    train: float | None = None
    new: float | None = None
    fit: float | None = None
    predict: float | None = None
    reason: str | None = None

    @property
    def key(self) -> Key:
        """What was measured."""
        return self.set, self.method, self.labels, self.draw, self.tuned, self.seed


@dataclass(frozen=True)
class Store:
    """The file results.jsonl of a folder. Of two lines for the same measurement the later one counts."""

    folder: Path

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "results.jsonl"

    def read(self) -> dict[Key, Result]:
        """Return all measurements; a line that was cut off by a kill is no measurement."""
        results: dict[Key, Result] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                result = Result(**json.loads(line))
            except json.JSONDecodeError:
                continue
            results[result.key] = result
        return results

    def add(self, results: Iterable[Result]) -> None:
        """Append measurements, flushed to the disk; a new line first ends one that was cut off."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(asdict(result)) + "\n" for result in results)
        with self.path.open("ab+") as file:
            end = file.seek(0, os.SEEK_END)
            if end and (file.seek(end - 1), file.read(1))[1] != b"\n":
                lines = "\n" + lines
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())

    def forget(self, forgotten: Callable[[Result], bool]) -> int:
        """Move measurements to results.before.jsonl, and return how many."""
        results = self.read().values()
        moved = [result for result in results if forgotten(result)]
        Store._write(self.folder / "results.before.jsonl", moved)
        Store._write(self.path, [result for result in results if not forgotten(result)])
        return len(moved)

    @staticmethod
    def _write(path: Path, results: Iterable[Result]) -> None:
        partial = path.with_suffix(".partial")
        partial.write_text("".join(json.dumps(asdict(result)) + "\n" for result in results))
        os.replace(partial, path)
