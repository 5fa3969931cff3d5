"""Properties of the labeller: actions, their undoing, and the journal."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from halfmoon.labeller import ActionError, Labels
from halfmoon.labeller._book import Book
from reliability.properties._claims import claim
from reliability.properties._data import SEEDS, SIZES

ACTIONS = 30
Rng = np.random.Generator


def _action(rng: Rng, n: int) -> dict[str, Any]:
    """Draw an action; about a third of them are refused."""
    rows = rng.integers(-1, n + 1, size=rng.integers(0, 4)).tolist()
    number = [None, *range(-1, 4)][rng.integers(6)]
    kind = str(rng.choice(["label", "label", "skip", "class", "rename", "undo", "nothing"]))
    how = str(rng.choice(["queue", "map", "check", "elsewhere"]))
    return {"kind": kind, "rows": rows, "class": number, "how": how, "name": str(rng.choice(list("abcdef")))}


def _state(labels: Labels) -> Any:
    return (
        list(labels.classes), labels.of_row.tolist(), dict(labels.skipped), dict(labels.drawn), labels.answered,
        labels.counts,
    )  # fmt: skip


def _act(book: Book, action: dict[str, Any]) -> bool:
    """Do an action; return whether it was accepted. A refused one changes nothing."""
    before = copy.deepcopy(_state(book.labels)), book.labels.revision
    try:
        book.write(action, [])
    except ActionError:
        assert (_state(book.labels), book.labels.revision) == before
        return False
    return True


@claim("a journal gives back the labels that were acknowledged", seed=SEEDS, n=SIZES)
def _journal(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    header = {"rows": n, "data": "x", "seed": 1}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal")
        book = Book(Labels(n, ("a", "b")), path, header)
        for _ in range(ACTIONS):
            _act(book, _action(rng, n))
        expected = _state(book.labels), book.labels.revision
        book.close()
        again = Book(Labels(n, ("a", "b")), path, header)
        again.close()
        assert (_state(again.labels), again.labels.revision) == expected


@claim("undoing all actions gives back the beginning", seed=SEEDS, n=SIZES)
def _undoing(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    book = Book(Labels(n, ("a", "b")), None, {"seed": 1})
    states = [_state(book.labels)]
    for _ in range(ACTIONS):
        action = _action(rng, n)
        if action["kind"] != "undo" and _act(book, action):
            states.append(copy.deepcopy(_state(book.labels)))
    for expected in reversed(states[:-1]):
        assert _act(book, {"kind": "undo"})
        assert _state(book.labels) == expected
    assert not _act(book, {"kind": "undo"})
