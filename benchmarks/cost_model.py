"""The cost model of ``halfmoon plan``: laws of the stages, fitted to what `benchmarks.scaling` measured.

Run ``python -m benchmarks.cost_model scaling.json --command "..."`` after it. Writes the laws with their runs to
src/halfmoon/planning/costs.json, and with ``--docs docs`` the chart of docs/scaling.md; prints coefficients and
residuals. Patches are fitted; digits are other data, and show how far the laws carry.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.optimize import lsq_linear

from benchmarks._machine import machine
from benchmarks._scaling_chart import draw
from benchmarks._scaling_report import Row, read_rows
from halfmoon.planning import Stage

COSTS = Path(__file__).parents[1] / "src" / "halfmoon" / "planning" / "costs.json"
LAWS = {  # stage -> which of constant, log2 and feature its law has
    "graph": (1, 1, 1),
    "setup": (1, 1, 0),
    "column": (1, 1, 0),
    "rest": (1, 1, 0),
    "system": (1, 1, 0),
    "edges": (1, 0, 0),
}
SECONDS = ("graph", "setup", "column", "rest")


def costs_of(row: Row) -> dict[str, float]:
    """Return what each stage of a run cost, in processor seconds or bytes, as far as it was measured."""
    if row.graph is None:
        return {}
    found = {
        "graph": row.graph[1],
        "setup": row.setup_cpu,
        "column": row.column_cpu,
        "system": float(row.sent),
        "edges": 2 * row.edges * 12,
    }
    if row.fit is not None and row.solve is not None:
        found["rest"] = row.fit[1] - row.graph[1] - row.solve[1]
    return found


def fitted(stage: str, rows: list[Row]) -> Stage:
    """Return the law of a stage: least squares of relative differences; no cost falls with rows or features."""
    rows = [row for row in rows if stage in costs_of(row)]
    measured = np.array([costs_of(row)[stage] for row in rows])
    terms = np.array([[row.n, row.n * np.log2(row.n), row.n * row.features] for row in rows])
    used = np.flatnonzero(LAWS[stage])
    relative = terms[:, used] / measured[:, None]
    coefficients = np.zeros(3)
    coefficients[used] = lsq_linear(relative, np.ones(len(rows)), (np.where(used == 0, -np.inf, 0.0), np.inf)).x
    residual = np.abs(terms @ coefficients / measured - 1).max()
    return Stage(*coefficients.tolist(), residual=float(residual))


def laws(stages: dict[str, Stage]) -> list[str]:
    """Return the table of coefficients, per row in microseconds or bytes."""
    lines = ["| stage | constant | per doubling | per feature | largest residual |", "|---|---|---|---|---|"]
    for name, law in stages.items():
        unit, factor = ("µs", 1e6) if name in SECONDS else ("B", 1.0)
        cells = [f"{factor * value:.3g} {unit}" for value in (law.constant, law.log2, law.feature)]
        lines.append(f"| {name} | {' | '.join(cells)} | {100 * law.residual:.0f} % |")
    return lines


def residuals(stages: dict[str, Stage], rows: list[Row]) -> list[str]:
    """Return the table of what was measured, and how far the laws are off."""
    lines = [f"| data | rows | features | {' | '.join(stages)} |", "|---|---|---|" + "---|" * len(stages)]
    for row in rows:
        found, cells = costs_of(row), []
        for stage, law in stages.items():
            off = 100 * (law.of(row.n, row.features) / found[stage] - 1) if stage in found else 0.0
            cells.append(f"{_figure(stage, found[stage], row.n)} ({off:+.0f} %)" if stage in found else "")
        lines.append(f"| {row.family} | {row.n:,} | {row.features} | {' | '.join(cells)} |")
    return lines


def _figure(stage: str, value: float, n: int) -> str:
    if stage == "column":
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if stage in SECONDS else f"{value / n:.0f} B"


def main() -> None:
    """Fit, write, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, help="scaling.json of benchmarks.scaling")
    parser.add_argument("--command", required=True, help="the command line that measured it")
    parser.add_argument("--docs", type=Path, help="folder of the documentation, for the chart")
    options = parser.parse_args()
    rows = sorted(read_rows(options.measured), key=lambda row: (row.family != "patches", row.features, row.n))
    patches = [row for row in rows if row.family == "patches"]
    stages = {stage: fitted(stage, patches) for stage in LAWS}
    stored = {
        "command": options.command,
        "machine": machine("numpy", "numba", "scikit-learn"),
        "rows": [{"rows": row.n, "features": row.features, **costs_of(row)} for row in patches],
        "stages": {name: vars(stage) for name, stage in stages.items()},
    }
    COSTS.write_text(json.dumps(stored, indent=1) + "\n")
    print("\n".join([*laws(stages), "", *residuals(stages, rows)]))
    if options.docs:
        draw(rows, stages, options.docs / "images" / "scaling.png")


if __name__ == "__main__":
    main()
