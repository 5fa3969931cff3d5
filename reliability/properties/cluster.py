"""Properties of work on a Dask cluster: what threads give."""

from __future__ import annotations

from functools import cache
from typing import Any

import hypothesis.strategies as st
import numpy as np

from halfmoon import LapRLSClassifier, distributed, restrict
from halfmoon.model_selection import KernelSearchCV
from halfmoon.regularizers import PowerRegularizer
from reliability.properties._claims import claim
from reliability.properties._data import ESTIMATOR, FAMILIES, SEEDS, SIZES, SOLVER, close, graph, sample


@cache
def _client() -> Any:
    """Return a client of two workers in this process: the protocol is that of any cluster."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50, protocol="inproc"
    )
    return Client(cluster, set_as_default=False)


@claim(
    "blocks from a Dask cluster are those of threads within their bounds",
    seed=SEEDS,
    n=SIZES,
    family=FAMILIES,
    solver=SOLVER,
    power=st.integers(1, 3),
)
def _blocks(seed: int, n: int, family: str, solver: str, power: int) -> None:
    Q, S = PowerRegularizer(graph(seed, n, family), power=power, ridge=1e-2), np.arange(0, n, 2)
    alone = restrict(Q, S, solver=solver, n_jobs=2)
    with distributed(_client()):
        spread = restrict(Q, S, solver=solver)
    size = np.abs(alone.smooth).max(initial=0.0)
    allowed = 1.01 * size * (alone.error_bound + 2.0 * spread.error_bound) + 1e-300
    assert np.abs(spread.smooth - alone.smooth).max(initial=0.0) <= allowed


@claim("a model that was fitted on a Dask cluster predicts like one of threads", seed=SEEDS, n=SIZES, make=ESTIMATOR)
def _models(seed: int, n: int, make: Any) -> None:
    data = sample(seed, n)
    alone = make(data.kernel()).fit(data.X, data.y).decision_function(data.Z)
    with distributed(_client()):
        spread = make(data.kernel()).fit(data.X, data.y)
        there = spread.decision_function(data.Z)
    close(there, alone, 1e-6)
    close(spread.decision_function(data.Z), there, 1e-9)


@claim("a search on a Dask cluster has the scores of threads", seed=SEEDS, n=SIZES)
def _searches(seed: int, n: int) -> None:
    data = sample(seed, n)
    grid = {"kernel__eta": [0.1, 10.0], "alpha": [0.01, 1.0]}
    search = KernelSearchCV(LapRLSClassifier(kernel=data.kernel(extension="graph")), grid, cv=2)
    alone = search.fit(data.X, data.y).cv_results_["mean_test_score"]
    with distributed(_client()):
        assert np.array_equal(search.fit(data.X, data.y).cv_results_["mean_test_score"], alone)
