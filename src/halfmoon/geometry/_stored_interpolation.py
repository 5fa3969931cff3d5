"""The interpolation T of Theorem 3.2, stored: rows of T and functions T h_hat without a solve.

T is n x n_hat. Its columns are interpolants of the unit vectors, solved for in float64 and rounded to float32 last:
T itself is of order one, whereas Q^+ E, rounded, would lose a thousand times more in T = Q^+ E Q_hat.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halfmoon.geometry._interpolation import interpolate
from halfmoon.geometry._restriction import Restriction
from halfmoon.regularizers import Regularizer
from halfmoon.runtime.float32_product import product, product_rounding
from halfmoon.runtime.progress import report
from halfmoon.solvers import SolveOptions

__all__ = ["StoredInterpolation"]

Matrix = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.intp]
STEP = 16  # columns: the solvers work on so many at once
SOLVED_AT_ONCE = 1 << 25  # values of a block of columns in float64


@dataclass(frozen=True)
class StoredInterpolation:
    """T in float32 for one or several powers of a regulariser, in memory or on disk.

    Attributes
    ----------
    T : dict
        Power -> array or memory map of shape (n, n_hat).
    n_jobs : int or None
        Threads of products.
    """

    T: Mapping[int, Single]
    n_jobs: int | None

    @classmethod
    def build(
        cls,
        regularizers: Mapping[int, Regularizer],
        restrictions: Mapping[int, Restriction],
        options: SolveOptions,
        folder: str | Path | None = None,
    ) -> StoredInterpolation:
        """Solve for T, one block of columns at a time.

        Parameters
        ----------
        regularizers, restrictions : dict
            Power -> Q, and Q on the landmarks.
        options : SolveOptions
            Accuracy and threads of the solves; `memory` is what T may take, unless it goes to a folder.
        folder : str or Path, default=None
            An existing folder for T, in which it is removed with the object that is returned; None: memory.

        Returns
        -------
        StoredInterpolation
        """
        n, n_hat = next(iter(regularizers.values())).n, len(next(iter(restrictions.values())).landmarks)
        if folder is None:
            _check_memory(n, n_hat, len(restrictions), options)
            return cls(_solve(regularizers, restrictions, options, None), options.n_jobs)
        if not Path(folder).is_dir():
            raise ValueError(f"There is no folder {str(folder)!r} for the interpolation. Create it, or name another.")
        place = Path(tempfile.mkdtemp(prefix="halfmoon-", dir=folder))
        try:
            stored = cls(_solve(regularizers, restrictions, options, place), options.n_jobs)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        weakref.finalize(stored, shutil.rmtree, place, ignore_errors=True)
        return stored

    @property
    def size(self) -> int:
        """Bytes that T takes."""
        return sum(T.nbytes for T in self.T.values())

    def rows(self, rows: Indices, power: int) -> Matrix:
        """Return rows of T."""
        return self.T[power][rows].astype(np.float64)

    def extend(self, h_hat: Matrix, power: int) -> Matrix:
        """Return T h_hat, of shape (n, m)."""
        return product(self.T[power], h_hat, self.n_jobs)

    def gather(self, masses: NDArray[np.float64], power: int) -> NDArray[np.float64]:
        """Return T' m, for one vector of masses or one per column."""
        return (masses.T.astype(np.float32) @ self.T[power]).astype(np.float64).T

    def rounding(self, h_hat: Matrix, power: int) -> Matrix:
        """Return a bound on what float32 changes in `extend`, entry by entry; the solves have errors of their own."""
        return product_rounding(self.T[power], h_hat, self.n_jobs)


def _check_memory(n: int, n_hat: int, powers: int, options: SolveOptions) -> None:
    needed = 4 * n * n_hat * powers
    if needed > options.memory:
        fitting = options.memory // (4 * n * powers)
        raise ValueError(
            f"The interpolation of {n_hat} landmarks to {n} points takes {needed:,} bytes"
            f"{f' for {powers} powers' if powers > 1 else ''}, and max_memory allows {options.memory:,}. "
            f"Give a folder to store it on disk, raise max_memory, or use fewer landmarks ({fitting} would fit)."
        )


def _solve(
    regularizers: Mapping[int, Regularizer],
    restrictions: Mapping[int, Restriction],
    options: SolveOptions,
    place: Path | None,
) -> dict[int, Single]:
    """Return T for every power."""
    T: dict[int, Single] = {}
    n_hat = len(next(iter(restrictions.values())).landmarks)
    for number, (power, restriction) in enumerate(restrictions.items()):
        Q = regularizers[power]
        T[power] = _empty((Q.n, n_hat), None if place is None else place / f"power-{power}.npy")
        _fill(T[power], Q, restriction, options, (number * n_hat, len(restrictions) * n_hat))
    return T


def _empty(shape: tuple[int, int], file: Path | None) -> Single:
    if file is None:
        return np.empty(shape, dtype=np.float32)
    return np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)


def _fill(
    T: Single, Q: Regularizer, restriction: Restriction, options: SolveOptions, progress: tuple[int, int]
) -> None:
    """Set the columns of T; `progress` holds columns done before and columns in all."""
    n, n_hat = T.shape
    done, total = progress
    step = max(STEP, SOLVED_AT_ONCE // n // STEP * STEP)
    for first in range(0, n_hat, step):
        last = min(first + step, n_hat)
        T[:, first:last] = interpolate(Q, restriction, np.eye(n_hat)[:, first:last], options)
        report("interpolation", done + last, total)
    T[restriction.landmarks] = np.eye(n_hat)
    # Exactly 0 where no landmark is: rounding errors of a solve would pass for a small kernel.
    T[Q.components.covered_by(restriction.landmarks)[Q.components.labels] == 0] = 0.0
