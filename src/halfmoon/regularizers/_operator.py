"""The operator R that is solved with, and the certified landmark block of its inverse powers.

R = S^-1 M S^-1 with M symmetric diagonally dominant and S diagonal. L_norm + mu I is not diagonally dominant,
but D^-1/2 (L + mu D) D^-1/2 is of this form. The modes V of the components are eigenvectors of R with known
eigenvalue mu: they are handled in closed form,

    R^-p = mu^-p V V' + (R on the complement of V)^-p,

so the solves never see them and neither conditioning nor accuracy depends on the ridge.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.regularizers._base import Greens, Matrix, indicators
from halfmoon.solvers import prepare, project_out, smallest_eigenvalue_bound
from halfmoon.solvers._base import Solver

__all__ = ["Operator", "inverse_power_greens", "solve_inverse_power"]

ROUNDOFF = np.finfo(np.float64).eps


@dataclass
class Operator:
    """R = S^-1 M S^-1, its component modes V and what is known of its spectrum.

    Attributes
    ----------
    M : csr_array of shape (n, n)
        Symmetric p.s.d.; its null space is spanned by `null`.
    scale : ndarray of shape (n,)
        The diagonal of S.
    modes : csr_array of shape (n, count)
        Orthonormal eigenvectors V of R with R V = mode_value V.
    mode_value : float
        0 where Q is singular on the modes; then (R^+)^p leaves them out.
    floor : float
        A lower bound on the spectrum of R off the modes that is known beforehand (the ridge, say).
    null : csr_array of shape (n, m)
        Orthonormal null vectors of M.
    """

    M: sparse.csr_array
    scale: NDArray[np.float64]
    modes: sparse.csr_array
    mode_value: float
    floor: float
    null: sparse.csr_array
    _solvers: dict[str, Solver] = field(default_factory=dict, repr=False)

    def solver(self, name: str) -> Solver:
        """Return the named solver for M, set up at the first call."""
        if name not in self._solvers:
            self._solvers[name] = prepare(self.M, self.null, name)
        return self._solvers[name]

    def apply(self, X: Matrix) -> Matrix:
        """Return R X."""
        s = self.scale[:, None]
        return (self.M @ (X / s)) / s

    def solve(self, B: Matrix, rtol: float, solver: str) -> tuple[Matrix, int]:
        """Return R^-1 B for B orthogonal to the modes, and the number of iterations."""
        s = self.scale[:, None]
        X, n_iter = self.solver(solver).solve(s * B, rtol)
        return project_out(self.modes, s * X), n_iter

    def norm_bound(self) -> float:
        """Return a bound on the 2-norm of |R|: the largest row sum of the similar matrix S^-2 |M|."""
        return float((np.asarray(abs(self.M).sum(axis=1)).ravel() / self.scale**2).max())

    def proven_floor(self, solver: str) -> float:
        """Return a lower bound on the spectrum off the modes, proven by one more factorisation."""
        proven = smallest_eigenvalue_bound(self.M, self.scale, self.modes, self.solver(solver))
        return max(self.floor, proven)

    def mode_term(self, B: Matrix, power: int) -> Matrix:
        """Return mode_value^-power V V' B, or 0 on singular modes (pseudo-inverse)."""
        if self.mode_value == 0.0:
            return np.zeros_like(B)
        return self.mode_value**-power * (self.modes @ (self.modes.T @ B))

    def mode_columns(self, landmarks: NDArray[np.intp], power: int) -> Matrix:
        """Return mode_value^(-power / 2) V on the landmarks, without the components that hold none."""
        if self.mode_value == 0.0:
            return np.zeros((len(landmarks), 0))
        V_S = self.modes[landmarks]
        present = np.flatnonzero(np.asarray(abs(V_S).sum(axis=0)).ravel() > 0.0)
        return self.mode_value ** (-power / 2) * V_S[:, present].toarray()


def solve_inverse_power(operator: Operator, B: Matrix, power: int, eps: float, solver: str) -> Matrix:
    """Return (R^p)^+ B by p chained solves."""
    X = project_out(operator.modes, B)
    for _ in range(power):
        X, _ = operator.solve(X, eps, solver)
    return X + operator.mode_term(B, power)


def inverse_power_greens(
    operator: Operator, landmarks: NDArray[np.intp], power: int, eps: float, solver: str
) -> Greens:
    """Return the landmark block of (R^p)^+ with a verified error bound (Theorems 4.2 and 4.4, improved).

    ceil(p / 2) chained solves Y_j = R^-1 Y_{j-1} suffice, Y_0 the projected indicators: the block is Y_a' Y_a
    for p = 2a. For p = 2a + 1 it is Y_a' Z + Z' rho with Z = Y_{a+1} and rho = Y_a - R Z, which equals
    Y_a' R^-1 Y_a - rho' R^-1 rho exactly: its error is the square of the solve error.
    """
    chain = _Chain(operator, landmarks, eps, solver)
    for _ in range(power // 2):
        chain.step()
    gram = chain.odd_block if power % 2 else chain.even_block
    smooth, bound = gram(operator.floor)
    if operator.floor == 0.0 or bound > eps * float(np.abs(smooth).max()):
        # The lower bound on the spectrum that is known beforehand is too weak: prove a better one.
        _, bound = gram(operator.proven_floor(solver))
    modes = operator.mode_columns(landmarks, power)
    return Greens(smooth, modes, bound, operator.solver(solver).name, chain.n_iter)


class _Chain:
    """Y_j ~ R^-j P E with a running record of what is needed to bound its error.

    With rho_j = Y_{j-1} - R Y_j the error e_j = Y_j - R^-j P E obeys R e_j = e_{j-1} - rho_j, hence
    |e_j| <= (|e_{j-1}| + |rho_j|) / lambda for any lower bound lambda on the spectrum off the modes.
    """

    def __init__(self, operator: Operator, landmarks: NDArray[np.intp], eps: float, solver: str) -> None:
        self.operator, self.landmarks, self.eps, self.solver = operator, landmarks, eps, solver
        self.Y = project_out(operator.modes, indicators(landmarks, operator.M.shape[0]))
        self.norms = np.linalg.norm(self.Y, axis=0)
        self.residuals: list[NDArray[np.float64]] = []  # |rho_j|, rounding included
        self.n_iter = 0
        widest = int(np.diff(operator.M.indptr).max())
        self.gamma = (widest + 8) * ROUNDOFF  # rounding of one product with R
        self.norm_R = operator.norm_bound()
        self._last: tuple[Matrix, Matrix, NDArray[np.float64]] | None = None

    def step(self) -> None:
        """Replace Y_{j-1} by Y_j."""
        Z, _, rho_norms = self._next()
        self.Y, self._last = Z, None
        self.residuals.append(rho_norms)
        self.norms = np.linalg.norm(Z, axis=0)

    def even_block(self, floor: float) -> tuple[Matrix, float]:
        """Return Y_a' Y_a and the bound on its entries."""
        block = self.Y.T @ self.Y
        e, y = self._error_norms(floor), self.norms
        bound = _largest(e, y) * 2 + _largest(e, e) + len(self.Y) * ROUNDOFF * _largest(y, y)
        return _symmetric(block), bound

    def odd_block(self, floor: float) -> tuple[Matrix, float]:
        """Return Y_a' R^-1 Y_a to second order in the last solve, and the bound on its entries."""
        Z, rho, rho_norms = self._next()
        e, y, z = self._error_norms(floor), self.norms, np.linalg.norm(Z, axis=0)
        after_first = len(self.residuals) > 0
        first = self.Y.T @ Z if after_first else Z[self.landmarks].T  # Y_0' Z = Z_S: Z is orthogonal to the modes
        exact_z = z + _over(rho_norms, floor)  # bounds |R^-1 Y_a|
        bound = _largest(rho_norms, _over(rho_norms, floor))  # rho' R^-1 rho, second order
        bound += 2 * _largest(e, exact_z) + _largest(e, _over(e, floor))
        dots = len(Z) * ROUNDOFF * (rho_norms + (y if after_first else 0.0))
        rounding = self.gamma * (self.norm_R * z + y) + dots
        return _symmetric(first + Z.T @ rho), bound + 2 * _largest(z, rounding)

    def _next(self) -> tuple[Matrix, Matrix, NDArray[np.float64]]:
        """Solve R Z = Y; return Z, the true residual and its norm, rounding included."""
        if self._last is None:
            Z, n_iter = self.operator.solve(self.Y, self.eps, self.solver)
            self.n_iter = max(self.n_iter, n_iter)
            rho = project_out(self.operator.modes, self.Y - self.operator.apply(Z))
            rounding = self.gamma * (self.norm_R * np.linalg.norm(Z, axis=0) + self.norms)
            self._last = Z, rho, np.linalg.norm(rho, axis=0) + rounding
        return self._last

    def _error_norms(self, floor: float) -> NDArray[np.float64]:
        errors = np.zeros(len(self.landmarks))
        for rho_norms in self.residuals:
            errors = _over(errors + rho_norms, floor)
        return errors


def _over(norms: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Return norms / floor with 0 / 0 = 0: what is exact needs no bound on the spectrum."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(norms > 0.0, norms / floor, 0.0)


def _largest(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return max_ij a_i b_j of non-negative vectors, with 0 times infinity = 0."""
    largest_a, largest_b = float(a.max()), float(b.max())
    return largest_a * largest_b if largest_a > 0.0 and largest_b > 0.0 else 0.0


def _symmetric(A: Matrix) -> Matrix:
    return (A + A.T) / 2
