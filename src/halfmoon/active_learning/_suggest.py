"""The question: which rows to label next, given a model, or a kernel before there is any label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from halfmoon._validation import check_choice, check_integer
from halfmoon.active_learning._scenes import scene_of_kernel, scene_of_model
from halfmoon.active_learning._strategies import STRATEGIES, Strategy
from halfmoon.geometry import Geometry
from halfmoon.kernels import DataDependentKernel
from halfmoon.semi_supervised import LapEstimator

__all__ = ["suggest"]


def suggest(
    model: Any,
    n: int = 10,
    strategy: str = "auto",
    random_state: Any = None,
    *,
    exclude: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Return the rows to label next, the most useful first.

    Parameters
    ----------
    model : LapSVC, LapRLSClassifier, LapRLSRegressor, DataDependentKernel or Geometry
        A fitted model; or, before there are labels of two classes, a fitted kernel or a geometry, which know coverage
        and random choice only.
    n : int, default=10
        How many rows.
    strategy : {"auto", "error", "uncertainty", "density", "variance", "coverage", "random"}, default="auto"
        What makes a row useful, see the guide.
    random_state : int, RandomState instance or None, default=None
        Seed of the candidates that are looked at where there are many, and of random choice.
    exclude : array-like of int, default=None
        Rows that are not to be suggested, because somebody has skipped them, say, or labels them right now. For a
        kernel or a geometry: the labelled rows. What is suggested keeps away from them as from labelled rows.

    Returns
    -------
    ndarray of shape (n,)
        Row numbers of the data given to `fit`. No two of them, and none of them and a labelled row, are equal. Fewer
        than n where there are fewer such rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from halfmoon import LapSVC
    >>> from halfmoon.active_learning import suggest
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> few = np.where(np.arange(200) < 4, y, -1)
    >>> model = LapSVC(n_neighbors=8, random_state=0).fit(X, few)
    >>> rows = suggest(model, n=3, random_state=0)
    >>> len(rows), bool((few[rows] == -1).all())
    (3, True)
    """
    check_choice("strategy", strategy, tuple(STRATEGIES))
    n = check_integer("n", n, low=1)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    if isinstance(model, LapEstimator):
        chosen = STRATEGIES[strategy]
        excluded = _rows(exclude, len(model.learned_.problem.training.point))
        rows, scene = scene_of_model(model, chosen, excluded, n, rng)
    elif isinstance(model, DataDependentKernel | Geometry):
        chosen = _before_labels(strategy)
        excluded = _rows(exclude, model.n if isinstance(model, Geometry) else model.n_samples_fit_)
        rows, scene = scene_of_kernel(model, chosen, excluded, n, rng)
    else:
        raise TypeError(f"Rows are suggested by a fitted estimator, kernel or geometry. Got {type(model).__name__}.")
    return rows[chosen.choose(scene, min(n, len(rows)), rng)]


def _before_labels(strategy: str) -> Strategy:
    if strategy not in ("auto", "coverage", "random"):
        raise ValueError(
            f"strategy={strategy!r} needs a model that was fitted to labels; a kernel or a geometry knows 'coverage' "
            "and 'random' only. Label these rows until there are two classes, then fit a model."
        )
    return STRATEGIES["random" if strategy == "random" else "coverage"]


def _rows(exclude: ArrayLike | None, n: int) -> NDArray[np.intp]:
    """Return row numbers, or say which of them does not exist."""
    rows = np.asarray([] if exclude is None else exclude, dtype=np.intp).ravel()
    wrong = rows[(rows < 0) | (rows >= n)]
    if wrong.size:
        raise ValueError(f"exclude holds row {wrong[0]}, but the data have {n} rows, numbered from 0.")
    return rows
