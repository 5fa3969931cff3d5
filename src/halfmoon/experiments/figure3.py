"""Figure 3: on large data the efficient kernel beats the budget kernel and the RBF kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from halfmoon.experiments._curves import curve_job, curve_tables, errors, paired_p, plot_curves
from halfmoon.experiments._data import TABLE_1, Task
from halfmoon.experiments._experiment import Claim, Experiment, Options, Rows
from halfmoon.experiments._kernel_curves import GRAPH_BASELINES, Curve, Grid

__all__ = ["Config", "curves_of", "experiment", "sweep_of"]

RBF, BUDGET, EFFICIENT, GRAPH = "RBF SVM", "budget", "efficient", "graph extension"
LARGE_TASKS = TABLE_1[3:]
MANY_LANDMARKS = {"MNIST odd vs even": (250, 1000, 2000), "MNIST 3 vs 8": (500, 1000)}
SWEEP = " landmarks"  # jobs of their own: a chain of solves for 2,000 landmarks takes longer than all the rest
CLEAR, COMPARED = 50, 200  # labels up to which the advantage must be clear, and must exist
SIGNIFICANT = 0.05
AIMS = (  # odd against even, new points: method, labels, per cent
    (EFFICIENT, 100, 8.5),
    ("efficient, 2000 landmarks", 100, 7.0),
    (GRAPH, 50, 7.0),
    (GRAPH, 100, 4.5),
    (GRAPH, 300, 3.7),
)


@dataclass(frozen=True)
class Config:
    """Sizes of the labelled sets and the grid."""

    sizes: tuple[int, ...] = (20, 30, 50, 100, 200, 300)
    grid: Grid = field(default_factory=lambda: Grid(powers=(3, 4), etas=(1e-2, 1e-1)))


def curves_of(task: Task) -> tuple[Curve, ...]:
    """Return the paper's three methods, the graph extension, and the baselines."""
    n_hat = task.n_hat
    return (
        Curve(RBF, "base", n_landmarks=n_hat),
        Curve(BUDGET, "kernel", method="budget", n_landmarks=n_hat),
        Curve(EFFICIENT, "kernel", n_landmarks=n_hat),
        Curve(GRAPH, "graph", n_landmarks=min(n_hat, 250)),
        *GRAPH_BASELINES,
    )


def sweep_of(task: Task) -> tuple[Curve, ...]:
    """Return the efficient kernel with other numbers of landmarks."""
    numbers = MANY_LANDMARKS.get(task.name, ())
    return tuple(Curve(f"efficient, {number} landmarks", "kernel", n_landmarks=number) for number in numbers)


def _by_task(rows: Rows) -> Rows:
    """Put the rows of both jobs of a task together."""
    return {name: own + rows.get(name + SWEEP, []) for name, own in rows.items() if not name.endswith(SWEEP)}


def experiment(options: Options) -> Experiment:
    """Return the jobs of Figure 3."""
    config, tasks = Config(), list(LARGE_TASKS)
    if options.quick:
        config, tasks = Config(grid=Grid(powers=(3,), etas=(1e-2, 1e-1), widths=(0.7,))), tasks[:1]
    jobs = [
        curve_job(task, curves_of(task), config.sizes, config.grid, options, options.count(task.trials, 2))
        for task in tasks
    ]
    jobs += [
        curve_job(task, sweep_of(task), config.sizes, config.grid, options, options.count(task.trials, 1), SWEEP)
        for task in tasks
        if sweep_of(task)
    ]
    return Experiment("figure3", "Classification: large data sets", jobs, plot, claims, table)


def plot(rows: Rows) -> Any:
    """Draw the paper's curves, then both extensions beside the baselines, then numbers of landmarks."""
    paper, other, landmarks = [], [], []
    for name, own in _by_task(rows).items():
        sweep = [row for row in own if "landmarks" in row["method"] or row["method"] == EFFICIENT]
        swept = {row["method"] for row in sweep}
        paper.append((name, [row for row in own if row["method"] in (RBF, BUDGET, EFFICIENT)]))
        beside = {EFFICIENT} | {row["method"] for row in own} - swept - {RBF, BUDGET}
        other.append((name, [row for row in own if row["method"] in beside]))
        if len(swept) > 1:
            landmarks.append((f"{name}: landmarks", sweep))
    return plot_curves(paper + other + landmarks, columns=len(paper))


def claims(rows: Rows) -> list[Claim]:
    """Compare the efficient kernel with the budget and the RBF kernel, and odd against even with the aims."""
    tasks = _by_task(rows)
    found = [claim for name, own in tasks.items() for peer in (BUDGET, RBF) for claim in _against(name, own, peer)]
    for method, size, aim in AIMS:
        for name, own in tasks.items():
            if "odd" in name:
                error = errors(own, method, size).mean()
                text = f"{name}, {size} labels, new points: {method}"
                found.append(Claim(text, f"at most {aim} %", f"{error:.2f} %", bool(error <= aim)))
    return found


def _against(name: str, rows: list[dict[str, Any]], peer: str) -> list[Claim]:
    sizes = [size for size in sorted({row["n_labeled"] for row in rows}) if size <= COMPARED]
    gaps = {m: errors(rows, EFFICIENT, m).mean() - errors(rows, peer, m).mean() for m in sizes}
    p = {m: paired_p(rows, EFFICIENT, peer, m) for m in sizes if m <= CLEAR}
    enough = 0.5 ** len(errors(rows, EFFICIENT, sizes[0])) < SIGNIFICANT  # the least p-value that the test can give
    below = Claim(
        f"{name}: efficient below {peer} at every labelled size up to {COMPARED}",
        "below 0",
        ", ".join(f"{m}: {gap:+.1f}" for m, gap in gaps.items()) + " points",
        all(gap < 0.0 for gap in gaps.values()),
    )
    clear = Claim(
        f"{name}: clearly below {peer} at {CLEAR} labels and fewer",
        f"paired signed-rank test, p < {SIGNIFICANT}",
        ", ".join(f"{m}: p = {value:.1g}" for m, value in p.items()),
        all(value < SIGNIFICANT for value in p.values()) if enough else None,
    )
    return [below, clear]


def table(rows: Rows) -> str:
    """Return the errors of all methods."""
    return curve_tables(_by_task(rows))
