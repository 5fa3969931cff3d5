"""Tiles: C-ordered (n, 16) or (n, 8) arrays, one row of lanes per vertex, and M = L + diag(excess) on them.

Compiled functions get a tile as `lanes.typed` returns it; numbers per column are plain arrays.

The systems are M z = b. R = G^-1/2 M G^-1/2 (G = diag(mass)) is what the regularisers invert:
R^-1 y = G^1/2 M^-1 G^1/2 y. On a component C with `share` = 1 / mass(C) the mode 1_C is projected out of everything; a
component with share 0 has no mode.

Solutions, right-hand sides and residuals are float64, and M is applied by edges there, (M x)_i = sum_j w_ij (x_i - x_j)
+ excess_i x_i: rounding is then relative to differences, and no excess drowns in a diagonal. Iterations run in the
working precision on the scaled matrix s M s, which has entries of order one whatever the weights are.

The functions here unpack the tuple before their loops: reading op.x inside a loop costs a reference count each
time. Weights None stand for one weight on every edge, a compilation of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from halfmoon.runtime.jit import inner_njit, njit
from halfmoon.runtime.lanes import (
    absolute,
    add,
    load,
    load_like,
    mul,
    muladd,
    store,
    sub,
    typed,
    widen,
    zeros64_of,
    zeros_of,
)

__all__ = [
    "TileOperator",
    "accumulate",
    "multiply_and_dot",
    "project",
    "project_rhs",
    "residual",
    "squared_norms",
    "start",
]

FLUSH = 256  # rows summed in the working precision before the partial sum goes to float64


class TileOperator(NamedTuple):
    """M = L + diag(excess): s M s in the working precision for iterations, M in float64 for residuals."""

    ptr: Any  # (n + 1,)       uint32
    ind: Any  # (nnz,)         uint32
    weight: Any  # (nnz,)         working precision: s_i w_ij s_j, or None: all 1
    diag: Any  # (n,)           working precision: s_i^2 M_ii
    jacobi: Any  # (n,)           working precision: 1 / diagonal of s M s
    norm: Any  # (n,)           working precision: 1 / (s_i^2 mass_i), for |r|^2 in the norm of R
    weight64: Any  # (nnz,)         float64, or None: all `constant`
    constant: float  # the one weight where weight64 is None
    excess64: Any  # (n,)           float64
    rounding: Any  # (n,)           float64: relative rounding of the sums of a row
    scale: Any  # (n,)           float64: s
    mass: Any  # (n,)           float64
    label: Any  # (n,)           uint32 component of each vertex
    share: Any  # (components,)  float64


def neighbor_sum(ptr, ind, weight, x, i):
    """Return sum_j w_ij x_j in the working precision; compiled only, by the overload below."""


def edge_sums64(ptr, ind, weight64, constant, x, i):
    """Return sum_j w_ij (x_i - x_j) and sum_j w_ij |x_i - x_j| in float64; compiled only, by the overload below."""


@overload(neighbor_sum, inline="always")
def _neighbor_sum(ptr, ind, weight, x, i):
    def ones(ptr, ind, weight, x, i):
        total = zeros_of(x)
        for k in range(ptr[i], ptr[i + 1]):
            total = add(total, load(x, ind[k]))
        return total

    def weighted(ptr, ind, weight, x, i):
        total = zeros_of(x)
        for k in range(ptr[i], ptr[i + 1]):
            total = muladd(weight[k], load(x, ind[k]), total)
        return total

    return ones if isinstance(weight, types.NoneType) else weighted


@overload(edge_sums64, inline="always")
def _edge_sums64(ptr, ind, weight64, constant, x, i):
    def ones(ptr, ind, weight64, constant, x, i):
        total, size, xi = zeros_of(x), zeros_of(x), load(x, i)
        for k in range(ptr[i], ptr[i + 1]):
            gap = sub(xi, load(x, ind[k]))
            total = add(total, gap)
            size = add(size, absolute(gap))
        return mul(constant, total), mul(constant, size)

    def weighted(ptr, ind, weight64, constant, x, i):
        total, size, xi = zeros_of(x), zeros_of(x), load(x, i)
        for k in range(ptr[i], ptr[i + 1]):
            weight, gap = weight64[k], sub(xi, load(x, ind[k]))
            total = muladd(weight, gap, total)
            size = muladd(weight, absolute(gap), size)
        return total, size

    return ones if isinstance(weight64, types.NoneType) else weighted


@inner_njit
def multiply_and_dot(
    op,  # IN
    p,  # IN   (n, width)
    q,  # OUT  (n, width)
    pq,  # OUT  (1, width) float64
):
    """Set q <- s M s p and pq <- sum over rows of p q."""
    ptr, ind, weight, diag = op.ptr, op.ind, op.weight, op.diag
    n = diag.size
    total = zeros64_of(p)
    for first in range(0, n, FLUSH):
        part = zeros_of(p)
        for i in range(first, min(first + FLUSH, n)):
            pi = load(p, i)
            qi = sub(mul(diag[i], pi), neighbor_sum(ptr, ind, weight, p, i))
            store(q, i, qi)
            part = muladd(pi, qi, part)
        total = add(total, widen(part))
    store(pq, 0, total)


@njit
def residual(
    op,  # IN
    b,  # IN   (n, width) float64
    x,  # IN   (n, width) float64
    unit,  # IN   (1, width) float64: factor of each column of r, so that float32 holds it
    r,  # OUT  (n, width) working precision: unit s (b - M x), rounded once
    norms,  # OUT  (1, width) float64: |b - M x|^2 in the norm of R, sum_i (b - M x)_i^2 / mass_i
    rounding,  # OUT  (1, width) float64: bound on the squared norm of the rounding of b - M x
):
    """Compute the residual of R from that of M, by edges, with its size and the size of its rounding."""
    ptr, ind, weight64, constant, excess64 = op.ptr, op.ind, op.weight64, op.constant, op.excess64
    scale, mass, gamma = op.scale, op.mass, op.rounding
    units = load_like(unit, 0, b)
    total, spread = zeros_of(b), zeros_of(b)
    for i in range(mass.size):
        bi, ei = load(b, i), mul(excess64[i], load(x, i))
        flow, size = edge_sums64(ptr, ind, weight64, constant, x, i)
        ri = sub(sub(bi, flow), ei)
        store(r, i, mul(mul(scale[i], units), ri))
        over_mass = 1.0 / mass[i]
        total = muladd(mul(over_mass, ri), ri, total)
        size = mul(gamma[i], add(add(size, absolute(ei)), absolute(bi)))
        spread = muladd(mul(over_mass, size), size, spread)
    store(norms, 0, total)
    store(rounding, 0, spread)


@njit
def start(
    scale,  # IN   (n,) float64
    b,  # IN   (n, width) float64
    unit,  # IN   (1, width) float64
    r,  # OUT  (n, width) working precision: unit s b
):
    """Set the first residual, that of x = 0."""
    units = load_like(unit, 0, b)
    for i in range(scale.size):
        store(r, i, mul(mul(scale[i], units), load(b, i)))


@njit
def subtract_modes(
    weight,  # IN     (n,) float64
    factor,  # IN     (n,) float64
    label,  # IN     (n,)
    share,  # IN     (components,)
    sums,  # WORK   (components, width) float64, all 0
    x,  # INOUT  (n, width) float64
):
    """Set x <- x - factor share_C (sum over C of weight x), for every component C and column."""
    for i in range(weight.size):
        store(sums, label[i], muladd(weight[i], load(x, i), load(sums, label[i])))
    for k in range(share.size):
        store(sums, k, mul(share[k], load(sums, k)))
    for i in range(label.size):
        store(x, i, sub(load(x, i), mul(factor[i], load(sums, label[i]))))


def project(op: TileOperator, x: NDArray[np.float64]) -> None:
    """Set x <- x - 1_C (mass' x)_C / mass(C): solutions of M z = b, off the modes."""
    sums = np.zeros((op.share.size, x.shape[1]))
    subtract_modes(op.mass, np.ones(op.mass.size), op.label, op.share, typed(sums), typed(x))


def project_rhs(op: TileOperator, b: NDArray[np.float64]) -> None:
    """Set b <- b - mass (1' b)_C / mass(C): right-hand sides orthogonal to the modes."""
    sums = np.zeros((op.share.size, b.shape[1]))
    subtract_modes(np.ones(op.mass.size), op.mass, op.label, op.share, typed(sums), typed(b))


@njit
def accumulate(
    scale,  # IN     (n,) float64
    inverse,  # IN     (1, width) float64: 1 / unit of the residual that d answers
    d,  # IN     (n, width) working precision
    x,  # INOUT  (n, width) float64
):
    """Set x <- x + s d / unit."""
    inverses = load_like(inverse, 0, d)
    for i in range(scale.size):
        store(x, i, muladd(mul(scale[i], inverses), widen(load(d, i)), load(x, i)))


@njit
def weighted_squares(
    weight,  # IN   (n,) float64
    x,  # IN   (n, width) float64
    squares,  # OUT  (1, width) float64
):
    """Set squares <- sum_i weight_i x_i^2 column by column."""
    total = zeros_of(x)
    for i in range(weight.size):
        xi = load(x, i)
        total = muladd(mul(weight[i], xi), xi, total)
    store(squares, 0, total)


def squared_norms(op: TileOperator, power: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return |G^(power/2) x|^2 column by column: of solutions (+1) and right-hand sides (-1), in the norm of R."""
    squares = np.empty((1, x.shape[1]))
    weighted_squares(op.mass if power > 0 else 1.0 / op.mass, typed(x), squares)
    return squares[0]
