"""The dual of a support vector machine on a given kernel matrix, by sequential minimal optimisation."""

from __future__ import annotations

import numpy as np

from halfmoon.runtime.jit import njit

LEAST_CURVATURE = 1e-12  # of a pair whose kernel rows are equal


@njit
def smo(
    K,  # IN   (m, m) kernel matrix, C-ordered
    signs,  # IN   (m,) 1 or -1
    bounds,  # IN   (m,) upper bounds of alpha, C times the weight; 0 leaves an example out
    tolerance,  # IN   largest violation of the optimality conditions
    rounding,  # IN   violations below `rounding` times the sum of alpha cannot be told from 0
    max_steps,  # IN
    alpha,  # INOUT (m,) a feasible start, then the solution
):
    """Minimise alpha' (ss' K) alpha / 2 - sum(alpha), 0 <= alpha <= bounds, signs' alpha = 0.

    Pairs by second-order selection (Fan, Chen and Lin, 2005). Returns the intercept and the largest violation.
    """
    m = signs.size
    gradient = -np.ones(m)
    for j in range(m):
        if alpha[j] != 0.0:
            for t in range(m):
                gradient[t] += signs[t] * signs[j] * K[j, t] * alpha[j]
    violation = np.inf
    for _ in range(max_steps):
        up, highest = -1, -np.inf
        total = 0.0
        for t in range(m):
            total += alpha[t]
            if (alpha[t] < bounds[t]) if signs[t] > 0.0 else (alpha[t] > 0.0):
                value = -signs[t] * gradient[t]
                if value > highest:
                    up, highest = t, value
        down, lowest, best = -1, np.inf, np.inf
        for t in range(m):
            if (alpha[t] > 0.0) if signs[t] > 0.0 else (alpha[t] < bounds[t]):
                value = -signs[t] * gradient[t]
                lowest = min(lowest, value)
                gap = highest - value
                if gap > 0.0:
                    curvature = max(K[up, up] + K[t, t] - 2.0 * K[up, t], LEAST_CURVATURE)
                    gain = -gap * gap / curvature
                    if gain < best:
                        down, best = t, gain
        violation = highest - lowest
        if not violation > max(tolerance, rounding * total) or down < 0:
            break
        # Move along (s_up, -s_down), which keeps signs' alpha, as far as the curvature and the box allow.
        curvature = max(K[up, up] + K[down, down] - 2.0 * K[up, down], LEAST_CURVATURE)
        step = (highest + signs[down] * gradient[down]) / curvature
        step = min(step, bounds[up] - alpha[up] if signs[up] > 0.0 else alpha[up])
        step = min(step, alpha[down] if signs[down] > 0.0 else bounds[down] - alpha[down])
        alpha[up] = _moved(alpha[up], signs[up] * step, bounds[up])
        alpha[down] = _moved(alpha[down], -signs[down] * step, bounds[down])
        for t in range(m):
            gradient[t] += signs[t] * step * (K[up, t] - K[down, t])
    return _intercept(signs, bounds, gradient, alpha), violation


@njit
def _moved(value, step, bound):
    """Return value + step; exactly at an end of the box where it comes within rounding of it.

    The rounding is that of the numbers added: beside a bound of 1e15 a multiplier of 1 is far from 0.
    """
    moved = value + step
    if moved <= 1e-14 * value:
        return 0.0
    if moved >= (1.0 - 1e-14) * bound:
        return bound
    return moved


@njit
def _intercept(signs, bounds, gradient, alpha):
    """Return the b that the free support vectors agree on, or the middle of what the others allow."""
    total, free = 0.0, 0
    lowest, highest = -np.inf, np.inf
    for t in range(signs.size):
        value = -signs[t] * gradient[t]
        if 0.0 < alpha[t] < bounds[t]:
            total += value
            free += 1
        elif bounds[t] > 0.0:
            if (alpha[t] == 0.0) == (signs[t] > 0.0):
                lowest = max(lowest, value)
            else:
                highest = min(highest, value)
    if free > 0:
        return total / free
    return (lowest + highest) / 2.0
