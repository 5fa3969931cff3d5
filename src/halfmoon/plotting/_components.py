"""The components of the graph: how large they are, and which of them hold labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import check_integer, labeled_mask
from halfmoon.kernels import DataDependentKernel
from halfmoon.plotting._reading import fitted_kernel, unwrap
from halfmoon.plotting.style import COLORS, GREY, Display, draw_legend
from halfmoon.semi_supervised import LapEstimator

__all__ = ["ComponentSizesDisplay"]

HATCHED: dict[str, Any] = {"facecolor": "white", "edgecolor": COLORS[1], "hatch": "////", "linewidth": 1.0}


@dataclass(kw_only=True, eq=False, repr=False)
class ComponentSizesDisplay(Display):
    """Points and labelled points in each component of the graph, the largest first.

    Nothing spreads from one component to another: those without a label are decided by the base kernel alone.

    Parameters
    ----------
    sizes : ndarray of shape (n_components,)
        Points in each component, largest first.
    labeled : ndarray of shape (n_components,) or None
        Labelled points among them; None if labels are not known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure that holds them.
    bars_ : list of matplotlib BarContainer
        Points, and labelled points if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import DataDependentKernel
    >>> from halfmoon.plotting import ComponentSizesDisplay
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> kernel = DataDependentKernel(n_neighbors=10, n_landmarks=40, random_state=0).fit(X)
    >>> display = ComponentSizesDisplay.from_estimator(kernel, y=np.where(np.arange(200) < 10, y, -1))
    >>> display.sizes.tolist(), display.labeled.tolist()
    ([200], [10])
    """

    sizes: NDArray[np.int64]
    labeled: NDArray[np.int64] | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, y: Any = None, max_components: int = 20, ax: Any = None) -> Self:
        """Draw the components of the graph of a fitted kernel or estimator.

        Parameters
        ----------
        estimator : fitted DataDependentKernel, LapSVC, LapRLS, KernelKMeans, LandmarkFeatures or SVC(kernel=kernel)
            Where the graph is.
        y : array-like of shape (n,), default=None
            Labels of the rows that the kernel was fitted on, -1, None or NaN for unlabelled. None: those that
            LapSVC and LapRLS remember.
        max_components : int, default=20
            Components to draw; the rest is counted below the axis.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ComponentSizesDisplay
        """
        estimator = unwrap(estimator)
        kernel = fitted_kernel(estimator)
        components = kernel.regularizer_.components
        order = np.argsort(-components.sizes, kind="stable")
        known = _labeled_vertices(estimator, kernel, y)
        labeled = None if known is None else components.covered_by(known)[order]
        display = cls(sizes=components.sizes[order], labeled=labeled)
        return display.plot(ax=ax, max_components=max_components)

    def plot(self, *, ax: Any = None, max_components: int = 20) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        max_components : int, default=20
            Components to draw.

        Returns
        -------
        self
        """
        shown = min(check_integer("max_components", max_components, low=1), len(self.sizes))
        ax = self._take_axes(ax, (max(4.0, 0.32 * shown + 2.0), 3.4))
        places = np.arange(1, shown + 1)
        if self.labeled is None:
            self.bars_ = [ax.bar(places, self.sizes[:shown], width=0.7, color=GREY)]
        else:
            self.bars_ = self._draw_pairs(ax, places, self.labeled[:shown])
        ax.set(
            yscale="log", ylim=(0.7, 4.0 * float(self.sizes.max())), xlim=(0.3, max(shown, 4) + 0.7), ylabel="points"
        )
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xticks(places if shown <= 20 else places[4::5])
        ax.set_xlabel("component" + self._describe_rest(shown))
        draw_legend(ax, self._legend_entries(), loc="upper right", ncols=3)
        return self

    def _draw_pairs(self, ax: Any, places: NDArray[np.int64], labeled: NDArray[np.int64]) -> list[Any]:
        """Draw points and labelled points side by side; components without a label are hatched."""
        sizes = ax.bar(places - 0.2, self.sizes[: len(places)], width=0.38, color=GREY)
        counts = ax.bar(places + 0.2, labeled, width=0.38, color=COLORS[0])
        for bar, count in zip(sizes, labeled, strict=True):
            if count == 0:
                bar.set(**HATCHED)
        return [sizes, counts]

    def _legend_entries(self) -> list[Any]:
        from matplotlib.patches import Patch

        entries = [Patch(color=GREY, label="points")]
        if self.labeled is not None:
            entries.append(Patch(color=COLORS[0], label="labelled"))
            if (self.labeled == 0).any():
                entries.append(Patch(**HATCHED, label="no label"))
        return entries

    def _describe_rest(self, shown: int) -> str:
        if shown == len(self.sizes):
            return ""
        text = f" ({len(self.sizes) - shown} more, with {int(self.sizes[shown:].sum())} points"
        if self.labeled is not None:
            text += f" and {int(self.labeled[shown:].sum())} labels"
        return text + ")"


def _labeled_vertices(estimator: Any, kernel: DataDependentKernel, y: Any) -> NDArray[np.intp] | None:
    """Return the vertices of the graph that are labelled; None if nothing is known of labels."""
    known = np.zeros(kernel.n_samples_fit_, dtype=bool)
    if isinstance(estimator, LapEstimator):  # duplicates of a row are one vertex
        examples = estimator.learned_.problem.training
        known[examples.rows if y is None else examples.point[labeled_mask(y, len(examples.point))]] = True
    elif y is not None:
        known = labeled_mask(y, kernel.n_samples_fit_)
    else:
        return None
    if kernel.method == "budget":  # the graph sees the landmarks only
        known = known[kernel.landmark_indices_]
    return np.flatnonzero(known)
