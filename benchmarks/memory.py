"""Memory of fits to rows on disk: what was predicted, and what was held beyond the rows.

    python -m benchmarks.memory [--sizes 20000 40000]

Every case runs in a process of its own. RssAnon is sampled every 5 ms: pages of a memory map are not in it, since the
system may drop them at any time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._memory import memory
from benchmarks._scaling_data import curved_patches
from halfmoon import DataDependentKernel, LapRLSClassifier, open_rows
from halfmoon.planning import FitSize, fit_memory
from halfmoon.runtime.executor import thread_count

LABELS, CLASSES = 100, 10
WAIT = 0.005
GENEROUS = 10**12  # bytes: everything fits


@dataclass(frozen=True)
class Case:
    """One fit."""

    rows: int
    features: int
    dtype: str
    neighbors: int
    landmarks: int
    power: int
    tight: bool  # in the leanest way, or in the fastest

    @property
    def size(self) -> FitSize:
        """What the prediction depends on."""
        sizes = (self.rows, self.features, self.neighbors, self.landmarks, self.power)
        return FitSize(*sizes, columns=LABELS, threads=thread_count(None))

    @property
    def limit(self) -> int:
        """What the fit is allowed."""
        return fit_memory(self.size, 1).peak if self.tight else GENEROUS


def cases(sizes: list[int]) -> list[Case]:
    """Return the table."""
    n = sizes[0]
    shapes = [(n, 784, "uint8"), (n, 1024, "float32"), (n, 4096, "float16"), *((m, 32, "float32") for m in sizes)]
    chosen = [Case(*shape, 5, 500, 3, True) for shape in shapes]
    chosen += [Case(n, 784, "float32", 20, 500, 2, True), Case(n, 784, "float32", 5, 1000, 1, True)]
    return [*chosen, Case(n, 784, "float32", 5, 500, 2, False)]


def write(case: Case, path: Path) -> None:
    """Write the rows of a case."""
    X, _ = curved_patches(case.rows, seed=0, features=case.features)
    if case.dtype == "uint8":
        X = (X - X.min()) * (255 / (X.max() - X.min()))
    np.save(path, X.astype(case.dtype))


def run_one(case: Case, path: Path) -> None:
    """Fit in this process; print the most that was held beyond what was held before."""
    warnings.simplefilter("ignore")
    X = open_rows(path)
    y = np.full(len(X), -1)
    y[:LABELS] = np.arange(LABELS) % CLASSES
    before, most, done = memory("RssAnon"), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(WAIT):
            most[0] = max(most[0], memory("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    kernel = DataDependentKernel(
        n_neighbors=case.neighbors, n_landmarks=case.landmarks, power=case.power, random_state=0
    )
    LapRLSClassifier(kernel=kernel, max_memory=case.limit).fit(X, y)
    done.set()
    watcher.join()
    print(json.dumps(1e9 * (most[0] - before)))


def measured(case: Case) -> float:
    """Return the bytes that a case took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        write(case, path)
        command = [sys.executable, "-m", "benchmarks.memory", "--one", json.dumps(asdict(case)), str(path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def line(case: Case, bytes_held: float) -> str:
    """Return a row of the table."""
    predicted = fit_memory(case.size, case.limit).peak
    row: list[Any] = [f"{case.rows:,} x {case.features:,} {case.dtype}", case.neighbors, case.landmarks, case.power]
    rows = case.rows * case.features * np.dtype(case.dtype).itemsize
    row += ["least" if case.tight else "fastest", *(f"{size / 1e6:.0f}" for size in (rows, predicted, bytes_held))]
    return "| " + " | ".join(str(cell) for cell in (*row, f"{predicted / bytes_held:.2f}")) + " |"


def main() -> None:
    """Run the cases and print the table; fail where a prediction was too low."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 40_000])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(Case(**json.loads(options.one[0])), Path(options.one[1]))
        return
    print("| rows | k | landmarks | p | way | rows, MB | predicted, MB | held, MB | ratio |\n|" + "---|" * 9)
    too_low = 0
    for case in cases(options.sizes):
        held = measured(case)
        too_low += held > fit_memory(case.size, case.limit).peak
        print(line(case, held), flush=True)
    if too_low:
        sys.exit(f"{too_low} predictions were too low.")


if __name__ == "__main__":
    main()
