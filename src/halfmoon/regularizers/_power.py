"""Q = (L + mu I)^p or (L_norm + mu I)^p: the iterated Laplacians of sections 4.1 and 5.1."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon._validation import check_flag, check_integer, check_real
from halfmoon.exceptions import FloatRangeError
from halfmoon.graph import degrees, scaling_degrees
from halfmoon.regularizers._base import GraphRegularizer, Greens, InversePower, Matrix
from halfmoon.runtime.storable import storable
from halfmoon.solvers import ROUNDOFF, ShiftedLaplacian, SolveOptions, System

__all__ = ["PowerRegularizer", "laplacian_system"]

MODERATE = 2.0**32  # beyond this, or below its inverse, sizes are rescaled
SMALLEST_WEIGHT = 1e-290


@storable
class PowerRegularizer(GraphRegularizer):
    """Powers of the graph Laplacian with a ridge: Q = (L + ridge I)^power (Theorem 4.4).

    Parameters
    ----------
    W : sparse array, numpy array or networkx.Graph
        Symmetric positive edge weights, as :func:`halfmoon.graph.knn_graph` returns them.
    power : int, default=2
        The p of R^p, at least 1. For a real exponent use ``SpectralRegularizer(W, lambda x: (x + ridge)**p)``.
    normalized : bool, default=True
        Use L_norm = D^-1/2 L D^-1/2 in place of L.
    ridge : float, default=1e-3
        The mu of R = L + mu I. With 0 the pseudo-inverse is meant literally: Q^+ leaves out the null vector
        of each component, so that Q_hat = (Q^+ on S)^+ also penalises the mean of the interpolant. A ridge
        going to 0 gives the Schur complement of Q instead, which does not.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import restrict
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> r = restrict(PowerRegularizer(path, power=1, normalized=False, ridge=1.0), [0, 4])
    >>> r.greens.round(3).tolist()
    [[0.618, 0.018], [0.018, 0.618]]
    """

    def __init__(self, W: Any, *, power: int = 2, normalized: bool = True, ridge: float = 1e-3) -> None:
        self.power = check_integer(
            "power", power, low=1, advice="For real powers use SpectralRegularizer(W, lambda x: x**p)."
        )
        self.ridge = check_real("ridge", ridge)
        if 0.0 < self.ridge < 1e-300 ** (1.0 / self.power):
            raise ValueError(
                f"ridge={self.ridge:g} to the power -{self.power} overflows. "
                "Use a larger ridge, or 0 for the pseudo-inverse."
            )
        if self.ridge > 1e300 ** (1.0 / self.power):
            raise ValueError(f"ridge={self.ridge:g} to the power {self.power} overflows. Use a smaller ridge.")
        self.normalized = check_flag("normalized", normalized)
        super().__init__(W)

    @cached_property
    def inverse(self) -> InversePower:
        """R^power with R = L + mu I or L_norm + mu I, ready to be solved with."""
        return InversePower(laplacian_system(self, self.normalized, self.ridge), self.power)

    def with_power(self, power: int) -> PowerRegularizer:
        """Return another power of the same R; the graph, its components and prepared solvers are shared.

        Examples
        --------
        >>> import numpy as np
        >>> from halfmoon.regularizers import PowerRegularizer
        >>> PowerRegularizer(np.ones((3, 3)) - np.eye(3), power=1).with_power(3)
        PowerRegularizer((L_norm + 0.001 I)^3, n=3)
        """
        twin = copy.copy(self)
        twin.power = check_integer("power", power, low=1)
        twin.inverse = self.inverse.with_power(twin.power)
        return twin

    @property
    def modes(self) -> sparse.csr_array:
        """One vector per component, 1_C / sqrt|C| or D^1/2 1_C / sqrt(vol C): Q V = ridge^power V."""
        return self.inverse.system.modes

    @property
    def mode_inverse(self) -> float:
        """ridge^-power, or 0 without a ridge."""
        return self.ridge**-self.power if self.ridge > 0.0 else 0.0

    def greens(self, landmarks: NDArray[np.intp], options: SolveOptions) -> Greens:
        """Return Q^+ on the landmarks by ceil(power / 2) chained solves (Theorem 4.4)."""
        return self.inverse.greens(landmarks, options)

    def solve_off_modes(self, B: Matrix, options: SolveOptions) -> Matrix:
        """Return Q^+ B off the component modes, by `power` chained solves."""
        return self.inverse.solve_off_modes(B, options)

    def __repr__(self) -> str:
        base = "L_norm" if self.normalized else "L"
        return f"PowerRegularizer(({base} + {self.ridge:g} I)^{self.power}, n={self.n})"


def laplacian_system(regularizer: GraphRegularizer, normalized: bool, ridge: float) -> System:
    """Return R = L + mu I, or L_norm + mu I = D^-1/2 (L + mu D) D^-1/2, whose core is diagonally dominant.

    Weights and ridge are divided by powers of two where they would take powers of R out of the range of float64.
    """
    ones, components = np.ones(regularizer.n), regularizer.components
    unit_of_W = _power_of_two(float(regularizer.W.data.max(initial=0.0))) if normalized else 1.0
    weights = scaling_degrees(regularizer.W / unit_of_W) if normalized else ones
    largest = 1.0 if normalized else float(degrees(regularizer.W).max())
    unit = _power_of_two(max(largest, ridge))
    both, mu = unit_of_W * unit, ridge / unit
    W = regularizer.W if both == 1.0 else regularizer.W / both
    if float(W.data.min(initial=1.0)) < SMALLEST_WEIGHT:
        raise FloatRangeError(
            f"The weights of the graph go down to {regularizer.W.data.min():.1e}, which float64 cannot relate to the "
            f"largest, {regularizer.W.data.max():.1e}, and the ridge, {ridge:.1e}. Remove the weakest edges or use "
            "binary weights."
        )
    # A ridge at rounding level makes a component singular to factorisations, which leave it to the residuals.
    strongest = np.zeros(components.count)
    np.maximum.at(strongest, components.labels, degrees(W) / weights)
    visible = mu > ROUNDOFF * strongest
    return System(
        ShiftedLaplacian(W, mu * weights * visible[components.labels]),
        scale=np.sqrt(weights),
        modes=components.modes(weights),
        mode_value=ridge,
        floor=mu,
        null=components.modes(ones)[:, np.flatnonzero(~visible)],
        excess=mu * weights,
        unit=unit,
    )


def _power_of_two(size: float) -> float:
    """Return 1 for moderate sizes, else the power of two next to them: dividing by it changes no digit."""
    return 1.0 if size == 0.0 or 1.0 / MODERATE <= size <= MODERATE else float(2.0 ** np.frexp(size)[1])
