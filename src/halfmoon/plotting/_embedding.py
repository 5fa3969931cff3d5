"""High-dimensional data in the plane: the two leading directions of the data-dependent kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import KernelPCA

from halfmoon._validation import check_points
from halfmoon.plotting._reading import (
    Prediction,
    at_most,
    fitted_kernel,
    own_examples,
    predict,
    unit_diagonal,
    unwrap,
)
from halfmoon.plotting.style import (
    EDGE,
    GREY,
    LABELED_ENTRY,
    SEQUENTIAL,
    Display,
    color,
    draw_legend,
    legend_entry,
    marker,
)

__all__ = ["EmbeddingDisplay"]

Matrix = NDArray[np.float64]
SMALLEST, LARGEST = 7.0, 34.0  # areas of unsure and sure points
FAINTEST, MOST_OPAQUE = 0.3, 0.9


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddingDisplay(Display):
    """Points in the two leading principal components of the data-dependent kernel.

    Colour and marker show the predicted class, size and opacity how sure the prediction is; labelled points are
    large with a black edge. Predicted targets of a regressor are shown by a scale of colours. Where
    `extension="auto"` mixes the base kernel into the decision, the coordinates are those of the data-dependent part.

    Parameters
    ----------
    embedding : ndarray of shape (n, 2)
        Coordinates.
    values : ndarray of shape (n,), default=None
        Class numbers, or predicted targets if `classes` is None.
    classes : ndarray, default=None
        Names of the classes.
    confidence : ndarray of shape (n,), default=None
        How sure each prediction is, from 0 to 1; None: all the same.
    labeled_embedding : ndarray of shape (l, 2), default=None
        Coordinates of labelled points.
    labels : ndarray of shape (l,), default=None
        Their class numbers or targets.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the points.
    figure_ : matplotlib Figure
        Figure that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from halfmoon import DataDependentKernel, LapSVC
    >>> from halfmoon.plotting import EmbeddingDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 40, y, -1)
    >>> model = LapSVC(kernel=DataDependentKernel(n_neighbors=8, n_landmarks=100, random_state=0)).fit(X, few)
    >>> display = EmbeddingDisplay.from_estimator(model, X, max_rows=300)
    >>> display.embedding.shape, display.labeled_embedding.shape
    ((300, 2), (40, 2))
    """

    embedding: Matrix
    values: NDArray[Any] | None = None
    classes: NDArray[Any] | None = None
    confidence: Matrix | None = None
    labeled_embedding: Matrix | None = None
    labels: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        groups: Any = None,
        max_rows: int = 2000,
        random_state: Any = 0,
        ax: Any = None,
        legend: bool = True,
    ) -> Self:
        """Embed points by KernelPCA of the kernel of a fitted estimator, scaled to unit diagonal.

        Parameters
        ----------
        estimator : fitted LapSVC, LapRLS, KernelKMeans, SVC(kernel=kernel), LandmarkFeatures or DataDependentKernel
            Where the kernel and the predictions are. A kernel by itself predicts nothing: its points are grey.
        X : array-like or scipy sparse of shape (n, d)
            Points.
        groups : array-like of shape (n,), default=None
            Classes to colour by in place of the predictions.
        max_rows : int, default=2000
            Of more rows, so many are drawn at random; time and memory go with its square.
        random_state : int, RandomState instance or None, default=0
            Seed of this draw and of the eigensolver.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Draw a legend inside the axes, or a scale of colours beside them.

        Returns
        -------
        EmbeddingDisplay
        """
        estimator = unwrap(estimator)
        kernel = fitted_kernel(estimator)
        X, groups = at_most(max_rows, random_state, X, groups)
        prediction = predict(estimator, X) if groups is None else _given(groups)
        known = own_examples(estimator) if groups is None else None
        A = check_points(X)
        n = A.shape[0]
        K = unit_diagonal(kernel(A if known is None else _stacked(A, known[0])))
        pca = KernelPCA(2, kernel="precomputed", random_state=random_state)
        embedding = pca.fit(K[:n, :n]).transform(K[:, :n])
        display = cls(embedding=embedding[:n])
        if prediction is not None:
            display.values, display.classes = prediction.values, prediction.classes
            display.confidence = prediction.confidence if groups is None else None
        if known is not None:
            display.labeled_embedding = embedding[n:]
            display.labels = known[1] if display.classes is None else np.searchsorted(display.classes, known[1])
        return display.plot(ax=ax, legend=legend)

    def plot(self, *, ax: Any = None, legend: bool = True) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Draw a legend inside the axes, or a scale of colours beside them.

        Returns
        -------
        self
        """
        ax = self._take_axes(ax, (6.2, 4.6))
        sure = np.full(len(self.embedding), 0.5) if self.confidence is None else self.confidence
        area, alpha = SMALLEST + (LARGEST - SMALLEST) * sure, FAINTEST + (MOST_OPAQUE - FAINTEST) * sure
        if self.values is None:
            ax.scatter(*self.embedding.T, s=area, alpha=alpha, color=GREY, **EDGE)
        elif self.classes is None:
            self._draw_targets(ax, area, alpha, legend)
        else:
            for number, name in enumerate(self.classes):
                self._draw_class(ax, number, str(name), area, alpha)
            if legend:
                self._draw_legend(ax)
        ax.set(xlabel="first kernel component", ylabel="second kernel component", xticks=[], yticks=[])
        return self

    def _draw_class(self, ax: Any, number: int, name: str, area: Matrix, alpha: Matrix) -> None:
        which = self.values == number
        look = {"color": color(number), "marker": marker(number)}
        ax.scatter(*self.embedding[which].T, s=area[which], alpha=alpha[which], label=name, **look, **EDGE)
        if self.labeled_embedding is not None:
            known = self.labeled_embedding[self.labels == number]
            ax.scatter(*known.T, s=75, edgecolors="black", linewidths=1.2, zorder=3, **look)

    def _draw_targets(self, ax: Any, area: Matrix, alpha: Matrix, legend: bool) -> None:
        assert self.values is not None
        scale = {"cmap": SEQUENTIAL, "vmin": self.values.min(), "vmax": self.values.max()}
        drawn = ax.scatter(*self.embedding.T, s=area, alpha=alpha, c=self.values, **scale, **EDGE)
        if self.labeled_embedding is not None:
            ax.scatter(*self.labeled_embedding.T, s=75, c=self.labels, edgecolors="black", zorder=3, **scale)
        if legend:
            from matplotlib.cm import ScalarMappable

            self.figure_.colorbar(ScalarMappable(drawn.norm, drawn.cmap), ax=ax, label="predicted target")

    def _draw_legend(self, ax: Any) -> None:
        """Draw a legend of classes in full opacity, with what size and edge mean below."""
        assert self.classes is not None
        entries = [
            legend_entry(str(name), color=color(number), marker=marker(number), markersize=6)
            for number, name in enumerate(self.classes)
        ]
        if self.confidence is not None:
            dot = {"color": GREY, "marker": "o"}
            entries.append(legend_entry("sure", alpha=MOST_OPAQUE, markersize=LARGEST**0.5, **dot))
            entries.append(legend_entry("unsure", alpha=FAINTEST, markersize=SMALLEST**0.5, **dot))
        if self.labeled_embedding is not None:
            entries.append(legend_entry("labelled", **LABELED_ENTRY))
        draw_legend(ax, entries)


def _given(groups: Any) -> Prediction:
    """Return given groups in place of predictions."""
    classes, numbers = np.unique(np.asarray(groups), return_inverse=True)
    return Prediction(numbers, np.ones(len(numbers)), classes)


def _stacked(A: Any, B: Any) -> Any:
    return sparse.vstack([A, B], format="csr") if sparse.issparse(A) else np.concatenate([A, B])
