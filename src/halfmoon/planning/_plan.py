"""From sizes to a plan. A machine that leads (Dask's client) builds graph and factor; workers solve tiles of landmarks.

Time: the leader's stages one after the other, the system through the network, and rounds of tiles on all threads.
Memory: the bounds of `fit_memory`, and on workers the arrays that they are sent and work in. Traffic: the system that
is sent for every call, and the columns that come back. The runs behind the costs had k = 10, p = 2, 100 labels
and ten classes, and plans are for the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from numbers import Real
from typing import SupportsInt

from halfmoon.planning._costs import Costs, measured_costs
from halfmoon.planning._memory import TILE, WORKSPACE, FitSize, fit_memory, leader_memory

__all__ = ["Plan", "Step", "plan"]

NEIGHBORS, POWER = 10, 2  # of the measured runs, as the next three
LABELS, FUNCTIONS = 100, 11  # ten decision functions and the sizes
LABELED_LANDMARKS = 80  # of the labels, if there are as many landmarks
GRAPH_ENTRY = 12  # bytes of an entry of the graph as CSR: float64 and int32
FACTOR_ENTRY = 2 * 8  # bytes: float32 and uint32, stored by rows and by columns
SYSTEM_ROW = 80  # bytes per row of what workers are sent, but for the entries of graph (4 each) and factor
HOPS = 2  # from the leader through the scheduler to the first worker
MOST = 10**15  # of anything: what is computed from it stays within float64


@dataclass(frozen=True)
class Step:
    """A part of the run.

    Attributes
    ----------
    name : str
        What is done.
    where : {"leader", "network", "workers"}
        Who is busy.
    seconds : float
        By the clock.
    """

    name: str
    where: str
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a fit is going to cost; `str()` of it is the text of ``halfmoon plan``.

    Attributes
    ----------
    rows, features, landmarks, workers, threads : int
        What was asked for; threads are those of each machine.
    gigabits : float
        Of the network, per second and machine.
    steps : tuple of Step
        In their order.
    leader_bytes, worker_bytes : int
        The most that is held at one time, rows included, by the leader and by each worker. One machine is both, and
        its memory is that of the leader.
    stored_bytes : int
        What one machine holds besides, if half of its free memory has room for it: the columns of all landmarks, which
        halve the solves. 0 on a cluster.
    sent_bytes, returned_bytes : int
        Traffic of all workers together.
    problems : tuple of str
        What this version cannot do at this size, and what to do about it.
    measured_rows : int
        Rows of the largest run that the plan rests on.
    """

    rows: int
    features: int
    landmarks: int
    workers: int
    threads: int
    gigabits: float
    steps: tuple[Step, ...]
    leader_bytes: int
    worker_bytes: int
    stored_bytes: int
    sent_bytes: int
    returned_bytes: int
    problems: tuple[str, ...]
    measured_rows: int

    @property
    def seconds(self) -> float:
        """Of the whole fit, by the clock."""
        return sum(step.seconds for step in self.steps)

    @property
    def summary(self) -> str:
        """Time and memory in one line."""
        memory = _size(self.leader_bytes)
        return f"About {_time(self.seconds)}, {f'at most {memory}' if self.workers == 1 else f'{memory} on the leader'}"

    def __str__(self) -> str:
        one = self.workers == 1
        lines = [
            f"{self.rows:,} rows x {self.features} features, {self.landmarks:,} landmarks, "
            + (f"one machine, {self.threads} threads" if one else f"{self.workers} workers x {self.threads} threads"),
            "",
            *(
                f"{step.name:<30} {_time(step.seconds):>10}   {'' if one else step.where}".rstrip()
                for step in self.steps
            ),
            f"{'in all, about':<30} {_time(self.seconds):>10}",
            "",
            f"{'memory, at most' if one else 'memory of the leader':<30} {_size(self.leader_bytes):>10}",
        ]
        if one:
            lines.append(f"{'and for speed, if it is free':<30} {_size(self.stored_bytes):>10}")
        else:
            lines += [
                f"{'memory of each worker':<30} {_size(self.worker_bytes):>10}",
                f"{'sent to the workers':<30} {_size(self.sent_bytes):>10}",
                f"{'returned':<30} {_size(self.returned_bytes):>10}",
            ]
        lines += ["", *(f"! {problem}" for problem in self.problems), _source(self)]
        return "\n".join(lines)


def plan(
    rows: SupportsInt,
    features: SupportsInt,
    landmarks: SupportsInt = 500,
    workers: SupportsInt = 1,
    *,
    threads: SupportsInt = 2,
    gigabits: float = 10.0,
) -> Plan:
    """Return time, memory and traffic of a fit, before it is begun.

    Seconds come from runs on one machine (``python -m benchmarks.scaling``), which had ten neighbours, p = 2, 100
    labels and ten classes. Memory is the upper bound that `max_memory` of the estimators goes by, with the rows;
    traffic and what workers hold are counted array by array. What lies beyond the measured sizes, and everything on
    more than one machine, is arithmetic: see the page "Scaling" of the documentation.

    Parameters
    ----------
    rows, features : int
        Size of the data, in float32. Whole floats as 1e8 are accepted. There are plans from 16,000 rows on, the
        smallest measured run; below, a fit takes seconds.
    landmarks : int, default=500
        Columns to solve for.
    workers : int, default=1
        Machines that solve, besides the one that leads; 1 means one machine that does everything.
    threads : int, default=2
        Of each machine.
    gigabits : float, default=10
        Of the network, per second and machine.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from halfmoon.planning import plan
    >>> small, large = plan(1e6, 32), plan(1e8, 128, landmarks=1000, workers=20)
    >>> small.seconds < large.seconds
    True
    >>> [step.where for step in large.steps]
    ['leader', 'leader', 'network', 'workers', 'leader']
    """
    costs = measured_costs()
    n, d = _whole("rows", rows, low=costs.smallest), _whole("features", features)
    m = _whole("landmarks", landmarks)
    w, t = _whole("workers", workers), _whole("threads", threads)
    if m > n:
        raise ValueError(f"There are {m:,} landmarks for {n:,} rows. Landmarks are rows: ask for at most {n:,}.")
    if not (isinstance(gigabits, Real) and isfinite(gigabits) and gigabits > 0):
        raise ValueError(f"'gigabits' must be a positive number. Got {gigabits!r}. A common network has 10.")
    sent, returned = (0, 0) if w == 1 else _traffic(costs, n, d, m)
    size = FitSize(rows=n, features=d, neighbors=NEIGHBORS, landmarks=m, power=POWER, columns=LABELS, threads=t)
    memory = fit_memory(size) if w == 1 else leader_memory(size)
    return Plan(
        rows=n,
        features=d,
        landmarks=m,
        workers=w,
        threads=t,
        gigabits=gigabits,
        steps=_steps(costs, n, d, m, w, t, (sent * _hops(w) + returned) * 8e-9 / gigabits),
        leader_bytes=4 * n * d + memory.peak_without_columns,
        worker_bytes=_bytes_of("system", costs, n, d) + 8 * n * _columns_in_one_call(m) + t * WORKSPACE * n,
        stored_bytes=memory.columns,
        sent_bytes=w * sent,
        returned_bytes=returned,
        problems=_problems(costs, n, d),
        measured_rows=costs.largest,
    )


def _steps(costs: Costs, n: int, d: int, m: int, w: int, t: int, travel: float) -> tuple[Step, ...]:
    """Return the steps with their seconds: the search and the solves use all threads, the factor one.

    A column costs `POWER` solves where its landmark rows alone are kept. One machine keeps whole columns: half of them.
    """
    chain = POWER if w > 1 else ceil(POWER / 2)
    rounds = ceil(ceil(m / TILE) / (w * t))
    steps = [
        Step("graph", "leader", costs.stages["graph"].of(n, d) / t),
        Step("order and factor", "leader", costs.stages["setup"].of(n, d)),
        Step("system and results", "network", travel),
        Step(
            f"solves, {rounds} {'round' if rounds == 1 else 'rounds'} of tiles",
            "workers",
            rounds * TILE * costs.stages["column"].of(n, d) * chain / POWER,
        ),
        Step("labelled rows, decision", "leader", costs.stages["rest"].of(n, d)),
    ]
    return tuple(step for step in steps if w > 1 or step.where != "network")


def _traffic(costs: Costs, n: int, d: int, m: int) -> tuple[int, int]:
    """Return the bytes that each worker is sent, and those that all return.

    One call solves for the landmarks, p calls for the labelled rows off the landmarks and p for the decision values of
    the classes and the sizes. Every call sends the system; all but the first send right-hand sides and return columns,
    in float64.
    """
    columns = 8 * n * POWER * (_labels_off_landmarks(m) + FUNCTIONS)
    system = _bytes_of("system", costs, n, d)
    return (1 + 2 * POWER) * system + columns, columns + 8 * m**2


def _columns_in_one_call(m: int) -> int:
    return max(_labels_off_landmarks(m), FUNCTIONS)


def _labels_off_landmarks(m: int) -> int:
    return LABELS - min(m, LABELED_LANDMARKS)


def _hops(w: int) -> int:
    """Return how often the system passes through a network card, one after the other, until every worker has it.

    The first worker sends it to all others: they ask at the same time, when nobody else has it.
    """
    return HOPS + w - 1


def _problems(costs: Costs, n: int, d: int) -> tuple[str, ...]:
    """Return what this version cannot count: half-edges in int32, places in the factor in uint32."""
    entries = _bytes_of("edges", costs, n, d) / GRAPH_ENTRY
    factor = (_bytes_of("system", costs, n, d) - SYSTEM_ROW * n - 4 * entries) / FACTOR_ENTRY
    excess = max(entries / 2**31, factor / 2**32)
    if excess < 1.0:
        return ()
    return (
        f"the graph has {entries:.2g} entries and its factor {factor:.2g}, which are counted in 31 and 32 bits: "
        f"enough for about {n / excess:.2g} rows. Cut the rows into parts (docs, page Scaling).",
    )


def _bytes_of(stage: str, costs: Costs, n: int, d: int) -> int:
    return round(costs.stages[stage].of(n, d))


def _whole(name: str, value: SupportsInt, *, low: int = 1) -> int:
    """Return a number of things, or say what is wrong with it."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != value or number < low:
        advice = "Write it as 1000000 or 1e6." if number is None or number != value else "Smaller data need no plan."
        shown = number if number is not None and number == value else repr(value)
        raise ValueError(f"'{name}' must be a whole number of at least {low:,}. Got {shown}. {advice}")
    if number > MOST:
        raise ValueError(f"'{name}' may be {MOST:,} at most. Got {value!r}.")
    return number


def _source(plan: Plan) -> str:
    beyond = plan.rows / plan.measured_rows
    scale = f", {beyond:.0f} times fewer rows" if beyond >= 2 else ""
    cluster = "" if plan.workers == 1 else "; more than one machine was not measured"
    runs = f"From runs on 2 cores of up to {plan.measured_rows:,} rows{scale}{cluster}"
    return f"{runs}. The documentation, page Scaling, says how far runs lay from these times."


def _time(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def _size(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e6:.1f} MB"
