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
    graph: list[float] | None = None  # None: the stages were not measured
    setup_cpu: float = 0.0  # of the restriction on a cluster: what the client does before its workers begin
    column_cpu: float = 0.0  # and what a worker does for one landmark, p solves
    edges: float = 0.0
    sent: int = 0  # bytes for each worker
    solve: list[float] | None = None  # the restriction on this machine, set-up included; None: not measured
    fit: list[float] | None = None
    predict: list[float] | None = None
    refit: list[float] | None = None  # one label more, and the classes of all rows
    memory: float | None = None  # GB of fit beyond the data
    error: float | None = None  # % on new points

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
    slopes = {}
    for step in STEPS[:3]:
        points = np.log([(row.n, getattr(row, step)[1]) for row in rows if getattr(row, step)])
        if len(points) > 1:
            slopes[step] = float(np.polyfit(*points.T, 1)[0])
    return slopes


def markdown(rows: list[Row], digits: list[str], new: int) -> str:
    """Return the tables and the exponents."""
    lines = [
        f"Machine: {machine('numpy', 'numba', 'scikit-learn')}. Seconds of the clock (of the processor).",
        "",
        f"| data | n | features | graph | solve | fit | predict {new:,} | refit | memory GB | error % |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        times = [getattr(row, step) for step in STEPS]
        cells = [
            row.family,
            f"{row.n:,}",
            row.features,
            *("" if t is None else f"{t[0]:.2f} ({t[1]:.2f})" for t in times),
        ]
        cells += ["" if value is None else f"{value:.2f}" for value in (row.memory, row.error)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for family, features in dict.fromkeys((row.family, row.features) for row in rows):
        alike = [row for row in rows if (row.family, row.features) == (family, features)]
        if len(alike) > 1:
            slopes = ", ".join(f"{step} {slope:.2f}" for step, slope in exponents(alike).items())
            lines += ["", f"Exponents of {family}, {features} features: {slopes}."]
    return "\n".join([*lines, "", *digits, ""])
