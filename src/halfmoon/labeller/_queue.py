"""What comes next: suggested rows and, one in five, rows that are drawn at random.

Chosen labels bias a score: rows are suggested because the model is unsure of them. So one item in five comes from a
random order of all rows, which is fixed when a journal begins, and only rows that this order has reached enter the
held-out score and the prediction sets; those of them that somebody has labelled before count as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfmoon.labeller._labels import Labels

__all__ = ["EVERY", "LENGTH", "Entry", "RandomOrder", "make_queue"]

EVERY = 5  # one item of so many is drawn at random
LENGTH = 10  # items that are known in advance


class Entry(NamedTuple):
    """An item of the queue."""

    row: int
    drawn: bool


class RandomOrder:
    """A random order of all rows, the same whenever a session goes on.

    Parameters
    ----------
    n : int
        Number of rows.
    seed : int
        Of the order.
    """

    def __init__(self, n: int, seed: int) -> None:
        self._order = np.random.default_rng(seed).permutation(n)
        self._place = np.empty(n, dtype=np.intp)
        self._place[self._order] = np.arange(n)

    def reached(self, labels: Labels) -> int:
        """Return how far the draws have gone."""
        return 1 + max((int(self._place[row]) for row in labels.drawn), default=-1)

    def counted(self, labels: Labels) -> NDArray[np.intp]:
        """Return the labelled rows among those that the order has reached."""
        rows = self._order[: self.reached(labels)]
        return np.sort(rows[labels.of_row[rows] >= 0])

    def next(self, labels: Labels, count: int) -> list[int]:
        """Return the next rows to be drawn: neither labelled nor skipped."""
        found: list[int] = []
        for row in self._order[self.reached(labels) :].tolist():
            if len(found) == count:
                break
            if labels.of_row[row] < 0 and row not in labels.skipped:
                found.append(row)
        return found


def make_queue(labels: Labels, order: RandomOrder, suggested: Iterable[int], first: Entry | None = None) -> list[Entry]:
    """Return the next items; `first` stays where somebody is looking at it."""
    head = [] if first is None or not _open(labels, first.row) else [first]
    taken = {entry.row for entry in head}
    wanted = [row for row in dict.fromkeys(suggested) if row not in taken and _open(labels, row)]
    drawn = [row for row in order.next(labels, LENGTH) if row not in taken]
    queue = head
    while len(queue) < LENGTH and (wanted or drawn):
        is_drawn = bool(drawn) and ((labels.answered + len(queue)) % EVERY == EVERY - 1 or not wanted)
        row = (drawn if is_drawn else wanted).pop(0)
        if row not in taken:
            taken.add(row)
            queue.append(Entry(row, is_drawn))
    return queue


def _open(labels: Labels, row: int) -> bool:
    return bool(labels.of_row[row] < 0) and row not in labels.skipped
