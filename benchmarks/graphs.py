"""k-NN graphs by halfmoon and by the tools people use for them, in one run: time, recall, memory.

Run ``python -m benchmarks.graphs --data DIR --out DIR`` (DIR with mnist.npz; without it only synthetic data are
measured). Every measurement runs in a process of its own, after a warm-up on a few rows so that compilation is not
counted. Times are those from an array in memory to the finished neighbour lists (halfmoon: to the finished symmetric
graph, with its own estimate of the recall). Recall is measured on 1,000 random rows against brute force in float64;
memory is the peak of the process above what it held before the search.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._machine import machine
from halfmoon import DataDependentKernel, LapRLSClassifier
from halfmoon.graph import NeighborIndex, SearchOptions, knn_graph

SAMPLE = 1000  # rows that the recall is measured on
EXACT_LIMIT = 4e12  # n^2 d up to which exact peers are run
WARM_UP = 3000  # rows


@dataclass(frozen=True)
class Case:
    """One data set and one number of neighbours."""

    name: str
    n: int
    d: int
    k: int
    recalls: tuple[float, ...] = (0.95,)


@dataclass(frozen=True)
class Row:
    """One method on one case."""

    case: str
    n: int
    d: int
    k: int
    method: str
    seconds: float
    recall: float
    memory: float  # GB
    note: str


def cases(data: Path | None, quick: bool) -> Iterator[Case]:
    """Yield what is measured."""
    if data is not None:
        yield Case("MNIST", 64_000, 784, 5, (0.95, 0.97, 0.99))
    for n in (16_000, 64_000) if quick else (16_000, 64_000, 250_000):
        for d in (3, 16, 128, 784):
            yield Case("mixture", n, d, 10)
    if not quick:
        yield Case("mixture", 1_000_000, 16, 10)
    for n in (16_000, 64_000) if quick else (16_000, 64_000, 250_000, 1_000_000):
        yield Case("cube", n, 16, 10)


def points(case: Case, data: Path | None) -> np.ndarray:
    """Return the data of a case in float32."""
    rng = np.random.default_rng(0)
    if case.name == "MNIST":
        assert data is not None
        return np.load(data / "mnist.npz")["X"][: case.n].astype(np.float32)
    if case.name == "cube":
        return rng.uniform(size=(case.n, case.d)).astype(np.float32)
    # A hundred clusters of 10 intrinsic dimensions (or d, if fewer) and some noise in all.
    q = min(10, case.d)
    cluster = rng.integers(100, size=case.n)
    centers, frames = 3 * rng.normal(size=(100, case.d)), rng.normal(size=(100, q, case.d)) / np.sqrt(q)
    X = np.empty((case.n, case.d), dtype=np.float32)
    for c in range(100):
        rows = cluster == c
        inner = rng.normal(size=(rows.sum(), q)) @ frames[c]
        X[rows] = centers[c] + inner + 0.1 * rng.normal(size=inner.shape)
    return X


def true_neighbors(X: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the k nearest other rows of some rows, by brute force in float64."""
    found = np.empty((len(rows), k), dtype=np.int64)
    for part in np.array_split(np.arange(len(rows)), 20):
        best = np.full((len(part), 0), np.inf)
        names = np.empty((len(part), 0), dtype=np.int64)
        Y = X[rows[part]].astype(np.float64)
        for start in range(0, len(X), 50_000):
            block = X[start : start + 50_000].astype(np.float64)
            D = np.square(block).sum(axis=1) - 2 * Y @ block.T
            columns = np.broadcast_to(np.arange(start, start + len(block)), D.shape)
            D[columns == rows[part][:, None]] = np.inf
            best, names = np.hstack([best, D]), np.hstack([names, columns])
            order = np.argsort(best, axis=1)[:, :k]
            best, names = np.take_along_axis(best, order, 1), np.take_along_axis(names, order, 1)
        found[part] = names
    return found


Timed = tuple[float, np.ndarray, str]  # seconds, neighbour lists of all rows, a remark


def timed(build: Callable[[], Any]) -> tuple[float, Any]:
    """Return seconds and result."""
    start = time.perf_counter()
    result = build()
    return time.perf_counter() - start, result


def halfmoon(X: np.ndarray, k: int, recall: str = "0.95") -> Timed:
    """Time `knn_graph`; the directed lists behind it, which the recall is about, come from a second search."""
    seed = 0
    seconds, (_, report) = timed(
        lambda: knn_graph(X, n_neighbors=k, recall=float(recall), random_state=seed, return_report=True)
    )
    options = SearchOptions(recall=float(recall), seed=int(np.random.RandomState(seed).randint(1 << 31)))
    lists = NeighborIndex(X, options=options).neighbors_of_data(k).indices
    return seconds, lists, f"{report.method}, own estimate {report.recall:.3f}"


def faiss_flat(X: np.ndarray, k: int) -> Timed:
    """Time exact search by faiss."""
    import faiss

    def build() -> np.ndarray:
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index.search(X, k + 1)[1]

    seconds, lists = timed(build)
    return seconds, lists, ""


def faiss_hnsw(X: np.ndarray, k: int) -> Timed:
    """Time the HNSW index of faiss with 32 links and its default efforts."""
    import faiss

    def build() -> np.ndarray:
        index = faiss.IndexHNSWFlat(X.shape[1], 32)
        index.add(X)
        return index.search(X, k + 1)[1]

    seconds, lists = timed(build)
    return seconds, lists, ""


def pynndescent(X: np.ndarray, k: int, lists: int = 30) -> Timed:
    """Time pynndescent, with lists of 30 by default; the point itself is in its list."""
    from pynndescent import NNDescent

    seconds, index = timed(lambda: NNDescent(X, n_neighbors=lists, random_state=0))
    return seconds, index.neighbor_graph[0][:, : k + 1], ""


def pynndescent_short(X: np.ndarray, k: int) -> Timed:
    """Time pynndescent with lists that are just long enough."""
    return pynndescent(X, k, k + 1)


def scikit_learn(X: np.ndarray, k: int) -> Timed:
    """Time kneighbors_graph."""
    from sklearn.neighbors import kneighbors_graph

    seconds, graph = timed(lambda: kneighbors_graph(X, k, n_jobs=-1))
    return seconds, graph.indices.reshape(len(X), k), ""


METHODS: dict[str, Callable[..., Timed]] = {
    "halfmoon": halfmoon,
    "faiss HNSW": faiss_hnsw,
    "pynndescent": pynndescent,
    "pynndescent, lists of k + 1": pynndescent_short,
    "faiss flat": faiss_flat,
    "scikit-learn": scikit_learn,
}
EXACT = ("faiss flat", "scikit-learn")


def methods(case: Case) -> Iterator[str]:
    """Yield what runs on a case; exact search where it ends within minutes."""
    yield from (f"halfmoon {recall}" for recall in case.recalls)
    yield from ("faiss HNSW", "pynndescent", "pynndescent, lists of k + 1")
    if float(case.n) ** 2 * case.d <= EXACT_LIMIT:
        yield from EXACT


def run_one(method: str, k: int, folder: Path) -> None:
    """Measure one method on saved data, in this process; print the result as JSON."""
    X = np.load(folder / "X.npy")
    rows, truth = np.load(folder / "rows.npy"), np.load(folder / "truth.npy")
    name, _, argument = method.partition(" ") if method.startswith("halfmoon") else (method, "", "")
    run, extra = METHODS[name], [argument] if argument else []
    run(np.ascontiguousarray(X[:WARM_UP]), k, *extra)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the warm-up
    before = memory("VmRSS")
    seconds, lists, note = run(X, k, *extra)
    peak = memory("VmHWM")
    recall = float((truth[:, :, None] == lists[rows][:, None, :]).any(axis=2).mean())
    print(json.dumps({"seconds": seconds, "recall": recall, "memory": max(peak - before, 0.0), "note": note}))


def memory(field: str) -> float:
    """Return what this process holds now (VmRSS) or held at most (VmHWM), in GB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1e6
    raise KeyError(field)


def measure(case: Case, X: np.ndarray) -> Iterator[Row]:
    """Run every method on a case, each in a fresh process."""
    rows = np.sort(np.random.default_rng(1).choice(case.n, SAMPLE, replace=False))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", X)
        np.save(folder / "rows.npy", rows)
        np.save(folder / "truth.npy", true_neighbors(X, rows, case.k))
        for method in methods(case):
            command = [sys.executable, "-m", "benchmarks.graphs", "--one", method, str(case.k), str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            yield Row(case.name, case.n, case.d, case.k, method, **json.loads(done.stdout.splitlines()[-1]))


def downstream(data: Path, draws: int = 10) -> list[str]:
    """Compare the semi-supervised error on exact and approximate graphs, MNIST 3 against 8, 50 labels."""
    archive = np.load(data / "mnist.npz")
    rows = np.flatnonzero(np.isin(archive["y"], (3, 8)))
    X, y = archive["X"][rows], archive["y"][rows]
    errors = {method: [] for method in ("exact", "approximate")}
    for method, found in errors.items():
        W, report = knn_graph(X, method=method, random_state=0, return_report=True)
        for draw in range(draws):
            labeled = np.random.default_rng(draw).choice(len(X), 50, replace=False)
            hidden = np.full(len(X), -1)
            hidden[labeled] = y[labeled]
            kernel = DataDependentKernel(graph=W, n_landmarks=250, random_state=draw)
            model = LapRLSClassifier(kernel=kernel).fit(X, hidden)
            rest = np.setdiff1d(np.arange(len(X)), labeled)
            found.append(100 * np.mean(model.transduction_[rest] != y[rest]))
        print(f"{method}: {np.mean(found):.2f} % ({report})", flush=True)
    difference = np.array(errors["approximate"]) - np.array(errors["exact"])
    return [
        f"MNIST 3 against 8, {len(X):,} points, 50 labels, 250 landmarks, {draws} draws: mean error "
        f"{np.mean(errors['exact']):.2f} % on the exact graph, {np.mean(errors['approximate']):.2f} % on the "
        f"approximate one (recall {report.recall:.3f}); mean difference {difference.mean():+.2f} points."
    ]


def markdown(rows: list[Row], check: list[str]) -> str:
    """Return the table and the time exponents."""
    lines = [
        f"Machine: {machine('numpy', 'numba', 'scikit-learn', 'faiss-cpu', 'pynndescent')}.",
        "",
        "| data | n | d | k | method | seconds | recall | memory GB | note |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.case} | {r.n:,} | {r.d} | {r.k} | {r.method} | {r.seconds:.2f} | {r.recall:.3f} | {r.memory:.2f} "
        f"| {r.note} |"
        for r in rows
    ]
    lines += ["", "Time exponents of halfmoon in 16 dimensions, fitted over n:", ""]
    for name in ("mixture", "cube"):
        ours = [r for r in rows if r.case == name and r.d == 16 and r.method.startswith("halfmoon")]
        if len(ours) > 1:
            slope = np.polyfit(np.log([r.n for r in ours]), np.log([r.seconds for r in ours]), 1)[0]
            lines.append(f"- {name}, n = {ours[0].n:,} .. {ours[-1].n:,}: {slope:.2f}")
    return "\n".join([*lines, "", *check])


def main() -> None:
    """Run the benchmark and write graphs.md and graphs.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "K", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one[0], int(options.one[1]), Path(options.one[2]))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    check = downstream(options.data) if options.data else []
    for case in cases(options.data, options.quick):
        print(f"# {case.name}, n = {case.n:,}, d = {case.d}, k = {case.k}", flush=True)
        for row in measure(case, points(case, options.data)):
            rows.append(row)
            print(f"{row.method:14s} {row.seconds:8.2f}  {row.recall:.3f}  {row.memory:.2f} GB  {row.note}", flush=True)
        (options.out / "graphs.md").write_text(markdown(rows, check))
        (options.out / "graphs.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
