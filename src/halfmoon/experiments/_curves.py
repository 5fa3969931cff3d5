"""Learning curves as jobs, tables, plots and comparisons: what Figures 2 and 3 share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from halfmoon.experiments._data import Task, load_task
from halfmoon.experiments._experiment import Options, Rows
from halfmoon.experiments._kernel_curves import Curve, Grid, draw_trial, errors_of_trial
from halfmoon.experiments._trials import Job, trial_seed

__all__ = ["curve_job", "curve_tables", "errors", "paired_p", "plot_curves"]


def curve_job(
    task: Task,
    curves: tuple[Curve, ...],
    sizes: tuple[int, ...],
    grid: Grid,
    options: Options,
    trials: int,
    suffix: str = "",
) -> Job:
    """Return the trials of one task; jobs with other curves draw the same data, labels and landmarks."""
    work = partial(_trial, task, curves, sizes, grid, options.data, options.seed)
    return Job(task.name + suffix, work, trials, repr((task, curves, sizes, grid, options.seed)))


def _trial(
    task: Task,
    curves: tuple[Curve, ...],
    sizes: tuple[int, ...],
    grid: Grid,
    folder: Path | None,
    seed: int,
    trial: int,
) -> list[dict[str, Any]]:
    X, y = load_task(task, folder)
    drawn = draw_trial(X, y, task.n, task.n_test, sizes, grid.share, trial_seed(seed, trial))
    return list(errors_of_trial(drawn, curves, sizes, grid))


def errors(rows: list[dict[str, Any]], method: str, size: int) -> NDArray[np.float64]:
    """Return the errors of a method, in per cent, by trial."""
    return np.array([100 * row["error"] for row in rows if (row["method"], row["n_labeled"]) == (method, size)])


def paired_p(rows: list[dict[str, Any]], better: str, worse: str, size: int) -> float:
    """Return the p-value of Wilcoxon's signed-rank test that one method errs less than another on the same trials."""
    difference = errors(rows, better, size) - errors(rows, worse, size)
    return float(wilcoxon(difference, alternative="less").pvalue) if difference.any() else 1.0


def curve_tables(rows: Rows) -> str:
    """Return a table of the errors of every task."""
    return "\n\n".join(f"**{name}**\n\n{_table(own)}" for name, own in rows.items())


def _table(rows: list[dict[str, Any]]) -> str:
    """Return mean errors with their standard errors, a line a method, as markdown."""
    sizes = sorted({row["n_labeled"] for row in rows})
    cells: dict[str, list[str]] = defaultdict(list)
    for method in dict.fromkeys(row["method"] for row in rows):
        for size in sizes:
            values = errors(rows, method, size)
            spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            cells[method].append(f"{values.mean():.1f} ± {spread:.1f}")
    header = ["error in % at", *(f"{size} labels" for size in sizes)]
    lines = [header, ["---"] * len(header), *([method, *values] for method, values in cells.items())]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plot_curves(panels: Sequence[tuple[str, list[dict[str, Any]]]], columns: int) -> Any:
    """Return a figure with one panel of learning curves a title."""
    from matplotlib import pyplot as plt

    from halfmoon.plotting import LabelCurveDisplay

    count = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        count, columns, figsize=(4.8 * columns, 4.6 * count), squeeze=False, layout="constrained"
    )
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (title, rows) in zip(axes.flat, panels, strict=False):
        percent = [row | {"error": 100 * row["error"]} for row in rows]
        LabelCurveDisplay(percent, error_name="test error in %").plot(ax=ax)
        ax.set_title(title)
    return figure
