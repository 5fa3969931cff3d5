"""What the scaling benchmark measured: rows on disk, tables, exponents."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks._machine import machine

__all__ = ["Row", "exponents", "markdown", "read_rows", "write_rows"]

STEPS = ("graph", "solve", "fit", "predict", "refit")


@dataclass(frozen=True)
class Row:
    """One size. Pairs are seconds of the clock and of the processor."""

    family: str  # patches or digits
    n: int
    features: int
    graph: list[float]
    solve: list[float]  # the restriction, set-up included
    setup_cpu: float  # the same on a cluster: what the client does before its workers begin
    column_cpu: float  # and what a worker does for one landmark, p solves
    graph_memory: float  # GB beyond the data
    system_memory: float  # GB beyond data and graph
    edges: float
    sent: int  # bytes for each worker
    fit: list[float]
    predict: list[float]
    refit: list[float]  # one label more, and the classes of all rows
    memory: float  # GB of fit beyond the data
    error: float  # % on new points

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells rows apart."""
        return self.family, self.n, self.features


def read_rows(path: Path) -> list[Row]:
    """Return the rows of earlier runs."""
    return [Row(**row) for row in json.loads(path.read_text())] if path.exists() else []


def write_rows(rows: list[Row], path: Path) -> None:
    """Keep all rows."""
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def exponents(rows: list[Row]) -> dict[str, float]:
    """Return the slope of each step's processor seconds against n, both in logarithms."""
    n = np.log([row.n for row in rows])
    return {step: float(np.polyfit(n, np.log([getattr(row, step)[1] for row in rows]), 1)[0]) for step in STEPS[:3]}


def markdown(rows: list[Row], digits: list[str], new: int) -> str:
    """Return the tables and the exponents."""
    lines = [
        f"Machine: {machine('numpy', 'numba', 'scikit-learn')}. Seconds of the clock (of the processor).",
        "",
        f"| data | n | features | graph | solve | fit | predict {new:,} | refit | memory GB | error % |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        times = " | ".join("{:.2f} ({:.2f})".format(*getattr(row, step)) for step in STEPS)
        lines.append(f"| {row.family} | {row.n:,} | {row.features} | {times} | {row.memory:.2f} | {row.error:.2f} |")
    for family, features in dict.fromkeys((row.family, row.features) for row in rows):
        alike = [row for row in rows if (row.family, row.features) == (family, features)]
        if len(alike) > 1:
            slopes = ", ".join(f"{step} {slope:.2f}" for step, slope in exponents(alike).items())
            lines += ["", f"Exponents of {family}, {features} features: {slopes}."]
    return "\n".join([*lines, "", *digits, ""])
