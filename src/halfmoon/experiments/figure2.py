"""Figure 2: on small data the efficient kernel recovers the full LapSVM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halfmoon.experiments._curves import curve_job, curve_tables, errors, plot_curves
from halfmoon.experiments._data import SMALL_TASKS, Task
from halfmoon.experiments._experiment import Claim, Experiment, Options, Rows
from halfmoon.experiments._kernel_curves import GRAPH_BASELINES, Curve, Grid

__all__ = ["Config", "curves_of", "experiment"]

RBF, FULL, EFFICIENT = "RBF SVM", "full LapSVM", "efficient"


@dataclass(frozen=True)
class Config:
    """Sizes of the labelled sets and the grid."""

    sizes: tuple[int, ...] = (20, 30, 40, 60, 100, 150)
    grid: Grid = field(default_factory=lambda: Grid(powers=(1, 2, 3), etas=(1e-3, 1e-2, 1e-1, 1.0)))


def curves_of(task: Task) -> tuple[Curve, ...]:
    """Return the paper's three methods, the graph extension, other choices of landmarks and the baselines."""
    return (
        Curve(RBF, "base", n_landmarks=task.n_hat),
        Curve(FULL, "kernel", method="full"),
        Curve(EFFICIENT, "kernel", n_landmarks=task.n_hat),
        Curve("graph extension", "graph", n_landmarks=task.n_hat),
        *(
            Curve(f"efficient, {choice} landmarks", "kernel", n_landmarks=task.n_hat, landmarks=choice)
            for choice in ("kmeans++", "farthest")
        ),
        *GRAPH_BASELINES,
    )


def experiment(options: Options) -> Experiment:
    """Return the jobs of Figure 2."""
    config = Config()
    if options.quick:
        config = Config(grid=Grid(powers=(2,), etas=(1e-3, 1e-1), widths=(0.7,)))
    jobs = [
        curve_job(task, curves_of(task), config.sizes, config.grid, options, options.count(task.trials, 2))
        for task in SMALL_TASKS
    ]
    return Experiment("figure2", "Classification: small data sets", jobs, plot, claims, curve_tables)


def plot(rows: Rows) -> Any:
    """Draw the paper's curves, and below them those of other methods."""
    paper = [(name, [row for row in own if row["method"] in (RBF, FULL, EFFICIENT)]) for name, own in rows.items()]
    other = [(name, [row for row in own if row["method"] not in (RBF, FULL)]) for name, own in rows.items()]
    return plot_curves(paper + other, columns=len(rows))


def claims(rows: Rows) -> list[Claim]:
    """Compare the efficient kernel with the full one, averaged over the curve."""
    found = []
    for name, own in rows.items():
        sizes = sorted({row["n_labeled"] for row in own})
        gap = float(np.mean([errors(own, EFFICIENT, m).mean() - errors(own, FULL, m).mean() for m in sizes]))
        found.append(
            Claim(
                f"{name}: the efficient kernel recovers the full LapSVM",
                "within 1 point, averaged over the curve",
                f"{gap:+.2f} points",
                gap <= 1.0,
            )
        )
    return found
