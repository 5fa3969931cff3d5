"""The searches of the graph benchmark, each with the settings along its frontier of time against recall.

A search yields (setting, seconds, lists) once or, where one index answers with several efforts, once per effort;
seconds are those of the clock and of the CPU, lists may hold the point itself. Settings come cheapest first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

RECALLS = {0.95: 1.25, 0.99: 1.5}  # recall -> how many times as fast as the best peer halfmoon claims to be
REPEATS, SHORT = 5, 1.0  # runs of one search at most, and seconds after which no other begins
Seconds = np.ndarray  # of the clock, of the CPU
Found = Iterator[tuple[str, Seconds, np.ndarray]]

LISTS = (6, 7, 8, 10, 11, 12, 13, 15, 18, 20, 25, 30)  # of pynndescent, those longer than k
LINKS = ((8, 30), (12, 40), (16, 40), (24, 60), (32, 100))  # HNSW: links, effort of building
EFFORTS = (16, 24, 32, 48, 64, 96, 128)  # HNSW: effort of searching, those larger than k


def timed(build: Callable[[], Any]) -> tuple[Seconds, Any]:
    """Return the smallest seconds of a few runs, of one if it takes long, and the last result."""
    seconds: list[Seconds] = []
    while len(seconds) < REPEATS and sum(clock for clock, _ in seconds) < SHORT:
        start = np.array([time.perf_counter(), time.process_time()])
        result = build()
        seconds.append(np.array([time.perf_counter(), time.process_time()]) - start)
    return np.min(seconds, axis=0), result


def halfmoon(X: np.ndarray, k: int, setting: str, seed: int) -> Found:
    """Search with a recall asked for, which is verified, by the method that halfmoon chooses."""
    from halfmoon.graph import NeighborIndex, SearchOptions

    options = SearchOptions(recall=float(setting), seed=seed)
    seconds, lists = timed(lambda: NeighborIndex(X, options=options).neighbors_of_data(k))
    yield f"{setting}, {lists.method}", seconds, lists.indices


def pynndescent(X: np.ndarray, k: int, setting: str, seed: int) -> Found:
    """Search with lists of a length."""
    from pynndescent import NNDescent

    seconds, index = timed(lambda: NNDescent(X, n_neighbors=int(setting), random_state=seed, n_jobs=-1))
    yield setting, seconds, index.neighbor_graph[0][:, : k + 1]


def faiss_hnsw(X: np.ndarray, k: int, setting: str, seed: int) -> Found:
    """Search the HNSW index of faiss."""
    import faiss

    links, effort = map(int, setting.split("/"))

    def build() -> Any:
        index = faiss.IndexHNSWFlat(X.shape[1], links)
        index.hnsw.efConstruction = effort
        index.hnsw.rng = faiss.RandomGenerator(seed)
        index.add(X)
        return index

    building, index = timed(build)
    for efs in (e for e in EFFORTS if e > k):
        index.hnsw.efSearch = efs
        searching, (_, lists) = timed(lambda: index.search(X, k + 1))
        yield f"{setting}/{efs}", building + searching, lists


def hnswlib(X: np.ndarray, k: int, setting: str, seed: int) -> Found:
    """Search the HNSW index of hnswlib."""
    import hnswlib

    links, effort = map(int, setting.split("/"))

    def build() -> Any:
        index = hnswlib.Index(space="l2", dim=X.shape[1])
        index.init_index(max_elements=len(X), M=links, ef_construction=effort, random_seed=seed)
        index.add_items(X)
        return index

    building, index = timed(build)
    for efs in (e for e in EFFORTS if e > k):
        index.set_ef(efs)
        searching, (lists, _) = timed(lambda: index.knn_query(X, k + 1))
        yield f"{setting}/{efs}", building + searching, lists.astype(np.int64)


def settings(name: str, k: int) -> list[str]:
    """Return the settings of a search, cheapest first: for halfmoon the recalls that are asked for."""
    if name == "halfmoon":
        return [str(recall) for recall in RECALLS]
    if name == "pynndescent":
        return [str(length) for length in LISTS if length > k]
    return [f"{links}/{effort}" for links, effort in LINKS]


SEARCHES: dict[str, Callable[[np.ndarray, int, str, int], Found]] = {
    "halfmoon": halfmoon,
    "pynndescent": pynndescent,
    "faiss HNSW": faiss_hnsw,
    "hnswlib": hnswlib,
}
PEERS = tuple(SEARCHES)[1:]
