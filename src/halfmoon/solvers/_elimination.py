"""The landmark block of R^-1 by exact elimination of all other vertices, for graphs with small separators.

With the landmarks last, M^-1 on them is the inverse of the Schur complement of the others: no solves, no columns. The
complement of a graph with excess is a graph with excess, and elimination only adds positive numbers
(`_numba/fronts.py`). Hence the certificate: if every weight and every excess of a graph is right up to a factor of 1 +-
delta, its matrix is right up to the same factor in the order of quadratic forms, and so are its Schur complements.
Eliminating a pivot in a front of m vertices rounds each new weight by at most m + (pivots of the front) + 16 roundings,
and these factors multiply: their sum over all pivots, eta, bounds |X_ij - X*_ij| by eta sqrt(X*_ii X*_jj), with no
word about eigenvalues. The inverse of the complement is made of positive sums, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.csgraph import reverse_cuthill_mckee

from halfmoon.runtime.executor import Executor, Stopped, ThreadExecutor, stop_flag
from halfmoon.runtime.progress import report
from halfmoon.solvers._base import LandmarkBlock
from halfmoon.solvers._nullspace import off_diagonal
from halfmoon.solvers._numba.dissection import dissect
from halfmoon.solvers._numba.fronts import boundaries, eliminate_kept, eliminate_node, eliminate_subtree
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._system import ROUNDOFF, System

__all__ = ["eliminated_block"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Left = tuple[NDArray[np.int32], Matrix, Vector]  # what a node leaves: boundary, weights, excess

# Multiplications that elimination may cost for each vertex, and for each vertex and landmark: what tiles cost there.
WORK_PER_VERTEX = 10_000.0
WORK_PER_ENTRY = 400.0
SIZES = 1e-100, 1e100  # of excess and weights: what underflows in between is nothing beside the excess
TASKS = 16  # into which elimination falls, at least, before their results are joined


def eliminated_block(system: System, landmarks: NDArray[np.intp], options: SolveOptions) -> LandmarkBlock | None:
    """Return the block of R^-1 off the modes, or None where elimination does not apply or costs more than tiles do."""
    off = off_diagonal(system.M)
    if not _applies(system, off):
        return None
    with ThreadExecutor(options.threads) as executor, np.errstate(all="ignore"):
        fronts = executor.run(_analyse, (system, -off, landmarks, options.memory))
        if fronts is None:
            return None
        X = executor.run(_inverse, (fronts, _left_by_root(fronts, executor)))
    s = system.scale[landmarks]
    A, modes = np.outer(s, s) * X, system.mode_columns(landmarks, 1)  # modes in the unit of the regulariser
    gamma, m = float(system.rounding.max()) + (system.n + 16) * ROUNDOFF, len(landmarks)
    bound = 1.01 * (fronts.rounding + 8 * gamma) * float(A.diagonal().max())
    bound += 8 * (m + 16) ** 2 * ROUNDOFF * float(X.max() * s.max() ** 2)  # of the inverse
    bound += 8 * gamma * system.unit * float((modes**2).sum(axis=1).max(initial=0.0))
    report("solves", m, m)
    if options.progress is not None:
        options.progress(m, m, 0.0)
    reason = f"separators of up to {int(fronts.pivots.max())} vertices"
    return LandmarkBlock(A - system.unit * (modes @ modes.T), bound, "proven", 0.0, 0, "elimination", reason)


def _applies(system: System, off: sparse.csr_array) -> bool:
    """Return whether M is a graph with excess everywhere, of moderate sizes, whose modes are part of R^-1."""
    if system.excess is None or system.uncertainty > 0.0 or (system.modes.shape[1] and system.mode_value == 0.0):
        return False
    largest = max(float(-off.data.min(initial=0.0)), float(system.excess.max()))
    return bool(off.data.max(initial=-1.0) < 0.0 and system.excess.min() >= SIZES[0] and largest <= SIZES[1])


@dataclass(frozen=True)
class _Fronts:
    """The tree of separators, in preorder, and the graph in elimination order; picklable."""

    graph: tuple[NDArray[Any], NDArray[Any], Vector, Vector]  # ptr, ind, weight, excess
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    pivots: NDArray[np.int64]
    subtree: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    joined: NDArray[np.int32]

    def children(self, t: int) -> list[int]:
        """Return the children of a node: two, or none."""
        return [] if self.subtree[t] == 1 else [t + 1, t + 1 + int(self.subtree[t + 1])]

    @property
    def work(self) -> float:
        """Multiplications."""
        outside = (self.last - self.first).astype(np.float64)
        return float(((self.pivots + outside) ** 3 - outside**3).sum()) / 6.0

    @property
    def memory(self) -> int:
        """Bytes of the largest front, of what is made from it and of what two children left."""
        kept = len(self.graph[3]) - int(self.end[0])
        return 3 * 8 * max(int((self.pivots + self.last - self.first).max()), kept) ** 2

    @property
    def rounding(self) -> float:
        """Bound on the relative rounding of the Schur complement, in the order of quadratic forms."""
        size = self.pivots + self.last - self.first
        return ROUNDOFF * float((self.pivots * (size + self.pivots + 16.0) + 4.0).sum())


def _analyse(prepared: tuple[System, sparse.csr_array, NDArray[np.intp], int]) -> _Fronts | None:
    """Order the vertices and find the fronts; None if elimination would cost too much time or memory."""
    system, W, landmarks, memory = prepared
    assert system.excess is not None
    near = np.asarray(reverse_cuthill_mckee(W, symmetric_mode=True), dtype=np.int64)  # neighbours lie close in memory
    W = _permuted(W, near)
    place = np.empty(system.n, dtype=np.int64)
    place[near] = np.arange(system.n)
    free = np.ones(system.n, dtype=bool)
    free[place[landmarks]] = False
    budget = system.n * (WORK_PER_VERTEX + WORK_PER_ENTRY * len(landmarks))
    order, start, end, pivots, subtree = _unless_stopped(dissect, W.indptr, W.indices, free, budget)
    if not len(end):
        return None
    order = np.concatenate([order, place[landmarks]])
    W = _permuted(W, order)
    graph = W.indptr, W.indices, W.data, system.excess[near[order]]
    fronts = _Fronts(graph, start, end, pivots, subtree, *boundaries(W.indptr, W.indices, end, pivots, subtree))
    return fronts if fronts.work <= budget and fronts.memory <= memory else None


def _permuted(W: sparse.csr_array, order: NDArray[np.int64]) -> sparse.csr_array:
    permuted = sparse.csr_array(W[order][:, order])
    permuted.sort_indices()
    return permuted


def _left_by_root(fronts: _Fronts, executor: Executor) -> Left:
    """Eliminate everything but the landmarks: subtrees first, then, generation by generation, what joins them."""
    share = len(fronts.graph[3]) / TASKS
    generation, upper, tasks = [0], [], []
    while generation:
        large = [t for t in generation if fronts.subtree[t] > 1 and fronts.end[t] - fronts.start[t] > share]
        tasks += [t for t in generation if t not in large]
        upper.append(large)
        generation = [child for t in large for child in fronts.children(t)]
    left = dict(zip(tasks, executor.map(_subtree, fronts, tasks), strict=True))
    for generation in reversed(upper):
        inputs = [(t, left.pop(one), left.pop(other)) for t in generation for one, other in [fronts.children(t)]]
        left.update(zip(generation, executor.map(_node, fronts, inputs), strict=True))
    return left[0]


def _subtree(fronts: _Fronts, top: int) -> Left:
    tree = fronts.end, fronts.pivots, fronts.subtree, fronts.first, fronts.last, fronts.joined
    return _unless_stopped(eliminate_subtree, fronts.graph, *tree, top)


def _node(fronts: _Fronts, item: tuple[int, Left, Left]) -> Left:
    t, one, other = item
    own, boundary = int(fronts.end[t] - fronts.pivots[t]), fronts.joined[fronts.first[t] : fronts.last[t]]
    return _unless_stopped(eliminate_node, fronts.graph, own, int(fronts.pivots[t]), boundary, one, other)


def _inverse(prepared: tuple[_Fronts, Left]) -> Matrix:
    """Return M^-1 on the landmarks: (U' D U)^-1, where U = I - C with C >= 0 has a non-negative inverse."""
    fronts, left = prepared
    weights, pivots = _unless_stopped(eliminate_kept, fronts.graph, int(fronts.end[0]), left)
    U = np.eye(len(pivots)) - np.triu(weights, 1) / pivots[:, None]
    T, _ = lapack.dtrtri(U, unitdiag=1)
    return (np.triu(T) / pivots) @ np.triu(T).T


def _unless_stopped(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a compiled function whose last argument is the stop flag; after a stop its answer is incomplete."""
    stop = stop_flag()
    answer = function(*arguments, stop)
    if stop[0]:
        raise Stopped
    return answer
