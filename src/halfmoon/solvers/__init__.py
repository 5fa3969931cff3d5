"""Solvers for symmetric diagonally dominant systems with many right-hand sides (section 4)."""

from halfmoon.solvers._base import Solution
from halfmoon.solvers._nullspace import null_modes, project_out
from halfmoon.solvers._solve import SOLVERS, check_sdd, prepare, solve_sdd
from halfmoon.solvers._spectrum import smallest_eigenvalue_bound

__all__ = [
    "SOLVERS",
    "Solution",
    "check_sdd",
    "null_modes",
    "prepare",
    "project_out",
    "smallest_eigenvalue_bound",
    "solve_sdd",
]
