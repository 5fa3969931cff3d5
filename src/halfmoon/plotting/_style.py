"""How everything looks: colours that the colour-blind tell apart, and markers and lines that survive a grey print."""

from __future__ import annotations

from typing import Any

__all__ = ["COLORS", "GREY", "SEQUENTIAL", "Display", "color", "line", "marker"]

# Okabe and Ito's palette; yellow comes last, it is faint on white.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#000000", "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")  # as many as to be no multiple of the colours
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
GREY = "#8a9199"
SEQUENTIAL = "cividis"  # even steps in lightness, the same map with and without red-green vision


def color(number: int) -> str:
    """Return the colour of the class or method with this number."""
    return COLORS[number % len(COLORS)]


def marker(number: int) -> str:
    """Return the marker of the class or method with this number."""
    return MARKERS[number % len(MARKERS)]


def line(number: int) -> Any:
    """Return the line style of the method with this number."""
    return LINES[number % len(LINES)]


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
