"""How games end short of mate, for jitted code: repetition, declaration, the move limit.

All answers are the side to move's view. The counting rules stand in impasse.py.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from engine.native.bitboard import popcount
from engine.native.jit import inline, kernel
from engine.rules.attacks import colour_bb, square_bb, step_attacks, type_bb, zone_bb
from engine.rules.impasse import IMPASSE_RULES, NO_IMPASSE, PIECES_IN_ZONE, TRY_RULE, entering_points, impasse_count
from engine.rules.layout import (
    COLOUR_SHIFT,
    DRAGON,
    FROM_SHIFT,
    HAND_SPARE,
    KING,
    MAX_PLIES,
    NO_SQUARE,
    PAWN,
    position_type,
    shared_type,
    tables_type,
)
from engine.rules.movegen import is_legal
from engine.rules.position import hand_count, in_check

__all__ = [
    "DECLARED",
    "DRAW",
    "IMPASSE_RULES",
    "INFERIOR",
    "LOSS",
    "NONE",
    "SUPERIOR",
    "WIN",
    "count_occurrences",
    "declaration",
    "entering_points",
    "game_repetition",
    "impasse_count",
    "move_limit_reached",
    "repetition",
    "repetition_verdict",
    "try_move",
]

NONE, DRAW, WIN, LOSS, SUPERIOR, INFERIOR = range(6)
"""Repetition classes. WIN: the other side has given check all the way (perpetual check loses). SUPERIOR: the board
is the same as before, but the side to move has won pieces in hand since; INFERIOR: it has lost some."""
REPETITIONS = 4  # occurrences of a position that end the game (sennichite)
DECLARED = -1  # `declaration`: the side to move may declare a win


@inline
def repetition_verdict(own_checks, other_checks, plies):
    """DRAW, WIN or LOSS of a position that stood on the board `plies` ago, from both sides' unbroken checks since."""
    own = own_checks * 2 >= plies
    other = other_checks * 2 >= plies
    if own == other:
        return DRAW
    return LOSS if own else WIN


@inline
def holds_all(hand, other):
    """True if a packed hand holds at least as many of every type as another."""
    return ((hand | HAND_SPARE) - other) & HAND_SPARE == HAND_SPARE


@inline
def _history(P, now):
    """Plies back to the last null move or to the first that is still remembered."""
    return min(np.int64(now.since_null), P.ply)


@inline
def repetition(P, plies, at_once):
    """Repetition class of the current position against its nearest earlier occurrence, at most `plies` back.

    An occurrence less than `at_once` plies back counts; one further back counts only if it is the second that is found
    and only with the same hands. A search passes its distance from the root: what happened before the root is no
    repetition yet, unless it has happened twice. A board that comes back with hands of which neither contains the other
    is no repetition.
    """
    now = P.undo[np.uint64(P.ply)]
    side = np.uint64(P.side)
    limit = min(np.int64(plies), _history(P, now))
    seen = 0
    back = np.int64(4)  # no position comes back sooner
    while back <= limit:
        before = P.undo[np.uint64(P.ply - back)]
        if before.key_board == now.key_board:
            held, hand = before.hand[side], now.hand[side]
            if held == hand:
                seen += 1
                if back < at_once or seen == 2:
                    own, other = now.checks[side], now.checks[side ^ np.uint64(1)]
                    return repetition_verdict(np.int64(own), np.int64(other), back)
            elif back < at_once:
                if holds_all(hand, held):
                    return SUPERIOR
                if holds_all(held, hand):
                    return INFERIOR
        back += 2
    return NONE


@inline
def _occurrences(P, wanted):
    """How often the position has stood on the board, counting up to `wanted`, and plies back to the oldest counted."""
    now = P.undo[np.uint64(P.ply)]
    side = np.uint64(P.side)
    seen, oldest = np.int64(1), np.int64(0)
    distance = np.int64(4)
    while seen < wanted and distance <= _history(P, now):
        before = P.undo[np.uint64(P.ply - distance)]
        if before.key_board == now.key_board and before.hand[side] == now.hand[side]:
            seen += 1
            oldest = distance
        distance += 2
    return seen, oldest


@kernel(int64(position_type))
def count_occurrences(P):
    """How often the position has stood on the board since the last null move, the present time counted."""
    return _occurrences(P, np.int64(MAX_PLIES))[0]


@kernel(int64(position_type))
def game_repetition(P):
    """What the rules of a game say about a position: NONE before its fourth occurrence, then DRAW, WIN or LOSS.

    Check is perpetual only if it was given all the way from the first to the fourth occurrence. Sees the plies that
    `P.undo` holds, back to the last null move.
    """
    seen, distance = _occurrences(P, np.int64(REPETITIONS))
    if seen < REPETITIONS:
        return np.int64(NONE)
    now = P.undo[np.uint64(P.ply)]
    own, other = now.checks[np.uint64(P.side)], now.checks[np.uint64(P.side ^ 1)]
    return np.int64(repetition_verdict(np.int64(own), np.int64(other), distance))


@kernel(int32(position_type, tables_type))
def try_move(P, T):
    """The king move that reaches the other king's start square and wins by the try rule, 0 if there is none."""
    side = P.side
    king, goal = P.king[np.uint64(side)], T.try_square[np.uint64(side)]
    if king == NO_SQUARE or not step_attacks(T, KING | side << COLOUR_SHIFT, king) & square_bb(T, goal):
        return int32(0)
    m = int32(goal | king << FROM_SHIFT)
    return m if is_legal(P, T, m) else int32(0)


@inline
def _declared_points(P, T, side):
    """Impasse points in hand and in the zone."""
    mine = colour_bb(P, side) & zone_bb(T, side)
    points = np.int64(0)
    for kind in range(PAWN, DRAGON + 1):
        points += popcount(type_bb(P, kind) & mine) * T.points[np.uint64(kind)]
    hand = P.hand[np.uint64(side)]
    for kind in range(PAWN, KING):
        points += hand_count(hand, kind) * T.points[np.uint64(kind)]
    return points


@kernel(int32(position_type, tables_type, shared_type))
def declaration(P, T, C):
    """What the side to move may declare under `C.impasse_rule`: 0 nothing, DECLARED a win by points,
    or (try rule) the king move that wins at once.

    `C.impasse_points` holds what each side needs (impasse.entering_points).
    """
    rule = C.impasse_rule
    if rule == NO_IMPASSE:
        return int32(0)
    if rule == TRY_RULE:
        return try_move(P, T)
    side = P.side
    zone = zone_bb(T, side)
    if not (square_bb(T, P.king[np.uint64(side)]) & zone) or in_check(P):
        return int32(0)
    if popcount(colour_bb(P, side) & zone) <= PIECES_IN_ZONE:  # the king is one of them
        return int32(0)
    return int32(DECLARED) if _declared_points(P, T, side) >= C.impasse_points[np.uint64(side)] else int32(0)


@inline
def move_limit_reached(P, C):
    """True if `C.max_moves` moves of the game have been played without a result: a draw, unless it is mate."""
    return C.max_moves > 0 and P.game_ply + P.ply > C.max_moves
