"""What a worker gets and returns, in .npz files that every environment reads. True labels stay with the parent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

UNLABELED = -1


@dataclass(frozen=True)
class Problem:
    """Rows, the few labels and what may be known beside them.

    Attributes
    ----------
    X, X_new : ndarray or csr_matrix
        Rows in the graph and new points.
    few : ndarray of int
        Classes 0 .. k - 1 of the rows in the graph, -1 where unlabelled.
    priors : ndarray of shape (k,)
        Shares of the classes among the rows in the graph, for methods that are told.
    W : csr_matrix or None
        halfmoon's graph, on distinct rows, connected.
    point : ndarray of int or None
        Vertex of each row.
    seed : int
        For methods that draw.
    """

    X: Any
    X_new: Any
    few: np.ndarray
    priors: np.ndarray
    W: Any
    point: np.ndarray | None
    seed: int

    @property
    def labeled(self) -> np.ndarray:
        """Which rows are labelled."""
        return self.few != UNLABELED

    def hiding(self, rows: np.ndarray) -> Problem:
        """Return the problem with some labels fewer."""
        few = self.few.copy()
        few[rows] = UNLABELED
        return replace(self, few=few)


@dataclass(frozen=True)
class Answer:
    """Classes of all rows in the graph, and how to get those of new points (None: the method cannot)."""

    train: np.ndarray
    new: Callable[[], np.ndarray] | None = None


@dataclass(frozen=True, eq=False)  # a method is itself: tables use it as a key
class Method:
    """A row of a table, or several rows that come out of one fit.

    Attributes
    ----------
    name : str
        Its name; ``solve`` returns answers under suffixes of it.
    solve : callable
        Maps a problem and parameters to answers by suffix: "" and, where class priors are told, ", priors".
    suffixes : tuple of str
        These suffixes.
    grid : dict
        What ``--tuned`` tries; the default is the first value of each parameter, so that it wins ties.
    tune : callable or None
        A search of the method's own, in place of cross-validation over `grid`.
    two_classes : bool
        Whether it is for two classes only.
    largest : int or None
        The most rows that it is run on: it has a dense matrix of their square.
    """

    name: str
    solve: Callable[..., dict[str, Answer]]
    suffixes: tuple[str, ...] = ("",)
    grid: Mapping[str, Any] | None = None
    tune: Callable[[Problem], dict[str, Answer]] | None = None
    two_classes: bool = False
    largest: int | None = None

    @property
    def rows(self) -> list[str]:
        """Names of its rows."""
        return [self.name + suffix for suffix in self.suffixes]

    def refuses(self, n_classes: int, n_rows: int) -> str | None:
        """Return why it cannot be run on a set, if it cannot."""
        if self.two_classes and n_classes > 2:
            return "two classes only"
        if self.largest is not None and n_rows > self.largest:
            return f"not run (dense, > {self.largest:,} rows)"
        return None


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write dense and sparse arrays to an .npz file; it is there whole or not at all."""
    flat: dict[str, Any] = {}
    for name, array in arrays.items():
        if sparse.issparse(array):
            parts = {part: getattr(array, part) for part in ("data", "indices", "indptr", "shape")}
            flat |= {f"{name}.{part}": np.asarray(value) for part, value in parts.items()}
        elif array is not None:
            flat[name] = array
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, **flat)
    os.replace(partial, path)


def read_arrays(path: Path) -> dict[str, Any]:
    """Read what `write_arrays` has written."""
    with np.load(path, allow_pickle=False) as stored:
        flat = {name: stored[name] for name in stored.files}
    arrays = {name: array for name, array in flat.items() if "." not in name}
    for name in {name.split(".")[0] for name in flat if "." in name}:
        data, indices, indptr, shape = (flat[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape"))
        arrays[name] = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
    return arrays


def read_problem(path: Path, labels: int, seed: int) -> Problem:
    """Read the problem of a draw with some labels per class."""
    arrays = read_arrays(path)
    given = {name: arrays.get(name) for name in ("X", "X_new", "priors", "W", "point")}
    return Problem(few=arrays[f"few{labels}"], seed=seed, **given)
