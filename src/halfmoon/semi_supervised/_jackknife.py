"""Models that have not seen one example each, nor were chosen with it: what they say of it, and of other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised._learned import LearnedModel, choices_without_each
from halfmoon.semi_supervised._mixture_selection import Choice
from halfmoon.semi_supervised.losses import AugmentedRidge, HeldOutMachines, HingeLoss, RidgeLoss, RidgeSolution

__all__ = ["MOST_MACHINES", "HeldOut", "Jackknife", "JackknifeHinge", "JackknifeRidge", "KernelOnRows"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
KernelOnRows = Callable[[Choice], tuple[Matrix, Vector]]  # kernels of some rows with the examples, and with themselves
MOST_MACHINES = 200  # with more examples a machine leaves out several


@dataclass(frozen=True)
class HeldOut:
    """What models that have not seen an example say: values (..., l, c), and predictive deviations (..., l)."""

    values: NDArray[np.float64]
    deviations: NDArray[np.float64]


class Jackknife(Protocol):
    """One model per example, fitted and chosen without it."""

    @property
    def held_out(self) -> HeldOut:
        """What each example's own model says of it."""
        ...

    def on_rows(self, kernel: KernelOnRows) -> HeldOut:
        """Return what every model says of some rows."""
        ...


@dataclass(frozen=True)
class _RidgeWithout:
    """A ridge solution on all examples, from which those without each of some examples follow."""

    choice: Choice
    left_out: Indices
    solution: RidgeSolution


@dataclass(frozen=True)
class JackknifeRidge:
    """Ridge regressions without each example.

    Attributes
    ----------
    held_out : HeldOut
        What they say of the example that they have not seen.
    """

    Y: Matrix
    weight: float  # of a row more
    models: tuple[_RidgeWithout, ...]
    held_out: HeldOut

    @classmethod
    def fit(cls, learned: LearnedModel, alpha: float | None) -> JackknifeRidge:
        """Choose and fit without each example; `alpha` is the ridge of the user, or None."""
        Y, weights = learned.problem.Y, learned.problem.weights
        values, deviations, models = np.empty_like(Y), np.empty(len(Y)), []
        for choice, left_out in choices_without_each(learned, alpha).groups():
            solution = RidgeLoss(choice.alpha).fit(learned.mixture.mixed(choice.weights), Y, weights)
            models.append(_RidgeWithout(choice, left_out, solution))
            values[left_out] = (Y - solution.residuals)[left_out]
            diagonal = np.maximum(np.diagonal(solution.inverse)[left_out], np.finfo(float).tiny)
            deviations[left_out] = solution.scale / np.sqrt(diagonal)
        return cls(Y, float(weights.mean()), tuple(models), HeldOut(values, deviations))

    def on_rows(self, kernel: KernelOnRows) -> HeldOut:
        """Return what every model says of some rows."""
        parts = []
        for model in self.models:
            augmented = AugmentedRidge.of(model.solution, self.Y, *kernel(model.choice))
            values, deviations = augmented.without(model.left_out, model.choice.alpha / self.weight)
            parts.append((values, model.solution.scale * deviations))
        order = np.argsort(np.concatenate([model.left_out for model in self.models]))
        values, deviations = (np.concatenate(found, axis=1)[:, order] for found in zip(*parts, strict=True))
        return HeldOut(values, deviations)


@dataclass(frozen=True)
class _MachinesWithout:
    """Machines of one choice: those that have not seen each of some examples."""

    choice: Choice
    left_out: Indices  # (some,) examples
    number: Indices  # (some,) their machines
    machines: HeldOutMachines

    def on_rows(self, cross: Matrix) -> NDArray[np.float64]:
        """Return the values (m, some, c) on rows with kernels `cross` to the examples."""
        return self.machines.on_rows(cross)[:, self.number]


@dataclass(frozen=True)
class JackknifeHinge:
    """Support vector machines without each example; above `MOST_MACHINES` examples without one fold each.

    Attributes
    ----------
    held_out : HeldOut
        What they say of the examples that they have not seen; margins know no deviations, which are 1.
    """

    models: tuple[_MachinesWithout, ...]
    held_out: HeldOut

    @classmethod
    def fit(cls, learned: LearnedModel, loss: Callable[[float], HingeLoss], alpha: float | None) -> JackknifeHinge:
        """Choose and fit without each example; `alpha` is 1 / C of the user, or None."""
        Y, weights = learned.problem.Y, learned.problem.weights
        values, models = np.empty_like(Y), []
        for choice, left_out in choices_without_each(learned, alpha).groups():
            # Examples are ordered by row: to deal them out in turn is as good as chance.
            number = np.arange(len(left_out)) % MOST_MACHINES
            folds = [left_out[number == fold] for fold in np.unique(number)]
            K = learned.mixture.mixed(choice.weights)
            machines = HeldOutMachines.fit(loss(choice.alpha), K, Y, weights, folds)
            models.append(_MachinesWithout(choice, left_out, number, machines))
            values[left_out] = np.einsum("iic->ic", models[-1].on_rows(K[left_out]))
        return cls(tuple(models), HeldOut(values, np.ones(len(values))))

    def on_rows(self, kernel: KernelOnRows) -> HeldOut:
        """Return what every machine says of some rows."""
        parts = [model.on_rows(kernel(model.choice)[0]) for model in self.models]
        order = np.argsort(np.concatenate([model.left_out for model in self.models]))
        values = np.concatenate(parts, axis=1)[:, order]
        return HeldOut(values, np.ones(values.shape[:2]))
