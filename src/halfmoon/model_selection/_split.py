"""Folds of the labelled rows; every unlabelled row is in every training part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.multiclass import type_of_target

from halfmoon._validation import check_flag, check_integer, check_random_state, labeled_mask
from halfmoon.runtime.storable import storable

__all__ = ["LabeledKFold"]

Indices = NDArray[np.intp]


@storable
class LabeledKFold(BaseCrossValidator):
    """K-fold cross-validation over labelled rows only, stratified by class.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; at most the number of labelled rows.
    shuffle : bool, default=True
        Shuffle the rows of each class first.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling.

    Notes
    -----
    A class with one labelled row stays in every training part: held out, it could not be predicted. Classes with
    fewer rows than folds appear in as many test parts as they have rows.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.model_selection import LabeledKFold
    >>> y = np.array([0, 0, 1, 1, -1, -1])
    >>> for train, test in LabeledKFold(2, shuffle=False).split(y, y):
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 2 4 5] [1 3]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield training rows (with all unlabelled ones) and labelled test rows.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            The data; only its length counts.
        y : array-like of shape (n,)
            Labels; -1, NaN, None or pandas.NA mark unlabelled rows. Continuous targets are not stratified.
        groups : ignored
            Present for the API.

        Yields
        ------
        train, test : ndarray
        """
        if not hasattr(y, "__len__") or sparse.issparse(y):
            raise ValueError(f"LabeledKFold needs one label per row. Got y of type {type(y).__name__}.")
        n = len(y)
        labeled = np.flatnonzero(labeled_mask(y, n))
        check_integer(
            "n_splits", self.n_splits, low=2, high=max(len(labeled), 2), advice=f"{len(labeled)} rows are labelled."
        )
        check_flag("shuffle", self.shuffle)
        if len(labeled) < 2:
            raise ValueError(f"Cross-validation needs at least 2 labelled rows. Got {len(labeled)}.")
        for test in self._folds(labeled, np.asarray(y, dtype=object)[labeled]):
            yield np.setdiff1d(np.arange(n), test), test

    def _folds(self, labeled: Indices, values: NDArray[Any]) -> list[Indices]:
        """Deal the rows of each class to the folds in turn, going on where the class before has ended."""
        rng = check_random_state(self.random_state)
        classes = self._classes(values)
        fold = np.full(len(labeled), -1)
        start = 0
        for c in range(classes.max() + 1):
            members = np.flatnonzero(classes == c)
            if len(members) == 1 and classes.max() > 0:
                continue
            members = rng.permutation(members) if self.shuffle else members
            fold[members] = (start + np.arange(len(members))) % self.n_splits
            start += len(members)
        tests = [np.sort(labeled[fold == k]) for k in range(self.n_splits)]
        kept = [test for test in tests if test.size]
        if len(kept) < self.n_splits:
            raise ValueError(
                f"{len(labeled)} labelled rows, most of them alone in their class, do not fill {self.n_splits} folds. "
                "Lower n_splits or label more rows per class."
            )
        return kept

    def _classes(self, values: NDArray[Any]) -> Indices:
        sequence = next((label for label in values.tolist() if not np.isscalar(label)), None)
        if sequence is not None:
            raise ValueError(f"A class is a number or a text. Got {sequence!r} in y. Join its parts into a text.")
        plain = np.array(values.tolist())
        if type_of_target(plain) == "continuous":
            return np.zeros(len(values), dtype=np.intp)
        return np.unique(plain, return_inverse=True)[1]
