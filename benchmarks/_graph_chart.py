"""The chart of the graph benchmark: time against the share of neighbours that are missed, one panel per data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halfmoon.plotting.style import GREY, color, line, marker

__all__ = ["draw"]

COLUMNS = 3
LEAST_MISSED = 1e-4  # the axis ends there
TICKS = {0.05: "95 %", 0.01: "99 %", 0.001: "99.9 %"}


def draw(panels: dict[str, dict[str, list[dict[str, Any]]]], path: Path) -> None:
    """Draw the settings (recall, seconds) of each search, by the title of the data set and the name of the search."""
    from matplotlib.figure import Figure

    rows = -(-len(panels) // COLUMNS)
    figure = Figure(figsize=(3.6 * min(COLUMNS, len(panels)), 2.5 * rows), layout="constrained")
    axes = figure.subplots(rows, min(COLUMNS, len(panels)), squeeze=False).ravel()
    for axis, (title, searches) in zip(axes, panels.items(), strict=False):
        _draw_panel(axis, title, searches)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2 * len(axes[:2]), frameon=False)
    figure.savefig(path, dpi=110)


def _draw_panel(axis: Any, title: str, searches: dict[str, list[dict[str, Any]]]) -> None:
    """Draw one data set; a line joins the settings of a search that no other one of it beats."""
    from matplotlib.ticker import LogLocator

    for number, (search, settings) in enumerate(searches.items()):
        look = {"color": color(number), "marker": marker(number)}
        best = [s for s in settings if not any(beats(other, s) for other in settings)]
        best.sort(key=lambda s: s["recall"])
        axis.plot(_missed(settings), [s["seconds"] for s in settings], **look, linestyle="", markersize=3, alpha=0.35)
        seconds = [s["seconds"] for s in best]
        axis.plot(_missed(best), seconds, **look, linestyle=line(number), markersize=5, label=search)
    for missed in (0.05, 0.01):
        axis.axvline(missed, color=GREY, linewidth=0.8, zorder=0)
    axis.set(xscale="log", yscale="log", xlim=(0.2, LEAST_MISSED), xlabel="recall", ylabel="seconds")
    axis.set_title(title, fontsize=9)
    axis.set_xticks(list(TICKS), list(TICKS.values()))
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)


def beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether a setting is faster than another one and has at least its recall."""
    return one["seconds"] < other["seconds"] and one["recall"] >= other["recall"]


def _missed(settings: list[dict[str, Any]]) -> list[float]:
    return [max(1.0 - s["recall"], LEAST_MISSED) for s in settings]
