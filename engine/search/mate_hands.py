"""For which hands of the attacker a result holds: the least hand of a proof, the greatest of a disproof.

Both are packed hands. They rest on one fact: a piece that the attacker does not hold is in the defender's hand.
"""

from __future__ import annotations

import numpy as np

from engine.native.bitboard import first_square, more_than_one
from engine.native.jit import inline
from engine.rules.attacks import between_bb, checkers_bb, droppable_bb, occupied
from engine.rules.layout import (
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    HAND_MASK,
    HAND_SHIFT,
    KING,
    PAWN,
    TO_MASK,
)
from engine.rules.movegen import empty_squares, pawn_drop_squares, piece_reach
from engine.rules.position import current, hand_count, one_in_hand


@inline
def field(kind):
    """Bits of one type in a packed hand."""
    return HAND_MASK[np.uint64(kind)] << HAND_SHIFT[np.uint64(kind)]


@inline
def larger_hand(a, b):
    """By type the larger count."""
    hand = np.int64(0)
    for kind in range(PAWN, KING):
        bits = field(kind)
        hand |= max(a & bits, b & bits)
    return hand


@inline
def smaller_hand(a, b):
    """By type the smaller count."""
    hand = np.int64(0)
    for kind in range(PAWN, KING):
        bits = field(kind)
        hand |= min(a & bits, b & bits)
    return hand


@inline
def hand_after(P, m, hand):
    """The mover's hand after a move."""
    if m & DROP_BIT:
        return hand - one_in_hand((m >> FROM_SHIFT) & FROM_MASK)
    captured = np.int64(P.board[np.uint64(m & TO_MASK)])
    if captured:
        return hand + one_in_hand(captured & 7)
    return hand


@inline
def proof_before(P, m, proof):
    """Least hand before the attacker's move from the least hand after it."""
    if m & DROP_BIT:
        return proof + one_in_hand((m >> FROM_SHIFT) & FROM_MASK)
    captured = np.int64(P.board[np.uint64(m & TO_MASK)])
    if captured and proof & field(captured & 7):
        return proof - one_in_hand(captured & 7)
    return proof


@inline
def disproof_before(P, m, disproof, total):
    """Greatest hand before the attacker's move from the greatest hand after it; `total`: both hands before."""
    if m & DROP_BIT:
        disproof += one_in_hand((m >> FROM_SHIFT) & FROM_MASK)
    else:
        captured = np.int64(P.board[np.uint64(m & TO_MASK)])
        if captured:
            disproof -= one_in_hand(captured & 7)
    return smaller_hand(disproof, total)


@inline
def disproof_before_defence(P, m, disproof, total):
    """The same for a move of the defender, who must still hold what he drops."""
    if m & DROP_BIT:
        total -= one_in_hand((m >> FROM_SHIFT) & FROM_MASK)
    return smaller_hand(disproof, total)


@inline
def needed_against_drops(P, T, attacker):
    """What the attacker must hold so that the defender, in check, gets no new piece to interpose."""
    u = current(P)
    checkers = checkers_bb(u)
    if more_than_one(checkers):
        return np.int64(0)
    side = P.side
    between = between_bb(T, P.king[np.uint64(side)], first_square(checkers))
    if not between:
        return np.int64(0)
    needed = np.int64(0)
    for kind in range(PAWN, KING):
        if hand_count(P.hand[np.uint64(side)], kind) == 0 and droppable_bb(T, side, kind) & between:
            needed |= P.hand[np.uint64(attacker)] & field(kind)
    return needed


@inline
def without_new_checks(P, T, disproof):
    """A disproof's hand without the types whose drop would be a check that was not there to be tried."""
    side = P.side
    hand = P.hand[np.uint64(side)]
    enemy = side ^ 1
    king = P.king[np.uint64(enemy)]
    empty = empty_squares(P, T)
    blockers = occupied(P)
    for kind in range(PAWN, KING):
        if hand_count(hand, kind) == 0 and disproof & field(kind):
            targets = piece_reach(T, kind | enemy << 4, king, blockers) & empty & droppable_bb(T, side, kind)
            if kind == PAWN and targets:
                targets = pawn_drop_squares(P, T, side, targets)
            if targets:
                disproof &= ~field(kind)
    return disproof
