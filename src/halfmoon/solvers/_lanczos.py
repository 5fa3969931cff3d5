"""R^-p b for a few columns b and a well-conditioned R: one Krylov space serves all p factors.

A tile of the iterative solvers is sixteen columns wide, whatever it is asked for, and a power takes p solves. With
R V = V T + ..., V orthonormal and T tridiagonal, R^-p b is V T^-p e_1 |b|: one run, as long as V fits in memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from halfmoon.runtime.memory import allowance
from halfmoon.solvers._system import System

__all__ = ["few_columns"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
MOST_COLUMNS = 4
MOST_VALUES = 1 << 25  # of V, held at once
WORST_CONDITION = 1e3
MOST_STEPS = 320  # sqrt(condition) log(2 / eps) / 2 for the worst of these
STILL = 100.0  # change over EVERY steps, in units of eps, that is worth a look at the residual
FEW_STEPS = 48  # where memory is limited: V is as large as the arrays of a tile
EVERY = 16  # steps between two looks at the answer


def few_columns(system: System, B: Matrix, power: int, eps: float) -> Matrix | None:
    """Return R^-power B as accurately as `power` solves to eps each would, or None where this is not the way.

    B must be orthogonal to the modes; so is the answer, up to rounding.
    """
    n, columns = B.shape
    if columns > MOST_COLUMNS or n > MOST_VALUES // EVERY:
        return None
    norm = system.norm_bound
    if system.floor * WORST_CONDITION < norm:
        return None
    X = np.zeros_like(B)
    for column in np.flatnonzero(B.any(axis=0)):
        x = _one_column(system.R, norm, B[:, column], power, eps)
        if x is None:
            return None
        X[:, column] = x
    return X


def _one_column(R: sparse.csr_array, norm: float, b: Vector, power: int, eps: float) -> Vector | None:
    """Run Lanczos until the true residual is there; it is looked at once T^-p e_1 nearly stands still."""
    most = MOST_STEPS if allowance() is None else FEW_STEPS
    size, steps = float(np.linalg.norm(b)), min(most, len(b), MOST_VALUES // len(b))
    V = np.empty((steps + 1, len(b)))
    V[0] = b / size
    main, off, before = np.empty(steps), np.empty(steps), np.zeros(0)
    for first in range(0, steps, EVERY):
        last = min(first + EVERY, steps)
        for k in range(first, last):
            _extend(R, V, main, off, k)
        ended = np.flatnonzero(off[:last] <= np.finfo(float).eps * norm)  # b lies in an invariant subspace
        k = int(ended[0]) + 1 if ended.size else last
        y = _inverse_power(main[:k], off[: k - 1], power)
        if y is None:
            return None
        change = np.linalg.norm(y[: len(before)] - before[:k]) + np.linalg.norm(y[len(before) :])
        if ended.size or change <= STILL * eps * np.linalg.norm(y):
            x = size * (y @ V[:k])
            if _reached(R, norm, b, x, power, eps):
                return x
            if ended.size:
                return None
        before = y
    return None


def _extend(R: sparse.csr_array, V: Matrix, main: Vector, off: Vector, k: int) -> None:
    """Make step k of R V[k] = off[k-1] V[k-1] + main[k] V[k] + off[k] V[k+1]."""
    w = R @ V[k]
    if k > 0:
        w -= off[k - 1] * V[k - 1]
    main[k] = w @ V[k]
    w -= main[k] * V[k]
    off[k] = np.linalg.norm(w)
    np.divide(w, off[k] if off[k] > 0.0 else 1.0, out=V[k + 1])


def _inverse_power(main: Vector, off: Vector, power: int) -> Vector | None:
    """Return T^-power e_1; None if rounding has left T indefinite."""
    if len(main) == 1:  # b is an eigenvector; LAPACK's tridiagonal solver, as SciPy calls it, refuses this size
        return main ** -float(power) if main[0] > 0.0 else None
    T = np.vstack([main, np.append(off, 0.0)])
    y = np.eye(1, len(main))[0]
    try:
        for _ in range(power):
            y = linalg.solveh_banded(T, y, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    return y


def _reached(R: sparse.csr_array, norm: float, b: Vector, x: Vector, power: int, eps: float) -> bool:
    """Return whether |b - R^p x| is at most what p solves to eps leave: eps sum_j |R|^j |R^(p-j) x|, j < p."""
    allowed = 0.0
    for left in range(power, 0, -1):
        x = R @ x
        allowed += eps * norm ** (left - 1) * float(np.linalg.norm(x))
    return float(np.linalg.norm(b - x)) <= allowed
