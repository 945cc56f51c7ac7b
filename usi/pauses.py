"""Keeps Python's garbage collector from stopping a clock's thread.

Loading the compiled code leaves more than 100,000 objects that live as long as the process. A full collection looks at
each of them and holds every Python thread for 50 to 100 ms meanwhile, on whoever's clock that falls.
"""

from __future__ import annotations

import gc


def shorten_collections() -> None:
    """Collect now, and leave what is alive now out of every later collection. For moments when no clock runs."""
    gc.collect()
    gc.freeze()
