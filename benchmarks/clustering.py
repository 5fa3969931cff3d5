"""Clusters: adjusted Rand index of KernelKMeans and of scikit-learn's KMeans and SpectralClustering.

Run ``python -m benchmarks.clustering [--data FOLDER] [--draws 5]``. Means over draws; the number of clusters is that of
the classes. KernelKMeans and KMeans (10 runs) are at their defaults; SpectralClustering has the graph of 10 neighbours,
as its default, an RBF kernel of width 1, finds no shapes. FOLDER holds ``letter.npz`` for the letters D and O, left out
without it. The exit code is 1 where KernelKMeans is behind KMeans on blobs or embeddings, or misses a shape.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from halfmoon import KernelKMeans

LEAST_ON_SHAPES = 0.95
MOST_BEHIND = 0.02  # of KMeans, where clusters are round
SHARE = 0.8  # of the rows of a stored set, in each draw
LETTERS = (3, 14)  # D, O

Draw = tuple[np.ndarray, np.ndarray]
METHODS: dict[str, Callable[[int, int], Any]] = {
    "KernelKMeans": lambda k, seed: KernelKMeans(k, random_state=seed),
    "KMeans": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "SpectralClustering": lambda k, seed: SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
    ),
}


def _embeddings(seed: int) -> Draw:
    """1,200 unit vectors of 64 numbers around 4 centres."""
    rng = np.random.default_rng(seed)
    centres, y = 0.6 * rng.normal(size=(4, 64)), rng.integers(4, size=1200)
    X = centres[y] + rng.normal(size=(1200, 64))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def _uneven_blobs(seed: int) -> Draw:
    centres = np.array([[0.0, 0.0], [7.0, 0.0], [3.0, 7.0]])
    return make_blobs([600, 200, 60], centers=centres, cluster_std=[1.6, 0.6, 0.6], random_state=seed)


ROUND: dict[str, Callable[[int], Draw]] = {
    "embeddings": _embeddings,
    "5 blobs, 2 features": lambda seed: make_blobs(800, centers=5, random_state=seed),
    "6 blobs, 10 features": lambda seed: make_blobs(1000, n_features=10, centers=6, cluster_std=3.0, random_state=seed),
    "3 uneven blobs": _uneven_blobs,
}
SHAPES: dict[str, Callable[[int], Draw]] = {
    "moons": lambda seed: make_moons(600, noise=0.06, random_state=seed),
    "circles": lambda seed: make_circles(600, noise=0.04, factor=0.45, random_state=seed),
}


def stored_sets(folder: Path | None) -> dict[str, tuple[Draw, bool]]:
    """Return real data, and whether their columns are to be brought to one scale."""
    sets = {
        "iris": (load_iris(return_X_y=True), True),
        "wine": (load_wine(return_X_y=True), True),
        "breast cancer": (load_breast_cancer(return_X_y=True), True),
        "digits": (load_digits(return_X_y=True), False),
    }
    if folder is not None:
        with np.load(folder / "letter.npz") as archive:
            kept = np.isin(archive["y"], LETTERS)
            sets["letters D, O"] = (archive["X"][kept].astype(float), archive["y"][kept]), False
    return sets


def draws(folder: Path | None, count: int) -> Iterator[tuple[str, int, Draw]]:
    """Yield the name of a set, the number of the draw, its rows and their classes."""
    for name, make in (
        ROUND | SHAPES | {"noisy moons": lambda seed: make_moons(600, noise=0.12, random_state=seed)}
    ).items():
        for seed in range(count):
            yield name, seed, make(seed)
    for name, ((X, y), scaled) in stored_sets(folder).items():
        for seed in range(count):
            rows = np.random.default_rng(seed).permutation(len(y))[: int(SHARE * len(y))]
            yield name, seed, (StandardScaler().fit_transform(X[rows]) if scaled else X[rows], y[rows])


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of letter.npz")
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Graph is not fully connected")  # of SpectralClustering
    scores: dict[str, dict[str, list[float]]] = {}
    for name, seed, (X, y) in draws(options.data, options.draws):
        of_set = scores.setdefault(name, {method: [] for method in METHODS})
        for method, make in METHODS.items():
            of_set[method].append(adjusted_rand_score(y, make(len(np.unique(y)), seed).fit_predict(X)))
        print(name, seed, *(f"{of_set[method][-1]:.2f}" for method in METHODS), file=sys.stderr, flush=True)
    means = {
        name: {method: float(np.mean(found)) for method, found in of_set.items()} for name, of_set in scores.items()
    }
    print(f"| | {' | '.join(METHODS)} |\n|---|{'---|' * len(METHODS)}")
    for name, row in means.items():
        print(f"| {name} | {' | '.join(f'{row[method]:.2f}' for method in METHODS)} |")
    print(f"| mean | {' | '.join(f'{np.mean([row[m] for row in means.values()]):.2f}' for m in METHODS)} |")
    behind = any(means[name]["KernelKMeans"] < means[name]["KMeans"] - MOST_BEHIND for name in ROUND)
    sys.exit(behind or any(means[name]["KernelKMeans"] < LEAST_ON_SHAPES for name in SHAPES))


if __name__ == "__main__":
    main()
