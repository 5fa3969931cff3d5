"""Candidates of a search, ordered so that what is expensive is computed once: geometries, kernels, then the rest."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import joblib

from halfmoon.geometry import GeometrySettings
from halfmoon.kernels import SHARED, DataDependentKernel, LandmarkKernel
from halfmoon.regularizers import PowerRegularizer
from halfmoon.semi_supervised import BaseOnRows, KernelMixture, LapEstimator, LearningProblem, PlacedRows

__all__ = ["Candidate", "Group", "grouped"]

Params = dict[str, Any]

KERNEL = "kernel__"
BASE = ("base_kernel", "gamma", "base_kernel_params")
OF_GEOMETRY = {f"{KERNEL}{field.name}" for field in fields(GeometrySettings)} | {f"{KERNEL}method", *SHARED, "kernel"}


@dataclass(frozen=True)
class Candidate:
    """One point of the grid, ready to be scored."""

    number: int
    estimator: LapEstimator
    kernel: DataDependentKernel
    mixture: KernelMixture
    problem: LearningProblem
    placed: PlacedRows | None


def grouped(estimator: LapEstimator, candidates: list[Params]) -> Iterator[tuple[Params, dict[int, Params]]]:
    """Yield the parameters that need a geometry of their own, with the candidates that share it, by number."""
    known = estimator.get_params()
    groups: dict[Any, tuple[Params, dict[int, Params]]] = {}
    for number, params in enumerate(candidates):
        unknown = params.keys() - known.keys()
        if unknown:
            raise ValueError(f"The grid names {sorted(unknown)}, which {estimator!r} does not have.")
        shared = {name: value for name, value in params.items() if name in OF_GEOMETRY}
        own = {name: value for name, value in params.items() if name not in OF_GEOMETRY}
        groups.setdefault(_key(shared), (shared, {}))[1][number] = own
    yield from groups.values()


class Group:
    """Candidates on one geometry: built once, with all powers out of one chain and T of the labelled rows.

    Parameters
    ----------
    estimator : LapEstimator
        With the parameters that all candidates share; its kernel is a `DataDependentKernel`.
    candidates : dict
        Number -> the other parameters.
    X, y, sample_weight
        The data.
    """

    def __init__(
        self, estimator: LapEstimator, candidates: Mapping[int, Params], X: Any, y: Any, sample_weight: Any
    ) -> None:
        self.estimator, self.candidates = estimator, candidates
        self.problem = estimator.problem(X, y, sample_weight)
        powers = sorted({params.get(f"{KERNEL}power", estimator.kernel.power) for params in candidates.values()})
        kernel = estimator.set_params(kernel__power=powers[0]).fit_kernel(self.problem)
        if len(powers) > 1 and not isinstance(kernel.regularizer_, PowerRegularizer):
            raise ValueError(f"A grid over kernel__power needs regularizer='power'. Got {kernel.regularizer!r}.")
        geometry = kernel.geometry_ if len(powers) == 1 else kernel.geometry_.replace(powers=tuple(powers))
        self.kernel = kernel.rewarp(geometry=geometry)
        self.X_L = self.problem.training.X_L
        self.placed = self._place()

    def _place(self) -> PlacedRows | None:
        """Return T of the labelled rows, if a candidate uses the graph extension and they are rows of the graph."""
        extensions = {params.get(f"{KERNEL}extension", self.kernel.extension) for params in self.candidates.values()}
        if self.kernel.method == "budget" or extensions == {"kernel"}:
            return None
        return PlacedRows.solve(self.kernel.geometry_, self.problem.training.rows)

    def __iter__(self) -> Iterator[Candidate]:
        """Yield the candidates, kernel by kernel; what the base kernel gives is computed once for each."""
        bases: dict[Any, tuple[LandmarkKernel, BaseOnRows]] = {}
        problems: dict[Any, LearningProblem] = {}
        for of_kernel, numbers in self._by_kernel():
            base = {name: of_kernel.get(name, getattr(self.kernel, name)) for name in BASE}
            if _key(base) not in bases:
                bases[_key(base)] = self._base(base)
            landmark_kernel, on_rows = bases[_key(base)]
            kernel = self.kernel.rewarp(landmark_kernel=landmark_kernel, **of_kernel)
            mixture = KernelMixture(kernel.warped_, self.X_L, self._rows_of_T(kernel), on_rows)
            for number in numbers:
                estimator = copy.copy(self.estimator).set_params(**_rest(self.candidates[number]))
                weight = getattr(estimator, "class_weight", None)
                if _key(weight) not in problems:
                    problems[_key(weight)] = self._weighted(weight)
                yield Candidate(number, estimator, kernel, mixture, problems[_key(weight)], self.placed)

    def _by_kernel(self) -> Iterator[tuple[Params, list[int]]]:
        """Yield parameters of the kernel with the candidates that have them."""
        kernels: dict[Any, tuple[Params, list[int]]] = {}
        for number, params in self.candidates.items():
            own = {name.removeprefix(KERNEL): value for name, value in params.items() if name.startswith(KERNEL)}
            kernels.setdefault(_key(own), (own, []))[1].append(number)
        yield from kernels.values()

    def _base(self, base: Params) -> tuple[LandmarkKernel, BaseOnRows]:
        geometry = self.kernel.geometry_
        kernel = LandmarkKernel.resolve(geometry, base["base_kernel"], base["gamma"], base["base_kernel_params"])
        return kernel, BaseOnRows.compute(kernel, self.X_L, geometry.landmark_points)

    def _rows_of_T(self, kernel: DataDependentKernel) -> Any:
        if kernel.extension == "kernel":
            return None
        return kernel.geometry_.place(self.X_L) if self.placed is None else self.placed.of_power(kernel.warped_.power)

    def _weighted(self, class_weight: Any) -> LearningProblem:
        return LearningProblem.of(self.problem.unweighted, self.problem.classes, class_weight)


def _rest(params: Params) -> Params:
    return {name: value for name, value in params.items() if not name.startswith(KERNEL)}


def _key(value: Any) -> str:
    """Return what equal values have in common, by content: two graphs of equal size are two."""
    try:
        return str(joblib.hash(value))
    except Exception:  # a lambda, say: whatever cannot be pickled is equal to itself alone
        return (
            f"{type(value).__name__} at {id(value)}"
            if not isinstance(value, dict)
            else repr(sorted((name, _key(part)) for name, part in value.items()))
        )
