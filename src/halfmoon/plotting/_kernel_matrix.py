"""The kernel matrix with its rows in the order of the groups: a kernel that knows the groups shows blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.preprocessing import KernelCenterer

from halfmoon._validation import check_points
from halfmoon.plotting._reading import at_most, fitted_kernel, predict, unit_diagonal, unwrap
from halfmoon.plotting.style import SEQUENTIAL, Display

__all__ = ["KernelMatrixDisplay"]

Matrix = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelMatrixDisplay(Display):
    """A kernel matrix, scaled to unit diagonal, ordered by classes or clusters.

    Of an estimator it shows the data-dependent kernel, without the share of the base kernel that
    `extension="auto"` may add.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The kernel matrix, its rows in the order in which they are drawn.
    groups : ndarray of shape (n,), default=None
        Group of each row; rows of a group are neighbours.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the matrix.
    figure_ : matplotlib Figure
        Figure that holds them.
    image_ : matplotlib AxesImage
        The matrix.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import DataDependentKernel
    >>> from halfmoon.plotting import KernelMatrixDisplay
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> kernel = DataDependentKernel(n_neighbors=8, n_landmarks=40, random_state=0).fit(X)
    >>> display = KernelMatrixDisplay.from_estimator(kernel, X, groups=y)
    >>> display.matrix.shape, display.groups[0], display.groups[-1]
    ((200, 200), np.int64(0), np.int64(1))
    """

    matrix: Matrix
    groups: NDArray[Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        groups: Any = None,
        max_rows: int = 1000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw K(x, x') / sqrt(K(x, x) K(x', x')) of a fitted kernel or estimator.

        Parameters
        ----------
        estimator : fitted DataDependentKernel, LapSVC, LapRLS, KernelKMeans, LandmarkFeatures or SVC(kernel=kernel)
            Where the kernel is.
        X : array-like or scipy sparse of shape (n, d)
            Points.
        groups : array-like of shape (n,), default=None
            Groups to order by. None: the classes or clusters that the estimator predicts, for regressors the
            predicted targets; a kernel by itself leaves the rows in their order.
        max_rows : int, default=1000
            Of more rows, so many are drawn at random.
        random_state : int, RandomState instance or None, default=0
            Seed of this draw.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        KernelMatrixDisplay
        """
        estimator = unwrap(estimator)
        kernel = fitted_kernel(estimator)
        X, groups = at_most(max_rows, random_state, X, groups)
        K = unit_diagonal(kernel(check_points(X)))
        if groups is None:
            order, groups = _order_by_prediction(estimator, X, K)
        else:
            groups = np.asarray(groups)
            order = _order(groups, K)
        display = cls(matrix=K[np.ix_(order, order)], groups=None if groups is None else groups[order])
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the matrix, with lines between the groups and their names beside it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self
        """
        ax = self._take_axes(ax, (5.4, 4.4))
        self.image_ = ax.imshow(self.matrix, cmap=SEQUENTIAL, interpolation="nearest")
        self.figure_.colorbar(self.image_, ax=ax, label="kernel, scaled to unit diagonal")
        if self.groups is None:
            ax.set(xticks=[], yticks=[], xlabel=f"{len(self.matrix)} points")
            return self
        starts = np.flatnonzero(np.concatenate(([True], self.groups[1:] != self.groups[:-1])))
        for start in starts[1:]:
            ax.axhline(start - 0.5, color="white", linewidth=0.8)
            ax.axvline(start - 0.5, color="white", linewidth=0.8)
        middles = (starts + np.append(starts[1:], len(self.groups))) / 2 - 0.5
        names = [str(name) for name in self.groups[starts]]
        ax.set_yticks(middles, names)
        ax.set_xticks(middles, names, rotation=90 if max(map(len, names)) > 3 else 0)
        ax.tick_params(length=0)
        return self


def _order_by_prediction(estimator: Any, X: Any, K: Matrix) -> tuple[NDArray[np.intp], NDArray[Any] | None]:
    """Return an order of the rows and their groups; continuous predictions make an order but no groups."""
    prediction = predict(estimator, X)
    if prediction is None:
        return np.arange(len(K)), None
    if prediction.classes is None:
        return np.argsort(prediction.values, kind="stable"), None
    groups = prediction.classes[prediction.values]
    return _order(groups, K), groups


def _order(groups: NDArray[Any], K: Matrix) -> NDArray[np.intp]:
    """Return the rows group by group, within a group along its first kernel component, so that parts lie together."""
    _, numbers = np.unique(groups, return_inverse=True)
    place = np.empty(len(K))
    for number in range(numbers.max() + 1):
        members = np.flatnonzero(numbers == number)
        centered = KernelCenterer().fit_transform(K[np.ix_(members, members)])
        _, vector = linalg.eigh(centered, subset_by_index=[len(members) - 1, len(members) - 1])
        place[members] = vector[:, 0]
    return np.lexsort((place, numbers))
