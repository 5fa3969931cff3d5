"""T of a geometry: rows of it, functions T h_hat and masses T' m, by solves or from the stored matrix.

Rows that were appended after the last exact state are means of others, T_new = P T (`AppendedRows`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfmoon.geometry._append import AppendedRows
from halfmoon.geometry._interpolation import (
    check_values,
    interpolate,
    interpolation_masses,
    interpolation_rows,
    interpolation_rows_of_powers,
)
from halfmoon.geometry._restriction import Restriction
from halfmoon.geometry._stored_interpolation import StoredInterpolation
from halfmoon.regularizers import PowerRegularizer, Regularizer
from halfmoon.solvers import SolveOptions

__all__ = ["Interpolator"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Interpolator:
    """T for every power that a geometry was built for.

    Attributes
    ----------
    Q : Regularizer
        The regulariser of the last exact state.
    restrictions : dict
        Power -> Q on the landmarks.
    options : SolveOptions
        Of the solves.
    stored : StoredInterpolation or None
        T of the exact state, where it is stored.
    appended : AppendedRows or None
        The rows that came later.
    """

    Q: Regularizer
    restrictions: Mapping[int, Restriction]
    options: SolveOptions
    stored: StoredInterpolation | None
    appended: AppendedRows | None

    @property
    def is_identity(self) -> bool:
        """Whether every row of the exact state is a landmark, in the order of the rows."""
        S = next(iter(self.restrictions.values())).landmarks
        return len(S) == self.Q.n and np.array_equal(S, np.arange(self.Q.n))

    def regularizer(self, power: int) -> Regularizer:
        """Return Q with this power, for powers of the Laplacian; else Q."""
        return self.Q.with_power(power) if isinstance(self.Q, PowerRegularizer) else self.Q

    def rows(self, rows: Indices, power: int) -> Matrix:
        """Return rows of T."""
        return self.rows_of_powers(rows, (power,))[power]

    def rows_of_powers(self, rows: Indices, powers: tuple[int, ...] | None = None) -> dict[int, Matrix]:
        """Return rows of T for several powers, None meaning all, from one chain of solves."""
        wanted = {power: self.restrictions[power] for power in (self.restrictions if powers is None else powers)}
        if self.appended is None:
            return self._exact_rows(rows, wanted)
        later = rows >= self.Q.n
        exact = self._exact_rows(rows[~later], wanted) if not later.all() else {}
        masses = self.appended.masses(rows[later] - self.Q.n)
        found = {}
        for power, restriction in wanted.items():
            T = found[power] = np.empty((len(rows), len(restriction.landmarks)))
            if not later.all():
                T[~later] = exact[power]
            if later.any():
                T[later] = self._gather(masses, power).T
        return found

    def _exact_rows(self, rows: Indices, wanted: Mapping[int, Restriction]) -> dict[int, Matrix]:
        if self.stored is not None:
            return {power: self.stored.rows(rows, power) for power in wanted}
        if len(wanted) > 1:
            assert isinstance(self.Q, PowerRegularizer)
            return interpolation_rows_of_powers(self.Q, wanted, rows, self.options)
        return {
            power: interpolation_rows(self.regularizer(power), restriction, rows, self.options)
            for power, restriction in wanted.items()
        }

    def extend(self, h_hat: ArrayLike, power: int) -> Matrix:
        """Return T h_hat on all rows."""
        if self.stored is None:
            h_star = interpolate(self.regularizer(power), self.restrictions[power], h_hat, self.options)
        else:
            values = check_values(h_hat, len(self.restrictions[power].landmarks))
            h_star = self.stored.extend(values.reshape(len(values), -1), power).reshape(self.Q.n, *values.shape[1:])
        return h_star if self.appended is None else self.appended.extend(h_star)

    def spread(self, h_hat: Matrix, power: int) -> Matrix:
        """Return T h_hat on all rows, without a solve where T is the identity on the exact state."""
        if not self.is_identity:
            return self.extend(h_hat, power)
        return h_hat if self.appended is None else self.appended.extend(h_hat)

    def rounding(self, h_hat: Matrix, power: int) -> Matrix:
        """Return a bound on the difference that float32 makes in `extend`, entry by entry."""
        if self.stored is None:
            errors = np.zeros((self.Q.n, h_hat.shape[1]))
        else:
            errors = self.stored.rounding(h_hat, power)
        return errors if self.appended is None else self.appended.extend(errors)

    def gather(self, masses: NDArray[np.float64], power: int) -> NDArray[np.float64]:
        """Return T' m for masses on all rows."""
        return self._gather(masses if self.appended is None else self.appended.fold(masses), power)

    def _gather(self, masses: NDArray[np.float64], power: int) -> NDArray[np.float64]:
        """Return T' m for masses on the rows of the exact state."""
        if self.is_identity:
            return masses.astype(np.float64)
        if self.stored is not None:
            return self.stored.gather(masses, power)
        return interpolation_masses(self.regularizer(power), self.restrictions[power], masses, self.options)
