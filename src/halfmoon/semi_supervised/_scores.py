"""Scores of labelled rows, in any unit of the targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import r2_score
from sklearn.utils import _safe_indexing

__all__ = ["labeled_rows", "r_squared"]


def r_squared(y: Any, predicted: NDArray[np.float64], sample_weight: Any = None) -> float:
    """Return the coefficient of determination, computed in a unit in which no square overflows or vanishes.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised._scores import r_squared
    >>> y = np.array([1.0, 2.0, 4.0])
    >>> bool(np.isclose(r_squared(1e200 * y, 1.1e200 * y), r_squared(y, 1.1 * y)))
    True
    """
    y = np.asarray(y, dtype=np.float64)
    unit = np.abs(y).max(initial=0.0) or 1.0
    return float(r2_score(y / unit, predicted / unit, sample_weight=sample_weight))


def labeled_rows(X: Any, y: Any, sample_weight: Any, labeled: NDArray[np.bool_]) -> tuple[Any, NDArray[Any], Any]:
    """Return the labelled rows of what is to be scored; there must be some.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised._scores import labeled_rows
    >>> labeled_rows(np.eye(2), np.array([-1, 3]), None, np.array([False, True]))[1]
    array([3])
    """
    if labeled.all():
        return X, y, sample_weight
    if not labeled.any():
        raise ValueError(
            f"None of the {len(labeled)} rows to be scored is labelled. Score rows whose labels are known."
        )
    places = np.flatnonzero(labeled)
    y = np.array(np.asarray(y, dtype=object)[places].tolist())
    weights = None if sample_weight is None else np.asarray(sample_weight)
    if weights is not None and weights.shape != labeled.shape:
        raise ValueError(f"Give one weight per row: expected shape {labeled.shape}, got {weights.shape}.")
    weights = None if weights is None else weights[places]
    X = sparse.csr_array(X) if sparse.issparse(X) else X  # not every format has rows
    return _safe_indexing(X, places), y, weights
