"""From 16,000 to 1,000,000 points (10,000,000 with ``--large``): time of each step, memory, error, exponents.

Run ``python -m benchmarks.scaling [--data DIR] [--out DIR]``. Points of ten curved patches of 4 to 8 intrinsic
dimensions in 32 (k = 10, p = 2, 500 landmarks, 100 labels, ten classes), in float32, from an array in memory to a
fitted classifier; each size in a process of its own, after a warm-up on a few rows. With `--data` (a folder with
mnist.npz) also the question whether more unlabelled rows help: digits 3 against 8 with 20 labels, beside more and more
deformed digits.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._machine import machine
from benchmarks._memory import forget_peak, memory
from benchmarks._scaling_data import curved_patches, deformed_digits
from halfmoon import DataDependentKernel, LapRLSClassifier, restrict, select_landmarks
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.graph import knn_graph
from halfmoon.regularizers import PowerRegularizer

SIZES = (16_000, 64_000, 250_000, 1_000_000)
LARGE = 10_000_000
NEW = 20_000  # points to predict
LABELS = 100
KERNEL = {"n_neighbors": 10, "power": 2, "n_landmarks": 500, "random_state": 0}
WARM_UP = 12_000
DIGITS = (2_000, 12_000, 200_000)


@dataclass(frozen=True)
class Row:
    """One size."""

    n: int
    graph: float  # seconds
    solve: float
    fit: float
    predict: float  # seconds for NEW points
    refit: float  # one label more, and the classes of all rows
    memory: float  # GB, above what the data take
    error: float  # % on new points


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def parts(X: np.ndarray) -> tuple[float, float]:
    """Return the seconds of the graph and of the restriction by themselves."""
    graph, W = timed(lambda: knn_graph(X, n_neighbors=KERNEL["n_neighbors"], random_state=0))
    S = select_landmarks(X, KERNEL["n_landmarks"], random_state=0)
    solve, _ = timed(lambda: restrict(PowerRegularizer(W, power=KERNEL["power"], ridge=1e-2), S))
    return graph, solve


def few_labels(y: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return y with all but a few labels hidden."""
    labeled = np.random.default_rng(seed).choice(len(y), count, replace=False)
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    return few


def whole(n: int) -> dict[str, float]:
    """Return the times of a classifier from array to refit, its memory and its error."""
    X, y = curved_patches(n, seed=0)
    Z, truth = curved_patches(NEW, seed=0, draw=1)
    few = few_labels(y, LABELS, seed=1)
    model = LapRLSClassifier(kernel=DataDependentKernel(**KERNEL))
    forget_peak()
    before = memory("VmRSS")
    fit, _ = timed(lambda: model.fit(X, few))
    peak = memory("VmHWM") - before
    predict, classes = timed(lambda: model.predict(Z))
    more = few.copy()
    unlabeled = np.flatnonzero(few < 0)[0]
    more[unlabeled] = y[unlabeled]
    refit, _ = timed(lambda: model.refit(more).transduction_)
    return {
        "fit": fit,
        "predict": predict,
        "refit": refit,
        "memory": peak,
        "error": 100 * float(np.mean(classes != truth)),
    }


def run_one(what: str, n: int) -> None:
    """Measure one size in this process; print the result as JSON."""
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    warm, labels = curved_patches(WARM_UP, seed=2)
    if what == "parts":
        parts(warm)
        graph, solve = parts(curved_patches(n, seed=0)[0])
        print(json.dumps({"graph": graph, "solve": solve}))
        return
    model = LapRLSClassifier(kernel=DataDependentKernel(**KERNEL)).fit(warm, few_labels(labels, LABELS, seed=1))
    model.predict(warm[:100])
    del model, warm
    print(json.dumps(whole(n)))


def measured(n: int) -> Row:
    """Measure one size, the parts and the whole in processes of their own."""
    found: dict[str, float] = {}
    for what in ("parts", "whole"):
        command = [sys.executable, "-m", "benchmarks.scaling", "--one", what, str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    return Row(n, **found)


def more_unlabeled(data: Path, draws: int) -> list[str]:
    """Return errors on digits 3 against 8 with 20 labels, beside more and more deformed digits."""
    lines = ["| rows | error % | standard error |", "|---|---|---|"]
    X, y = deformed_digits(data, (3, 8), max(DIGITS), seed=0)
    for n in DIGITS:
        errors = []
        for draw in range(draws):
            labeled = np.random.default_rng(draw).choice(min(DIGITS), 20, replace=False)
            few = np.full(n, -1)
            few[labeled] = y[labeled]
            kernel = DataDependentKernel(n_landmarks=500, random_state=draw)
            model = LapRLSClassifier(kernel=kernel).fit(X[:n], few)
            rest = np.setdiff1d(np.arange(min(DIGITS)), labeled)  # the same rows for every n
            errors.append(100 * np.mean(model.transduction_[rest] != y[rest]))
        lines.append(f"| {n:,} | {np.mean(errors):.2f} | {np.std(errors, ddof=1) / np.sqrt(draws):.2f} |")
        print(lines[-1], flush=True)
    return lines


def markdown(rows: list[Row], digits: list[str]) -> str:
    """Return the tables and the exponents."""
    lines = [
        f"Machine: {machine('numpy', 'numba', 'scikit-learn')}.",
        "",
        f"| n | graph s | solve s | fit s | predict {NEW:,} s | refit s | memory GB | error % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.n:,} | {r.graph:.2f} | {r.solve:.2f} | {r.fit:.2f} | {r.predict:.2f} | {r.refit:.2f} | {r.memory:.2f} "
        f"| {r.error:.2f} |"
        for r in rows
    ]
    if len(rows) > 1:
        n, steps = np.log([r.n for r in rows]), ("graph", "solve", "fit")
        slopes = {step: np.polyfit(n, np.log([getattr(r, step) for r in rows]), 1)[0] for step in steps}
        lines += ["", "Exponents: " + ", ".join(f"{name} {slope:.2f}" for name, slope in slopes.items()) + "."]
    return "\n".join([*lines, "", *digits, ""])


def main() -> None:
    """Run the benchmark and write scaling.md and scaling.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--large", action="store_true", help=f"also {LARGE:,} points")
    parser.add_argument("--draws", type=int, default=10, help="draws of the labels of the digits")
    parser.add_argument("--one", nargs=2, metavar=("WHAT", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one[0], int(options.one[1]))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for n in [*options.sizes, *([LARGE] if options.large else [])]:
        rows.append(measured(n))
        print(rows[-1], flush=True)
        (options.out / "scaling.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
        (options.out / "scaling.md").write_text(markdown(rows, []))
    digits = more_unlabeled(options.data, options.draws) if options.data else []
    (options.out / "scaling.md").write_text(markdown(rows, digits))
    print(markdown(rows, digits))


if __name__ == "__main__":
    main()
