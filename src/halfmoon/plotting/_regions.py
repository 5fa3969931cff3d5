"""Decision regions in the plane, with what made them: labelled points, landmarks and the graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from halfmoon._validation import check_features, check_integer, check_real, labeled_mask
from halfmoon.kernels import DataDependentKernel
from halfmoon.plotting._reading import class_scores, find_kernel, fitted_kernel, margins, own_examples, unwrap
from halfmoon.plotting.style import EDGE, GREY, LABELED_ENTRY, Display, color, draw_legend, legend_entry, marker

__all__ = ["DecisionRegionDisplay"]

Matrix = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionRegionDisplay(Display):
    """Decision regions of a classifier or clusterer in the plane.

    Every class has a colour and a marker. Small points are drawn as they are classified, labelled points large and
    with a black edge as they are labelled, landmarks as rings, edges of the graph as grey lines.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (r, r)
        Coordinates of the grid.
    scores : ndarray of shape (r, r, n_classes)
        Scores of the classes on the grid; the largest wins.
    classes : ndarray of shape (n_classes,)
        Names of the classes or clusters.
    points : ndarray of shape (n, 2)
        Points to draw.
    predicted : ndarray of shape (n,)
        Their class numbers.
    labeled_points : ndarray of shape (l, 2), default=None
        Labelled points.
    labels : ndarray of shape (l,), default=None
        Their class numbers.
    landmarks : ndarray of shape (n_hat, 2), default=None
        Landmarks.
    edges : ndarray of shape (m, 2, 2), default=None
        The two ends of every edge of the graph.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the regions.
    figure_ : matplotlib Figure
        Figure that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import DataDependentKernel, LapSVC
    >>> from halfmoon.plotting import DecisionRegionDisplay
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> few = np.where(np.arange(200) < 10, y, -1)
    >>> model = LapSVC(kernel=DataDependentKernel(n_neighbors=8, n_landmarks=40, random_state=0)).fit(X, few)
    >>> display = DecisionRegionDisplay.from_estimator(model, X, edges=True)
    >>> display.landmarks.shape, display.labeled_points.shape
    ((40, 2), (10, 2))
    """

    xx0: Matrix
    xx1: Matrix
    scores: Matrix
    classes: NDArray[Any]
    points: Matrix
    predicted: NDArray[np.intp]
    labeled_points: Matrix | None = None
    labels: NDArray[np.intp] | None = None
    landmarks: Matrix | None = None
    edges: Matrix | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        edges: bool = False,
        grid_resolution: int = 150,
        margin: float = 0.08,
        ax: Any = None,
        legend: bool = True,
    ) -> Self:
        """Draw the decision regions of a fitted classifier or clusterer of two features.

        Parameters
        ----------
        estimator : fitted LapSVC, LapRLSClassifier, KernelKMeans, SVC(kernel=kernel) or any classifier
            What decides. Landmarks are drawn if it holds a data-dependent kernel and not every point is one.
        X : array-like of shape (n, 2)
            Points to draw; they set the limits of the axes.
        y : array-like of shape (n,), default=None
            Labels of X, -1, None or NaN for unlabelled. None: those that LapSVC and LapRLSClassifier remember.
        edges : bool, default=False
            Draw the graph.
        grid_resolution : int, default=150
            Points of the grid in each direction.
        margin : float, default=0.08
            Space around the points, relative to their range.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Draw a legend inside the axes.

        Returns
        -------
        DecisionRegionDisplay
        """
        estimator = unwrap(estimator)
        check_is_fitted(estimator)
        points = _plane(X)
        xx0, xx1 = _grid(points, check_integer("grid_resolution", grid_resolution, low=2), check_real("margin", margin))
        classes, scores = _scores_without_names(estimator, np.column_stack([xx0.ravel(), xx1.ravel()]))
        _, own = _scores_without_names(estimator, points)
        known = _examples(estimator, points, y)
        display = cls(
            xx0=xx0,
            xx1=xx1,
            scores=scores.reshape(*xx0.shape, -1),
            classes=classes,
            points=points,
            predicted=own.argmax(axis=1),
            labeled_points=None if known is None else known[0],
            labels=None if known is None else _numbers(classes, known[1]),
            landmarks=_landmarks(find_kernel(estimator)),
            edges=_edges(fitted_kernel(estimator)) if edges else None,
        )
        return display.plot(ax=ax, legend=legend)

    def plot(self, *, ax: Any = None, legend: bool = True) -> Self:
        """Draw the regions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Draw a legend inside the axes.

        Returns
        -------
        self
        """
        ax = self._take_axes(ax, (6.2, 4.4))
        self._draw_regions(ax)
        if self.edges is not None:
            from matplotlib.collections import LineCollection

            ax.add_collection(
                LineCollection(list(self.edges), colors=GREY, linewidths=0.5, alpha=0.7, label="graph", zorder=1.5)
            )
        for number, name in enumerate(self.classes):
            self._draw_class(ax, number, name)
        if self.landmarks is not None:
            rings = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.8}
            ax.scatter(*self.landmarks.T, s=38, label="landmark", zorder=3, **rings)
        ax.set(xlim=(self.xx0.min(), self.xx0.max()), ylim=(self.xx1.min(), self.xx1.max()))
        if legend:
            draw_legend(ax, self._legend_entries())
        return self

    def _legend_entries(self) -> list[Any]:
        """Return an entry a class, and one for everything that is drawn of labels, landmarks and graph."""
        entries = [
            legend_entry(str(name), color=color(number), marker=marker(number), markersize=6)
            for number, name in enumerate(self.classes)
        ]
        if self.labeled_points is not None:
            entries.append(legend_entry("labelled", **LABELED_ENTRY))
        if self.landmarks is not None:
            entries.append(legend_entry("landmark", markersize=6, marker="o", color="black", fillstyle="none"))
        if self.edges is not None:
            entries.append(legend_entry("graph", linestyle="-", color=GREY, linewidth=0.8))
        return entries

    def _draw_regions(self, ax: Any) -> None:
        """Fill where a class is above all others, and draw the lines where it stops to be."""
        above = margins(self.scores.reshape(-1, len(self.classes))).reshape(self.scores.shape)
        for number in range(len(self.classes)):
            layer = above[..., number]
            if layer.max() < 0.0:
                continue
            levels = [0.0, max(float(layer.max()), np.finfo(float).tiny)]
            ax.contourf(self.xx0, self.xx1, layer, levels=levels, colors=[color(number)], alpha=0.2, zorder=0)
            if layer.min() < 0.0:
                ax.contour(self.xx0, self.xx1, layer, levels=[0.0], colors="black", linewidths=0.9, zorder=1)

    def _draw_class(self, ax: Any, number: int, name: Any) -> None:
        look = {"color": color(number), "marker": marker(number)}
        members = self.points[self.predicted == number]
        ax.scatter(*members.T, s=11, alpha=0.8, label=f"predicted {name}", zorder=2, **look, **EDGE)
        if self.labeled_points is None or self.labels is None:
            return
        known = self.labeled_points[self.labels == number]
        if len(known):
            ax.scatter(*known.T, s=85, edgecolors="black", linewidths=1.3, label=f"labelled {name}", zorder=4, **look)


def _scores_without_names(estimator: Any, A: Matrix) -> tuple[NDArray[Any], Matrix]:
    """Return the scores at points of a grid: they have no column names, and the estimator need not say so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return class_scores(estimator, A)


def _plane(X: Any) -> Matrix:
    """Return X as a dense array of two columns."""
    points = check_features(X)
    if points.shape[1] != 2:
        raise ValueError(
            f"Decision regions are drawn in the plane, X has {points.shape[1]} features. Fit on two of them, or use "
            "EmbeddingDisplay."
        )
    return points if isinstance(points, np.ndarray) else points.toarray()


def _grid(points: Matrix, resolution: int, margin: float) -> tuple[Matrix, Matrix]:
    """Return the coordinates of a grid over the points, with a margin around them."""
    low, high = points.min(axis=0), points.max(axis=0)
    space = margin * np.where(high > low, high - low, 1.0)
    xx0, xx1 = np.meshgrid(*np.linspace(low - space, high + space, resolution).T)
    return xx0, xx1


def _examples(estimator: Any, points: Matrix, y: ArrayLike | None) -> tuple[Matrix, NDArray[Any]] | None:
    """Return labelled points and their labels: those of y, else those that the estimator remembers."""
    if y is None:
        own = own_examples(estimator)
        return None if own is None else (_plane(own[0]), own[1])
    known = labeled_mask(y, len(points))
    return points[known], np.asarray(y, dtype=object)[known]


def _numbers(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the numbers of the labels among the classes."""
    place = {name: number for number, name in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in labels.tolist() if label not in place})
    if unknown:
        raise ValueError(f"y holds labels that the estimator does not know: {', '.join(unknown)}. It knows {[*place]}.")
    return np.array([place[label] for label in labels.tolist()], dtype=np.intp)


def _landmarks(kernel: DataDependentKernel | None) -> Matrix | None:
    """Return the landmarks; None where every point is one, which rings would only hide."""
    if kernel is None or len(kernel.landmark_indices_) == kernel.n_samples_fit_:
        return None
    return _plane(kernel.landmarks_)


def _edges(kernel: DataDependentKernel) -> Matrix:
    """Return the ends of the edges of the graph, each edge once."""
    if kernel.graph_ is None:
        raise ValueError("This kernel was given a regulariser and has no graph to draw. Leave edges=False.")
    rows, columns = kernel.graph_.nonzero()
    once = rows < columns
    vertices = _plane(kernel.points_)
    return np.stack([vertices[rows[once]], vertices[columns[once]]], axis=1)
