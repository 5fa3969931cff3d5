"""Why a point is predicted as it is: the labelled rows that drove it, and the path along the graph, drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._validation import check_integer, check_points, take_rows
from halfmoon.plotting._reading import unwrap
from halfmoon.plotting.style import EDGE, GREY, SEQUENTIAL, Display, color, draw_legend, legend_entry, marker
from halfmoon.semi_supervised import LapEstimator, PointExplanation

__all__ = ["ExplanationDisplay"]

Matrix = NDArray[np.float64]
GAP = 0.18  # between images, in widths of one
LINE = 0.2  # height of a line of text beside images
SPACING = 1.35  # of lines, in sizes of a letter
STEPS = 8  # images along a path
SMALLEST, LARGEST = 40.0, 220.0  # areas of driving rows on a map


@dataclass(kw_only=True, eq=False, repr=False)
class ExplanationDisplay(Display):
    """The labelled rows that drove a prediction, and the shortest path from the one with the largest share.

    Images are drawn in two rows: the point and the labelled images with their shares, and the images along the path.
    Two features are drawn as a map: all training points in grey, the path, and the labelled rows in the colour and
    marker of their class, larger for a larger share; filled ones count for the prediction, hollow ones against it.

    Parameters
    ----------
    explanation : PointExplanation
        What is drawn.
    point : ndarray of shape (d,)
        The point.
    drivers : ndarray of shape (k, d)
        Its first k labelled rows.
    steps : ndarray of shape (p, d), default=None
        The rows along the path; None where there is none.
    image_shape : tuple of int, default=None
        Height and width, and channels if there are several; None draws a map.
    background : ndarray of shape (n, 2), default=None
        The training points, for a map.
    classes : ndarray, default=None
        Names of the classes; None for a regressor.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the drawing.
    figure_ : matplotlib Figure
        Figure that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from halfmoon import DataDependentKernel, LapSVC
    >>> from halfmoon.plotting import ExplanationDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 40, y, -1)
    >>> kernel = DataDependentKernel(n_neighbors=8, graph_params={"connect": True}, random_state=0)
    >>> model = LapSVC(kernel=kernel).fit(X, few)
    >>> display = ExplanationDisplay.from_estimator(model, X, index=1001, image_shape=(8, 8))
    >>> bool(display.explanation.prediction == y[1001]), display.drivers.shape
    (True, (5, 64))
    """

    explanation: PointExplanation
    point: Matrix
    drivers: Matrix
    steps: Matrix | None = None
    image_shape: tuple[int, ...] | None = None
    background: Matrix | None = None
    classes: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        index: int = 0,
        of: Any = None,
        image_shape: tuple[int, ...] | None = None,
        n_rows: int = 5,
        ax: Any = None,
    ) -> Self:
        """Explain one row of X, and draw it.

        Parameters
        ----------
        estimator : fitted LapSVC, LapRLSClassifier or LapRLSRegressor
            What predicts.
        X : array-like of shape (m, d)
            Points.
        index : int, default=0
            The row of X to explain.
        of : class, default=None
            The class whose decision value is explained; None: that which is predicted.
        image_shape : tuple of int, default=None
            Height and width of images, and channels if there are several; None for data with two features.
        n_rows : int, default=5
            Labelled rows to draw; those without a share are not.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ExplanationDisplay
        """
        estimator = unwrap(estimator)
        if not isinstance(estimator, LapEstimator):
            raise TypeError(
                f"{type(estimator).__name__} does not explain its predictions. Pass a fitted LapSVC, LapRLSClassifier "
                "or LapRLSRegressor."
            )
        check_integer("n_rows", n_rows, low=1)
        points = check_points(X)
        _check_shape(points.shape[1], image_shape)
        number = range(points.shape[0])[index]
        why = replace(estimator.explain(take_rows(X, np.array([number])), of)[0], number=number)
        problem = estimator.learned_.problem
        training = problem.training
        shown = why.rows[:n_rows][why.shares[:n_rows] != 0.0]
        display = cls(
            explanation=why,
            point=_dense(points[[number]])[0],
            drivers=_dense(training.X[training.point[shown]]),
            steps=None if why.path is None else _dense(training.X[training.point[why.path]]),
            image_shape=image_shape,
            background=_dense(training.X) if image_shape is None else None,
            classes=problem.classes,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the explanation.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self
        """
        if self.image_shape is None:
            self._draw_map(self._take_axes(ax, (6.2, 4.4)))
        else:
            self._draw_images(self._take_axes(ax, (7.0, 3.6)), self.image_shape)
        return self

    def _draw_images(self, ax: Any, shape: tuple[int, ...]) -> None:
        """Draw the point and what drove it above, and the path below, in units of the width of an image."""
        why, height = self.explanation, shape[0] / shape[1]
        captions = [
            f"row {row}\n{_label(why, label)}\n{share:+.3f}"
            for row, label, share in zip(why.rows, why.labels, why.shares, strict=False)
        ]
        below = -(height + 4.5 * LINE)
        lowest = below - (height if self.steps is None else 0.0) - 1.5 * LINE
        path = 1 if self.steps is None else min(STEPS, len(self.steps))
        width = max((len(self.drivers) + 1) * (1.0 + GAP) + GAP, path * (1.0 + GAP))
        ax.set(xlim=(-0.05, width), ylim=(lowest, height + 2.0 * LINE), aspect="equal")
        ax.set_axis_off()
        size = _font_size(ax)
        ax.text(0.0, height + 0.5 * LINE, why.title, fontsize=1.2 * size, va="bottom")
        _draw_image(ax, self.point, shape, (0.0, 0.0), "the point", size)
        for i, image in enumerate(self.drivers):
            _draw_image(ax, image, shape, ((i + 1) * (1.0 + GAP) + GAP, 0.0), captions[i], size)
        if self.steps is None or why.path is None:
            ax.text(0.0, below, why.path_text, fontsize=size, va="bottom")
        else:
            chosen = np.unique(np.linspace(0, len(why.path) - 1, min(STEPS, len(why.path))).round().astype(int))
            words = f"path of {len(why.path)} rows" + (f", {len(chosen)} shown" if len(chosen) < len(why.path) else "")
            ax.text(0.0, below + height + 0.06, f"{words}, length {why.length:.3g}", fontsize=size, va="bottom")
            for i, step in enumerate(chosen):
                _draw_image(ax, self.steps[step], shape, (i * (1.0 + GAP), below), f"row {why.path[step]}", size)

    def _draw_map(self, ax: Any) -> None:
        assert self.background is not None
        ax.scatter(*self.background.T, s=9, color=GREY, alpha=0.5, label="training points", **EDGE)
        if self.steps is not None:
            whole = np.vstack([self.steps, self.point])
            ax.plot(*whole.T, color="black", linewidth=1.4, marker=".", markersize=4, label="path", zorder=2)
        why = self.explanation
        sizes = np.abs(why.shares[: len(self.drivers)])
        areas = SMALLEST + (LARGEST - SMALLEST) * sizes / max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)
        looks = self._looks(ax)
        for row, area, share, look in zip(self.drivers, areas, why.shares, looks, strict=False):
            face = {"facecolor": look["color"] if share > 0.0 else "white", "edgecolor": look["color"]}
            ax.scatter(*row, s=area, marker=look["marker"], linewidths=1.8, zorder=3, **face)
            ax.annotate(f"{share:+.3f}", row, xytext=(7, 7), textcoords="offset points", fontsize=8, zorder=4)
        star = {"marker": "*", "s": 200, "color": "black", "edgecolors": "white", "linewidths": 0.8}
        ax.scatter(*self.point, label="the point", zorder=5, **star)
        self._draw_legend(ax)

    def _looks(self, ax: Any) -> list[dict[str, Any]]:
        """Return colour and marker of each driving row: those of its class, or by its target."""
        labels = self.explanation.labels[: len(self.drivers)]
        if self.classes is not None:
            numbers = np.searchsorted(self.classes, labels)
            return [{"color": color(number), "marker": marker(number)} for number in numbers]
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        scale = ScalarMappable(Normalize(*np.percentile(self.explanation.labels, [0, 100])), SEQUENTIAL)
        self.figure_.colorbar(scale, ax=ax, label="target")
        return [{"color": shade, "marker": "o"} for shade in scale.to_rgba(labels)]

    def _draw_legend(self, ax: Any) -> None:
        entries = [legend_entry("the point", marker="*", color="black", markersize=11)]
        if self.steps is not None:
            entries.append(legend_entry("path", linestyle="-", color="black", marker="."))
        if self.classes is not None:
            labels = set(self.explanation.labels[: len(self.drivers)].tolist())
            entries += [
                legend_entry(f"labelled {name}", color=color(number), marker=marker(number), markersize=8)
                for number, name in enumerate(self.classes.tolist())
                if name in labels
            ]
            entries.append(legend_entry("hollow: against", color=GREY, marker="o", fillstyle="none", markersize=8))
        draw_legend(ax, entries, title=self.explanation.title, title_fontsize=9, alignment="left")


def _check_shape(n_features: int, shape: tuple[int, ...] | None) -> None:
    if shape is None and n_features != 2:
        raise ValueError(
            f"X has {n_features} features: a map needs two. For images give image_shape=(height, width); else print "
            "estimator.explain(X)."
        )
    if shape is not None and (len(shape) not in (2, 3) or np.prod(shape) != n_features):
        raise ValueError(f"image_shape={shape!r} does not fit the {n_features} features of X. Give height and width.")


def _dense(rows: Any) -> Matrix:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _label(why: PointExplanation, label: Any) -> str:
    return f"target {label:.4g}" if why.of is None else f"label {label}"


def _font_size(ax: Any) -> float:
    """Return the size of letters, in points, that puts lines of text LINE apart in these axes; at most 8."""
    box = ax.get_window_extent()
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    unit = min(box.width / (right - left), box.height / (high - low)) * 72.0 / ax.figure.dpi  # points
    return min(8.0, unit * LINE / SPACING)


def _draw_image(
    ax: Any, row: Matrix, shape: tuple[int, ...], corner: tuple[float, float], caption: str, size: float
) -> None:
    """Draw an image of width 1 with its lower left corner there, and a caption below."""
    x, y = corner
    height = shape[0] / shape[1]
    low, high = float(row.min()), float(row.max())
    pixels = ((row - low) / (high - low) if high > low else np.zeros_like(row)).reshape(shape)
    pixels = pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    ax.imshow(pixels, extent=(x, x + 1.0, y, y + height), cmap="gray_r", interpolation="nearest")
    ax.text(x + 0.5, y - 0.04, caption, ha="center", va="top", fontsize=size)
