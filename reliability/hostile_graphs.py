"""Hostile graphs, matrices and landmarks, and every public entry point that reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks._graph_families import SMALL_FAMILIES
from halfmoon import DataDependentKernel, restrict
from halfmoon.geometry import restrict_powers
from halfmoon.graph import check_graph, connected_components, laplacian
from halfmoon.regularizers import (
    AmplifiedResistance,
    HeatRegularizer,
    MatrixRegularizer,
    PowerRegularizer,
    SpectralRegularizer,
)
from halfmoon.solvers import SOLVERS, solve_sdd
from reliability.judge import Result

__all__ = ["GRAPHS", "GRAPH_CALLS", "Graph"]

Rng = np.random.Generator


@dataclass(frozen=True)
class Graph:
    """A graph, landmarks and a right-hand side."""

    W: Any
    landmarks: Any
    B: Any
    plain: Graph | None = None

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What a call must not change."""
        return self.W, self.landmarks, self.B


def _harmless(rng: Rng) -> Any:
    """Return the weights of a connected graph, dense and symmetric."""
    n = int(rng.integers(6, 30))
    W = np.triu((rng.random((n, n)) < 0.2) * 10 ** rng.uniform(-1, 1, (n, n)), 2) + np.diag(rng.uniform(1, 2, n - 1), 1)
    return W + W.T


def _cell(value: Any, *, both: bool = True) -> Callable[[Rng, Any], Any]:
    def make(rng: Rng, W: Any) -> Any:
        W = W.copy()
        i, j = rng.permutation(len(W))[:2]
        W[i, j] = value
        if both:
            W[j, i] = value
        return W

    return make


def _loops(rng: Rng, W: Any) -> Any:
    return W + np.diag(rng.random(len(W)))


def _explicit_zeros(W: Any) -> Any:
    rows, columns = np.indices(W.shape)
    return sparse.csr_array(sparse.coo_array((W.ravel(), (rows.ravel(), columns.ravel())), shape=W.shape))


def _unsorted(W: Any) -> Any:
    W = sparse.csr_array(W)
    for i in range(W.shape[0]):
        part = slice(W.indptr[i], W.indptr[i + 1])
        W.indices[part], W.data[part] = W.indices[part][::-1].copy(), W.data[part][::-1].copy()
    W.has_sorted_indices = False
    return W


def _bad_indices(W: Any) -> Any:
    W = sparse.csr_array(W)
    W.indices[-1] = 10**6
    return W


def _read_only(W: Any) -> Any:
    W = sparse.csr_array(W)
    for part in (W.data, W.indices, W.indptr):
        part.setflags(write=False)
    return W


def _same(convert: Callable[[Any], Any]) -> Callable[[Rng, Any], Any]:
    return lambda rng, W: (convert(W), W)


def _disconnected(rng: Rng, W: Any) -> Any:
    W = W.copy()
    W[: len(W) // 2, len(W) // 2 :] = W[len(W) // 2 :, : len(W) // 2] = 0.0
    return W


GRAPH_INPUTS: dict[str, Callable[[Rng, Any], Any]] = {
    "harmless": lambda rng, W: W,
    "NaN weight": _cell(np.nan),
    "inf weight": _cell(np.inf),
    "negative weight": _cell(-1.0),
    "one-sided weight": _cell(5.0, both=False),
    "slightly one-sided weight": lambda rng, W: W * (1 + 1e-15 * rng.normal(size=W.shape)),
    **{f"weights of size 1e{e}": (lambda rng, W, e=e: W * 10.0**e) for e in (-300, -200, -100, -30, 30, 100, 200, 300)},
    "weights subnormal": lambda rng, W: (W > 0) * 5e-324,
    "weights of 1e308": lambda rng, W: (W > 0) * 1e308,
    "one weight of 1e-300": _cell(1e-300),
    "one weight of 1e300": _cell(1e300),
    "weights of many sizes": lambda rng, W: (lambda V: V + V.T)(np.triu(W) * 10.0 ** rng.uniform(-12, 12, W.shape)),
    "weights of all sizes": lambda rng, W: (lambda V: V + V.T)(np.triu(W) * 10.0 ** rng.uniform(-300, 300, W.shape)),
    "self-loops": _loops,
    "no edge": lambda rng, W: np.zeros(W.shape),
    "disconnected": _disconnected,
    "an isolated vertex": lambda rng, W: np.pad(W, (0, 1)),
    "complete": lambda rng, W: np.ones(W.shape) - np.eye(len(W)),
    "star": lambda rng, W: nx.to_numpy_array(nx.star_graph(len(W) - 1)),
    "path": lambda rng, W: nx.to_numpy_array(nx.path_graph(len(W))),
    "matching": lambda rng, W: np.kron(np.eye(len(W) // 2), np.array([[0.0, 1.0], [1.0, 0.0]])),
    "many components": lambda rng, W: sparse.block_diag([np.ones((2, 2)) - np.eye(2)] * 100),
    **{
        f"family {name}": (lambda rng, W, family=family: family(rng, len(W))) for name, family in SMALL_FAMILIES.items()
    },
    "integers": lambda rng, W: (np.round(W).astype(int), np.round(W)),
    "int8": lambda rng, W: (np.round(W).astype(np.int8), np.round(W)),
    "bool": lambda rng, W: (W > 0, (W > 0).astype(float)),
    "float16": lambda rng, W: (W.astype(np.float16), W.astype(np.float16).astype(float)),
    "float32": lambda rng, W: (W.astype(np.float32), W.astype(np.float32).astype(float)),
    "object": _same(lambda W: W.astype(object)),
    "complex": lambda rng, W: W + 0j,
    "text": lambda rng, W: W.astype(str),
    "Fortran order": _same(np.asfortranarray),
    "strided": _same(lambda W: np.repeat(np.repeat(W, 2, axis=0), 2, axis=1)[::2, ::2]),
    "read-only sparse": _same(_read_only),
    "masked": lambda rng, W: np.ma.masked_array(W, mask=rng.random(W.shape) < 0.1),
    "list of lists": _same(lambda W: W.tolist()),
    "data frame": _same(pd.DataFrame),
    "networkx graph": _same(nx.from_numpy_array),
    **{
        f"sparse {kind}": _same(getattr(sparse, f"{kind}_array"))
        for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    },
    "sparse matrix": _same(sparse.csr_matrix),
    "sparse with explicit zeros": _same(_explicit_zeros),
    "sparse with unsorted indices": _same(_unsorted),
    "sparse with false indices": lambda rng, W: _bad_indices(W),
    "sparse triangle": lambda rng, W: sparse.csr_array(np.triu(W)),
    "no vertex": lambda rng, W: np.zeros((0, 0)),
    "one vertex": lambda rng, W: np.zeros((1, 1)),
    "two vertices": lambda rng, W: np.array([[0.0, 1.0], [1.0, 0.0]]),
    "not square": lambda rng, W: W[:-1],
    "one dimension": lambda rng, W: W[0],
    "three dimensions": lambda rng, W: W[None],
    "None": lambda rng, W: None,
    "a string": lambda rng, W: "graph",
    "a number": lambda rng, W: 1.0,
}

LANDMARK_INPUTS: dict[str, Callable[[Rng, int], Any]] = {
    "no landmark": lambda rng, n: [],
    "every vertex a landmark": lambda rng, n: np.arange(n),
    "landmarks reversed": lambda rng, n: np.arange(n)[::-1],
    "a landmark twice": lambda rng, n: [0, 1, 1],
    "a landmark too large": lambda rng, n: [0, n],
    "a negative landmark": lambda rng, n: [0, -1],
    "landmarks with fractions": lambda rng, n: [0.5, 1.0],
    "landmarks whole floats": lambda rng, n: [0.0, 1.0],
    "landmarks uint8": lambda rng, n: np.array([0, 2], dtype=np.uint8),
    "landmarks bool": lambda rng, n: np.arange(n) < 3,
    "landmarks NaN": lambda rng, n: [0.0, np.nan],
    "landmarks text": lambda rng, n: ["a"],
    "landmarks None": lambda rng, n: None,
    "landmarks in two dimensions": lambda rng, n: [[0, 1]],
    "a number as landmarks": lambda rng, n: 1,
    "landmarks huge": lambda rng, n: np.array([2**63 - 1]),
}

SIDE_INPUTS: dict[str, Callable[[Rng, int], Any]] = {
    "NaN in B": lambda rng, n: np.where(np.arange(n) == 1, np.nan, 1.0),
    "inf in B": lambda rng, n: np.where(np.arange(n) == 1, np.inf, 1.0),
    **{f"B of size 1e{e}": (lambda rng, n, e=e: rng.normal(size=n) * 10.0**e) for e in (-300, -160, 160, 300)},
    "B of all sizes": lambda rng, n: rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-300, 300, (n, 3)),
    "B zero": lambda rng, n: np.zeros(n),
    "B zero beside others": lambda rng, n: np.column_stack([np.zeros(n), rng.normal(size=n)]),
    "B integers": lambda rng, n: rng.integers(-3, 4, n),
    "B bool": lambda rng, n: rng.random(n) < 0.5,
    "B float16": lambda rng, n: rng.normal(size=n).astype(np.float16),
    "B complex": lambda rng, n: rng.normal(size=n) + 1j,
    "B text": lambda rng, n: np.full(n, "a"),
    "B object": lambda rng, n: rng.normal(size=n).astype(object),
    "B too short": lambda rng, n: np.ones(n - 1),
    "B without columns": lambda rng, n: np.ones((n, 0)),
    "B in three dimensions": lambda rng, n: np.ones((n, 2, 2)),
    "B None": lambda rng, n: None,
    "B sparse": lambda rng, n: sparse.csr_array(np.ones((n, 1))),
    "B Fortran order": lambda rng, n: np.asfortranarray(rng.normal(size=(n, 3))),
    "B strided": lambda rng, n: rng.normal(size=(2 * n, 4))[::2, ::2],
    "B masked": lambda rng, n: np.ma.masked_array(np.ones(n), mask=np.arange(n) == 1),
    "B constant": lambda rng, n: np.ones(n),
}


def _size(W: Any) -> int:
    if isinstance(W, nx.Graph):
        return W.number_of_nodes()
    shape = getattr(W, "shape", None)
    return shape[0] if shape else len(W) if isinstance(W, list) else 3


def _from_graph(maker: Callable[[Rng, Any], Any]) -> Callable[[Rng], Graph]:
    def make(rng: Rng) -> Graph:
        made = maker(rng, _harmless(rng))
        W, plain = made if isinstance(made, tuple) else (made, None)
        n = _size(W)
        S, B = rng.permutation(n)[: max(1, n // 3)], rng.normal(size=(n, 2))
        return Graph(W, S, B, None if plain is None else Graph(plain, S, B))

    return make


def _from_landmarks(maker: Callable[[Rng, int], Any]) -> Callable[[Rng], Graph]:
    def make(rng: Rng) -> Graph:
        W = _harmless(rng)
        return Graph(W, maker(rng, len(W)), rng.normal(size=(len(W), 2)))

    return make


def _from_side(maker: Callable[[Rng, int], Any]) -> Callable[[Rng], Graph]:
    def make(rng: Rng) -> Graph:
        W = _harmless(rng)
        return Graph(W, [0, 1], maker(rng, len(W)))

    return make


GRAPHS: dict[str, dict[str, Callable[[Rng], Graph]]] = {
    "W": {name: _from_graph(maker) for name, maker in GRAPH_INPUTS.items()},
    "landmarks": {name: _from_landmarks(maker) for name, maker in LANDMARK_INPUTS.items()},
    "B": {name: _from_side(maker) for name, maker in SIDE_INPUTS.items()},
}

GRAPH_CALLS: dict[str, tuple[tuple[str, ...], Callable[[Graph], dict[str, Result]]]] = {
    "check_graph": (("W",), lambda g: {"W": Result(check_graph(g.W))}),
    "connected_components": (
        ("W",),
        lambda g: {"labels": Result(connected_components(check_graph(g.W)).labels)},
    ),
    "laplacian": (("W",), lambda g: {"L": Result(laplacian(g.W))}),
    "laplacian normalized": (("W",), lambda g: {"L": Result(laplacian(g.W, normalized=True))}),
}


def _restricted(found: Any) -> dict[str, Result]:
    m = len(found.landmarks)
    return {
        "smooth": Result(found.smooth, (m, m)),
        "error bound": Result(found.error_bound, infinite=True),
        "Q_hat": Result(found.Q_hat_eigenvalues),
    }


def _enter_restrict(name: str, make: Callable[[Any], Any], **options: Any) -> None:
    GRAPH_CALLS[f"restrict {name}"] = (
        ("W", "landmarks"),
        lambda g: _restricted(restrict(make(g.W), g.landmarks, n_jobs=1, **options)),
    )


for solver in ("auto", *SOLVERS):
    _enter_restrict(f"power 2, {solver}", lambda W: PowerRegularizer(W, power=2), solver=solver)
_enter_restrict("power 1 without ridge", lambda W: PowerRegularizer(W, power=1, ridge=0.0, normalized=False))
_enter_restrict("power 6", lambda W: PowerRegularizer(W, power=6))
_enter_restrict("heat", lambda W: HeatRegularizer(W))
_enter_restrict("heat, t = 1e3", lambda W: HeatRegularizer(W, t=1e3))
_enter_restrict("spectral", lambda W: SpectralRegularizer(W, np.expm1))
_enter_restrict("resistance", lambda W: AmplifiedResistance(W))
_enter_restrict("matrix", lambda W: MatrixRegularizer(laplacian(W)))
_enter_restrict("any matrix", lambda W: MatrixRegularizer(W))

GRAPH_CALLS["restrict_powers"] = (
    ("W", "landmarks"),
    lambda g: _restricted(restrict_powers(PowerRegularizer(g.W), g.landmarks, (1, 3), n_jobs=1)[3]),
)
GRAPH_CALLS["restrict a matrix"] = (
    ("W", "landmarks"),
    lambda g: _restricted(restrict(g.W, g.landmarks, n_jobs=1)),
)
for solver in ("auto", *SOLVERS):
    GRAPH_CALLS[f"solve_sdd {solver}"] = (
        ("W", "B"),
        lambda g, solver=solver: {"X": Result(solve_sdd(_dominant(g.W), g.B, solver=solver, n_jobs=1).X)},
    )
GRAPH_CALLS["solve_sdd singular"] = (
    ("W", "B"),
    lambda g: {"X": Result(solve_sdd(laplacian(g.W), g.B, n_jobs=1).X)},
)
GRAPH_CALLS["solve_sdd any matrix"] = (("W", "B"), lambda g: {"X": Result(solve_sdd(g.W, g.B, n_jobs=1).X)})


def _dominant(W: Any) -> Any:
    L = laplacian(W)
    return L + sparse.eye_array(L.shape[0]) * (float(L.diagonal().mean()) if L.shape[0] else 1.0)


def _kernel_on_graph(g: Graph) -> dict[str, Result]:
    n = _size(g.W)
    X = np.random.default_rng(0).normal(size=(n, 2))
    kernel = DataDependentKernel(graph=g.W, landmarks=g.landmarks, n_jobs=1).fit(X)
    return {"K": Result(kernel(X), (n, n))}


GRAPH_CALLS["DataDependentKernel on a graph"] = (("W", "landmarks"), _kernel_on_graph)
