"""Dask: solves, graphs and predictions by two processes of one thread against one such process, and against threads.

Run ``python -m benchmarks.cluster [--rows N] [--predicted N] [--repeats 3] [--only PART]``. The smallest of some times
of everything, in turn, on clusters on this machine, one at a time: the processes of an idle one take a tenth of a core.
Points of ten curved patches in 32 dimensions (k = 10, p = 2, 500 landmarks). The exit code is 1 where a claim fails.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
from halfmoon.runtime.lanes import WIDTH

WORKERS = 1, 2
LEAST_SPEEDUP = 1.6  # of two processes over one
MOST_OVERHEAD = 1.25  # of two processes over two threads, in the solve
K, LANDMARKS, LABELS, FITTED, CHUNK = 10, 500, 100, 20_000, 20_000
LITTLE = 2 * CHUNK  # rows from which workers learn all that they need to compile


@dataclass(frozen=True)
class Work:
    """Something to time inside `distributed(client)`: a function of a share of the problem, laid ready on a cluster."""

    name: str
    run: Callable[[Any], Any]
    prepare: Callable[[bool], Any]  # of whether a little will do
    beside_threads: bool = False


def works(rows: int, predicted: int) -> list[Work]:
    """Return what is timed."""
    X, y = curved_patches(rows, seed=0)
    Q = PowerRegularizer(knn_graph(X, n_neighbors=K, random_state=0), power=2, ridge=1e-2)
    S = select_landmarks(X, LANDMARKS, random_state=0)
    few = np.where(np.arange(FITTED) < LABELS, y[:FITTED], -1)
    model = LapRLSClassifier(n_neighbors=K, n_landmarks=LANDMARKS, random_state=0).fit(X[:FITTED], few)
    copies = -(-predicted // rows)

    def chunks(little: bool) -> Any:
        whole = da.concatenate([da.from_array(X, chunks=(CHUNK, -1))] * copies)
        return whole[: LITTLE if little else predicted].persist()

    return [
        # max_memory=1: landmark rows alone are kept (streamed), as on a cluster
        Work(
            "solve",
            lambda landmarks: restrict(Q, landmarks, solver="approx_cholesky", max_memory=1),
            lambda little: S[: 2 * WIDTH] if little else S,
            beside_threads=True,
        ),
        Work(
            "graph",
            lambda points: knn_graph(points, n_neighbors=K, method="approximate", random_state=0),
            lambda little: X[:LITTLE] if little else X,
        ),
        Work("predict", lambda new: model.predict(new).compute(), chunks),
    ]


def measured(tasks: list[Work], repeats: int) -> dict[tuple[str, int], float]:
    """Return the smallest seconds by name and number of processes; 0 processes: the threads of this one."""
    seconds: dict[tuple[str, int], float] = {}
    for _ in range(repeats):
        for count in (0, *WORKERS):
            with cluster_of(count) as client:
                for work in tasks:
                    if client is None and not work.beside_threads:
                        continue
                    timed(work, client, little=True)  # compiles
                    elapsed = timed(work, client)
                    print(f"{work.name}, {count} processes: {elapsed:.2f} s", flush=True)
                    seconds[work.name, count] = min(elapsed, seconds.get((work.name, count), np.inf))
    return seconds


@contextmanager
def cluster_of(count: int) -> Iterator[Client | None]:
    """Yield a client of so many processes of one thread, or None for none."""
    if count == 0:
        yield None
        return
    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def timed(work: Work, client: Client | None, *, little: bool = False) -> float:
    """Return the seconds of one run on a cluster, or on threads."""
    with ExitStack() as stack:
        if client is not None:
            stack.enter_context(client.as_current())
            stack.enter_context(distributed(client))
        ready = work.prepare(little)
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
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("solve", "graph", "predict"), help="time this alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DisconnectedGraphWarning)
    tasks = [work for work in works(options.rows, options.predicted) if options.only in (None, work.name)]
    seconds = measured(tasks, options.repeats)
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
