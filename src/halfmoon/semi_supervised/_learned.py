"""A learnt model: mixture of kernels, dual solution, decision function, all from one call without side effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.kernels import DataDependentKernel
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.executor import Executor, ThreadExecutor, thread_count
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._base_columns import BaseColumns
from halfmoon.semi_supervised._choices_without_each import ChoicesWithoutEach
from halfmoon.semi_supervised._class_priors import AssumedClasses
from halfmoon.semi_supervised._decision import DecisionFunction
from halfmoon.semi_supervised._mixture import BaseOnRows, KernelMixture
from halfmoon.semi_supervised._mixture_selection import Choice, Coverage, select_mixture
from halfmoon.semi_supervised._placed_rows import PlacedRows
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised.losses import DualSolution, Loss

__all__ = [
    "LearnedModel",
    "choices_without_each",
    "choose",
    "coverage_of",
    "is_given",
    "learn",
    "mixture_of",
    "place",
]


@storable
@dataclass(frozen=True)
class LearnedModel:
    """Everything that a fit has made, in the order in which it was made.

    Attributes
    ----------
    problem : LearningProblem
        The labelled examples.
    kernel : DataDependentKernel
        The fitted kernel.
    placed : PlacedRows or None
        Rows of T of the labelled rows.
    mixture : KernelMixture
        The kernels on the labelled rows.
    choice : Choice
        Their weights and the ridge.
    examples : LearningProblem
        What was fitted to: `problem` and, where the shares of the classes are known, landmarks of assumed classes.
    expansion : KernelMixture
        The kernels on the rows of `examples`.
    solution : DualSolution
        Dual coefficients of `examples`.
    decision : DecisionFunction
        The function on all points.
    base_columns : BaseColumns or None
        The base kernel between all training points and `examples`, where refits are to be instant.
    """

    problem: LearningProblem
    kernel: DataDependentKernel
    placed: PlacedRows | None
    mixture: KernelMixture
    choice: Choice
    examples: LearningProblem
    expansion: KernelMixture
    solution: DualSolution
    decision: DecisionFunction
    base_columns: BaseColumns | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return without_caches(self) | {"base_columns": None}

    @cached_property
    def training_values(self) -> NDArray[np.float64]:
        """The decision function at the distinct training points."""
        decision, expansion = self.decision, None
        if self.base_columns is not None and decision.centers is not None:
            expansion = self.base_columns.expansion(self.examples.training.rows, decision.coef)
        return decision.on_training_points(self.problem.training.X, expansion)


def place(kernel: DataDependentKernel, problem: LearningProblem, known: PlacedRows | None = None) -> PlacedRows | None:
    """Return the rows of T of the labelled rows; None where they are not rows of the geometry, or T is not used."""
    if kernel.method == "budget" or kernel.extension == "kernel":
        return None
    rows, geometry = problem.training.rows, kernel.geometry_
    return PlacedRows.solve(geometry, rows) if known is None else known.extended(geometry, rows)


def mixture_of(
    kernel: DataDependentKernel,
    problem: LearningProblem,
    placed: PlacedRows | None,
    known_base: BaseOnRows | None = None,
) -> KernelMixture:
    """Return the kernels on the labelled rows."""
    X_L, warped = problem.training.X_L, kernel.warped_
    if kernel.extension == "kernel":
        return KernelMixture(warped, X_L, None, None, known_base)
    if placed is not None:
        T = placed.of_power(warped.power)
    else:
        T = warped.geometry.place(X_L)  # the budget kernel: new points to its graph
    return KernelMixture(warped, X_L, T, _components_of(kernel, problem), known_base)


def _components_of(kernel: DataDependentKernel, problem: LearningProblem) -> NDArray[np.intp] | None:
    """Return the components of the labelled rows; None where the graph is connected."""
    geometry, rows = kernel.geometry_, problem.training.rows
    if geometry.components.count == 1:
        return None
    if kernel.method == "budget":
        nearest = geometry.index.query(problem.training.X_L, 1)[1][:, 0]
        rows = geometry.duplicates.first[nearest]
    return geometry.components.labels[rows].astype(np.intp)


def learn(
    problem: LearningProblem,
    kernel: DataDependentKernel,
    loss: Callable[[float], Loss],
    alpha: float | None,
    *,
    known: PlacedRows | None = None,
    base_columns: BaseColumns | None = None,
    shares: NDArray[np.float64] | None = None,
) -> LearnedModel:
    """Place the labelled rows, choose the mixture and the ridge, solve, and make the decision function.

    `loss` gives the loss for a ridge; `alpha` is that of the user, or None; `shares` those of the classes, if known.
    Rows of T that are `known`, and `base_columns`, are not computed again.
    """
    # One BLAS thread: matrices of a few hundred rows are too small for more, which would only wait for each other.
    with ThreadExecutor(thread_count(kernel.geometry_.settings.n_jobs)) as executor:
        placed = place(kernel, problem, known)
        mixture = mixture_of(kernel, problem, placed)
        choice = choose(problem, kernel, mixture, alpha, executor)
        examples, expansion = problem, mixture
        if shares is not None:
            assumed = AssumedClasses.of(mixture, problem, kernel.landmark_indices_, shares)
            examples, expansion = assumed.settle(choice), assumed.mixture
        solution = loss(choice.alpha).fit(expansion.mixed(choice.weights), examples.Y, examples.weights)
        decision = expansion.decision(choice.weights, solution.dual, solution.intercept)
        columns = None if base_columns is None else base_columns.of_rows(examples.training.rows)
    return LearnedModel(problem, kernel, placed, mixture, choice, examples, expansion, solution, decision, columns)


def choose(
    problem: LearningProblem,
    kernel: DataDependentKernel,
    mixture: KernelMixture,
    alpha: float | None,
    executor: Executor | None = None,
) -> Choice:
    """Return the weights of the kernels and the ridge: as given, or by leave-one-out."""
    if alpha is not None and is_given(kernel, alpha):
        return Choice({kernel.extension: 1.0}, alpha, "as given")
    choice = select_mixture(mixture, problem, kernel.extension, coverage_of(problem, kernel), executor)
    return choice if alpha is None else Choice(choice.weights, alpha, f"{choice.reason}; ridge as given")


def is_given(kernel: DataDependentKernel, alpha: float | None) -> bool:
    """Return whether the labels had no say in mixture and ridge; `alpha` is the ridge of the user, or None."""
    return kernel.extension != "auto" and alpha is not None


def choices_without_each(
    learned: LearnedModel, alpha: float | None, extension: str | None = None
) -> ChoicesWithoutEach:
    """Return the choices made without each example; `extension` names another kernel than that of the model."""
    problem, kernel = learned.problem, learned.kernel
    name = kernel.extension if extension is None else extension
    return ChoicesWithoutEach.make(learned.mixture, problem, name, coverage_of(problem, kernel), alpha)


def coverage_of(problem: LearningProblem, kernel: DataDependentKernel) -> Coverage:
    """Return which components of the graph the labelled rows reach."""
    return Coverage.of(kernel.geometry_, None if kernel.method == "budget" else problem.training.rows)
