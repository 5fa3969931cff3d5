"""Ranks of methods over data sets, and how far apart mean ranks must be to differ (Friedman, Nemenyi; Demsar 2006)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import rankdata, studentized_range

Curve = Mapping[int, float]  # an error for each draw


def mean_ranks(errors: np.ndarray, blocks: Sequence[str]) -> tuple[np.ndarray, int]:
    """Return the mean rank of each column and the number of blocks.

    Rows of one block (a data set with several numbers of labels) are not independent: ranks are first averaged within
    blocks, so that a block counts once. Equal errors share their ranks.

    Examples
    --------
    >>> mean_ranks(np.array([[1.0, 2.0], [3.0, 4.0], [6.0, 5.0]]), ["a", "a", "b"])
    (array([1.5, 1.5]), 2)
    """
    ranks = rankdata(errors, axis=1)
    names = sorted(set(blocks))
    member = np.array(blocks)
    return np.mean([ranks[member == name].mean(axis=0) for name in names], axis=0), len(names)


def critical_difference(n_methods: int, n_blocks: int, level: float = 0.05) -> float:
    """Return the difference of mean ranks beyond which two methods differ at a level (Nemenyi).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)       # Demsar's example
    1.25
    """
    q = studentized_range.ppf(1.0 - level, n_methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_blocks)))


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; 0 for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def best_method(curves: Mapping[str, Curve]) -> str:
    """Return the method with the smallest mean error among those that ran on the most draws: fewer may be easier."""
    most = max(len(curve) for curve in curves.values())
    means = {name: float(np.mean(list(curve.values()))) for name, curve in curves.items() if len(curve) == most}
    return min(means, key=lambda name: means[name])


def near_best(curves: Mapping[str, Curve]) -> dict[str, bool]:
    """Tell which methods are best or within one standard error of the best, on the draws that both have.

    The standard error is that of the paired differences: all methods see the same draws, so how hard a draw is
    cancels.
    """
    best = best_method(curves)
    return {name: name == best or _is_near(curve, curves[best]) for name, curve in curves.items()}


def _is_near(curve: Curve, best: Curve) -> bool:
    behind = [curve[number] - best[number] for number in sorted(curve.keys() & best.keys())]
    return bool(behind) and float(np.mean(behind)) <= standard_error(behind)
