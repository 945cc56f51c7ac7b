"""Bitboards as 128-bit integers inside jitted code.

Square s is bit s. In records a bitboard is kept as two uint64, low word first; `load` joins them.
Jitted code writes `a & b`, `a | b`, `a ^ b`, `a - b`, `~a`, `if a:` and `while a:` on these values.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models, register_default
from numba.core.extending import intrinsic, lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

I1 = ir.IntType(1)
I64 = ir.IntType(64)
I128 = ir.IntType(128)


class BitboardType(types.Type):
    """numba's type of a 128-bit set of squares."""

    def __init__(self) -> None:
        super().__init__("bitboard")


bitboard = BitboardType()


@register_default(BitboardType)
class _BitboardModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, I128)


def _define_binary(op: Any, method: str) -> None:
    @infer_global(op)
    class _Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(bitboard, bitboard, bitboard) if args == (bitboard, bitboard) else None

    @lower_builtin(op, bitboard, bitboard)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, method)(*args)


for _op, _method in (
    (operator.and_, "and_"),
    (operator.or_, "or_"),
    (operator.xor, "xor"),
    (operator.iand, "and_"),
    (operator.ior, "or_"),
    (operator.ixor, "xor"),
    (operator.sub, "sub"),
):
    _define_binary(_op, _method)


def _define_unary(op: Any, result: Any, lower: Any) -> None:
    @infer_global(op)
    class _Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(result, bitboard) if args == (bitboard,) else None

    lower_builtin(op, bitboard)(lower)


_define_unary(operator.invert, bitboard, lambda context, builder, sig, args: builder.not_(args[0]))
_define_unary(
    bool,
    types.boolean,
    lambda context, builder, sig, args: builder.icmp_unsigned("!=", args[0], ir.Constant(I128, 0)),
)
_define_unary(
    operator.not_,
    types.boolean,
    lambda context, builder, sig, args: builder.icmp_unsigned("==", args[0], ir.Constant(I128, 0)),
)


def _equality(op: Any, sign: str) -> None:
    @infer_global(op)
    class _Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(types.boolean, bitboard, bitboard) if args == (bitboard, bitboard) else None

    @lower_builtin(op, bitboard, bitboard)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.icmp_unsigned(sign, *args)


_equality(operator.eq, "==")
_equality(operator.ne, "!=")


@intrinsic
def join(typingctx: Any, low: Any, high: Any) -> Any:
    """Bitboard from two uint64: squares 0..63 and 64..127."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        low_word, high_word = args
        high_part = builder.shl(builder.zext(high_word, I128), ir.Constant(I128, 64))
        return builder.or_(builder.zext(low_word, I128), high_part)

    return bitboard(types.uint64, types.uint64), codegen


@intrinsic
def low_word(typingctx: Any, b: Any) -> Any:
    """Squares 0..63 as uint64."""
    return types.uint64(bitboard), lambda context, builder, sig, args: builder.trunc(args[0], I64)


@intrinsic
def high_word(typingctx: Any, b: Any) -> Any:
    """Squares 64..127 as uint64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.trunc(builder.lshr(args[0], ir.Constant(I128, 64)), I64)

    return types.uint64(bitboard), codegen


@intrinsic
def first_square(typingctx: Any, b: Any) -> Any:
    """Lowest square of a non-empty bitboard."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.trunc(builder.cttz(args[0], ir.Constant(I1, 1)), I64)

    return types.int64(bitboard), codegen


@intrinsic
def last_square(typingctx: Any, b: Any) -> Any:
    """Highest square of a non-empty bitboard."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zeros = builder.trunc(builder.ctlz(args[0], ir.Constant(I1, 1)), I64)
        return builder.sub(ir.Constant(I64, 127), zeros)

    return types.int64(bitboard), codegen


@intrinsic
def popcount(typingctx: Any, b: Any) -> Any:
    """Number of squares in a bitboard."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.trunc(builder.ctpop(args[0]), I64)

    return types.int64(bitboard), codegen


@intrinsic
def without_first(typingctx: Any, b: Any) -> Any:
    """The bitboard without its lowest square."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.and_(args[0], builder.sub(args[0], ir.Constant(I128, 1)))

    return bitboard(bitboard), codegen


def _shift(method: str) -> Any:
    @intrinsic
    def shift(typingctx: Any, b: Any, count: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, method)(args[0], builder.zext(args[1], I128))

        return bitboard(bitboard, types.uint64), codegen

    return shift


shift_up = _shift("shl")
"""`shift_up(b, n)`: every square s becomes s + n (0 <= n < 128)."""
shift_down = _shift("lshr")
"""`shift_down(b, n)`: every square s becomes s - n (0 <= n < 128)."""


@intrinsic
def empty_bitboard(typingctx: Any) -> Any:
    """The empty set of squares."""
    return bitboard(), lambda context, builder, sig, args: ir.Constant(I128, 0)


@intrinsic
def more_than_one(typingctx: Any, b: Any) -> Any:
    """True if the bitboard holds two squares or more."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rest = builder.and_(args[0], builder.sub(args[0], ir.Constant(I128, 1)))
        return builder.icmp_unsigned("!=", rest, ir.Constant(I128, 0))

    return types.boolean(bitboard), codegen
