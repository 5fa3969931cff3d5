"""From 16,000 to 1,000,000 points (10,000,000 with ``--large``): time of each step, memory, traffic, error, exponents.

Run ``python -m benchmarks.scaling [--features 32 128] [--data DIR] [--out DIR]``. Points of ten curved patches of 4 to
8 intrinsic dimensions (k = 10, p = 2, 500 landmarks, 100 labels, ten classes), in float32, from an array in memory to a
fitted classifier; each size in processes of their own, after a warm-up on a few rows. Every row that is measured goes
to scaling.json at once, beside those of earlier runs. ``--parts`` leaves out parts: "stages" are those of a run on a
cluster, graph, set-up and a few columns; "solve" is the restriction, "whole" a fit with predictions and a refit.
10,000,000 points are only fitted as a whole, in 18.5 GB; ``--max-memory`` limits other fits. With `--data` (a folder
with mnist.npz) also handwritten digits, deformed on the fly, of all ten classes, and the question whether more
unlabelled rows help: digits 3 against 8 with 20 labels, beside more and more deformed digits. ``--digits-only`` asks
nothing but that question.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._counting_client import CountingClient
from benchmarks._memory import forget_peak, memory
from benchmarks._more_unlabeled import more_unlabeled
from benchmarks._scaling_data import curved_patches, deformed_digits
from benchmarks._scaling_report import Row, markdown, read_rows, write_rows
from halfmoon import DataDependentKernel, LapRLSClassifier, distributed, restrict, select_landmarks
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.graph import knn_graph
from halfmoon.regularizers import PowerRegularizer

SIZES = (16_000, 64_000, 250_000, 1_000_000)
LARGE = 10_000_000
LARGE_MEMORY = 18_500_000_000  # bytes beyond the data
DEFORMED = 250_000  # the most deformed digits: 784 bytes each
NEW = 20_000  # points to predict
LABELS = 100
RIDGE = 1e-2
KERNEL = {"n_neighbors": 10, "power": 2, "n_landmarks": 500, "ridge": RIDGE, "random_state": 0}
COLUMNS = 64  # landmarks that are solved for as on a cluster
WARM_UP = 12_000


@dataclass(frozen=True)
class Case:
    """Which points, and how many."""

    n: int
    features: int
    data: Path | None  # of the digits; None: curved patches
    memory: int | None = None  # bytes that a fit may take beyond the data

    @property
    def family(self) -> str:
        """Name of the kind of points."""
        return "patches" if self.data is None else "digits"

    def points(self, n: int, *, new: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return points and classes; new ones come from the same patches, or from other originals."""
        if self.data is None:
            return curved_patches(n, seed=0, draw=int(new), features=self.features)
        return deformed_digits(self.data, tuple(range(10)), n, seed=0, held_out=new)


def timed(work: Callable[[], Any]) -> tuple[list[float], Any]:
    """Return seconds of the clock and of the processor, and the result."""
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    return [time.perf_counter() - start, time.process_time() - cpu], result


def peak_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the most GB that were held beyond what was held before, and the result."""
    forget_peak()
    before = memory("VmRSS")
    result = work()
    return memory("VmHWM") - before, result


def stages(X: np.ndarray) -> dict[str, Any]:
    """Return what the graph takes, and what a cluster would take for some columns of the restriction."""
    graph, W = timed(lambda: knn_graph(X, n_neighbors=KERNEL["n_neighbors"], random_state=0))
    S = select_landmarks(X, COLUMNS, random_state=0)
    client = CountingClient()
    with distributed(client):
        Q = PowerRegularizer(W, power=KERNEL["power"], ridge=RIDGE)
        streamed, _ = timed(lambda: restrict(Q, S))
    (call,) = client.calls
    return {
        "graph": graph,
        "setup_cpu": streamed[1] - call.seconds,
        "column_cpu": call.seconds / COLUMNS,
        "edges": W.nnz / 2,
        "sent": call.sent,
    }


def solve(X: np.ndarray) -> dict[str, Any]:
    """Return what the restriction takes on this machine, set-up included."""
    W = knn_graph(X, n_neighbors=KERNEL["n_neighbors"], random_state=0)
    S = select_landmarks(X, KERNEL["n_landmarks"], random_state=0)
    return {"solve": timed(lambda: restrict(PowerRegularizer(W, power=KERNEL["power"], ridge=RIDGE), S))[0]}


def few_labels(y: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return y with all but a few labels hidden."""
    labeled = np.random.default_rng(seed).choice(len(y), count, replace=False)
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    return few


def whole(case: Case) -> dict[str, Any]:
    """Return the times of a classifier from array to refit, its memory and its error."""
    X, y = case.points(case.n)
    Z, truth = case.points(NEW, new=True)
    few = few_labels(y, LABELS, seed=1)
    model = LapRLSClassifier(kernel=DataDependentKernel(**KERNEL), max_memory=case.memory)
    peak, (fit, _) = peak_of(lambda: timed(lambda: model.fit(X, few)))
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


PARTS: dict[str, Callable[[np.ndarray], dict[str, Any]]] = {"stages": stages, "solve": solve}
ALL = (*PARTS, "whole")


def run_one(what: str, case: Case) -> None:
    """Measure one case in this process; print the result as JSON."""
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    warm, labels = case.points(WARM_UP)
    if what in PARTS:
        PARTS[what](warm)
        print(json.dumps(PARTS[what](case.points(case.n)[0])))
        return
    model = LapRLSClassifier(kernel=DataDependentKernel(**KERNEL)).fit(warm, few_labels(labels, LABELS, seed=1))
    model.predict(warm[:100])
    del model, warm
    print(json.dumps(whole(case)))


def measured(case: Case, wanted: Sequence[str], rows: list[Row]) -> list[Row]:
    """Measure one case in processes of their own; return the rows with it. What is not wanted stays as it was."""
    key = (case.family, case.n, case.features)
    found: dict[str, Any] = next((asdict(row) for row in rows if row.key == key), {})
    for what in wanted:
        command = [sys.executable, "-m", "benchmarks.scaling", "--one", what, str(case.n), str(case.features)]
        command += [] if case.data is None else ["--data", str(case.data)]
        command += [] if case.memory is None else ["--max-memory", str(case.memory)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    new = Row(**found | {"family": case.family, "n": case.n, "features": case.features})
    return [*(row for row in rows if row.key != key), new]


def cases(options: argparse.Namespace) -> list[Case]:
    """Return what is to be measured."""
    limit = options.max_memory
    chosen = [Case(n, features, None, limit) for features in options.features for n in options.sizes]
    if options.large:
        chosen += [Case(LARGE, features, None, limit or LARGE_MEMORY) for features in options.features]
    if options.data:
        chosen += [Case(n, 784, options.data, limit) for n in options.sizes if n <= DEFORMED]
    return chosen


def main() -> None:
    """Run the benchmark and write scaling.md and scaling.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--features", type=int, nargs="+", default=[32], help="dimensions that the patches lie in")
    parser.add_argument("--large", action="store_true", help=f"also {LARGE:,} points")
    parser.add_argument("--parts", nargs="+", choices=ALL, default=ALL)
    parser.add_argument("--max-memory", type=lambda text: int(float(text)), metavar="BYTES", help="of a fit")
    parser.add_argument("--draws", type=int, default=10, help="draws of the labels of digits 3 against 8")
    parser.add_argument("--digits", type=int, nargs="+", default=[2_000, 12_000, 200_000], help="rows of 3 against 8")
    parser.add_argument("--digits-only", action="store_true", help="3 against 8 and nothing else")
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "N", "FEATURES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one[0], Case(int(options.one[1]), int(options.one[2]), options.data, options.max_memory))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    rows = read_rows(options.out / "scaling.json")
    for case in [] if options.digits_only else cases(options):
        rows = measured(case, ["whole"] if case.n >= LARGE else options.parts, rows)
        print(rows[-1], flush=True)
        write_rows(rows, options.out / "scaling.json")
    digits = more_unlabeled(options.data, options.digits, options.draws, options.out) if options.data else []
    (options.out / "scaling.md").write_text(markdown(rows, digits, NEW))
    print(markdown(rows, digits, NEW))


if __name__ == "__main__":
    main()
