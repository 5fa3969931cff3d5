"""Prefetching for compiled functions that read rows in no order: a row arrives while those before it are worked on."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

from halfmoon.runtime.cache_lines import LINE
from halfmoon.runtime.jit import inner_njit

__all__ = ["AHEAD", "fetch_row"]

AHEAD = 8  # rows that are asked for before they are read
MOST_BYTES = 4 * LINE  # of a row: the processor follows a longer one by itself


@intrinsic
def prefetch(typingctx, array, row, offset):
    """Ask for the cache line at so many bytes from array[row, 0]; nothing happens where there is no such memory."""

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        int32, address = ir.IntType(32), ir.IntType(8).as_pointer()
        first = builder.mul(args[1], builder.extract_value(struct.strides, 0))
        place = builder.gep(builder.bitcast(struct.data, address), [builder.add(first, args[2])])
        kind = ir.FunctionType(ir.VoidType(), [address, int32, int32, int32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        builder.call(function, [place, int32(0), int32(3), int32(1)])  # to read, to be kept, data
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@inner_njit(forceinline=True)
def fetch_row(
    array,  # IN   (n, w)
    row,  # IN
):
    """Ask for the beginning of a row that is going to be read."""
    for offset in range(0, min(array.shape[1] * array.itemsize, MOST_BYTES), LINE):
        prefetch(array, row, offset)
