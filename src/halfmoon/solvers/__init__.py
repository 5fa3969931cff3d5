"""Solvers for symmetric diagonally dominant systems with many right-hand sides (section 4)."""

from halfmoon.solvers._base import Solution, Solver
from halfmoon.solvers._nullspace import null_modes, project_out
from halfmoon.solvers._options import SolveOptions
from halfmoon.solvers._solve import SOLVERS, check_sdd, prepare, solve_sdd
from halfmoon.solvers._spectrum import smallest_eigenvalue_bound
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
