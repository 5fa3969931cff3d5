"""Support vector machines that have not seen some of the examples, kept whole: they are asked about other rows too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised.losses._hinge import ROUGH, HingeLoss, support_vector_machine

__all__ = ["HeldOutMachines"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutMachines:
    """One machine per fold and function, fitted to the examples outside of the fold.

    Attributes
    ----------
    dual : ndarray of shape (folds, l, c)
        Dual coefficients.
    intercept : ndarray of shape (folds, c)
        Intercepts.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised.losses import HeldOutMachines, HingeLoss
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> K, Y = np.outer(x, x), np.sign(x)[:, None]
    >>> machines = HeldOutMachines.fit(HingeLoss(10.0), K, Y, np.ones(4), np.arange(4)[:, None])
    >>> left_out = machines.on_rows(K)[np.arange(4), np.arange(4)]
    >>> bool(np.allclose(left_out, HingeLoss(10.0).leave_one_out(K, Y, np.ones(4))))
    True
    """

    dual: NDArray[np.float64]
    intercept: Matrix

    @classmethod
    def fit(
        cls, loss: HingeLoss, K: Matrix, Y: Matrix, weights: Vector, folds: Sequence[NDArray[np.intp]]
    ) -> HeldOutMachines:
        """Fit them; only those whose fold holds a support vector differ from the machine on all examples."""
        whole = loss.fit(K, Y, weights)
        dual, intercept = np.tile(whole.dual, (len(folds), 1, 1)), np.tile(whole.intercept, (len(folds), 1))
        for number, left_out in enumerate(folds):
            bounds = loss.C * weights
            bounds[left_out] = 0.0
            for column in np.flatnonzero(np.any(whole.dual[left_out] != 0.0, axis=0)):
                found = support_vector_machine(K, Y[:, column], bounds, ROUGH)
                dual[number, :, column], intercept[number, column] = found
        return cls(dual, intercept)

    def on_rows(self, cross: Matrix) -> NDArray[np.float64]:
        """Return the values of all machines, of shape (m, folds, c), on rows with kernels `cross` to the examples."""
        return np.tensordot(cross, self.dual, axes=(1, 1)) + self.intercept
