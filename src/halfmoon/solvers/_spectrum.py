"""A verified lower bound on the smallest eigenvalue off the known modes.

The certificate of `restrict` divides by lambda_min(R) on the complement of the null modes. A Lanczos estimate
alone errs on the unsafe side (Ritz values lie above), so it only proposes a bound; Sylvester's law of inertia,
read off one more factorisation, proves it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from halfmoon.solvers._base import Solver, solve_complement
from halfmoon.solvers._factor import backward_error, factorize, negative_pivots
from halfmoon.solvers._nullspace import project_out
from halfmoon.solvers._system import System

__all__ = ["smallest_eigenvalue_bound"]

DENSE_SIZE = 64  # below this a dense eigendecomposition is simpler and faster than Lanczos
SAFETY = (0.9, 0.5, 0.1, 0.01)  # shares of the estimate to try, best first


def smallest_eigenvalue_bound(system: System, solver: Solver) -> float:
    """Return a proven lower bound on the spectrum of R = S^-1 M S^-1 off its modes.

    Returns 0 where no bound could be proven.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import laplacian
    >>> from halfmoon.solvers import System, null_modes, prepare, smallest_eigenvalue_bound
    >>> L = laplacian(np.ones((4, 4)) - np.eye(4))            # eigenvalues 0, 4, 4, 4
    >>> system = System.of_matrix(L, null_modes(L))
    >>> 3.5 < smallest_eigenvalue_bound(system, prepare(system)) < 4.0
    True
    """
    n, M, scale, modes = system.n, system.M, system.scale, system.modes
    if modes.shape[1] == n:
        return np.inf
    if n <= DENSE_SIZE:
        R = M.toarray() / np.outer(scale, scale)
        eigenvalues = linalg.eigvalsh(R)
        known = modes.shape[1]
        return float(eigenvalues[known] - 10 * n * np.finfo(float).eps * eigenvalues[-1])
    estimate = _lanczos_estimate(system, solver)
    if not 0.0 < estimate < np.inf:
        return 0.0
    for share in SAFETY:
        shift = share * estimate
        shifted = sparse.csr_array(M - shift * sparse.diags_array(scale**2))
        try:
            factor = factorize(shifted)
            if negative_pivots(factor) > modes.shape[1]:
                continue
        except (ArithmeticError, RuntimeError):  # a pivot vanished: this shift proves nothing
            continue
        # The inertia is that of L U, which differs from S (R - shift) S by rounding: of the factorisation, of M, of the
        # shift. An eigenvalue of R moves by at most the largest row sum of the difference over S^2 (Gershgorin).
        rounding = system.rounding * (np.asarray(abs(M).sum(axis=1)).ravel() + shift * scale**2)
        proven = shift - float(((backward_error(factor) + rounding) / scale**2).max())
        if proven > 0.0:
            return proven
    return 0.0


def _lanczos_estimate(system: System, solver: Solver) -> float:
    """Return 1 / (largest Ritz value of R^-1 on the complement)."""
    n, modes = system.n, system.modes

    def inverse(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return solve_complement(system, solver, project_out(modes, x.reshape(-1, 1)), 1e-8)[0].ravel()

    operator = LinearOperator((n, n), matvec=inverse, dtype=np.float64)
    v0 = project_out(modes, np.random.default_rng(0).standard_normal((n, 1))).ravel()
    try:
        largest = eigsh(operator, k=1, which="LA", tol=1e-3, v0=v0, return_eigenvectors=False)
    except ArpackError:  # solves that are not accurate enough to be one operator
        return 0.0
    return 1.0 / float(largest[0])
