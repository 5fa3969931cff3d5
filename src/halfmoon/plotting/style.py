"""How everything looks: colours that the colour-blind can distinguish, markers and lines that survive a grey print."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from halfmoon._extras import need

__all__ = [
    "COLORS",
    "EDGE",
    "GREY",
    "LABELED_ENTRY",
    "SEQUENTIAL",
    "Display",
    "color",
    "draw_legend",
    "legend_entry",
    "line",
    "marker",
    "method_numbers",
]

# Okabe and Ito's eight, yellow last as it is faint on white, and wine and violet for ten classes: simulated for
# the three kinds of colour blindness these two are no nearer to the others than the eight are to each other.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#000000", "#f0e442", "#882255", "#6600cc")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")  # eleven beside ten colours: 110 different pairs
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
# Methods keep their number, and with it colour, marker and line, through all figures. A method belongs to the first
# family of which it has a word in its name.
FAMILIES = (
    (("graph extension",), 4),
    (("label spreading", "labelspreading", "labelpropagation"), 5),
    (("laplace",), 8),
    (("poisson",), 9),
    (("self-training", "selftraining"), 6),
    (("full", "standard construction"), 2),
    (("budget",), 3),
    (("logistic",), 2),
    (("nystroem",), 3),
    (("laprls",), 4),
    (("efficient", "lapsvc", "halfmoon"), 0),
    (("rbf", "svc", "svm"), 1),
)
GREY = "#8a9199"
MOST_ENTRIES = 8  # of a legend in one column
EDGE = {"edgecolors": "#333333", "linewidths": 0.25}  # of small points: keeps light colours visible on white
SEQUENTIAL = "cividis"  # even steps in lightness, the same map with and without red-green vision


LABELED_ENTRY = {"color": GREY, "marker": "o", "markeredgecolor": "black", "markeredgewidth": 1.3, "markersize": 8}


def color(number: int) -> str:
    """Return the colour of the class or method with this number."""
    return COLORS[number % len(COLORS)]


def marker(number: int) -> str:
    """Return the marker of the class or method with this number."""
    return MARKERS[number % len(MARKERS)]


def line(number: int) -> Any:
    """Return the line style of the method with this number."""
    return LINES[number % len(LINES)]


def method_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each method of a figure: that of its family, or the next one that is free.

    Examples
    --------
    >>> from halfmoon.plotting.style import method_numbers
    >>> method_numbers(["SVC", "LapSVC", "my own", "LapRLS"])
    {'SVC': 1, 'LapSVC': 0, 'my own': 2, 'LapRLS': 4}
    """
    names = list(dict.fromkeys(names))
    numbers: dict[str, int] = {}
    for name in names:
        number = next((number for words, number in FAMILIES if any(word in name.lower() for word in words)), None)
        if number is not None and number not in numbers.values():
            numbers[name] = number
    free = (number for number in count() if number not in numbers.values())
    return {name: numbers[name] if name in numbers else next(free) for name in names}


def draw_legend(ax: Any, entries: list[Any], **how: Any) -> None:
    """Draw a legend inside the axes where it hides least; a faint ground keeps it readable above points."""
    columns = 1 if len(entries) <= MOST_ENTRIES else 2
    look = {
        "loc": "best",
        "fontsize": 8,
        "framealpha": 0.8,
        "edgecolor": "none",
        "borderaxespad": 0.3,
        "ncols": columns,
    }
    ax.legend(handles=entries, **look | {"ncols": columns} | how)


def legend_entry(name: str, **look: Any) -> Any:
    """Return a marker (or, with a line style, a line) for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"linestyle": "", "label": name} | look)


class Display:
    """What the displays share: the axes and the figure of the last `plot`."""

    ax_: Any
    figure_: Any

    def _take_axes(self, ax: Any, size: tuple[float, float]) -> Any:
        """Return the given axes, or those of a new figure of this size in inches, and remember them."""
        need("Figures", "plot", "matplotlib")
        from matplotlib import pyplot

        if ax is None:
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax
