"""Float vectors of 32 lanes for the trainer's inner loops, and the one matrix product built from them.

LLVM splits a <32 x float> into whatever registers the CPU has, so one source serves every machine. Loops over numpy
arrays with the running sums in memory cost two to four times as much.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types, uint64
from numba.core.datamodel import models, register_default
from numba.core.extending import intrinsic

from engine.native.jit import float_kernel, inline

LANES = 32
ROWS = 6  # rows of the matrix product that are in registers at a time
FLOAT = ir.FloatType()
I64 = ir.IntType(64)
VECTOR = ir.VectorType(FLOAT, LANES)


class LanesType(types.Type):
    """numba's type of a vector of 32 floats."""

    def __init__(self) -> None:
        super().__init__("float32x32")


lanes = LanesType()


@register_default(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, VECTOR)


def _splat(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), zeros)


def _pointer(builder: Any, address: Any, element: Any) -> Any:
    return builder.inttoptr(address, element.as_pointer())


@intrinsic
def load(typingctx: Any, address: Any) -> Any:
    """The 32 floats at an address (uint64)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_pointer(builder, args[0], VECTOR), align=4)

    return lanes(types.uint64), codegen


@intrinsic
def store(typingctx: Any, address: Any, value: Any) -> Any:
    """Write 32 floats to an address (uint64)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[1], _pointer(builder, args[0], VECTOR), align=4)
        return context.get_dummy_value()

    return types.void(types.uint64, lanes), codegen


@intrinsic
def splat(typingctx: Any, value: Any) -> Any:
    """A float32 in every lane."""
    return lanes(types.float32), lambda context, builder, sig, args: _splat(builder, args[0])


def _lane_by_lane(method: str) -> Any:
    @intrinsic
    def operation(typingctx: Any, a: Any, b: Any) -> Any:
        return lanes(lanes, lanes), lambda context, builder, sig, args: getattr(builder, method)(*args)

    return operation


def _unary(name: str) -> Any:
    @intrinsic
    def operation(typingctx: Any, a: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            function_type = ir.FunctionType(VECTOR, [VECTOR])
            full_name = f"llvm.{name}.v{LANES}f32"
            function = builder.module.globals.get(full_name) or ir.Function(builder.module, function_type, full_name)
            return builder.call(function, args)

        return lanes(lanes), codegen

    return operation


add, subtract, multiply, divide = (_lane_by_lane(name) for name in ("fadd", "fsub", "fmul", "fdiv"))
square_root, nearest = (_unary(name) for name in ("sqrt", "rint"))


@intrinsic
def multiply_add(typingctx: Any, address: Any, b: Any, c: Any) -> Any:
    """The one float at an address (uint64) times b plus c, fused where the CPU can."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scalar = builder.load(_pointer(builder, args[0], FLOAT), align=4)
        function_type = ir.FunctionType(VECTOR, [VECTOR] * 3)
        name = f"llvm.fmuladd.v{LANES}f32"
        function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
        return builder.call(function, [_splat(builder, scalar), args[1], args[2]])

    return lanes(types.uint64, lanes, lanes), codegen


@intrinsic
def clip(typingctx: Any, a: Any) -> Any:
    """Every lane limited to 0..1."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zero = ir.Constant(VECTOR, [0.0] * LANES)
        one = ir.Constant(VECTOR, [1.0] * LANES)
        low = builder.select(builder.fcmp_ordered(">", args[0], zero), args[0], zero)
        return builder.select(builder.fcmp_ordered("<", low, one), low, one)

    return lanes(lanes), codegen


@intrinsic
def inside(typingctx: Any, x: Any, gradient: Any) -> Any:
    """The gradient where 0 < x < 1, else 0: the derivative of `clip`, from its result."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zero = ir.Constant(VECTOR, [0.0] * LANES)
        one = ir.Constant(VECTOR, [1.0] * LANES)
        above = builder.fcmp_ordered(">", args[0], zero)
        below = builder.fcmp_ordered("<", args[0], one)
        return builder.select(builder.and_(above, below), args[1], zero)

    return lanes(lanes, lanes), codegen


@inline
def row_product(a, b, b_row, c, a_column, depth):
    """c[0:32] += sum over k of a[k] * b[k, 0:32]."""
    total = load(c)
    for _ in range(depth):
        total = multiply_add(a, load(b), total)
        a += a_column
        b += b_row
    store(c, total)


@inline
def six_row_product(a, a_row, a_column, b, b_row, c, c_row, depth):
    """As row_product for six rows of a and c, whose sums stay in registers."""
    a1, c1 = a + a_row, c + c_row
    a2, c2 = a1 + a_row, c1 + c_row
    a3, c3 = a2 + a_row, c2 + c_row
    a4, c4 = a3 + a_row, c3 + c_row
    a5, c5 = a4 + a_row, c4 + c_row
    s0, s1, s2, s3, s4, s5 = load(c), load(c1), load(c2), load(c3), load(c4), load(c5)
    step = uint64(0)
    for _ in range(depth):
        v = load(b)
        s0 = multiply_add(a + step, v, s0)
        s1 = multiply_add(a1 + step, v, s1)
        s2 = multiply_add(a2 + step, v, s2)
        s3 = multiply_add(a3 + step, v, s3)
        s4 = multiply_add(a4 + step, v, s4)
        s5 = multiply_add(a5 + step, v, s5)
        step += a_column
        b += b_row
    store(c, s0)
    store(c1, s1)
    store(c2, s2)
    store(c3, s3)
    store(c4, s4)
    store(c5, s5)


@float_kernel()
def add_product(a, a_row, a_column, b, b_row, c, c_row, rows, columns, depth):
    """c += a @ b for float32 matrices given by address and strides counted in floats.

    a is rows x depth with any strides (so a transposed matrix costs nothing), b depth x columns and c rows x columns
    with rows of consecutive floats; columns is a multiple of 32.
    """
    a, b, c = uint64(a), uint64(b), uint64(c)
    a_row, a_column, b_row, c_row = uint64(4 * a_row), uint64(4 * a_column), uint64(4 * b_row), uint64(4 * c_row)
    for column in range(0, columns, LANES):
        b_part, c_part = b + uint64(4 * column), c + uint64(4 * column)
        row = 0
        while row + ROWS <= rows:
            at = uint64(row)
            six_row_product(a + at * a_row, a_row, a_column, b_part, b_row, c_part + at * c_row, c_row, depth)
            row += ROWS
        while row < rows:
            at = uint64(row)
            row_product(a + at * a_row, b_part, b_row, c_part + at * c_row, a_column, depth)
            row += 1
