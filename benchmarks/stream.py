"""Points that arrive later: MNIST 3 against 8 in ten batches, appended to a model and by fitting again, in one run.

Run ``python -m benchmarks.stream --data DIR`` (DIR with mnist.npz). A model is fitted on nine tenths of the rows. The
rest arrives in ten batches of 1 %, each through ``partial_fit``. After the fifth and the tenth another model is fitted
on all rows so far, on the landmarks of the first. 50 labels lie anywhere, so that some arrive with their rows. The exit
code is 1 if a claim fails.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._machine import machine
from halfmoon import DataDependentKernel, Geometry, LapRLSClassifier, LapSVC
from halfmoon.exceptions import DisconnectedGraphWarning

BATCHES = 10
REBUILDS = (5, 10)  # batches after which models are also fitted again
LABELS = 50
LARGEST_SHARE = 0.15  # of the time of a fit
LARGEST_LOSS = 0.3  # points of error after the last batch


@dataclass(frozen=True)
class Stream:
    """Rows in the order in which they arrive, with their classes and the labels that are known."""

    X: np.ndarray
    y: np.ndarray
    few: np.ndarray
    ends: np.ndarray  # rows that are there at the start and after each batch

    @classmethod
    def draw(cls, X: np.ndarray, y: np.ndarray, seed: int) -> Stream:
        """Draw an order of the rows and labels."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
        labeled = rng.choice(len(y), LABELS, replace=False)
        few = np.full(len(y), -1)
        few[labeled] = y[labeled]
        step = len(y) // 100
        return cls(X, y, few, len(y) - step * np.arange(BATCHES, -1, -1))


@dataclass(frozen=True)
class Figures:
    """What one stream gave: errors in % and seconds."""

    appended: float  # error on all rows after the last batch
    rebuilt: float  # of a model that is fitted again
    refreshed: float
    arrivals: float  # on the rows of the batches, before they were appended
    apart: float  # root mean square of the difference that a rebuild makes in T h_hat on appended rows, h_hat = +-1
    append: list[float]
    partial_fit: list[float]
    build: list[float]
    fit: list[float]
    refresh: float


def mnist(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return all images of threes and eights, and which are eights."""
    archive = np.load(folder / "mnist.npz")
    rows = np.flatnonzero(np.isin(archive["y"].astype(int), (3, 8)))
    return archive["X"][rows], (archive["y"][rows].astype(int) == 8).astype(int)


def measure(stream: Stream, estimator: Any) -> Figures:
    """Let the batches arrive."""
    X, y, few, ends = stream.X, stream.y, stream.few, stream.ends
    model = estimator(random_state=0).fit(X[: ends[0]], few[: ends[0]])
    geometry = Geometry.build(X[: ends[0]], landmarks=model.kernel_.landmark_indices_)
    appends, partials, builds, fits, arrivals = [], [], [], [], []
    for number, (start, end) in enumerate(pairwise(ends), 1):
        rows, labels = X[start:end], few[start:end]
        arrivals.append(error(model.predict(rows), y[start:end]))
        geometry = timed(appends, partial(geometry.append, rows))
        classes = timed(partials, partial(appended_classes, model, rows, labels))
        if number in REBUILDS:
            rebuilt = timed(builds, partial(Geometry.build, X[:end], landmarks=geometry.landmarks))
            again = timed(fits, partial(fitted_classes, estimator, geometry.landmarks, X[:end], few[:end]))
    refreshes: list[float] = []
    exact = timed(refreshes, lambda: model.refresh().transduction_)
    h_hat = (2.0 * y - 1.0)[geometry.landmarks]
    apart = (geometry.extend(h_hat) - rebuilt.extend(h_hat))[ends[0] :]
    errors = (error(found, y) for found in (classes, again, exact))
    root = float(np.sqrt(np.mean(apart**2)))
    return Figures(*errors, float(np.mean(arrivals)), root, appends, partials, builds, fits, refreshes[0])


def timed(times: list[float], call: Callable[[], Any]) -> Any:
    """Return what a call returns, and note how long it took."""
    start = time.perf_counter()
    result = call()
    times.append(time.perf_counter() - start)
    return result


def appended_classes(model: Any, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Append rows to a model; return the classes of all rows."""
    return model.partial_fit(rows, labels).transduction_


def fitted_classes(estimator: Any, landmarks: np.ndarray, X: np.ndarray, few: np.ndarray) -> np.ndarray:
    """Fit a model on all rows; return their classes."""
    return estimator(kernel=DataDependentKernel(landmarks=landmarks)).fit(X, few).transduction_


def error(found: np.ndarray, y: np.ndarray) -> float:
    """Return the share of wrong classes in %."""
    return 100.0 * float(np.mean(found != y))


def line(estimator: Any, found: list[Figures]) -> tuple[str, bool]:
    """Return a row of the table, and whether the claims hold."""
    names = ("appended", "rebuilt", "refreshed", "arrivals")
    appended, rebuilt, refreshed, arrivals = (np.mean([getattr(f, name) for f in found]) for name in names)
    times = ("append", "build", "partial_fit", "fit", "refresh")
    append, build, partial_fit, fit, refresh = (np.median([getattr(f, name) for f in found]) for name in times)
    shares = append <= LARGEST_SHARE * build and partial_fit <= LARGEST_SHARE * fit
    holds = shares and max(f.appended - f.rebuilt for f in found) <= LARGEST_LOSS
    text = (
        f"| {estimator.__name__} | {appended:.2f} | {rebuilt:.2f} | {refreshed:.2f} | {arrivals:.2f} | "
        f"{append:.2f} | {build:.2f} | {append / build:.1%} | {partial_fit:.2f} | {fit:.2f} | "
        f"{partial_fit / fit:.1%} | {refresh:.2f} | {'yes' if holds else 'NO'} |"
    )
    return text, bool(holds)


def main() -> int:
    """Run the benchmark; return 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with mnist.npz")
    parser.add_argument("--draws", type=int, default=5, help="orders of the rows and labels")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    X, y = mnist(options.data)
    print(f"Machine: {machine('numpy', 'scipy', 'scikit-learn', 'numba')}.")
    print(f"MNIST 3 against 8, {len(y):,} rows, {LABELS} labels, {BATCHES} batches of {len(y) // 100} rows;")
    print(f"{options.draws} draws. Errors in %, means after the last batch; seconds, medians. Claims: append at most")
    print(
        f"{LARGEST_SHARE:.0%} of build, partial_fit of fit, every draw within {LARGEST_LOSS} points of fitting again."
    )
    print("| estimator | appended | fitted again | refreshed | arrivals | append | build | share ", end="")
    print("| partial_fit | fit | share | refresh | holds |")
    print("|---" * 13 + "|")
    everything = True
    for estimator in (LapRLSClassifier, LapSVC):
        found = [measure(Stream.draw(X, y, seed), estimator) for seed in range(options.draws)]
        text, holds = line(estimator, found)
        everything = everything and holds
        print(text, flush=True)
        losses = ", ".join(f"{figures.appended - figures.rebuilt:+.2f}" for figures in found)
        apart = float(np.mean([figures.apart for figures in found]))
        print(f"{estimator.__name__}: losses of the draws {losses}; T h_hat apart by {apart:.3f}", file=sys.stderr)
    return 0 if everything else 1


if __name__ == "__main__":
    sys.exit(main())
