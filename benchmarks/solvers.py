"""Landmark blocks (Q^+ on S) by halfmoon and by the solvers one can pip install, in one run.

Run ``python -m benchmarks.solvers --data DIR --out DIR`` (DIR with mnist.npz for the MNIST cases; without it only
synthetic manifolds are measured); ``--parts`` chooses cases, and every part runs within minutes. Times are the smallest
of up to three runs, set-up and solve apart; peers that take one right-hand side at a time are timed on a few columns
and scaled. Errors are those of the block, relative to its largest entry. The exit code is 1 if a claim fails.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import make_swiss_roll

from benchmarks._machine import machine
from benchmarks._solver_peers import FEW, PEERS, Measured
from halfmoon import restrict
from halfmoon.geometry import restrict_powers
from halfmoon.graph import knn_graph
from halfmoon.regularizers import PowerRegularizer

EPS = 1e-6
REPEATS = 3
PATIENCE = 40.0  # seconds after which nothing is repeated
SLOW = ("scipy cg", "pyamg SA", "pyamg RS")  # with many columns: minutes, and never the best peer


@dataclass(frozen=True)
class Case:
    """One graph, one number of landmarks, one power."""

    part: str
    name: str
    n: int
    k: int
    n_hat: int
    ridge: float
    power: int = 1
    peers: tuple[str, ...] = tuple(PEERS)

    @property
    def planar(self) -> bool:
        """Whether separators are small."""
        return "d = 2" in self.name


@dataclass(frozen=True)
class Row:
    """One solver on one case."""

    part: str
    case: str
    n: int
    k: int
    n_hat: int
    power: int
    solver: str
    setup: float
    solve: float
    cpu: float
    ratio: float
    error: float
    n_iter: int
    note: str

    @property
    def seconds(self) -> float:
        """Set-up and solve."""
        return self.setup + self.solve


ROLLS = (10_000, 100_000, 300_000)
DIRECT = ("scipy splu", "CHOLMOD")
CASES = [
    *(Case("single", "MNIST", 64_000, 5, n_hat, 1e-3) for n_hat in (1, 50)),
    *(Case("single", "swiss roll (d = 2)", n, 10, 1, 1e-6) for n in ROLLS[:2]),
    Case("mnist", "MNIST", 64_000, 5, 500, 1e-3),
    Case("many", "MNIST", 64_000, 5, 2000, 1e-3, peers=("CHOLMOD",)),
    *(Case("degrees", "MNIST", 64_000, k, 500, 1e-3) for k in (10, 20)),
    *(Case("planar", "swiss roll (d = 2)", n, 10, 200, 1e-6, peers=DIRECT) for n in ROLLS),
    *(Case("planar3", "swiss roll (d = 2)", n, 10, 200, 1e-3, 3, DIRECT) for n in ROLLS),
    *(Case("planar-all", "swiss roll (d = 2)", n, 10, 200, 1e-6, peers=SLOW) for n in ROLLS),
    *(Case("growth", "swiss roll (d = 2)", n, 10, 200, 1e-6, peers=()) for n in (100_000, 300_000, 1_000_000)),
    *(Case("growth3", "swiss roll (d = 2)", n, 10, 200, 1e-3, 3, ()) for n in (100_000, 300_000, 1_000_000)),
    *(
        Case("cubes", f"cube (d = {d})", n, 10, 200, 1e-3, peers=tuple(PEERS) if n == 64_000 else ())
        for d in (3, 10)
        for n in (16_000, 64_000, 250_000)
    ),
]
PARTS = tuple(dict.fromkeys(case.part for case in CASES))


def _ratio(part: str, peers: tuple[str, ...], least: float) -> Callable[[list[Row]], list[str]]:
    def check(rows: list[Row]) -> list[str]:
        return [
            f"{r.case}, n = {r.n:,}, n_hat = {r.n_hat}, p = {r.power}: {r.solver} takes {r.ratio:.2f} times as long, "
            f"{least} claimed"
            for r in rows
            if r.part == part and r.solver in peers and r.ratio < least
        ]

    return check


def _exponent(part: str, most: float) -> Callable[[list[Row]], list[str]]:
    def check(rows: list[Row]) -> list[str]:
        ours = sorted((r.n, r.seconds) for r in rows if r.part == part and r.solver == "halfmoon")
        if len(ours) < 2:
            return []
        slope = exponent(ours)
        return [] if slope <= most else [f"{part}: time grows like n^{slope:.2f}, n^{most} claimed"]

    return check


AMG = ("pyamg SA", "pyamg RS")
CLAIMS: list[Callable[[list[Row]], list[str]]] = [
    _ratio("many", tuple(PEERS), 6.0),
    _ratio("mnist", tuple(PEERS), 8.0),
    _ratio("planar", tuple(PEERS), 1.5),
    _ratio("planar-all", tuple(PEERS), 10.0),
    _ratio("single", AMG, 1.0),
    _exponent("growth", 1.1),
    _exponent("growth3", 1.1),
]


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the slope of log seconds over log n, first to last."""
    (n, fast), (m, slow) = points[0], points[-1]
    return float(np.log(slow / fast) / np.log(m / n))


@cache
def graph(name: str, n: int, k: int, data: Path | None) -> sparse.csr_array:
    """Return the graph of a case."""
    if name == "MNIST":
        assert data is not None
        X = np.load(data / "mnist.npz", allow_pickle=False)["X"][:n].astype(np.float64)
    elif "swiss" in name:
        X = make_swiss_roll(n, noise=0.05, random_state=3)[0]
    else:
        X = np.random.default_rng(7).random((n, int(name.rstrip(")").rpartition(" ")[2])))
    return knn_graph(X, n_neighbors=k)


def best_of(run: Callable[[], Measured | None]) -> Measured | None:
    """Return the fastest of up to REPEATS runs."""
    start, best = time.perf_counter(), run()
    for _ in range(REPEATS - 1):
        if best is None or time.perf_counter() - start > PATIENCE:
            break
        best = min(best, run(), key=lambda measured: measured.seconds)
    return best


def halfmoon(W: sparse.csr_array, S: np.ndarray, case: Case) -> Measured:
    """Solver "auto", to a proven EPS."""
    start, cpu = time.perf_counter(), time.process_time()
    Q = PowerRegularizer(W, power=case.power, ridge=case.ridge)
    _ = Q.inverse.system  # the graph checked, its Laplacian
    setup = time.perf_counter() - start
    r = restrict(Q, S, eps=EPS)
    note = f"bound {r.error_bound:.1e} ({r.bound_kind}); {r.solver}; {r.reason}"
    solve = time.perf_counter() - start - setup
    return Measured(setup, solve, time.process_time() - cpu, r.smooth, note, r.n_iter)


def measure(case: Case, W: sparse.csr_array) -> Iterator[Row]:
    """Yield the row of halfmoon, then those of its peers."""
    S = np.random.default_rng(11).permutation(case.n)[: case.n_hat]
    Q = PowerRegularizer(W, power=case.power, ridge=case.ridge)
    few = min(FEW, case.n_hat)
    reference = restrict(Q, S[:few], eps=1e-8).smooth
    halfmoon(W, S, case)  # compile
    ours = best_of(lambda: halfmoon(W, S, case))
    assert ours is not None
    yield _row(case, "halfmoon", ours, ours, reference)
    for name in case.peers:
        try:
            measured = best_of(partial(PEERS[name], Q.inverse.system, S, case.power, case.planar))
        except ImportError as missing:
            print(f"{name}: {missing.name} is not installed", flush=True)
            continue
        if measured is not None:
            yield _row(case, name, measured, ours, reference)


def _row(case: Case, solver: str, measured: Measured, ours: Measured, reference: np.ndarray) -> Row:
    few = len(reference)
    error = float(np.abs(measured.block[:few, :few] - reference).max() / np.abs(reference).max())
    shape = case.part, case.name, case.n, case.k, case.n_hat, case.power
    times = measured.setup, measured.solve, measured.cpu, measured.seconds / ours.seconds
    return Row(*shape, solver, *times, error, measured.n_iter, measured.note)


def powers(W: sparse.csr_array, n_hat: int) -> list[str]:
    """Return lines with the time of p = 2, 3, 4 relative to p = 1."""
    S = np.random.default_rng(11).permutation(W.shape[0])[:n_hat]
    lines, base = [], 0.0
    for p in (1, 2, 3, 4):
        start = time.perf_counter()
        r = restrict(PowerRegularizer(W, power=p, ridge=1e-3), S, eps=EPS, solver="approx_cholesky")
        seconds = time.perf_counter() - start
        base = base or seconds
        lines.append(f"| {p} | {seconds:.2f} | {seconds / base:.2f} | {r.n_iter} | {r.error_bound:.1e} |")
    start = time.perf_counter()
    chain = restrict_powers(PowerRegularizer(W, ridge=1e-3), S, [1, 2, 3, 4], eps=EPS, solver="approx_cholesky")
    seconds = time.perf_counter() - start
    worst = max(r.error_bound for r in chain.values())
    lines.append(f"| 1 to 4, one chain | {seconds:.2f} | {seconds / base:.2f} | {chain[4].n_iter} | {worst:.1e} |")
    return lines


def markdown(rows: list[Row], power_lines: list[str]) -> str:
    """Return the tables."""
    lines = [
        f"Machine: {machine('numpy', 'scipy', 'numba', 'pyamg', 'cholespy')}.",
        "",
        "| case | n | k | n_hat | p | solver | set-up s | solve s | CPU s | time / halfmoon | error | steps | note |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.case} | {r.n:,} | {r.k} | {r.n_hat} | {r.power} | {r.solver} | {r.setup:.2f} | {r.solve:.2f} "
        f"| {r.cpu:.2f} | {r.ratio:.1f} | {r.error:.0e} | {r.n_iter or ''} | {r.note} |"
        for r in rows
    ]
    for part in dict.fromkeys(r.part for r in rows):
        ours = sorted((r.n, r.seconds) for r in rows if r.part == part and r.solver == "halfmoon")
        if len({n for n, _ in ours}) > 1 and part.startswith("growth"):
            lines += ["", f"{part}: time grows like n^{exponent(ours):.2f} from {ours[0][0]:,} to {ours[-1][0]:,}."]
    if power_lines:
        header = ["| p | seconds | relative to p = 1 | iterations | bound |", "|---|---|---|---|---|"]
        lines += ["", "Powers, MNIST, n_hat = 500:", "", *header, *power_lines]
    lines += ["", f"Peak memory of the run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB."]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark, write solvers.md and solvers.json, and name the claims that fail."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--largest", type=int, default=1_000_000, metavar="N", help="leave out larger graphs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    power_lines: list[str] = []
    for case in CASES:
        skipped = case.part not in options.parts or case.n > options.largest
        if skipped or (case.name == "MNIST" and options.data is None):
            continue
        print(f"# {case.part}: {case.name}, n = {case.n:,}, k = {case.k}, p = {case.power}", flush=True)
        W = graph(case.name, case.n, case.k, options.data)
        for row in measure(case, W):
            rows.append(row)
            print(
                f"{row.solver:12s} {row.setup:7.2f} {row.solve:8.2f} {row.cpu:8.2f} "
                f"x{row.ratio:6.1f}  {row.error:.0e}  {row.note}",
                flush=True,
            )
        if case.part == "mnist":
            power_lines = powers(W, 500)
        (options.out / "solvers.md").write_text(markdown(rows, power_lines))
        (options.out / "solvers.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
    failed = [line for claim in CLAIMS for line in claim(rows)]
    for line in failed:
        print(f"CLAIM FAILED: {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
