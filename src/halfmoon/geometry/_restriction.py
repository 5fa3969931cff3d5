"""The regulariser on the landmarks: Q_hat = (Q^+ restricted to S)^+ (eq. 7), with its certificate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

from halfmoon._validation import check_integer
from halfmoon.exceptions import AccuracyWarning, DisconnectedGraphWarning
from halfmoon.geometry._landmarks import check_landmarks
from halfmoon.regularizers import Greens, MatrixRegularizer, PowerRegularizer, Regularizer
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.callers import caller_level
from halfmoon.runtime.storable import storable
from halfmoon.solvers import ROUNDOFF, BoundKind, Progress, SolveOptions

__all__ = [
    "Restriction",
    "compute_restriction",
    "present_modes",
    "restrict",
    "restrict_further",
    "restrict_powers",
    "warn_about",
]

Matrix = NDArray[np.float64]


@storable
@dataclass(frozen=True)
class Restriction:
    """What `restrict` returns.

    Attributes
    ----------
    landmarks : ndarray of shape (n_hat,)
        The landmarks S, in the order of the rows of `greens`.
    smooth : ndarray of shape (n_hat, n_hat)
        The part of A = Q^+ on S that was solved for; `greens` adds the modes.
    modes : ndarray of shape (n_hat, c)
        The part of A known in closed form: A = smooth + modes modes'. One column per component, of size
        ridge^(-power / 2), which may exceed the rest by so much that it must stay factored.
    error_bound : float
        Verified bound on the largest error of an entry of `smooth`, relative to its largest entry: what
        `eps` asked for. The modes are exact.
    bound_kind : {"proven", "probable", "estimated"}
        What the bound rests on. "proven": true residuals, their rounding counted, over a lower bound on the spectrum
        that holds by proof (the ridge, a spanning tree, the inertia of a factorisation). "probable": that lower bound
        comes from random columns and fails with `failure_probability`. "estimated": neither, as for functions of L.
    failure_probability : float
        Of a probable bound; 0 otherwise.
    null_basis : ndarray of shape (n_hat, m)
        Orthonormal vectors on S that Q_hat does not penalise: null vectors of Q supported on S.
    solver : str
        Solver that ran.
    n_iter : int
        Its largest number of iterations; 0 for direct solvers.
    n_components : int
        Components of the graph of Q.
    reason : str
        How the solver came to be chosen and how it ran.
    """

    landmarks: NDArray[np.intp]
    smooth: Matrix
    modes: Matrix
    error_bound: float
    bound_kind: BoundKind
    failure_probability: float
    null_basis: Matrix
    solver: str
    n_iter: int
    n_components: int
    reason: str = ""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return without_caches(self)

    @property
    def spectral_error_bound(self) -> float:
        """Verified bound on the 2-norm of the error of `smooth` (eq. 11); the modes stay factored and exact."""
        return len(self.landmarks) * self.error_bound * float(np.abs(self.smooth).max())

    @cached_property
    def greens(self) -> Matrix:
        """A = Q^+ on S, the Green's function of the regulariser on the landmarks (eq. 7: A = Q_hat^+)."""
        return self.smooth + self.modes @ self.modes.T

    @cached_property
    def range_basis(self) -> Matrix | None:
        """Orthonormal basis of what Q_hat penalises; None if that is everything."""
        if self.null_basis.shape[1] == 0:
            return None
        full, _ = linalg.qr(self.null_basis)
        return full[:, self.null_basis.shape[1] :]

    @cached_property
    def Q_hat(self) -> Matrix:
        """The regulariser on the landmarks, Q_hat = A^+ (eq. 7).

        The null space of A is known from Q (`null_basis`), it is not guessed from small eigenvalues.
        """
        return self._Q_hat_root @ self._Q_hat_root.T

    @property
    def Q_hat_eigenvalues(self) -> NDArray[np.float64]:
        """Positive eigenvalues of Q_hat, ascending; from a root of it, where modes of size ridge^power keep digits."""
        return np.square(linalg.svdvals(self._Q_hat_root))[::-1]

    @cached_property
    def _Q_hat_root(self) -> Matrix:
        """F with F F' = Q_hat."""
        root, _ = self._inverse_root(None, max(self.error_bound, len(self.landmarks) * ROUNDOFF))
        return root

    def inverse_root(self, extra: Matrix) -> tuple[Matrix, Matrix]:
        """Return F with F F' = (A + extra)^-1 on what Q_hat penalises, for a p.s.d. `extra`, and N = modes' F.

        With extra = eta K_hat, F F' is (I + eta Q_hat K_hat)^-1 Q_hat of eq. 6, as one symmetric inverse. N is bounded
        by 1 however large the modes are, and N' N = F' modes modes' F; it may have other rows than modes' F.
        """
        return self._inverse_root(extra, len(self.landmarks) * ROUNDOFF)

    def _inverse_root(self, extra: Matrix | None, cut: float) -> tuple[Matrix, Matrix]:
        """Return F and N; eigenvalues below `cut` times the largest are left out where Cholesky does not go through."""
        H = self.smooth if extra is None else self.smooth + extra
        size = np.linalg.norm(self.modes, axis=0)
        units = self.modes / np.maximum(size, np.finfo(float).tiny)
        # Modes enter H with the weight of the rest; what they weigh more follows as an update that loses nothing.
        moderate = np.minimum(size**2, np.trace(H) / len(H)) if np.trace(H) > 0.0 else size**2
        H = H + (units * moderate) @ units.T
        B = units * np.sqrt(np.maximum(size**2 - moderate, 0.0))
        U = self.range_basis
        if U is not None:
            H, B = U.T @ H @ U, U.T @ B
        F, N = _updated(_root_of_inverse(H, cut), B)
        F = F if U is None else U @ F
        return F, np.concatenate([N, (units * np.sqrt(moderate)).T @ F])

    def __repr__(self) -> str:
        return (
            f"Restriction(n_landmarks={len(self.landmarks)}, components={self.n_components}, "
            f"solver={self.solver!r}, n_iter={self.n_iter}, error_bound={self.error_bound:.1e} ({self._kind_in_words}))"
        )

    @property
    def _kind_in_words(self) -> str:
        chance = f", fails with probability {self.failure_probability:.0e}" if self.failure_probability > 0.0 else ""
        return f"{self.bound_kind}{chance}"


def restrict(
    Q: Any,
    landmarks: ArrayLike,
    *,
    eps: float = 1e-6,
    solver: str = "auto",
    n_jobs: int | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> Restriction:
    """Return Q^+ on the landmarks, the Green's function of Q_hat, to a verified accuracy (equation 7).

    Parameters
    ----------
    Q : Regularizer, or a p.s.d. matrix (sparse or dense) of shape (n, n)
        The regulariser on all points; a matrix is wrapped in `MatrixRegularizer`.
    landmarks : array-like of int
        Distinct vertices, as `select_landmarks` gives them.
    eps : float, default=1e-6
        Accuracy of the block: largest entry error relative to the largest entry, the closed-form modes
        not counted. The bound that was reached is verified from true residuals and returned; a bound
        above `eps` raises an `AccuracyWarning`.
    solver : str, default="auto"
        "direct" (sparse factorisation), "eigen" (dense), "cg" or "approx_cholesky" (tiled conjugate
        gradients, in nearly-linear time); for functions of L "eigen" or "chebyshev". "auto": "direct" up to
        n = 2,000, then the cheaper of "cg" and "approx_cholesky" by a pilot on one tile.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.
    max_memory : int, default=None
        Bytes for arrays of size n x n_hat; None: half of the free memory. Where they do not fit, the
        landmark rows are kept alone, at the price of more iterations.
    progress : callable, default=None
        Called as ``progress(columns_done, columns, residual)`` by the iterative solvers.
    random_state : int, default=0
        Seed of the sampled preconditioner.
    verbose : bool, default=False
        Print which solver ran, why, and what it reached.

    Returns
    -------
    Restriction
        With `greens`, `error_bound`, `Q_hat`, `solver`, `n_iter`.

    Notes
    -----
    The bound divides true residuals by a lower bound on a spectrum, and `bound_kind` says what that rests on. The ridge
    is one, and proven. Where float64 cannot reach what it asks for (small ridges, high powers), "direct" proves a
    better one by the inertia of one more factorisation, "cg" and "approx_cholesky" use a spanning tree (proven) or
    random columns (probable, with the chance of failure). For "chebyshev" the deviation is sampled on a fine
    grid (estimated).

    On a disconnected graph Q^+ is block diagonal: a component without landmark has no influence on the
    kernel. One `DisconnectedGraphWarning` names the counts.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import restrict
    >>> from halfmoon.graph import knn_graph
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> X = np.random.default_rng(7).normal(size=(200, 2))
    >>> r = restrict(PowerRegularizer(knn_graph(X, n_neighbors=8)), np.arange(20))
    >>> r
    Restriction(n_landmarks=20, components=1, solver='direct', n_iter=0, error_bound=... (proven))
    >>> r.error_bound < 1e-9
    True
    """
    options = SolveOptions(eps, solver, n_jobs, max_memory, progress, random_state)
    if not isinstance(Q, Regularizer):
        Q = MatrixRegularizer(Q)
    restriction = compute_restriction(Q, check_landmarks(landmarks, Q.n), options)
    if verbose:
        print(f"{restriction!r}: {restriction.reason}")
    warn_about(Q, restriction, eps)
    return restriction


def warn_about(Q: Regularizer, restriction: Restriction, eps: float, labeled: NDArray[np.bool_] | None = None) -> None:
    """Warn of what the user should know about a restriction; apart from computing it, so that caches stay honest.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import restrict, warn_about
    >>> Q = PowerRegularizer(np.ones((4, 4)) - np.eye(4))
    >>> warn_about(Q, restrict(Q, [0, 1]), 1e-6)                    # connected and accurate: no warning
    """
    _warn_if_disconnected(Q, restriction.landmarks, labeled)
    if not restriction.error_bound <= eps:
        worthless = " No digit of it is certain." if restriction.error_bound >= 1.0 else ""
        warnings.warn(
            f"The landmark block of Q^+ is accurate to {restriction.error_bound:.1e} only, eps={eps:.1e} was asked."
            f"{worthless} Raise eps or the ridge, or lower the power.",
            AccuracyWarning,
            stacklevel=caller_level(),
        )


def compute_restriction(Q: Regularizer, S: NDArray[np.intp], options: SolveOptions) -> Restriction:
    """Return what `restrict` returns, for checked landmarks, without a word.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import compute_restriction
    >>> from halfmoon.solvers import SolveOptions
    >>> Q = PowerRegularizer(np.ones((4, 4)) - np.eye(4), power=1, normalized=False, ridge=1.0)
    >>> compute_restriction(Q, np.array([0]), SolveOptions()).greens.round(6)
    array([[0.4]])
    """
    return _restriction(Q, S, Q.greens(S, options))


def restrict_powers(
    Q: PowerRegularizer,
    landmarks: ArrayLike,
    powers: Sequence[int],
    *,
    eps: float = 1e-6,
    solver: str = "auto",
    n_jobs: int | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
) -> dict[int, Restriction]:
    """Restrict several powers of one R = L + ridge I from one chain of solves (Theorem 4.4).

    Parameters
    ----------
    Q : PowerRegularizer
        Gives the graph, the ridge and the kind of Laplacian; its own power does not matter.
    landmarks : array-like of int
        Distinct vertices.
    powers : sequence of int
        The p of R^p. The chain is as long as the largest needs, ceil(p / 2) solves.
    eps, solver, n_jobs, max_memory, progress, random_state
        As in `restrict`.

    Returns
    -------
    dict
        A `Restriction` for every power.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.graph import knn_graph
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import restrict_powers
    >>> X = np.random.default_rng(7).normal(size=(200, 2))
    >>> sorted(restrict_powers(PowerRegularizer(knn_graph(X, n_neighbors=8)), np.arange(20), [1, 2, 3, 4]))
    [1, 2, 3, 4]
    """
    wanted = [check_integer("powers", p, low=1) for p in powers]
    options = SolveOptions(eps, solver, n_jobs, max_memory, progress, random_state)
    found = compute_restrictions(Q, check_landmarks(landmarks, Q.n), wanted, options)
    warn_about(Q, max(found.values(), key=lambda restriction: restriction.error_bound), eps)
    return found


def compute_restrictions(
    Q: PowerRegularizer, S: NDArray[np.intp], powers: Sequence[int], options: SolveOptions
) -> dict[int, Restriction]:
    """Return what `restrict_powers` returns, for checked landmarks, without a warning."""
    found = zip(powers, Q.inverse.greens_of_powers(S, powers, options), strict=True)
    return {power: _restriction(Q, S, greens) for power, greens in found}


def restrict_further(Q: Regularizer, restriction: Restriction, places: ArrayLike) -> Restriction:
    """Return the restriction to some of its landmarks: a block of the same matrix, without a solve.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import restrict, restrict_further
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> Q = PowerRegularizer(path, power=1, ridge=0.1)
    >>> few = restrict_further(Q, restrict(Q, [0, 2, 4]), [0, 2])
    >>> few.landmarks, bool(np.allclose(few.greens, restrict(Q, [0, 4]).greens))
    (array([0, 4]), True)
    """
    kept = check_landmarks(places, len(restriction.landmarks))
    smooth = restriction.smooth[np.ix_(kept, kept)]
    bound = restriction.error_bound * float(np.abs(restriction.smooth).max())
    greens = Greens(
        smooth,
        restriction.modes[kept],
        bound,
        restriction.bound_kind,
        restriction.failure_probability,
        restriction.solver,
        restriction.n_iter,
        restriction.reason,
    )
    return _restriction(Q, restriction.landmarks[kept], greens)


def _restriction(Q: Regularizer, S: NDArray[np.intp], greens: Greens) -> Restriction:
    largest = float(np.abs(greens.smooth).max())
    bound = float(greens.bound) / largest if greens.bound > 0.0 else 0.0
    return Restriction(
        landmarks=S,
        smooth=greens.smooth,
        modes=greens.modes,
        error_bound=bound,
        bound_kind=greens.bound_kind,
        failure_probability=greens.failure_probability,
        null_basis=_null_on_landmarks(Q.null_modes, S),
        solver=greens.solver,
        n_iter=greens.n_iter,
        n_components=Q.components.count,
        reason=greens.reason,
    )


def _root_of_inverse(H: Matrix, cut: float) -> Matrix:
    """Return F with F F' = H^-1."""
    if not len(H):
        return np.zeros((0, 0))
    try:
        factor = linalg.cholesky(H, lower=True)
        pivots = np.square(np.diagonal(factor))
        if pivots.min() > cut * pivots.max():
            return linalg.lapack.dtrtri(factor, lower=True)[0].T  # a third of the work of solving for the identity
    except linalg.LinAlgError:
        pass
    # H vanishes in some direction, to its accuracy: Q^+ decays below 1e-16 (exp(tL), say), and so does the base kernel.
    # Nothing is measured along such a direction: leave it out.
    eigenvalues, V = linalg.eigh(H)
    kept = eigenvalues > cut * eigenvalues[-1]
    return V[:, kept] / np.sqrt(eigenvalues[kept])


def _updated(F: Matrix, B: Matrix) -> tuple[Matrix, Matrix]:
    """Return F~ with F~ F~' = (H + B B')^-1 and, up to a rotation, B' F~, given F F' = H^-1.

    With Y = F' B = U s V', H + B B' = F'^-1 (I + Y Y') F^-1, and (I + Y Y')^-1/2 only shrinks along U.
    """
    if B.shape[1] == 0 or F.shape[1] == 0:
        return F, np.zeros((0, F.shape[1]))
    U, s, _ = linalg.svd(F.T @ B, full_matrices=False)
    root = np.sqrt(1.0 + s**2)
    return F + ((F @ U) * (1.0 / root - 1.0)) @ U.T, (s / root)[:, None] * U.T


def _null_on_landmarks(null_modes: sparse.csr_array, S: NDArray[np.intp]) -> Matrix:
    """Return an orthonormal basis of the null vectors of Q that are supported on S.

    A V x with unit x is supported on S exactly when V_S x keeps length 1.
    """
    V_S, _ = present_modes(null_modes, S)
    U, lengths, _ = linalg.svd(V_S, full_matrices=False)
    return np.ascontiguousarray(U[:, lengths > 1.0 - 1e-10])


def present_modes(modes: sparse.csr_array, S: NDArray[np.intp]) -> tuple[Matrix, NDArray[np.intp]]:
    """Return the modes that are seen on S, restricted to S, and which columns they are.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from halfmoon.geometry import present_modes
    >>> present_modes(sparse.csr_array([[1.0, 0.0], [0.0, 1.0]]), np.array([1]))
    (array([[1.]]), array([1]))
    """
    V_S = modes[S]
    present = np.flatnonzero(np.asarray(abs(V_S).sum(axis=0)).ravel() > 0.0)
    return V_S[:, present].toarray(), present


def _warn_if_disconnected(Q: Regularizer, S: NDArray[np.intp], labeled: NDArray[np.bool_] | None) -> None:
    components = Q.components
    if components.count == 1:
        return
    lacking = [("landmark and do not shape the kernel", components.covered_by(S) == 0)]
    if labeled is not None and labeled.any():
        lacking.insert(0, ("labelled row", components.covered_by(np.flatnonzero(labeled)) == 0))
    told = [
        f"{int(which.sum())} of them, with {int(components.sizes[which].sum())} of {Q.n} vertices, hold no {what}"
        for what, which in lacking
        if which.any()
    ]
    warnings.warn(
        f"The graph has {components.count} components, and "
        f"{'; '.join(told) if told else 'nothing spreads from one to another'}. Raise n_neighbors, or connect them: "
        "graph_params={'connect': True}, or knn_graph(..., connect=True).",
        DisconnectedGraphWarning,
        stacklevel=caller_level(),
    )
