"""Fits in forks, in new processes, in threads and in joblib's workers, nested too: they end, with the same bits."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import joblib
import numpy as np

from halfmoon import DataDependentKernel, KernelKMeans, LapRLSClassifier, LapSVC
from reliability.alone import answer

__all__ = ["PROCESSES"]

LOOK, LOOKS = 0.005, 12_000  # seconds between looks at a fork, and how many: a fit takes well below a second
SOLVERS = ("approx_cholesky", "direct", "cg", "eigen")


def fit(seed: int) -> bytes:
    """Return the bits of a fit and of its predictions; seeds draw data, model and solver."""
    rng = np.random.default_rng(seed)
    n, truth = 200, np.arange(200) % 2
    X = rng.normal(size=(n, 3)) + 2.0 * truth[:, None]
    solver = SOLVERS[int(rng.integers(len(SOLVERS)))]
    kernel = DataDependentKernel(n_neighbors=5, n_landmarks=30, solver=solver, random_state=0, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if seed % 3 == 0:
            return bytes(KernelKMeans(2, kernel=kernel, random_state=0).fit(X).labels_.tobytes())
        model = (LapSVC, LapRLSClassifier)[seed % 2](kernel=kernel)
        return bytes(model.fit(X, np.where(np.arange(n) < 12, truth, -1)).decision_function(X[::3]).tobytes())


def fits(seeds: list[int]) -> list[bytes]:
    """Return the bits of several fits in threads."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(fit, seeds))


def _forked(seeds: list[int]) -> list[bytes]:
    """Fork a process that has fitted before."""
    return [_in_fork(seed) for seed in seeds]


def _in_fork(seed: int) -> bytes:
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.write(writing, fit(seed))
        finally:
            os._exit(0)
    os.close(writing)
    for _ in range(LOOKS):
        if os.waitpid(process, os.WNOHANG) != (0, 0):
            break
        time.sleep(LOOK)
    else:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise AssertionError(f"a fork does not end within {LOOK * LOOKS:.0f} s")
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read()


def _in_processes(method: str, seeds: list[int]) -> list[bytes]:
    with ProcessPoolExecutor(2, mp_context=mp.get_context(method)) as pool:
        return list(pool.map(fit, seeds))


def _in_joblib(backend: str, seeds: list[int]) -> list[bytes]:
    parallel = joblib.Parallel(2, backend=backend)
    return list(parallel(joblib.delayed(fit)(seed) for seed in seeds))


def _nested(outer: str, seeds: list[int]) -> list[bytes]:
    """Fit in threads of threads or of processes of joblib."""
    parallel = joblib.Parallel(2, backend=outer)
    groups = parallel(joblib.delayed(fits)(seeds[start : start + 4]) for start in range(0, len(seeds), 4))
    return [bits for group in groups for bits in group]


def _checked(run: Callable[[list[int]], list[bytes]]) -> Callable[[int, int], tuple[int, str]]:
    def check(amount: int, seed: int) -> tuple[int, str]:
        seeds = [seed + number for number in range(amount)]
        expected = [fit(number) for number in seeds]
        different = [number for number, one, other in zip(seeds, expected, run(seeds), strict=True) if one != other]
        assert not different, f"other bits for seeds {different[:10]}"
        return amount, "ended with the bits of the main process"

    return check


PROCESSES: dict[str, Callable[[int, int], tuple[int, str]]] = {
    "forks of a process that has fitted": _checked(_forked),
    "processes by spawn": _checked(partial(_in_processes, "spawn")),
    "processes by forkserver": _checked(partial(_in_processes, "forkserver")),
    "threads": _checked(fits),
    "workers of joblib": _checked(partial(_in_joblib, "loky")),
    "threads of joblib": _checked(partial(_in_joblib, "threading")),
    "threads in workers of joblib": _checked(partial(_nested, "loky")),
    "threads in threads of joblib": _checked(partial(_nested, "threading")),
}

if __name__ == "__main__":
    answer(PROCESSES)
