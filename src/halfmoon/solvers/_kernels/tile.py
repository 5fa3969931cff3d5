"""Tiles: C-ordered (n, WIDTH) arrays, one row of lanes a vertex, and the operator M = diag - W on them.

The systems are M z = b. R = G^-1/2 M G^-1/2 (G = diag(mass)) is what the regularisers invert:
R^-1 y = G^1/2 M^-1 G^1/2 y. On a component C with `share` = 1 / mass(C) the mode 1_C is projected out of everything; a
component with share 0 has no mode. Kernels take the arrays out of the tuple before their loops: reading op.x inside a
loop costs a reference count each time. Weights None stand for ones, a compilation of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from halfmoon._jit import njit
from halfmoon.solvers._kernels.lanes import WIDTH, add, load, mul, muladd, splat, store, sub, widen, zeros64, zeros_of

__all__ = ["TileOperator", "accumulate", "indicator_rhs", "mass_times", "multiply_and_dot", "project", "residual"]

FLUSH = 256  # rows summed in the working precision before the partial sum goes to float64


class TileOperator(NamedTuple):
    """M = diag - W in the working precision for iterations and in float64 for residuals."""

    ptr: Any  # (n + 1,)       uint32
    ind: Any  # (nnz,)         uint32
    weight: Any  # (nnz,)         working precision, or None
    weight64: Any  # (nnz,)         float64, or None
    diag: Any  # (n,)           working precision
    diag64: Any  # (n,)           float64
    jacobi: Any  # (n,)           working precision: 1 / diagonal
    mass: Any  # (n,)           float64
    label: Any  # (n,)           uint32 component of each vertex
    share: Any  # (components,)  float64


def neighbour_sum(ptr, ind, weight, x, i):
    """Return (W x)_i; compiled only, by the overload below."""


def neighbour_sum64(ptr, ind, weight64, x, i):
    """Return (W x)_i in float64; compiled only, by the overload below."""


@overload(neighbour_sum, inline="always")
def _neighbour_sum(ptr, ind, weight, x, i):
    def ones(ptr, ind, weight, x, i):
        total = zeros_of(x)
        for k in range(ptr[i], ptr[i + 1]):
            total = add(total, load(x, ind[k]))
        return total

    def weighted(ptr, ind, weight, x, i):
        total = zeros_of(x)
        for k in range(ptr[i], ptr[i + 1]):
            total = muladd(splat(weight[k]), load(x, ind[k]), total)
        return total

    return ones if isinstance(weight, types.NoneType) else weighted


@overload(neighbour_sum64, inline="always")
def _neighbour_sum64(ptr, ind, weight64, x, i):
    def ones(ptr, ind, weight64, x, i):
        total = zeros64()
        for k in range(ptr[i], ptr[i + 1]):
            total = add(total, widen(load(x, ind[k])))
        return total

    def weighted(ptr, ind, weight64, x, i):
        total = zeros64()
        for k in range(ptr[i], ptr[i + 1]):
            total = muladd(splat(weight64[k]), widen(load(x, ind[k])), total)
        return total

    return ones if isinstance(weight64, types.NoneType) else weighted


@njit
def multiply_and_dot(
    op,  # IN
    p,  # IN   (n, WIDTH)
    q,  # OUT  (n, WIDTH)
    pq,  # OUT  (1, WIDTH) float64
):
    """Q <- M p and pq <- sum over rows of p q."""
    ptr, ind, weight, diag = op.ptr, op.ind, op.weight, op.diag
    n = diag.size
    total = zeros64()
    for first in range(0, n, FLUSH):
        part = zeros_of(p)
        for i in range(first, min(first + FLUSH, n)):
            pi = load(p, i)
            qi = sub(mul(splat(diag[i]), pi), neighbour_sum(ptr, ind, weight, p, i))
            store(q, i, qi)
            part = muladd(pi, qi, part)
        total = add(total, widen(part))
    store(pq, 0, total)


@njit
def residual(
    op,  # IN
    b,  # IN   (n, WIDTH) float64
    x,  # IN   (n, WIDTH) float64
    r,  # OUT  (n, WIDTH) working precision, rounded once
    norms,  # OUT  (1, WIDTH) float64
):
    """R <- b - M x in float64; norms <- r' G^-1 r, the squared norm of the residual of R."""
    ptr, ind, weight64, diag64, mass = op.ptr, op.ind, op.weight64, op.diag64, op.mass
    total = zeros64()
    for i in range(mass.size):
        ri = sub(load(b, i), mul(splat(diag64[i]), load(x, i)))
        ri = add(ri, neighbour_sum64(ptr, ind, weight64, x, i))
        store(r, i, ri)
        total = muladd(mul(splat(1.0 / mass[i]), ri), ri, total)
    store(norms, 0, total)


@njit
def component_sums(op, scaled, x):
    """Return share_C times the sum over C of x, or of mass x if `scaled`, for every component C and column."""
    mass, label, share = op.mass, op.label, op.share
    sums = np.zeros((share.size, WIDTH))
    for i in range(mass.size):
        weight = mass[i] if scaled else 1.0
        store(sums, label[i], muladd(splat(weight), load(x, i), load(sums, label[i])))
    for k in range(share.size):
        store(sums, k, mul(splat(share[k]), load(sums, k)))
    return sums


@njit
def project(
    op,  # IN
    x,  # INOUT  (n, WIDTH) float64
):
    """X <- x - 1_C (mass' x)_C / mass(C): solutions of M z = b, off the modes."""
    label = op.label
    sums = component_sums(op, True, x)
    for i in range(label.size):
        store(x, i, sub(load(x, i), load(sums, label[i])))


@njit
def project_rhs(
    op,  # IN
    b,  # INOUT  (n, WIDTH) float64
):
    """B <- b - mass (1' b)_C / mass(C): right-hand sides orthogonal to the modes."""
    label, mass = op.label, op.mass
    sums = component_sums(op, False, b)
    for i in range(label.size):
        store(b, i, sub(load(b, i), mul(splat(mass[i]), load(sums, label[i]))))


@njit
def indicator_rhs(
    op,  # IN
    landmarks,  # IN   (<= WIDTH,) vertices
    b,  # OUT  (n, WIDTH) float64
):
    """B_c <- G^1/2 e_s, off the modes."""
    b[:] = 0.0
    for c in range(landmarks.size):
        b[landmarks[c], c] = np.sqrt(op.mass[landmarks[c]])
    project_rhs(op, b)


@njit
def mass_times(
    op,  # IN
    x,  # IN   (n, WIDTH) float64
    b,  # OUT  (n, WIDTH) float64
):
    """B <- G x: the next right-hand side of a chain, R^-1 R^-1 y = G^1/2 M^-1 G M^-1 G^1/2 y."""
    mass = op.mass
    for i in range(mass.size):
        store(b, i, mul(splat(mass[i]), load(x, i)))


@njit
def accumulate(
    d,  # IN     (n, WIDTH) working precision
    x,  # INOUT  (n, WIDTH) float64
):
    """X <- x + d."""
    for i in range(d.shape[0]):
        store(x, i, add(load(x, i), widen(load(d, i))))


@njit
def copy_columns(
    op,  # IN
    power,  # IN   +1 or -1
    tile,  # IN   (n, WIDTH)
    first,  # IN   first column
    columns,  # IN   number of columns
    out,  # OUT  (n, m): columns first .. first + columns
):
    """Out <- G^(power/2) tile: solutions (+1) and residuals (-1) of R from those of M."""
    mass = op.mass
    for i in range(mass.size):
        root = np.sqrt(mass[i]) if power > 0 else 1.0 / np.sqrt(mass[i])
        for c in range(columns):
            out[i, first + c] = root * tile[i, c]


@njit
def squared_norms(
    op,  # IN
    x,  # IN  (n, WIDTH) float64
):
    """Return |G^1/2 x|^2 column by column."""
    mass = op.mass
    total = zeros64()
    for i in range(mass.size):
        xi = load(x, i)
        total = muladd(mul(splat(mass[i]), xi), xi, total)
    out = np.empty((1, WIDTH))
    store(out, 0, total)
    return out[0]
