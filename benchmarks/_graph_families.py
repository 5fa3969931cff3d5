"""Graphs that strain a solver: stiff, nearly disconnected, disconnected, with hubs and with outliers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph import knn_graph

__all__ = ["LARGE_FAMILIES", "SMALL_FAMILIES", "Family", "cloud_with_outlier", "clusters", "squared_exponential"]

Rng = np.random.Generator
MAX_DECADES = 12.0  # of log-uniform weights, and of the weakness of bridges
CLIQUE = 42  # largest clique in a graph of many


def symmetric(n: int, edges: NDArray[np.int64], weights: NDArray[np.float64]) -> sparse.csr_array:
    """Return the graph with the given edges, one row (i, j) each; of repeated edges the first counts."""
    low, high = edges.min(axis=1), edges.max(axis=1)
    _, first = np.unique(low * n + high, return_index=True)
    upper = sparse.csr_array((weights[first], (low[first], high[first])), shape=(n, n))
    return sparse.csr_array(upper + upper.T)


def clusters(n: int, size: int, bridge: float) -> sparse.csr_array:
    """Return cliques of `size` vertices and weights 1, each joined to the next by one edge of weight `bridge`."""
    firsts = range(0, n, size)
    cliques = [_clique(min(size, n - first)) + first for first in firsts]
    bridges = np.array([(first - 1, first) for first in firsts if first > 0]).reshape(-1, 2)
    weights = [np.ones(sum(map(len, cliques))), np.full(len(bridges), bridge)]
    return symmetric(n, np.concatenate([*cliques, bridges]), np.concatenate(weights))


def cloud_with_outlier(rng: Rng, n: int, distance: float) -> NDArray[np.float64]:
    """Return a Gaussian cloud of points in the plane whose first point is far off."""
    X = rng.normal(size=(n, 2))
    X[0] = [distance, 0.0]
    return X


def squared_exponential(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights exp(-d^2), which have no floor."""
    return np.exp(-(distances**2))


def _clique(n: int) -> NDArray[np.int64]:
    return np.column_stack(np.triu_indices(n, 1))


def _chain(n: int) -> NDArray[np.int64]:
    return np.column_stack([np.arange(n - 1), np.arange(1, n)])


def _pairs(rng: Rng, n: int, count: int) -> NDArray[np.int64]:
    pairs = rng.integers(n, size=(count, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def _reweighted(rng: Rng, W: sparse.csr_array) -> sparse.csr_array:
    """Multiply the weights by log-uniform factors over up to 12 decades, or leave them as they are."""
    if rng.random() < 0.4:
        return W
    upper = sparse.triu(W).tocoo()
    weights = upper.data * 10.0 ** rng.uniform(-rng.uniform(0.0, MAX_DECADES), 0.0, upper.nnz)
    return symmetric(W.shape[0], np.column_stack(upper.coords), weights)


def _unweighted(rng: Rng, n: int, edges: NDArray[np.int64]) -> sparse.csr_array:
    return _reweighted(rng, symmetric(n, edges, np.ones(len(edges))))


def random_sparse(rng: Rng, n: int) -> sparse.csr_array:
    """Return a random graph, which may fall apart."""
    return _unweighted(rng, n, _pairs(rng, n, int(n * rng.uniform(0.8, 3.0))))


def bridges(rng: Rng, n: int) -> sparse.csr_array:
    """Return cliques joined by weak edges."""
    size = int(rng.integers(2, max(3, min(CLIQUE, n // 2) + 1)))
    return _reweighted(rng, clusters(n, size, 10.0 ** -rng.uniform(0.0, MAX_DECADES)))


def path(rng: Rng, n: int) -> sparse.csr_array:
    """Return a path."""
    return _unweighted(rng, n, _chain(n))


def star(rng: Rng, n: int) -> sparse.csr_array:
    """Return a star around vertex 0."""
    return _unweighted(rng, n, np.column_stack([np.zeros(n - 1, dtype=int), np.arange(1, n)]))


def clique(rng: Rng, n: int) -> sparse.csr_array:
    """Return the complete graph."""
    return _unweighted(rng, n, _clique(n))


def cliques_on_a_path(rng: Rng, n: int) -> sparse.csr_array:
    """Return a path with a clique at one end (lollipop) or at both (barbell)."""
    size = int(rng.integers(1, max(2, min(CLIQUE, n // 2) + 1)))
    ends = [_clique(size)] if rng.random() < 0.5 else [_clique(size), _clique(size) + n - size]
    return _unweighted(rng, n, np.concatenate([_chain(n), *ends]))


def hubs(rng: Rng, n: int) -> sparse.csr_array:
    """Return a random graph in which a few vertices are joined to all."""
    spokes = [
        np.column_stack([np.full(n, hub), np.arange(n)])[np.arange(n) != hub]
        for hub in rng.permutation(n)[: rng.integers(1, 4)]
    ]
    return _unweighted(rng, n, np.concatenate([_pairs(rng, n, n), *spokes]))


def grid(rng: Rng, n: int) -> sparse.csr_array:
    """Return a grid whose last row may be incomplete."""
    width = int(rng.integers(1, int(n**0.5) + 1))
    vertices = np.arange(n)
    across, down = vertices[(vertices + 1) % width != 0], vertices
    edges = np.concatenate([np.column_stack([across, across + 1]), np.column_stack([down, down + width])])
    return _unweighted(rng, n, edges[edges[:, 1] < n])


def outlier(rng: Rng, n: int) -> sparse.csr_array:
    """Return a k-NN graph with heat weights and an outlier; half of them have the library's floor of 1e-12."""
    X = cloud_with_outlier(rng, n, rng.uniform(0.0, 14.0))
    weights = "heat" if rng.random() < 0.5 else squared_exponential
    return knn_graph(X, n_neighbors=min(n - 1, int(rng.integers(3, 8))), weights=weights, n_jobs=1)


def binary_neighbors(rng: Rng, n: int) -> sparse.csr_array:
    """Return a binary k-NN graph in up to five dimensions."""
    k = min(n - 1, int(rng.integers(4, 10)))
    return knn_graph(rng.normal(size=(n, int(rng.integers(1, 6)))), n_neighbors=k, n_jobs=1)


def several_components(rng: Rng, n: int) -> sparse.csr_array:
    """Return two to four graphs of other families side by side, of very different weights at times."""
    cuts = np.unique([0, *(2 * rng.integers(1, max(2, n // 2), size=rng.integers(1, 4))), n])
    sizes = [size for size in np.diff(cuts) if size > 0]
    makers = [_CONNECTED[name] for name in rng.choice(list(_CONNECTED), size=len(sizes))]
    decades = rng.uniform(0.0, 6.0) * (rng.random() < 0.5)
    blocks = [
        make(rng, int(size)) * 10.0 ** rng.uniform(-decades, decades) if size > 1 else sparse.csr_array((1, 1))
        for make, size in zip(makers, sizes, strict=True)
    ]
    return sparse.csr_array(sparse.block_diag(blocks, format="csr"))


def isolated_vertices(rng: Rng, n: int) -> sparse.csr_array:
    """Return a graph of another family with isolated vertices between its own."""
    lonely = int(rng.integers(1, max(2, n // 3)))
    if n - lonely < 2:
        return sparse.csr_array((n, n))
    W = _CONNECTED[str(rng.choice(list(_CONNECTED)))](rng, n - lonely)
    order = rng.permutation(n)
    return sparse.csr_array(sparse.block_diag([W, sparse.csr_array((lonely, lonely))], format="csr")[order][:, order])


Family = Callable[[Rng, int], sparse.csr_array]
_CONNECTED: dict[str, Family] = {
    "path": path,
    "star": star,
    "cliques on a path": cliques_on_a_path,
    "bridges": bridges,
    "grid": grid,
    "hubs": hubs,
}
_DISCONNECTED: dict[str, Family] = {
    "random sparse": random_sparse,
    "components": several_components,
    "isolated": isolated_vertices,
}
SMALL_FAMILIES: dict[str, Family] = {**_CONNECTED, **_DISCONNECTED, "clique": clique, "outlier": outlier}
LARGE_FAMILIES: dict[str, Family] = {
    **_CONNECTED,
    **_DISCONNECTED,
    "outlier": outlier,
    "k-NN binary": binary_neighbors,
}
