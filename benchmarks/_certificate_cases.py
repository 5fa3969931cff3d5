"""One seed makes one graph, a regulariser, landmarks and many calls of `restrict`; each is compared with the truth."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy import sparse

from benchmarks._graph_families import LARGE_FAMILIES, SMALL_FAMILIES, Family
from benchmarks._oracle import Exact, exact_blocks, largest_entry, to_mp
from benchmarks._reference import Reference
from halfmoon import exceptions, restrict
from halfmoon.exceptions import AccuracyWarning, DisconnectedGraphWarning
from halfmoon.geometry import Restriction
from halfmoon.regularizers import PowerRegularizer

__all__ = [
    "CASES_PER_GRAPH",
    "FAILURES",
    "STATUSES",
    "Case",
    "Outcome",
    "Problem",
    "Truth",
    "check",
    "draw",
    "judge",
    "oracle",
    "reference",
    "try_case",
]

MEMORY = {"stored": None, "streamed": 1}
HIGHEST_POWER = 6
FAILURES = ("violated", "not finite", "refused", "raw error", "warning")
STATUSES = (*FAILURES, "no bound", "float range", "not judged")
COMPARISON_DIGITS = 60
FLOAT_RANGE = 1e-250, 1e250  # inside of it nothing is to be refused
DOUBT = 0.1  # a reference judges bounds that are ten times its own error
UNTRUSTED = 1e-6  # relative error of a reference above which it says nothing at all
FloatRangeError = getattr(exceptions, "FloatRangeError", ())


class Kind(NamedTuple):
    """What small and large cases differ in."""

    families: dict[str, Family]
    sizes: tuple[int, int]
    most_landmarks: int
    solvers: tuple[str, ...]
    powers: int


KINDS = {
    "small": Kind(SMALL_FAMILIES, (2, 45), 45, ("auto", "direct", "eigen", "cg", "approx_cholesky"), 2),
    "large": Kind(LARGE_FAMILIES, (2_001, 5_000), 12, ("auto", "cg", "approx_cholesky"), 2),
}
CASES_PER_GRAPH = {name: kind.powers * len(kind.solvers) * len(MEMORY) for name, kind in KINDS.items()}


@dataclass(frozen=True)
class Case:
    """One call of `restrict`."""

    solver: str
    memory: str
    power: int
    eps: float


@dataclass(frozen=True)
class Problem:
    """A graph, a regulariser on it, landmarks, and what is asked about them."""

    family: str
    W: sparse.csr_array
    normalized: bool
    ridge: float
    landmarks: NDArray[np.intp]
    cases: list[Case]

    @property
    def powers(self) -> list[int]:
        """The powers that are asked for."""
        return sorted({case.power for case in self.cases})

    def __str__(self) -> str:
        base = "L_norm" if self.normalized else "L"
        weights = f", weights {self.W.data.min():.1e} to {self.W.data.max():.1e}" if self.W.nnz else ""
        shape = f"n = {self.W.shape[0]}, {len(self.landmarks)} landmarks"
        return f"{self.family}, {shape}{weights}, {base} + {self.ridge:.1e} I"


class Truth(NamedTuple):
    """The exact block, or one with a known error."""

    block: Exact
    error: Any = mpf(0)


@dataclass(frozen=True)
class Outcome:
    """What came of a case; `seed` repeats it."""

    seed: str
    problem: str
    case: Case
    status: str
    message: str = ""
    missed: bool = False  # AccuracyWarning
    tightness: float | None = None  # bound / true error
    bound_kind: str = "none"

    @property
    def kind(self) -> str:
        """Small or large."""
        return self.seed.partition("-")[0]


def draw(kind: str, seed: int) -> Problem:
    """Draw a problem. Tests know failing cases by their seeds: a change here or in a family calls for new ones."""
    families, sizes, most_landmarks, solvers, powers = KINDS[kind]
    rng = np.random.default_rng(seed)
    n = int(rng.integers(sizes[0], sizes[1] + 1))
    family = str(rng.choice(list(families)))
    scale = 10.0 ** rng.uniform(-60.0, 60.0) if rng.random() < 0.5 else 1.0
    W = sparse.csr_array(families[family](rng, n) * scale)
    normalized = bool(rng.random() < 0.5)
    ridge = 10.0 ** rng.uniform(-12.0, 3.0) if rng.random() < 0.75 else 0.0
    if not normalized and rng.random() < 0.5:
        ridge *= scale
    landmarks = rng.permutation(n)[: rng.integers(1, min(n, most_landmarks) + 1)]
    drawn = rng.choice(np.arange(1, HIGHEST_POWER + 1), size=powers, replace=False)
    grid = list(product(sorted(drawn.tolist()), solvers, MEMORY))
    eps = 10.0 ** rng.uniform(-12.0, -2.0, len(grid))
    cases = [Case(solver, memory, p, float(e)) for (p, solver, memory), e in zip(grid, eps, strict=True)]
    return Problem(family, W, normalized, float(ridge), landmarks, cases)


def check(kind: str, seed: int, only: int | None = None) -> list[Outcome]:
    """Return the outcomes of the cases of one seed, or of one of them."""
    problem = draw(kind, seed)
    truths = (oracle if kind == "small" else reference)(problem)
    return [
        try_case(f"{kind}-{seed}.{place}", problem, case, truths.get(case.power))
        for place, case in enumerate(problem.cases)
        if only in (None, place)
    ]


def oracle(problem: Problem) -> dict[int, Truth]:
    """Return the exact blocks."""
    blocks = exact_blocks(
        problem.W, problem.landmarks, problem.powers, normalized=problem.normalized, ridge=problem.ridge
    )
    return {p: Truth(block) for p, block in blocks.items()}


def reference(problem: Problem) -> dict[int, Truth]:
    """Return the blocks that refinement gives and that can be trusted."""
    with np.errstate(all="ignore"):  # a reference that fails is not finite, and is left out
        try:
            blocks = Reference(problem.W, normalized=problem.normalized, ridge=problem.ridge).blocks(
                problem.landmarks, problem.powers
            )
        except RuntimeError:  # singular to SuperLU, or too stiff
            return {}
        return {
            p: Truth(_long_to_mp(block), _long_to_mp(np.array([error]))[0])
            for p, (block, error) in blocks.items()
            if np.isfinite(block).all() and error <= UNTRUSTED * np.abs(block).max()
        }


def _long_to_mp(A: NDArray[np.longdouble]) -> Exact:
    """Return extended precision as mpf, exactly, also outside of the range of float64."""
    mantissas, exponents = np.frexp(A)
    high = mantissas.astype(np.float64)
    low = (mantissas - high).astype(np.float64)
    with mp.workdps(COMPARISON_DIGITS):
        return (to_mp(high) + to_mp(low)) * np.vectorize(lambda e: mp.ldexp(1, int(e)), otypes=[object])(exponents)


def try_case(label: str, problem: Problem, case: Case, truth: Truth | None) -> Outcome:
    """Call `restrict` and judge the result; warnings are errors, except for the two of its contract."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", AccuracyWarning)
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        try:
            found = restrict(
                PowerRegularizer(problem.W, power=case.power, normalized=problem.normalized, ridge=problem.ridge),
                problem.landmarks,
                eps=case.eps,
                solver=case.solver,
                max_memory=MEMORY[case.memory],
                n_jobs=1,
            )
        except Exception as error:
            status = _status_of_error(error, problem.ridge, case.power, truth)
            return Outcome(label, str(problem), case, status, f"{type(error).__name__}: {error}")
    status, message, tightness = judge(found, truth)
    kind = getattr(found, "bound_kind", "?")
    return Outcome(label, str(problem), case, status, message, bool(caught), tightness, kind)


def _status_of_error(error: Exception, ridge: float, power: int, truth: Truth | None) -> str:
    if isinstance(error, FloatRangeError) or (isinstance(error, ValueError) and "overflows" in str(error)):
        if truth is None:
            return "not judged"
        sizes = [largest_entry(truth.block), mpf(ridge) ** -power if ridge > 0.0 else mpf(0)]
        return "refused" if all(x == 0 or FLOAT_RANGE[0] < x < FLOAT_RANGE[1] for x in sizes) else "float range"
    return "warning" if isinstance(error, Warning) else "raw error"


def judge(found: Restriction, truth: Truth | None) -> tuple[str, str, float | None]:
    """Return the status of a block, what there is to say about it, and bound / error."""
    if not np.isfinite(found.smooth).all() or np.isnan(found.error_bound):
        return "not finite", f"error_bound {found.error_bound}", None
    if np.isinf(found.error_bound):
        return "no bound", "", None  # useless, but true
    if truth is None:
        return "not judged", "", None
    with mp.workdps(COMPARISON_DIGITS):
        size = mpf(float(np.abs(found.smooth).max()))
        allowed = mpf(float(found.error_bound)) * size
        error = largest_entry(to_mp(found.smooth) - truth.block)
        tightness = float(allowed / error) if error > 0 and allowed > 0 else None
        if error > allowed + truth.error:
            sizes = (mp.nstr(x, 3) for x in (error, allowed, largest_entry(truth.block)))
            return "violated", "error {}, error_bound allows {}, largest entry {}".format(*sizes), tightness
        if truth.error > DOUBT * allowed:
            return "not judged", "", None
        return "held", "", tightness
