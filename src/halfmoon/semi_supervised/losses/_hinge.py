"""Support vector machines on the labelled rows: small, dense, solved accurately and by the thousand.

A search over a grid fits thousands of machines on a hundred rows each. There scikit-learn's SVC spends its time on
checks of its input (1 ms and more a call), so the dual is solved here; the tests compare the two.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from halfmoon.semi_supervised._numba.smo import smo
from halfmoon.semi_supervised.losses._base import DualSolution

__all__ = ["HingeLoss", "support_vector_machine"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
ROUGH = 1e-5  # tolerance of the many machines of leave-one-out
TOLERANCE = 1e-9  # labelled rows are few: an accurate optimum costs little and does not hang on their order
STEPS_PER_EXAMPLE = 100_000
WORK_AT_ONCE = 50_000_000  # steps times examples in one call of the kernel, which Ctrl-C has to wait for
INTERPRETED = 200_000  # steps times examples, in all: a tenth of a second, less than it takes to compile
LARGEST_BOUND = 1e11  # over the largest kernel value: values of K alpha still have digits below the margin of 1


@dataclass(frozen=True)
class HingeLoss:
    """Support vector machines with cost C, one per column of signs."""

    C: float

    def fit(self, K: Matrix, Y: Matrix, weights: Vector) -> DualSolution:
        """Solve one machine per column."""
        bounds = self._bounds(weights)
        machines = [support_vector_machine(K, signs, bounds) for signs in Y.T]
        return DualSolution(np.column_stack([dual for dual, _ in machines]), np.array([b for _, b in machines]))

    def _bounds(self, weights: Vector) -> Vector:
        with np.errstate(over="ignore"):
            return np.minimum(self.C * weights, np.finfo(float).max)

    def leave_one_out(self, K: Matrix, Y: Matrix, weights: Vector, rows: NDArray[np.intp] | None = None) -> Matrix:
        """Fit without each support vector in turn; any other example can be left out without changing the model."""
        solution = self.fit(K, Y, weights)
        values = K @ solution.dual + solution.intercept
        wanted = np.ones(len(K), dtype=bool) if rows is None else np.isin(np.arange(len(K)), rows)
        for i, column in np.argwhere((solution.dual != 0.0) & wanted[:, None]):
            bounds = self._bounds(weights)
            bounds[i] = 0.0
            coef, offset = support_vector_machine(K, Y[:, column], bounds, ROUGH)
            values[i, column] = K[i] @ coef + offset
        return values


def support_vector_machine(
    K: Matrix, signs: Vector, bounds: Vector, tolerance: float = TOLERANCE
) -> tuple[Vector, float]:
    """Return dual coefficients (signs included) and intercept of a machine with its own bound for each example.

    A bound is C times the weight of an example; one of 0 leaves the example out. The tolerance is the largest violation
    of the optimality conditions, in units of the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised.losses import support_vector_machine
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> dual, intercept = support_vector_machine(np.outer(x, x), np.sign(x), np.full(4, 10.0))
    >>> dual + 0.0, intercept + 0.0
    (array([ 0. , -0.5,  0.5,  0. ]), 0.0)
    """
    used = signs[bounds > 0.0]
    if used.size and np.all(used == used[0]):  # one class only: the intercept says it all
        return np.zeros(len(signs)), float(used[0])
    K = np.ascontiguousarray(K)
    largest = float(np.diagonal(K).max(initial=0.0))
    limit = LARGEST_BOUND / largest if largest > 0.0 else np.inf
    box = np.minimum(bounds, limit)
    alpha, gradient = np.zeros(len(signs)), -np.ones(len(signs))
    rounding = np.finfo(float).eps * largest  # of K alpha, relative to the sum of alpha
    left = STEPS_PER_EXAMPLE * len(signs)
    while True:
        steps, violation = _minimise(K, signs, box, tolerance, rounding, left, alpha, gradient)
        left -= steps
        aim = max(tolerance, rounding * float(alpha.sum()))
        if left == 0 or not violation > aim:
            break
    _warn_if_inexact(alpha, bounds, limit, violation, aim)
    return signs * alpha, _intercept(signs, box, gradient, alpha)


class _Interpreted:
    """Steps times examples that have been interpreted in this process."""

    work = 0


def _minimise(
    K: Matrix, signs: Vector, box: Vector, tolerance: float, rounding: float, left: int, alpha: Vector, gradient: Vector
) -> tuple[int, float]:
    """Make some of the steps that are left; return how many, and the violation before the last.

    The first few machines of a process are interpreted, the others compiled; both do the same arithmetic.
    """
    m = len(signs)
    affordable = (INTERPRETED - _Interpreted.work) // m
    if affordable <= m:  # K becomes a list, too
        return smo(K, signs, box, tolerance, rounding, min(left, WORK_AT_ONCE // m + m), alpha, gradient)
    found, slopes = alpha.tolist(), gradient.tolist()
    steps, violation = smo.py_func(
        K.tolist(), signs.tolist(), box.tolist(), tolerance, rounding, min(left, affordable), found, slopes
    )
    alpha[:], gradient[:] = found, slopes
    _Interpreted.work += (steps + m) * m
    return steps, violation


def _intercept(signs: Vector, box: Vector, gradient: Vector, alpha: Vector) -> float:
    """Return the b that the free support vectors agree on, or the middle of what the others allow."""
    values = -signs * gradient
    free = (alpha > 0.0) & (alpha < box)
    if free.any():
        return float(values[free].mean())
    from_below = (alpha == 0.0) == (signs > 0.0)
    lowest = values[from_below & (box > 0.0)].max(initial=-np.inf)
    highest = values[~from_below & (box > 0.0)].min(initial=np.inf)
    return float((lowest + highest) / 2.0)


def _warn_if_inexact(alpha: Vector, bounds: Vector, limit: float, violation: float, aim: float) -> None:
    """Warn of a machine that was stopped, or that ran into the largest bound that float64 can compute with."""
    if violation > aim:
        what = (
            f"was stopped with a violation of {violation:.1e} of its optimality conditions (aim {aim:.1e}). "
            f"Lower C (now up to {bounds.max():.3g})."
        )
    elif np.any((alpha >= limit) & (bounds > limit)):
        what = (
            f"does not separate its classes, so that C times the weight counts, up to {bounds.max():.3g}; beyond "
            f"{limit:.3g} float64 has no digits left, and it was solved with that. Lower C or the weights."
        )
    else:
        return
    warnings.warn(f"A support vector machine on {len(alpha)} examples {what}", ConvergenceWarning, stacklevel=3)
