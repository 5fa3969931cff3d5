"""The programme: all parts in one run, each a list of lines that say what was tried, how often and what happened."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reliability import hostile
from reliability.batches import run_cases
from reliability.differential import DIFFERENTIAL, run_differential
from reliability.faults import FAULTS, run_fault
from reliability.judge import GOOD, Verdict
from reliability.load import LOADS, run_load
from reliability.properties import PROPERTIES, run_property
from reliability.security import SECURITY, run_security

__all__ = ["PARTS", "Line", "Scale", "run_part"]


@dataclass(frozen=True)
class Scale:
    """How much of everything a profile asks for; `minutes` is for the hostile inputs."""

    profile: str
    rounds: int  # of all hostile cases
    minutes: float
    seeds: int  # per comparison
    jobs: int = 2


@dataclass
class Line:
    """One line of the report."""

    part: str
    what: str
    times: int
    seed: int
    result: str
    failures: list[str] = field(default_factory=list)


SHOWN = 20  # failures of a line


def _hostile(scale: Scale, seed: int) -> Iterator[Line]:
    rng = np.random.default_rng(seed)
    cases = [case for _ in range(scale.rounds) for case in _shuffled(rng)]
    found: dict[str, Counter[str]] = defaultdict(Counter)
    failures: dict[str, list[str]] = defaultdict(list)
    stop = time.monotonic() + 60.0 * scale.minutes
    for case, verdict in run_cases(cases, hostile.try_case, jobs=scale.jobs, stop=stop):
        line = f"{case.kind}: {case.table}"
        found[line][verdict.status] += 1
        if verdict.failed:
            failures[line].append(f"{case}: {verdict.status}: {verdict.message}")
    for line, statuses in sorted(found.items()):
        kind, _, table = line.partition(": ")
        calls, inputs = hostile.KINDS[kind]
        n_calls = sum(table in tables for tables, _ in calls.values())
        what = f"{line}: {len(inputs[table])} inputs at {n_calls} entry points"
        told = ", ".join(f"{statuses[status]:,} {NAMES.get(status, status)}" for status in (*GOOD, *_bad(statuses)))
        yield Line("hostile inputs", what, statuses.total(), seed, told, failures[line])


NAMES = {
    "right": "equal to the result of plain data",
    "finite": "finite, of the right shape",
    "refused": "refused with a clear error",
}


def _bad(statuses: Counter[str]) -> list[str]:
    return sorted(status for status in statuses if status not in GOOD)


def _shuffled(rng: np.random.Generator) -> list[hostile.Case]:
    cases = list(hostile.all_cases(int(rng.integers(2**32))))
    return [cases[i] for i in rng.permutation(len(cases))]


Task = tuple[str, str, str, int, int]  # part, name, profile, seed, times


def try_task(task: Task) -> Verdict:
    """Run a property, comparison, fault, check or load; the message of a good verdict is `times: what was seen`."""
    part, name, profile, seed, times = task
    try:
        if part == "properties":
            return Verdict("right", f"{run_property(name, profile, seed)}: held")
        if part in ("load", "faults"):
            amount, seen = (run_load if part == "load" else run_fault)(name, profile, seed)
            return Verdict("right", f"{amount}: {seen}")
        run: Callable[[str, int], None] = run_differential if part == "comparisons" else run_security
        for number in range(times):
            run(name, seed + number)
        return Verdict("right", f"{times}: held")
    except BaseException as error:
        return Verdict("raw error", f"{type(error).__name__}: {error}")


def _tasks(part: str, names: Any, times: Callable[[str], int]) -> Callable[[Scale, int], Iterator[Line]]:
    def run(scale: Scale, seed: int) -> Iterator[Line]:
        tasks = [(part, name, scale.profile, seed, times(name) or scale.seeds) for name in names]
        done = run_cases(tasks, try_task, jobs=scale.jobs if part != "load" else 1, batch=1, seconds=3600.0)
        for (_, name, _, _, asked), verdict in done:
            count, _, seen = verdict.message.partition(": ")
            if verdict.failed:
                yield Line(part, name, asked, seed, "FAILED", [verdict.message])
            else:
                yield Line(part, name, int(count), seed, seen)

    return run


PARTS: dict[str, Callable[[Scale, int], Iterator[Line]]] = {
    "hostile inputs": _hostile,
    "properties": _tasks("properties", PROPERTIES, lambda name: 0),
    "comparisons": _tasks("comparisons", DIFFERENTIAL, lambda name: 0),
    "security": _tasks("security", SECURITY, lambda name: SECURITY[name][2]),
    "load": _tasks("load", LOADS, lambda name: 0),
    "faults": _tasks("faults", FAULTS, lambda name: 0),
}


def run_part(part: str, scale: Scale, seed: int) -> list[Line]:
    """Run one part."""
    return list(PARTS[part](scale, seed))
