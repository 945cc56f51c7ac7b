"""A clock that jitted code can read without Python: the operating system's function, called by its address.

Waking another thread takes longer the busier the machine is, so a search that must end in time looks at the clock
itself.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

MONOTONIC = {"linux": 1, "darwin": 8, "freebsd": 4}  # CLOCK_MONOTONIC; on macOS CLOCK_UPTIME_RAW


@dataclass(frozen=True)
class Clock:
    """How to read the clock: `function(first, second)` fills two words; time = words[0] * unit + words[1] ticks.

    On POSIX the call is clock_gettime(id, words), on Windows QueryPerformanceCounter(words).
    """

    function: int  # address; 0 = this system has none that we know
    clock_id: int  # first argument; -1: the words themselves
    unit: int
    ticks_per_second: int
    _keep: Any = None  # the library must stay loaded

    def now(self) -> int:
        """Ticks."""
        words = np.zeros(2, dtype=np.int64)
        address = words.ctypes.data
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        prototype(self.function)(address if self.clock_id < 0 else self.clock_id, address)
        return int(words[0]) * self.unit + int(words[1])


def _windows_clock() -> Clock:
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]
    frequency = ctypes.c_int64()
    kernel.QueryPerformanceFrequency(ctypes.byref(frequency))
    address = ctypes.cast(kernel.QueryPerformanceCounter, ctypes.c_void_p).value or 0
    return Clock(address, -1, 1, int(frequency.value), kernel)


def _posix_clock() -> Clock:
    clock_id = next((number for name, number in MONOTONIC.items() if sys.platform.startswith(name)), None)
    if clock_id is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        return Clock(0, 0, 1, 1)
    library = ctypes.CDLL(None)
    address = ctypes.cast(library.clock_gettime, ctypes.c_void_p).value or 0
    return Clock(address, clock_id, 10**9, 10**9, library)


def find_clock() -> Clock:
    """This system's clock; its `function` is 0 when there is none."""
    try:
        return _windows_clock() if sys.platform == "win32" else _posix_clock()
    except (AttributeError, OSError):
        return Clock(0, 0, 1, 1)
