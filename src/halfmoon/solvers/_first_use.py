"""Compile what iterations on tiles need, by a small solve."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from halfmoon.runtime.compiling_ahead import is_cached
from halfmoon.runtime.memory import Allowance, allowing
from halfmoon.solvers._auto import AutoSolver
from halfmoon.solvers._nullspace import null_modes
from halfmoon.solvers._numba.elimination import eliminate
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import System

__all__ = ["compile_solvers", "solvers_are_compiled"]

N = 64
ENOUGH = 1 << 20  # bytes for its columns


def solvers_are_compiled() -> bool:
    """Return whether numba's cache seems to have what `compile_solvers` compiles."""
    return is_cached(eliminate)


def compile_solvers(weighted: bool, tile_width: int) -> None:
    """Compile the functions that choose and run a solver on a graph of equal or different weights, for tiles."""
    i, ones = np.arange(N, dtype=np.int32), np.ones(N)
    weight = 1.0 + i / N if weighted else ones
    ring = sparse.csr_array((weight, ((i + 1) % N, i)), shape=(N, N))
    W = sparse.csr_array(ring + ring.T)
    A = sparse.csr_array(sparse.diags_array(W.sum(axis=1) + ones) - W)
    solver = AutoSolver(System.of_matrix(A, null_modes(A)), SolveOptions(n_jobs=1))
    with allowing(Allowance(threads=1, tile_width=tile_width, columns=ENOUGH, wide_codes=True)):
        solver.landmark_blocks(np.arange(0, N, 2), [3], SolveOptions(n_jobs=1))
