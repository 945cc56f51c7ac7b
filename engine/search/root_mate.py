"""Mates by checks alone, looked for from the root beside the ordinary search.

The solver gets a share of the nodes, between iterations: no clock decides, so one thread finds the same things every
time. It keeps its table through the game, and goes on in the next share where it was.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from engine.rules.endings import REPETITIONS, count_occurrences
from engine.rules.impasse import TRY_RULE
from engine.rules.moves import parse_usi
from engine.rules.position import make_move, unmake_move
from engine.rules.variants import Variant
from engine.search.layout import MAX_PLY
from engine.search.limits import Info
from engine.search.mate_search import MateResult

if TYPE_CHECKING:
    from engine.search.engine import Engine

LEAST_SHARE = 256  # nodes; less is not worth the start of the solver
KNOWN_SHARE = 2048  # given at once when the move before was one of a mate: the rest of it is in the table


class RootMate:
    """The share of one search. `found` is the shortest mate known so far, its line replayed and verified."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.nodes = 0
        self.found: MateResult | None = None
        shared = engine.shared
        # a king that runs across the board may win by the try rule instead of being mated
        self._done = engine.mate_share == 0 or int(shared["impasse_rule"]) == TRY_RULE
        position = engine.workers[0].position
        self._moves_left = int(shared["max_moves"]) - int(position["game_ply"]) - int(position["ply"])
        self._limited = bool(shared["max_moves"] > 0)
        self._advance = KNOWN_SHARE if engine.mate_is_on else 0
        engine.mate_is_on = False

    def seek(self, nodes: int, deadline: float | None) -> None:
        """Look for a mate with what is due after `nodes` of the search; `deadline` is one of time.perf_counter()."""
        share = nodes * self._engine.mate_share // 100 + self._advance - self.nodes
        if self._done or share < LEAST_SHARE:
            return
        engine, position = self._engine, self._engine.workers[0].position
        time_ms = None if deadline is None else max(0.0, deadline - time.perf_counter()) * 1000
        result = engine.root_solver.solve(position, time_ms, share, engine.stop_address)
        self.nodes += result.nodes
        self._done = result.exact or result.status == "nomate"
        if result.plies is None or (self.found is not None and result.plies >= (self.found.plies or 0)):
            return
        if self._limited and result.plies > self._moves_left:
            return
        if not repeats_the_game(position, engine.tables, engine.variant, result.line):
            self.found = result
            engine.mate_is_on = True

    def take_part(self, lines: list[Info]) -> list[Info]:
        """The best lines of the search, with the mate before them if they have none as short."""
        if self.found is None or self.found.plies is None or not lines:
            return lines
        plies, line = self.found.plies, self.found.line
        best = lines[0]
        if best.mate is not None and 0 < best.mate <= plies:
            return lines
        first = Info(**{**vars(best), "mate": plies, "score_cp": None, "bound": None, "pv": list(line), "multipv": 1})
        others = [info for info in lines if info.pv[:1] != line[:1]][: len(lines) - 1]
        for rank, info in enumerate(others, 2):
            info.multipv = rank
        return [first, *others]


def repeats_the_game(P: np.void, T: np.void, variant: Variant, line: list[str]) -> bool:
    """True if a position of the line, together with those of the game before it, ends the game by repetition.

    The solver knows nothing of the game. P has the game's moves behind it and is left as it was.
    """
    played, found = 0, False
    for text in line[:MAX_PLY] if int(P["ply"]) else []:
        make_move(P, T, np.int32(parse_usi(text, variant)))
        played += 1
        found = count_occurrences(P) >= REPETITIONS
        if found:
            break
    for _ in range(played):
        unmake_move(P, T)
    return found
