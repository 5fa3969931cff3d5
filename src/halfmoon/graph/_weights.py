"""Edge weights as functions of the neighbour distance (sections 2 and 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import check_choice, check_real

__all__ = ["weight_function"]

Matrix = NDArray[np.float64]
WeightFunction = Callable[[Matrix, NDArray[Any], NDArray[Any]], Matrix]  # distances, vertices, neighbours

# The heat weight of a far outlier would underflow to 0 and cut its edges. Twelve orders of magnitude are
# as good as zero for a smoothness penalty and still a connected graph for the solvers.
SMALLEST_HEAT_WEIGHT = 1e-12


def weight_function(weights: str | Callable[[Any], Any], bandwidth: float | None, distances: Matrix) -> WeightFunction:
    """Return w(d, i, j) > 0, symmetric in i and j, with scales from the neighbour distances of all vertices."""
    if bandwidth is not None and weights != "heat":
        raise ValueError(f"bandwidth={bandwidth!r} goes with weights='heat'. Leave it None for weights={weights!r}.")
    if callable(weights):
        return lambda d, i, j: _checked(np.asarray(weights(d.copy()), dtype=np.float64), d)
    check_choice("weights", weights, WEIGHTS, advice="Or pass a function of the distances.")
    return WEIGHTS[weights](distances, bandwidth)


def _binary(distances: Matrix, bandwidth: float | None) -> WeightFunction:
    return lambda d, i, j: np.ones_like(d)


def _heat(distances: Matrix, bandwidth: float | None) -> WeightFunction:
    """exp(-d^2 / (2 bandwidth^2)), the W(x, x') = exp(-gamma |x - x'|^2) of section 2."""
    width = _typical(distances) if bandwidth is None else check_real("bandwidth", bandwidth, strict=True)
    return lambda d, i, j: _heat_weight(_over(d, width), 0.5)


def _self_tuning(distances: Matrix, bandwidth: float | None) -> WeightFunction:
    """exp(-d_ij^2 / (s_i s_j)) with s_i the distance of i's last neighbour (Zelnik-Manor and Perona)."""
    scale = distances[:, -1].copy()
    scale[scale == 0.0] = _typical(scale)  # a point with k duplicates has no scale of its own
    roots = np.sqrt(scale)
    return lambda d, i, j: _heat_weight(d / roots[i] / roots[j], 1.0)


def _over(distances: Matrix, width: float) -> Matrix:
    with np.errstate(over="ignore"):  # infinitely many widths are as far as many
        return distances / width


def _heat_weight(ratio: Matrix, factor: float) -> Matrix:
    """exp(-factor * ratio^2), at least the smallest heat weight."""
    farthest = 2.0 * np.sqrt(-np.log(SMALLEST_HEAT_WEIGHT) / factor)  # far beyond it squares would overflow
    return np.maximum(np.exp(-factor * np.minimum(ratio, farthest) ** 2), SMALLEST_HEAT_WEIGHT)


def _typical(distances: Matrix) -> float:
    """Return the median distance; duplicates of a point say nothing about the scale."""
    positive = distances[distances > 0.0]
    return float(np.median(positive)) if positive.size else 1.0


def _checked(values: Matrix, distances: Matrix) -> Matrix:
    if values.shape != distances.shape:
        raise ValueError(
            f"The 'weights' function must return one weight a distance: expected shape {distances.shape}, "
            f"got {values.shape}."
        )
    bad = ~(np.isfinite(values) & (values > 0.0))
    if bad.any():
        raise ValueError(
            f"The 'weights' function must return positive finite weights: it gave {values[bad][0]!r} "
            f"for distance {distances[bad][0]:g} ({int(bad.sum())} of {values.size} are wrong)."
        )
    return values


WEIGHTS: dict[str, Callable[[Matrix, float | None], WeightFunction]] = {
    "binary": _binary,
    "heat": _heat,
    "self-tuning": _self_tuning,
}
