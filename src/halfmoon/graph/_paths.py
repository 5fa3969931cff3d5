"""Shortest paths along the graph, where an edge of weight w has length 1 / w."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

__all__ = ["Path", "shortest_paths"]

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Path:
    """A shortest path: its vertices from one end to the other, and its length, the sum of 1 / w over its edges."""

    vertices: Indices
    length: float


def shortest_paths(W: sparse.csr_array, starts: Indices, ends: Indices) -> list[Path | None]:
    """Return a shortest path from each start to the end beside it; None where there is none.

    One run of Dijkstra's algorithm per distinct start, or per distinct end if these are fewer: O(m log n) each.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import check_graph, shortest_paths
    >>> W = check_graph(np.array([[0.0, 1.0, 0.2], [1.0, 0.0, 1.0], [0.2, 1.0, 0.0]]))
    >>> shortest_paths(W, np.array([0]), np.array([2]))[0].vertices.tolist()      # 1 + 1 is less than 1 / 0.2
    [0, 1, 2]
    """
    if len(np.unique(ends)) < len(np.unique(starts)):
        return [None if path is None else _reversed(path) for path in shortest_paths(W, ends, starts)]
    lengths = sparse.csr_array((1.0 / W.data, W.indices, W.indptr), shape=W.shape)
    paths: list[Path | None] = [None] * len(starts)
    for start in np.unique(starts):
        distances, before = dijkstra(lengths, directed=False, indices=start, return_predecessors=True)
        for i in np.flatnonzero(starts == start):
            if np.isfinite(distances[ends[i]]):
                paths[i] = Path(_walk(before, int(start), int(ends[i])), float(distances[ends[i]]))
    return paths


def _walk(before: Indices, start: int, end: int) -> Indices:
    vertices = [end]
    while vertices[-1] != start:
        vertices.append(int(before[vertices[-1]]))
    return np.array(vertices[::-1], dtype=np.intp)


def _reversed(path: Path) -> Path:
    return Path(path.vertices[::-1], path.length)
