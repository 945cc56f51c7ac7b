"""The decorators of the project. No other module spells numba's options out.

`inline`  a helper that LLVM must inline into its callers; it cannot be called from Python.
`kernel`  a function compiled once, kept on disk, callable from Python and from other kernels.
`float_kernel`  a kernel whose float sums may be reordered (training only: results may differ between CPUs).

All release the GIL and follow C in division (1 // 0 is 0, no exception).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from engine.native.cache import CACHE_FOLDER

import numba  # isort: skip  (NUMBA_CACHE_DIR must be set before numba is imported)
from numba import types

OPTIONS = {"error_model": "numpy", "nogil": True}


def inline(function: Callable[..., Any]) -> Any:
    """Decorator for helpers.

    numba would type and lower a helper anew for every constant it is called with, though LLVM sees the constants all
    the same once it has inlined the call. One version for all of them takes a third off the time to compile.
    """
    helper: Any = numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)
    template_of = helper.get_call_template

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template_of(tuple(map(_any_integer, args)), {name: _any_integer(kind) for name, kind in kws.items()})

    helper.get_call_template = get_call_template
    return helper


def _any_integer(kind: Any) -> Any:
    """int64 for the type of an integer constant, any other type as it is."""
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Compiling makes millions of small objects that stay; looking for garbage among them takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _compiler(make: Callable[..., Any], *signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    decorate = make(*signature, cache=CACHE_FOLDER is not None, **OPTIONS, **options)

    def compile_now(function: Callable[..., Any]) -> Any:
        with _no_garbage_collection():
            return decorate(function)

    return compile_now


def kernel(*signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for large functions and entry points: `@kernel()` or, for recursive ones, `@kernel(signature)`."""
    return _compiler(numba.njit, *signature)


def float_kernel(*signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for the trainer's kernels: as `kernel`, and LLVM may reorder and fuse float arithmetic."""
    return _compiler(numba.njit, *signature, fastmath=True)


def address_kernel(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for a function reached through its address (`function.address`), such as an evaluation."""
    return _compiler(numba.cfunc, signature)


def kernel_address(function: Any) -> int:
    """Address of a kernel of one signature, for calls by `intrinsics.kernel_at`.

    A kernel that calls another by its name holds a copy of it and of all that it calls, compiled again.
    """
    (compiled,) = function.overloads.values()
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
    return address
