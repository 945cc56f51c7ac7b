"""Raw memory and bits for jitted code: addresses of records, loads and stores, an atomic load, prefetch.

A record argument is a pointer inside jitted code, so passing an address costs nothing and no reference count is kept:
whoever takes an address must keep the array alive.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.extending import intrinsic

I8 = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)


@intrinsic
def address_of(typingctx: Any, record: Any) -> Any:
    """Address of a record as uint64."""
    if not isinstance(record, types.Record):
        return None
    return types.uint64(record), lambda context, builder, sig, args: builder.ptrtoint(args[0], I64)


def record_at(record_type: types.Record) -> Any:
    """Make a jitted function `f(address: uint64) -> record` for one record type."""

    @intrinsic
    def cast(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

        return record_type(types.uint64), codegen

    return cast


def _loader(result: Any, bits: int, atomic: bool = False) -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], ir.IntType(bits).as_pointer())
            if atomic:
                return builder.load_atomic(pointer, "monotonic", bits // 8)
            return builder.load(pointer, align=1)

        return result(types.uint64), codegen

    return load


def _storer(value_type: Any, bits: int, atomic: bool = False) -> Any:
    @intrinsic
    def store(typingctx: Any, address: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], ir.IntType(bits).as_pointer())
            if atomic:
                builder.store_atomic(args[1], pointer, "monotonic", bits // 8)
            else:
                builder.store(args[1], pointer, align=1)
            return context.get_dummy_value()

        return types.void(types.uint64, value_type), codegen

    return store


load_u64 = _loader(types.uint64, 64)
load_i64 = _loader(types.int64, 64)
load_i32 = _loader(types.int32, 32)
load_i16 = _loader(types.int16, 16)
atomic_load_i64 = _loader(types.int64, 64, atomic=True)
"""A plain read in a loop is hoisted out of it; this one sees another thread's write."""
store_u64 = _storer(types.uint64, 64)
store_i64 = _storer(types.int64, 64)
store_i32 = _storer(types.int32, 32)
store_i16 = _storer(types.int16, 16)
atomic_store_i64 = _storer(types.int64, 64, atomic=True)


@intrinsic
def prefetch(typingctx: Any, address: Any) -> Any:
    """Ask the CPU to bring the cache line at an address closer."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], I8.as_pointer())
        function_type = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
        function = builder.module.globals.get("llvm.prefetch.p0")
        if function is None:
            function = ir.Function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [pointer, ir.Constant(I32, 0), ir.Constant(I32, 3), ir.Constant(I32, 1)])
        return context.get_dummy_value()

    return types.void(types.uint64), codegen


@intrinsic
def call_evaluation(typingctx: Any, function: Any, position: Any, tables: Any, shared: Any) -> Any:
    """Call `int64 f(uint64, uint64, uint64)` at an address: the narrow door through which the search evaluates."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function_type = ir.FunctionType(I64, [I64, I64, I64])
        pointer = builder.inttoptr(args[0], function_type.as_pointer())
        return builder.call(pointer, args[1:])

    word = types.uint64
    return types.int64(word, word, word, word), codegen


def kernel_at(signature: Any) -> Any:
    """Make a jitted function `f(address: uint64, first, second[, third])` that calls a kernel of that signature.

    The address comes from `jit.kernel_address`.
    """
    result, kinds = signature.return_type, signature.args

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function_type = ir.FunctionType(context.get_value_type(result), [context.get_value_type(k) for k in kinds])
        value = builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return context.get_dummy_value() if result == types.void else value

    whole = result(types.uint64, *kinds)
    if len(kinds) == 2:

        @intrinsic
        def call_with_two(typingctx: Any, address: Any, first: Any, second: Any) -> Any:
            return whole, codegen

        return call_with_two

    @intrinsic
    def call_with_three(typingctx: Any, address: Any, first: Any, second: Any, third: Any) -> Any:
        return whole, codegen

    return call_with_three


@intrinsic
def lowest_bit(typingctx: Any, word: Any) -> Any:
    """Index of the lowest set bit of a uint64 that is not 0."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@intrinsic
def multiply_high(typingctx: Any, a: Any, b: Any) -> Any:
    """Upper 64 bits of the product of two uint64: maps a 64-bit hash evenly onto 0 .. b-1."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), I64)

    return types.uint64(types.uint64, types.uint64), codegen


def _address_call(builder: Any, args: Any) -> Any:
    """Call a function of 64-bit words that returns one, given its address and its arguments."""
    function_type = ir.FunctionType(I64, [I64] * (len(args) - 1))
    return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])


@intrinsic
def call_search(
    typingctx: Any,
    function: Any,
    position: Any,
    tables: Any,
    shared: Any,
    worker: Any,
    ply: Any,
    alpha: Any,
    beta: Any,
    depth: Any,
    kind: Any,
) -> Any:
    """Call a search function at an address: four record addresses (uint64) and five int64, giving int64.

    Functions that recurse call each other this way: each is compiled once and the disk cache never sees a cycle.
    """
    word, number = types.uint64, types.int64
    signature = number(word, word, word, word, word, number, number, number, number, number)
    return signature, lambda context, builder, sig, args: _address_call(builder, args)


@intrinsic
def call_picker(
    typingctx: Any, function: Any, position: Any, tables: Any, worker: Any, index: Any, ply: Any, flags: Any
) -> Any:
    """Call a move picker at an address: three record addresses (uint64) and three int64, giving int64."""
    word, number = types.uint64, types.int64
    signature = number(word, word, word, word, number, number, number)
    return signature, lambda context, builder, sig, args: _address_call(builder, args)


@intrinsic
def call_clock(typingctx: Any, function: Any, first: Any, second: Any) -> Any:
    """Call the operating system's clock (see engine.native.clock) at an address, with two uint64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function_type = ir.FunctionType(I32, [I64, I64])
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return context.get_dummy_value()

    word = types.uint64
    return types.void(word, word, word), codegen
