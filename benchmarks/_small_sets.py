"""Small data sets with known labels or targets, for benchmarks of many draws: rows of a graph, and new points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_moons,
    make_swiss_roll,
)
from sklearn.preprocessing import StandardScaler

N_ROWS, N_NEW = 500, 250  # at most


@dataclass(frozen=True)
class SmallSet:
    """Rows of the graph with their labels or targets, and new points with theirs."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray


Maker = Callable[[Path | None, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def _scaled(loader: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Maker:
    def make(data: Path | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, y = loader(return_X_y=True)
        return StandardScaler().fit_transform(X), y

    return make


def _stored(source: str, classes: tuple[int, ...]) -> Maker:
    def make(data: Path | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        assert data is not None
        with np.load(data / f"{source}.npz") as archive:
            X, y = archive["X"], archive["y"].astype(int)
        rows = rng.permutation(np.flatnonzero(np.isin(y, classes)))[:5000]
        return X[rows].astype(np.float64), y[rows]

    return make


def _gaussians(data: Path | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(2, size=N_ROWS + N_NEW)  # Bayes error 3 %
    return rng.normal(size=(len(y), 200)) + np.where(y, 1, -1)[:, None] * 1.88 / np.sqrt(200), y


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


CLASSES: dict[str, Maker] = {
    "digits": lambda data, rng: load_digits(return_X_y=True),
    "wine": _scaled(load_wine),
    "breast cancer": _scaled(load_breast_cancer),
    "moons": lambda data, rng: make_moons(N_ROWS + N_NEW, noise=0.2, random_state=_seed(rng)),
    "Gaussians, 200-d": _gaussians,
}
STORED_CLASSES: dict[str, Maker] = {
    "letter O, Q": _stored("letter", (14, 16)),
    "MNIST 3, 8": _stored("mnist", (3, 8)),
    "MNIST": _stored("mnist", tuple(range(10))),
}
TARGETS: dict[str, Maker] = {
    "swiss roll": lambda data, rng: make_swiss_roll(N_ROWS + N_NEW, noise=0.5, random_state=_seed(rng)),
    "Friedman 1": lambda data, rng: make_friedman1(N_ROWS + N_NEW, noise=1.0, random_state=_seed(rng)),
    "diabetes": _scaled(load_diabetes),
}


def classification_sets(data: Path | None) -> dict[str, Maker]:
    """Return the sets with classes; those of files only where the folder is given."""
    return CLASSES | (STORED_CLASSES if data else {})


def draw_set(maker: Maker, data: Path | None, rng: np.random.Generator) -> SmallSet:
    """Return a set in random order, two thirds of it rows of the graph."""
    X, y = maker(data, rng)
    order = rng.permutation(len(X))
    n = min(N_ROWS, 2 * len(X) // 3)
    rows, new = order[:n], order[n : n + N_NEW]
    return SmallSet(X[rows], y[rows], X[new], y[new])
