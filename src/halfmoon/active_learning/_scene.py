"""What strategies look at: candidates, the kernel among them and to the rows that are settled, the model's doubts.

Everything rests on one Gram matrix, of the settled rows (labelled, or not to be suggested) and a pool of candidates,
under the kernel that the model has chosen. Its size is bounded; nothing here grows with the number of rows but lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["JITTER", "Scene"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
JITTER = 1e-10  # of the diagonal: settled rows may be equal


@dataclass(frozen=True)
class Scene:
    """Candidates, m of them, and l settled rows.

    Attributes
    ----------
    K : ndarray of shape (m, m)
        The kernel among the candidates.
    K_settled : ndarray of shape (m, l)
        Between candidates and settled rows.
    among_settled : ndarray of shape (l, l)
        Among the settled rows.
    base : ndarray of shape (m, m)
        The base kernel among the candidates.
    noise : ndarray of shape (l,)
        Variance of the noise of each settled label.
    own_noise : float
        That of a label to come.
    masses : ndarray of shape (m,)
        How many rows of the data a candidate stands for.
    component : ndarray of shape (m,)
        Its component of the graph.
    visited : ndarray of bool of shape (n_components,)
        Components that hold a settled row.
    component_sizes : ndarray of shape (n_components,)
        Rows of each component.
    doubt : ndarray of shape (m,), or None
        How unsure a classifier is of each candidate, between 0 and 1; None: there are no classes.
    gaps : ndarray of shape (m,), or None
        Between the decision values of the two best classes; None: there are no classes.
    gap_variance : float
        Variance of a gap whose row has variance 1 under the kernel.
    """

    K: Matrix
    K_settled: Matrix
    among_settled: Matrix
    base: Matrix
    noise: Vector
    own_noise: float
    masses: Vector
    component: Indices
    visited: NDArray[np.bool_]
    component_sizes: Vector
    doubt: Vector | None = None
    gaps: Vector | None = None
    gap_variance: float = 1.0

    @property
    def m(self) -> int:
        """Number of candidates."""
        return len(self.K)

    @cached_property
    def covariance(self) -> Matrix:
        """Covariance of the model's function at the candidates, given the settled labels.

        A Gaussian process with covariance K, this noise and a flat prior on the intercept, G = K_L + noise, has
        K - C G^-1 C' + (1 - C G^-1 1) (1 - C G^-1 1)' / (1' G^-1 1); without a settled row it is K.
        """
        if not self.K_settled.shape[1]:
            return self.K
        G = self.among_settled + np.diag(self.noise + JITTER)
        factor = linalg.cholesky(G, lower=True)
        within = linalg.solve_triangular(factor, self.K_settled.T, lower=True)
        ones = linalg.solve_triangular(factor, np.ones(len(G)), lower=True)
        left = (1.0 - within.T @ ones) / np.linalg.norm(ones)
        return self.K - within.T @ within + np.outer(left, left)

    @cached_property
    def distances(self) -> Vector:
        """Squared distance of each candidate, in the kernel's metric, to the nearest settled row; inf without one."""
        if not self.K_settled.shape[1]:
            return np.full(self.m, np.inf)
        own = np.diagonal(self.K)[:, None] + np.diagonal(self.among_settled)
        return np.maximum(own - 2.0 * self.K_settled, 0.0).min(axis=1)
