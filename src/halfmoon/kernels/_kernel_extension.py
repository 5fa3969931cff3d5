"""From the landmarks to every point through the base kernel: eq. 6 as it stands in the paper.

(A + eta K_hat)^-1 stands for (I + eta Q_hat K_hat)^-1 Q_hat: equal for invertible A, symmetric, and one Cholesky.
Where Q_hat is singular its null space is known and the inverse is that on the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfmoon.geometry import Restriction
from halfmoon.graph import RowLookup
from halfmoon.kernels._base import BaseKernel
from halfmoon.runtime.caches import without_caches
from halfmoon.runtime.storable import storable

__all__ = ["KernelExtension", "Measured"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Rows x as eq. 6 sees them, with C = (A + eta K_hat)^-1 = F F'.

    A row that is landmark s is known exactly by e_s, any other by its base-kernel values k_x alone.
    """

    on: NDArray[np.bool_]  # whether x is a landmark
    k: Matrix  # k_x, 0 for landmarks
    within: Matrix  # k_x' F, for landmarks too
    rest: Matrix  # e_s - eta C K_hat e_s for landmarks, - eta C k_x for others
    smooth: Matrix  # eta^1/2 C k_x, to be weighed by the smooth part of A
    modes: Matrix  # the same along the modes of A


@storable
class KernelExtension:
    """K(x, x') - eta k_x' (A + eta K_hat)^-1 k_x' (eq. 6).

    For large eta it is small, of size A / eta on the landmarks, and the difference as it is written loses all digits.
    With r_x = phi_x - eta k_x' C phi_S, what the landmarks do not explain of the feature phi_x, it is

        <r_x, r_x'>_K + eta k_x' C A C k_x',

    the Joseph form of `landmark_gram`; on landmarks r_x is a short combination of phi_S that does not cancel.
    """

    def __init__(self, base: BaseKernel, X_S: Any, K_hat: Matrix, restriction: Restriction, eta: float) -> None:
        self.base, self.X_S, self.eta = base, X_S, eta
        self._K_hat, self._restriction = K_hat, restriction

    @cached_property
    def _roots(self) -> tuple[Matrix, Matrix]:
        """F with F F' = (A + eta K_hat)^-1, and the modes of A times F."""
        return self._restriction.inverse_root(self.eta * self._K_hat)

    @property
    def root(self) -> Matrix:
        """F with F F' = (A + eta K_hat)^-1."""
        return self._roots[0]

    @cached_property
    def _lookup(self) -> RowLookup:
        return RowLookup(self.X_S)

    @property
    def _is_loud(self) -> bool:
        """Whether eta K_hat outweighs A."""
        A = float(np.trace(self._restriction.smooth)) + float(np.square(self._restriction.modes).sum())
        return self.eta * float(np.trace(self._K_hat)) > A

    @cached_property
    def _rest(self) -> Matrix:
        """I - eta K_hat C, a row per landmark; as A C where eta K_hat outweighs A and the difference would cancel."""
        F, r = self.root, self._restriction
        if r.range_basis is not None or not self._is_loud:
            return np.eye(len(self._K_hat)) - self.eta * ((self._K_hat @ F) @ F.T)
        return (r.smooth @ F + r.modes @ (r.modes.T @ F)) @ F.T

    @property
    def rounding(self) -> float:
        """Relative rounding error of eq. 6 between the landmarks, estimated; 1 where no digit is left.

        It is small against K(x, x) there, of the size of what a landmark has in common with no other: 1 / (eta C_ss).
        """
        F, n = self.root, len(self._K_hat) - self._restriction.null_basis.shape[1]
        if not self._is_loud:
            return float(np.finfo(float).eps)
        if F.shape[1] < n:  # directions were left out that rounding hides
            return 1.0
        lost = self.eta * np.square(F).sum(axis=1) * np.diagonal(self._K_hat)  # K(s, s) over what is left of it
        return min(1.0, float(np.finfo(float).eps * np.median(lost)))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        return without_caches(self)

    def gram(self, A: Any, B: Any) -> Matrix:
        """Return eq. 6 for the rows of A and B."""
        return self.between(self.measure(A), self.measure(B), self.base(A, B))

    def diag(self, A: Any) -> NDArray[np.float64]:
        """Return the diagonal of eq. 6."""
        a = self.measure(A)
        unexplained = np.einsum("ij,ij->i", a.rest, a.rest @ self._K_hat + 2.0 * a.k)
        smooth = np.einsum("ij,ij->i", a.smooth, a.smooth @ self._restriction.smooth)
        return np.where(a.on, 0.0, self.base.diag(A)) + unexplained + smooth + np.square(a.modes).sum(axis=1)

    def measure(self, A: Any, to_landmarks: Matrix | None = None) -> Measured:
        """Measure the rows of A at the landmarks; `to_landmarks` is K between both, where it is known."""
        F, modes_F = self._roots
        k = self.base(A, self.X_S) if to_landmarks is None else to_landmarks
        place = self._lookup.find(A)
        on = place >= 0
        k = np.where(on[:, None], self._K_hat[place], k)
        within = k @ F
        shown = within @ F.T
        rest = np.where(on[:, None], self._rest[place], -self.eta * shown)
        size = np.sqrt(self.eta)
        return Measured(on, np.where(on[:, None], 0.0, k), within, rest, size * shown, size * (within @ modes_F.T))

    def between(self, a: Measured, b: Measured, base: Matrix) -> Matrix:
        """Return eq. 6 between measured rows, with their base-kernel values."""
        unexplained = np.where(a.on[:, None] | b.on, 0.0, base) + a.rest @ (b.rest @ self._K_hat + b.k).T
        unexplained += a.k @ b.rest.T
        return unexplained + (a.smooth @ self._restriction.smooth) @ b.smooth.T + a.modes @ b.modes.T
