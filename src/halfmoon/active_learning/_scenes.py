"""The scene of a fitted model, and of a kernel or a geometry before there is any label."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from halfmoon.active_learning._pool import Pool, solved_for, some
from halfmoon.active_learning._scene import JITTER, Scene
from halfmoon.active_learning._strategies import Strategy
from halfmoon.geometry import Geometry
from halfmoon.graph import Components
from halfmoon.kernels import DataDependentKernel, warp
from halfmoon.semi_supervised import KernelMixture, LapEstimator, LearnedModel, mixture_of

__all__ = ["scene_of_kernel", "scene_of_model"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
MOST_EXCLUDED = 500  # that suggestions keep away from; further ones are only passed over
SPARE = 4  # candidates per wanted row, at least: near-duplicates are passed over
BEFORE_LABELS = {"smooth": 0.9, "base": 0.1}  # what models choose when labels say nothing


@dataclass(frozen=True)
class Points:
    """The distinct points: which may be suggested, and what is known without the kernel."""

    group: Indices  # equal points have one number
    component: Indices
    settled: Indices  # points that are labelled, or not to be suggested

    @property
    def free(self) -> Indices:
        """One point of each group that holds no settled one."""
        first = np.unique(self.group, return_index=True)[1]
        taken = np.zeros(self.group.max() + 1, dtype=bool)
        taken[self.group[self.settled]] = True
        return np.sort(first[~taken[self.group[first]]]).astype(np.intp)

    @property
    def sizes(self) -> Indices:
        """Points of each component."""
        return np.bincount(self.component)

    @property
    def visited(self) -> NDArray[np.bool_]:
        """Components that hold a settled point."""
        visited = np.zeros(len(self.sizes), dtype=bool)
        visited[self.component[self.settled]] = True
        return visited

    def of_new_components(self, free: Indices, n: int) -> Indices:
        """Return a free point of each of the n largest components that have not been visited."""
        if len(self.sizes) == 1:
            return np.empty(0, dtype=np.intp)
        present, first = np.unique(self.component[free], return_index=True)
        new = np.flatnonzero(~self.visited[present])
        return free[first[new[np.argsort(-self.sizes[present[new]], kind="stable")[:n]]]]


def scene_of_model(
    model: LapEstimator, strategy: Strategy, exclude: Indices, n: int, rng: np.random.Generator
) -> tuple[Indices, Scene]:
    """Return candidate rows and the scene of a model; rows to exclude are settled too."""
    learned = model.learned_
    training, geometry = learned.problem.training, learned.kernel.geometry_
    n_points = training.X.shape[0]
    known = geometry.n == n_points  # not so for the budget kernel, whose graph has landmarks only
    excluded = np.setdiff1d(training.point[exclude], np.append(training.rows, -1))
    points = Points(
        geometry.duplicates.group if known else np.arange(n_points),
        geometry.components.labels.astype(np.intp) if known else np.zeros(n_points, dtype=np.intp),
        np.concatenate([training.rows, excluded]),
    )
    excluded = some(excluded, MOST_EXCLUDED, rng)
    free = points.free
    gaps = _gaps(model, training.rows_of(free))
    doubt = None if gaps is None else _doubt(gaps)
    at_hand = solved_for(geometry) if learned.placed is not None else None
    wanted = points.of_new_components(free, n)
    pool = Pool.draw(
        free,
        training.copies,
        rng,
        sample=max(strategy.sample, SPARE * n),
        doubted=strategy.doubted,
        at_hand=at_hand,
        doubt=doubt,
        wanted=wanted,
    )
    rows = np.concatenate([excluded, pool.points])
    mixture = _mixture(learned, rows)
    noise = learned.choice.alpha / learned.problem.weights
    own_noise = learned.choice.alpha / float(learned.problem.weights.mean())
    noise = np.concatenate([noise, np.full(len(excluded), own_noise)])
    K = mixture.mixed(learned.choice.weights)
    scene = _scene(K, mixture.base_among, noise, own_noise, pool, points)
    if gaps is not None and doubt is not None:
        place = np.searchsorted(free, pool.points)
        variance = _gap_variance(K[: len(training.rows), : len(training.rows)], learned)
        scene = replace(scene, doubt=doubt[place], gaps=gaps[place], gap_variance=variance)
    return training.rows_of(pool.points), scene


def _mixture(learned: LearnedModel, rows: Indices) -> KernelMixture:
    """Return the kernels of a model on its examples and, after them, on further points."""
    targets = np.zeros(len(rows), dtype=learned.problem.training.targets.dtype)
    problem = learned.problem.extended(rows, targets, np.ones(len(rows)))
    placed = learned.placed
    if placed is not None:
        placed = placed.extended(learned.kernel.geometry_, problem.training.rows)
    return mixture_of(learned.kernel, problem, placed)


def _gaps(model: LapEstimator, rows: Indices) -> Vector | None:
    """Return the gaps between the two best values of a classifier at some rows."""
    if model.learned_.problem.classes is None:
        return None
    values = model.decision_function_[rows]
    if values.ndim == 1:
        return 2.0 * np.abs(values)
    best = np.partition(values, values.shape[1] - 2, axis=1)
    return best[:, -1] - best[:, -2]


def _doubt(gaps: Vector) -> Vector:
    """Return how unsure a classifier is where it has these gaps, between 0 and 1."""
    return np.exp(-gaps / max(float(gaps.mean()), np.finfo(float).tiny)) if len(gaps) else gaps


def _gap_variance(K: Matrix, learned: LearnedModel) -> float:
    """Return the variance of a gap per unit of the kernel, by which the labels are most likely.

    With G = K + noise and r the targets less their intercept, that of one value is r' G^-1 r / (l - 1). Two classes
    have values f and -f; the values of more than two are taken to be independent.
    """
    problem = learned.problem
    G = K + np.diag(learned.choice.alpha / problem.weights + JITTER)
    solved = linalg.solve(G, np.column_stack([np.ones(len(G)), problem.Y]), assume_a="pos")
    intercept = solved[:, 1:].sum(axis=0) / solved[:, 0].sum()
    dual = solved[:, 1:] - np.outer(solved[:, 0], intercept)
    of_values = np.einsum("ic,ic->c", problem.Y, dual) / (len(G) - 1)
    return (4.0 if problem.Y.shape[1] == 1 else 2.0) * max(float(of_values.mean()), np.finfo(float).tiny)


def _scene(K: Matrix, base: Matrix, noise: Vector, own_noise: float, pool: Pool, points: Points) -> Scene:
    """Cut the Gram matrices of settled points and candidates."""
    m = len(pool.points)
    settled, candidates = slice(0, len(K) - m), slice(len(K) - m, None)
    return Scene(
        K[candidates, candidates],
        K[candidates, settled],
        K[settled, settled],
        base[candidates, candidates],
        noise,
        own_noise,
        pool.masses,
        points.component[pool.points],
        points.visited,
        points.sizes.astype(np.float64),
    )


def scene_of_kernel(
    kernel: DataDependentKernel | Geometry, strategy: Strategy, exclude: Indices, n: int, rng: np.random.Generator
) -> tuple[Indices, Scene]:
    """Return candidate rows and the scene of a kernel, with the settled rows that the caller knows."""
    if isinstance(kernel, Geometry):
        geometry, warped, weights = kernel, warp(kernel), BEFORE_LABELS
        numbers = np.arange(geometry.n)
    else:
        geometry, warped = kernel.geometry_, kernel.warped_
        weights = BEFORE_LABELS if kernel.extension == "auto" else {kernel.extension: 1.0}
        numbers = kernel.landmark_indices_ if kernel.method == "budget" else np.arange(geometry.n)
    settled = np.flatnonzero(np.isin(numbers, exclude))
    components: Components = geometry.components
    points = Points(geometry.duplicates.group, components.labels.astype(np.intp), settled)
    settled = some(settled, MOST_EXCLUDED, rng)
    free = points.free
    copies = np.bincount(geometry.duplicates.group)[geometry.duplicates.group]
    wanted = points.of_new_components(free, n)
    sample = max(strategy.sample, SPARE * n)
    pool = Pool.draw(free, copies, rng, sample=sample, doubted=0, at_hand=solved_for(geometry), wanted=wanted)
    rows = np.concatenate([settled, pool.points])
    component = None if components.count == 1 else components.labels[rows].astype(np.intp)
    T = geometry.rows(rows, warped.power)
    mixture = KernelMixture(warped, geometry.X[rows].astype(np.float64), T, component)
    K = mixture.mixed(weights)
    return numbers[pool.points], _scene(K, mixture.base_among, np.zeros(len(settled)), 0.0, pool, points)
