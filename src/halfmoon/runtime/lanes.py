"""Sixteen lanes (float32 or float64) held in registers: the vector type of compiled functions on arrays of 16 columns.

Numba turns a loop over the columns of such an array into memory traffic on an accumulator array. These few intrinsics
emit LLVM vector instructions instead, so that an accumulator stays in a register. LLVM lowers them on every CPU.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic, models, register_model

WIDTH = 16


class Lanes(types.Type):
    """Type of one row of such an array in registers: WIDTH floats."""

    def __init__(self, scalar):
        self.scalar = scalar
        super().__init__(name=f"Lanes({scalar})")


lanes32 = Lanes(types.float32)
lanes64 = Lanes(types.float64)


def _ir_scalar(lanes):
    return ir.FloatType() if lanes.scalar is types.float32 else ir.DoubleType()


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Lanes are one LLVM vector."""

    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(_ir_scalar(fe_type), WIDTH))


def _lanes_of(array):
    return lanes32 if array.dtype is types.float32 else lanes64


def _row_pointer(context, builder, signature, args):
    """Return a pointer to the first float of row args[1] of the C-ordered (n, WIDTH) array args[0]."""
    array_type = signature.args[0]
    data = context.make_array(array_type)(context, builder, args[0]).data
    row = args[1]
    if row.type.width < 64:
        widen_row = builder.sext if signature.args[1].signed else builder.zext
        row = widen_row(row, ir.IntType(64))
    offset = builder.mul(row, ir.Constant(ir.IntType(64), WIDTH))
    first = builder.gep(data, [offset])
    vector = ir.VectorType(_ir_scalar(_lanes_of(array_type)), WIDTH)
    return builder.bitcast(first, vector.as_pointer()), vector


@intrinsic
def load(typingctx, array, row):
    """Return array[row, :] as lanes; the caller guarantees a valid row and a C-ordered array of WIDTH columns."""

    def codegen(context, builder, signature, args):
        pointer, _ = _row_pointer(context, builder, signature, args)
        value = builder.load(pointer)
        value.align = 4
        return value

    return _lanes_of(array)(array, row), codegen


@intrinsic
def load_part(typingctx, array, row, column):
    """Return array[row, column : column + WIDTH] as lanes, of an array of any width whose rows are contiguous."""

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        vector = ir.VectorType(_ir_scalar(_lanes_of(signature.args[0])), WIDTH)
        start = builder.mul(args[1], builder.extract_value(struct.strides, 0))
        first = builder.gep(builder.bitcast(struct.data, ir.IntType(8).as_pointer()), [start])
        place = builder.gep(builder.bitcast(first, vector.element.as_pointer()), [args[2]])
        value = builder.load(builder.bitcast(place, vector.as_pointer()))
        value.align = 4
        return value

    return _lanes_of(array)(array, types.int64, types.int64), codegen


@intrinsic
def store(typingctx, array, row, lanes):
    """Set array[row, :] = lanes, rounded or widened to the array's precision."""

    def codegen(context, builder, signature, args):
        pointer, vector = _row_pointer(context, builder, signature, args)
        value = args[2]
        if lanes == lanes64 and vector.element == ir.FloatType():
            value = builder.fptrunc(value, vector)
        elif lanes == lanes32 and vector.element == ir.DoubleType():
            value = builder.fpext(value, vector)
        builder.store(value, pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, row, lanes), codegen


@intrinsic
def splat(typingctx, scalar):
    """Return the same number in every lane."""
    lanes = lanes32 if scalar is types.float32 else lanes64

    def codegen(context, builder, signature, args):
        vector = ir.VectorType(_ir_scalar(lanes), WIDTH)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), args[0], ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)

    return lanes(scalar), codegen


@intrinsic
def zeros_of(typingctx, array):
    """Return zero lanes of the array's precision."""
    lanes = _lanes_of(array)

    def codegen(context, builder, signature, args):
        return ir.Constant(ir.VectorType(_ir_scalar(lanes), WIDTH), [0.0] * WIDTH)

    return lanes(array), codegen


@intrinsic
def zeros64(typingctx):
    """Return zero float64 lanes."""

    def codegen(context, builder, signature, args):
        return ir.Constant(ir.VectorType(ir.DoubleType(), WIDTH), [0.0] * WIDTH)

    return lanes64(), codegen


@intrinsic
def zeros32(typingctx):
    """Return zero float32 lanes."""

    def codegen(context, builder, signature, args):
        return ir.Constant(ir.VectorType(ir.FloatType(), WIDTH), [0.0] * WIDTH)

    return lanes32(), codegen


@intrinsic
def sum_of(typingctx, a):
    """Return the sum of float32 lanes, halves added to halves."""

    def codegen(context, builder, signature, args):
        sums, count = args[0], WIDTH
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
mul = _binary("fmul")


@intrinsic
def muladd(typingctx, a, b, c):
    """Return a * b + c, one instruction where the CPU has it."""

    def codegen(context, builder, signature, args):
        vector = args[0].type
        bits = 32 if a.scalar is types.float32 else 64
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{WIDTH}f{bits}"
        )
        return builder.call(fused, args)

    return a(a, b, c), codegen


@intrinsic
def widen(typingctx, a):
    """Return lanes as float64 lanes."""

    def codegen(context, builder, signature, args):
        if a == lanes64:
            return args[0]
        return builder.fpext(args[0], ir.VectorType(ir.DoubleType(), WIDTH))

    return lanes64(a), codegen


@intrinsic
def absolute(typingctx, a):
    """Return the absolute values of float64 lanes."""

    def codegen(context, builder, signature, args):
        vector = args[0].type
        fabs = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.fabs.v{WIDTH}f64"
        )
        return builder.call(fabs, args)

    return lanes64(a), codegen


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
        bits = builder.bitcast(builder.fcmp_ordered("<=", *args), ir.IntType(WIDTH))
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
