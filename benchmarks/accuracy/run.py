"""Run methods on draws: a worker per environment, a limit of time per fit, results stored one by one."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.data import SETS
from benchmarks.accuracy.draws import LABELS, Draw, draw
from benchmarks.accuracy.problem import Method, read_arrays
from benchmarks.accuracy.store import Result, Store

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 20.0  # real seconds per second of the limit, which is one of processor time, before a worker is given up


class TookTooLong(Exception):
    """A worker was ended: its task took more time than the limit."""


class WorkerEnded(Exception):
    """A worker was ended because the run is over."""


@dataclass
class Worker:
    """A process that solves problems with the methods of a table; it is started when needed, and again if it died."""

    python: str
    table: str
    process: Any = field(default=None, init=False)
    is_over: bool = field(default=False, init=False)
    asking: Any = field(default_factory=threading.Lock, init=False)

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a task."""
        seconds = PATIENCE * task["limit"]
        with self.asking:
            if self.is_over:
                raise WorkerEnded
            if self.process is None:
                self._start(seconds)
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
            return self._reply(seconds)

    def end(self) -> None:
        """End the process for good; what it was doing is no result."""
        self.is_over = True
        process = self.process
        if process is not None:
            process.kill()  # whoever waits for it stops waiting
        with self.asking:
            self._close()

    def _close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def _start(self, seconds: float) -> None:
        command = [self.python, "-m", "benchmarks.accuracy.worker", self.table]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent, which ends it
        )
        if "failed" in self._reply(seconds):
            raise RuntimeError(f"{' '.join(command)} does not start: run it by hand in {ROOT} to see why.")

    def _reply(self, seconds: float) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            is_ready = selector.select(seconds)
        line = self.process.stdout.readline() if is_ready else ""
        if line:
            return json.loads(line)
        status = self.process.wait() if is_ready else -signal.SIGXCPU
        self._close()
        if self.is_over:
            raise WorkerEnded
        if status == -signal.SIGXCPU:
            raise TookTooLong
        return {"failed": f"the process ended with status {status}"}


@dataclass(frozen=True)
class Plan:
    """What is to be measured.

    Attributes
    ----------
    sets : sequence of str
        Names of data sets.
    methods : dict of Method to Worker
        Methods and who runs them.
    labels : sequence of int
        Labels per class.
    draws : int
        Draws at most; a data set may have fewer.
    seed : int
        Seed of all draws.
    tuned : bool
        Whether methods are tuned.
    limit : float
        Seconds of processor time that a fit may take.
    budget : float
        Seconds that the fits of a method may take on a set: no further draw is begun then.
    folder : Path or None
        Where letter.npz and mnist.npz lie.
    """

    sets: Sequence[str]
    methods: dict[Method, Worker]
    labels: Sequence[int] = LABELS
    draws: int = 10
    seed: int = 0
    tuned: bool = False
    limit: float = 60.0
    budget: float = 200.0
    folder: Path | None = None

    def key(self, name: str, row: str, labels: int, number: int) -> Any:
        """Return the key of a measurement."""
        return name, row, labels, number, self.tuned, self.seed


def run(plan: Plan, store: Store) -> Iterator[Result]:
    """Measure what the store does not have yet, and yield it."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in plan.sets:
            for number in range(min(plan.draws, SETS[name].draws)):
                for results in _run_draw(plan, store, name, number, Path(scratch)):
                    store.add(results)
                    yield from results


def _run_draw(plan: Plan, store: Store, name: str, number: int, scratch: Path) -> Iterator[list[Result]]:
    """Yield the results of one draw that are missing, a list per fit."""
    done = store.read()
    here = [r for r in done.values() if (r.set, r.tuned, r.seed) == (name, plan.tuned, plan.seed)]
    missing = [
        (method, labels)
        for method in plan.methods
        for labels in plan.labels
        if plan.key(name, method.rows[0], labels, number) not in done and spent(here, method, number) < plan.budget
    ]
    if not missing:
        return
    drawn = draw(name, SETS[name], plan.folder, plan.seed, number)
    slow = {r.method for r in here if _is_slow(r)}
    problem = scratch / "problem.npz"
    drawn.write(problem, with_graph=any(plan.methods[method].table == "peers" for method, _ in missing))
    for method, labels in missing:
        if not drawn.allows(labels):
            continue
        keys = [plan.key(name, row, labels, number) for row in method.rows]
        reason = method.refuses(drawn.n_classes, len(drawn.y))
        if method.rows[0] in slow:
            reason = too_slow(plan.limit)
        if reason is None:
            task = {"problem": str(problem), "answer": str(scratch / "answer.npz"), "method": method.name}
            task |= {"labels": labels, "seed": drawn.seed, "tuned": plan.tuned, "limit": plan.limit}
            results = _measure(plan, method, drawn, task, keys)
        else:
            results = [Result(*key, reason=reason) for key in keys]
        slow |= {result.method for result in results if _is_slow(result)}
        yield results


def _measure(plan: Plan, method: Method, drawn: Draw, task: dict[str, Any], keys: list[Any]) -> list[Result]:
    """Let a worker fit a method, and return the errors of its rows."""
    try:
        reply = plan.methods[method].ask(task)
    except TookTooLong:
        return [Result(*key, reason=too_slow(plan.limit)) for key in keys]
    if "failed" in reply:
        return [Result(*key, reason=f"failed: {reply['failed'][:200]}") for key in keys]
    found = read_arrays(Path(task["answer"]))
    os.remove(task["answer"])
    rest = drawn.few(task["labels"]) < 0
    return [
        Result(
            *key,
            train=_percent(found[f"train{suffix}"][rest] != drawn.y[rest]),
            new=_percent(found[f"new{suffix}"] != drawn.y_new) if f"new{suffix}" in found else None,
            fit=round(reply["fit"], 3),
            predict=round(reply["predict"], 3),
        )
        for key, suffix in zip(keys, method.suffixes, strict=True)
    ]


def spent(results: Iterable[Result], method: Method, number: int) -> float:
    """Return the seconds that the fits of a method took on the draws before one."""
    return sum(r.fit for r in results if r.method == method.rows[0] and r.draw < number and r.fit is not None)


def too_slow(limit: float) -> str:
    """Return what stands in place of an error after a fit that was ended."""
    return f"not run (> {limit:.0f} s)"


def _is_slow(result: Result) -> bool:
    return result.reason is not None and result.reason.startswith("not run (> ")


def _percent(wrong: np.ndarray) -> float:
    return round(100.0 * float(np.mean(wrong)), 4)
