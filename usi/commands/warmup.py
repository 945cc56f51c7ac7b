"""Compile everything now, so that the first start in a GUI is quick."""

from __future__ import annotations

import argparse
import time
from typing import Any


def add_parser(subparsers: Any) -> None:
    """`narikin warmup`."""
    subparsers.add_parser("warmup", help="compile ahead of the first game", description=__doc__)


def run(arguments: argparse.Namespace) -> int:
    """Load or compile, play a short search of every game, and say where the code is kept."""
    from engine.native.cache import CACHE_FOLDER
    from engine.rules.variants import VARIANTS
    from usi.commands.perft import set_up
    from usi.protocol import Position
    from usi.session import start_notice
    from usi.thinker import OwnThinker, default_limits

    print(start_notice() or "compiled code is there already", flush=True)
    start = time.perf_counter()
    for variant in VARIANTS:
        print(f"{variant} ...", flush=True)
        thinker = OwnThinker(variant, hash_mb=1)
        thinker.think(Position(), default_limits(depth=4))
        thinker.think(Position(), default_limits(mate=100))
        thinker.close()
    set_up(Position(), "shogi")
    print(f"ready after {time.perf_counter() - start:.1f} s")
    print(f"compiled code is kept in {CACHE_FOLDER}" if CACHE_FOLDER else "there is no folder to keep compiled code in")
    return 0
