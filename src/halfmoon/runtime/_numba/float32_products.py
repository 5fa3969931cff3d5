"""Products of matrices in float32 with a few columns in float64: sums in float64, one pass over the matrix."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic

from halfmoon.runtime.jit import fast_njit

__all__ = ["add_columns", "multiply_rows"]

LINE = 16  # float32 in a cache line


@intrinsic
def prefetch(typingctx, array, offset):
    """Ask for the cache line of array.flat[offset]; the array is C-ordered, and nothing happens outside of it."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        signature_of_llvm = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, signature_of_llvm, "llvm.prefetch.p0")
        line = builder.bitcast(builder.gep(data, [args[1]]), byte)
        builder.call(function, [line, number(0), number(2), number(1)])  # to read, into the second cache, data
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def floats_at(typingctx, address):
    """Return a pointer to float32 at an address."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], ir.FloatType().as_pointer())

    return types.CPointer(types.float32)(types.uint64), codegen


@fast_njit
def multiply_rows(
    A,  # IN   (n, k)  float32
    H,  # IN   (c, k)  float64; c is even
    total,  # OUT  (n + 3, c)  float64; the last three rows are of no use
):
    """Set total <- A H', four rows at a time, each read once; the next four are on their way meanwhile."""
    n, k = A.shape
    rows = np.zeros((4, k))
    share = 8 * k // H.shape[0] + LINE  # of the next four rows, asked for during each turn below
    for i in range(0, n, 4):
        for r in range(min(4, n - i)):
            for j in range(k):
                rows[r, j] = A[i + r, j]
        for c in range(0, H.shape[0], 2):
            ahead = (i + 4) * k + (c // 2) * share
            for offset in range(ahead, min(ahead + share, n * k), LINE):
                prefetch(A, offset)  # not all at once: that many requests would wait for each other
            a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
            b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
            for j in range(k):
                g, h = H[c, j], H[c + 1, j]
                a0 += rows[0, j] * g
                a1 += rows[1, j] * g
                a2 += rows[2, j] * g
                a3 += rows[3, j] * g
                b0 += rows[0, j] * h
                b1 += rows[1, j] * h
                b2 += rows[2, j] * h
                b3 += rows[3, j] * h
            total[i, c], total[i + 1, c], total[i + 2, c], total[i + 3, c] = a0, a1, a2, a3
            total[i, c + 1], total[i + 1, c + 1], total[i + 2, c + 1], total[i + 3, c + 1] = b0, b1, b2, b3


@fast_njit
def add_columns(
    addresses,  # IN   (k,)  uint64: where the columns are, float32 each; k is a multiple of 4
    h,  # IN   (k, c)  float64
    total,  # OUT  (c, m)  float64
):
    """Set total' <- A h for an A whose columns are at these addresses, m rows each."""
    for c in range(total.shape[0]):
        for i in range(total.shape[1]):
            total[c, i] = 0.0
    for j in range(0, len(addresses), 4):
        p, q = floats_at(addresses[j]), floats_at(addresses[j + 1])
        r, s = floats_at(addresses[j + 2]), floats_at(addresses[j + 3])
        for c in range(total.shape[0]):
            a, b, d, e = h[j, c], h[j + 1, c], h[j + 2, c], h[j + 3, c]
            for i in range(total.shape[1]):
                total[c, i] += a * p[i] + b * q[i] + d * r[i] + e * s[i]
