"""Squared distances of int8 codes, a cache line at a time: a plain loop over a row takes half as long again."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic

from halfmoon.runtime.jit import inner_njit

__all__ = ["code_distance"]

CHUNK = 64  # codes of a cache line


@intrinsic
def chunk_distance(typingctx, codes, i, j, column):
    """Return the squared distance of CHUNK codes of the rows i and j from a column on."""

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        start = builder.bitcast(struct.data, ir.IntType(8).as_pointer())
        stride = builder.extract_value(struct.strides, 0)
        bytes_, shorts, ints = (ir.VectorType(ir.IntType(bits), CHUNK) for bits in (8, 16, 32))

        def chunk(row):
            place = builder.gep(start, [builder.add(builder.mul(row, stride), args[3])])
            value = builder.load(builder.bitcast(place, bytes_.as_pointer()))
            value.align = 1
            return builder.sext(value, shorts)

        gaps = builder.sext(builder.sub(chunk(args[1]), chunk(args[2])), ints)
        kind, name = ir.FunctionType(ir.IntType(32), [ints]), f"llvm.vector.reduce.add.v{CHUNK}i32"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [builder.mul(gaps, gaps)])

    return types.int32(codes, types.int64, types.int64, types.int64), codegen


@inner_njit(forceinline=True)
def code_distance(
    codes,  # IN   (n, w)  int8, w a multiple of CHUNK
    i,  # IN
    j,  # IN
):
    """Return |codes_i - codes_j|^2."""
    total = np.int32(0)  # int32 at every step: numba would count in int64
    for t in range(0, codes.shape[1], CHUNK):
        total = np.int32(total + chunk_distance(codes, i, j, t))
    return total
