"""What the search learns from its cut-offs: which moves tend to be good, and how far the evaluation was off.

All tables are in the thread's own WORKER record. A table entry moves towards +-limit by a bonus with gravity, so it
stays within the limit and forgets slowly. Moves are indexed by "row": what moved (drops apart, gold-like pieces
together, by colour) and where to.
"""

from __future__ import annotations

import math

import numpy as np
from numba import int32, int64, void

from engine.native.jit import inline, kernel
from engine.rules.layout import (
    COLOUR_SHIFT,
    DRAGON,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    GOLD,
    HORSE,
    KING,
    PAWN,
    PRO_PAWN,
    PRO_SILVER,
    PROMOTE_BIT,
    PROMOTED,
    SILVER,
    TO_MASK,
    position_type,
)
from engine.search.layout import (
    CORRECTIONS,
    STACK_BEFORE,
    WORKER,
    worker_type,
)

BUTTERFLY_SHIFT, CAPTURE_SHIFT, CONTINUATION_SHIFT = 13, 13, 14  # limit = 1 << shift
CORRECTION_LIMIT = 8192
MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
MIX_3, MIX_4 = np.uint64(0x165667B19E3779F9), np.uint64(0xD6E8FEB86659FD93)


@inline
def stack_at(W, ply):
    """The stack entry of a ply (down to -STACK_BEFORE)."""
    return W.stack[np.uint64(ply + STACK_BEFORE)]


@inline
def is_tactical(P, m):
    """Captures and promotions of pawns: what `generate_captures` makes."""
    if m & DROP_BIT:
        return False
    if P.board[np.uint64(m & TO_MASK)] != 0:
        return True
    return (m & PROMOTE_BIT) != 0 and (P.board[np.uint64((m >> FROM_SHIFT) & FROM_MASK)] & 15) == PAWN


@inline
def moving_code(P, m):
    """The piece as it stands after a move not yet made, + 32 for a drop: the index of W.move_kind."""
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    if m & DROP_BIT:
        return origin | P.side << COLOUR_SHIFT | 32
    piece = np.int64(P.board[np.uint64(origin)])
    if m & PROMOTE_BIT:
        piece |= PROMOTED
    return piece


@inline
def move_row(P, W, m):
    """Row of a move not yet made."""
    return np.int64(W.move_kind[np.uint64(moving_code(P, m))]) + np.int64(m & TO_MASK)


@inline
def captured_type(P, m):
    """Type of the piece on the target square, 0 = none."""
    return np.int64(P.board[np.uint64(m & TO_MASK)]) & 15


@inline
def _mix(x):
    x ^= x >> np.uint64(32)
    x *= MIX_1
    return x ^ (x >> np.uint64(29))


@inline
def pawn_structure(P):
    """Hash of where the pawns of both colours stand."""
    low, high = P.pieces[PAWN, 0], P.pieces[PAWN, 1]
    black_low, black_high = P.colours[0, 0] & low, P.colours[0, 1] & high
    return _mix(black_low * MIX_1 ^ black_high * MIX_2 ^ (low ^ black_low) * MIX_3 ^ (high ^ black_high) * MIX_4)


@inline
def king_shelter(P):
    """Hash of where kings, golds and silvers stand."""
    low = P.pieces[KING, 0] | P.pieces[15, 0] | P.pieces[SILVER, 0]
    high = P.pieces[KING, 1] | P.pieces[15, 1] | P.pieces[SILVER, 1]
    kings = np.uint64(P.king[0] * 128 + P.king[1])
    return _mix(low * MIX_2 ^ high * MIX_3 ^ (P.colours[0, 0] & low) * MIX_4 ^ (P.colours[0, 1] & high) * MIX_1 ^ kings)


@inline
def with_bonus(value, bonus, shift):
    """An entry after a bonus (or malus), pulled back in proportion to its size."""
    return np.int16(value + bonus - ((value * abs(bonus)) >> shift))


@inline
def continuation_points(W, ply, row):
    """Ordering points from what was played one, two, four and six plies ago."""
    points = 2 * np.int64(W.continuation[np.uint64(stack_at(W, ply - 1).row), np.uint64(row)])
    points += W.continuation[np.uint64(stack_at(W, ply - 2).row), np.uint64(row)]
    points += W.continuation[np.uint64(stack_at(W, ply - 4).row), np.uint64(row)]
    return points + W.continuation[np.uint64(stack_at(W, ply - 6).row), np.uint64(row)]


@inline
def _continuation_bonus(W, ply, back, row, bonus):
    earlier = np.uint64(stack_at(W, ply - back).row)
    if earlier != np.uint64(0):
        r = np.uint64(row)
        W.continuation[earlier, r] = with_bonus(np.int64(W.continuation[earlier, r]), bonus, CONTINUATION_SHIFT)


@kernel(void(worker_type, int64, int64, int64))
def continuation_bonus(W, ply, row, bonus):
    """Reward a quiet move made at a ply as an answer to the moves before it."""
    _continuation_bonus(W, ply, 1, row, bonus)
    _continuation_bonus(W, ply, 2, row, bonus)
    _continuation_bonus(W, ply, 4, row, bonus)
    _continuation_bonus(W, ply, 6, row, bonus)


@inline
def butterfly_bonus(W, side, m, bonus):
    """Reward a quiet move of a colour, whatever was played before it."""
    s, key = np.uint64(side), np.uint64(m & 0xFFFF)
    W.butterfly[s, key] = with_bonus(np.int64(W.butterfly[s, key]), bonus, BUTTERFLY_SHIFT)


@kernel(void(position_type, worker_type, int64, int32, int64))
def quiet_bonus(P, W, ply, m, bonus):
    """Reward (or punish) a quiet move of the current position in all tables."""
    butterfly_bonus(W, P.side, m, bonus)
    row = move_row(P, W, m)
    continuation_bonus(W, ply, row, bonus)


@kernel(void(position_type, worker_type, int32, int64))
def capture_bonus(P, W, m, bonus):
    """Reward (or punish) a capture or pawn promotion of the current position."""
    row, kind = np.uint64(move_row(P, W, m)), np.uint64(captured_type(P, m))
    W.captures[row, kind] = with_bonus(np.int64(W.captures[row, kind]), bonus, CAPTURE_SHIFT)


@inline
def _correction_index(hash_value):
    return np.uint64(hash_value & np.uint64(CORRECTIONS - 1))


@kernel(int64(position_type, worker_type, int64))
def correction(P, W, ply):
    """By how much the evaluation of positions like this one was off: sum of four tables, in 1/16 centipawn."""
    side = np.uint64(P.side)
    hands = P.undo[np.uint64(P.ply)].key_hand
    total = np.int64(W.pawn_correction[side, _correction_index(pawn_structure(P))])
    total += W.hand_correction[side, _correction_index(_mix(hands))]
    total += W.piece_correction[side, _correction_index(king_shelter(P))]
    return total + W.move_correction[side, np.uint64(stack_at(W, ply - 1).row)]


@inline
def _corrected(value, error, weight):
    value += ((error - value) * weight) >> 10
    return np.int16(max(-CORRECTION_LIMIT, min(CORRECTION_LIMIT, value)))


@kernel(void(position_type, worker_type, int64, int64, int64))
def update_correction(P, W, ply, error, depth):
    """Learn from a search that found `error` centipawns more than the static evaluation said."""
    side = np.uint64(P.side)
    weight = min(1 + depth, 16) * 8
    error = max(-CORRECTION_LIMIT, min(CORRECTION_LIMIT, error * 16))
    i = _correction_index(pawn_structure(P))
    W.pawn_correction[side, i] = _corrected(np.int64(W.pawn_correction[side, i]), error, weight)
    i = _correction_index(_mix(P.undo[np.uint64(P.ply)].key_hand))
    W.hand_correction[side, i] = _corrected(np.int64(W.hand_correction[side, i]), error, weight)
    i = _correction_index(king_shelter(P))
    W.piece_correction[side, i] = _corrected(np.int64(W.piece_correction[side, i]), error, weight)
    i = np.uint64(stack_at(W, ply - 1).row)
    W.move_correction[side, i] = _corrected(np.int64(W.move_correction[side, i]), error, weight)


def _kind_index(piece_type: int, drop: bool) -> int:
    """0 to MOVE_KINDS - 1; pieces that move as gold share one."""
    if drop:
        return 9 + piece_type
    if PRO_PAWN <= piece_type <= PRO_SILVER:
        piece_type = GOLD
    return {HORSE: 8, DRAGON: 9}.get(piece_type, piece_type - 1)


def prepare_worker(worker: np.void, tables: np.void) -> None:
    """Fill what a WORKER record derives from the tables of a variant: exchange values, rows, reductions."""
    for piece_type in range(1, 15):
        values = tables["piece_value"]
        worth = int(values[piece_type]) + int(values[piece_type & 7 if piece_type > KING else piece_type])
        for colour in (0, 1):
            worker["exchange"][piece_type | colour << COLOUR_SHIFT] = worth
            worker["move_kind"][piece_type | colour << COLOUR_SHIFT] = (
                _kind_index(piece_type, False) * 2 + colour
            ) * 81
            if piece_type < KING:
                kind = _kind_index(piece_type, True) * 2 + colour
                worker["move_kind"][piece_type | colour << COLOUR_SHIFT | 32] = kind * 81
    scale = int(worker["parameters"]["reduction_scale"]) / 100
    for i in range(1, 256):
        worker["reductions"][i] = int(scale * math.log(i))


LEARNED = tuple(
    name
    for name in WORKER.names or ()
    if name in ("counters", "butterfly", "captures", "continuation") or name.endswith("_correction")
)


def forget(worker: np.void) -> None:
    """Clear everything a thread has learned, for a new game."""
    for name in LEARNED:
        worker[name] = 0
