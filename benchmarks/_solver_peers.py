"""The solvers one can pip install, on the systems of `benchmarks.solvers`: R^-p off the modes, on the landmarks.

A peer sets up, solves for the projected indicators ceil(p / 2) times, and multiplies columns where p > 1, as halfmoon
does. Those that solve one right-hand side at a time are measured on a few columns and scaled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg, splu

from halfmoon.solvers import System, project_out

__all__ = ["FEW", "PEERS", "Measured"]

FEW = 4  # columns that slow peers are measured on
TOLERANCE = 1e-6  # residual of the iterative peers: their block errors then lie below ours
SPLU_LIMIT = 20_000  # SuperLU's fill explodes on k-NN graphs beyond
CHOLMOD_EDGES = 400_000  # edges up to which CHOLMOD is run on graphs that are not planar
CHOLMOD_COLUMNS = 100  # at once

Solve = Callable[[np.ndarray], np.ndarray]  # columns -> columns


class Measured(NamedTuple):
    """Seconds, and the block on the first landmarks."""

    setup: float
    solve: float
    cpu: float  # of both, all threads
    block: np.ndarray
    note: str
    n_iter: int = 0

    @property
    def seconds(self) -> float:
        """Set-up and solve."""
        return self.setup + self.solve


def _timed(system: System, S: np.ndarray, power: int, make: Callable[[], Solve], columns: int) -> Measured:
    start, cpu = time.perf_counter(), time.process_time()
    solve = make()
    setup, cpu_setup = time.perf_counter() - start, time.process_time() - cpu
    E = np.zeros((system.n, columns))
    E[S[:columns], np.arange(columns)] = 1.0
    E = project_out(system.modes, E)
    s = system.scale[:, None]
    start, cpu = time.perf_counter(), time.process_time()
    before, after = E, project_out(system.modes, s * solve(s * E))
    if power == 3:
        before, after = after, s * solve(s * after)
    block = after[S[:columns]] if power == 1 else before.T @ after
    seconds = (time.perf_counter() - start) * len(S) / columns
    cpu_solve = (time.process_time() - cpu) * len(S) / columns
    note = f"scaled from {columns} columns" if columns < len(S) else ""
    return Measured(setup, seconds, cpu_setup + cpu_solve, (block + block.T) / 2, note)


def _one_by_one(solve: Callable[[np.ndarray], np.ndarray]) -> Solve:
    return lambda B: np.column_stack([solve(b) for b in B.T])


def scipy_cg(system: System, S: np.ndarray, power: int, planar: bool) -> Measured:
    """Jacobi-preconditioned CG of SciPy."""
    M, diagonal = system.M, system.M.diagonal()
    jacobi = LinearOperator(M.shape, matvec=lambda x: x / diagonal)
    solve = _one_by_one(lambda b: cg(M, b, rtol=TOLERANCE, maxiter=20_000, M=jacobi)[0])
    return _timed(system, S, power, lambda: solve, min(FEW, len(S)))


def scipy_splu(system: System, S: np.ndarray, power: int, planar: bool) -> Measured | None:
    """SuperLU of SciPy."""
    if system.n > SPLU_LIMIT:
        return None

    def factored() -> Solve:
        options = {"SymmetricMode": True}
        return splu(sparse.csc_array(system.M), permc_spec="MMD_AT_PLUS_A", options=options).solve

    return _timed(system, S, power, factored, len(S))


def _pyamg(system: System, S: np.ndarray, power: int, kind: str) -> Measured:
    import pyamg

    make = pyamg.smoothed_aggregation_solver if kind == "SA" else pyamg.ruge_stuben_solver

    def hierarchy() -> Solve:
        levels = make(sparse.csr_matrix(system.M))
        return _one_by_one(lambda b: levels.solve(b, tol=TOLERANCE, accel="cg", maxiter=200))

    return _timed(system, S, power, hierarchy, min(FEW, len(S)))


def pyamg_sa(system: System, S: np.ndarray, power: int, planar: bool) -> Measured:
    """PyAMG, smoothed aggregation, as preconditioner of CG."""
    return _pyamg(system, S, power, "SA")


def pyamg_rs(system: System, S: np.ndarray, power: int, planar: bool) -> Measured:
    """PyAMG, Ruge-Stueben, as preconditioner of CG."""
    return _pyamg(system, S, power, "RS")


def cholmod(system: System, S: np.ndarray, power: int, planar: bool) -> Measured | None:
    """CHOLMOD through cholespy, CHOLMOD_COLUMNS at once."""
    if system.M.nnz > 2 * CHOLMOD_EDGES and not planar:
        return None
    from cholespy import CholeskySolverD, MatrixType

    coo = sparse.coo_array(system.M)

    def factored() -> Solve:
        factor = CholeskySolverD(system.n, coo.row, coo.col, coo.data, MatrixType.COO)

        def solve(B: np.ndarray) -> np.ndarray:
            X = np.zeros_like(B)
            for first in range(0, B.shape[1], CHOLMOD_COLUMNS):
                part = np.ascontiguousarray(B[:, first : first + CHOLMOD_COLUMNS])
                out = np.zeros_like(part)
                factor.solve(part, out)
                X[:, first : first + CHOLMOD_COLUMNS] = out
            return X

        return solve

    return _timed(system, S, power, factored, len(S))


PEERS: dict[str, Callable[..., Measured | None]] = {
    "scipy cg": scipy_cg,
    "scipy splu": scipy_splu,
    "pyamg SA": pyamg_sa,
    "pyamg RS": pyamg_rs,
    "CHOLMOD": cholmod,
}
