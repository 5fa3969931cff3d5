"""The labels of a session: a fold over its records, each of which can be undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HOW", "MOST_CLASSES", "NO_CLASS", "ActionError", "Labels", "NotReadyError"]

Record = Mapping[str, Any]
MOST_CLASSES = 250  # a class is one byte on its way to the page
NO_CLASS = 255  # in such a byte
LONGEST_NAME = 80
HOW = ("queue", "map", "check")  # where on the page a label was given


class ActionError(ValueError):
    """An action that cannot be done; the message says why."""


class NotReadyError(ActionError):
    """The session is still being prepared: the same action can be sent again in a moment."""


class Labels:
    """Classes and labels of n rows, as a journal tells them.

    Parameters
    ----------
    n : int
        Number of rows.
    classes : sequence of str, default=()
        Classes that the data brings along.
    given : ndarray of shape (n,), default=None
        Class numbers that the data brings along, -1 for unlabelled rows.

    Attributes
    ----------
    classes : list of str
        Names; the place in the list is the number of the class.
    of_row : ndarray of shape (n,)
        Class number of every row, -1 where there is none.
    skipped : dict of int to None
        Rows that somebody did not want to label, in this order.
    drawn : dict of int to None
        Rows that were labelled or skipped when they were drawn at random.
    answered : int
        Items of the queue that were labelled or skipped.
    revision : int
        Number of records.

    Examples
    --------
    >>> from halfmoon.labeller import Labels
    >>> labels = Labels(4)
    >>> labels.apply({"kind": "class", "name": "cat"})
    >>> labels.apply({"kind": "label", "rows": [1, 2], "class": 0})
    >>> labels.of_row.tolist()
    [-1, 0, 0, -1]
    >>> labels.apply({"kind": "undo"})
    >>> labels.of_row.tolist()
    [-1, -1, -1, -1]
    """

    def __init__(self, n: int, classes: tuple[str, ...] = (), given: NDArray[np.intp] | None = None) -> None:
        self.n = n
        self.classes = list(classes)
        self.of_row = np.full(n, -1, dtype=np.intp) if given is None else given.copy()
        self.skipped: dict[int, None] = {}
        self.drawn: dict[int, None] = {}
        self.answered = 0
        self.revision = 0
        self._inverses: list[tuple[Record, Callable[[], None]]] = []

    @property
    def rows(self) -> NDArray[np.intp]:
        """The labelled rows."""
        return np.flatnonzero(self.of_row >= 0)

    @property
    def present(self) -> NDArray[np.intp]:
        """Numbers of the classes that have labels."""
        return np.unique(self.of_row[self.rows])

    @property
    def counts(self) -> list[int]:
        """Number of labels of each class."""
        return np.bincount(self.of_row[self.rows], minlength=len(self.classes)).tolist()

    @property
    def last(self) -> Record | None:
        """What would be undone."""
        return self._inverses[-1][0] if self._inverses else None

    def check(self, record: Record) -> None:
        """Refuse what cannot be applied."""
        kind = record.get("kind")
        if not isinstance(kind, str) or kind not in self._APPLY:
            raise ActionError(f"The action {kind!r} is not known. Use {', '.join(self._APPLY)}.")
        if kind in ("label", "skip"):
            self._check_rows(record.get("rows"))
        if kind == "rename" or (kind == "label" and record.get("class") is not None):
            self._check_class(record.get("class"))
        if kind in ("class", "rename"):
            self._check_name(record.get("name"))
        if kind == "class" and len(self.classes) == MOST_CLASSES:
            raise ActionError(f"There are {MOST_CLASSES} classes, and there cannot be more.")
        if kind == "undo" and not self._inverses:
            raise ActionError("There is nothing to undo.")

    def _check_rows(self, rows: Any) -> None:
        if not isinstance(rows, list) or not rows:
            raise ActionError("Name the rows to label.")
        if not all(type(row) is int and 0 <= row < self.n for row in rows):
            raise ActionError(f"Rows are numbers from 0 to {self.n - 1}.")

    def _check_class(self, number: Any) -> None:
        if type(number) is not int or not 0 <= number < len(self.classes):
            raise ActionError(f"There is no class number {number!r}. There are {len(self.classes)} classes.")

    def _check_name(self, name: Any) -> None:
        if not isinstance(name, str) or not name.strip() or len(name.strip()) > LONGEST_NAME:
            raise ActionError(f"A class needs a name of 1 to {LONGEST_NAME} characters.")
        if name.strip() in self.classes:
            raise ActionError(f"There is a class {name.strip()!r} already. Choose another name.")

    def apply(self, record: Record) -> None:
        """Apply a record that was checked."""
        inverse = self._APPLY[record["kind"]](self, record)
        if inverse is not None:
            self._inverses.append((record, inverse))
        self.revision += 1

    def _label(self, record: Record) -> Callable[[], None]:
        rows = np.array(record["rows"], dtype=np.intp)
        before = self.of_row[rows].copy()
        restore = self._answer(record)
        self.of_row = self.of_row.copy()  # a fit may be reading the array
        self.of_row[rows] = -1 if record["class"] is None else record["class"]

        def undo() -> None:
            restore()
            self.of_row = self.of_row.copy()
            self.of_row[rows] = before

        return undo

    def _skip(self, record: Record) -> Callable[[], None]:
        restore = self._answer(record)
        new = [row for row in dict.fromkeys(record["rows"]) if row not in self.skipped]
        self.skipped |= dict.fromkeys(new)

        def undo() -> None:
            restore()
            for row in new:
                del self.skipped[row]

        return undo

    def _answer(self, record: Record) -> Callable[[], None]:
        """Count an answer to the queue."""
        rows = dict.fromkeys(record["rows"])  # each once
        drawn = [row for row in rows if record.get("drawn") and row not in self.drawn]
        step = int(record.get("how") == "queue")
        self.drawn |= dict.fromkeys(drawn)
        self.answered += step

        def undo() -> None:
            self.answered -= step
            for row in drawn:
                del self.drawn[row]

        return undo

    def _add_class(self, record: Record) -> Callable[[], None]:
        self.classes.append(record["name"].strip())
        return lambda: self.classes.__delitem__(-1)

    def _rename(self, record: Record) -> Callable[[], None]:
        number, before = record["class"], self.classes[record["class"]]
        self.classes[number] = record["name"].strip()
        return lambda: self.classes.__setitem__(number, before)

    def _undo(self, record: Record) -> None:
        self._inverses.pop()[1]()

    _APPLY: Mapping[str, Callable[[Labels, Record], Callable[[], None] | None]] = {
        "label": _label,
        "skip": _skip,
        "class": _add_class,
        "rename": _rename,
        "undo": _undo,
    }
