"""Scores that do not depend on the unit of the targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

__all__ = ["r_squared"]


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
