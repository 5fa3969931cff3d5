"""Q = r(L) for any function r of the eigenvalue, and exp(tL) (section 2; Smola and Kondor 2003).

Only g = 1 / r is needed: Q^+ = g(L). Small graphs are decomposed. On large ones q = sqrt(g) is expanded in
Chebyshev polynomials, and the landmark block is (q(L) E)' (q(L) E): half the degree that g would need, and
positive semi-definite by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import fft, linalg, sparse

from halfmoon._validation import check_choice, check_flag, check_real
from halfmoon.exceptions import NotPositiveSemidefiniteError
from halfmoon.graph import laplacian
from halfmoon.regularizers._base import GraphRegularizer, Greens, Matrix, indicators
from halfmoon.regularizers._power import laplacian_system
from halfmoon.runtime.storable import storable
from halfmoon.solvers import ROUNDOFF, SolveOptions, System, prepare, project_out, smallest_eigenvalue_bound

__all__ = ["HeatRegularizer", "SpectralRegularizer"]

EIGEN_SIZE = 1000  # "auto" decomposes graphs up to this size
MAX_DEGREE = 4096
TIGHTENINGS = 4  # the largest entry of the block is not known beforehand: expand, look, expand again


@storable
class SpectralRegularizer(GraphRegularizer):
    """Q = r(L) or r(L_norm) for a function r of the eigenvalue.

    Parameters
    ----------
    W : sparse array, numpy array or networkx.Graph
        Symmetric positive edge weights.
    r : callable
        Maps an array of eigenvalues >= 0 to values > 0; r(0) = 0 is allowed and leaves the null vectors of
        L out of Q^+ (pseudo-inverse). Smooth functions need few terms. Use a module-level function if the
        regulariser is to be pickled.
    normalized : bool, default=True
        Use L_norm, whose spectrum lies in [0, 2].

    Notes
    -----
    The solvers here are "eigen" (dense, for small n) and "chebyshev"; "auto" uses "eigen" up to n = 1000.
    The Chebyshev bound is the largest deviation of the squared expansion from 1 / r on a grid four times as
    fine as its degree, doubled, plus rounding. A function with features finer than that grid escapes it.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import restrict
    >>> from halfmoon.regularizers import SpectralRegularizer
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> Q = SpectralRegularizer(path, lambda x: (x + 1.0) ** 1.5, normalized=False)
    >>> restrict(Q, [0, 4]).greens.round(3).tolist()
    [[0.518, 0.032], [0.032, 0.518]]
    """

    def __init__(
        self, W: Any, r: Callable[[NDArray[np.float64]], NDArray[np.float64]], *, normalized: bool = True
    ) -> None:
        if not callable(r):
            raise TypeError(f"The 'r' parameter must be a function of the eigenvalues. Got {r!r} instead.")
        self.r, self.normalized = r, check_flag("normalized", normalized)
        super().__init__(W)
        self._inverse(np.zeros(1))  # shows at once whether r can be called

    @cached_property
    def system(self) -> System:
        """R = L or L_norm, with its component modes."""
        return laplacian_system(self, self.normalized, ridge=0.0)

    @property
    def modes(self) -> sparse.csr_array:
        """One vector per component: Q V = r(0) V."""
        return self.system.modes

    @property
    def mode_inverse(self) -> float:
        """1 / r(0), or 0 where r(0) = 0."""
        return float(self._inverse(np.zeros(1))[0])

    def greens(self, landmarks: NDArray[np.intp], options: SolveOptions) -> Greens:
        """Return g(L) on the landmarks, g = 1 / r."""
        eps = options.eps
        E = project_out(self.null_modes, indicators(landmarks, self.n))
        no_modes = np.zeros((len(landmarks), 0))
        if self._method(options.solver) == "eigen":
            eigenvalues, U = self.spectrum
            g, U_S = self._inverse(eigenvalues), U[landmarks]
            rounding = 8 * self.n * ROUNDOFF * float(g.max())
            return Greens(_symmetric((U_S * g) @ U_S.T), no_modes, rounding, "estimated", 0.0, "eigen", 0)
        tolerance = eps * self._largest_inverse  # a guess at the largest entry, from above: tightened below
        for _ in range(TIGHTENINGS):
            expansion = self._expansion(tolerance)
            # Off the interval the polynomial grows: rounding along the null modes must go at the end.
            Y = project_out(self.null_modes, expansion.apply(self.laplacian, E))
            block = _symmetric(Y.T @ Y)
            rounding = 16 * (expansion.degree + self.n) * ROUNDOFF * float(np.square(Y).sum(axis=0).max())
            bound, wanted = expansion.error + rounding, eps * float(np.abs(block).max())
            if bound <= wanted or rounding > wanted:
                break
            tolerance *= 0.3 * wanted / bound
        return Greens(block, no_modes, bound, "estimated", 0.0, "chebyshev", expansion.degree)

    def solve_off_modes(self, B: Matrix, options: SolveOptions) -> Matrix:
        """Return g(L) B without its part along the modes."""
        B = project_out(self.modes, B)
        if self._method(options.solver) == "eigen":
            eigenvalues, U = self.spectrum
            return U @ (self._inverse(eigenvalues)[:, None] * (U.T @ B))
        expansion = self._expansion(options.eps * self._largest_inverse)
        half = project_out(self.modes, expansion.apply(self.laplacian, B))
        return project_out(self.modes, expansion.apply(self.laplacian, half))

    @cached_property
    def laplacian(self) -> sparse.csr_array:
        """L or L_norm."""
        return laplacian(self.W, normalized=self.normalized)

    @cached_property
    def spectrum(self) -> tuple[NDArray[np.float64], Matrix]:
        """Eigenvalues (clipped at 0) and eigenvectors of L, dense."""
        eigenvalues, U = linalg.eigh(self.laplacian.toarray())
        eigenvalues[: self.components.count] = 0.0
        return eigenvalues, U

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """An interval that holds the eigenvalues that matter: without 0 where r(0) = 0."""
        upper = self.system.unit * self.system.norm_bound
        if self.mode_inverse > 0.0:
            return 0.0, upper
        direct = prepare(self.system, SolveOptions(solver="direct"))
        lower = self.system.unit * smallest_eigenvalue_bound(self.system, direct)
        if not 0.0 < lower < np.inf:
            raise ValueError(
                "r(0) = 0 needs a lower bound on the second eigenvalue, and none could be proven for this "
                "graph. Give r a small value at 0 or use PowerRegularizer."
            )
        return lower, max(upper, 1.01 * lower)

    @cached_property
    def _largest_inverse(self) -> float:
        return float(self._inverse(np.linspace(*self._interval, 257)).max())

    def _method(self, solver: str) -> str:
        check_choice("solver", solver, ("auto", "eigen", "chebyshev"), advice="These serve r(L).")
        return ("eigen" if self.n <= EIGEN_SIZE else "chebyshev") if solver == "auto" else solver

    def _inverse(self, eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return g = 1 / r, with 0 where r = 0; refuse r < 0."""
        with np.errstate(over="ignore"):
            r = np.asarray(self.r(eigenvalues), dtype=np.float64)
        if r.shape != eigenvalues.shape:
            raise ValueError(f"r must map shape {eigenvalues.shape} to itself. Got shape {r.shape}.")
        bad = np.isnan(r) | (r < 0.0) | ((r == 0.0) & (eigenvalues > 0.0))
        if bad.any():
            raise NotPositiveSemidefiniteError(
                f"r must be positive on the spectrum: r({eigenvalues[bad][0]:g}) = {r[bad][0]:g}. "
                "Only r(0) = 0 is allowed."
            )
        return np.divide(1.0, r, out=np.zeros_like(r), where=r > 0.0)

    def _expansion(self, tolerance: float) -> _Expansion:
        return _Expansion.of_square_root(self._inverse, self._interval, tolerance)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'L_norm' if self.normalized else 'L'}, n={self.n})"


@storable
class HeatRegularizer(SpectralRegularizer):
    """Q = exp(t L): Q^+ is the heat (diffusion) kernel exp(-t L) of the graph (section 2).

    Parameters
    ----------
    W : sparse array, numpy array or networkx.Graph
        Symmetric positive edge weights.
    t : float, default=1.0
        Diffusion time.
    normalized : bool, default=True
        Use L_norm.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import restrict
    >>> from halfmoon.regularizers import HeatRegularizer
    >>> edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> restrict(HeatRegularizer(edge, t=1.0), [0, 1]).greens.round(4).tolist()
    [[0.5677, 0.4323], [0.4323, 0.5677]]
    """

    def __init__(self, W: Any, *, t: float = 1.0, normalized: bool = True) -> None:
        self.t, self.normalized = check_real("t", t, strict=True), check_flag("normalized", normalized)
        GraphRegularizer.__init__(self, W)

    def r(self, eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return exp(t x); a method, not a function kept in the state: the regulariser is data."""
        return np.exp(self.t * eigenvalues)


@dataclass(frozen=True)
class _Expansion:
    """A Chebyshev expansion of q = sqrt(g) on an interval."""

    coefficients: NDArray[np.float64]
    interval: tuple[float, float]
    error: float  # bound on |q^2 - g| over the interval

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    @classmethod
    def of_square_root(
        cls,
        g: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        interval: tuple[float, float],
        tolerance: float,
    ) -> _Expansion:
        """Expand to |q^2 - g| <= tolerance, with the lowest degree whose dropped tail allows it."""
        lower, upper = interval

        def q(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.sqrt(g(lower + (upper - lower) * (x + 1) / 2))

        largest = float(q(np.cos(np.linspace(0.0, np.pi, 257))).max())
        tail_allowed = tolerance / (4 * largest)  # |q~^2 - q^2| <= 2 |q| |q~ - q| + ...
        degree = 16
        while True:
            coefficients = _chebyshev_coefficients(q, degree)
            tails = np.cumsum(np.abs(coefficients[::-1]))[::-1]
            if np.abs(coefficients[-degree // 4 :]).sum() <= tail_allowed / 4 or 2 * degree > MAX_DEGREE:
                break
            degree *= 2
        kept = max(int((tails > tail_allowed).sum()), 1)
        coefficients = coefficients[:kept]
        grid = np.cos(np.linspace(0.0, np.pi, 4 * degree + 1))
        deviation = np.abs(chebyshev.chebval(grid, coefficients) ** 2 - q(grid) ** 2).max()
        return cls(coefficients, interval, 2 * float(deviation))

    def apply(self, L: sparse.csr_array, B: Matrix) -> Matrix:
        """Return q(L) B by Clenshaw's recurrence, one product with L a term."""
        lower, upper = self.interval
        b_next, b_after = np.zeros_like(B), np.zeros_like(B)
        for c in self.coefficients[:0:-1]:
            shifted = (4.0 / (upper - lower)) * (L @ b_next - lower * b_next) - 2.0 * b_next
            b_next, b_after = c * B + shifted - b_after, b_next
        shifted = (2.0 / (upper - lower)) * (L @ b_next - lower * b_next) - b_next
        return self.coefficients[0] * B + shifted - b_after


def _chebyshev_coefficients(
    q: Callable[[NDArray[np.float64]], NDArray[np.float64]], degree: int
) -> NDArray[np.float64]:
    """Interpolate q at the degree + 1 Chebyshev points of [-1, 1] by a cosine transform."""
    size = degree + 1
    points = np.cos(np.pi * (np.arange(size) + 0.5) / size)
    coefficients = fft.dct(q(points), type=2) / size
    coefficients[0] /= 2
    return coefficients


def _symmetric(A: Matrix) -> Matrix:
    return (A + A.T) / 2
