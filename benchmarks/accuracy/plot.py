"""The picture of the mean ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.accuracy.report import Errors

OURS = ("LapSVC", "LapRLSClassifier")


def draw_ranks(panels: Mapping[str, Errors], path: Path) -> None:
    """Draw mean ranks with bars of half a critical difference: methods whose bars do not overlap differ."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from halfmoon.plotting.style import GREY, color, marker, method_numbers

    ranked = {title: errors.ranks() for title, errors in panels.items() if len(errors.complete()) > 1}
    if not ranked:
        return
    names = [*OURS, *sorted({name for ranks, _ in ranked.values() for name in ranks})]
    looks = {name: {"color": color(number), "fmt": marker(number)} for name, number in method_numbers(names).items()}
    tallest = max(len(ranks) for ranks, _ in ranked.values())
    figure, axes = plt.subplots(1, len(ranked), figsize=(5.2 * len(ranked), 1.2 + 0.34 * tallest), squeeze=False)
    for axis, (title, (ranks, difference)) in zip(axes[0], ranked.items(), strict=True):
        names = sorted(ranks, key=lambda name: ranks[name])
        for place, name in enumerate(names):
            axis.errorbar(ranks[name], place, xerr=difference / 2, capsize=3, **looks[name])
        axis.axvline(ranks[names[0]] + difference / 2, color=GREY, linewidth=0.8, linestyle=":")
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlabel("mean rank (1 is best)")
        axis.set_title(title)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
