"""Seconds that `suggest(n=10)` takes beside a refit: MNIST, 64,000 rows, ten classes, 500 landmarks, 100 labels.

Run ``python -m benchmarks.suggestions --data DIR`` (DIR with mnist.npz). The exit code is 1 if the median of a strategy
is above half a second.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks._machine import machine
from benchmarks.refits import mnist, more_labels
from halfmoon import LapRLSClassifier
from halfmoon.active_learning import STRATEGIES, suggest
from halfmoon.exceptions import DisconnectedGraphWarning

LABELS, BATCH, SECONDS = 100, 10, 0.5


def seconds(model: LapRLSClassifier, strategy: str, seed: int) -> tuple[float, float]:
    """Return the seconds and the CPU seconds of one batch."""
    start, cpu = time.perf_counter(), time.process_time()
    suggest(model, BATCH, strategy, random_state=seed)
    return time.perf_counter() - start, time.process_time() - cpu


def main() -> int:
    """Run the benchmark; return 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with mnist.npz")
    parser.add_argument("--batches", type=int, default=20, help="batches per strategy, each after one label more")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    case = mnist(options.data)
    few = np.full(len(case.y), -1)
    rng = np.random.default_rng(1)
    more_labels(few, case.y, LABELS, rng)
    model = LapRLSClassifier(n_landmarks=500, random_state=0, instant_refits=True).fit(case.X, few)
    print(f"Machine: {machine('numpy', 'scipy', 'scikit-learn')}. {case.name}.")
    print("| strategy | median ms | slowest | CPU ms | holds |")
    print("|---|---|---|---|---|")
    everything = True
    for strategy in STRATEGIES:
        times = []
        for seed in range(options.batches):
            more_labels(few, case.y, 1, rng)
            _ = model.refit(few).transduction_
            times.append(seconds(model, strategy, seed))
        wall, cpu = 1e3 * np.array(times).T
        holds = bool(np.median(wall) <= 1e3 * SECONDS)
        everything = everything and holds
        figures = f"{np.median(wall):.0f} | {wall.max():.0f} | {np.median(cpu):.0f}"
        print(f"| {strategy} | {figures} | {'yes' if holds else 'NO'} |", flush=True)
    return 0 if everything else 1


if __name__ == "__main__":
    sys.exit(main())
