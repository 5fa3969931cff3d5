"""Solvers for symmetric diagonally dominant systems with many right-hand sides (section 4)."""

from halfmoon.solvers._base import LandmarkBlock as LandmarkBlock  # for the packages above, as all "import X as X"
from halfmoon.solvers._base import Solution, Solver
from halfmoon.solvers._base import few_at_once as few_at_once
from halfmoon.solvers._base import solve_complement as solve_complement
from halfmoon.solvers._certificate import BoundKind as BoundKind
from halfmoon.solvers._dense_chain import DenseChainSolver as DenseChainSolver
from halfmoon.solvers._factor import factorize as factorize
from halfmoon.solvers._factor import negative_pivots as negative_pivots
from halfmoon.solvers._first_use import compile_solvers as compile_solvers
from halfmoon.solvers._first_use import solvers_are_compiled as solvers_are_compiled
from halfmoon.solvers._lanczos import few_columns as few_columns
from halfmoon.solvers._nullspace import exact_excess as exact_excess
from halfmoon.solvers._nullspace import null_modes, project_out
from halfmoon.solvers._options import Progress as Progress
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._solve import SOLVERS, check_sdd, prepare, solve_sdd
from halfmoon.solvers._spectrum import smallest_eigenvalue_bound
from halfmoon.solvers._system import ROUNDOFF as ROUNDOFF
from halfmoon.solvers._system import ShiftedLaplacian as ShiftedLaplacian
from halfmoon.solvers._system import System

__all__ = [
    "SOLVERS",
    "Solution",
    "SolveOptions",
    "Solver",
    "System",
    "check_sdd",
    "null_modes",
    "prepare",
    "project_out",
    "smallest_eigenvalue_bound",
    "solve_sdd",
]
