"""The real program with a fake engine: everything of `narikin` but the thinking. Its argument is its mood."""

from __future__ import annotations

import gc
import sys
import time
import warnings
from typing import Any

from fake_engine import FakeEngine

from engine.search.limits import Info, Result
from usi.session import run_stdio


def make_engine(*settings: Any) -> FakeEngine:
    mood = sys.argv[1] if len(sys.argv) > 1 else ""
    engine = FakeEngine(*settings)
    print("a stray print of some library")
    warnings.warn("and a warning", stacklevel=1)
    if mood == "slow":
        time.sleep(600)
    if mood == "dies":

        def think(limits: Any, on_info: Any, on_done: Any) -> None:
            on_info(Info(depth=1, pv=["2g2f"], score_cp=1))
            raise ZeroDivisionError("in the search")

        engine.think = think
    if mood == "collects":

        def tell(limits: Any, on_info: Any, on_done: Any) -> None:
            on_info(Info(text=f"a collection looks at {len(gc.get_objects())} of {gc.get_freeze_count()} objects"))
            on_done(Result("7g7f"))

        engine.think = tell
    if mood == "endless":
        engine.endless = True
    if mood == "talks":
        engine.infos = [Info(depth=depth, pv=["7g7f"] * 200, score_cp=1) for depth in range(1, 2000)]
        engine.result = Result("7g7f")
    return engine


if __name__ == "__main__":
    sys.exit(run_stdio(make_engine))
