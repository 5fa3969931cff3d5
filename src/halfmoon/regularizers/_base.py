"""What a regulariser is: a p.s.d. Q on n points that can apply Q^+ and give its block on the landmarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.exceptions import FloatRangeError
from halfmoon.graph import Components, check_graph, connected_components
from halfmoon.runtime.caches import without_caches
from halfmoon.solvers import (
    BoundKind,
    LandmarkBlock,
    SolveOptions,
    Solver,
    System,
    few_at_once,
    few_columns,
    prepare,
    project_out,
    solve_complement,
)

__all__ = ["GraphRegularizer", "Greens", "InversePower", "Regularizer", "indicators"]

Matrix = NDArray[np.float64]
SMALLEST_BLOCK = 1e-290  # below, entries lose digits


@dataclass(frozen=True)
class Greens:
    """The landmark block A = Q_hat^+ of Q^+ (equation 7) in two parts, A = smooth + modes modes'.

    The component modes carry mu^-p, which may be many orders of magnitude above the rest; added up, they would
    drown it. So they stay factored.

    Attributes
    ----------
    smooth : ndarray of shape (n_hat, n_hat)
        The part that was solved for; symmetric.
    modes : ndarray of shape (n_hat, c)
        The closed-form part: columns with disjoint supports, one per component with landmarks; may be empty.
    bound : float
        Verified bound on the largest error of an entry of `smooth`, rounding included.
    bound_kind : {"proven", "probable", "estimated"}
        What the bound rests on.
    failure_probability : float
        Of a probable bound; 0 otherwise.
    solver : str
        Solver that ran.
    n_iter : int
        Largest number of iterations of any solve; for Chebyshev expansions the degree.
    """

    smooth: Matrix
    modes: Matrix
    bound: float
    bound_kind: BoundKind
    failure_probability: float
    solver: str
    n_iter: int
    reason: str = ""


class Regularizer(ABC):
    """Base class: reg_Q(h) = h' Q h on the n vertices of a graph.

    To add a regulariser, derive from this class (or from `GraphRegularizer`) and write what is abstract.
    """

    n: int

    @property
    @abstractmethod
    def components(self) -> Components:
        """Connected components of the graph of Q, computed once."""

    @property
    @abstractmethod
    def modes(self) -> sparse.csr_array:
        """Orthonormal eigenvectors of Q that are known beforehand, as columns; they hold its null space."""

    @property
    @abstractmethod
    def mode_inverse(self) -> float:
        """The eigenvalue of Q^+ on the modes: 0 where Q vanishes on them."""

    @property
    def null_modes(self) -> sparse.csr_array:
        """Orthonormal columns that span the null space of Q."""
        return self.modes if self.mode_inverse == 0.0 else self.modes[:, :0]

    @abstractmethod
    def greens(self, landmarks: NDArray[np.intp], options: SolveOptions) -> Greens:
        """Return Q^+ on the landmarks, to `options.eps` relative to the largest entry of its smooth part."""

    @abstractmethod
    def solve_off_modes(self, B: Matrix, options: SolveOptions) -> Matrix:
        """Return Q^+ B without its part along the modes."""

    def solve(self, B: Matrix, options: SolveOptions) -> Matrix:
        """Return Q^+ B."""
        return self.solve_off_modes(B, options) + self.mode_inverse * (self.modes @ (self.modes.T @ B))

    def __getstate__(self) -> dict[str, Any]:
        """Leave what can be recomputed (factors, components) out of pickles and of joblib's hashes."""
        return without_caches(self)


class GraphRegularizer(Regularizer):
    """A regulariser made from the Laplacian of a graph W."""

    def __init__(self, W: Any) -> None:
        self.W: sparse.csr_array = check_graph(W)
        self.n = self.W.shape[0]

    @cached_property
    def components(self) -> Components:
        """Connected components of W."""
        return connected_components(self.W)


class InversePower:
    """Q = R^power for a system R: what the regularisers that solve with R have in common."""

    def __init__(self, system: System, power: int) -> None:
        self.system, self.power = system, power
        self._solvers: dict[SolveOptions, Solver] = {}

    def with_power(self, power: int) -> InversePower:
        """Return another power of the same system, with the same solvers."""
        twin = InversePower(self.system, power)
        twin._solvers = self._solvers
        return twin

    def solver(self, options: SolveOptions) -> Solver:
        """Return the solver for these options, set up at the first call."""
        key = SolveOptions(solver=options.solver, n_jobs=options.n_jobs, seed=options.seed)
        if key not in self._solvers:
            self._solvers[key] = prepare(self.system, options)
        return self._solvers[key]

    def greens(self, landmarks: NDArray[np.intp], options: SolveOptions) -> Greens:
        """Return Q^+ on the landmarks by at most ceil(power / 2) chained solves (Theorems 4.2 and 4.4)."""
        return self.greens_of_powers(landmarks, [self.power], options)[0]

    def greens_of_powers(
        self, landmarks: NDArray[np.intp], powers: Sequence[int], options: SolveOptions
    ) -> list[Greens]:
        """Return (R^p)^+ on the landmarks for several p, from one chain."""
        solver = self.solver(options)
        blocks = solver.landmark_blocks(landmarks, powers, options)
        return [
            self._greens(landmarks, power, block, solver.reason) for power, block in zip(powers, blocks, strict=True)
        ]

    def _greens(self, landmarks: NDArray[np.intp], power: int, block: LandmarkBlock, why: str) -> Greens:
        """Return a block in the unit of the regulariser, or say that float64 does not hold it."""
        with np.errstate(all="ignore"):
            exponent = self._exponent(power)
            smooth, bound = np.ldexp(block.block, exponent), float(np.ldexp(block.bound, exponent))
            modes = self.system.mode_columns(landmarks, power)
        largest = float(np.abs(smooth).max())
        if not np.isfinite(modes).all() or block.relative_bound == np.inf or not np.isfinite(largest):
            raise FloatRangeError(
                f"The landmark block of R^-{power} cannot be computed in float64: its largest entry came out as "
                f"{largest:.1e} with an error of up to {bound:.1e}. Raise the ridge, lower the power, or remove the "
                "weakest edges of the graph."
            )
        if largest < SMALLEST_BLOCK and np.any(block.block):
            raise FloatRangeError(
                f"The landmark block of R^-{power} is too small for float64: its largest entry is {largest:.1e}. "
                "Scale the weights of the graph down, or lower the ridge or the power."
            )
        reason = "; ".join(part for part in (why, block.reason) if part)
        return Greens(
            smooth, modes, bound, block.bound_kind, block.failure_probability, block.solver, block.n_iter, reason
        )

    def solve_off_modes(self, B: Matrix, options: SolveOptions) -> Matrix:
        """Return Q^+ B without its part along the modes, by `power` chained solves or, for few columns, in one run."""
        X = self._solve_off_modes(B, options)
        return np.ldexp(X, self._exponent(self.power), out=X)

    def _exponent(self, power: int) -> int:
        """Return log2 of unit^-power: the R of the regulariser is `unit` times that of the system."""
        return -power * int(np.log2(self.system.unit))

    def _solve_off_modes(self, B: Matrix, options: SolveOptions) -> Matrix:
        X = np.empty_like(B, dtype=np.float64)
        for part in few_at_once(B.shape[1]):
            X[:, part] = project_out(self.system.modes, B[:, part])
        at_once = few_columns(self.system, X, self.power, options.eps) if options.solver == "auto" else None
        if at_once is not None:
            return project_out(self.system.modes, at_once)
        solver = self.solver(options)
        for _ in range(self.power):
            X, _ = solve_complement(self.system, solver, X, options.eps)
        return X


def indicators(landmarks: NDArray[np.intp], n: int) -> Matrix:
    """Return E = [e_s : s in S], dense of shape (n, n_hat)."""
    E = np.zeros((n, len(landmarks)))
    E[landmarks, np.arange(len(landmarks))] = 1.0
    return E
