"""Conjugate gradients on one tile: 16 or 8 right-hand sides share every pass over the graph.

The preconditioner is Jacobi (factor None) or an approximate Cholesky factor. Convergence is measured in the norm of the
residual of R, because that is what the certificate of a landmark block needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from halfmoon.runtime.jit import fast_njit, inner_njit, njit
from halfmoon.runtime.lanes import add, load, load_like, mul, muladd, store, sub, widen, zeros64_of, zeros_of
from halfmoon.solvers._numba.tile import FLUSH, multiply_and_dot

__all__ = ["Factor", "column_gradients", "conjugate_gradients"]


class Factor(NamedTuple):
    """P = C D C' ~ s M s, in its own numbering, both triangles stored by rows so that sweeps only gather."""

    lower_ptr: Any  # (n + 1,) uint32: row i of C, entries k < i
    lower_ind: Any
    lower: Any  # working precision
    upper_ptr: Any  # (n + 1,) uint32: row i of C', entries k > i
    upper_ind: Any
    upper: Any
    inverse: Any  # (n,) 1 / pivot, 0 where pinned


@inner_njit
def apply_jacobi(op, alpha, r, z, rz, rr):
    # IN op, alpha: (1, width)  INOUT r, z: s M s p -> P^-1 r  OUT rz, rr: (1, width) float64
    """Set r <- r - alpha z, z <- diag^-1 r, rz <- r' z and rr <- |r|^2 in the norm of R."""
    jacobi, norm = op.jacobi, op.norm
    n = jacobi.size
    a = load_like(alpha, 0, r)
    energy, square = zeros64_of(r), zeros64_of(r)
    for first in range(0, n, FLUSH):
        energy_part, square_part = zeros_of(r), zeros_of(r)
        for i in range(first, min(first + FLUSH, n)):
            ri = sub(load(r, i), mul(a, load(z, i)))
            store(r, i, ri)
            zi = mul(jacobi[i], ri)
            store(z, i, zi)
            energy_part = muladd(zi, ri, energy_part)
            square_part = muladd(mul(norm[i], ri), ri, square_part)
        energy, square = add(energy, widen(energy_part)), add(square, widen(square_part))
    store(rz, 0, energy)
    store(rr, 0, square)


@inner_njit
def apply_factor(op, factor, alpha, r, z, rz, rr):
    # IN op, factor, alpha: (1, width)  INOUT r, z: s M s p -> P^-1 r  OUT rz, rr: (1, width) float64
    """Set r <- r - alpha z, z <- (C D C')^-1 r, rz <- r' z and rr <- |r|^2, in one pass down and one up."""
    ptr, ind, value, norm = factor.lower_ptr, factor.lower_ind, factor.lower, op.norm
    n = norm.size
    a = load_like(alpha, 0, r)
    total = zeros64_of(r)
    for first in range(0, n, FLUSH):
        part = zeros_of(r)
        for i in range(first, min(first + FLUSH, n)):
            zi = sub(load(r, i), mul(a, load(z, i)))
            store(r, i, zi)
            part = muladd(mul(norm[i], zi), zi, part)
            for k in range(ptr[i], ptr[i + 1]):
                zi = muladd(value[k], load(z, ind[k]), zi)
            store(z, i, zi)
        total = add(total, widen(part))
    store(rr, 0, total)
    ptr, ind, value, inverse = factor.upper_ptr, factor.upper_ind, factor.upper, factor.inverse
    total = zeros64_of(r)
    for last in range(n, 0, -FLUSH):
        part = zeros_of(z)
        for i in range(last - 1, max(last - FLUSH, 0) - 1, -1):
            zi = mul(inverse[i], load(z, i))
            for k in range(ptr[i], ptr[i + 1]):
                zi = muladd(value[k], load(z, ind[k]), zi)
            store(z, i, zi)
            part = muladd(load(r, i), zi, part)
        total = add(total, widen(part))
    store(rz, 0, total)


@inner_njit
def advance(n, alpha, beta, z, p, x):
    # IN n: rows, alpha, beta: (1, width), z  INOUT p, x
    """Set x <- x + alpha p, then p <- z + beta p."""
    a, b = load_like(alpha, 0, p), load_like(beta, 0, p)
    for i in range(n):
        pi = load(p, i)
        store(x, i, muladd(a, pi, load(x, i)))
        store(p, i, muladd(b, pi, load(z, i)))


@njit
def conjugate_gradients(
    op,  # IN     TileOperator
    factor,  # IN     Factor or None
    target,  # IN     (width,) wanted |r|^2 in the norm of R
    limit,  # IN     most iterations
    stop,  # IN     (1,) uint8: becomes 1 when the caller no longer wants the answer
    r,  # INOUT  (n, width) residual
    x,  # OUT    (n, width) solution
    p,  # WORK   (n, width)
    q,  # WORK   (n, width)
    pq,  # WORK   (1, width) float64
    rz,  # WORK   (1, width) float64
    rr,  # WORK   (1, width) float64
    old,  # WORK   (1, width) float64
    alpha,  # WORK   (1, width), all 0
    beta,  # WORK   (1, width)
):
    """Solve s M s x = r by preconditioned CG; return the iterations made. Columns that have converged stand still."""
    n, zero = op.diag.size, zeros_of(x)
    for i in range(n):
        store(x, i, zero)
        store(p, i, zero)
        store(q, i, zero)
    for iteration in range(limit + 1):  # each function is called in one place: every call would be compiled anew
        if factor is None:
            apply_jacobi(op, alpha, r, q, rz, rr)
        else:
            apply_factor(op, factor, alpha, r, q, rz, rr)
        reached = True
        for c in range(target.size):
            beta[0, c] = rz[0, c] / old[0, c] if alpha[0, c] > 0.0 else 0.0
            reached = reached and rr[0, c] <= target[c]
        advance(n, alpha, beta, q, p, x)
        if reached or iteration == limit or stop[0]:
            return iteration
        multiply_and_dot(op, p, q, pq)
        moving = False
        for c in range(target.size):
            active = rr[0, c] > target[c] and pq[0, c] > 0.0 and rz[0, c] > 0.0
            moving = moving or active
            alpha[0, c] = rz[0, c] / pq[0, c] if active else 0.0
            old[0, c] = rz[0, c]
        if not moving:
            return iteration
    return limit


@fast_njit
def multiply_column(ptr, ind, weight, diag, p, q):
    # IN s M s, p: (n,)  OUT q: (n,)
    """Set q <- s M s p and return p' q."""
    total = 0.0
    for i in range(p.size):
        qi = diag[i] * p[i]
        for k in range(ptr[i], ptr[i + 1]):
            if weight is None:
                qi -= p[ind[k]]
            else:
                qi -= weight[k] * p[ind[k]]
        q[i] = qi
        total += np.float64(p[i]) * np.float64(qi)
    return total


@fast_njit
def reduce_column(jacobi, norm, alpha, q, r, z):
    # IN jacobi, norm: (n,), alpha, q: (n,)  INOUT r: (n,)  OUT z: (n,)
    """Set r <- r - alpha q and z <- diag^-1 r; return r' z and |r|^2 in the norm of R."""
    energy = square = 0.0
    for i in range(r.size):
        ri = r[i] - alpha * q[i]
        r[i] = ri
        z[i] = jacobi[i] * ri
        energy += np.float64(ri) * np.float64(z[i])
        square += np.float64(norm[i] * ri) * np.float64(ri)
    return energy, square


@njit
def column_gradients(
    op,  # IN     TileOperator
    target,  # IN     wanted |r|^2 in the norm of R
    limit,  # IN     most iterations
    stop,  # IN     (1,) uint8
    r,  # INOUT  (n,) residual
):
    """Solve s M s x = r for one column by CG with Jacobi; return x and the iterations made."""
    x, p, q, z = np.zeros_like(r), np.zeros_like(r), np.zeros_like(r), np.empty_like(r)
    energy, square = reduce_column(op.jacobi, op.norm, r.dtype.type(0.0), q, r, z)
    beta = r.dtype.type(0.0)
    for iteration in range(limit):
        if square <= target or stop[0]:
            return x, iteration
        for i in range(r.size):
            p[i] = z[i] + beta * p[i]
        curvature = multiply_column(op.ptr, op.ind, op.weight, op.diag, p, q)
        if not (curvature > 0.0 and energy > 0.0):
            return x, iteration
        alpha = r.dtype.type(energy / curvature)
        for i in range(r.size):
            x[i] += alpha * p[i]
        before = energy
        energy, square = reduce_column(op.jacobi, op.norm, alpha, q, r, z)
        beta = r.dtype.type(energy / before)
    return x, limit
