"""Support vector machines on the labelled rows: small, dense, solved accurately and by the thousand.

A search over a grid fits thousands of machines on a hundred rows each. There scikit-learn's SVC spends its time on
checks of its input (1 ms and more a call), so the dual is solved here; the tests compare the two.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from halfmoon.semi_supervised._kernels import smo

__all__ = ["support_vector_machine"]

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
TOLERANCE = 1e-9  # labelled rows are few: an accurate optimum costs little and does not hang on their order
STEPS_PER_EXAMPLE = 100_000
WORK_AT_ONCE = 50_000_000  # steps times examples in one call of the kernel, which Ctrl-C has to wait for


def support_vector_machine(
    K: Matrix, signs: Vector, bounds: Vector, tolerance: float = TOLERANCE
) -> tuple[Vector, float]:
    """Return dual coefficients (signs included) and intercept of a machine with its own bound for each example.

    A bound is C times the weight of an example; one of 0 leaves the example out. The tolerance is the largest violation
    of the optimality conditions, in units of the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmoon.semi_supervised._svm import support_vector_machine
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> dual, intercept = support_vector_machine(np.outer(x, x), np.sign(x), np.full(4, 10.0))
    >>> dual + 0.0, intercept + 0.0
    (array([ 0. , -0.5,  0.5,  0. ]), 0.0)
    """
    used = signs[bounds > 0.0]
    if used.size and np.all(used == used[0]):  # one class only: the intercept says it all
        return np.zeros(len(signs)), float(used[0])
    K = np.ascontiguousarray(K)
    # Values of K alpha are rounded: no violation below that can be told from 0.
    rounding = np.finfo(float).eps * float(np.diagonal(K).max(initial=0.0)) * float(bounds.sum())
    tolerance = max(tolerance, rounding)
    alpha = np.zeros(len(signs))
    at_once, left = WORK_AT_ONCE // len(signs) + len(signs), STEPS_PER_EXAMPLE * len(signs)
    while True:
        intercept, violation = smo(K, signs, bounds, tolerance, min(left, at_once), alpha)  # goes on from alpha
        left -= min(left, at_once)
        if left == 0 or not violation > tolerance:
            break
    if violation > tolerance:
        warnings.warn(
            f"A support vector machine on {len(signs)} examples was stopped with a violation of {violation:.1e} of its "
            f"optimality conditions (aim {tolerance:.1e}). Lower C (now up to {bounds.max():.3g}).",
            ConvergenceWarning,
            stacklevel=2,
        )
    return signs * alpha, float(intercept)
