"""Run cases in processes of their own: what hangs is ended, what dies is noticed, and the rest goes on."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from reliability.judge import Verdict

__all__ = ["run_cases"]

BATCH = 25
SECONDS = 60.0  # for a case; the first ones compile
STARTING = 600.0  # for a process to start and to import the library, on a machine that is busy
READY = "ready"
LOOK = 1.0  # seconds between looks at workers


class _Worker:
    """A process, the cases it was given and the one it is at."""

    def __init__(self, run: Callable[[Any], Verdict]) -> None:
        context = mp.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, run))  # which may have processes of its own
        self.process.start()
        theirs.close()
        self.cases: deque[Any] = deque()
        self.is_ready = False
        self.waited = 0.0  # seconds for the case it is at

    def give(self, cases: Iterable[Any]) -> None:
        self.cases.extend(cases)
        self.waited = 0.0
        self.connection.send(list(self.cases))

    def hangs(self, seconds: float) -> bool:
        """Whether there was no answer for too long; an answer that was not read yet counts."""
        limit = seconds if self.is_ready else STARTING
        return bool(self.cases) and self.waited > limit and not self.connection.poll()

    def end(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()


def run_cases(
    cases: Iterable[Any],
    run: Callable[[Any], Verdict],
    *,
    jobs: int = 2,
    stop: float = float("inf"),
    batch: int = BATCH,
    seconds: float = SECONDS,
) -> Iterator[tuple[Any, Verdict]]:
    """Yield every case with what came of it, in the order in which they end; begin none after `stop` (monotonic)."""
    todo = deque(cases)
    workers: list[_Worker] = []
    try:
        while todo or any(worker.cases for worker in workers):
            if time.monotonic() > stop:
                todo.clear()
            while todo and len(workers) < jobs:
                workers.append(_Worker(run))
            for worker in workers:
                if todo and not worker.cases:
                    worker.give(todo.popleft() for _ in range(min(batch, len(todo))))
            yield from _collect(workers, todo, seconds)
    finally:
        for worker in workers:
            worker.end()


def _collect(workers: list[_Worker], todo: deque[Any], seconds: float) -> Iterator[tuple[Any, Verdict]]:
    """Yield what has come in; replace workers that died or hang."""
    by_connection = {worker.connection: worker for worker in workers if worker.cases}
    start = time.monotonic()
    ready = wait(list(by_connection), timeout=LOOK)
    for worker in by_connection.values():  # a machine that stood still is no hang: one look counts as little
        worker.waited += min(time.monotonic() - start, 2.0 * LOOK)
    for connection in ready:
        worker = by_connection[connection]  # type: ignore[index]
        try:
            answer = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            worker.process.join()
            yield _given_up(worker, Verdict("died", f"exit code {worker.process.exitcode}"), workers, todo)
            continue
        worker.waited = 0.0
        if answer == READY:
            worker.is_ready = True
            continue
        yield worker.cases.popleft(), answer
    for worker in list(workers):
        if worker.hangs(seconds):
            yield _given_up(worker, Verdict("hang", f"no answer within {seconds:.0f} s"), workers, todo)


def _given_up(worker: _Worker, verdict: Verdict, workers: list[_Worker], todo: deque[Any]) -> tuple[Any, Verdict]:
    """Return the case that a worker was at; the rest of its batch is done by others."""
    case, *rest = worker.cases
    todo.extendleft(reversed(rest))
    worker.end()
    workers.remove(worker)
    return case, verdict


def _serve(connection: Connection, run: Callable[[Any], Verdict]) -> None:
    """Run batch after batch until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # relative paths in hostile parameters end here
        connection.send(READY)  # a case's time begins when the process has started
        while True:
            try:
                batch = connection.recv()
            except EOFError:
                return
            for case in batch:
                connection.send(run(case))
