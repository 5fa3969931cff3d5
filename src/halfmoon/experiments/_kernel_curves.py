"""One trial of a learning curve: kernels, each with parameters chosen by 5-fold cross-validation, and graph baselines.

Graph and solves are made once a trial: the landmarks of all methods are nested, all powers come from one chain, and
eta, width and the labelled sets of all sizes share the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon import DataDependentKernel
from halfmoon.experiments._baselines import BASELINES
from halfmoon.geometry import (
    Restriction,
    interpolation_rows_of_powers,
    restrict_further,
    restrict_powers,
    select_landmarks,
)
from halfmoon.kernels._extensions import GraphExtension
from halfmoon.regularizers import PowerRegularizer
from halfmoon.semi_supervised._losses._hinge import support_vector_machine
from halfmoon.semi_supervised._pieces import LabeledKernels

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
    """A method: a kernel by its name in `LabeledKernels`, or a baseline on the graph."""

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
    """Data of one trial; labelled rows and landmarks in an order of which every beginning serves."""

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
    geometry = _Geometry(drawn, grid, max(curve.n_landmarks for curve in curves))
    for curve in curves:
        if curve.kind in BASELINES:
            yield from _baseline(curve, geometry, sizes)
        else:
            yield from _tuned(curve, geometry, sizes)


class _Geometry:
    """Kernels with the solves they share."""

    def __init__(self, drawn: Draw, grid: Grid, most: int) -> None:
        self.drawn, self.grid = drawn, grid
        self.kernel = self._fit(landmarks=drawn.landmarks[:1])
        self.chain = self._chain(self.kernel, drawn.landmarks[:most], "auto")

    def _fit(self, **params: Any) -> DataDependentKernel:
        """Build graph and regulariser; the solves for all powers follow."""
        parameters: dict[str, Any] = {
            "power": 1,
            "ridge": self.grid.ridge,
            "n_neighbors": self.grid.n_neighbors,
            "n_jobs": 1,
        }
        return DataDependentKernel(**parameters, **params).fit(self.drawn.X)

    def restrictions(self, curve: Curve) -> tuple[DataDependentKernel, Mapping[int, Restriction]]:
        """Return a fitted kernel and its restriction for every power."""
        first = self.drawn.landmarks[: curve.n_landmarks]
        if curve.method != "efficient":
            kernel = self._fit(method=curve.method, landmarks=first, extension=curve.kind)
            return kernel, self._chain(kernel, kernel.restriction_.landmarks, "eigen")
        if curve.landmarks == "nested":
            Q, places = self.kernel.regularizer_, np.arange(curve.n_landmarks)
            return self.kernel, {p: restrict_further(Q, r, places) for p, r in self.chain.items()}
        S = select_landmarks(self.drawn.X, curve.n_landmarks, method=curve.landmarks, random_state=self.drawn.seed)
        return self.kernel, self._chain(self.kernel, S, "auto")

    def _chain(self, kernel: DataDependentKernel, S: Indices, solver: str) -> Mapping[int, Restriction]:
        """Restrict all powers at once."""
        assert isinstance(kernel.regularizer_, PowerRegularizer)
        return restrict_powers(kernel.regularizer_, S, self.grid.powers, solver=solver, n_jobs=1)

    def _placed(self, chain: Mapping[int, Restriction]) -> dict[int, Matrix]:
        """Return the interpolation rows of the labelled points, for every power."""
        Q, graph = self.kernel.regularizer_, self.kernel.extension_
        assert isinstance(Q, PowerRegularizer)
        assert isinstance(graph, GraphExtension)
        return interpolation_rows_of_powers(Q, chain, self.drawn.labeled, graph.options)

    def candidates(self, curve: Curve) -> Iterator[tuple[dict[str, Any], LabeledKernels]]:
        """Yield the parameters of every candidate and its kernels on the labelled rows."""
        kernel, chain = self.restrictions(curve)
        placed = self._placed(chain) if curve.kind == "graph" else {}
        last = None
        median = kernel.variant(restriction=chain[min(chain)], power=min(chain)).base_kernel_.params["gamma"]
        plain = curve.kind == "base"
        for width in self.grid.widths:
            for power in self.grid.powers[: 1 if plain else None]:
                for eta in self.grid.etas[: 1 if plain else None]:
                    kernel = kernel.variant(restriction=chain[power], power=power, eta=eta, gamma=median / width**2)
                    pieces = LabeledKernels(kernel, self.drawn.X, self.drawn.labeled, placed.get(power))
                    last = pieces.sharing_base(last)
                    yield {"power": power, "eta": eta, "width": width}, last


def _tuned(curve: Curve, geometry: _Geometry, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield the errors of the candidate that cross-validation prefers at each size."""
    drawn, C = geometry.drawn, geometry.grid.C
    signs = drawn.y[drawn.labeled]
    best: dict[int, tuple[float, dict[str, Any], LabeledKernels]] = {}
    for params, pieces in geometry.candidates(curve):
        for size in sizes:
            loss = cross_validated_loss(partial(_gram_without, pieces, curve.kind), signs[:size], C)
            if size not in best or loss < best[size][0]:
                best[size] = loss, params, pieces
    chosen, intercepts = {}, {}
    for size, (_, _, pieces) in best.items():
        dual = np.zeros((len(signs), 1))
        K = pieces.gram(curve.kind)[:size, :size]
        dual[:size, 0], intercepts[size] = support_vector_machine(K, signs[:size], np.full(size, C))
        chosen[size] = pieces, dual
    known = _solved_together(chosen) if curve.kind == "graph" else {}
    for size, (pieces, dual) in chosen.items():
        decision = pieces.decision({curve.kind: 1.0}, dual, np.array([intercepts[size]]), known.get(size))
        loss, params, _ = best[size]
        yield _row(curve, size, decision(drawn.X_test)[:, 0], drawn) | {"loss": loss} | params


def _solved_together(chosen: Mapping[int, tuple[LabeledKernels, Matrix]]) -> dict[int, Matrix]:
    """Return the decision values on the training points: one chain of solves for all machines of a power."""
    known: dict[int, Matrix] = {}
    for power in {pieces.kernel.power for pieces, _ in chosen.values()}:
        own = {size: pair for size, pair in chosen.items() if pair[0].kernel.power == power}
        graphs = {size: pieces.placed[0] for size, (pieces, _) in own.items()}
        columns = [np.column_stack([pieces.on_landmarks(dual), graphs[m].sizes]) for m, (pieces, dual) in own.items()]
        values = next(iter(graphs.values())).on_training_points(np.hstack(columns))
        for place, (size, graph) in enumerate(graphs.items()):
            known[size], graph.sizes_everywhere = np.hsplit(values[:, 2 * place : 2 * place + 2], 2)
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


def _gram_without(pieces: LabeledKernels, kind: str, held_out: Indices) -> Matrix:
    """Return the kernel on the labelled rows to which the held-out rows are new points."""
    return pieces.unit(kind) * pieces.bent_without(held_out) if kind == "kernel" else pieces.gram(kind)


def _baseline(curve: Curve, geometry: _Geometry, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    drawn, graph = geometry.drawn, geometry.kernel.extension_
    assert isinstance(graph, GraphExtension)  # new points by their neighbours, as in the graph extension
    for size in sizes:
        known = drawn.labeled[:size]
        f = BASELINES[curve.kind](geometry.kernel.graph_, known, drawn.y[known])
        values = graph.average(drawn.X_test, graph.copies.mean(f[:, None]))[:, 0]
        yield _row(curve, size, values, drawn) | {"loss": "", "power": "", "eta": "", "width": ""}


def _row(curve: Curve, size: int, values: NDArray[np.float64], drawn: Draw) -> dict[str, Any]:
    error = float(np.mean(np.where(values > 0.0, 1.0, -1.0) != drawn.y_test))
    return {"method": curve.label, "n_labeled": size, "error": error}
