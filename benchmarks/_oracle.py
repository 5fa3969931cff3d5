"""The landmark block of (L + mu I)^-p off the component modes, to as many digits as one likes (mpmath).

Each component C has one mode v, 1_C / sqrt|C| for L and D^1/2 1_C / sqrt(vol C) for L_norm, with R v = mu v.
R~ = R + c v v' is well away from singular, and R~^-1 - v v' / (mu + c) is the inverse of R off the mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["DIGITS", "Exact", "exact_blocks", "largest_entry", "lifted", "to_mp"]

Exact = NDArray[np.object_]  # of mpf

DIGITS = 120
SPARE = 40  # digits that must be right in the block
to_mp = np.vectorize(mpf, otypes=[object])  # exact: a float64 is a number of 53 bits


def exact_blocks(
    W: sparse.csr_array,
    landmarks: NDArray[np.intp],
    powers: Sequence[int],
    *,
    normalized: bool,
    ridge: float,
    digits: int = DIGITS,
) -> dict[int, Exact]:
    """Return the block for every power.

    Entries are right to 40 digits relative to the largest one of their component: R~^-1 loses log10(cond) digits,
    and a power p of it may be cond^p above the entries on the landmarks.
    """
    count, labels = sparse.csgraph.connected_components(W, directed=False)
    blocks = {p: np.full((len(landmarks), len(landmarks)), mpf(0), dtype=object) for p in powers}
    for component in range(count):
        members = np.flatnonzero(labels == component)
        places = np.flatnonzero(labels[landmarks] == component)
        if len(members) == 1 or len(places) == 0:
            continue  # on an isolated vertex there is nothing but the mode
        S = np.searchsorted(members, landmarks[places])
        part = _component_blocks(W[members][:, members].toarray(), S, powers, normalized, ridge, digits)
        for p in powers:
            blocks[p][np.ix_(places, places)] = part[p]
    return blocks


def largest_entry(A: Exact) -> Any:
    """Return max |A_ij|."""
    return max((abs(x) for x in A.ravel()), default=mpf(0))


def lifted(W: NDArray[np.float64], normalized: bool, ridge: float) -> tuple[Exact, Exact, Any]:
    """Return R~ = R + c v v' of a connected graph, the mode v and c, at the current precision."""
    weights = to_mp(W)
    degrees = weights.sum(axis=1)
    R = np.diag(degrees) - weights
    v = np.array([mp.sqrt(d) for d in degrees]) if normalized else to_mp(np.ones(len(W)))
    if normalized:
        R = R / np.outer(v, v)
    R = R + np.diag([mpf(ridge)] * len(W))
    v = v / mp.sqrt((v * v).sum())
    c = max(np.diagonal(R))
    return R + c * np.outer(v, v), v, c


def _component_blocks(
    W: NDArray[np.float64], S: NDArray[np.intp], powers: Sequence[int], normalized: bool, ridge: float, digits: int
) -> dict[int, Exact]:
    with mp.workdps(digits):
        R, v, c = lifted(W, normalized, ridge)
        G = _inverse(R)
        condition = _row_sum(R) * _row_sum(G)
        needed = SPARE + int(mp.ceil((max(powers) + 1) * mp.log10(condition)))
        if needed <= digits:
            return _power_blocks(G - np.outer(v, v) / (mpf(ridge) + c), S, powers)
    return _component_blocks(W, S, powers, normalized, ridge, needed + SPARE)


def _inverse(A: Exact) -> Exact:
    """Return A^-1 by Gauss-Jordan steps without pivoting, for a positive definite A."""
    A = A.copy()
    for k in range(len(A)):
        pivot, column = A[k, k], A[:, k].copy()
        row = A[k] / pivot
        A -= np.outer(column, row)
        A[k], A[:, k] = row, -column / pivot
        A[k, k] = 1 / pivot
    return A


def _power_blocks(G: Exact, S: NDArray[np.intp], powers: Sequence[int]) -> dict[int, Exact]:
    """Return (G^p)[S, S] from the columns Y_j = G^j[:, S]: G^(2j) is Y_j' Y_j and G^(2j - 1) is Y_(j-1)' Y_j."""
    Y = {1: G[:, S]}
    for j in range(2, -(-max(powers) // 2) + 1):
        Y[j] = G @ Y[j - 1]
    return {p: G[np.ix_(S, S)] if p == 1 else Y[p // 2].T @ Y[p - p // 2] for p in powers}


def _row_sum(A: Exact) -> Any:
    return max(np.abs(A).sum(axis=1))
