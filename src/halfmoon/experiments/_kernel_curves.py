"""One trial of a learning curve: kernels, each with parameters chosen by 5-fold cross-validation, and graph baselines.

Graph and solves are made once per trial: the landmarks of all methods are nested, all powers come from one chain, and
eta, width and the labelled sets of all sizes share the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon import DataDependentKernel, Geometry
from halfmoon.experiments._baselines import BASELINES
from halfmoon.kernels import LandmarkKernel, warp
from halfmoon.semi_supervised import BaseOnRows, KernelMixture, PlacedRows
from halfmoon.semi_supervised.losses import support_vector_machine

__all__ = ["GRAPH_BASELINES", "Curve", "Draw", "Grid", "draw_trial", "errors_of_trial"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
FOLDS = 5
FEWEST = 2  # of each class among the first labels
TEMPERATURES = (1.0, 2.0, 4.0, 8.0)
ROUGH = 1e-3  # tolerance of the machines that are only compared, as in scikit-learn


@dataclass(frozen=True)
class Grid:
    """What is chosen by cross-validation (section 5.1), and what the paper leaves open."""

    powers: tuple[int, ...]
    etas: tuple[float, ...]  # in units of `eta_unit`
    widths: tuple[float, ...] = (0.5, 0.8, 1.3)  # of the RBF kernel, in medians of the distances
    ridge: float = 1e-3
    C: float = 10.0
    n_neighbors: int = 5
    share: float = 0.8  # of the labelled points among the landmarks: the paper's "strong bias"


@dataclass(frozen=True)
class Curve:
    """A method: a kernel by its name in `KernelMixture`, or a baseline on the graph."""

    label: str
    kind: str  # "base", "kernel", "graph", or a baseline
    method: str = "efficient"
    n_landmarks: int = 1  # of the RBF kernel too: its width counts in medians of their distances
    landmarks: str = "nested"


GRAPH_BASELINES = (
    Curve("label spreading", "spreading"),
    Curve("Laplace learning", "laplace"),
    Curve("Poisson learning", "poisson"),
)


@dataclass(frozen=True)
class Draw:
    """Data of one trial; labelled rows and landmarks are ordered, and smaller sets are the first ones."""

    X: NDArray[Any]
    y: NDArray[np.float64]
    X_test: NDArray[Any]
    y_test: NDArray[np.float64]
    labeled: Indices
    landmarks: Indices
    seed: int


def draw_trial(
    X: NDArray[Any], y: NDArray[np.float64], n: int, n_test: int, sizes: tuple[int, ...], share: float, seed: int
) -> Draw:
    """Draw training and test rows, labels and landmarks; the smallest labelled set holds two of each class."""
    fewest, n_labels = min(sizes), max(sizes)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))
    train, test = rows[:n], rows[n : n + n_test]
    labeled = rng.permutation(n)
    while min(np.sum(y[train[labeled[:fewest]]] == sign) for sign in (-1.0, 1.0)) < FEWEST:
        labeled = rng.permutation(n)
    labeled, others = labeled[:n_labels], labeled[n_labels:]
    biased = rng.permutation(labeled)[: int(share * n_labels)]
    landmarks = np.concatenate([biased, others])
    return Draw(X[train], y[train], X[test], y[test], labeled, landmarks, seed)


def errors_of_trial(
    drawn: Draw, curves: tuple[Curve, ...], sizes: tuple[int, ...], grid: Grid
) -> Iterator[dict[str, Any]]:
    """Yield the test error of every method at every number of labels."""
    trial = _Trial(drawn, grid, max(curve.n_landmarks for curve in curves))
    for curve in curves:
        if curve.kind in BASELINES:
            yield from _baseline(curve, trial, sizes)
        else:
            yield from _tuned(curve, trial, sizes)


@dataclass(frozen=True)
class _Candidate:
    """The kernels of one choice of parameters on the labelled rows."""

    params: dict[str, Any]
    mixture: KernelMixture
    is_landmark: NDArray[np.bool_]  # labelled row x landmark

    def gram_without(self, kind: str, held_out: Indices) -> Matrix:
        """Return the kernel on the labelled rows to which the held-out rows are new points."""
        if kind != "kernel":
            return self.mixture.gram(kind)
        left_out: NDArray[np.bool_] = np.any(self.is_landmark[held_out], axis=0)
        return self.mixture.unit(kind) * self.mixture.extended_without(left_out)


class _Trial:
    """Geometries with the solves they share."""

    def __init__(self, drawn: Draw, grid: Grid, most: int) -> None:
        self.drawn, self.grid = drawn, grid
        self.geometry = Geometry.build(drawn.X, landmarks=drawn.landmarks[:most], **self._settings())

    def _settings(self) -> dict[str, Any]:
        return {
            "powers": self.grid.powers,
            "ridge": self.grid.ridge,
            "n_neighbors": self.grid.n_neighbors,
            "n_jobs": 1,
        }

    def geometry_of(self, curve: Curve) -> tuple[Geometry, Indices]:
        """Return the geometry of a method and its landmarks, as rows of the data; nested ones share their solves."""
        first = self.drawn.landmarks[: curve.n_landmarks]
        if curve.method != "efficient":
            power, settings = self.grid.powers[0], self._settings()
            del settings["powers"]
            kernel = DataDependentKernel(
                method=curve.method, landmarks=first if curve.method == "budget" else "random", power=power, **settings
            )
            kernel.fit(self.drawn.X)
            return kernel.geometry_.replace(powers=self.grid.powers), kernel.landmark_indices_
        if curve.landmarks == "nested":
            return self.geometry.fewer_landmarks(np.arange(curve.n_landmarks)), first
        geometry = self.geometry.replace(
            landmarks=curve.landmarks, n_landmarks=curve.n_landmarks, random_state=self.drawn.seed
        )
        return geometry, geometry.landmarks

    def candidates(self, curve: Curve) -> Iterator[_Candidate]:
        """Yield the kernels of every candidate on the labelled rows."""
        (geometry, landmarks), labeled = self.geometry_of(curve), self.drawn.labeled
        X_L, is_landmark = self.drawn.X[labeled].astype(np.float64), labeled[:, None] == landmarks
        placed = PlacedRows.solve(geometry, self.drawn.labeled) if curve.kind == "graph" else None
        median = LandmarkKernel.resolve(geometry, "rbf", None, None).base.params["gamma"]
        plain = curve.kind == "base"
        for width in self.grid.widths:
            base = LandmarkKernel.resolve(geometry, "rbf", median / width**2, None)
            on_rows = BaseOnRows.compute(base, X_L, geometry.landmark_points)
            for power in self.grid.powers[: 1 if plain else None]:
                T = None if placed is None else placed.of_power(power)
                for eta in self.grid.etas[: 1 if plain else None]:
                    kernel = warp(geometry, base_kernel=base, eta=eta, power=power, extension="graph")
                    params = {"power": power, "eta": eta, "width": width}
                    yield _Candidate(params, KernelMixture(kernel, X_L, T, known_base=on_rows), is_landmark)


def _tuned(curve: Curve, trial: _Trial, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield the errors of the candidate that cross-validation prefers at each size."""
    drawn, C = trial.drawn, trial.grid.C
    signs = drawn.y[drawn.labeled]
    best: dict[int, tuple[float, _Candidate]] = {}
    for candidate in trial.candidates(curve):
        for size in sizes:
            loss = cross_validated_loss(partial(candidate.gram_without, curve.kind), signs[:size], C)
            if size not in best or loss < best[size][0]:
                best[size] = loss, candidate
    chosen, intercepts = {}, {}
    for size, (_, candidate) in best.items():
        mixture = candidate.mixture
        dual = np.zeros((len(signs), 1))
        K = mixture.gram(curve.kind)[:size, :size]
        dual[:size, 0], intercepts[size] = support_vector_machine(K, signs[:size], np.full(size, C))
        chosen[size] = mixture, dual
    known = _solved_together(chosen) if curve.kind == "graph" else {}
    for size, (mixture, dual) in chosen.items():
        decision = mixture.decision({curve.kind: 1.0}, dual, np.array([intercepts[size]]), known.get(size))
        loss, candidate = best[size]
        yield _row(curve, size, decision(drawn.X_test)[:, 0], drawn) | {"loss": loss} | candidate.params


def _solved_together(chosen: Mapping[int, tuple[KernelMixture, Matrix]]) -> dict[int, tuple[Matrix, Matrix]]:
    """Return decision values and sizes on the training points: one chain of solves for all machines of a power."""
    known: dict[int, tuple[Matrix, Matrix]] = {}
    for power in {mixture.kernel.power for mixture, _ in chosen.values()}:
        own = {size: pair for size, pair in chosen.items() if pair[0].kernel.power == power}
        graphs = {size: mixture.kernel.graph_extension for size, (mixture, _) in own.items()}
        columns = [
            np.column_stack([mixture.of_graph("graph").on_landmarks(dual), graphs[m].sizes])
            for m, (mixture, dual) in own.items()
        ]
        values = next(iter(graphs.values())).on_points(np.hstack(columns))
        for place, size in enumerate(own):
            known[size] = values[:, [2 * place]], values[:, [2 * place + 1]]
    return known


def cross_validated_loss(gram_without: Callable[[Indices], Matrix], signs: NDArray[np.float64], C: float) -> float:
    """Return the log-loss of 5-fold cross-validation, stratified, at the best temperature.

    Error counts of 20 labels tie between most candidates; log-loss does not, and ranks them alike.
    """
    size = len(signs)
    margins = np.empty(size)
    order = np.argsort(signs, kind="stable")
    for fold in range(FOLDS):
        held_out = order[fold::FOLDS]
        bounds = np.full(size, C)
        bounds[held_out] = 0.0
        K = gram_without(held_out)[:size, :size]
        dual, intercept = support_vector_machine(K, signs, bounds, ROUGH)
        margins[held_out] = signs[held_out] * (K[held_out] @ dual + intercept)
    return float(np.logaddexp(0.0, -np.outer(TEMPERATURES, margins)).mean(axis=1).min())


def _baseline(curve: Curve, trial: _Trial, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    drawn, geometry = trial.drawn, trial.geometry  # new points by their neighbours, as in the graph extension
    for size in sizes:
        known = drawn.labeled[:size]
        f = BASELINES[curve.kind](geometry.graph, known, drawn.y[known])
        values = geometry.average(drawn.X_test, geometry.duplicates.mean(f[:, None]))[:, 0]
        yield _row(curve, size, values, drawn) | {"loss": "", "power": "", "eta": "", "width": ""}


def _row(curve: Curve, size: int, values: NDArray[np.float64], drawn: Draw) -> dict[str, Any]:
    error = float(np.mean(np.where(values > 0.0, 1.0, -1.0) != drawn.y_test))
    return {"method": curve.label, "n_labeled": size, "error": error}
