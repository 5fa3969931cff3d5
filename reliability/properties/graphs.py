"""Properties of graphs, their neighbours and Laplacians."""

from __future__ import annotations

import hypothesis.strategies as st
import networkx as nx
import numpy as np
from scipy import sparse

from halfmoon.graph import connected_components, knn_graph, laplacian
from reliability.properties._claims import claim
from reliability.properties._data import FAMILIES, SEEDS, SIZES, close, graph, sample


@claim("a k-NN graph is symmetric, without loops, and of degree at least k", seed=SEEDS, n=SIZES, k=st.integers(1, 7))
def _graph_is_symmetric(seed: int, n: int, k: int) -> None:
    W = knn_graph(sample(seed, n).X, n_neighbors=k, n_jobs=1, random_state=0)
    assert abs(W - W.T).max() == 0.0
    assert not W.diagonal().any()
    assert (W.data > 0).all()
    assert np.diff(W.indptr).min() >= k


@claim(
    "neighbours are those of a matrix of distances", seed=SEEDS, n=SIZES, method=st.sampled_from(["kdtree", "exact"])
)
def _neighbors_are_nearest(seed: int, n: int, method: str) -> None:
    X = sample(seed, n).X
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(D, np.inf)
    near = np.sort(D, axis=1)[:, 3][:, None] >= D
    expected = near | near.T
    assert np.array_equal(knn_graph(X, n_neighbors=4, method=method, random_state=0).toarray() > 0, expected)


@claim("permuted rows give the permuted graph", seed=SEEDS, n=SIZES, weights=st.sampled_from(["binary", "self-tuning"]))
def _graph_permutes(seed: int, n: int, weights: str) -> None:
    X = sample(seed, n).X
    p = np.random.default_rng(seed).permutation(len(X))
    W, V = (knn_graph(rows, n_neighbors=3, weights=weights, random_state=0).toarray() for rows in (X, X[p]))
    close(V, W[np.ix_(p, p)], 1e-12)


@claim("the unit of the features does not matter to the graph", seed=SEEDS, n=SIZES, exponent=st.integers(-400, 400))
def _graph_scales(seed: int, n: int, exponent: int) -> None:
    X = sample(seed, n).X
    W, V = (knn_graph(rows, n_neighbors=3, random_state=0) for rows in (X, np.ldexp(X, exponent)))
    assert abs(W - V).max() == 0.0


@claim("duplicates are linked and the rest is as without them", seed=SEEDS, n=SIZES)
def _graph_duplicates(seed: int, n: int) -> None:
    X = sample(seed, n).X
    W = knn_graph(np.vstack([X, X[:1]]), n_neighbors=3, random_state=0)
    assert W[0, len(X)] > 0.0


@claim("float32 rows give the graph of the same values in float64", seed=SEEDS, n=SIZES)
def _graph_float32(seed: int, n: int) -> None:
    X = sample(seed, n).X.astype(np.float32)
    W, V = (knn_graph(rows, n_neighbors=3, random_state=0) for rows in (X, X.astype(np.float64)))
    assert abs(W - V).max() == 0.0


@claim("sparse rows give the graph of the same dense rows", seed=SEEDS, n=SIZES)
def _graph_sparse(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    X = sample(seed, n, d=6).X * (rng.random((max(n, 8), 6)) < 0.7)
    W, V = (knn_graph(rows, n_neighbors=3, weights="heat", random_state=0) for rows in (X, sparse.csr_array(X)))
    close(V.toarray(), W.toarray(), 1e-9)


@claim("the Laplacian has zero row sums and no negative eigenvalue", seed=SEEDS, n=SIZES, family=FAMILIES)
def _laplacian(seed: int, n: int, family: str) -> None:
    W = graph(seed, n, family)
    L = laplacian(W).toarray()
    size = max(np.abs(L).max(), np.finfo(float).tiny)
    assert np.abs(L.sum(axis=1)).max() <= 1e-12 * size * n
    assert np.linalg.eigvalsh(L / size).min() > -1e-12 * n
    spectrum = np.linalg.eigvalsh(laplacian(W, normalized=True).toarray())
    assert spectrum.min() > -1e-12 * n
    assert spectrum.max() < 2.0 + 1e-12 * n


@claim("components are those that networkx finds, thousands of them too", seed=SEEDS, n=st.integers(1, 3000))
def _components(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    G = nx.gnm_random_graph(n, int(rng.integers(0, 2 * n)), seed=seed % 2**31)
    W = nx.to_scipy_sparse_array(G, nodelist=range(n), dtype=float, format="csr")
    found = connected_components(sparse.csr_array(W))
    assert sorted(found.sizes.tolist()) == sorted(len(part) for part in nx.connected_components(G))


@claim(
    "the recall that is reported is within a one-sided bound of the true one",
    seed=SEEDS,
    n=st.integers(200, 900),
    d=st.integers(2, 20),
    clusters=st.integers(1, 60),
)
def _recall(seed: int, n: int, d: int, clusters: int) -> None:
    rng = np.random.default_rng(seed)
    X = (
        rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 0, d)
        + 10.0 * rng.normal(size=(clusters, d))[rng.integers(clusters, size=n)]
    )
    W, report = knn_graph(X, n_neighbors=5, method="approximate", random_state=0, return_report=True)
    V = knn_graph(X, n_neighbors=5, method="exact")
    missed = int(((V > 0).astype(int) - (W > 0).astype(int)).maximum(0).sum())
    slack = np.sqrt(np.log(1e6) / (2 * report.recall_sample)) if report.recall_sample else 0.0  # Hoeffding
    assert missed / (5 * n) <= 2.0 * (1.0 - report.recall + slack), (report, missed)
