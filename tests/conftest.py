"""Seeds that are drawn and a zoo of graphs."""

import os
import secrets
import signal

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from halfmoon.graph import check_graph, knn_graph

# no doctests, equal names
collect_ignore = ["conftest.py", "cli/conftest.py", "labeller/conftest.py", "plotting/conftest.py"]


@pytest.fixture
def seed():
    """A drawn seed; a failing test shows it, HALFMOON_TEST_SEED=... repeats it."""
    given = os.environ.get("HALFMOON_TEST_SEED")
    return int(given) if given else secrets.randbits(32)


@pytest.fixture
def sigint():
    """Let SIGINT raise KeyboardInterrupt, also where tests run in processes that ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def _weighted(rng):
    """A random connected graph with weights over two orders of magnitude."""
    n = 25
    W = np.triu((rng.random((n, n)) < 0.15) * 10 ** rng.uniform(-1, 1, size=(n, n)), 2)
    W += np.diag(10 ** rng.uniform(-1, 1, size=n - 1), 1)
    return W + W.T


def _disconnected(rng):
    return sparse.block_diag([nx.to_scipy_sparse_array(nx.path_graph(m)) for m in (7, 5, 9)])


def _isolated(rng):
    W = np.zeros((14, 14))
    W[3:12, 3:12] = nx.to_numpy_array(nx.cycle_graph(9))
    return W  # vertices 0, 1, 2, 12 and 13 have no edge


ZOO = {
    "path": lambda rng: nx.path_graph(17),
    "grid": lambda rng: nx.grid_2d_graph(5, 6),
    "star": lambda rng: nx.star_graph(15),
    "barbell": lambda rng: nx.barbell_graph(8, 3),
    "disconnected": _disconnected,
    "weighted": _weighted,
    "knn": lambda rng: knn_graph(rng.normal(size=(60, 3)), n_neighbors=4),
    "isolated": _isolated,
}


@pytest.fixture(params=ZOO)
def graph(request, rng):
    """Each graph of the zoo in turn."""
    return check_graph(ZOO[request.param](rng))


@pytest.fixture
def cloud(rng):
    """A connected cloud: points and the 8-NN graph on them."""
    while True:
        X = rng.normal(size=(90, 2))
        W = knn_graph(X, n_neighbors=8)
        if sparse.csgraph.connected_components(W)[0] == 1:
            return X, W


@pytest.fixture(scope="session")
def client():
    """Return a client of a Dask cluster of two processes on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client
