"""Lanes (float32 or float64) held in registers: the vector type of compiled functions on arrays of 16 or 8 columns.

An array has 16 columns; one of 8 goes through compiled functions as a `HalfWide`, so that its type tells. Numba turns a
loop over the columns of such an array into memory traffic on an accumulator array. These few intrinsics emit LLVM
vector instructions instead, so that an accumulator stays in a register. LLVM lowers them on every CPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic, models, register_model
from numpy.typing import NDArray

WIDTH = 16
HALF = WIDTH // 2


class HalfWide(NamedTuple):
    """An array of HALF columns, for compiled functions."""

    rows: Any  # (n, HALF), C-ordered


def typed(rows: NDArray[Any]) -> NDArray[Any] | HalfWide:
    """Return an array of WIDTH or HALF columns as what compiled functions know its width by."""
    return HalfWide(rows) if rows.shape[1] == HALF else rows


class Lanes(types.Type):
    """Type of one row of such an array in registers: `width` floats."""

    def __init__(self, scalar, width):
        self.scalar, self.width = scalar, width
        super().__init__(name=f"Lanes({scalar}, {width})")


lanes32 = Lanes(types.float32, WIDTH)
lanes64 = Lanes(types.float64, WIDTH)


def _vector(lanes):
    return ir.VectorType(ir.FloatType() if lanes.scalar is types.float32 else ir.DoubleType(), lanes.width)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Lanes are one LLVM vector."""

    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _vector(fe_type))


def _array_of(tile):
    """Return the type of the array in a tile."""
    return tile.types[0] if isinstance(tile, types.BaseNamedTuple) else tile


def _lanes_of(tile):
    return Lanes(_array_of(tile).dtype, HALF if isinstance(tile, types.BaseNamedTuple) else WIDTH)


def _row_pointer(context, builder, signature, args, lanes):
    """Return a pointer to row args[1] of the C-ordered array args[0], which has as many columns as there are lanes."""
    tile_type, row = signature.args[0], args[1]
    array = builder.extract_value(args[0], 0) if isinstance(tile_type, types.BaseNamedTuple) else args[0]
    data = context.make_array(_array_of(tile_type))(context, builder, array).data
    if row.type.width < 64:
        widen_row = builder.sext if signature.args[1].signed else builder.zext
        row = widen_row(row, ir.IntType(64))
    first = builder.gep(data, [builder.mul(row, ir.Constant(ir.IntType(64), lanes.width))])
    return builder.bitcast(first, _vector(lanes).as_pointer())


def _loading(lanes):
    """Return the code that loads row args[1] of args[0]."""

    def codegen(context, builder, signature, args):
        value = builder.load(_row_pointer(context, builder, signature, args, lanes))
        value.align = 4
        return value

    return codegen


@intrinsic
def load(typingctx, tile, row):
    """Return tile[row, :] as lanes; the caller guarantees a valid row."""
    lanes = _lanes_of(tile)
    return lanes(tile, row), _loading(lanes)


@intrinsic
def load_like(typingctx, array, row, tile):
    """Return array[row, :] as lanes, of an array with as many columns as a tile has."""
    lanes = Lanes(array.dtype, _lanes_of(tile).width)
    return lanes(array, row, tile), _loading(lanes)


@intrinsic
def load_part(typingctx, array, row, column):
    """Return array[row, column : column + WIDTH] as lanes, of an array of any width whose rows are contiguous."""

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        vector = _vector(_lanes_of(signature.args[0]))
        start = builder.mul(args[1], builder.extract_value(struct.strides, 0))
        first = builder.gep(builder.bitcast(struct.data, ir.IntType(8).as_pointer()), [start])
        place = builder.gep(builder.bitcast(first, vector.element.as_pointer()), [args[2]])
        value = builder.load(builder.bitcast(place, vector.as_pointer()))
        value.align = 4
        return value

    return _lanes_of(array)(array, types.int64, types.int64), codegen


@intrinsic
def store(typingctx, tile, row, lanes):
    """Set tile[row, :] = lanes, rounded or widened to the tile's precision; a plain array has as many columns."""
    stored = Lanes(_array_of(tile).dtype, lanes.width)

    def codegen(context, builder, signature, args):
        value, vector = args[2], _vector(stored)
        if lanes.scalar is types.float64 and stored.scalar is types.float32:
            value = builder.fptrunc(value, vector)
        elif lanes.scalar is types.float32 and stored.scalar is types.float64:
            value = builder.fpext(value, vector)
        builder.store(value, _row_pointer(context, builder, signature, args, stored), align=4)
        return context.get_dummy_value()

    return types.void(tile, row, lanes), codegen


def _in_every_lane(builder, scalar, vector):
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)


@intrinsic
def splat(typingctx, scalar):
    """Return the same number in each of WIDTH lanes."""
    lanes = lanes32 if scalar is types.float32 else lanes64

    def codegen(context, builder, signature, args):
        return _in_every_lane(builder, args[0], _vector(lanes))

    return lanes(scalar), codegen


def _zeros(lanes):
    def codegen(context, builder, signature, args):
        return ir.Constant(_vector(lanes), [0.0] * lanes.width)

    return codegen


@intrinsic
def zeros_of(typingctx, tile):
    """Return zero lanes of the tile's precision."""
    lanes = _lanes_of(tile)
    return lanes(tile), _zeros(lanes)


@intrinsic
def zeros64_of(typingctx, tile):
    """Return zero float64 lanes, as many as the tile has columns."""
    lanes = Lanes(types.float64, _lanes_of(tile).width)
    return lanes(tile), _zeros(lanes)


@intrinsic
def zeros32(typingctx):
    """Return WIDTH zero float32 lanes."""
    return lanes32(), _zeros(lanes32)


@intrinsic
def sum_of(typingctx, a):
    """Return the sum of float32 lanes, halves added to halves."""

    def codegen(context, builder, signature, args):
        sums, count = args[0], a.width
        while count > 1:
            count //= 2
            kind = ir.VectorType(ir.IntType(32), count)
            low, high = (ir.Constant(kind, list(range(first, first + count))) for first in (0, count))
            sums = builder.fadd(builder.shuffle_vector(sums, sums, low), builder.shuffle_vector(sums, sums, high))
        return builder.extract_element(sums, ir.Constant(ir.IntType(32), 0))

    return types.float32(a), codegen


def _binary(name):
    @intrinsic
    def operation(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return getattr(builder, name)(args[0], args[1])

        return a(a, b), codegen

    return operation


add = _binary("fadd")
sub = _binary("fsub")


def _as_lanes(builder, kind, value, vector):
    return value if isinstance(kind, Lanes) else _in_every_lane(builder, value, vector)


@intrinsic
def mul(typingctx, a, b):
    """Return a * b, for lanes or a number of the same precision as a."""

    def codegen(context, builder, signature, args):
        return builder.fmul(_as_lanes(builder, a, args[0], args[1].type), args[1])

    return b(a, b), codegen


@intrinsic
def muladd(typingctx, a, b, c):
    """Return a * b + c, for lanes or a number as a; one instruction where the CPU has it."""

    def codegen(context, builder, signature, args):
        vector = args[1].type
        bits = 32 if b.scalar is types.float32 else 64
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{b.width}f{bits}"
        )
        return builder.call(fused, [_as_lanes(builder, a, args[0], vector), args[1], args[2]])

    return b(a, b, c), codegen


@intrinsic
def widen(typingctx, a):
    """Return lanes as float64 lanes."""
    wide = Lanes(types.float64, a.width)

    def codegen(context, builder, signature, args):
        return args[0] if a == wide else builder.fpext(args[0], _vector(wide))

    return wide(a), codegen


@intrinsic
def absolute(typingctx, a):
    """Return the absolute values of float64 lanes."""

    def codegen(context, builder, signature, args):
        vector = args[0].type
        fabs = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.fabs.v{a.width}f64"
        )
        return builder.call(fabs, args)

    return a(a), codegen


def _chosen(comparison):
    @intrinsic
    def operation(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return builder.select(builder.fcmp_ordered(comparison, *args), *args)

        return a(a, b), codegen

    return operation


smaller = _chosen("<")
larger = _chosen(">")


@intrinsic
def at_most(typingctx, a, b):
    """Return a whole number whose bit u tells whether a <= b in lane u."""

    def codegen(context, builder, signature, args):
        bits = builder.bitcast(builder.fcmp_ordered("<=", *args), ir.IntType(a.width))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(a, b), codegen


@intrinsic
def ones(typingctx, bits):
    """Return the number of ones among the bits of a whole number."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic
def lowest_one(typingctx, bits):
    """Return the place of the lowest one among the bits of a whole number that is not 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen
