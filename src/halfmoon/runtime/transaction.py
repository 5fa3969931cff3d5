"""Fits that succeed as a whole or leave the estimator as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["fitted_names", "transaction"]

Estimator = TypeVar("Estimator")


def fitted_names(estimator: Any) -> list[str]:
    """Return the attributes that `fit` has set and that users see: their names end in an underscore."""
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


@contextmanager
def transaction(estimator: Estimator) -> Iterator[Estimator]:
    """Yield an unfitted copy to fit; the estimator becomes what it is at the end of the block, unless that fails.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from halfmoon.runtime.transaction import transaction
    >>> model = SVC()
    >>> with transaction(model) as staged:
    ...     _ = staged.fit([[0.0], [1.0]], [0, 1])
    >>> model.classes_
    array([0, 1])
    """
    staged = copy.copy(estimator)
    for name in fitted_names(staged):
        delattr(staged, name)
    yield staged
    estimator.__dict__ = staged.__dict__  # all at once: a refit leaves nothing of the old fit
