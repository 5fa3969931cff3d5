"""Errors against the number of labels, for several methods on the same draws of labelled rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from halfmoon._validation import check_integer, check_random_state, labeled_mask, take_rows
from halfmoon.plotting.style import Display, color, draw_legend, line, marker, method_numbers

__all__ = ["LabelCurveDisplay"]

COLUMNS = ("method", "n_labeled", "error")


class LabelCurveDisplay(Display):
    """Mean error of several methods against the number of labelled rows, with a band of one standard error.

    Parameters
    ----------
    table : DataFrame, mapping of columns or sequence of mappings
        Results, one row per method, number of labels and draw, with columns "method", "n_labeled" and "error".
    error_name : str, default="test error"
        Name of the error on the axis.

    Attributes
    ----------
    table : dict of ndarray
        The results, by column; ``pandas.DataFrame(display.table)`` is a data frame.
    curves : dict
        For every method: sizes, mean errors and their standard errors (NaN for a single draw).
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that holds them.
    lines_ : list of matplotlib Line2D
        Mean errors, one curve a method.

    Examples
    --------
    >>> from halfmoon.plotting import LabelCurveDisplay
    >>> rows = [{"method": "SVC", "n_labeled": n, "error": e} for n, e in [(10, 0.4), (10, 0.2), (20, 0.1), (20, 0.2)]]
    >>> display = LabelCurveDisplay(rows).plot()
    >>> sizes, means, errors = display.curves["SVC"]
    >>> print(sizes, means.round(3), errors.round(3))
    [10 20] [0.3  0.15] [0.1  0.05]
    """

    def __init__(self, table: Any, *, error_name: str = "test error") -> None:
        self.table = _columns(table)
        self.error_name = error_name
        self.curves = {str(name): self._curve(name) for name in dict.fromkeys(self.table["method"].tolist())}

    def _curve(self, method: Any) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return sizes, mean errors and standard errors of a method."""
        own = self.table["method"] == method
        errors, labeled = self.table["error"][own], self.table["n_labeled"][own]
        sizes, place, draws = np.unique(labeled, return_inverse=True, return_counts=True)
        means = np.bincount(place, weights=errors) / draws
        squares = np.bincount(place, weights=(errors - means[place]) ** 2)
        deviation = np.sqrt(squares / np.where(draws > 1, draws - 1, np.nan))
        return sizes, means, deviation / np.sqrt(draws)

    @classmethod
    def from_estimator(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        sizes: Sequence[int],
        n_draws: int = 10,
        supervised: Sequence[str] = (),
        random_state: Any = None,
        ax: Any = None,
    ) -> Self:
        """Fit every estimator on draws of labelled rows and draw the errors on test points.

        All methods see the same draws. A draw for classes holds every class at least once and is otherwise uniform.

        Parameters
        ----------
        estimators : dict of str to estimator
            Methods by name; they are cloned. All rows of X are given to `fit`, with -1 (None for labels that are no
            numbers, NaN for regressors) in place of the labels that were not drawn.
        X : array-like, DataFrame or scipy sparse of shape (n, d)
            All the data.
        y : array-like of shape (n,)
            Labels or targets of all rows.
        X_test, y_test : array-like
            Test points and their labels or targets.
        sizes : sequence of int
            Numbers of labelled rows.
        n_draws : int, default=10
            Draws for each of them.
        supervised : sequence of str, default=()
            Names of the methods that are fitted on the labelled rows alone, as SVC must be.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        LabelCurveDisplay

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from sklearn.svm import SVC
        >>> from halfmoon import LapSVC
        >>> from halfmoon.plotting import LabelCurveDisplay
        >>> X, y = make_moons(300, noise=0.15, random_state=0)
        >>> display = LabelCurveDisplay.from_estimator(
        ...     {"LapSVC": LapSVC(), "SVC": SVC()}, X[:200], y[:200], X[200:], y[200:],
        ...     sizes=[4, 8], n_draws=2, supervised=["SVC"], random_state=0)
        >>> len(display.table["error"])
        8
        """
        unknown = set(supervised) - set(estimators)
        if unknown:
            raise ValueError(f"supervised={sorted(unknown)} are not among the estimators {sorted(estimators)}.")
        kinds = {is_regressor(estimator) for estimator in estimators.values()}
        if len(kinds) != 1:
            raise ValueError("Pass at least one estimator, and classifiers or regressors but not both.")
        (continuous,) = kinds
        labels = _plain_labels(y, continuous)
        records = []
        for rows, few in _labelings(labels, sizes, n_draws, check_random_state(random_state), continuous):
            for name, estimator in estimators.items():
                if name in supervised:
                    fitted = clone(estimator).fit(take_rows(X, rows), take_rows(y, rows))
                else:
                    fitted = clone(estimator).fit(X, few)
                error = 1.0 - fitted.score(X_test, y_test)
                records.append({"method": name, "n_labeled": len(rows), "error": error})
        return cls(records, error_name="$1 - R^2$ on test points" if continuous else "test error").plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self
        """
        ax = self._take_axes(ax, (5.8, 3.8))
        self.lines_ = []
        numbers = method_numbers(self.curves)
        for name, (sizes, means, errors) in self.curves.items():
            number = numbers[name]
            look = {"color": color(number), "marker": marker(number), "linestyle": line(number)}
            self.lines_ += ax.plot(sizes, means, label=name, linewidth=1.6, markersize=5.5, **look)
            ax.fill_between(sizes, means - errors, means + errors, color=color(number), alpha=0.18, linewidth=0)
        all_sizes = np.unique(self.table["n_labeled"])
        ax.set(xscale="log", xlabel="labelled rows", ylabel=self.error_name)
        ax.set_xticks(all_sizes, [str(size) for size in all_sizes])
        ax.set_xticks([], minor=True)
        ax.set_ylim(bottom=0.0)
        ax.grid(axis="y", linewidth=0.5, alpha=0.5)
        draw_legend(ax, self.lines_)
        return self


def _columns(table: Any) -> dict[str, NDArray[Any]]:
    """Return a data frame, a mapping of columns or records as arrays, by column."""
    if isinstance(table, Sequence):
        names = list(table[0]) if len(table) else []
        table = {name: [record[name] for record in table] for name in names}
    names = list(table.keys()) if isinstance(table, Mapping) else list(table.columns)
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise ValueError(f"The table has no column {missing}. It needs {list(COLUMNS)} and has {names}.")
    columns = {str(name): np.asarray(table[name]) for name in names}
    if len(columns["error"]) == 0:
        raise ValueError("The table of results is empty: there is no curve to draw.")
    return columns


def _plain_labels(y: Any, continuous: bool) -> NDArray[Any]:
    """Return y as an array in which "unlabelled" can be written, and in which every row has a label."""
    values = np.asarray(y, dtype=np.float64 if continuous else None)
    known = ~np.isnan(values) if continuous else labeled_mask(values, len(values))
    if not known.all():
        raise ValueError(
            f"A learning curve draws its labels from y, so every row needs one: {int((~known).sum())} of {len(known)} "
            "rows are unlabelled (-1, None or NaN). Leave them out, or encode a class -1 as another number."
        )
    if continuous or values.dtype.kind in "if":
        return values
    return values.astype(np.int64 if values.dtype.kind in "ub" else object)


def _labelings(
    y: NDArray[Any], sizes: Sequence[int], n_draws: int, rng: Any, continuous: bool
) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
    """Yield the labelled rows of every draw, and y with the labels of the other rows hidden."""
    classes = np.unique(y)
    least, advice = (2, "") if continuous else (len(classes), "Every class is drawn at least once.")
    for size in sizes:
        check_integer("sizes", size, low=least, high=len(y), advice=advice)
    for size in np.repeat(sizes, check_integer("n_draws", n_draws, low=1)):
        first = [] if continuous else [rng.choice(np.flatnonzero(y == name)) for name in classes]
        others = np.setdiff1d(np.arange(len(y)), first)
        rows = np.concatenate([first, rng.choice(others, size=size - len(first), replace=False)]).astype(np.intp)
        few = np.full_like(y, np.nan if continuous else None if y.dtype.kind == "O" else -1)
        few[rows] = y[rows]
        yield rows, few
