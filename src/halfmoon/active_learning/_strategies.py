"""The strategies, by name. Each returns the places of n candidates of a scene, the most useful first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from halfmoon.active_learning._batch import Batch
from halfmoon.active_learning._scene import Scene

__all__ = ["STRATEGIES"]

Vector = NDArray[np.float64]
Strategy = Callable[[Scene, int, np.random.Generator], list[int]]
FEW_LABELS = 20


def uncertainty(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Where the two best classes are closest; for numbers, where the predictive deviation is largest."""
    doubt = np.sqrt(np.maximum(np.diagonal(scene.covariance), 0.0)) if scene.doubt is None else scene.doubt
    batch = Batch(scene.K)
    for _ in range(n):
        batch.add(batch.best(doubt * batch.novelty))
    return batch.chosen


def variance(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Where a label takes most variance off all rows."""
    return _reduce_variance(scene, np.ones(scene.m), n)


def density(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Uncertainty, weighted by what a label says about all rows."""
    return _reduce_variance(scene, np.ones(scene.m) if scene.doubt is None else scene.doubt, n)


def coverage(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Farthest, in the kernel's metric, from labelled rows and the batch; every component of the graph first."""
    batch, visited, distances = Batch(scene.K), scene.visited.copy(), scene.distances.copy()
    central = scene.K @ scene.masses / scene.masses.sum()
    for _ in range(n):
        waiting = np.where(visited[scene.component], 0.0, scene.component_sizes[scene.component])
        first = waiting == waiting.max()
        scores = central if np.isinf(distances[first]).any() else distances
        j = batch.best(np.where(first, scores, -np.inf))
        batch.add(j)
        visited[scene.component[j]] = True
        own = np.diagonal(scene.K)
        distances = np.minimum(distances, np.maximum(own + own[j] - 2.0 * scene.K[:, j], 0.0))
    return batch.chosen


def random(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Any unlabelled rows, each as likely as the others."""
    batch = Batch(scene.K)
    for _ in range(n):
        batch.add(batch.best(rng.random(scene.m) * scene.masses))
    return batch.chosen


def auto(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Variance while labels are few, then density."""
    return (variance if len(scene.noise) < FEW_LABELS else density)(scene, n, rng)


def _reduce_variance(scene: Scene, weights: Vector, n: int) -> list[int]:
    """Return rows that take most variance off all rows, times weights, each given the ones before.

    A label at j takes sum_i m_i C_ij^2 / (C_jj + noise) off sum_i m_i C_ii, and leaves C - c_j c_j' / (C_jj + noise).
    """
    C, batch = scene.covariance.copy(), Batch(scene.K)
    for _ in range(n):
        own = np.maximum(np.diagonal(C), 0.0) + scene.own_noise
        gains = (scene.masses @ np.square(C)) / own
        j = batch.best(weights * gains * batch.novelty)
        batch.add(j)
        C -= np.outer(C[:, j], C[:, j] / own[j])
    return batch.chosen


STRATEGIES: dict[str, Strategy] = {
    strategy.__name__: strategy for strategy in (auto, uncertainty, density, variance, coverage, random)
}
