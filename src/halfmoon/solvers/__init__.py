"""Solvers for symmetric diagonally dominant systems with many right-hand sides (section 4)."""

from halfmoon.solvers._base import LandmarkBlock, Solution, Solver, solve_complement
from halfmoon.solvers._certificate import BoundKind
from halfmoon.solvers._dense_chain import DenseChainSolver
from halfmoon.solvers._factor import factorize, negative_pivots
from halfmoon.solvers._lanczos import few_columns
from halfmoon.solvers._nullspace import exact_excess, null_modes, project_out
from halfmoon.solvers._options import Progress, SolveOptions
from halfmoon.solvers._solve import SOLVERS, check_sdd, prepare, solve_sdd
from halfmoon.solvers._spectrum import smallest_eigenvalue_bound
from halfmoon.solvers._system import ROUNDOFF, System

__all__ = [
    "ROUNDOFF",
    "SOLVERS",
    "BoundKind",
    "DenseChainSolver",
    "LandmarkBlock",
    "Progress",
    "Solution",
    "SolveOptions",
    "Solver",
    "System",
    "check_sdd",
    "exact_excess",
    "factorize",
    "few_columns",
    "negative_pivots",
    "null_modes",
    "prepare",
    "project_out",
    "smallest_eigenvalue_bound",
    "solve_complement",
    "solve_sdd",
]
