"""`solve_sdd` and the table of solvers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from halfmoon._validation import check_choice, check_sparse
from halfmoon.exceptions import AccuracyWarning, FloatRangeError, NotDiagonallyDominantError
from halfmoon.solvers._auto import AutoSolver
from halfmoon.solvers._base import Solution, Solver
from halfmoon.solvers._direct import DirectSolver
from halfmoon.solvers._eigen import EigenSolver
from halfmoon.solvers._iterative import ApproximateCholeskySolver, ConjugateGradientSolver
from halfmoon.solvers._nullspace import ROUNDING, excess, null_modes, project_out
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import System

__all__ = ["SOLVERS", "check_sdd", "prepare", "solve_sdd"]

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver for solver in (DirectSolver, EigenSolver, ConjugateGradientSolver, ApproximateCholeskySolver)
}
DIRECT_SIZE = 2_000  # "auto" factorises up to here


def solve_sdd(
    A: Any,
    B: ArrayLike,
    *,
    eps: float = 1e-8,
    solver: str = "auto",
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Solution:
    """Solve A X = B for a symmetric diagonally dominant A and many right-hand sides (Lemma 4.1).

    Parameters
    ----------
    A : scipy sparse or ndarray of shape (n, n)
        Symmetric with ``A_ii >= sum_j |A_ij|``; a Laplacian, say. Off-diagonals of either sign. A may be
        singular: its null space is known from its graph.
    B : array-like of shape (n,) or (n, m)
        Right-hand sides.
    eps : float, default=1e-8
        Residual to reach, relative to each right-hand side's part in the range of A.
    solver : {"auto", "direct", "eigen", "cg", "approx_cholesky"}, default="auto"
        "direct": sparse factorisation. "eigen": dense eigendecomposition, for small n. "cg": tiled
        conjugate gradients. "approx_cholesky": the same with an approximate Cholesky preconditioner, in
        nearly-linear time. "auto": "direct" up to n = 2,000, then the cheaper of the last two by a pilot.
    n_jobs : int, default=None
        Threads of the iterative solvers; None means all cores. The result does not depend on it.
    random_state : int, default=0
        Seed of the sampled preconditioner.

    Returns
    -------
    Solution
        With `X` = A^+ B, the recomputed `residual_norms`, the `solver` and `n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import laplacian
    >>> from halfmoon.solvers import solve_sdd
    >>> L = laplacian(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> solve_sdd(L, np.array([1.0, 0.0, -1.0])).X.round(6).tolist()
    [1.0, 0.0, -1.0]
    """
    options = SolveOptions(eps=eps, solver=solver, n_jobs=n_jobs, seed=random_state)
    A = check_sdd(A)
    right = _right_hand_sides(B, A.shape[0])
    modes = null_modes(A)
    columns = right.reshape(A.shape[0], -1)
    units = np.ldexp(1.0, np.frexp(np.abs(columns).max(axis=0, initial=0.0))[1])  # squares must not overflow or vanish
    columns = project_out(modes, columns / units)
    prepared = prepare(System.of_matrix(A, modes), options).for_columns(columns.shape[1])
    X, n_iter = prepared.solve(columns, eps)
    X = project_out(modes, X)
    residual_norms = np.linalg.norm(columns - A @ X, axis=0)
    _warn_unless_reached(residual_norms, eps * np.linalg.norm(columns, axis=0), prepared.name)
    with np.errstate(over="ignore"):
        X, residual_norms = units * X, units * residual_norms
    if not (np.isfinite(X).all() and np.isfinite(residual_norms).all()):
        raise FloatRangeError("A^+ B is beyond what float64 holds. Scale A or B: the solution is linear in B.")
    return Solution(X.reshape(right.shape), residual_norms, prepared.name, n_iter)


def _right_hand_sides(B: Any, n: int) -> NDArray[np.float64]:
    """Return B as finite floats, or say what is wrong with it."""
    given = np.ma.filled(B, np.nan) if np.ma.isMaskedArray(B) and B.dtype.kind == "f" else np.asarray(B)
    try:
        if given.dtype.kind not in "buifO":
            raise TypeError(f"they are of type {given.dtype}")
        right = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"B must hold real numbers, in an array: {error}. Got {type(B).__name__}.") from error
    if right.ndim not in (1, 2) or right.shape[0] != n or 0 in right.shape or not np.isfinite(right).all():
        raise ValueError(
            f"B must be finite with {n} rows, one per row of A, and one or two dimensions. Got shape {right.shape}."
        )
    return right


def prepare(system: System, options: SolveOptions | None = None) -> Solver:
    """Set up a solver for a checked system with known modes; "auto" goes by its size.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from halfmoon.solvers import System, null_modes, prepare
    >>> A = sparse.csr_array(np.diag([2.0, 4.0]))
    >>> prepare(System.of_matrix(A, null_modes(A))).solve(np.ones((2, 1)), 1e-8)[0].ravel().tolist()
    [0.5, 0.25]
    """
    options = options or SolveOptions()
    name = check_choice("solver", options.solver, ("auto", *SOLVERS))
    return choose(system, options) if name == "auto" else SOLVERS[name](system, options)


def choose(system: System, options: SolveOptions) -> Solver:
    """Return a direct solver for small systems, and for others one that looks at what it is asked for."""
    if system.n > DIRECT_SIZE:
        return AutoSolver(system, options)
    solver = DirectSolver(system, options)
    solver.reason = f"n = {system.n} <= {DIRECT_SIZE}"
    return solver


def check_sdd(A: Any) -> sparse.csr_array:
    """Return A as CSR if it is symmetric and diagonally dominant, or name the row that is not.

    Examples
    --------
    >>> from halfmoon.solvers import check_sdd
    >>> check_sdd([[1.0, -2.0], [-2.0, 2.0]])
    Traceback (most recent call last):
    ...
    halfmoon.exceptions.NotDiagonallyDominantError: A is not diagonally dominant: row 0 has ...
    """
    if not sparse.issparse(A):
        A = np.asarray(A)
    if A.ndim != 2 or A.dtype.kind not in "buif":
        raise ValueError(f"A must be a matrix of real numbers. Got type {A.dtype} and shape {A.shape}.")
    A = sparse.csr_array(check_sparse("A", A), dtype=np.float64, copy=True)
    A.sum_duplicates()
    A.eliminate_zeros()
    if A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise ValueError(f"A must be square and non-empty. Got shape {A.shape}.")
    if not np.isfinite(A.data).all():
        raise ValueError("A holds NaN or infinite entries. Remove or replace them.")
    scale = float(abs(A).max()) if A.nnz else 0.0
    if A.nnz and float(abs(A - A.T).max()) > ROUNDING * scale:
        raise ValueError("A is not symmetric. Symmetrise it with (A + A.T) / 2.")
    diagonal, slack = A.diagonal(), excess(A)
    short = np.flatnonzero(slack < -ROUNDING * np.maximum(abs(diagonal), scale * ROUNDING))
    if short.size:
        row = int(short[0])
        raise NotDiagonallyDominantError(
            f"A is not diagonally dominant: row {row} has diagonal {diagonal[row]:g} < off-diagonal sum "
            f"{diagonal[row] - slack[row]:g}. Build it with laplacian(W) or raise ridge."
        )
    return A


def _warn_unless_reached(residual_norms: NDArray[np.float64], wanted: NDArray[np.float64], name: str) -> None:
    missed = residual_norms > np.maximum(wanted, np.finfo(float).tiny)
    if missed.any():
        worst = int(np.argmax(residual_norms / np.maximum(wanted, np.finfo(float).tiny)))
        warnings.warn(
            f"Solver '{name}' missed eps on {int(missed.sum())} of {missed.size} right-hand sides; worst is "
            f"column {worst} with residual {residual_norms[worst]:.2g} where {wanted[worst]:.2g} was asked. "
            "Raise eps, or the matrix is too ill-conditioned for float64.",
            AccuracyWarning,
            stacklevel=3,
        )
