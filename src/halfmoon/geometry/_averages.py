"""Means of values on points: how functions on the graph reach points that are not in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["shepard_weights", "weighted_mean"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


def shepard_weights(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Shepard weights, 1 / d^2 scaled to sum 1; points at distance 0 share all the weight."""
    nearest = distances[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(nearest > 0.0, (nearest / distances) ** 2, distances == 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def weighted_mean(values: Matrix, points: Indices, weights: Matrix) -> Matrix:
    """Return sum_j weights_ij values[points_ij] for every row i."""
    means = np.zeros((len(points), values.shape[1]))
    for j in range(points.shape[1]):
        means += weights[:, j, None] * values[points[:, j]]
    return means
