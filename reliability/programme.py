"""The programme: parts cut into pieces of work, each tried in a process and counted in a line of the report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np

from reliability import hostile
from reliability.batches import run_cases
from reliability.differential import DIFFERENTIAL, run_differential
from reliability.faults import FAULTS, run_fault
from reliability.judge import GOOD, Verdict
from reliability.load import LOADS, run_load
from reliability.properties import PROPERTIES, run_property
from reliability.security import SECURITY, run_security

__all__ = ["PARTS", "SCALES", "Line", "Piece", "Scale", "Tally", "repeat", "run_part", "work"]


@dataclass(frozen=True)
class Scale:
    """How much of everything a profile asks for, and the minutes after which a part begins nothing more."""

    profile: str
    rounds: int  # of all hostile cases
    examples: int  # per property
    seeds: int  # per comparison
    tables: int  # of random texts
    minutes: Mapping[str, float]
    jobs: int = 2


SCALES = {
    "quick": Scale("quick", 1, 25, 20, 200, {"hostile inputs": 3.0}),
    "long": Scale("long", 2, 400, 500, 2_000, {"hostile inputs": 18.0, "properties": 8.0, "faults": 22.0}),
    "nightly": Scale("nightly", 10, 10_000, 10_000, 20_000, {"hostile inputs": 180.0}),
}
PIECE = 100  # examples or seeds that one process tries in a row
SECONDS = 3600.0  # for a piece of work; hostile inputs have a limit of their own


@dataclass
class Line:
    """One line of the report."""

    part: str
    what: str
    times: int
    seed: int
    result: str
    failures: list[str] = field(default_factory=list)


class Piece(NamedTuple):
    """Work for one process: a property, a comparison, a check, a load or a fault; the text of it repeats it."""

    part: str
    name: str
    profile: str
    seed: int
    times: int

    def __str__(self) -> str:
        return "; ".join(map(str, self))

    @classmethod
    def of(cls, text: str) -> Piece:
        """Return the piece that a report names."""
        part, name, profile, seed, times = text.split("; ")
        return cls(part, name, profile, int(seed), int(times))


class Tally:
    """What has come of the pieces of a part so far."""

    def __init__(self, part: str, seed: int, planned: int) -> None:
        self.part, self.seed, self.planned = part, seed, planned
        self.done = 0

    def add(self, case: object, verdict: Verdict) -> None:
        """Count one."""
        self.done += 1

    def lines(self) -> list[Line]:
        """Return the report of this part."""
        raise NotImplementedError


NAMES = {
    "right": "equal to the result of plain data",
    "finite": "finite, of the right shape",
    "refused": "refused with a clear error",
}


class HostileTally(Tally):
    """Counts verdicts per table of inputs."""

    def __init__(self, part: str, seed: int, planned: int) -> None:
        super().__init__(part, seed, planned)
        self.found: dict[tuple[str, str], Counter[str]] = {}
        self.failures: dict[tuple[str, str], list[str]] = {}

    def add(self, case: hostile.Case, verdict: Verdict) -> None:  # type: ignore[override]
        """Count a case."""
        super().add(case, verdict)
        key = case.kind, case.table
        self.found.setdefault(key, Counter())[verdict.status] += 1
        if verdict.failed:
            self.failures.setdefault(key, []).append(f"{case}: {verdict.status}: {verdict.message}")

    def lines(self) -> list[Line]:
        """Return a line per table."""
        return [self._line(*key) for key in sorted(self.found)]

    def _line(self, kind: str, table: str) -> Line:
        calls, inputs = hostile.KINDS[kind]
        n_calls = sum(table in tables for tables, _ in calls.values())
        what = f"{kind}: {table}: {len(inputs[table])} inputs at {n_calls} entry points"
        statuses = self.found[kind, table]
        shown = (*GOOD, *sorted(status for status in statuses if status not in GOOD))
        told = ", ".join(f"{statuses[status]:,} {NAMES.get(status, status)}" for status in shown)
        return Line(self.part, what, statuses.total(), self.seed, told, self.failures.get((kind, table), []))


class PieceTally(Tally):
    """Counts what was tried per name."""

    def __init__(self, part: str, seed: int, planned: int) -> None:
        super().__init__(part, seed, planned)
        self.by_name: dict[str, Line] = {}

    def add(self, piece: Piece, verdict: Verdict) -> None:  # type: ignore[override]
        """Count a piece; the message of a good verdict is `times: what was seen`."""
        super().add(piece, verdict)
        line = self.by_name.setdefault(piece.name, Line(self.part, piece.name, 0, self.seed, ""))
        if verdict.failed:
            line.times += piece.times
            line.result = "FAILED"
            line.failures.append(f"{piece}: {verdict.message}")
        else:
            times, _, seen = verdict.message.partition(": ")
            line.times += int(times)
            line.result = line.result or seen

    def lines(self) -> list[Line]:
        """Return a line per name."""
        return list(self.by_name.values())


def try_piece(piece: Piece) -> Verdict:
    """Run a piece of work."""
    try:
        times, seen = RUNS[piece.part](piece)
    except BaseException as error:
        return Verdict("raw error", f"{type(error).__name__}: {error}")
    return Verdict("right", f"{times}: {seen}")


def repeat(text: str) -> Verdict:
    """Try once more what a report names: a hostile case or a piece of another part."""
    if text.partition("; ")[0] in RUNS:
        return try_piece(Piece.of(text))
    return hostile.try_case(hostile.Case.of(text))


def _each_seed(run: Callable[[str, int], None]) -> Callable[[Piece], tuple[int, str]]:
    def try_all(piece: Piece) -> tuple[int, str]:
        for number in range(piece.times):
            run(piece.name, piece.seed + number)
        return piece.times, "held"

    return try_all


RUNS: dict[str, Callable[[Piece], tuple[int, str]]] = {
    "properties": lambda piece: (run_property(piece.name, piece.times, piece.seed), "held"),
    "comparisons": _each_seed(run_differential),
    "security": _each_seed(run_security),
    "load": lambda piece: run_load(piece.name, piece.profile, piece.seed),
    "faults": lambda piece: run_fault(piece.name, piece.profile, piece.seed),
}
PARTS = ("hostile inputs", *RUNS)


def _pieces(part: str, names: Collection[str], scale: Scale, seed: int, times: Callable[[str], int]) -> list[Piece]:
    """Cut the work on each name into pieces and take them in turn, so that a run cut short has tried all alike."""
    rows = [
        [
            Piece(part, name, scale.profile, seed + start, min(PIECE, times(name) - start))
            for start in range(0, times(name), PIECE)
        ]
        for name in names
    ]
    return [piece for piece in chain.from_iterable(zip_longest(*rows)) if piece is not None]


def work(part: str, scale: Scale, seed: int) -> list[Piece]:
    """Return the pieces of a part that is no product of tables."""
    if part == "properties":
        return _pieces(part, PROPERTIES, scale, seed, lambda name: scale.examples)
    if part == "comparisons":
        return _pieces(part, DIFFERENTIAL, scale, seed, lambda name: scale.seeds)
    if part == "security":
        return _pieces(part, SECURITY, scale, seed, lambda name: scale.tables if SECURITY[name].drawn else 1)
    return [Piece(part, name, scale.profile, seed, 1) for name in (LOADS if part == "load" else FAULTS)]


def _rounds(scale: Scale, seed: int) -> list[hostile.Case]:
    rng = np.random.default_rng(seed)
    rounds = [list(hostile.all_cases(int(rng.integers(2**32)))) for _ in range(scale.rounds)]
    return [cases[i] for cases in rounds for i in rng.permutation(len(cases))]


def run_part(part: str, scale: Scale, seed: int) -> Iterator[Tally]:
    """Run one part; yield its tally at the beginning and after every piece."""
    stop = time.monotonic() + 60.0 * scale.minutes.get(part, float("inf"))
    if part == "hostile inputs":
        cases = _rounds(scale, seed)
        tally: Tally = HostileTally(part, seed, len(cases))
        done = run_cases(cases, hostile.try_case, jobs=scale.jobs, stop=stop)
    else:
        pieces = work(part, scale, seed)
        tally = PieceTally(part, seed, len(pieces))
        done = run_cases(pieces, try_piece, jobs=scale.jobs, stop=stop, batch=1, seconds=SECONDS)
    yield tally
    for case, verdict in done:
        tally.add(case, verdict)
        yield tally
