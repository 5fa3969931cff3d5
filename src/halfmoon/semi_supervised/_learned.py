"""A learnt model: mixture of kernels, dual solution, decision function, all from one call without side effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from halfmoon.kernels import DataDependentKernel
from halfmoon.runtime.storable import storable
from halfmoon.semi_supervised._decision import DecisionFunction
from halfmoon.semi_supervised._mixture import KernelMixture
from halfmoon.semi_supervised._mixture_selection import Choice, Coverage, select_mixture
from halfmoon.semi_supervised._placed_rows import PlacedRows
from halfmoon.semi_supervised._problem import LearningProblem
from halfmoon.semi_supervised.losses import DualSolution, Loss

__all__ = ["LearnedModel", "learn", "mixture_of", "place"]


@storable
@dataclass(frozen=True)
class LearnedModel:
    """Everything that a fit has made, in the order in which it was made."""

    problem: LearningProblem
    kernel: DataDependentKernel
    placed: PlacedRows | None
    mixture: KernelMixture
    choice: Choice
    solution: DualSolution
    decision: DecisionFunction


def place(kernel: DataDependentKernel, problem: LearningProblem, known: PlacedRows | None = None) -> PlacedRows | None:
    """Return the rows of T of the labelled rows; None where they are not rows of the geometry, or T is not used."""
    if kernel.method == "budget" or kernel.extension == "kernel":
        return None
    rows, geometry = problem.training.rows, kernel.geometry_
    return PlacedRows.solve(geometry, rows) if known is None else known.extended(geometry, rows)


def mixture_of(kernel: DataDependentKernel, problem: LearningProblem, placed: PlacedRows | None) -> KernelMixture:
    """Return the kernels on the labelled rows."""
    X_L, warped = problem.training.X_L, kernel.warped_
    if placed is not None:
        return KernelMixture(warped, X_L, placed.of_power(warped.power))
    if kernel.extension == "kernel":
        return KernelMixture(warped, X_L, None)
    return KernelMixture(warped, X_L, warped.geometry.place(X_L))  # the budget kernel: new points to its graph


def learn(
    problem: LearningProblem,
    kernel: DataDependentKernel,
    loss: Callable[[float], Loss],
    alpha: float | None,
    known: PlacedRows | None = None,
) -> LearnedModel:
    """Place the labelled rows, choose the mixture and the ridge, solve, and make the decision function.

    `loss` gives the loss for a ridge; `alpha` is that of the user, or None.
    """
    placed = place(kernel, problem, known)
    mixture = mixture_of(kernel, problem, placed)
    choice = choose(problem, kernel, mixture, alpha)
    solution = loss(choice.alpha).fit(mixture.mixed(choice.weights), problem.Y, problem.weights)
    decision = mixture.decision(choice.weights, solution.dual, solution.intercept)
    return LearnedModel(problem, kernel, placed, mixture, choice, solution, decision)


def choose(
    problem: LearningProblem, kernel: DataDependentKernel, mixture: KernelMixture, alpha: float | None
) -> Choice:
    """Return the weights of the kernels and the ridge: as given, or by leave-one-out."""
    if kernel.extension != "auto" and alpha is not None:
        return Choice({kernel.extension: 1.0}, alpha, "as given")
    coverage = coverage_of(problem, kernel)
    choice = select_mixture(mixture, problem.Y, problem.weights, problem.numbers, kernel.extension, coverage)
    return choice if alpha is None else Choice(choice.weights, alpha, f"{choice.reason}; ridge as given")


def coverage_of(problem: LearningProblem, kernel: DataDependentKernel) -> Coverage:
    """Return which components of the graph the labelled rows reach."""
    return Coverage.of(kernel.geometry_, None if kernel.method == "budget" else problem.training.rows)
