"""Properties that hold for all inputs: one function each, run by hypothesis on generated data and graphs."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import networkx as nx
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from scipy import sparse
from sklearn.base import clone

from benchmarks._certificate_cases import CASES_PER_GRAPH, FAILURES, check
from benchmarks._graph_families import SMALL_FAMILIES
from halfmoon import (
    DataDependentKernel,
    KernelKMeans,
    LandmarkFeatures,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    load,
    restrict,
    save,
)
from halfmoon.geometry import restrict_powers
from halfmoon.graph import connected_components, knn_graph, laplacian
from halfmoon.model_selection import LabeledKFold
from halfmoon.regularizers import HeatRegularizer, PowerRegularizer
from halfmoon.solvers import SOLVERS, solve_sdd
from halfmoon.tables import read_table, write_columns

__all__ = ["PROFILES", "PROPERTIES", "run_property"]

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(8, 40)
PROFILES = {"short": 6, "quick": 25, "long": 300, "nightly": 10_000}
for profile, examples in PROFILES.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
PROPERTIES: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {}


def claim(text: str, **strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a property in the table."""

    def enter(function: Callable[..., None]) -> Callable[..., None]:
        PROPERTIES[text] = (function, strategies)
        return function

    return enter


def run_property(text: str, profile: str, seed: int) -> int:
    """Run one property and return the number of examples; the first that fails raises."""
    function, strategies = PROPERTIES[text]
    count = 0

    def counted(**drawn: Any) -> None:
        nonlocal count
        count += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            function(**drawn)

    seeded(seed)(settings(settings.get_profile(profile))(given(**strategies)(counted)))()
    return count


# Data.


@dataclass(frozen=True)
class Sample:
    """Rows in general position with a few labels, and a kernel with given landmarks."""

    X: Any
    y: Any
    t: Any
    Z: Any
    landmarks: Any

    def kernel(self, **options: Any) -> DataDependentKernel:
        """Return a kernel that is not fitted."""
        return DataDependentKernel(**{"n_neighbors": 4, "landmarks": self.landmarks, "n_jobs": 1} | options)


def sample(seed: int, n: int, *, classes: int = 2, d: int = 3) -> Sample:
    """Draw a sample."""
    rng = np.random.default_rng(seed)
    n = max(n, 4 * classes)
    truth = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(classes, d))[truth]
    y = np.where(np.arange(n) < 3 * classes, truth, -1)
    t = np.where(np.arange(n) < n // 2, X @ rng.normal(size=d), np.nan)
    return Sample(X, y, t, rng.normal(size=(7, d)), rng.permutation(n)[: max(3, n // 3)])


def graph(seed: int, n: int, family: str) -> sparse.csr_array:
    """Draw a graph of a family of the certificates."""
    return sparse.csr_array(SMALL_FAMILIES[family](np.random.default_rng(seed), n))


FAMILIES = st.sampled_from(sorted(SMALL_FAMILIES))
SOLVER = st.sampled_from(["auto", *SOLVERS])
ESTIMATOR = st.sampled_from(
    [
        lambda kernel: LapSVC(kernel=kernel, random_state=0),
        lambda kernel: LapSVC(10.0, kernel=kernel),
        lambda kernel: LapRLSClassifier(kernel=kernel),
        lambda kernel: LapRLSClassifier(0.1, kernel=kernel),
    ]
)
EXTENSION = st.sampled_from(["kernel", "graph"])


def close(found: Any, expected: Any, rtol: float = 1e-7) -> None:
    """Compare relative to the largest entry."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * scale + np.finfo(float).tiny)


# Graphs.


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


# Solvers and certificates.


@claim(
    "no error bound is below the true error, to 40 digits",
    seed=SEEDS,
    place=st.integers(0, CASES_PER_GRAPH["small"] - 1),
)
def _certificate(seed: int, place: int) -> None:
    with warnings.catch_warnings():
        assert not [outcome for outcome in check("small", seed, place) if outcome.status in FAILURES]


@claim("A X = B is solved to the residual that is reported", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _solution(seed: int, n: int, family: str, solver: str) -> None:
    W = graph(seed, n, family)
    A = laplacian(W) + sparse.eye_array(n) * max(float(W.max()), 1e-300) * 1e-3
    B = np.random.default_rng(seed).normal(size=(n, 3))
    found = solve_sdd(A, B, solver=solver, n_jobs=1)
    true = np.linalg.norm(B - A @ found.X, axis=0)
    rounding = 1e-14 * n * abs(A).max() * np.abs(found.X).max(axis=0)
    assert (true <= found.residual_norms * (1 + 1e-6) + rounding).all()


@claim("solutions scale with their right-hand sides", seed=SEEDS, n=SIZES, exponent=st.integers(-900, 900))
def _solution_scales(seed: int, n: int, exponent: int) -> None:
    W = graph(seed, n, "clique")
    A = laplacian(W / W.max()) + sparse.eye_array(n)
    B = np.random.default_rng(seed).normal(size=n)
    close(np.ldexp(solve_sdd(A, np.ldexp(B, exponent)).X, -exponent), solve_sdd(A, B).X, 1e-12)


RIDGE = st.sampled_from([1e-6, 1e-3, 1.0])


def _q(seed: int, n: int, family: str, power: int, ridge: float) -> PowerRegularizer:
    return PowerRegularizer(graph(seed, n, family), power=power, ridge=ridge)


@claim(
    "landmark blocks are symmetric and semi-definite",
    seed=SEEDS,
    n=SIZES,
    family=FAMILIES,
    power=st.integers(1, 4),
    ridge=RIDGE,
)
def _block(seed: int, n: int, family: str, power: int, ridge: float) -> None:
    S = np.random.default_rng(seed).permutation(n)[: n // 2]
    found = restrict(_q(seed, n, family, power, ridge), S, n_jobs=1)
    size = max(float(np.abs(found.smooth).max()), np.finfo(float).tiny)
    assert np.abs(found.smooth - found.smooth.T).max() <= 1e-12 * size
    allowed = len(S) * size * (min(found.error_bound, 1.0) + 1e-12)
    assert np.linalg.eigvalsh(found.smooth).min() >= -allowed


@claim("permuted vertices give the permuted block", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _block_permutes(seed: int, n: int, family: str, solver: str) -> None:
    rng = np.random.default_rng(seed)
    W, p, S = graph(seed, n, family), rng.permutation(n), rng.permutation(n)[: n // 2]
    place = np.argsort(p)
    first = restrict(PowerRegularizer(W, ridge=1e-2), S, solver=solver, n_jobs=1)
    second = restrict(PowerRegularizer(W[p][:, p], ridge=1e-2), place[S], solver=solver, n_jobs=1)
    size = np.abs(first.smooth).max()
    allowed = 1.01 * size * (first.error_bound + 2.0 * second.error_bound) + 1e-300
    assert np.abs(first.smooth - second.smooth).max() <= allowed


@claim("blocks do not depend on the number of threads", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _block_threads(seed: int, n: int, family: str, solver: str) -> None:
    S = np.arange(0, n, 2)
    blocks = [restrict(_q(seed, n, family, 2, 1e-3), S, solver=solver, n_jobs=jobs).smooth for jobs in (1, 2)]
    assert np.array_equal(*blocks)


@claim("blocks of a chain of powers are those of each power", seed=SEEDS, n=SIZES, family=FAMILIES, ridge=RIDGE)
def _chain(seed: int, n: int, family: str, ridge: float) -> None:
    S = np.arange(0, n, 3)
    chain = restrict_powers(_q(seed, n, family, 1, ridge), S, (1, 2, 3), n_jobs=1)
    for power, found in chain.items():
        alone = restrict(_q(seed, n, family, power, ridge), S, n_jobs=1)
        size = np.abs(alone.smooth).max(initial=0.0)
        allowed = 1.01 * size * (alone.error_bound + 2.0 * found.error_bound) + 1e-300
        assert np.abs(found.smooth - alone.smooth).max(initial=0.0) <= allowed


@claim("streamed blocks are stored ones within their bounds", seed=SEEDS, n=SIZES, family=FAMILIES, solver=SOLVER)
def _streamed(seed: int, n: int, family: str, solver: str) -> None:
    S = np.arange(0, n, 2)
    stored, streamed = (
        restrict(_q(seed, n, family, 2, 1e-2), S, solver=solver, n_jobs=1, max_memory=memory) for memory in (None, 1)
    )
    size = np.abs(stored.smooth).max(initial=0.0)
    allowed = 1.01 * size * (stored.error_bound + 2.0 * streamed.error_bound) + 1e-300
    assert np.abs(stored.smooth - streamed.smooth).max(initial=0.0) <= allowed


@claim("heat blocks of t and 2 t are ordered", seed=SEEDS, n=SIZES, t=st.floats(0.01, 5.0))
def _heat(seed: int, n: int, t: float) -> None:
    W = graph(seed, n, "clique")
    S = np.arange(0, n, 2)
    small, large = (restrict(HeatRegularizer(W, t=time), S).smooth for time in (t, 2 * t))
    assert np.linalg.eigvalsh(small - large).min() >= -1e-6 * np.abs(small).max()


# Kernels.


@claim(
    "kernel matrices are symmetric and semi-definite",
    seed=SEEDS,
    n=SIZES,
    extension=EXTENSION,
    power=st.integers(1, 4),
    eta=st.sampled_from([0.0, 0.1, 1.0, 1e3]),
    base=st.sampled_from(["rbf", "laplacian", "linear"]),
)
def _semidefinite(seed: int, n: int, extension: str, power: int, eta: float, base: str) -> None:
    data = sample(seed, n)
    kernel = data.kernel(base_kernel=base, extension=extension, power=power, eta=eta).fit(data.X)
    K = kernel(np.vstack([data.X, data.Z]))
    assert np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max()
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-6 * np.abs(K).max() * len(K)


@claim("blocks of a kernel matrix are those of the whole", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _kernel_blocks(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    kernel = data.kernel(extension=extension).fit(data.X)
    whole = kernel(data.Z, data.X)
    close(np.vstack([kernel(data.Z[i : i + 2], data.X) for i in range(0, 7, 2)]), whole, 1e-12)
    close(kernel(data.X, data.Z).T, whole, 1e-9)


@claim("the diagonal and the metric agree with the matrix", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _diagonal(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    kernel = data.kernel(extension=extension).fit(data.X)
    K = kernel(data.Z)
    close(kernel.diag(data.Z), np.diag(K), 1e-9)
    squares = np.diag(K)[:, None] + np.diag(K) - 2 * K
    close(np.square(kernel.distance(data.Z)), np.maximum(squares, 0.0), 1e-7)


@claim("eta = 0 is the base kernel", seed=SEEDS, n=SIZES)
def _eta_zero(seed: int, n: int) -> None:
    data = sample(seed, n)
    kernel = data.kernel(eta=0.0, gamma=0.3, extension="kernel", scale=None).fit(data.X)
    D = ((data.Z[:, None] - data.X[None]) ** 2).sum(axis=2)
    close(kernel(data.Z, data.X), np.exp(-0.3 * D), 1e-9)


@claim("kernels of float32 rows are those of the same values in float64", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _kernel_float32(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    X = data.X.astype(np.float32)
    first, second = (data.kernel(extension=extension).fit(rows)(rows) for rows in (X, X.astype(np.float64)))
    close(first, second, 1e-4)


@claim("kernels of sparse rows are those of dense rows", seed=SEEDS, n=SIZES, extension=EXTENSION)
def _kernel_sparse(seed: int, n: int, extension: str) -> None:
    data = sample(seed, n)
    X, Z = sparse.csr_array(data.X), sparse.csr_array(data.Z)
    dense, alike = (data.kernel(extension=extension).fit(rows) for rows in (data.X, X))
    expected = dense(data.Z)
    close(alike(Z), expected, 1e-6)
    close(dense(Z), expected, 1e-9)


@claim("rows far from the others do not change the kernel between these", seed=SEEDS, n=SIZES, far=st.floats(6.0, 12.0))
def _outlier(seed: int, n: int, far: float) -> None:
    data = sample(seed, n)
    X = np.vstack([data.X, np.full((1, 3), 10.0**far)])
    K = data.kernel(extension="kernel", gamma=0.5, eta=0.0, scale=None).fit(X)(data.X)
    D = ((data.X[:, None] - data.X[None]) ** 2).sum(axis=2)
    close(K, np.exp(-0.5 * D), 1e-3)


# Estimators.


@claim("refitting is fitting", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _refit(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    other = np.roll(data.y, 3)
    again = make(data.kernel()).fit(data.X, data.y).refit(other)
    close(again.decision_function(data.Z), make(data.kernel()).fit(data.X, other).decision_function(data.Z), 1e-6)


@claim("fitting twice gives the same model", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _repeatable(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    first = model.decision_function(data.Z)
    assert np.array_equal(clone(model).fit(data.X, data.y).decision_function(data.Z), first)
    assert np.array_equal(model.fit(data.X, data.y).decision_function(data.Z), first)


@claim("predictions do not depend on the number of threads", seed=SEEDS, n=SIZES)
def _threads(seed: int, n: int) -> None:
    data = sample(seed, n, classes=3)
    first, second = (
        LapRLSClassifier(kernel=data.kernel(n_jobs=jobs)).fit(data.X, data.y).decision_function(data.Z)
        for jobs in (1, 2)
    )
    assert np.array_equal(first, second)


@claim("predictions of blocks are those of the whole", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _blocks(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    parts = np.concatenate([model.decision_function(data.Z[i : i + 1]) for i in range(7)])
    close(parts, model.decision_function(data.Z), 1e-11)


@claim("a weight of 2 is a labelled row twice", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _weights(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    weights = np.ones(len(data.X))
    weights[0] = 2.0
    weighted = make(data.kernel()).fit(data.X, data.y, sample_weight=weights)
    X, y = np.vstack([data.X, data.X[:1]]), np.append(data.y, data.y[0])
    twice = make(data.kernel()).fit(X, y)
    close(twice.decision_function(data.Z), weighted.decision_function(data.Z), 1e-5)


@claim("an unlabelled row twice is the row once", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _copies(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    once = make(data.kernel()).fit(data.X, data.y)
    X, y = np.vstack([data.X, data.X[-1:]]), np.append(data.y, -1)
    twice = make(data.kernel()).fit(X, y)
    close(twice.decision_function(data.Z), once.decision_function(data.Z), 1e-6)


@claim("classes under other names keep their decision values", seed=SEEDS, n=SIZES)
def _names(seed: int, n: int) -> None:
    data = sample(seed, n, classes=3)
    names = np.array(["c", "a", "b", None], dtype=object)  # -1 is the last
    model = LapRLSClassifier(0.1, kernel=data.kernel(extension="graph")).fit(data.X, data.y)
    renamed = LapRLSClassifier(0.1, kernel=data.kernel(extension="graph")).fit(data.X, names[data.y])
    close(renamed.decision_function(data.Z), model.decision_function(data.Z)[:, [1, 2, 0]], 1e-8)


@claim("the unit of the features does not matter to a model", seed=SEEDS, n=SIZES, exponent=st.integers(-200, 200))
def _units(seed: int, n: int, exponent: int) -> None:
    data = sample(seed, n)
    first = LapRLSClassifier(kernel=data.kernel()).fit(data.X, data.y).decision_function(data.Z)
    X, Z = np.ldexp(data.X, exponent), np.ldexp(data.Z, exponent)
    close(LapRLSClassifier(kernel=data.kernel()).fit(X, data.y).decision_function(Z), first, 1e-6)


@claim("regression follows the unit and the origin of the targets", seed=SEEDS, n=SIZES, exponent=st.integers(-60, 60))
def _affine(seed: int, n: int, exponent: int) -> None:
    data = sample(seed, n)
    first = LapRLSRegressor(0.1, kernel=data.kernel()).fit(data.X, data.t).predict(data.Z)
    moved = LapRLSRegressor(0.1, kernel=data.kernel()).fit(data.X, np.ldexp(data.t + 3.0, exponent))
    close(np.ldexp(moved.predict(data.Z), -exponent) - 3.0, first, 1e-6)


@claim("training rows are predicted as they were transduced", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _transduction(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    close(model.decision_function(data.X), model.decision_function_, 1e-6)


@claim("probabilities are between 0 and 1 and add up to 1", seed=SEEDS, n=SIZES, classes=st.integers(2, 4))
def _probabilities(seed: int, n: int, classes: int) -> None:
    data = sample(seed, n, classes=classes)
    P = LapSVC(kernel=data.kernel(), probability=True).fit(data.X, data.y).predict_proba(data.Z)
    assert P.min() >= 0.0
    assert P.max() <= 1.0
    close(P.sum(axis=1), np.ones(7), 1e-12)


@claim("prediction sets grow with their level", seed=SEEDS, n=SIZES)
def _levels(seed: int, n: int) -> None:
    data = sample(seed, n, classes=3)
    model = LapRLSClassifier(0.1, kernel=data.kernel(extension="graph")).fit(data.X, data.y)
    sets = [model.predict_set(data.Z, level) for level in (0.3, 0.6, 0.8)]
    assert (sets[0] <= sets[1]).all()
    assert (sets[1] <= sets[2]).all()


@claim("explanations add up to the decision value", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _explanations(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    totals = [point.shares.sum() + point.intercept for point in model.explain(data.Z, of=1)]
    close(totals, model.decision_function(data.Z), 1e-5)


@claim("model files give the same predictions", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _files(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder, "model"))
        again = load(Path(folder, "model"))
    assert np.array_equal(again.decision_function(data.Z), model.decision_function(data.Z))


@claim("pickles give the same predictions", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _pickles(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(data.Z), model.decision_function(data.Z))


@claim("a fit that fails leaves the model as it was", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _transaction(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    model = make(data.kernel()).fit(data.X, data.y)
    before = model.decision_function(data.Z)
    try:
        model.fit(np.where(data.X[0, 0] == data.X, np.nan, data.X), data.y)
    except ValueError:
        assert np.array_equal(model.decision_function(data.Z), before)
    else:
        raise AssertionError("NaN was accepted")


@claim("k-means predicts the clusters of its rows", seed=SEEDS, n=SIZES, k=st.integers(1, 4))
def _kmeans(seed: int, n: int, k: int) -> None:
    data = sample(seed, n)
    model = KernelKMeans(k, kernel=data.kernel(), n_init=2, random_state=0).fit(data.X)
    distances = model.transform(data.X)
    chosen = distances[np.arange(len(data.X)), model.labels_]
    assert (chosen <= distances.min(axis=1) + 1e-6 * distances.max()).all()


@claim("inner products of landmark features are the kernel", seed=SEEDS, n=SIZES)
def _features(seed: int, n: int) -> None:
    data = sample(seed, n)
    features = LandmarkFeatures(data.kernel(extension="graph")).fit(data.X)
    F = features.transform(data.Z)
    close(F @ F.T, features.kernel_(data.Z), 1e-5)


@claim("folds part the labelled rows and train on all others", seed=SEEDS, n=SIZES, folds=st.integers(2, 4))
def _folds(seed: int, n: int, folds: int) -> None:
    data = sample(seed, n)
    splits = list(LabeledKFold(folds, random_state=seed).split(data.X, data.y))
    tests = np.concatenate([test for _, test in splits])
    assert sorted(tests.tolist()) == np.flatnonzero(data.y != -1).tolist()
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(data.X)))


@claim(
    "tables are read as they were written",
    seed=SEEDS,
    n=SIZES,
    suffix=st.sampled_from([".csv", ".tsv", ".parquet", ".feather"]),
)
def _tables(seed: int, n: int, suffix: str) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n) * 10.0 ** rng.uniform(-30, 30, n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{suffix}")
        write_columns({"a": values, "kind": np.array([f"k{i % 3}" for i in range(n)])}, path)
        table = read_table(path, target="kind")
    assert np.array_equal(table.X["a"].to_numpy(), values)
    assert table.target.tolist() == [f"k{i % 3}" for i in range(n)]
