"""The dual of a support vector machine on a given kernel matrix, by sequential minimal optimisation.

The loop calls no other function and takes one index at a time: on lists in place of arrays it also runs interpreted,
with the same digits.
"""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import njit

__all__ = ["smo"]

LEAST_CURVATURE = 1e-12  # of a pair whose kernel rows are equal
ROUNDING = 1e-14  # of the numbers added: beside a bound of 1e15 a multiplier of 1 is far from 0


@njit
def smo(
    K,  # IN   (m, m) kernel matrix, C-ordered
    signs,  # IN   (m,) 1 or -1
    bounds,  # IN   (m,) upper bounds of alpha, C times the weight; 0 leaves an example out
    tolerance,  # IN   largest violation of the optimality conditions
    rounding,  # IN   violations below `rounding` times the sum of alpha cannot be told from 0
    max_steps,  # IN
    alpha,  # INOUT (m,) a feasible start, then the solution
    gradient,  # INOUT (m,) signs (K (signs alpha)) - 1
):
    """Minimise alpha' (ss' K) alpha / 2 - sum(alpha), 0 <= alpha <= bounds, signs' alpha = 0.

    Pairs by second-order selection (Fan, Chen and Lin, 2005). Returns the steps made and the largest violation.
    """
    m = len(signs)
    violation = np.inf
    for step_number in range(max_steps):
        up, highest = -1, -np.inf
        total = 0.0
        for t in range(m):
            total += alpha[t]
            if (alpha[t] < bounds[t]) if signs[t] > 0.0 else (alpha[t] > 0.0):
                value = -signs[t] * gradient[t]
                if value > highest:
                    up, highest = t, value
        down, lowest, best = -1, np.inf, np.inf
        of_up = K[up]
        for t in range(m):
            if (alpha[t] > 0.0) if signs[t] > 0.0 else (alpha[t] < bounds[t]):
                value = -signs[t] * gradient[t]
                if value < lowest:
                    lowest = value
                gap = highest - value
                if gap > 0.0:
                    curvature = of_up[up] + K[t][t] - 2.0 * of_up[t]
                    if curvature < LEAST_CURVATURE:
                        curvature = LEAST_CURVATURE
                    gain = -gap * gap / curvature
                    if gain < best:
                        down, best = t, gain
        violation = highest - lowest
        aim = rounding * total
        if aim < tolerance:
            aim = tolerance
        if not violation > aim or down < 0:
            return step_number, violation
        # Move along (s_up, -s_down), which keeps signs' alpha, as far as the curvature and the box allow.
        of_down = K[down]
        curvature = of_up[up] + of_down[down] - 2.0 * of_up[down]
        if curvature < LEAST_CURVATURE:
            curvature = LEAST_CURVATURE
        step = (highest + signs[down] * gradient[down]) / curvature
        room = bounds[up] - alpha[up] if signs[up] > 0.0 else alpha[up]
        if room < step:
            step = room
        room = alpha[down] if signs[down] > 0.0 else bounds[down] - alpha[down]
        if room < step:
            step = room
        for t in (up, down):
            value = alpha[t]
            moved = value + (signs[t] * step if t == up else -signs[t] * step)
            if moved <= ROUNDING * value:  # exactly at an end of the box where it comes within rounding of it
                moved = 0.0
            elif moved >= (1.0 - ROUNDING) * bounds[t]:
                moved = bounds[t]
            alpha[t] = moved
        for t in range(m):
            gradient[t] += signs[t] * step * (of_up[t] - of_down[t])
    return max_steps, violation
