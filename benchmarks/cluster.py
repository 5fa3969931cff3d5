"""Dask: solves, graphs and predictions by two processes of one thread against one such process, and against threads.

Run ``python -m benchmarks.cluster [--rows N] [--predicted N]``. The smallest of three times of everything, in turn, on
clusters on this machine. Points of ten curved patches in 32 dimensions (k = 10, p = 2, 500 landmarks). The exit code
is 1 where a claim fails.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from benchmarks._machine import machine
from benchmarks._scaling_data import curved_patches
from halfmoon import LapRLSClassifier, distributed, restrict, select_landmarks
from halfmoon.exceptions import DisconnectedGraphWarning
from halfmoon.graph import knn_graph
from halfmoon.regularizers import PowerRegularizer

WORKERS = 1, 2
LEAST_SPEEDUP = 1.6  # of two processes over one
MOST_OVERHEAD = 1.25  # of two processes over two threads, in the solve
REPEATS = 3
K, LANDMARKS, LABELS, FITTED, CHUNK = 10, 500, 100, 20_000, 20_000


@dataclass(frozen=True)
class Work:
    """Something to time inside `distributed(client)`: a function of what was laid ready on a cluster."""

    name: str
    run: Callable[[Any], Any]
    prepare: Callable[[], Any] = lambda: None
    beside_threads: bool = False


def works(rows: int, predicted: int) -> list[Work]:
    """Return what is timed."""
    X, y = curved_patches(rows, seed=0)
    Q = PowerRegularizer(knn_graph(X, n_neighbors=K, random_state=0), power=2, ridge=1e-2)
    S = select_landmarks(X, LANDMARKS, random_state=0)
    few = np.where(np.arange(FITTED) < LABELS, y[:FITTED], -1)
    model = LapRLSClassifier(n_neighbors=K, n_landmarks=LANDMARKS, random_state=0).fit(X[:FITTED], few)
    copies = -(-predicted // rows)

    def on_workers() -> Any:
        return da.concatenate([da.from_array(X, chunks=(CHUNK, -1))] * copies)[:predicted].persist()

    return [
        # max_memory=1: landmark rows alone are kept (streamed), as on a cluster
        Work("solve", lambda _: restrict(Q, S, solver="approx_cholesky", max_memory=1), beside_threads=True),
        Work("graph", lambda _: knn_graph(X, n_neighbors=K, method="approximate", random_state=0)),
        Work("predict", lambda new: model.predict(new).compute(), on_workers),
    ]


def measured(tasks: list[Work]) -> dict[tuple[str, int], float]:
    """Return the smallest seconds by name and number of processes; 0 processes: the threads of this one."""
    seconds: dict[tuple[str, int], float] = {}
    with ExitStack() as stack:
        clients: dict[int, Client | None] = {0: None}
        for count in WORKERS:
            cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
            clients[count] = stack.enter_context(Client(stack.enter_context(cluster), set_as_default=False))
        for repeat in range(REPEATS + 1):  # the first compiles
            for work in tasks:
                for count, client in clients.items():
                    if client is None and not work.beside_threads:
                        continue
                    elapsed = timed(work, client)
                    print(f"{work.name}, {count} processes: {elapsed:.2f} s", flush=True)
                    if repeat:
                        seconds[work.name, count] = min(elapsed, seconds.get((work.name, count), np.inf))
    return seconds


def timed(work: Work, client: Client | None) -> float:
    """Return the seconds of one run on a cluster, or on threads."""
    with ExitStack() as stack:
        if client is not None:
            stack.enter_context(client.as_current())
            stack.enter_context(distributed(client))
        ready = work.prepare()
        if client is not None:
            wait(ready)
        start = time.perf_counter()
        work.run(ready)
        return time.perf_counter() - start


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="of the graph and the solve")
    parser.add_argument("--predicted", type=int, default=1_000_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    tasks = works(options.rows, options.predicted)
    seconds = measured(tasks)
    print(f"Machine: {machine('numpy', 'numba', 'dask', 'distributed')}; {options.rows:,} rows.\n")
    print("| | 1 process s | 2 processes s | speed | 2 threads s |\n|---|---|---|---|---|")
    holds = True
    for work in tasks:
        one, two, threads = (seconds.get((work.name, count), np.nan) for count in (*WORKERS, 0))
        print(f"| {work.name} | {one:.2f} | {two:.2f} | {one / two:.2f} | {threads:.2f} |")
        holds &= one / two >= LEAST_SPEEDUP and not two / threads > MOST_OVERHEAD
    sys.exit(not holds)


if __name__ == "__main__":
    main()
