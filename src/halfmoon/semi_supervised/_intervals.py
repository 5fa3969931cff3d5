"""95 % intervals of what a report states: few labels leave much open, even where all or none of them are right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["of_difference", "of_mean", "of_share"]

LEVEL = 0.95
Z = float(stats.norm.ppf(0.5 + LEVEL / 2.0))


def of_share(count: int, total: int) -> tuple[float, float]:
    """Return Wilson's interval of a share.

    Examples
    --------
    >>> from halfmoon.semi_supervised._intervals import of_share
    >>> [round(end, 2) for end in of_share(3, 3)]
    [0.44, 1.0]
    """
    if not total:
        return float("nan"), float("nan")
    low, high = stats.binomtest(count, total).proportion_ci(LEVEL, method="wilson")
    return float(low), float(high)


def of_difference(wins: int, losses: int, total: int) -> tuple[float, float]:
    """Return the interval of a difference of paired shares by Bonett and Price: Wald's with one more win and loss.

    Examples
    --------
    >>> from halfmoon.semi_supervised._intervals import of_difference
    >>> [round(end, 2) for end in of_difference(6, 1, 50)]
    [-0.01, 0.21]
    """
    won, lost = (wins + 1) / (total + 2), (losses + 1) / (total + 2)
    half = Z * np.sqrt((won + lost - (won - lost) ** 2) / (total + 2))
    return float(max(won - lost - half, -1.0)), float(min(won - lost + half, 1.0))


def of_mean(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return Student's interval of a mean; without bounds for a single value."""
    if len(values) < 2:
        return -float("inf"), float("inf")
    half = float(stats.t.ppf(0.5 + LEVEL / 2.0, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    mean = float(values.mean())
    return mean - half, mean + half
