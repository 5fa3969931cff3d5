"""The library's tasks: pure functions of what can be pickled, in as many threads as one likes."""

import pickle
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_info, threadpool_limits

from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.graph import NeighborIndex, SearchOptions, knn_graph
from halfmoon.model_selection import KernelSearchCV
from halfmoon.runtime.executor import ThreadExecutor


@pytest.fixture
def copied(monkeypatch):
    """Hand every task copies, by way of pickle; return the tasks seen. A task that writes what it is given fails."""
    seen, original = [], ThreadExecutor.map

    def copy(value):
        return pickle.loads(pickle.dumps(value))

    def map_copies(self, task, prepared, items):
        seen.append(task)
        return original(self, copy(task), copy(prepared), map(copy, items))

    monkeypatch.setattr(ThreadExecutor, "map", map_copies)
    return seen


def manhattan(a, b):
    return float(np.abs(a - b).sum())


GRAPHS = {
    "kdtree": (4, {}),
    "exact": (40, {"method": "exact"}),
    "pairs": (15, {"method": "exact", "metric": "manhattan"}),
    "function": (2, {"method": "exact", "metric": manhattan}),
    "approximate": (40, {"method": "approximate"}),
    "sketch": (300, {"method": "approximate"}),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_from_copies_are_the_same(name, rng, request):
    features, options = GRAPHS[name]
    X = rng.normal(size=(150 if name == "function" else 900, features)) * np.linspace(1.0, 0.1, features) ** 2
    W = knn_graph(X, **options, weights="heat", random_state=1)
    seen = request.getfixturevalue("copied")
    assert (knn_graph(X, **options, weights="heat", random_state=1) != W).nnz == 0
    assert seen


def test_queries_from_copies_are_the_same(rng, request):
    X = sparse.random(900, 60, density=0.2, format="csr", random_state=int(rng.integers(1 << 31)))
    X = sparse.csr_array(X)
    options = SearchOptions(seed=1)
    alone = NeighborIndex(X, method="approximate", options=options).query(X[:50], 3)
    request.getfixturevalue("copied")
    for found, expected in zip(
        NeighborIndex(X, method="approximate", options=options).query(X[:50], 3), alone, strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_searches_from_copies_are_the_same(rng, request):
    X, y = make_moons(150, noise=0.2, random_state=int(rng.integers(1 << 31)))
    few = np.where(np.arange(150) < 30, y, -1)
    estimator = LapRLSClassifier(kernel=DataDependentKernel(n_landmarks=40, random_state=0))
    search = KernelSearchCV(estimator, {"kernel__eta": [0.1, 10.0], "alpha": [None, 0.1]}, cv=3)
    alone = search.fit(X, few).cv_results_["mean_test_score"]
    request.getfixturevalue("copied")
    np.testing.assert_array_equal(search.fit(X, few).cv_results_["mean_test_score"], alone)


@pytest.mark.filterwarnings("ignore::halfmoon.exceptions.DisconnectedGraphWarning")
def test_fits_in_several_threads_are_those_of_fits_alone(rng):
    seeds = rng.integers(1 << 31, size=3).tolist()
    before = [library["num_threads"] for library in threadpool_info()]

    def decision(seed):
        X, y = make_moons(400, noise=0.1, random_state=seed)
        y = np.where(np.arange(400) < 20, y, -1)
        kernel = DataDependentKernel(n_landmarks=60, random_state=seed)
        return LapRLSClassifier(kernel=kernel).fit(X, y).decision_function(X)

    def decisions_together():
        found = {}
        threads = [threading.Thread(target=lambda seed=seed: found.setdefault(seed, decision(seed))) for seed in seeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[seed] for seed in seeds]

    decisions_together()
    assert [library["num_threads"] for library in threadpool_info()] == before
    with threadpool_limits(1):  # BLAS rounds differently on several threads, which the warped kernel amplifies
        alone = [decision(seed) for seed in seeds]
        np.testing.assert_allclose(decisions_together(), alone, rtol=1e-9, atol=1e-9)
