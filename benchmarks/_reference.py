"""The landmark block of (L + mu I)^-p off the component modes for some thousand vertices, with an error estimate.

With R = g^-1/2 M g^-1/2, M = L + mu g (g the degrees for L_norm, 1 for L), the inverse off the modes is one solve
with the bordered matrix [M G; G' 0], G = g 1_C: it is as well conditioned as R is off its modes. A float64 factor gives
corrections, residuals are summed over edges in extended precision, r_i = b_i - sum_j w_ij (x_i - x_j) - mu g_i x_i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

__all__ = ["Reference"]

Long = NDArray[np.longdouble]

MAX_STEPS = 40
SLOW = 0.1  # share of the error that a step of refinement may leave
MARGIN = 10.0  # by which the last corrections, a sample of the rounding errors, are multiplied
ROUNDOFF = 4 * np.finfo(np.longdouble).eps  # of what the corrections do not see: x itself, and g


class Reference:
    """R off its modes, factored once."""

    def __init__(self, W: sparse.csr_array, *, normalized: bool, ridge: float) -> None:
        self.W, self.ridge = W, np.longdouble(ridge)
        self.n = W.shape[0]
        self.count, self.labels = sparse.csgraph.connected_components(W, directed=False)
        self.rows = np.repeat(np.arange(self.n), np.diff(W.indptr))
        degrees = self._sum_rows(W.data.astype(np.longdouble)[:, None]).ravel()
        self.isolated = degrees[:, None] == 0
        ones = np.ones(self.n, dtype=np.longdouble)
        self.g = np.where(degrees > 0, degrees, ones) if normalized else ones
        diagonal = degrees + self.ridge * self.g
        self.unit = np.sqrt(np.where(diagonal > 0, diagonal, ones)).astype(np.float64)  # M has a unit diagonal in it
        M = sparse.csr_array(sparse.diags_array(diagonal.astype(np.float64)) - W)
        scaled = sparse.diags_array(1.0 / self.unit) @ M @ sparse.diags_array(1.0 / self.unit)
        border = np.asarray(self.g / self.unit, dtype=np.float64)
        norms = np.sqrt(np.bincount(self.labels, weights=border**2, minlength=self.count))
        G = sparse.csr_array((border / norms[self.labels], (np.arange(self.n), self.labels)))
        self.factor = splu(sparse.csc_array(sparse.block_array([[scaled, G], [G.T, None]])))
        self._check_contraction()

    def blocks(self, landmarks: NDArray[np.intp], powers: Sequence[int]) -> dict[int, tuple[Long, np.longdouble]]:
        """Return for every power the block and an estimate of the largest error of an entry.

        A shadow of the chain carries the last corrections along, as errors of this size would be. Splitting p
        differently, (R^-a)' R^-b with a + b = p, gives a second opinion.
        """
        root = np.sqrt(self.g)[:, None]
        Y = np.zeros((self.n, len(landmarks)), dtype=np.longdouble)
        Y[landmarks, np.arange(len(landmarks))] = 1
        chain, errors = [self._off_modes(Y)], [np.zeros_like(Y)]
        for _ in range(max(powers)):
            x, correction = self._solve(root * chain[-1])
            chain.append(self._off_modes(root * x))
            inherited = np.abs(root * self._correct(root * errors[-1]))
            errors.append(np.abs(root * correction) + inherited + ROUNDOFF * np.abs(chain[-1]))
        result = {}
        for p in powers:
            block = chain[p][landmarks]
            other = chain[p // 2].T @ chain[p - p // 2]
            estimate = MARGIN * errors[p][landmarks].max() + np.abs(block - other).max() + np.abs(block - block.T).max()
            result[p] = (block, estimate)
        return result

    def _check_contraction(self) -> None:
        """Raise if refinement is slow in some direction: the last correction would then say little about the error.

        Such a direction has the smallest eigenvalues of its component, so it is what a random solution consists of.
        """
        b = self._off_modes(np.random.default_rng(self.n).normal(size=(self.n, 1)).astype(np.longdouble))
        b = b * np.sqrt(self.g)[:, None]
        x = self._correct(b)
        sizes = np.zeros((2, self.count))
        for size, part in zip(sizes, (x, self._correct(b - self._apply(x))), strict=True):
            np.maximum.at(size, self.labels, np.abs(self.unit * part[:, 0]).astype(np.float64))
        if not np.all(sizes[1] <= SLOW * sizes[0]):
            raise RuntimeError("The graph is too stiff for a float64 factor to refine with.")

    def _solve(self, b: Long) -> tuple[Long, Long]:
        """Return M^-1 b off the modes and the last correction, refined until corrections get no smaller."""
        x = correction = self._correct(b)
        size = np.abs(x).max(axis=0)
        for _ in range(MAX_STEPS):
            correction = self._correct(b - self._apply(x))
            x = self._centred(x + correction)
            before, size = size, np.abs(correction).max(axis=0)
            if not np.any(size < 0.5 * before):
                break
        return x, correction

    def _correct(self, r: Long) -> Long:
        """Return M^-1 r off the modes as the float64 factor gives it; columns are brought to size 1 for it."""
        size = np.abs(r).max(axis=0)
        size = np.where(size > 0, size, 1)
        right = np.zeros((self.n + self.count, r.shape[1]))
        right[: self.n] = r / size / self.unit[:, None]
        return self.factor.solve(right)[: self.n].astype(np.longdouble) / self.unit[:, None] * size

    def _apply(self, x: Long) -> Long:
        differences = x[self.rows] - x[self.W.indices]
        return self._sum_rows(self.W.data[:, None] * differences) + self.ridge * self.g[:, None] * x

    def _sum_rows(self, terms: Long) -> Long:
        sums = np.zeros((self.n, terms.shape[1]), dtype=np.longdouble)
        filled = np.flatnonzero(np.diff(self.W.indptr))
        if len(filled):
            sums[filled] = np.add.reduceat(terms, self.W.indptr[filled], axis=0)
        return sums

    def _centred(self, x: Long) -> Long:
        """Return x with g' x = 0 on every component, which is exactly 0 on an isolated vertex."""
        means = self._by_component(self.g[:, None] * x) / self._by_component(self.g[:, None])
        return np.where(self.isolated, 0, x - means[self.labels])

    def _off_modes(self, y: Long) -> Long:
        root = np.sqrt(self.g)[:, None]
        return root * self._centred(y / root)

    def _by_component(self, values: Long) -> Long:
        sums = np.zeros((self.count, values.shape[1]), dtype=np.longdouble)
        np.add.at(sums, self.labels, values)
        return sums
