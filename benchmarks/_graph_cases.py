"""The data of the graph benchmark, and the recall of neighbour lists counted by distance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

SAMPLE = 2000  # rows that the recall is measured on
TIES = 1e-6  # relative difference of distances that are one distance
BLOCK = 10_000  # rows measured at once
MARGIN = 10  # more candidates than neighbours, then measured in float64: products round


@dataclass(frozen=True)
class Case:
    """One data set and one number of neighbours."""

    name: str
    n: int
    d: int
    k: int

    @property
    def title(self) -> str:
        """What the tables call it."""
        return f"{self.name} {self.n:,} x {self.d}, k = {self.k}"


FILES = {"MNIST": "mnist.npz", "letter": "letter.npz"}
CASES = {
    "mnist5": Case("MNIST", 64_000, 784, 5),
    "mnist10": Case("MNIST", 64_000, 784, 10),
    "letter": Case("letter", 20_000, 16, 10),
    **{
        f"{name}{n // 1000}x{d}": Case(name, n, d, 10)
        for n in (64_000, 250_000)
        for name, d in (("mixture", 16), ("mixture", 128), ("mixture", 784), ("cube", 16))
    },
    "mixture1000x16": Case("mixture", 1_000_000, 16, 10),
    "cube1000x16": Case("cube", 1_000_000, 16, 10),
}
QUICK = ("mnist5", "letter", "mixture64x16", "mixture64x128")


def points(case: Case, data: Path | None) -> np.ndarray:
    """Return the data of a case in float32."""
    rng = np.random.default_rng(0)
    if case.name in FILES:
        if data is None:
            raise SystemExit(f"{case.title} needs --data, a folder with {FILES[case.name]}")
        return np.load(data / FILES[case.name])["X"][: case.n].astype(np.float32)
    if case.name == "cube":
        return rng.uniform(size=(case.n, case.d)).astype(np.float32)
    return mixture(case.n, case.d, min(10, case.d), rng)


def mixture(n: int, d: int, inner: int, rng: np.random.Generator, noise: float = 0.1) -> np.ndarray:
    """Return a hundred clusters of some inner dimensions with some noise in all."""
    cluster = rng.integers(100, size=n)
    centers, frames = 3 * rng.normal(size=(100, d)), rng.normal(size=(100, inner, d)) / np.sqrt(inner)
    X = np.empty((n, d), dtype=np.float32)
    for c in range(100):
        rows = cluster == c
        flat = rng.normal(size=(rows.sum(), inner)) @ frames[c]
        X[rows] = centers[c] + flat + noise * rng.normal(size=flat.shape)
    return X


def reach_of(X: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the distance of some rows to their k-th nearest other row, by brute force."""
    center = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    Y = X[rows] - center
    nearest, candidates = np.empty((len(rows), 0), X.dtype), np.empty((len(rows), 0), dtype=np.int64)
    for start in range(0, len(X), BLOCK):
        block = X[start : start + BLOCK] - center
        squares = np.hstack([nearest, np.square(block).sum(axis=1) - 2 * Y @ block.T])
        numbers = np.broadcast_to(np.arange(start, start + len(block)), (len(rows), len(block)))
        kept = np.argpartition(squares, k + MARGIN, axis=1)[:, : k + MARGIN]
        nearest = np.take_along_axis(squares, kept, axis=1)
        candidates = np.take_along_axis(np.hstack([candidates, numbers]), kept, axis=1)
    return np.sort(distances_to(X, rows, candidates), axis=1)[:, k - 1]


def distances_to(X: np.ndarray, rows: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Return the distances of some rows to those in their lists; inf for themselves, for -1 and for repetitions."""
    distances = np.empty(lists.shape)
    for i, (row, found) in enumerate(zip(rows, lists, strict=True)):
        distances[i] = np.linalg.norm(X[found].astype(np.float64) - X[row], axis=1)
    ordered = np.argsort(lists, axis=1, kind="stable")
    again = np.zeros(lists.shape, dtype=bool)
    repeated = np.diff(np.take_along_axis(lists, ordered, axis=1), axis=1, prepend=-2) == 0
    np.put_along_axis(again, ordered, repeated, axis=1)
    distances[(lists == rows[:, None]) | (lists < 0) | again] = np.inf
    return distances


def recall_of(X: np.ndarray, rows: np.ndarray, reach: np.ndarray, lists: np.ndarray, k: int) -> float:
    """Return the share of the k nearest that the lists of some rows hold: whatever is as near counts."""
    hits = (distances_to(X, rows, lists) <= reach[:, None] * (1 + TIES)).sum(axis=1)
    return float(np.minimum(hits, k).mean() / k)
