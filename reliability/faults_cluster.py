"""Workers of a Dask cluster that are killed or slow: the fit gives the bits that it gives on an untroubled cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np

from halfmoon import DataDependentKernel, LapRLSClassifier, distributed

__all__ = ["CLUSTER"]

ROWS = 6000
SLOW = 3.0  # seconds for which a worker stands still


def _fit(client: object) -> tuple[bytes, float]:
    """Return the bits of a fit on the cluster, and its seconds."""
    rng, truth = np.random.default_rng(4), np.arange(ROWS) % 3
    X, y = rng.normal(size=(ROWS, 4)) + 2.0 * truth[:, None], np.where(np.arange(ROWS) < 60, truth, -1)
    kernel = DataDependentKernel(n_neighbors=8, n_landmarks=400, solver="approx_cholesky", random_state=0)
    start = time.perf_counter()
    with distributed(client):
        model = LapRLSClassifier(kernel=kernel).fit(X, y)
    return bytes(model.decision_function_.tobytes()), time.perf_counter() - start


def _kill(worker: int) -> None:
    os.kill(worker, signal.SIGKILL)


def _stand_still(worker: int) -> None:
    os.kill(worker, signal.SIGSTOP)
    time.sleep(SLOW)
    os.kill(worker, signal.SIGCONT)


def _fit_troubled(client: object, trouble: Callable[[int], None], worker: int, delay: float) -> tuple[bytes, bool]:
    """Return the bits of a fit, and whether the trouble began before its end."""
    begun = threading.Event()

    def strike() -> None:
        begun.set()
        trouble(worker)

    timer = threading.Timer(delay, strike)
    timer.start()
    try:
        bits, _ = _fit(client)
        return bits, begun.is_set()
    finally:
        timer.cancel()
        timer.join()


def _troubled(trouble: Callable[[int], None], times: int, seed: int) -> int:
    """Trouble a worker of a new cluster, so many times; count the fits until each came before the end of one."""
    from distributed import Client, LocalCluster

    rng, fits, known = np.random.default_rng(seed), 0, set[bytes]()
    for _ in range(times):
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
        with cluster, Client(cluster, set_as_default=False) as client:
            _fit(client)  # workers import what they need
            bits, seconds = _fit(client)
            struck = False
            known.add(bits)
            while not struck:
                worker = int(rng.choice(list(client.run(os.getpid).values())))
                bits, struck = _fit_troubled(client, trouble, worker, float(rng.uniform(0.0, seconds)))
                fits += 1
                known.add(bits)
    assert len(known) <= 1, "other bits"
    return fits


def _checked(trouble: Callable[[int], None], told: str) -> Callable[[int, int], tuple[int, str]]:
    def check(times: int, seed: int) -> tuple[int, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fits = _troubled(trouble, times, seed)
        return times, f"{told} during {fits} fits, all with the same bits"

    return check


CLUSTER: dict[str, Callable[[int, int], tuple[int, str]]] = {
    "killed": _checked(_kill, "killed"),
    "slow": _checked(_stand_still, f"stopped for {SLOW:.0f} s"),
}
