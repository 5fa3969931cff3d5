"""One label more: refits and decision values of all rows, with and without ``instant_refits``, in one run.

Run ``python -m benchmarks.refits --data DIR`` (DIR with mnist.npz): MNIST, 64,000 rows, ten classes, 500 landmarks.
``--large`` measures 1,000,000 x 32 made-up rows instead, and needs no data. The exit code is 1 if a claim fails.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._machine import machine
from halfmoon import LapRLSClassifier, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning

STAGES = (20, 100, 150)  # labels at the start of each stage
LARGEST_DIFFERENCE = 1e-5
N_CLASSES = 10


@dataclass(frozen=True)
class Case:
    """Data, and what is claimed about them."""

    name: str
    X: np.ndarray
    y: np.ndarray
    seconds: float  # of a refit with decision values of all rows and their classes
    solved: int  # refits by solves that are measured in each stage


@dataclass(frozen=True)
class Stage:
    """What was measured in one stage, in seconds."""

    labels: tuple[int, int]
    instant: np.ndarray
    cpu: np.ndarray
    solved: np.ndarray
    difference: float
    bound: float

    def passes(self, case: Case) -> bool:
        """Return whether the claims hold."""
        return bool(np.median(self.instant) <= case.seconds and self.difference <= LARGEST_DIFFERENCE)


def mnist(folder: Path) -> Case:
    """Return 64,000 rows of MNIST."""
    archive = np.load(folder / "mnist.npz")
    rows = np.random.default_rng(0).permutation(len(archive["X"]))[:64_000]
    return Case("MNIST, 64,000 x 784", archive["X"][rows], archive["y"][rows].astype(int), 0.05, 3)


def curved_patches(n: int = 1_000_000, d: int = 32) -> Case:
    """Return a mixture of ten curved patches of three dimensions, one per class."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=n)
    X = np.empty((n, d), dtype=np.float32)
    for c in range(N_CLASSES):
        u = rng.uniform(-1.0, 1.0, size=(int((y == c).sum()), 3))
        terms = np.column_stack([u, u**2, u[:, :1] * u[:, 1:]])
        X[y == c] = terms @ rng.normal(size=(terms.shape[1], d)) + rng.normal(size=d)
    return Case(f"curved patches, {n:,} x {d}", X + rng.normal(scale=0.02, size=X.shape).astype(np.float32), y, 1.0, 1)


def more_labels(few: np.ndarray, y: np.ndarray, count: int, rng: np.random.Generator) -> None:
    """Label some more rows."""
    chosen = rng.choice(np.flatnonzero(few < 0), count, replace=False)
    few[chosen] = y[chosen]


def refit(model: Any, few: np.ndarray) -> tuple[float, float]:
    """Refit, and return the seconds and the CPU seconds until decision values and classes of all rows are there."""
    start, cpu = time.perf_counter(), time.process_time()
    model.refit(few)
    _ = model.decision_function_, model.transduction_
    return time.perf_counter() - start, time.process_time() - cpu


def measure(case: Case, estimator: Any, refits: int) -> Iterator[Stage]:
    """Fit once, then label one row after the other; yield what each stage of it took."""
    rng = np.random.default_rng(1)
    few = np.full(len(case.y), -1)
    for c in range(N_CLASSES):  # a label per class, as a session begins
        few[np.flatnonzero(case.y == c)[0]] = c
    start = time.perf_counter()
    instant = estimator(n_landmarks=500, random_state=0, instant_refits=True).fit(case.X, few)
    print(f"fit with instant_refits: {time.perf_counter() - start:.0f} s", flush=True)
    solving = pickle.loads(pickle.dumps(instant))  # without the stored interpolation
    for labels in STAGES:
        more_labels(few, case.y, labels - int((few >= 0).sum()), rng)
        refit(instant, few)  # many labels at once: not what is claimed
        refit(solving, few)
        times, solved, difference = [], [], 0.0
        for number in range(refits):
            more_labels(few, case.y, 1, rng)
            times.append(refit(instant, few))
            if number >= refits - case.solved:
                solved.append(refit(solving, few)[0])
                gap = np.abs(instant.decision_function_ - solving.decision_function_).max()
                difference = max(difference, float(gap))
        bound = instant.diagnose().interpolation_error
        wall, cpu = np.array(times).T
        yield Stage((labels, labels + refits), wall, cpu, np.array(solved), difference, bound)


def line(estimator: Any, stage: Stage, ok: bool) -> str:
    """Return a row of the table."""
    wall, cpu, solved = 1e3 * stage.instant, 1e3 * stage.cpu, 1e3 * stage.solved
    return (
        f"| {estimator.__name__} | {stage.labels[0]} to {stage.labels[1]} | {np.median(wall):.0f} | "
        f"{np.quantile(wall, 0.95):.0f} | {wall.min():.0f} | {np.median(cpu):.0f} | {np.median(solved):,.0f} | "
        f"{stage.difference:.1e} | {stage.bound:.1e} | {'yes' if ok else 'NO'} |"
    )


def main() -> int:
    """Run the benchmark; return 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--large", action="store_true", help="1,000,000 made-up rows")
    parser.add_argument("--refits", type=int, default=50, help="single-label refits per stage")
    options = parser.parse_args()
    if not options.large and options.data is None:
        parser.error("give --data DIR (with mnist.npz), or --large")
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    case = curved_patches() if options.large else mnist(options.data)
    print(f"Machine: {machine('numpy', 'scipy', 'scikit-learn', 'numba')}.")
    print(f"{case.name}, {N_CLASSES} classes, 500 landmarks. Claims: median at most {1e3 * case.seconds:.0f} ms,")
    print(f"decision values within {LARGEST_DIFFERENCE:g} of those by solves.")
    print("| estimator | labels | median ms | 95 % | fastest | CPU ms | by solves ms | difference | bound | holds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    everything = True
    for estimator in (LapRLSClassifier,) if options.large else (LapRLSClassifier, LapSVC):
        for stage in measure(case, estimator, options.refits):
            ok = stage.passes(case)
            everything = everything and ok
            print(line(estimator, stage, ok), flush=True)
    return 0 if everything else 1


if __name__ == "__main__":
    sys.exit(main())
