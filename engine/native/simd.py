"""SIMD vectors inside jitted code: integer vectors of any length as ordinary numba locals.

A value of `VectorType(bits, lanes)` is an LLVM vector, which LLVM splits into the registers of the machine; addition,
clipping and stores need nothing else. Only the dot product of bytes needs to know the CPU: `PATH` says which of

    avx512vnni  avxvnni  avx2  ssse3  generic

was chosen at import, from the CPU that numba compiles for (NUMBA_CPU_NAME and NUMBA_CPU_FEATURES included: every path
can be tested on one machine). Other processors than x86 take the generic one.

Vectors have no sign of their own; the operations say what they take them for. A `Vector(bits, lanes)` constant tells
`load` and `zero` the type of their result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import config, types
from numba.core.datamodel import models, register_default
from numba.core.extending import intrinsic

from engine.native.static import static

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))

PATHS = ("avx512vnni", "avxvnni", "avx2", "ssse3", "generic")
REGISTER_BITS = {"avx512vnni": 512, "avxvnni": 256, "avx2": 256, "ssse3": 128, "generic": 128}

# What a CPU named by NUMBA_CPU_NAME is known to have. An unknown name counts as having nothing: slower, never wrong.
_SSSE3 = {"ssse3"}
_AVX2 = _SSSE3 | {"avx2"}
_VNNI = _AVX2 | {"avx512vnni", "avx512bw", "avx512vl"}
_CPU_FEATURES: dict[str, set[str]] = {
    **dict.fromkeys(("core2", "penryn", "nehalem", "westmere", "sandybridge", "ivybridge", "x86-64-v2"), _SSSE3),
    **dict.fromkeys(("haswell", "broadwell", "skylake", "x86-64-v3", "x86-64-v4", "skylake-avx512"), _AVX2),
    **dict.fromkeys(("znver1", "znver2", "znver3"), _AVX2),
    **dict.fromkeys(("cascadelake", "icelake-client", "icelake-server", "tigerlake", "rocketlake"), _VNNI),
    **dict.fromkeys(("sapphirerapids", "znver4", "znver5"), _VNNI),
    **dict.fromkeys(("alderlake", "raptorlake", "meteorlake", "sierraforest"), _AVX2 | {"avxvnni"}),
}


def target_features() -> set[str]:
    """Features of the CPU that numba compiles for, as far as the dot product cares."""
    if config.CPU_NAME is None and config.CPU_FEATURES is None:
        return {name for name, present in llvm.get_host_cpu_features().items() if present}
    features = set(_CPU_FEATURES.get(config.CPU_NAME or llvm.get_host_cpu_name(), set()))
    if config.CPU_FEATURES is None:
        return features | {name for name, present in llvm.get_host_cpu_features().items() if present}
    for word in filter(None, config.CPU_FEATURES.split(",")):
        (features.discard if word[0] == "-" else features.add)(word.lstrip("+-"))
    return features


def choose_path(features: set[str], triple: str) -> str:
    """The fastest dot product that a CPU with these features can run."""
    if not triple.startswith(("x86_64", "amd64", "i386", "i686")):
        return "generic"
    if {"avx512vnni", "avx512bw", "avx512vl"} <= features:
        return "avx512vnni"
    if "avxvnni" in features or {"avx512vnni", "avx512vl"} <= features:
        return "avxvnni"
    return next((path for path in ("avx2", "ssse3") if path in features), "generic")


PATH = choose_path(target_features(), llvm.get_default_triple())
REGISTER_BYTES = REGISTER_BITS[PATH] // 8
VNNI_TAKES_BYTES = llvm.llvm_version_info[0] >= 22  # before, its byte operands were declared as vectors of i32


class VectorType(types.Type):
    """numba's type of a vector of `lanes` integers of `bits` bits."""

    def __init__(self, bits: int, lanes: int) -> None:
        self.bits, self.lanes = bits, lanes
        super().__init__(f"vector<{lanes} x i{bits}>")

    @property
    def llvm_type(self) -> ir.VectorType:
        """The LLVM type of its values."""
        return ir.VectorType(ir.IntType(self.bits), self.lanes)


@register_default(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: VectorType) -> None:
        super().__init__(dmm, fe_type, fe_type.llvm_type)


@static
@dataclass(frozen=True)
class Vector:
    """A constant in jitted code that names a vector type."""

    bits: int
    lanes: int


def _named(name: Any) -> VectorType:
    return VectorType(name.value.bits, name.value.lanes)


def _constant(vector_type: ir.VectorType, value: int) -> ir.Constant:
    return ir.Constant(vector_type, [value] * vector_type.count)


def _splat(builder: Any, scalar: Any, lanes: int) -> Any:
    """A vector with the same number in all lanes."""
    vector_type = ir.VectorType(scalar.type, lanes)
    first = builder.insert_element(ir.Constant(vector_type, ir.Undefined), scalar, ir.Constant(I32, 0))
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return builder.shuffle_vector(first, ir.Constant(vector_type, ir.Undefined), zeros)


def _pick(builder: Any, vector: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _join(builder: Any, parts: list[Any]) -> Any:
    """Vectors of one power-of-two count, one after another."""
    while len(parts) > 1:
        lanes = 2 * parts[0].type.count
        mask = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes)))
        parts = [builder.shuffle_vector(a, b, mask) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


@intrinsic
def load(typingctx: Any, name: Any, address: Any) -> Any:
    """The vector at an address (any alignment)."""
    result = _named(name)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[1], result.llvm_type.as_pointer())
        return builder.load(pointer, align=1)

    return result(name, types.uint64), codegen


@intrinsic
def store(typingctx: Any, address: Any, value: Any) -> Any:
    """Write a vector to an address (any alignment)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], args[1].type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.uint64, value), codegen


@intrinsic
def zero(typingctx: Any, name: Any) -> Any:
    """A vector of zeros."""
    result = _named(name)
    return result(name), lambda context, builder, sig, args: _constant(result.llvm_type, 0)


def _binary(method: str) -> Any:
    @intrinsic
    def operation(typingctx: Any, a: Any, b: Any) -> Any:
        if not isinstance(a, VectorType) or a != b:
            return None
        return a(a, b), lambda context, builder, sig, args: getattr(builder, method)(*args)

    return operation


add = _binary("add")
"""`add(a, b)`, wrapping around."""
subtract = _binary("sub")
"""`subtract(a, b)`, wrapping around."""
multiply = _binary("mul")
"""`multiply(a, b)`, the low half of each product."""


def _shift(method: str) -> Any:
    @intrinsic
    def shift(typingctx: Any, vector: Any, count: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            counts = _splat(builder, builder.trunc(args[1], ir.IntType(vector.bits)), vector.lanes)
            return getattr(builder, method)(args[0], counts)

        return vector(vector, types.int64), codegen

    return shift


shift_left = _shift("shl")
"""`shift_left(v, n)`, 0 <= n < bits."""
shift_right = _shift("ashr")
"""`shift_right(v, n)` rounding down, 0 <= n < bits."""
shift_right_unsigned = _shift("lshr")
"""`shift_right_unsigned(v, n)`: zeros come in from the left, 0 <= n < bits."""


@intrinsic
def clip(typingctx: Any, vector: Any, low: Any, high: Any) -> Any:
    """Signed lanes brought into low..high."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lane = ir.IntType(vector.bits)
        value, *bounds = args
        low_vector, high_vector = (_splat(builder, builder.trunc(bound, lane), vector.lanes) for bound in bounds)
        value = builder.select(builder.icmp_signed(">", value, low_vector), value, low_vector)
        return builder.select(builder.icmp_signed("<", value, high_vector), value, high_vector)

    return vector(vector, types.int64, types.int64), codegen


@intrinsic
def to_bytes(typingctx: Any, vector: Any) -> Any:
    """The low byte of every lane."""
    result = VectorType(8, vector.lanes)
    return result(vector), lambda context, builder, sig, args: builder.trunc(args[0], result.llvm_type)


@intrinsic
def concatenate(typingctx: Any, a: Any, b: Any) -> Any:
    """The lanes of a, then those of b (same type)."""
    result = VectorType(a.bits, 2 * a.lanes)
    return result(a, b), lambda context, builder, sig, args: _join(builder, list(args))


@intrinsic
def spread(typingctx: Any, name: Any, outputs: Any, address: Any) -> Any:
    """Groups of four bytes at an address, each repeated once for every lane of `outputs`: the input that `dot` wants.

    `name` is the byte vector to fill: four bytes a lane of `outputs`, times a power of two of groups.
    """
    result = _named(name)
    repeat = outputs.value.lanes
    groups = result.lanes // 4 // repeat

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        parts = []
        for group in range(groups):
            at = builder.add(args[2], ir.Constant(I64, 4 * group))
            word = builder.load(builder.inttoptr(at, I32.as_pointer()), align=1)
            parts.append(_splat(builder, word, repeat))
        return builder.bitcast(_join(builder, parts), result.llvm_type)

    return result(name, outputs, types.uint64), codegen


@intrinsic
def dot(typingctx: Any, sums: Any, inputs: Any, weights: Any) -> Any:
    """sums[i] + inputs[4i..4i+3] . weights[4i..4i+3]; inputs are bytes 0..127, weights signed bytes, sums int32."""
    if sums.bits != 32 or inputs != weights or inputs != VectorType(8, 4 * sums.lanes):
        return None
    size = min(REGISTER_BYTES // 4, sums.lanes)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        parts = []
        for start in range(0, sums.lanes, size):
            lanes, octets = list(range(start, start + size)), list(range(4 * start, 4 * (start + size)))
            operands = [_pick(builder, args[0], lanes)] + [_pick(builder, arg, octets) for arg in args[1:]]
            parts.append(_dot_register(builder, *operands))
        return _join(builder, parts)

    return sums(sums, inputs, weights), codegen


def _dot_register(builder: Any, sums: Any, inputs: Any, weights: Any) -> Any:
    """The dot product within one register, by the chosen path."""
    bits = 32 * sums.type.count
    if PATH in ("avx512vnni", "avxvnni") and bits >= 256:
        return _dot_vnni(builder, bits, sums, inputs, weights)
    if PATH == "generic" or bits < 128:
        return builder.add(sums, _dot_generic(builder, inputs, weights))
    return builder.add(sums, _dot_pairs(builder, bits, inputs, weights))


def _call(builder: Any, name: str, result: Any, operands: list[Any]) -> Any:
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(result, [operand.type for operand in operands]), name)
    return builder.call(function, operands)


def _dot_vnni(builder: Any, bits: int, sums: Any, inputs: Any, weights: Any) -> Any:
    if not VNNI_TAKES_BYTES:
        inputs, weights = (builder.bitcast(operand, sums.type) for operand in (inputs, weights))
    return _call(builder, f"llvm.x86.avx512.vpdpbusd.{bits}", sums.type, [sums, inputs, weights])


def _dot_pairs(builder: Any, bits: int, inputs: Any, weights: Any) -> Any:
    """Byte pairs to int16 (at most 2 * 127 * 128, so nothing saturates), then int16 pairs to int32."""
    quads = ir.VectorType(I32, bits // 32)
    words = ir.VectorType(I16, bits // 16)
    ones = _constant(words, 1)
    if bits == 256:
        pairs = _call(builder, "llvm.x86.avx2.pmadd.ub.sw", words, [inputs, weights])
        return _call(builder, "llvm.x86.avx2.pmadd.wd", quads, [pairs, ones])
    pairs = _call(builder, "llvm.x86.ssse3.pmadd.ub.sw.128", words, [inputs, weights])
    return _call(builder, "llvm.x86.sse2.pmadd.wd", quads, [pairs, ones])


def _dot_generic(builder: Any, inputs: Any, weights: Any) -> Any:
    """Products in int16. The inputs have no sign bit, so both factors extend alike, which is one instruction on ARM."""
    words = ir.VectorType(I16, inputs.type.count)
    products = builder.mul(builder.sext(inputs, words), builder.sext(weights, words))
    pairs = _add_neighbours(builder, products)
    return _add_neighbours(builder, builder.sext(pairs, ir.VectorType(I32, pairs.type.count)))


def _add_neighbours(builder: Any, vector: Any) -> Any:
    even, odd = (_pick(builder, vector, list(range(first, vector.type.count, 2))) for first in (0, 1))
    return builder.add(even, odd)


@intrinsic
def fold(typingctx: Any, name: Any, vector: Any) -> Any:
    """The sum of the equal parts of an int32 vector, each as long as the `name` vector."""
    result = _named(name)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        starts = range(0, vector.lanes, result.lanes)
        parts = [_pick(builder, args[1], list(range(start, start + result.lanes))) for start in starts]
        while len(parts) > 1:
            parts = [builder.add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return result(name, vector), codegen


@intrinsic
def total(typingctx: Any, vector: Any) -> Any:
    """The sum of all lanes of an int32 vector (wrapping around in 32 bits), as int64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = args[0]
        while value.type.count > 1:
            half = value.type.count // 2
            parts = [_pick(builder, value, list(range(start, start + half))) for start in (0, half)]
            value = builder.add(*parts)
        return builder.sext(builder.extract_element(value, ir.Constant(I32, 0)), I64)

    return types.int64(vector), codegen


@intrinsic
def lane(typingctx: Any, vector: Any, index: Any) -> Any:
    """One lane as a signed int64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.sext(builder.extract_element(args[0], args[1]), I64)

    return types.int64(vector, types.int64), codegen
