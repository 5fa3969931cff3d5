"""Edge weights as functions of the neighbour distance (sections 2 and 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon._validation import check_choice, check_real

__all__ = ["edge_weights"]

# The heat weight of a far outlier would underflow to 0 and cut its edges. Twelve orders of magnitude are
# as good as zero for a smoothness penalty and still a connected graph for the solvers.
SMALLEST_HEAT_WEIGHT = 1e-12


def edge_weights(
    distances: NDArray[np.float64], weights: str | Callable[[Any], Any], bandwidth: float | None
) -> NDArray[np.float64]:
    """Return positive weights for an array of neighbour distances."""
    if bandwidth is not None and weights != "heat":
        raise ValueError(f"bandwidth={bandwidth!r} goes with weights='heat'. Leave it None for weights={weights!r}.")
    if callable(weights):
        return _checked(np.asarray(weights(distances.copy()), dtype=np.float64), distances)
    return WEIGHTS[check_choice("weights", weights, WEIGHTS, advice="Or pass a function of the distances.")](
        distances, bandwidth
    )


def _binary(distances: NDArray[np.float64], bandwidth: float | None) -> NDArray[np.float64]:
    return np.ones_like(distances)


def _heat(distances: NDArray[np.float64], bandwidth: float | None) -> NDArray[np.float64]:
    """exp(-d^2 / (2 bandwidth^2)), the W(x, x') = exp(-gamma |x - x'|^2) of section 2."""
    if bandwidth is None:
        positive = distances[distances > 0.0]  # copies of a point say nothing about the scale
        bandwidth = float(np.median(positive)) if positive.size else 1.0
    else:
        bandwidth = check_real("bandwidth", bandwidth, strict=True)
    return np.maximum(np.exp(-0.5 * (distances / bandwidth) ** 2), SMALLEST_HEAT_WEIGHT)


def _checked(values: NDArray[np.float64], distances: NDArray[np.float64]) -> NDArray[np.float64]:
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


WEIGHTS = {"binary": _binary, "heat": _heat}
