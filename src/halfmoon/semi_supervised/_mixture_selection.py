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
from halfmoon.runtime.executor import Executor
from halfmoon.runtime.progress import report
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised.losses import RidgePath

__all__ = ["Choice", "Coverage", "Trials", "select_mixture", "trials"]

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
class Trials:
    """One mixture with every ridge that is tried for it.

    Attributes
    ----------
    weights : dict
        Weights of the kernels.
    alphas : tuple of float
        Ridges.
    penalties : ndarray
        Minus the log of the prior, for each ridge.
    path : RidgePath
        The ridge regressions with this mixture, of targets in units of `unit`.
    problem : LearningProblem
        What is to be learnt.
    unit : float
        Unit of the targets: squares of them must not overflow.
    """

    weights: Mapping[str, float]
    alphas: tuple[float, ...]
    penalties: Vector
    path: RidgePath
    problem: LearningProblem
    unit: float

    def losses(self) -> Vector:
        """Return the leave-one-out loss of each ridge, less the log of the prior."""
        held_out = self.problem.Y - self.unit * self.path.residuals(self.alphas)
        return _losses(held_out, self.problem, np.ones(held_out.shape[:2], dtype=bool)) + self.penalties

    def losses_without_each(self) -> Matrix:
        """Return, for each ridge and each example i, the loss on the others of models that have not seen i."""
        everyone_else = ~np.eye(len(self.problem.Y), dtype=bool)
        held_out = map(self._held_out_without_each, self.alphas)
        losses = np.array([_losses(values, self.problem, everyone_else) for values in held_out])
        return losses + self.penalties[:, None]

    def _held_out_without_each(self, alpha: float) -> NDArray[np.float64]:
        """Return, for each example i, held-out values of the others by models that have not seen i either."""
        residuals = self.path.at(alpha).scaled(self.unit).residuals_without_each()
        return np.subtract(self.problem.Y, residuals, out=residuals)

    def choice(self, number: int, reason: str) -> Choice:
        """Return one of the ridges with this mixture."""
        return Choice(self.weights, self.alphas[number], reason)


def trials(mixture: KernelMixture, problem: LearningProblem, extension: str, coverage: Coverage) -> list[Trials]:
    """Return the candidates: sums of graph and base kernel, or the one that was named, with every ridge."""
    of_classes = problem.classes is not None
    alphas, unit = (ALPHAS, 1.0) if of_classes else (ALPHAS_OF_TARGETS, problem.unit)
    tried = []
    for mix in _mixtures(extension, coverage):
        penalties = [_penalty(mix.get("base", 0.0), alpha) if of_classes else 0.0 for alpha in alphas]
        path = RidgePath(mixture.mixed(mix), problem.Y / unit, problem.weights)
        tried.append(Trials(mix, alphas, np.array(penalties), path, problem, unit))
    return tried


def select_mixture(
    mixture: KernelMixture,
    problem: LearningProblem,
    extension: str,
    coverage: Coverage,
    executor: Executor | None = None,
) -> Choice:
    """Return the kernel that was named, or the best sum of graph and base kernel, with the best ridge."""
    if executor is not None:
        names = sorted(set().union(*_mixtures(extension, coverage)))
        list(executor.map(KernelMixture.gram, mixture, names))  # side by side; `mixture` keeps what they are made of
    tried = trials(mixture, problem, extension, coverage)
    losses = np.array(list(map(Trials.losses, tried) if executor is None else _reported(executor, tried)))
    best, ridge = np.unravel_index(losses.argmin(), losses.shape)
    return tried[best].choice(int(ridge), "leave-one-out" if extension == "auto" else "named; ridge by leave-one-out")


def _reported(executor: Executor, tried: list[Trials]) -> Iterator[Vector]:
    """Yield the losses of every mixture, and report each."""
    for done, losses in enumerate(executor.map(_losses_of, None, tried), start=1):
        report("selection", done, len(tried))
        yield losses


def _losses_of(_: None, of_mixture: Trials) -> Vector:
    """Return the losses of one mixture: a task."""
    return of_mixture.losses()


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
    # Targets -1 and 1: 0 and 1, shifted. Classes come first: sums over the few of them then run along rows.
    values = np.multiply(0.5, values.transpose(2, 0, 1), order="C")
    largest = values.max(axis=0)
    own = values[classes, :, np.arange(len(classes))].T
    values -= largest  # in place from here on: new pages of memory cost more than the arithmetic
    powers, losses = np.exp(values, out=values), []
    for t in TEMPERATURES:  # each is twice the one before
        losses.append((weights * (np.log(powers.sum(axis=0)) + t * (largest - own))).sum(axis=1))
        np.square(powers, out=powers)
    return np.min(losses, axis=0)
