"""Amplified resistances (von Luxburg, Radl and Hein 2010; end of section 4.1)."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfmoon.graph import degrees
from halfmoon.regularizers._base import GraphRegularizer, Greens, InversePower, Matrix
from halfmoon.regularizers._power import laplacian_system
from halfmoon.runtime.storable import storable
from halfmoon.solvers import ROUNDOFF, SolveOptions, project_out

__all__ = ["AmplifiedResistance"]


@storable
class AmplifiedResistance(GraphRegularizer):
    """The regulariser whose Green's function gives the amplified resistance distance.

    Q^+ = J (L^+ - D^-1 - D^-1 W D^-1) J, with J the centring on each component. In large graphs the plain
    resistance distance tends to 1/d_i + 1/d_j and forgets the graph; these terms remove that part.
    Q^+ may vanish in further directions (on stars and cycles, say): `Restriction.Q_hat` leaves them out, as a
    pseudo-inverse does, and the kernel, which inverts A + eta K_hat, penalises them infinitely.

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
    def inverse(self) -> InversePower:
        """L, ready to be solved with."""
        return InversePower(laplacian_system(self, normalized=False, ridge=0.0), power=1)

    @cached_property
    def local_part(self) -> sparse.csr_array:
        """D^-1 + D^-1 W D^-1, with D^-1 = 0 for isolated vertices."""
        d = degrees(self.W)
        inverse = sparse.diags_array(np.divide(1.0, d, out=np.zeros_like(d), where=d > 0.0))
        return sparse.csr_array(inverse + inverse @ self.W @ inverse)

    @property
    def modes(self) -> sparse.csr_array:
        """The constants of each component."""
        return self.inverse.system.modes

    @property
    def mode_inverse(self) -> float:
        """0: constants are free."""
        return 0.0

    def greens(self, landmarks: NDArray[np.intp], options: SolveOptions) -> Greens:
        """Return Q^+ on the landmarks: one set of solves with L, sparse rows and means."""
        plain = self.inverse.greens(landmarks, options)
        V, C = self.modes, self.local_part
        CV_S, V_S = (C @ V)[landmarks], V[landmarks]
        cross = (CV_S @ V_S.T).toarray()
        local = C[landmarks][:, landmarks].toarray() - cross - cross.T + (V_S @ (V.T @ C @ V) @ V_S.T).toarray()
        rounding = 8 * ROUNDOFF * (np.abs(plain.smooth).max() + 4 * abs(C).max())
        return replace(plain, smooth=plain.smooth - local, bound=plain.bound + float(rounding))

    def solve_off_modes(self, B: Matrix, options: SolveOptions) -> Matrix:
        """Return Q^+ B, which has no part along the modes."""
        local = project_out(self.modes, self.local_part @ project_out(self.modes, B))
        return self.inverse.solve_off_modes(B, options) - local

    def __repr__(self) -> str:
        return f"AmplifiedResistance(n={self.n})"
