"""Faults: kills, workers that die, full disks, files that cannot be read, errors at every call, forks and threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from reliability.alone import alone
from reliability.faults_disk import on_a_disk
from reliability.faults_injected import run_injections
from reliability.faults_processes import PROCESSES

__all__ = ["FAULTS", "Fault", "run_fault"]

ALL = 10**9  # moments: every one


class Fault(NamedTuple):
    """A kind of fault, and how many of it each profile asks for; what the short one leaves out takes processes."""

    run: Callable[[int, int], tuple[int, str]]  # an amount and a seed -> how many there were, what happened
    short: int
    quick: int
    long: int


def run_fault(name: str, profile: str, seed: int) -> tuple[int, str]:
    """Bring a fault about; return how often it was and what was seen. What must not happen raises."""
    fault = FAULTS[name]
    return fault.run({"short": fault.short, "quick": fault.quick}.get(profile, fault.long), seed)


def _killed(name: str) -> Callable[[int, int], tuple[int, str]]:
    return partial(alone, "reliability.faults_kills", name)


def _on_cluster(name: str) -> Callable[[int, int], tuple[int, str]]:
    return partial(alone, "reliability.faults_cluster", name)


def _injected(fit: str, *kinds: str) -> Callable[[int, int], tuple[int, str]]:
    return partial(run_injections, fit, kinds)


FAULTS: dict[str, Fault] = {
    "kill -9 of a fit with a checkpoint": Fault(_killed("fit"), 1, 10, 100),
    "kill -9 of save and load": Fault(_killed("save"), 1, 10, 100),
    "kill -9 of halfmoon reproduce": Fault(_killed("reproduce"), 0, 5, 100),
    "kill -9 of halfmoon reproduce with two processes": Fault(_killed("reproduce in processes"), 0, 1, 3),
    "kill -9 of the labeller's server while labels are sent": Fault(_killed("labeller"), 0, 5, 100),
    "kill -9 of workers of a Dask cluster": Fault(_on_cluster("killed"), 2, 5, 20),
    "kill -9 of workers of a Dask cluster without nannies": Fault(_on_cluster("killed without nannies"), 0, 5, 20),
    "slow worker of a Dask cluster": Fault(_on_cluster("slow"), 0, 1, 5),
    "full disk": Fault(partial(on_a_disk, "full"), 0, 5, 40),
    "read-only disk": Fault(partial(on_a_disk, "read-only"), 0, 2, 10),
    "files that are cut short": Fault(partial(alone, "reliability.faults_reads", "cut"), 2, 20, 300),
    "errors while files are read": Fault(partial(alone, "reliability.faults_reads", "error"), 2, 20, 300),
    "MemoryError and KeyboardInterrupt at calls in a fit of LapSVC": Fault(_injected("LapSVC", "call"), 12, 200, ALL),
    "MemoryError and KeyboardInterrupt at calls in a fit of LapRLSRegressor with a checkpoint": Fault(
        _injected("LapRLSRegressor with a checkpoint", "call"), 0, 100, ALL
    ),
    "MemoryError and KeyboardInterrupt at calls in a fit of KernelKMeans": Fault(
        _injected("KernelKMeans", "call"), 0, 100, ALL
    ),
    "MemoryError and KeyboardInterrupt at calls in a fit of KernelSearchCV": Fault(
        _injected("KernelSearchCV", "call"), 0, 100, 2_000
    ),
    "MemoryError and KeyboardInterrupt where tasks of a fit of LapSVC begin and end": Fault(
        _injected("LapSVC", "task begins", "task ends"), 0, 40, ALL
    ),
    **{
        f"fits in {name}": Fault(
            partial(alone, "reliability.faults_processes", name), 4 if name == "threads" else 0, 8, 200
        )
        for name in PROCESSES
    },
}
