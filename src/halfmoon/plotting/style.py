"""How everything looks: colours that the colour-blind can distinguish, markers and lines that survive a grey print."""

from __future__ import annotations

from typing import Any

__all__ = [
    "COLORS",
    "EDGE",
    "GREY",
    "LABELED_ENTRY",
    "SEQUENTIAL",
    "Display",
    "color",
    "legend_entry",
    "line",
    "marker",
]

# Okabe and Ito's eight, yellow last as it is faint on white, and wine and violet for ten classes: simulated for
# the three kinds of colour blindness these two are no nearer to the others than the eight are to each other.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#000000", "#f0e442", "#882255", "#6600cc")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")  # eleven beside ten colours: 110 different pairs
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
GREY = "#8a9199"
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
        try:
            from matplotlib import pyplot
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{type(self).__name__}.plot needs matplotlib, which is not installed. "
                'Install it with: pip install "halfmoon[plot]"'
            ) from error
        if ax is None:
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax
