"""Candidates of a search, grouped so that what is expensive is computed once: geometries, kernels, then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from halfmoon.geometry import GeometrySettings
from halfmoon.kernels import SHARED, DataDependentKernel, LandmarkKernel
from halfmoon.regularizers import PowerRegularizer
from halfmoon.runtime.executor import Executor
from halfmoon.runtime.transaction import fitted_names
from halfmoon.semi_supervised import BaseOnRows, KernelMixture, LapEstimator, LearningProblem, PlacedRows, mixture_of

__all__ = ["CandidatesOfKernel", "Group", "grouped"]

Params = dict[str, Any]
Matrix = NDArray[np.float64]

KERNEL = "kernel__"
BASE = ("base_kernel", "gamma", "base_kernel_params")
OF_GEOMETRY = {f"{KERNEL}{field.name}" for field in fields(GeometrySettings)} | {f"{KERNEL}method", *SHARED, "kernel"}


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


@dataclass(frozen=True)
class CandidatesOfKernel:
    """Candidates that share a kernel and the weights of the classes: they are scored by one task.

    Attributes
    ----------
    params : dict
        Parameters of the kernel.
    landmark_kernel : LandmarkKernel
        Its base kernel on the landmarks.
    on_rows : BaseOnRows
        Its base kernel on the labelled rows.
    members : dict
        Number -> the parameters of the estimator.
    """

    params: Params
    landmark_kernel: LandmarkKernel
    on_rows: BaseOnRows
    members: Mapping[int, Params]


@dataclass(frozen=True)
class Group:
    """Candidates on one geometry: built once, with all powers out of one chain and T of the labelled rows.

    Attributes
    ----------
    estimator : LapEstimator
        With the parameters that all candidates share, without a kernel; it has checked the data.
    candidates : dict
        Number -> the other parameters.
    problem : LearningProblem
        What is to be learnt.
    kernel : DataDependentKernel
        A kernel on the geometry.
    placed : PlacedRows or None
        T of the labelled rows; None where no candidate uses it, or they are not rows of the graph.
    """

    estimator: LapEstimator
    candidates: Mapping[int, Params]
    problem: LearningProblem
    kernel: DataDependentKernel
    placed: PlacedRows | None

    @classmethod
    def build(
        cls, estimator: LapEstimator, candidates: Mapping[int, Params], X: Any, y: Any, sample_weight: Any
    ) -> Group:
        """Build the geometry of an estimator whose kernel is a `DataDependentKernel`, and place the labelled rows."""
        problem = estimator.problem(X, y, sample_weight)
        powers = sorted({params.get(f"{KERNEL}power", estimator.kernel.power) for params in candidates.values()})
        kernel = estimator.set_params(kernel__power=powers[0]).fit_kernel(problem.training)
        if len(powers) > 1:
            if not isinstance(kernel.regularizer_, PowerRegularizer):
                raise ValueError(f"A grid over kernel__power needs regularizer='power'. Got {kernel.regularizer!r}.")
            kernel = kernel.rewarp(geometry=kernel.geometry_.replace(powers=tuple(powers)))
        extensions = {params.get(f"{KERNEL}extension", kernel.extension) for params in candidates.values()}
        is_placed = kernel.method != "budget" and extensions != {"kernel"}
        placed = PlacedRows.solve(kernel.geometry_, problem.training.rows) if is_placed else None
        return cls(estimator.set_params(kernel=None), candidates, problem, kernel, placed)

    def by_kernel(self, executor: Executor) -> list[CandidatesOfKernel]:
        """Return the candidates by their kernels; each base kernel is evaluated once."""
        kernels: dict[str, tuple[Params, dict[int, Params]]] = {}
        bases: dict[str, Params] = {}
        for number, params in self.candidates.items():
            of_kernel = {name.removeprefix(KERNEL): params[name] for name in params if name.startswith(KERNEL)}
            rest = {name: params[name] for name in params if not name.startswith(KERNEL)}
            key = _key((of_kernel, rest.get("class_weight")))
            kernels.setdefault(key, (of_kernel, {}))[1][number] = rest
            base = self._base_of(of_kernel)
            bases.setdefault(_key(base), base)
        evaluated = dict(zip(bases, executor.map(_evaluate_base, self, bases.values()), strict=True))
        return [
            CandidatesOfKernel(params, *evaluated[_key(self._base_of(params))], members)
            for params, members in kernels.values()
        ]

    def _base_of(self, params: Params) -> Params:
        return {name: params.get(name, getattr(self.kernel, name)) for name in BASE}

    def kernel_of(self, candidates: CandidatesOfKernel) -> DataDependentKernel:
        """Return the kernel that candidates share: nothing is solved for it."""
        return self.kernel.rewarp(landmark_kernel=candidates.landmark_kernel, **candidates.params)

    def mixture(self, kernel: DataDependentKernel, on_rows: BaseOnRows) -> KernelMixture:
        """Return the kernels on the labelled rows."""
        return mixture_of(kernel, self.problem, self.placed, on_rows)

    def estimator_with(self, params: Params) -> LapEstimator:
        """Return the estimator of a candidate, without a kernel."""
        return clone(self.estimator).set_params(**params)

    def problem_for(self, estimator: LapEstimator) -> LearningProblem:
        """Return the problem under the class weights of an estimator."""
        problem = self.problem
        return LearningProblem.of(problem.unweighted, problem.classes, getattr(estimator, "class_weight", None))

    def fit(self, candidates: CandidatesOfKernel, number: int) -> LapEstimator:
        """Return one of the candidates, fitted to all labels on what the search has computed."""
        estimator, kernel = self.estimator_with(candidates.members[number]), self.kernel_of(candidates)
        for name in fitted_names(self.estimator):  # what the check of the data has found: number and names of features
            setattr(estimator, name, getattr(self.estimator, name))
        kernel, base_columns = estimator.prepare_refits(kernel)
        learned = estimator.learn(self.problem_for(estimator), kernel, self.placed, base_columns)
        return estimator.set_params(kernel=kernel).adopt(learned)


def _evaluate_base(group: Group, base: Params) -> tuple[LandmarkKernel, BaseOnRows]:
    """Evaluate a base kernel on the landmarks and the labelled rows: a task."""
    geometry = group.kernel.geometry_
    kernel = LandmarkKernel.resolve(geometry, base["base_kernel"], base["gamma"], base["base_kernel_params"])
    return kernel, BaseOnRows.compute(kernel, group.problem.training.X_L, geometry.landmark_points)


def _key(value: Any) -> str:
    """Return what equal values have in common, by content: two graphs of equal size are two."""
    try:
        return str(joblib.hash(value))
    except Exception:  # a lambda, say: whatever cannot be pickled is equal to itself alone
        if isinstance(value, dict):
            return repr(sorted((name, _key(part)) for name, part in value.items()))
        if isinstance(value, tuple):
            return repr([_key(part) for part in value])
        return f"{type(value).__name__} at {id(value)}"
