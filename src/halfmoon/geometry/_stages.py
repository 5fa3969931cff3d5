"""The stages of a geometry, each a function of the one before: index, graph, regulariser, landmarks, restrictions."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_memory

from halfmoon._validation import check_choice, check_integer, check_mapping, check_random_state, check_real
from halfmoon.geometry._landmarks import landmarks_of
from halfmoon.geometry._restriction import Restriction, compute_restriction, compute_restrictions
from halfmoon.graph import (
    METRICS,
    NeighborIndex,
    NeighborLists,
    SearchOptions,
    check_graph,
    check_neighbors,
    graph_of_lists,
)
from halfmoon.regularizers import (
    AmplifiedResistance,
    GraphRegularizer,
    HeatRegularizer,
    MatrixRegularizer,
    PowerRegularizer,
    Regularizer,
)
from halfmoon.runtime.execution import piece
from halfmoon.runtime.small_algebra import small_algebra
from halfmoon.runtime.storable import storable
from halfmoon.solvers import SolveOptions

__all__ = ["GeometrySettings", "choose_landmarks", "index", "regularize", "restrict"]

Indices = NDArray[np.intp]

DEFAULT_LANDMARKS = 500
OF_GRAPH = {
    "bandwidth",
    "connect",
    "metric",
    "method",
    "n_jobs",
    "n_neighbors",
    "progress",
    "query_recall",
    "random_state",
} | {
    "recall",
    "symmetrize",
    "weights",
}  # what graph_params may name; some are parameters of their own
OF_INDEX = ("method", "recall", "query_recall")  # the graph parameters that a search for new points needs too


@storable
@dataclass(frozen=True)
class GeometrySettings:
    """The parameters of `Geometry.build`."""

    n_neighbors: int = 5
    weights: str | Callable[[Any], Any] = "binary"
    metric: str | Callable[..., float] = "euclidean"
    graph: Any = None
    neighbors: Any = None
    graph_params: Mapping[str, Any] | None = None
    regularizer: Any = "power"
    powers: tuple[int, ...] = (3,)
    ridge: float = 1e-2
    normalized: bool = True
    n_landmarks: int | None = None
    landmarks: Any = "random"
    eps: float = 1e-6
    solver: str = "auto"
    memory: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def __post_init__(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, low=1)
        check_real("eps", self.eps, strict=True)
        if not callable(self.metric):
            advice = "Or pass a function of two rows. Precomputed distances go through graph=knn_graph(...)."
            check_choice("metric", self.metric, METRICS, advice=advice)
        if self.graph is not None and self.neighbors is not None:
            raise ValueError("Both 'graph' and 'neighbors' are given, and each says which rows are linked. Give one.")
        parameters = check_mapping("graph_params", self.graph_params)
        unknown = parameters.keys() - OF_GRAPH
        if unknown:
            raise ValueError(f"graph_params={self.graph_params!r}: {sorted(unknown)} are not among {sorted(OF_GRAPH)}.")
        own = {"n_neighbors", "weights", "metric", "n_jobs"} & set(parameters)
        if own:
            raise ValueError(f"graph_params={self.graph_params!r}: {sorted(own)} are parameters of their own.")
        if not (isinstance(self.powers, list | tuple | range) or getattr(self.powers, "ndim", 0) == 1) or not len(
            self.powers
        ):
            raise ValueError(
                f"The 'powers' parameter must be a sequence of integers >= 1. Got {self.powers!r} instead."
            )
        object.__setattr__(self, "powers", tuple(check_integer("powers", p, low=1) for p in self.powers))


def index(X: Any, settings: GeometrySettings) -> NeighborIndex:
    parameters = settings.graph_params or {}
    options = SearchOptions(
        recall=parameters.get("recall", 0.95),
        query_recall=parameters.get("query_recall", 0.99),
        n_jobs=settings.n_jobs,
        seed=_seed(parameters.get("random_state", 0)),
        progress=parameters.get("progress"),
    )
    return NeighborIndex(
        X,
        metric=settings.metric,
        method=parameters.get("method", "auto"),
        options=options,
        only_queries=settings.neighbors is not None,
    )


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(1 << 31))


def regularize(
    index: NeighborIndex, settings: GeometrySettings, known: sparse.csr_array | None
) -> tuple[sparse.csr_array | None, Regularizer]:
    """Return W and Q on the rows of X (section 2)."""
    given = settings.regularizer
    if isinstance(given, Regularizer) or sparse.issparse(given) or isinstance(given, np.ndarray):
        Q = given if isinstance(given, Regularizer) else MatrixRegularizer(given)
        _check_size("regularizer", Q.n, index)
        return None, Q
    if not callable(given):
        check_choice("regularizer", given, REGULARIZERS, advice="Or pass a Regularizer, Q or W -> Q.")
    W = _graph(index, settings) if known is None else known
    Q = given(W) if callable(given) else REGULARIZERS[given](W, settings)
    if not isinstance(Q, Regularizer):
        raise TypeError(f"The 'regularizer' function must return a Regularizer. It returned {Q!r}.")
    if isinstance(Q, GraphRegularizer) and not callable(given) and known is None:
        W = Q.W  # the same graph: one copy in memory and in files
    return W, Q


def _graph(index: NeighborIndex, settings: GeometrySettings) -> sparse.csr_array:
    if settings.graph is not None:
        W = check_graph(settings.graph)
        _check_size("graph", W.shape[0], index)
        return W
    n, k = index.X.shape[0], settings.n_neighbors
    check_integer("n_neighbors", k, low=1, high=n - 1, advice=f"X has {n} rows, so at most {n - 1} others.")
    parameters = dict(settings.graph_params or {})
    seed = _seed(parameters.pop("random_state", 0))
    for name in (*OF_INDEX, "progress"):
        parameters.pop(name, None)
    if settings.neighbors is not None:
        lists = check_neighbors(settings.neighbors, index.X, k, settings.metric)
    else:
        lists = piece(f"neighbours-{k}", partial(check_memory(settings.memory).cache(_lists), index, k))
    W, _ = graph_of_lists(index.X, lists, metric=settings.metric, weights=settings.weights, seed=seed, **parameters)
    return W


def _lists(index: NeighborIndex, k: int) -> NeighborLists:
    return index.neighbors_of_data(k)


def _check_size(name: str, size: int, index: NeighborIndex) -> None:
    if size != index.X.shape[0]:
        raise ValueError(
            f"The '{name}' parameter has {size} vertices but there are {index.X.shape[0]} points to regularise. Give "
            "one vertex per row, in the same order; method='budget' looks at the landmarks only."
        )


def choose_landmarks(X: Any, labeled: NDArray[np.bool_] | None, settings: GeometrySettings) -> Indices:
    """Return the landmarks that settings ask for, by default 500 or all rows (sections 3 and 5.1)."""
    n = X.shape[0]
    size = settings.n_landmarks
    if size is None and (isinstance(settings.landmarks, str) or callable(settings.landmarks)):
        size = min(DEFAULT_LANDMARKS, n)
    y = None if labeled is None else np.where(labeled, 0, -1)
    return landmarks_of(X, size, settings.landmarks, y, random_state=settings.random_state)


def restrict(
    Q: Regularizer, S: Indices, settings: GeometrySettings, known: Mapping[int, Restriction]
) -> dict[int, Restriction]:
    """Return the restrictions to S of all wanted powers, those that are missing from one chain of solves."""
    options = SolveOptions(eps=settings.eps, solver=settings.solver, n_jobs=settings.n_jobs)
    memory = check_memory(settings.memory)
    missing = [power for power in settings.powers if power not in known]
    if not missing:
        return {power: known[power] for power in settings.powers}
    try:
        with small_algebra(len(S)):
            if isinstance(Q, PowerRegularizer):
                found = memory.cache(compute_restrictions)(Q, S, missing, options)
            else:
                found = {settings.powers[0]: memory.cache(compute_restriction)(Q, S, options)}
    except (pickle.PicklingError, AttributeError) as error:
        if settings.memory is None:
            raise
        raise ValueError(
            f"memory={settings.memory!r} needs a regulariser that can be pickled, and {Q!r} cannot ({error}). Define "
            "its function at the top level of a module, or use memory=None."
        ) from error
    return {power: (known | found)[power] for power in settings.powers if power in known or power in found}


REGULARIZERS: dict[str, Callable[[Any, GeometrySettings], Regularizer]] = {
    "power": lambda W, settings: PowerRegularizer(
        W, power=settings.powers[0], normalized=settings.normalized, ridge=settings.ridge
    ),
    "heat": lambda W, settings: HeatRegularizer(W, normalized=settings.normalized),
    "resistance": lambda W, settings: AmplifiedResistance(W),
}
