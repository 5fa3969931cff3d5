"""The chart of docs/scaling.md: measured stages and their laws, memory of a plan, error as the rows grow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks._scaling_report import Row
from halfmoon.planning import Stage, plan
from halfmoon.plotting.style import GREY, color, line, marker

__all__ = ["draw"]

FAR = np.geomspace(1.6e4, 1e9, 60)
FEATURES, LANDMARKS, WORKERS = 32, 500, 20


def draw(rows: list[Row], stages: Mapping[str, Stage], path: Path) -> None:
    """Draw three panels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    alike = [row for row in rows if row.family == "patches" and row.features == FEATURES]
    figure, (time, memory, error) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    _draw_time(time, alike, stages)
    _draw_memory(memory)
    n = [row.n for row in alike]
    judged = [row for row in alike if row.error is not None]
    error.plot([row.n for row in judged], [row.error for row in judged], color=color(0), marker=marker(0))
    error.set(xscale="log", title="error on new points", ylabel="per cent", ylim=(0, None))
    error.set_xticks([row.n for row in judged], [f"{row.n:,}" for row in judged])
    error.minorticks_off()
    for axis in (time, memory):
        axis.axvspan(max(n), FAR[-1], color=GREY, alpha=0.12, linewidth=0)
        axis.set(xscale="log", yscale="log")
        axis.legend(frameon=False, fontsize=8)
    for axis in (time, memory, error):
        axis.set_xlabel("rows")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_time(axis, rows: list[Row], stages: Mapping[str, Stage]) -> None:
    """Draw the processor seconds of the stages; the law goes on where nothing was measured (grey)."""
    whole = [row for row in rows if row.graph and row.fit and row.solve]
    found = {
        "graph": [(row.n, row.graph[1]) for row in rows if row.graph],
        "setup": [(row.n, row.setup_cpu) for row in rows if row.graph],
        "column": [(row.n, LANDMARKS * row.column_cpu) for row in rows if row.graph],
        "rest": [(row.n, row.fit[1] - row.graph[1] - row.solve[1]) for row in whole],
    }
    names = {"setup": "order and factor", "column": f"solves, {LANDMARKS} landmarks", "rest": "rest of a fit"}
    for number, (stage, points) in enumerate(found.items()):
        factor = LANDMARKS if stage == "column" else 1
        law = [factor * stages[stage].of(int(n), FEATURES) for n in FAR]
        axis.plot(FAR, law, color=color(number), linestyle=line(number), linewidth=1)
        look = {"color": color(number), "marker": marker(number), "linestyle": line(number), "linewidth": 1}
        axis.plot(*zip(*points, strict=True), **look | {"linestyle": ""})
        axis.plot([], [], label=names.get(stage, stage), **look)
    axis.set(title=f"processor seconds, {FEATURES} features", ylabel="seconds")


def _draw_memory(axis) -> None:
    """Draw what the machines of a cluster hold, and what travels."""
    plans = [plan(int(n), FEATURES, LANDMARKS, WORKERS) for n in FAR]
    series = {
        "leader": [p.leader_bytes for p in plans],
        "each worker, 2 threads": [p.worker_bytes for p in plans],
        f"sent to {WORKERS} workers": [p.sent_bytes for p in plans],
    }
    for number, (name, count) in enumerate(series.items()):
        axis.plot(FAR, np.array(count) / 1e9, color=color(number), linestyle=line(number), label=name)
    axis.set(title=f"plan, {LANDMARKS} landmarks", ylabel="GB")
