"""Python objects that jitted code knows while it is compiled: the shape of a network, the length of a vector.

A frozen dataclass under `@static` can stand in jitted code as a constant or an argument. Its value is part of its numba
type, so every value gets a specialisation of its own, and what is computed from it costs nothing when the code runs:
`number_of(read)` and `static_of(read)` make jitted functions of it. numba's disk cache tells the values apart by their
pickled bytes, which the fields (ints, strings, bools and other such classes) make the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core.datamodel import models, register_default
from numba.core.extending import intrinsic, typeof_impl
from numba.core.imputils import lower_constant

Class = TypeVar("Class", bound=type)


class StaticType(types.Type):
    """numba's type of one static value."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(f"static {value!r}")


register_default(StaticType)(models.OpaqueModel)


@lower_constant(StaticType)
def _lower_static(context: Any, builder: Any, ty: Any, value: Any) -> Any:
    return context.get_dummy_value()


def static(cls: Class) -> Class:
    """Class decorator: let instances of a frozen dataclass be known at compile time."""
    typeof_impl.register(cls)(lambda value, context: StaticType(value))
    return cls


def number_of(read: Callable[[Any], int]) -> Any:
    """Make a jitted function that gives a number read from a static value, as a uint64 constant."""

    @intrinsic
    def number(typingctx: Any, value: Any) -> Any:
        constant = ir.Constant(ir.IntType(64), int(read(value.value)))
        return types.uint64(value), lambda context, builder, sig, args: constant

    return number


def static_of(read: Callable[[Any], Any]) -> Any:
    """Make a jitted function that gives another static value, made from the first one."""

    @intrinsic
    def other(typingctx: Any, value: Any) -> Any:
        result = StaticType(read(value.value))
        return result(value), lambda context, builder, sig, args: context.get_dummy_value()

    return other
