"""The interpolant of Theorem 3.2: from values on the landmarks to all points, h* = T h_hat."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfmoon.exceptions import AccuracyWarning
from halfmoon.geometry._restriction import Restriction, present_modes
from halfmoon.regularizers import PowerRegularizer, Regularizer, indicators
from halfmoon.runtime.memory import allowance, give_back
from halfmoon.solvers import SolveOptions

__all__ = [
    "check_values",
    "interpolate",
    "interpolation_masses",
    "interpolation_rows",
    "interpolation_rows_of_powers",
]

Matrix = NDArray[np.float64]

FEW = 4  # columns that solvers treat in another way than a tile


def interpolate(Q: Regularizer, restriction: Restriction, h_hat: ArrayLike, options: SolveOptions) -> Matrix:
    """Return h* = T h_hat, the extension of landmark values to all points (Theorem 3.2).

    h* = Q^+ E A^+ h_hat is the smoothest function, by h' Q h, with these values on the landmarks. On a
    component that lies in S altogether and that Q does not penalise, h* is h_hat. On a component without
    landmark h* is 0.

    Parameters
    ----------
    Q : Regularizer
        The regulariser that was restricted.
    restriction : Restriction
        What `restrict` returned for it.
    h_hat : array-like of shape (n_hat,) or (n_hat, m)
        Values at the landmarks.
    options : SolveOptions
        `eps` is the relative residual of each solve.

    Returns
    -------
    ndarray of shape (n,) or (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import interpolate
    >>> from halfmoon.geometry import restrict
    >>> from halfmoon.solvers import SolveOptions
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> Q = PowerRegularizer(path, power=1, normalized=False, ridge=1e-9)
    >>> interpolate(Q, restrict(Q, [0, 4]), [0.0, 1.0], SolveOptions()).round(6) + 0.0
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    S = restriction.landmarks
    values = check_values(h_hat, len(S))
    h = values.reshape(len(S), -1)
    units = np.abs(h).max(axis=0, initial=0.0)
    units[units == 0.0] = 1.0
    h = h / units  # T is linear, and the solvers square what they are given
    on_S = restriction.Q_hat @ h
    h_star = np.empty((Q.n, h.shape[1]))
    for part in _parts(h.shape[1], options):
        sources = np.zeros((Q.n, part.stop - part.start))
        sources[S] = on_S[:, part]
        h_star[:, part] = Q.solve_off_modes(sources, options)
        give_back()
    # Along the modes the interpolant is fixed by its landmarks; ridge^-power V V' would only lose digits there.
    V_S, present = present_modes(Q.modes, S)
    h_star += Q.modes[:, present] @ np.linalg.lstsq(V_S, h - h_star[S])[0]
    missed = np.abs(h_star[S] - h) * units
    if missed.size and missed.max() > 1e-3 * units.max():
        warnings.warn(
            f"The interpolant misses the values at the landmarks by up to {missed.max():.2g}: they are rougher than "
            "Q^+ can represent on these landmarks. Use fewer landmarks or a less smooth regulariser.",
            AccuracyWarning,
            stacklevel=2,
        )
    return (h_star * units).reshape(Q.n, *values.shape[1:])


def check_values(h_hat: ArrayLike, n_hat: int) -> Matrix:
    """Return values at the landmarks in float64, or say what is wrong with them."""
    values = np.asarray(h_hat, dtype=np.float64)
    if values.ndim not in (1, 2) or values.shape[0] != n_hat or not np.isfinite(values).all():
        raise ValueError(
            f"h_hat must hold one finite value per landmark: expected {n_hat} rows, got shape {values.shape}."
        )
    return values


def interpolation_rows(
    Q: Regularizer, restriction: Restriction, rows: NDArray[np.intp], options: SolveOptions
) -> Matrix:
    """Return the given rows of T, the interpolation of Theorem 3.2 from S to all points: h*_rows = T_rows h_hat.

    One solve per row that is not a landmark; landmarks have rows of the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import interpolation_rows
    >>> from halfmoon.geometry import restrict
    >>> from halfmoon.solvers import SolveOptions
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> Q = PowerRegularizer(path, power=1, normalized=False, ridge=1e-9)
    >>> interpolation_rows(Q, restrict(Q, [0, 4]), np.array([1, 4]), SolveOptions()).round(6) + 0.0
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    others = rows[~np.isin(rows, restriction.landmarks)]
    on_S = np.empty((len(restriction.landmarks), len(others)))
    for part in _parts(len(others), options):
        on_S[:, part] = Q.solve_off_modes(indicators(others[part], Q.n), options)[restriction.landmarks]
        give_back()
    return _rows_of_T(Q, restriction, rows, others, on_S)


def interpolation_rows_of_powers(
    Q: PowerRegularizer, restrictions: Mapping[int, Restriction], rows: NDArray[np.intp], options: SolveOptions
) -> dict[int, Matrix]:
    """Return `interpolation_rows` for several powers of Q, restricted to the same landmarks, from one chain of solves.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import interpolation_rows, interpolation_rows_of_powers
    >>> from halfmoon.geometry import restrict_powers
    >>> from halfmoon.solvers import SolveOptions
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> Q = PowerRegularizer(path, power=2, ridge=0.1)
    >>> both = restrict_powers(Q, [0, 4], [1, 2])
    >>> T = interpolation_rows_of_powers(Q, both, np.array([2]), SolveOptions())
    >>> bool(np.allclose(T[2], interpolation_rows(Q, both[2], np.array([2]), SolveOptions())))
    True
    """
    landmarks = next(iter(restrictions.values())).landmarks
    others = rows[~np.isin(rows, landmarks)]
    on_S, once = {power: np.empty((len(landmarks), len(others))) for power in restrictions}, Q.with_power(1)
    for part in _parts(len(others), options):
        solved = indicators(others[part], Q.n)
        for power in range(1, max(restrictions) + 1):
            solved = once.solve_off_modes(solved, options)
            if power in restrictions:
                on_S[power][:, part] = solved[landmarks]
        give_back()
    return {
        power: _rows_of_T(Q.with_power(power), restriction, rows, others, on_S[power])
        for power, restriction in restrictions.items()
    }


def _parts(columns: int, options: SolveOptions) -> list[slice]:
    """Return columns to solve for at one time: all, or a tile for every thread where memory is limited.

    A few that are left over join the last ones: solvers would treat them in another way.
    """
    step = columns if allowance() is None else options.tile_width * options.threads
    bounds = [*range(0, max(columns - FEW, 1), max(step, 1)), columns] if columns else []
    return [slice(*ends) for ends in pairwise(bounds)]


def _rows_of_T(
    Q: Regularizer, restriction: Restriction, rows: NDArray[np.intp], others: NDArray[np.intp], on_S: Matrix
) -> Matrix:
    """Return rows of T from Q^+ e_i off the modes on the landmarks, for rows i that are no landmarks."""
    S = restriction.landmarks
    place = np.full(Q.n, -1)
    place[S] = np.arange(len(S))
    T = np.zeros((len(rows), len(S)))
    known = place[rows] >= 0
    T[known, place[rows[known]]] = 1.0
    if others.size:
        along, present = _along_modes(Q, restriction)
        T[~known] = on_S.T @ restriction.Q_hat + Q.modes[others][:, present] @ along
        # Exactly 0 where no landmark is: rounding errors of a solve would pass for a small kernel.
        T[Q.components.covered_by(S)[Q.components.labels[rows]] == 0] = 0.0
    return T


def interpolation_masses(
    Q: Regularizer, restriction: Restriction, masses: NDArray[np.float64], options: SolveOptions
) -> NDArray[np.float64]:
    """Return T' m, the masses m of all points gathered at the landmarks: the sum of m_i h*_i is that of (T' m)_s h_s.

    One solve per column of m, which may be 1-D. They may be negative, as weights of a quadrature rule may. Points of
    components without landmark are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.regularizers import PowerRegularizer
    >>> from halfmoon.geometry import interpolation_masses
    >>> from halfmoon.geometry import restrict
    >>> from halfmoon.solvers import SolveOptions
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> Q = PowerRegularizer(path, power=1, normalized=False, ridge=1e-9)
    >>> interpolation_masses(Q, restrict(Q, [0, 4]), np.array([1.0, 1.0, 1.0, 0.0, 1.0]), SolveOptions()).round(6)
    array([2.25, 1.75])
    """
    S = restriction.landmarks
    covered = Q.components.covered_by(S)[Q.components.labels] > 0
    seen = masses.reshape(Q.n, -1) * covered[:, None]
    along, present = _along_modes(Q, restriction)
    gathered = restriction.Q_hat @ Q.solve_off_modes(seen, options)[S] + along.T @ (Q.modes[:, present].T @ seen)
    return gathered.reshape(len(S), *masses.shape[1:])


def _along_modes(Q: Regularizer, restriction: Restriction) -> tuple[Matrix, NDArray[np.intp]]:
    """Return C in T = G E Q_hat + V C, with G = Q^+ off the modes V, symmetric, and which modes V reach S.

    C = V_S^+ (I - G_SS Q_hat).
    """
    V_S, present = present_modes(Q.modes, restriction.landmarks)
    V_S_inverse = np.linalg.pinv(V_S)
    return V_S_inverse - (V_S_inverse @ restriction.smooth) @ restriction.Q_hat, present
