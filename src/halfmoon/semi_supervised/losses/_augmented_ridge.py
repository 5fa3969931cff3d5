"""Ridge regression on the examples and one row more, for many such rows: leave-one-out values of all l + 1 of them.

Bordering G by a row x with kernels k to the examples, kappa to itself and noise alpha / w gives, with u = P k + g,
g = G^-1 1 / (1' G^-1 1), and delta = kappa + alpha / w - k' G^-1 k + (1 - 1' G^-1 k)^2 / (1' G^-1 1),

    P+ = [P + u u' / delta,  -u / delta]
         [    -u' / delta,    1 / delta]

so that for a target t of x (P+ y+)_i = (P y)_i + u_i (u' y - t) / delta and P+_ii = P_ii + u_i^2 / delta, and x itself
is predicted by u' y, the ordinary prediction. O(l^2) for u, then O(l) for each target of x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfmoon.semi_supervised.losses._ridge import RidgeSolution

__all__ = ["AugmentedRidge"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class AugmentedRidge:
    """A ridge solution, bordered by each of m rows in turn.

    Attributes
    ----------
    solution : RidgeSolution
        The solution on the examples alone.
    values : ndarray of shape (m, c)
        Its predictions at the rows.
    influence : ndarray of shape (m, l)
        u of each row.
    spread : ndarray of shape (m,)
        delta of each row, its noise left out: the predictive variance.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised.losses import AugmentedRidge, RidgeLoss
    >>> K, y, ones = np.eye(4) + 1.0, np.array([[1.0], [2.0], [4.0], [0.0]]), np.ones(4)
    >>> three = RidgeLoss(0.5).fit(K[:3, :3], y[:3], ones[:3])
    >>> more = AugmentedRidge.of(three, y[:3], K[3:, :3], K[3:, 3])
    >>> all_four = RidgeLoss(0.5).leave_one_out(K, y, ones)
    >>> bool(np.allclose(more.residuals(y[:3], y[3], 0.5)[0], y[:3] - all_four[:3]))
    True
    """

    solution: RidgeSolution
    values: Matrix
    influence: Matrix
    spread: Vector

    @classmethod
    def of(cls, solution: RidgeSolution, Y: Matrix, cross: Matrix, own: Vector) -> AugmentedRidge:
        """Border by rows with kernels `cross` to the examples and `own` to themselves."""
        u = cross @ solution.inverse + solution.sums / solution.sums.sum()
        return cls(solution, u @ Y, u, solution.variance(cross, own))

    def residuals(self, Y: Matrix, target: Vector, noise: float) -> NDArray[np.float64]:
        """Return leave-one-out residuals of the examples, of shape (m, l, c), where all rows have this target."""
        delta = self.spread[:, None] + noise
        gap = (self.values - target) / delta
        dual = self.solution.dual + self.influence[:, :, None] * gap[:, None, :]
        return dual / self._diagonal(delta)[:, :, None]

    def crossings(self, noise: float) -> tuple[Matrix, Matrix]:
        """Return where the studentised residual of each example equals that of the row: at some z < 0 and z > 0.

        Targets of the row are f(x) + sqrt(delta) z. The row's residual is |z|, that of example i |q_i - b_i z| with
        |b_i| < 1: the example is as odd as the row just between the two crossings, which lie around 0.
        """
        delta = self.spread[:, None] + noise
        root = np.sqrt(self._diagonal(delta))
        q = self.solution.dual[:, 0] / root
        b = np.sign(q) * self.influence / (np.sqrt(delta) * root)
        return -_ratio(np.abs(q), 1.0 - b), _ratio(np.abs(q), 1.0 + b)

    def without(self, examples: NDArray[np.intp], noise: float) -> tuple[NDArray[np.float64], Matrix]:
        """Return predictions (m, examples, c) at the rows without each of some examples, and deviations, unscaled."""
        diagonal, u = np.diagonal(self.solution.inverse)[examples], self.influence[:, examples]
        values = self.values[:, None] - u[:, :, None] * self.solution.residuals[examples]
        spread = self.spread[:, None] + noise + np.square(u) / np.maximum(diagonal, np.finfo(float).tiny)
        return values, np.sqrt(spread)

    def _diagonal(self, delta: Matrix) -> Matrix:
        """Return P+_ii of the examples."""
        return np.diagonal(self.solution.inverse) + np.square(self.influence) / delta


def _ratio(a: Matrix, b: Matrix) -> Matrix:
    """Return a / b; infinity where b is 0: an example that only the row keeps from being alone is as odd as the row."""
    return np.divide(a, b, out=np.full(b.shape, np.inf), where=b > 0.0)
