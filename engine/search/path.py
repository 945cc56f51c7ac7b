"""How the moves that led to a position decide its value in the search: repetition, perpetual check, move limit.

A position that repeats one *after* the root counts at once, one that repeats the root or the game before it only when
it has already been repeated: from the root a first repetition is an ordinary position, and analysing it says so.
"""

from __future__ import annotations

import numpy as np

from engine.native.jit import inline
from engine.rules.endings import DRAW, WIN, move_limit_reached, repetition
from engine.rules.position import in_check

LOOK_BACK = 24  # plies that a node deep in the tree looks back for a repetition
WHOLE_PATH = 2  # nodes this near to the root look back through the whole game
LIMIT_IS_NEAR = 16  # moves before the move limit at which values from the table stop to count


@inline
def path_class(P, ply):
    """Repetition class (engine.rules.endings) of the current position, `ply` plies below the root."""
    return repetition(P, P.ply if ply <= WHOLE_PATH else np.int64(LOOK_BACK), ply)


@inline
def near_the_limit(P, C):
    """True if the move limit may end the game soon: then values from the table, seen at other moves, do not count."""
    return C.max_moves > 0 and P.game_ply + P.ply + LIMIT_IS_NEAR > C.max_moves


@inline
def draw_value(P, C):
    """Centipawns of a draw for the side to move."""
    return np.int64(C.draw_value[np.uint64(P.side)])


@inline
def path_value(P, C, W, kind):
    """Value of DRAW, WIN or LOSS for the side to move."""
    if kind == DRAW:
        return draw_value(P, C)
    value = np.int64(W.parameters.perpetual_value)
    return value if kind == WIN else -value


@inline
def drawn_by_length(P, C):
    """True if the move limit is reached and the side to move is not in check, where it might be mated."""
    return move_limit_reached(P, C) and not in_check(P)
