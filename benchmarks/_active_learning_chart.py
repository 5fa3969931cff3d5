"""The chart of docs/guide/active-learning.md: learning curves of all strategies, one panel per data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from halfmoon.plotting.style import GREY, color, line

__all__ = ["draw"]

LOWEST = 0.5  # per cent: curves may reach 0


def draw(sets: dict[str, tuple[tuple[int, ...], dict[str, np.ndarray]]], path: Path) -> None:
    """Draw mean errors over the number of labels, with bands of two standard errors for "auto" and "random"."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "halfmoon"  # the same bytes for the same curves
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat[len(sets) :]:
        axis.set_visible(False)
    for axis, (name, (counts, curves)) in zip(axes.flat, sets.items(), strict=False):
        for number, (strategy, errors) in enumerate(curves.items()):
            _draw_curve(axis, number, strategy, counts, 100 * errors)
        axis.axhline(5.0, color=GREY, linewidth=0.8, linestyle=":")
        axis.set(title=name, xlabel="labels", ylabel="error, %", yscale="log", xlim=(0, counts[-1]))
        axis.set_ylim(LOWEST, None)
        axis.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _draw_curve(axis, number: int, strategy: str, counts: tuple[int, ...], errors: np.ndarray) -> None:
    chance = strategy == "random"
    look = {"color": GREY if chance else color(number), "linestyle": "--" if chance else line(number)}
    mean = errors.mean(axis=0)
    axis.plot(counts, mean, label=strategy, linewidth=2.0 if strategy in ("auto", "random") else 1.0, **look)
    if strategy in ("auto", "random"):
        spread = 2 * errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
        lowest = np.maximum(mean - spread, LOWEST)
        axis.fill_between(counts, lowest, mean + spread, color=look["color"], alpha=0.15, linewidth=0)
