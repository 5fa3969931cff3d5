"""The labels of a session with all that its journal knows: actions that were done, and the learning curve."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from halfmoon.labeller._journal import Journal, JournalError, MemoryJournal
from halfmoon.labeller._labels import HOW, Labels
from halfmoon.labeller._queue import Entry
from halfmoon.labeller._scores import Score

__all__ = ["Book"]

FIELDS = {"label": ("rows", "class"), "skip": ("rows",), "class": ("name",), "rename": ("class", "name")}
REMEMBERED = 2000  # actions that are recognised when they are sent again
LONGEST_OPERATION = 40


class Book:
    """Labels, and a journal of how they came about. The caller sees to it that one thread at a time writes.

    Parameters
    ----------
    labels : Labels
        Classes and labels that the data brings along.
    journal : Path, default=None
        File in which records are kept; None: in this process only.
    header : dict
        What the journal is about, see `Journal`; its seed is that of the file where there is one.

    Attributes
    ----------
    labels : Labels
        The labels as of now.
    curve : dict of int to Score
        Held-out scores by the number of labels.
    seed : int
        Of random draws.
    """

    def __init__(self, labels: Labels, journal: Path | None, header: dict[str, Any]) -> None:
        self.labels = labels
        self.curve: dict[int, Score] = {}
        self._done: dict[str, int] = {}
        self._journal = MemoryJournal() if journal is None else Journal(journal, header)
        self.seed = int(self._journal.header.get("seed", header["seed"]))
        self.notes = list(self._journal.notes)
        for record in self._journal.records:
            self._replay(record)

    def has_done(self, action: dict[str, Any]) -> bool:
        """Return whether an action was done already, and is sent again because the answer was lost."""
        return _operation(action) in self._done

    def write(self, action: dict[str, Any], queue: list[Entry]) -> Any:
        """Do an action of a page, and return the record that it undoes, if any. It is on the disk before it counts."""
        record = _record_of(action, queue)
        self.labels.check(record)
        self._journal.append(record | {"time": round(time.time(), 3)})
        undone = self.labels.last if record["kind"] == "undo" else None
        self._replay(record)
        return undone

    def keep_score(self, score: Score) -> None:
        """Add a point to the learning curve, and to the journal if it is a new one."""
        if not score.counted or score.labels > len(self.labels.rows) or self.curve.get(score.labels) == score:
            return
        self.curve[score.labels] = score
        with contextlib.suppress(JournalError):  # a full disk is reported with the next label; scores come again
            self._journal.append(
                {"kind": "score", "labels": score.labels, "right": score.right, "counted": score.counted}
            )

    def close(self) -> None:
        """Let others write to the journal."""
        self._journal.close()

    def _replay(self, record: Any) -> None:
        """Apply a record of the journal."""
        if record["kind"] == "score":
            self.curve[record["labels"]] = Score(record["labels"], record["right"], record["counted"])
            return
        self.labels.apply(record)
        if "op" in record:
            self._done[record["op"]] = self.labels.revision
            if len(self._done) > REMEMBERED:
                del self._done[next(iter(self._done))]
        count = len(self.labels.rows)
        self.curve = {labels: score for labels, score in self.curve.items() if labels <= count}


def _record_of(action: dict[str, Any], queue: list[Entry]) -> dict[str, Any]:
    """Return what the journal keeps of an action."""
    kind = action.get("kind")
    record = {"kind": kind} | {name: action.get(name) for name in FIELDS.get(str(kind), ())}
    if kind in ("label", "skip"):
        record["how"] = action["how"] if action.get("how") in HOW else "map"
        if record["how"] == "queue" and any(entry.drawn and record["rows"] == [entry.row] for entry in queue):
            record["drawn"] = True
    if _operation(action):
        record["op"] = _operation(action)
    return record


def _operation(action: dict[str, Any]) -> str:
    """Return what tells an action from others that look the same; empty where a page does not say it."""
    return str(action.get("op") or "")[:LONGEST_OPERATION]
