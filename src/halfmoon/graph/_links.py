"""Joining the components of a graph by the shortest links found between them, as Boruvka builds a spanning tree.

In every round each component but the largest looks for its nearest point outside; the links found join at least half
of the components. Of a large component only a sample looks, and the link is then polished: the point of the
component nearest to the far end, and the outside point nearest to that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.metrics import pairwise_distances

from halfmoon.graph._points import column_means

__all__ = ["Links", "shortest_links"]

Indices = NDArray[np.intp]
QUERIES = 4096  # points that look for a link in one round
PANEL = 1 << 23  # distances held at once


@dataclass(frozen=True)
class Links:
    """Edges (tails, heads) with their lengths."""

    tails: Indices
    heads: Indices
    lengths: NDArray[np.float64]

    @classmethod
    def none(cls) -> Links:
        """Return no links."""
        return cls(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))


def shortest_links(X: Any, labels: NDArray[Any], metric: str | Callable[..., float], rng: np.random.Generator) -> Links:
    """Return links between the components `labels` of the rows of X that leave only one."""
    search = _MaskedSearch(X, metric)
    found: list[tuple[int, int, float]] = []
    labels = labels.copy()
    while labels.max() > 0:
        found += _join(search, labels, rng)
    if not found:
        return Links.none()
    tails, heads, lengths = zip(*found, strict=True)
    return Links(np.array(tails, dtype=np.intp), np.array(heads, dtype=np.intp), np.array(lengths, dtype=float))


def _join(search: _MaskedSearch, labels: NDArray[Any], rng: np.random.Generator) -> list[tuple[int, int, float]]:
    """Find one link a component, shortest first, and keep those that join two; relabel what is joined."""
    tails = _spokesmen(labels, rng)
    heads, lengths = search.nearest(tails, labels, labels[tails], inside=False)
    best = np.lexsort((lengths, labels[tails]))
    best = best[np.unique(labels[tails][best], return_index=True)[1]]
    tails, _ = search.nearest(heads[best], labels, labels[tails[best]], inside=True)
    heads, lengths = search.nearest(tails, labels, labels[tails], inside=False)
    count = int(labels.max()) + 1
    parent = np.arange(count)

    def root(component: int) -> int:
        while parent[component] != component:
            component = parent[component]
        return component

    links = []
    for edge in np.argsort(lengths, kind="stable"):
        a, b = root(labels[tails[edge]]), root(labels[heads[edge]])
        if a != b:
            parent[a] = b
            links.append((int(tails[edge]), int(heads[edge]), float(lengths[edge])))
    joined = sparse.csr_array((np.ones(count), (np.arange(count), parent)), shape=(count, count))
    labels[:] = csgraph.connected_components(joined, directed=False)[1][labels]
    return links


def _spokesmen(labels: NDArray[Any], rng: np.random.Generator) -> Indices:
    """Return the points that look for links: of each component but the largest as many as the budget allows."""
    sizes = np.bincount(labels)
    share = max(1, QUERIES // (len(sizes) - 1))
    shuffled = rng.permutation(np.flatnonzero(labels != sizes.argmax()))
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    groups = labels[grouped]
    rank = np.arange(len(grouped)) - np.searchsorted(groups, groups)
    return grouped[rank < share]


class _MaskedSearch:
    """Exact nearest rows inside or outside given components, panel by panel, in any metric."""

    def __init__(self, X: Any, metric: str | Callable[..., float]) -> None:
        self.X, self.metric = X, metric
        # Far from the origin the products behind Euclidean distances would lose all digits.
        centered = metric == "euclidean" and not sparse.issparse(X)
        self.center = column_means(X) if centered else None

    def nearest(
        self, rows: Indices, labels: NDArray[Any], components: NDArray[Any], *, inside: bool
    ) -> tuple[Indices, NDArray[np.float64]]:
        """Return, for each row, the nearest point inside (or outside) the component named beside it."""
        best, nearest = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.intp)
        step = max(1, PANEL // len(rows))
        for start in range(0, self.X.shape[0], step):
            columns = np.arange(start, min(start + step, self.X.shape[0]))
            D = self._distances(rows, columns)
            D[(labels[columns] == components[:, None]) != inside] = np.inf
            place = D.argmin(axis=1)
            values = D[np.arange(len(rows)), place]
            closer = values < best
            best[closer], nearest[closer] = values[closer], columns[place[closer]]
        return nearest, best

    def _distances(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        if self.metric == "precomputed":
            return np.array(self.X[rows][:, columns])
        return pairwise_distances(self._rows(rows), self._rows(columns), metric=self.metric)

    def _rows(self, rows: Indices) -> Any:
        return self.X[rows] if self.center is None else self.X[rows] - self.center
