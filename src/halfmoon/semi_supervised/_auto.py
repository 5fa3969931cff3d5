"""extension="auto": base kernel, kernel extension, graph extension or a sum, by closed-form leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._pieces import LabeledKernels
from halfmoon.semi_supervised._ridge import RidgePath

__all__ = ["ALPHAS", "Choice", "choose_kernel"]

Matrix = NDArray[np.float64]
ALPHAS = tuple(10.0**e for e in range(-6, 2))
TAUS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Choice:
    """Weights of the kernels (each scaled to unit mean diagonal), the ridge that suits them, and the reason."""

    weights: Mapping[str, float]
    alpha: float
    reason: str

    def __str__(self) -> str:
        mix = " + ".join(f"{weight:g} {name}" for name, weight in self.weights.items())
        return f"{mix} ({self.reason})"


def choose_kernel(pieces: LabeledKernels, Y: Matrix, weights: NDArray[np.float64], extension: str) -> Choice:
    """Return the kernel that the user named, or the one with the smallest leave-one-out error."""
    if extension != "auto":
        return best_ridge(pieces, {extension: 1.0}, Y, weights, "as given")[1]
    options: list[dict[str, float]] = [{"graph": 1.0, "base": tau} if tau else {"graph": 1.0} for tau in TAUS]
    options += [{"base": 1.0}, {"kernel": 1.0}]
    found = [best_ridge(pieces, option, Y, weights, "smallest leave-one-out error") for option in options]
    return min(found, key=lambda pair: pair[0])[1]


def best_ridge(
    pieces: LabeledKernels, mix: Mapping[str, float], Y: Matrix, weights: NDArray[np.float64], reason: str
) -> tuple[float, Choice]:
    """Return the smallest leave-one-out error of a sum of kernels over the ridges, and that choice."""
    path = RidgePath(pieces.mixed(mix), Y, weights)
    errors = [np.average(np.square(path.at(alpha).residuals).sum(axis=1), weights=weights) for alpha in ALPHAS]
    best = int(np.argmin(errors))
    return float(errors[best]), Choice(dict(mix), ALPHAS[best], reason)
