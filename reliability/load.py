"""Load: many threads on one model, many small fits and refits in flat memory, many classes."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import psutil

from halfmoon import DataDependentKernel, LapRLSClassifier, LapSVC

__all__ = ["LOADS", "Load", "run_load"]

FLAT = 48 << 20  # bytes that a process may grow by, whatever the number of fits
THREADS = 24


class Load(NamedTuple):
    """A kind of load, and how much of it each profile asks for."""

    run: Callable[[int, int], tuple[int, str]]  # an amount and a seed -> how often what was tried, what was seen
    short: int
    long: int


def run_load(name: str, profile: str, seed: int) -> tuple[int, str]:
    """Run a load; return how often what was tried and what was seen. What must not happen raises."""
    load = LOADS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return load.run(load.short if profile in ("short", "quick") else load.long, seed)


def _data(rng: np.random.Generator, n: int, classes: int = 2, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    truth = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 5.0 * rng.normal(size=(classes, d))[truth]
    return X, np.where(np.arange(n) < 3 * classes, truth, -1)


def _kernel() -> DataDependentKernel:
    return DataDependentKernel(n_neighbors=4, n_landmarks=10, random_state=0, n_jobs=1)


def _threads(rounds: int, seed: int) -> tuple[int, str]:
    rng = np.random.default_rng(seed)
    X, y = _data(rng, 400)
    model = LapSVC(kernel=_kernel()).fit(X, y)
    Z = rng.normal(size=(50, 3))
    expected = model.decision_function(Z)
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda _: model.decision_function(Z), range(THREADS * rounds)))
    wrong = sum(not np.array_equal(values, expected) for values in found)
    assert wrong == 0, f"{wrong} of {len(found)} predictions differ"
    return len(found), f"{THREADS} at a time, all equal"


def _threads_fitting(rounds: int, seed: int) -> tuple[int, str]:
    X, y = _data(np.random.default_rng(seed), 60)
    expected = LapRLSClassifier(kernel=_kernel()).fit(X, y).decision_function(X)

    def fit(_: int) -> np.ndarray:
        return LapRLSClassifier(kernel=_kernel()).fit(X, y).decision_function(X)

    with ThreadPoolExecutor(THREADS) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = list(pool.map(fit, range(THREADS * rounds)))
    assert all(np.array_equal(values, expected) for values in found)
    return len(found), f"{THREADS} at a time, all equal"


def _growth(step: Callable[[], object], count: int) -> int:
    """Return by how many bytes the process has grown from a quarter of the steps to the end."""
    process = psutil.Process()
    start = 0
    for i in range(count):
        if i == max(count // 4, 1):
            gc.collect()
            start = process.memory_info().rss
        step()
    gc.collect()
    return int(process.memory_info().rss - start)


def _fits(count: int, seed: int) -> tuple[int, str]:
    rng = np.random.default_rng(seed)

    def step() -> None:
        X, y = _data(rng, int(rng.integers(12, 40)))
        assert np.isfinite(LapRLSClassifier(0.1, kernel=_kernel()).fit(X, y).decision_function(X)).all()

    grown = _growth(step, count)
    assert grown < FLAT, f"the process grew by {grown / 2**20:.0f} MiB over {count:,} fits"
    return count, f"memory grew by {grown / 2**20:.1f} MiB over the last three quarters"


def _refits(count: int, seed: int) -> tuple[int, str]:
    rng = np.random.default_rng(seed)
    X, y = _data(rng, 200)
    model = LapSVC(kernel=_kernel(), instant_refits=True).fit(X, y)

    def step() -> None:
        labels = y.copy()
        labels[rng.integers(6, 200, size=5)] = rng.integers(2, size=5)
        assert np.isfinite(model.refit(labels).decision_function_).all()

    grown = _growth(step, count)
    assert grown < FLAT, f"the process grew by {grown / 2**20:.0f} MiB over {count:,} refits"
    return count, f"memory grew by {grown / 2**20:.1f} MiB over the last three quarters"


def _soak(seconds: int, seed: int) -> tuple[int, str]:
    rng = np.random.default_rng(seed)
    X, y = _data(rng, 500)
    model = LapSVC(kernel=_kernel()).fit(X, y)
    end, predictions = time.monotonic() + seconds, 0
    process = psutil.Process()
    start = process.memory_info().rss
    while time.monotonic() < end:
        Z = rng.normal(size=(int(rng.integers(1, 300)), 3))
        assert np.isfinite(model.decision_function(Z)).all()
        predictions += 1
    grown = process.memory_info().rss - start
    assert grown < FLAT, f"the process grew by {grown / 2**20:.0f} MiB"
    return predictions, f"{seconds} s without a break, memory grew by {grown / 2**20:.1f} MiB"


def _classes(count: int, seed: int) -> tuple[int, str]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * count, 8)) + 10.0 * rng.normal(size=(count, 8))[np.arange(4 * count) % count]
    y = np.where(np.arange(4 * count) < 2 * count, np.arange(4 * count) % count, -1)
    start = time.perf_counter()
    values = LapRLSClassifier(0.1, random_state=0).fit(X, y).decision_function(X[:100])
    seconds = time.perf_counter() - start
    assert values.shape == (100, count)
    assert np.isfinite(values).all()
    return 1, f"{count:,} classes, {4 * count:,} rows: {seconds:.1f} s"


LOADS = {
    "predictions of one model in 24 threads": Load(_threads, 4, 200),
    "fits in 24 threads": Load(_threads_fitting, 1, 20),
    "small fits": Load(_fits, 60, 10_000),
    "refits of one model": Load(_refits, 40, 1_000),
    "predictions without a break": Load(_soak, 2, 300),
    "fit of many classes": Load(_classes, 100, 1_000),
}
