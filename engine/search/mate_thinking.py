"""One running mate search: the thread, the clock and the result of `go mate`."""

from __future__ import annotations

import time

from engine.search.limits import Info, Result
from engine.search.mate_search import solve_mate
from engine.search.root_mate import repeats_the_game
from engine.search.thinking import Thinking


class MateThinking(Thinking):
    """Thinking whose search is the mate solver, in one thread."""

    def _think(self) -> Result:
        engine = self._engine
        if self._moves is not None:
            self._on_info(Info(text="a mate search looks at all moves: searchmoves left out"))
        time_ms = None if self._deadline is None else max(0.0, self._deadline - time.perf_counter()) * 1000
        position = engine.workers[0].position
        result = solve_mate(
            engine.mate_solver, position, time_ms, self._limits.nodes, engine.stop_address, self._on_info
        )
        if result.lines and repeats_the_game(position, engine.tables, engine.variant, result.lines[0].pv):
            self._on_info(Info(text="the mate found repeats positions of the game for the fourth time"))
            return Result(nodes=result.nodes, depth=result.depth, checkmate="timeout")
        return result

    def _tell_progress(self) -> None:
        """The solver reports by itself."""
