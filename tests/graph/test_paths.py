"""Shortest paths against networkx, on the zoo."""

import itertools

import networkx as nx
import numpy as np
import pytest

from halfmoon.graph import shortest_paths


def test_paths_are_shortest_with_lengths_1_over_w(graph, rng):
    n = graph.shape[0]
    starts, ends = rng.integers(n, size=(2, 12))
    oracle = nx.from_scipy_sparse_array(graph)
    for _, _, edge in oracle.edges(data=True):
        edge["length"] = 1.0 / edge["weight"]
    for start, end, path in zip(starts, ends, shortest_paths(graph, starts, ends), strict=True):
        if not nx.has_path(oracle, start, end):
            assert path is None
            continue
        assert (path.vertices[0], path.vertices[-1]) == (start, end)
        steps = np.array([graph[a, b] for a, b in itertools.pairwise(path.vertices)])
        assert np.all(steps > 0.0)
        assert path.length == pytest.approx(np.sum(1.0 / steps))
        assert path.length == pytest.approx(nx.shortest_path_length(oracle, start, end, weight="length"))
