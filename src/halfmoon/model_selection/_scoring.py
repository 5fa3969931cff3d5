"""Scores on labelled rows only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer

from halfmoon._validation import labeled_mask
from halfmoon.semi_supervised import labeled_rows

__all__ = ["labeled_scorer"]


def labeled_scorer(scoring: Any) -> Callable[[Any, Any, Any], float]:
    """Return a scorer that leaves unlabelled rows out, for `cross_val_score` and `GridSearchCV`.

    Classes -1, None and NaN, and targets NaN, mark unlabelled rows. A part without labelled rows raises.

    Parameters
    ----------
    scoring : str or callable
        As in scikit-learn, such as "balanced_accuracy".

    Returns
    -------
    callable
        With the signature ``scorer(estimator, X, y)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.model_selection import cross_val_score
    >>> from halfmoon import LapSVC
    >>> from halfmoon.model_selection import LabeledKFold, labeled_scorer
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> few = np.where(np.arange(100) < 30, y, -1)
    >>> scorer = labeled_scorer("balanced_accuracy")
    >>> scores = cross_val_score(LapSVC(n_neighbors=15), X, few, cv=LabeledKFold(3), scoring=scorer)
    >>> bool(scores.mean() > 0.6)
    True
    """
    return _LabeledScorer(get_scorer(scoring))


class _LabeledScorer:
    """A scorer as an object: it can be pickled."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        labeled = labeled_mask(y, len(y)) if is_classifier(estimator) else ~np.isnan(np.asarray(y, dtype=np.float64))
        X, y, _ = labeled_rows(X, y, None, labeled)
        return float(self.scorer(estimator, X, y))
