"""The data of section 5: Table 1's tasks, from a folder or from OpenML."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from halfmoon.exceptions import DataNotFoundError

__all__ = ["SMALL_TASKS", "TABLE_1", "Task", "load", "load_task"]

ENVIRONMENT = "HALFMOON_DATA"
OPENML = {"mnist": "mnist_784", "letter": "letter"}


@dataclass(frozen=True)
class Task:
    """One row of Table 1: two groups of classes, sizes of sample, subsample and test set, trials in the figures."""

    name: str
    source: str
    negative: tuple[int, ...]
    positive: tuple[int, ...]
    n: int
    n_hat: int
    n_test: int
    trials: int = 50


D, O, Q = 3, 14, 16  # noqa: E741 - letters, numbered from A = 0
TABLE_1 = (
    Task("letter D vs O", "letter", (D,), (O,), 1250, 250, 308),
    Task("letter O vs Q", "letter", (O,), (Q,), 1250, 250, 286),
    Task("MNIST 2 vs 3", "mnist", (2,), (3,), 2000, 250, 405),
    Task("MNIST 3 vs 8", "mnist", (3,), (8,), 12_000, 250, 1966),
    Task("MNIST 4 vs 9", "mnist", (4,), (9,), 12_000, 250, 1782),
    Task("MNIST odd vs even", "mnist", (1, 3, 5, 7, 9), (0, 2, 4, 6, 8), 64_000, 500, 500, trials=25),
)
SMALL_TASKS = TABLE_1[:3]  # Figure 2; the others are Figure 3


@cache
def load(source: str, folder: Path | None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return X and class numbers of "mnist" or "letter".

    From ``<folder>/<source>.npz``, the folder being given or named by HALFMOON_DATA; else from OpenML, cached.
    """
    folder = folder or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None)
    if folder is None:
        return _from_openml(source)
    path = folder / f"{source}.npz"
    if not path.is_file():
        raise DataNotFoundError(f"{path} does not exist. {_ways_out(source)}")
    with np.load(path, allow_pickle=False) as archive:
        return archive["X"], archive["y"].astype(np.int64)


def _from_openml(source: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    try:
        X, labels = fetch_openml(OPENML[source], version=1, return_X_y=True, as_frame=False)
    except OSError as error:
        raise DataNotFoundError(f"{source!r} cannot be fetched from OpenML ({error}). {_ways_out(source)}") from error
    numbers = [ord(label) - ord("A") if label.isalpha() else int(label) for label in labels]
    return X.astype(np.uint8), np.array(numbers)


def _ways_out(source: str) -> str:
    return (
        f"Either give a folder with {source}.npz (arrays X and y) by --data or the variable {ENVIRONMENT}, "
        "or leave both out and go online: scikit-learn then fetches and keeps the data."
    )


def load_task(task: Task, folder: Path | None) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the rows of a task and their signs, -1 or 1."""
    X, y = load(task.source, folder)
    rows = np.flatnonzero(np.isin(y, task.negative + task.positive))
    return X[rows], np.where(np.isin(y[rows], task.positive), 1.0, -1.0)
