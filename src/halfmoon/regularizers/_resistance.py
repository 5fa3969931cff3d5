"""Amplified resistances (von Luxburg, Radl and Hein 2010; end of section 4.1)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph._laplacian import degrees
from halfmoon.regularizers._base import GraphRegularizer, Greens, Matrix
from halfmoon.regularizers._operator import ROUNDOFF, Operator, inverse_power_greens, solve_inverse_power
from halfmoon.regularizers._power import laplacian_operator
from halfmoon.solvers import project_out

__all__ = ["AmplifiedResistance"]


class AmplifiedResistance(GraphRegularizer):
    """The regulariser whose Green's function gives the amplified resistance distance.

    Q^+ = J (L^+ - D^-1 - D^-1 W D^-1) J, with J the centring on each component. In large graphs the plain
    resistance distance tends to 1/d_i + 1/d_j and forgets the graph; these terms take that part away.
    Directions in which Q^+ vanishes are penalised infinitely.

    Parameters
    ----------
    W : sparse array, numpy array or networkx.Graph
        Symmetric positive edge weights.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon import restrict
    >>> from halfmoon.regularizers import AmplifiedResistance
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> G = restrict(AmplifiedResistance(path), [0, 4]).greens
    >>> round(float(G[0, 0] + G[1, 1] - 2 * G[0, 1]), 6)      # resistance 4, minus 1/d_i + 1/d_j = 2
    2.0
    """

    @cached_property
    def operator(self) -> Operator:
        """R = L."""
        return laplacian_operator(self, normalized=False, ridge=0.0)

    @cached_property
    def local_part(self) -> sparse.csr_array:
        """D^-1 + D^-1 W D^-1, with D^-1 = 0 for isolated vertices."""
        d = degrees(self.W)
        inverse = sparse.diags_array(np.divide(1.0, d, out=np.zeros_like(d), where=d > 0.0))
        return sparse.csr_array(inverse + inverse @ self.W @ inverse)

    @property
    def modes(self) -> sparse.csr_array:
        """The constants of each component."""
        return self.operator.modes

    @property
    def singular(self) -> bool:
        """Constants are free."""
        return True

    def greens(self, landmarks: NDArray[np.intp], *, eps: float, solver: str) -> Greens:
        """Return Q^+ on the landmarks: one set of solves with L, sparse rows and means."""
        plain = inverse_power_greens(self.operator, landmarks, 1, eps, solver)
        V, C = self.operator.modes, self.local_part
        CV_S, V_S = (C @ V)[landmarks], V[landmarks]
        cross = (CV_S @ V_S.T).toarray()
        local = C[landmarks][:, landmarks].toarray() - cross - cross.T + (V_S @ (V.T @ C @ V) @ V_S.T).toarray()
        rounding = 8 * ROUNDOFF * (np.abs(plain.smooth).max() + 4 * abs(C).max())
        return Greens(plain.smooth - local, plain.modes, plain.bound + float(rounding), plain.solver, plain.n_iter)

    def solve(self, B: Matrix, *, eps: float, solver: str) -> Matrix:
        """Return Q^+ B."""
        V = self.operator.modes
        local = project_out(V, self.local_part @ project_out(V, B))
        return solve_inverse_power(self.operator, B, 1, eps, solver) - local

    def __repr__(self) -> str:
        return f"AmplifiedResistance(n={self.n})"
