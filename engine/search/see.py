"""Static exchange evaluation: what a series of captures on one square wins or loses.

A captured piece leaves one side's board and enters the other's hand, so it changes the balance by both values;
`W.exchange` holds that sum per piece. Promotions count for the first move only. Pins are ignored.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int32, int64

from engine.native.bitboard import first_square, without_first
from engine.native.jit import inline, kernel
from engine.rules.attacks import (
    between_bb,
    colour_bb,
    occupied,
    snipers,
    square_bb,
    step_attackers,
    type_bb,
)
from engine.rules.layout import (
    BISHOP,
    DRAGON,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    GOLDS,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PROMOTE_BIT,
    PROMOTED,
    ROOK,
    SILVER,
    TO_MASK,
    position_type,
    tables_type,
)
from engine.search.layout import worker_type

# rows of `pieces`, cheapest first, one hexadecimal digit each from the right
CAPTURE_ORDER = 0
for _row in reversed((PAWN, LANCE, KNIGHT, SILVER, GOLDS, BISHOP, ROOK, HORSE, DRAGON, KING)):
    CAPTURE_ORDER = CAPTURE_ORDER << 4 | _row


@inline
def _reaching(P, T, to, sliders, blockers):
    """The sliders whose way to a square is free."""
    found = sliders
    rest = sliders
    while rest:
        at = first_square(rest)
        rest = without_first(rest)
        if between_bb(T, to, at) & blockers:
            found ^= square_bb(T, at)
    return found


@inline
def _cheapest(P, candidates):
    """Square of the least valuable of some pieces (not empty)."""
    order = CAPTURE_ORDER
    while True:
        of_type = candidates & type_bb(P, order & 15)
        if of_type:
            return first_square(of_type)
        order >>= 4


@kernel(boolean(position_type, tables_type, worker_type, int32, int64))
def exchange_at_least(P, T, W, m, threshold):
    """True if a legal move and the captures that follow on its target win at least `threshold` centipawns."""
    to = np.int64(m & TO_MASK)
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    balance = np.int64(W.exchange[np.uint64(P.board[np.uint64(to)])]) - threshold
    blockers = occupied(P) | square_bb(T, to)
    if m & DROP_BIT:
        piece = origin
    else:
        piece = np.int64(P.board[np.uint64(origin)]) & 15
        blockers ^= square_bb(T, origin)
        if m & PROMOTE_BIT:
            balance += T.piece_value[np.uint64(piece | PROMOTED)] - T.piece_value[np.uint64(piece)]
            piece |= PROMOTED
    if balance < 0:
        return False
    balance = W.exchange[np.uint64(piece)] - balance
    if balance <= 0:
        return True
    colour = P.side
    lines = snipers(P, T, to, 0) | snipers(P, T, to, 1)
    attackers = step_attackers(P, T, to, 0) | step_attackers(P, T, to, 1)
    attackers |= _reaching(P, T, to, lines & blockers, blockers)
    wins = True
    while True:
        colour ^= 1
        attackers &= blockers
        mine = attackers & colour_bb(P, colour)
        if not mine:
            return wins
        wins = not wins
        at = _cheapest(P, mine)
        kind = np.int64(P.board[np.uint64(at)]) & 15
        if kind == KING:
            # the king may take only what nobody protects
            return not wins if attackers & colour_bb(P, colour ^ 1) else wins
        balance = W.exchange[np.uint64(kind)] - balance
        if balance < (1 if wins else 0):
            return wins
        blockers ^= square_bb(T, at)
        hidden = lines & blockers & ~attackers
        if hidden:
            attackers |= _reaching(P, T, to, hidden, blockers)
