"""Landmark blocks (Q^+ on S, p = 1) by halfmoon and by the solvers one can pip install, in one run.

Run ``python -m benchmarks.solvers --data DIR --out DIR`` (DIR with mnist.npz for the MNIST cases; without it only
synthetic manifolds are measured). Set-up and solve are timed apart. Peers that solve one right-hand side at a time are
measured on a few columns and scaled, which the table says. The error is that of the landmark block, relative to its
largest entry.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg, splu
from sklearn.datasets import make_swiss_roll

from benchmarks._machine import machine
from halfmoon import restrict
from halfmoon.geometry import restrict_powers
from halfmoon.graph import connected_components, knn_graph
from halfmoon.regularizers import PowerRegularizer

FEW = 4  # columns that slow peers are measured on
EPS = 1e-6
SPLU_LIMIT = 20_000  # SuperLU's fill explodes on k-NN graphs beyond
CHOLMOD_EDGES = 400_000  # n k up to which CHOLMOD is run on graphs that are not planar
PEER_TOLERANCE = 1e-6  # residual of the iterative peers: their block errors then lie below ours


@dataclass(frozen=True)
class Case:
    """One graph and one number of landmarks."""

    name: str
    n: int
    k: int
    n_hat: int
    ridge: float
    peers: bool = True


@dataclass(frozen=True)
class Row:
    """One solver on one case."""

    case: str
    n: int
    k: int
    n_hat: int
    solver: str
    setup: float
    solve: float
    ratio: float
    error: float
    n_iter: int
    note: str


def graphs(data: Path | None, quick: bool) -> Iterator[tuple[Case, sparse.csr_array]]:
    """Yield the cases with their graphs, each graph built once."""
    rng = np.random.default_rng(7)
    if data is not None:
        X = np.load(data / "mnist.npz", allow_pickle=False)["X"][: 16_000 if quick else 64_000]
        for k in (5,) if quick else (5, 10, 20):
            W = knn_graph(X.astype(np.float64), n_neighbors=k)
            for n_hat in (500,) if quick or k > 5 else (1, 50, 500, 2000):
                yield Case("MNIST", len(X), k, n_hat, 1e-3), W
    sizes = (10_000,) if quick else (10_000, 100_000, 300_000, 1_000_000)
    for n in sizes:
        W = knn_graph(make_swiss_roll(n, noise=0.05, random_state=3)[0], n_neighbors=10)
        yield Case("swiss roll (d = 2)", n, 10, 200, 1e-6, peers=n <= 300_000), W
    for d in (3, 10):
        for n in (10_000,) if quick else (16_000, 64_000, 250_000):
            W = knn_graph(rng.random((n, d)), n_neighbors=10)
            yield Case(f"cube (d = {d})", n, 10, 200, 1e-3, peers=n == 64_000), W


def measure(case: Case, W: sparse.csr_array) -> Iterator[Row]:
    """Yield the row of halfmoon, then those of its peers."""
    S = np.random.default_rng(11).permutation(case.n)[: case.n_hat]
    for solver in ("cg", "approx_cholesky"):  # compile
        restrict(PowerRegularizer(W, power=1, ridge=case.ridge), S[:16], solver=solver)
    start = time.perf_counter()
    Q = PowerRegularizer(W, power=1, ridge=case.ridge)
    Q.inverse.solver(_options())
    setup = time.perf_counter() - start
    start = time.perf_counter()
    ours = restrict(Q, S, eps=EPS, solver="auto")
    solve = time.perf_counter() - start
    total = setup + solve
    reference = restrict(Q, S[:FEW], eps=1e-10, solver="approx_cholesky")
    few = min(FEW, case.n_hat)
    error = float(np.abs(ours.smooth[:few, :few] - reference.smooth).max() / np.abs(ours.smooth).max())
    yield _row(case, "halfmoon", setup, solve, 1.0, error, ours.n_iter, f"bound {ours.error_bound:.1e}; {ours.reason}")
    if not case.peers:
        return
    system = Q.inverse.system
    for name, peer in PEERS.items():
        try:
            result = peer(system.M, system.scale, S, case)
        except ImportError as missing:
            yield _row(case, name, np.nan, np.nan, np.nan, np.nan, 0, f"not installed: {missing.name}")
            continue
        if result is None:
            continue
        peer_setup, peer_solve, columns, note = result
        greens = system.scale[S, None] * columns[S]
        block = greens[: columns.shape[1]] - (ours.modes @ ours.modes.T)[: columns.shape[1], : columns.shape[1]]
        k = min(few, columns.shape[1])
        deviation = float(np.abs(block[:k, :k] - reference.smooth[:k, :k]).max() / np.abs(ours.smooth).max())
        yield _row(case, name, peer_setup, peer_solve, (peer_setup + peer_solve) / total, deviation, 0, note)


def _options() -> Any:
    from halfmoon.solvers import SolveOptions

    return SolveOptions(eps=EPS)


def _row(
    case: Case, solver: str, setup: float, solve: float, ratio: float, error: float, n_iter: int, note: str
) -> Row:
    return Row(case.name, case.n, case.k, case.n_hat, solver, setup, solve, ratio, error, n_iter, note)


Peer = tuple[float, float, np.ndarray, str]


def _right_sides(scale: np.ndarray, S: np.ndarray, columns: int) -> np.ndarray:
    B = np.zeros((len(scale), columns))
    B[S[:columns], np.arange(columns)] = scale[S[:columns]]
    return B


def _one_by_one(solve: Callable[[np.ndarray], np.ndarray], scale: np.ndarray, S: np.ndarray, case: Case) -> Peer:
    """Time a solver that takes one right-hand side on a few columns and scale to n_hat."""
    B = _right_sides(scale, S, min(FEW, case.n_hat))
    start = time.perf_counter()
    X = np.column_stack([solve(b) for b in B.T])
    seconds = (time.perf_counter() - start) * case.n_hat / B.shape[1]
    note = f"scaled from {B.shape[1]} columns" if B.shape[1] < case.n_hat else ""
    return 0.0, seconds, X, note


def scipy_cg(M: sparse.csr_array, scale: np.ndarray, S: np.ndarray, case: Case) -> Peer:
    """Jacobi-preconditioned CG of SciPy."""
    diagonal = M.diagonal()
    jacobi = LinearOperator(M.shape, matvec=lambda x: x / diagonal)
    return _one_by_one(lambda b: cg(M, b, rtol=PEER_TOLERANCE, maxiter=20_000, M=jacobi)[0], scale, S, case)


def scipy_splu(M: sparse.csr_array, scale: np.ndarray, S: np.ndarray, case: Case) -> Peer | None:
    """SuperLU of SciPy."""
    if case.n > SPLU_LIMIT:
        return None
    start = time.perf_counter()
    factor = splu(sparse.csc_array(M), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    setup = time.perf_counter() - start
    start = time.perf_counter()
    X = factor.solve(_right_sides(scale, S, case.n_hat))
    return setup, time.perf_counter() - start, X, ""


def _pyamg(M: sparse.csr_array, scale: np.ndarray, S: np.ndarray, case: Case, kind: str) -> Peer:
    import pyamg

    make = pyamg.smoothed_aggregation_solver if kind == "SA" else pyamg.ruge_stuben_solver
    start = time.perf_counter()
    hierarchy = make(sparse.csr_matrix(M))
    setup = time.perf_counter() - start
    peer = _one_by_one(lambda b: hierarchy.solve(b, tol=PEER_TOLERANCE, accel="cg", maxiter=200), scale, S, case)
    return setup, *peer[1:]


def pyamg_sa(M: sparse.csr_array, scale: np.ndarray, S: np.ndarray, case: Case) -> Peer:
    """PyAMG, smoothed aggregation, as preconditioner of CG."""
    return _pyamg(M, scale, S, case, "SA")


def pyamg_rs(M: sparse.csr_array, scale: np.ndarray, S: np.ndarray, case: Case) -> Peer:
    """PyAMG, Ruge-Stueben, as preconditioner of CG."""
    return _pyamg(M, scale, S, case, "RS")


def cholmod(M: sparse.csr_array, scale: np.ndarray, S: np.ndarray, case: Case) -> Peer | None:
    """CHOLMOD through cholespy, all columns at once in blocks of 100."""
    if case.n * case.k > CHOLMOD_EDGES and "d = 2" not in case.name:
        return None
    from cholespy import CholeskySolverD, MatrixType

    coo = sparse.coo_array(M)
    start = time.perf_counter()
    solver = CholeskySolverD(case.n, coo.row, coo.col, coo.data, MatrixType.COO)
    setup = time.perf_counter() - start
    B = _right_sides(scale, S, case.n_hat)
    X = np.zeros_like(B)
    start = time.perf_counter()
    for first in range(0, case.n_hat, 100):
        part = np.ascontiguousarray(B[:, first : first + 100])
        out = np.zeros_like(part)
        solver.solve(part, out)
        X[:, first : first + 100] = out
    return setup, time.perf_counter() - start, X, ""


PEERS: dict[str, Callable[..., Peer | None]] = {
    "scipy cg": scipy_cg,
    "scipy splu": scipy_splu,
    "pyamg SA": pyamg_sa,
    "pyamg RS": pyamg_rs,
    "CHOLMOD": cholmod,
}


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
        "| case | n | k | n_hat | solver | set-up s | solve s | time / halfmoon | error | iterations | note |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.case} | {r.n:,} | {r.k} | {r.n_hat} | {r.solver} | {r.setup:.2f} | {r.solve:.2f} | {r.ratio:.1f} "
        f"| {r.error:.0e} | {r.n_iter or ''} | {r.note} |"
        for r in rows
    ]
    lines += ["", "Time exponents of halfmoon, set-up and solve, fitted over n:", ""]
    for name in sorted({r.case for r in rows}):
        ours = [r for r in rows if r.case == name and r.solver == "halfmoon" and r.k in (5, 10)]
        sizes = sorted({r.n for r in ours if r.n >= 16_000})
        if len(sizes) > 1:
            times = [min(r.setup + r.solve for r in ours if r.n == n) for n in sizes]
            slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            lines.append(f"- {name}, n = {sizes[0]:,} .. {sizes[-1]:,}: {slope:.2f}")
    if power_lines:
        header = ["| p | seconds | relative to p = 1 | iterations | bound |", "|---|---|---|---|---|"]
        lines += ["", "Powers, MNIST, n_hat = 500:", "", *header, *power_lines]
    lines += ["", f"Peak memory of the run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB."]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark and write solvers.md and solvers.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"))
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    power_lines: list[str] = []
    for case, W in graphs(options.data, options.quick):
        print(f"# {case.name}, n = {case.n:,}, k = {case.k}, components {connected_components(W).count}", flush=True)
        for row in measure(case, W):
            rows.append(row)
            print(
                f"{row.solver:12s} {row.setup:7.2f} {row.solve:8.2f}  x{row.ratio:6.1f}  {row.error:.0e}  {row.note}",
                flush=True,
            )
        if case.name == "MNIST" and case.n_hat == 500 and case.k == 5:
            power_lines = powers(W, 500)
        (options.out / "solvers.md").write_text(markdown(rows, power_lines))
        (options.out / "solvers.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
