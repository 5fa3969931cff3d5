"""Small data sets with known labels or targets, for benchmarks of many draws: rows of a graph, and new points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

from halfmoon import DataDependentKernel, LapRLSRegressor

N_ROWS, N_NEW, N_LANDMARKS = 500, 250, 200  # at most


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


def geometries(small: SmallSet, labels: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, object]]:
    """Yield draws of the labelled rows, each with a kernel whose landmarks follow it."""
    n, kernel = len(small.y), None
    classes = small.y.dtype.kind in "iu"
    while True:
        mask = np.zeros(n, dtype=bool)
        mask[rng.choice(n, labels, replace=False)] = True
        if classes and len(np.unique(small.y[mask])) < 2:
            continue
        if kernel is None:
            seed = int(rng.integers(2**31))
            unfitted = DataDependentKernel(n_landmarks=min(N_LANDMARKS, n), random_state=seed, n_jobs=1)
            kernel = unfitted.fit(small.X, np.where(mask, 0, -1))
        yield mask, kernel.rewarp(geometry=kernel.geometry_.replace(labeled=mask))


def fitted(estimator: type, small: SmallSet, mask: np.ndarray, kernel: object):
    """Return an estimator of default parameters, fitted on a kernel that is there."""
    model = estimator()
    few = np.where(mask, small.y, np.nan if estimator is LapRLSRegressor else -1)
    return model.adopt(model.learn(model.problem(small.X, few), kernel))
