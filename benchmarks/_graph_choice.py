"""The choice of ``method="auto"`` against the three searches, over rows, features and inner dimensions."""

from __future__ import annotations

import time

import numpy as np

from benchmarks._graph_cases import mixture
from halfmoon.graph import NeighborIndex, SearchOptions

SIZES = (4_000, 16_000, 64_000, 250_000)
SHAPES = ((2, 2), (3, 3), (5, 5), (8, 3), (8, 8), (12, 12), (16, 3), (16, 10), (64, 10), (256, 10))  # features, inner
METHODS = ("kdtree", "exact", "approximate")
TOO_LONG = 30.0  # seconds that a method is expected to take at most
REPEATS = 3
K = 10
SLOWER = 1.3  # the choice may cost so much more than the best of the three,
SMALL = 0.25  # or so many seconds: exact search of small data


def measure_choice(quick: bool) -> tuple[str, list[str]]:
    """Return a table of seconds per method with the choice, and the rows where the choice costs too much."""
    lines = ["| rows | features | inner | " + " | ".join(METHODS) + " | chosen | chosen / best |", "|---" * 8 + "|"]
    failures = []
    for features, inner in SHAPES[::2] if quick else SHAPES:
        expected = dict.fromkeys(METHODS, 0.0)
        for n in SIZES[:3] if quick else SIZES:
            X = mixture(n, features, inner, np.random.default_rng(0), noise=0.01)
            seconds = {method: timed(X, method) for method in METHODS if expected[method] <= TOO_LONG}
            expected = {m: 16.0 * seconds[m] if m in seconds else np.inf for m in METHODS}  # four times the rows
            chosen = NeighborIndex(X, options=SearchOptions()).method
            ratio = seconds.get(chosen, np.inf) / min(seconds.values())
            cells = [f"{seconds[m]:.2f} s" if m in seconds else "" for m in METHODS]
            lines.append(f"| {n:,} | {features} | {inner} | {' | '.join(cells)} | {chosen} | {ratio:.2f} |")
            print(lines[-1], flush=True)
            if ratio > SLOWER and seconds.get(chosen, np.inf) > min(seconds.values()) + SMALL:
                failures.append(f"{n:,} x {features}, {inner} inner: auto takes {chosen}, {ratio:.2f} times the best")
    return "\n".join(lines), failures


def timed(X: np.ndarray, method: str) -> float:
    """Return the seconds of a method after a warm-up: the smallest of some runs, of one if it takes long."""
    NeighborIndex(X[:2000], method=method).neighbors_of_data(K)
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        NeighborIndex(X, method=method).neighbors_of_data(K)
        best = min(best, time.perf_counter() - start)
        if best > 2.0:
            break
    return best
