"""The decorators of the project. No other module spells numba's options out.

`inline`  a helper that LLVM must inline into its callers; it cannot be called from Python.
`kernel`  a function compiled once, kept on disk, callable from Python and from other kernels.
`float_kernel`  a kernel whose float sums may be reordered (training only: results may differ between CPUs).

Both release the GIL and follow C in division (1 // 0 is 0, no exception).
"""

from __future__ import annotations

from typing import Any

from engine.native.cache import CACHE_FOLDER

import numba  # isort: skip  (NUMBA_CACHE_DIR must be set before numba is imported)

inline: Any = numba.njit(
    error_model="numpy", nogil=True, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def kernel(*signature: Any) -> Any:
    """Decorator for large functions and entry points: `@kernel()` or, for recursive ones, `@kernel(signature)`."""
    return numba.njit(*signature, error_model="numpy", nogil=True, cache=CACHE_FOLDER is not None)


def address_kernel(signature: Any) -> Any:
    """Decorator for a function reached through its address (`function.address`), such as an evaluation."""
    return numba.cfunc(signature, error_model="numpy", nogil=True, cache=CACHE_FOLDER is not None)


def float_kernel(*signature: Any) -> Any:
    """Decorator for the trainer's kernels: as `kernel`, and LLVM may reorder and fuse float arithmetic."""
    return numba.njit(*signature, error_model="numpy", nogil=True, cache=CACHE_FOLDER is not None, fastmath=True)
