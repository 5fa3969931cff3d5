"""The strategies, by name. Each returns the places of n candidates of a scene, the most useful first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.active_learning._batch import Batch
from halfmoon.active_learning._error_reduction import ErrorReduction
from halfmoon.active_learning._scene import Scene
from halfmoon.active_learning._variance_reduction import VarianceReduction

__all__ = ["STRATEGIES", "Strategy"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Strategy:
    """A strategy and the candidates that it looks at.

    Attributes
    ----------
    choose : callable
        Scene, n and a generator -> places of n candidates.
    sample : int
        Candidates that are drawn at random, which stand for all rows.
    doubted : int
        Further candidates: the rows that a classifier is least sure of.
    """

    choose: Callable[[Scene, int, np.random.Generator], list[int]]
    sample: int
    doubted: int


def uncertainty(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Where the two best classes are closest; for numbers, where the predictive deviation is largest."""
    batch, doubt = Batch(scene), _doubt(scene)
    for _ in range(n):
        batch.add(batch.best(doubt * batch.novelty))
    return batch.chosen


def variance(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Where a label takes most variance off all rows, each row given the ones before."""
    batch, reduction = Batch(scene), VarianceReduction(scene)
    for _ in range(n):
        j = batch.best(reduction.gains * batch.novelty)
        batch.add(j)
        reduction.add(j)
    return batch.chosen


def error(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Where a label is expected to take most errors off all rows, each row given the ones before.

    The expected squared error of numbers is their variance.
    """
    if scene.gaps is None:
        return variance(scene, n, rng)
    batch, reduction = Batch(scene), ErrorReduction(scene, scene.gaps, rng)
    for _ in range(n):
        j = batch.best(reduction.gains * batch.novelty)
        batch.add(j)
        reduction.add(j)
    return batch.chosen


def density(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Uncertainty times the root of the variance that a label takes off all rows: what stands for many counts more."""
    batch, reduction, doubt = Batch(scene), VarianceReduction(scene), _doubt(scene)
    for _ in range(n):
        j = batch.best(doubt * np.sqrt(reduction.gains) * batch.novelty)
        batch.add(j)
        reduction.add(j)
    return batch.chosen


def _doubt(scene: Scene) -> Vector:
    return np.sqrt(np.maximum(np.diagonal(scene.covariance), 0.0)) if scene.doubt is None else scene.doubt


def coverage(scene: Scene, n: int, rng: np.random.Generator) -> list[int]:
    """Farthest, in the kernel's metric, from labelled rows and the batch; every component of the graph first."""
    batch, visited, distances = Batch(scene), scene.visited.copy(), scene.distances.copy()
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
    batch = Batch(scene)
    for _ in range(n):
        batch.add(batch.best(rng.random(scene.m)))
    return batch.chosen


STRATEGIES: dict[str, Strategy] = {
    "auto": Strategy(error, 900, 300),
    "error": Strategy(error, 900, 300),
    "uncertainty": Strategy(uncertainty, 300, 300),
    "density": Strategy(density, 900, 300),
    "variance": Strategy(variance, 1200, 0),
    "coverage": Strategy(coverage, 1200, 0),
    "random": Strategy(random, 100, 0),
}
