"""extension="auto": how much of the graph, how much of the base kernel, and which ridge, by closed-form leave-one-out.

With few labels a leave-one-out error is noise, so it enters as a likelihood beside a prior: log-loss of the held-out
predictions for classes, squared error for targets. With one label per class the prior decides alone.

The graph enters without its modes ("smooth"): a model has an intercept, and the constant that the graph kernel has too
only takes weight from the rest. The kernel extension is not among the candidates. Most labelled rows are landmarks,
where it has been warped exactly, so that its leave-one-out error says nothing about other rows (docs/estimators.md has
the figures); name an extension to have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.geometry import Geometry
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised.losses import RidgePath, RidgeSolution

__all__ = ["Choice", "Coverage", "Trial", "select_mixture", "trials"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
SHARES: tuple[float, ...] = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0)  # of the base kernel in the sum
ALPHAS = tuple(10.0**e for e in np.arange(-3.0, 0.51, 0.5))  # for classes, kernels of unit diagonal
ALPHAS_OF_TARGETS = tuple(10.0**e for e in np.arange(-5.0, 0.1, 1.0))
TEMPERATURES = 2.0 ** np.arange(6)  # of held-out values, as log-odds
PRIOR_SHARE, WIDTH_OF_SHARE = 0.1, 0.3
PRIOR_LOG_ALPHA, WIDTH_OF_LOG_ALPHA = -1.0, 1.0


@dataclass(frozen=True)
class Coverage:
    """Which components of the graph the labelled rows reach."""

    leaves_components_out: bool  # some component has no labelled row
    beyond_landmarks: bool  # no labelled row shares a component with a landmark: the graph kernel vanishes on all

    @classmethod
    def of(cls, geometry: Geometry, rows: NDArray[np.intp] | None) -> Coverage:
        """Look at the components; None: the rows are not in the graph, but placed by their nearest points."""
        components = geometry.components
        if rows is None:
            return cls(components.count > 1, False)
        reached = components.labels[rows]
        covered = components.covered_by(geometry.landmarks) > 0
        return cls(len(np.unique(reached)) < components.count, not covered[reached].any())


@storable
@dataclass(frozen=True)
class Choice:
    """Weights of the kernels, the ridge that suits them, and the reason."""

    weights: Mapping[str, float]
    alpha: float
    reason: str

    def __str__(self) -> str:
        mix = " + ".join(f"{weight:g} {name}" for name, weight in self.weights.items())
        return f"{mix}, ridge {self.alpha:.2g} ({self.reason})"


@dataclass(frozen=True)
class Trial:
    """One candidate: a mixture, a ridge, and the ridge regression with them."""

    weights: Mapping[str, float]
    alpha: float
    ridge: RidgeSolution
    penalty: float

    def loss(self, problem: LearningProblem) -> float:
        """Return the leave-one-out loss, less the log of the prior."""
        held_out = problem.Y - self.ridge.residuals
        everything = np.ones((1, len(held_out)), dtype=bool)
        return float(_losses(held_out[None], problem, everything)[0]) + self.penalty

    def losses_without_each(self, problem: LearningProblem) -> Vector:
        """Return, for each example i, the leave-one-out loss on the others of models that have not seen i."""
        held_out = problem.Y - self.ridge.residuals_without_each()
        return _losses(held_out, problem, ~np.eye(len(held_out), dtype=bool)) + self.penalty


def trials(mixture: KernelMixture, problem: LearningProblem, extension: str, coverage: Coverage) -> Iterator[Trial]:
    """Yield the candidates: sums of graph and base kernel, or the one that was named, with every ridge."""
    of_classes = problem.classes is not None
    Y = problem.Y if of_classes else problem.Y / problem.unit  # squares of targets must not overflow
    for mix in _mixtures(extension, coverage):
        path = RidgePath(mixture.mixed(mix), Y, problem.weights)
        for alpha in ALPHAS if of_classes else ALPHAS_OF_TARGETS:
            ridge = path.at(alpha)
            ridge = ridge if of_classes else ridge.scaled(problem.unit)
            yield Trial(mix, alpha, ridge, _penalty(mix.get("base", 0.0), alpha) if of_classes else 0.0)


def select_mixture(mixture: KernelMixture, problem: LearningProblem, extension: str, coverage: Coverage) -> Choice:
    """Return the kernel that was named, or the best sum of graph and base kernel, with the best ridge."""
    best = min(trials(mixture, problem, extension, coverage), key=lambda trial: trial.loss(problem))
    return Choice(best.weights, best.alpha, "leave-one-out" if extension == "auto" else "named; ridge by leave-one-out")


def _mixtures(extension: str, coverage: Coverage) -> list[dict[str, float]]:
    """Return the weights to try."""
    if extension != "auto":
        return [{extension: 1.0}]
    # Where a component holds no label the graph says nothing: the base kernel must have a share.
    shares = SHARES[1:] if coverage.leaves_components_out else SHARES
    shares = (1.0,) if coverage.beyond_landmarks else shares
    mixes = [{"smooth": 1.0 - share, "base": share} for share in shares]
    return [{name: weight for name, weight in mix.items() if weight > 0.0} for mix in mixes]


def _penalty(share: float, alpha: float) -> float:
    """Return minus the log of the prior: mostly graph, a moderate ridge; worth a label or two."""
    gap = (share - PRIOR_SHARE) / WIDTH_OF_SHARE, (np.log10(alpha) - PRIOR_LOG_ALPHA) / WIDTH_OF_LOG_ALPHA
    return float(gap[0] ** 2 + gap[1] ** 2) / 2.0


def _losses(held_out: NDArray[np.float64], problem: LearningProblem, counted: NDArray[np.bool_]) -> Vector:
    """Return the loss of held-out values, one row of models (m, l, c) at a time, on the examples that are counted."""
    weights = counted * problem.weights
    if problem.classes is None:
        squares = np.square((held_out - problem.Y) / problem.unit).sum(axis=2)
        return (weights * squares).sum(axis=1) / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)
    return _surprise(held_out, problem.training.targets, weights)


def _surprise(held_out: NDArray[np.float64], classes: NDArray[np.intp], weights: Matrix) -> Vector:
    """Return the summed log-loss at the best temperature; an example alone in its class says nothing when left out."""
    is_of = classes[:, None] == np.arange(classes.max() + 1)
    seen = (weights > 0.0).astype(np.intp) @ is_of.astype(np.intp)  # (m, classes): counted examples
    weights = np.where(seen[:, classes] > 1, weights, 0.0)
    values = np.concatenate([-held_out, held_out], axis=2) if held_out.shape[2] == 1 else held_out
    values = 0.5 * values  # targets -1 and 1: 0 and 1, shifted
    largest = values.max(axis=2)
    own = values[:, np.arange(len(classes)), classes]
    powers, losses = np.exp(values - largest[:, :, None]), []
    for t in TEMPERATURES:  # each is twice the one before
        losses.append((weights * (np.log(powers.sum(axis=2)) + t * (largest - own))).sum(axis=1))
        powers = np.square(powers)
    return np.min(losses, axis=0)
