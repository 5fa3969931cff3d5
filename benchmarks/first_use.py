"""First use: from a new process with nothing compiled to the first prediction, and a fit beside busy processes.

Run ``python -m benchmarks.first_use --data DIR`` (DIR with mnist.npz; without it the large case is a mixture of
Gaussians). Exit code 1 if a claim of the docs does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._machine import machine

LABELS = 40
LARGE = 30_000  # rows of the large case
LIMITS = {"digits": 5.0, "large": 12.0}  # seconds to the first prediction
MOST_BESIDE_OTHERS = 1.5  # times the time of one BLAS thread
FITS = 5
SHOWN = 12  # compiled functions in the table

FIRST_USE = """
import json, sys, time, warnings
start, folder = float(sys.argv[1]), sys.argv[2]
marks = {"python": time.time()}
import numpy as np
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")
marks["data"] = time.time()
from halfmoon import LapSVC
marks["import"] = time.time()
warnings.simplefilter("ignore")
compiled, depth = [], []

if "numba" in sys.modules:
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, entry):
            depth.append(time.time())

        def on_end(self, entry):
            began = depth.pop()
            if not depth:  # with everything that it calls
                compiled.append([entry.data["dispatcher"].py_func.__name__, time.time() - began])

    event.register("numba:compile", Listener())

model = LapSVC(random_state=0).fit(X, y)
marks["fit"] = time.time()
model.predict(X[:1000])
marks["predict"] = time.time()
LapSVC(random_state=0).fit(X, y).predict(X[:1000])
again = time.time() - marks["predict"]
moments = [start, *marks.values()]
spans = dict(zip(marks, (b - a for a, b in zip(moments, moments[1:]))))
print(json.dumps({"spans": spans, "compiled": compiled, "again": again}))
"""

WARM_FITS = """
import sys, time, warnings
import numpy as np
from halfmoon import LapSVC
warnings.simplefilter("ignore")
folder, fits = sys.argv[1], int(sys.argv[2])
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")
seconds = []
for _ in range(fits + 1):
    start = time.perf_counter()
    LapSVC(random_state=0).fit(X, y)
    seconds.append(time.perf_counter() - start)
print(np.median(seconds[1:]))
"""


def few_labels(y: np.ndarray, seed: int) -> np.ndarray:
    """Return y with all but LABELS of its entries hidden."""
    shown = np.random.default_rng(seed).choice(len(y), LABELS, replace=False)
    few = np.full(len(y), -1)
    few[shown] = y[shown]
    return few


def large_case(data: Path | None, seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Return a name and LARGE rows: MNIST, or a mixture of Gaussians where there is none."""
    if data is not None:
        with np.load(data / "mnist.npz") as mnist:
            X, y = mnist["X"][:LARGE], mnist["y"][:LARGE]
        return "MNIST", X.reshape(len(X), -1).astype(np.float32), y
    rng = np.random.default_rng(seed)
    y = rng.integers(10, size=LARGE)
    return "mixture", (rng.normal(size=(10, 64))[y] + rng.normal(size=(LARGE, 64))).astype(np.float32), y


@contextmanager
def case_folder(X: np.ndarray, y: np.ndarray) -> Iterator[str]:
    """Write a case to a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        np.save(f"{folder}/y.npy", y)
        yield folder


def first_use(folder: str) -> dict[str, Any]:
    """Run one first use in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-c", FIRST_USE, repr(time.time()), folder]
        done = subprocess.run(
            command, env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True, capture_output=True, text=True
        )
    return dict(json.loads(done.stdout))


def report_first_use(name: str, X: np.ndarray, y: np.ndarray, limit: float, repeats: int, seed: int) -> bool:
    """Print where the time goes in the fastest of several first uses; return whether the claim holds."""
    with case_folder(X, few_labels(y, seed)) as folder:
        runs = [first_use(folder) for _ in range(repeats)]
    best = min(runs, key=lambda run: sum(run["spans"].values()))
    spans, compiled = best["spans"], sorted(best["compiled"], key=lambda entry: -entry[1])
    total, compiling = sum(spans.values()), sum(seconds for _, seconds in compiled)
    print(f"\n{name}, {X.shape[0]:,} x {X.shape[1]}, {LABELS} labels: {total:.2f} s to the first prediction", end="")
    print(f", smallest of {repeats}; at most {limit:g}")
    print("| " + " | ".join([*spans, "compiling", "second fit and prediction"]) + " |")
    print("|" + "---|" * (len(spans) + 2))
    print("| " + " | ".join(f"{seconds:.2f}" for seconds in [*spans.values(), compiling, best["again"]]) + " |")
    for function, seconds in compiled[:SHOWN]:
        print(f"  {seconds:6.2f} s  {function}")
    if len(compiled) > SHOWN:
        print(f"  {sum(seconds for _, seconds in compiled[SHOWN:]):6.2f} s  {len(compiled) - SHOWN} others")
    return total <= limit


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep so many processes busy meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def report_busy(X: np.ndarray, y: np.ndarray, repeats: int, seed: int) -> bool:
    """Print the times of fits beside busy processes, by default and with one BLAS thread; return whether they agree."""
    holds = True
    print("\nfit of digits, seconds (smallest of the medians), beside busy processes")
    print("| busy processes | BLAS threads by default | one BLAS thread | ratio |\n|---|---|---|---|")
    with case_folder(X, few_labels(y, seed)) as folder:
        command = [sys.executable, "-c", WARM_FITS, folder, str(FITS)]
        settings = {"default": dict(os.environ), "one": os.environ | {"OPENBLAS_NUM_THREADS": "1"}}
        for count in sorted({0, 1, os.cpu_count() or 1}):
            seconds: dict[str, list[float]] = {name: [] for name in settings}
            with busy_processes(count):
                for _ in range(repeats):
                    for name, env in settings.items():
                        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
                        seconds[name].append(float(done.stdout))
            default, one = min(seconds["default"]), min(seconds["one"])
            print(f"| {count} | {default:.2f} | {one:.2f} | {default / one:.2f} |", flush=True)
            holds &= default <= MOST_BESIDE_OTHERS * one
    return holds


def report_starts(repeats: int) -> None:
    """Print how long the package and its command take to start."""
    commands = {
        'python -c "import halfmoon"': ["-c", "import halfmoon"],
        'python -c "from halfmoon import LapSVC"': ["-c", "from halfmoon import LapSVC"],
        "halfmoon --help": ["-m", "halfmoon", "--help"],
    }
    print("\n| start | seconds |\n|---|---|")
    for name, words in commands.items():
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
        print(f"| `{name}` | {min(seconds):.2f} |")


def main() -> int:
    """Run the benchmark; return 1 if a claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=None, help="folder with mnist.npz")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of the labels")
    options = parser.parse_args()
    print(f"Machine: {machine('numpy', 'scipy', 'scikit-learn', 'numba')}.")
    digits = load_digits(return_X_y=True)
    claims = {"digits": report_first_use("digits", *digits, LIMITS["digits"], options.repeats, options.seed)}
    name, X, y = large_case(options.data, options.seed)
    claims[name] = report_first_use(name, X, y, LIMITS["large"], options.repeats, options.seed)
    claims["beside busy processes"] = report_busy(*digits, options.repeats, options.seed)
    report_starts(options.repeats)
    failed = [claim for claim, holds in claims.items() if not holds]
    print("\nAll claims hold." if not failed else f"\nClaims that do not hold: {', '.join(failed)}.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
