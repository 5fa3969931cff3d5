"""Workers of a Dask cluster that are killed or slow: a run gives the bits that it gives on an untroubled cluster.

A run builds a graph in shards, solves, and predicts new rows in chunks. Workers are killed at moments drawn from the
whole duration of a run, one or two per run. Nannies start them again at once; without nannies one worker always lives.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from halfmoon import DataDependentKernel, LapRLSClassifier, distributed
from reliability.alone import Check, answer

__all__ = ["CLUSTER"]

ROWS, NEW, CHUNK = 6000, 4000, 500
SHARD = 1500  # rows, so that a small graph is built in shards
SLOW = 3.0  # seconds for which a worker stands still
STILL = 100.0  # seconds after which a run that takes one or two is said to stand still
BACK = 300.0  # seconds in which Dask starts a worker again on a machine that is busy; no part of a run
SETTLED = 30.0  # seconds in which a cluster lets go of what nobody asks for

Kill = Callable[[int], None]


def _run(client: Any) -> bytes:
    """Return the bits of a fit on the cluster and of predictions in chunks."""
    import dask.array as da

    rng, truth = np.random.default_rng(4), np.arange(ROWS) % 3
    X, y = rng.normal(size=(ROWS, 4)) + 2.0 * truth[:, None], np.where(np.arange(ROWS) < 60, truth, -1)
    graph = {"method": "approximate"}
    kernel = DataDependentKernel(
        n_neighbors=8, n_landmarks=400, solver="approx_cholesky", graph_params=graph, random_state=0
    )
    small = mock.patch("halfmoon.graph._shards.SHARD", SHARD), mock.patch("halfmoon.graph._neighbor_index.SHARD", SHARD)
    with small[0], small[1], distributed(client):
        model = LapRLSClassifier(kernel=kernel).fit(X, y)
        values = model.decision_function(da.from_array(rng.normal(size=(NEW, 4)), chunks=(CHUNK, -1)))
        return bytes(model.decision_function_.tobytes()) + bytes(client.compute(values).result().tobytes())


def _timed(client: Any) -> tuple[bytes, float]:
    """Return the bits of a run and its seconds; a run that stands still is an error."""
    found: list[bytes | BaseException] = []

    def run() -> None:
        try:
            found.append(_run(client))
        except BaseException as error:
            found.append(error)

    start, thread = time.perf_counter(), threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(STILL)
    assert found, f"a run stood still: it did not end in {STILL:.0f} s"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0], time.perf_counter() - start


def _kill(worker: int) -> None:
    os.kill(worker, signal.SIGKILL)


def _stand_still(worker: int) -> None:
    os.kill(worker, signal.SIGSTOP)
    time.sleep(SLOW)
    os.kill(worker, signal.SIGCONT)


def _troubled(client: Any, trouble: Kill, moments: dict[int, float]) -> tuple[bytes, float, int]:
    """Return the bits and seconds of a run, and how many workers were troubled before its end."""
    struck: list[int] = []

    def strike(worker: int) -> None:
        struck.append(worker)
        trouble(worker)

    timers = [threading.Timer(delay, strike, [worker]) for worker, delay in moments.items()]
    for timer in timers:
        timer.start()
    try:
        bits, seconds = _timed(client)
        return bits, seconds, len(struck)
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()


def _check_nothing_is_left(client: Any) -> None:
    gc.collect()
    until = time.monotonic() + SETTLED
    while client.futures or any(client.has_what().values()):
        assert time.monotonic() < until, f"left on the client {list(client.futures)}, on workers {client.has_what()}"
        time.sleep(0.1)


def _wait_for_workers(client: Any, count: int) -> None:
    """Wait as `DaskExecutor` does, which says why."""
    until = time.monotonic() + BACK
    while len(client.nthreads()) < count:
        assert time.monotonic() < until, f"{count} workers were expected, there are {client.nthreads()}"
        time.sleep(0.1)


@contextlib.contextmanager
def _with_nannies() -> Iterator[tuple[Any, Callable[[], None]]]:
    """Yield a client of two workers that are started again when they die, and a function that waits for both."""
    import dask
    from distributed import Client, LocalCluster

    # A LocalCluster gives up a worker that is not back in time; on a busy machine the default, 15 s, is too short.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": f"{BACK} s"})
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with patient, cluster, Client(cluster, set_as_default=False) as client:
        yield client, lambda: _wait_for_workers(client, 2)


@contextlib.contextmanager
def _without_nannies() -> Iterator[tuple[Any, Callable[[], None]]]:
    """Yield a client of three workers that nobody starts again, and a function that replaces the dead between runs."""
    from distributed import Client, LocalCluster

    workers: list[subprocess.Popen[bytes]] = []
    cluster = LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50)
    with cluster, Client(cluster, set_as_default=False) as client:
        words = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]

        def replace_the_dead() -> None:
            workers[:] = [worker for worker in workers if worker.poll() is None]
            while len(workers) < 3:
                options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
                workers.append(subprocess.Popen([*words, *options], stderr=subprocess.DEVNULL))
            _wait_for_workers(client, 3)

        try:
            yield client, replace_the_dead
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


Cluster = Callable[[], contextlib.AbstractContextManager[tuple[Any, Callable[[], None]]]]


def _checked(cluster: Cluster, trouble: Kill, told: str) -> Check:
    def check(times: int, seed: int) -> tuple[int, str]:
        rng, struck, runs, longest = np.random.default_rng(seed), 0, 0, 0.0
        with warnings.catch_warnings(), cluster() as (client, restore):
            warnings.simplefilter("ignore", UserWarning)
            restore()
            _timed(client)  # workers import what they need
            expected, undisturbed = _timed(client)
            while struck < times:
                restore()
                workers = list(client.run(os.getpid, on_error="ignore").values())
                chosen = rng.choice(workers, min(int(rng.integers(1, 3)), len(workers), times - struck), replace=False)
                moments = {int(worker): float(rng.uniform(0.0, undisturbed)) for worker in chosen}
                bits, seconds, count = _troubled(client, trouble, moments)
                assert bits == expected, "other bits"
                _check_nothing_is_left(client)
                runs, struck, longest = runs + 1, struck + count, max(longest, seconds)
        seen = f"{told} during {runs} runs, all with the same bits, nothing left on client and workers"
        return struck, f"{seen}; undisturbed {undisturbed:.1f} s, the longest {longest:.1f} s"

    return check


CLUSTER: dict[str, Check] = {
    "killed": _checked(_with_nannies, _kill, "killed"),
    "killed without nannies": _checked(_without_nannies, _kill, "killed"),
    "slow": _checked(_with_nannies, _stand_still, f"stopped for {SLOW:.0f} s"),
}

if __name__ == "__main__":
    answer(CLUSTER)
