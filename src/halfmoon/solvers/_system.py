"""The system that is solved: R = S^-1 M S^-1 with M diagonally dominant, and the modes that are known beforehand.

L_norm + mu I is not diagonally dominant, but D^-1/2 (L + mu D) D^-1/2 is of this form. The modes V of the components
are eigenvectors of R with known eigenvalue mu: they are handled in closed form,

    R^-p = mu^-p V V' + (R on the complement of V)^-p,

so solves never see them, and neither conditioning nor accuracy depends on the ridge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["ROUNDOFF", "System"]

Matrix = NDArray[np.float64]
ROUNDOFF = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class System:
    """R = S^-1 M S^-1 and what is known of its spectrum.

    Attributes
    ----------
    M : csr_array of shape (n, n)
        Symmetric p.s.d.; its null space is spanned by `null`.
    scale : ndarray of shape (n,)
        The diagonal of S.
    modes : csr_array of shape (n, count)
        Orthonormal eigenvectors V of R with R V = mode_value V.
    mode_value : float
        0 where R is singular on the modes; then (R^+)^p leaves them out.
    floor : float
        A lower bound on the spectrum of R off the modes that is known beforehand (the ridge, say), or 0.
    null : csr_array of shape (n, m)
        Orthonormal null vectors of M.
    """

    M: sparse.csr_array
    scale: NDArray[np.float64]
    modes: sparse.csr_array
    mode_value: float
    floor: float
    null: sparse.csr_array

    @classmethod
    def of_matrix(cls, A: sparse.csr_array, null: sparse.csr_array, floor: float = 0.0) -> System:
        """Return R = A, with the null vectors as its only modes."""
        return cls(A, np.ones(A.shape[0]), null, 0.0, floor, null)

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return int(self.M.shape[0])

    @cached_property
    def R(self) -> sparse.csr_array:
        """S^-1 M S^-1."""
        inverse = sparse.diags_array(1.0 / self.scale)
        return sparse.csr_array(inverse @ self.M @ inverse)

    def apply(self, X: Matrix) -> Matrix:
        """Return R X."""
        s = self.scale[:, None]
        return (self.M @ (X / s)) / s

    def norm_bound(self) -> float:
        """Return a bound on the 2-norm of ``|R|``: the largest row sum of the similar matrix ``S^-2 |M|``."""
        return float((np.asarray(abs(self.M).sum(axis=1)).ravel() / self.scale**2).max())

    def mode_columns(self, landmarks: NDArray[np.intp], power: int) -> Matrix:
        """Return mode_value^(-power / 2) V on the landmarks, without the components that hold none."""
        if self.mode_value == 0.0:
            return np.zeros((len(landmarks), 0))
        V_S = self.modes[landmarks]
        present = np.flatnonzero(np.asarray(abs(V_S).sum(axis=0)).ravel() > 0.0)
        return self.mode_value ** (-power / 2) * V_S[:, present].toarray()
