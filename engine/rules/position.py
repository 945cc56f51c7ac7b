"""The position: making and unmaking moves, keys, checkers, pins.

`P.undo[P.ply]` describes the current position; `make_move` fills the next entry, `unmake_move` steps back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import int32, void

from engine.native.bitboard import (
    empty_bitboard,
    first_square,
    high_word,
    low_word,
    more_than_one,
    without_first,
)
from engine.native.jit import inline, kernel
from engine.rules.attacks import (
    attackers_of_colour,
    between_bb,
    checkers_bb,
    colour_bb,
    occupied,
    snipers,
    square_bb,
    step_attacks,
)
from engine.rules.layout import (
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    GOLD,
    GOLDS,
    HAND_MASK,
    HAND_SHIFT,
    KING,
    NO_SQUARE,
    NULL_MOVE,
    PAWN,
    POSITION,
    PRO_PAWN,
    PRO_SILVER,
    PROMOTE_BIT,
    PROMOTED,
    TO_MASK,
    new_record,
    position_type,
    tables_type,
)

if TYPE_CHECKING:
    from engine.rules.sfen import Placement

GOLD_TYPES = 1 << GOLD | sum(1 << kind for kind in range(PRO_PAWN, PRO_SILVER + 1))


@inline
def in_check(P):
    u = P.undo[np.uint64(P.ply)]
    return (u.checkers[0] | u.checkers[1]) != np.uint64(0)


@inline
def current(P):
    """The undo entry of the current position."""
    return P.undo[np.uint64(P.ply)]


@inline
def position_key(P):
    """Zobrist key of board, hands and side to move."""
    u = P.undo[np.uint64(P.ply)]
    return u.key_board + u.key_hand


@inline
def hand_count(hand, kind):
    """How many pieces of a type a packed hand holds."""
    return (hand >> HAND_SHIFT[np.uint64(kind)]) & HAND_MASK[np.uint64(kind)]


@inline
def one_in_hand(kind):
    """A packed hand of one piece."""
    return np.int64(1) << HAND_SHIFT[np.uint64(kind)]


@inline
def _toggle(P, T, piece, square):
    """Put a piece on a square of the bitboards, or take it off; the union of all pieces is left to the caller."""
    bits = square_bb(T, square)
    low, high = low_word(bits), high_word(bits)
    kind, colour = np.uint64(piece & 15), np.uint64(piece >> 4)
    P.pieces[kind, 0] ^= low
    P.pieces[kind, 1] ^= high
    P.colours[colour, 0] ^= low
    P.colours[colour, 1] ^= high
    if (GOLD_TYPES >> (piece & 15)) & 1:
        P.pieces[GOLDS, 0] ^= low
        P.pieces[GOLDS, 1] ^= high


@inline
def _join_colours(P):
    P.pieces[0, 0] = P.colours[0, 0] | P.colours[1, 0]
    P.pieces[0, 1] = P.colours[0, 1] | P.colours[1, 1]


@inline
def _find_lines(P, T, u, side, checkers):
    """Fill checkers, pins and discoverers of a position with `side` to move; `checkers` holds the stepping ones."""
    blockers = occupied(P)
    own = colour_bb(P, side)
    king = P.king[np.uint64(side)]
    pinned = empty_bitboard()
    candidates = snipers(P, T, king, side ^ 1)
    while candidates:
        at = first_square(candidates)
        candidates = without_first(candidates)
        between = between_bb(T, king, at) & blockers
        if not between:
            checkers |= square_bb(T, at)
        elif not more_than_one(between):
            pinned |= between & own
    target = P.king[np.uint64(side ^ 1)]
    discoverers = empty_bitboard()
    candidates = snipers(P, T, target, side)
    while candidates:
        at = first_square(candidates)
        candidates = without_first(candidates)
        between = between_bb(T, target, at) & blockers
        if not more_than_one(between):
            discoverers |= between & own
    u.checkers[0], u.checkers[1] = low_word(checkers), high_word(checkers)
    u.pinned[0], u.pinned[1] = low_word(pinned), high_word(pinned)
    u.discoverers[0], u.discoverers[1] = low_word(discoverers), high_word(discoverers)


@kernel(void(position_type, tables_type, int32))
def make_move(P, T, m):
    """Play a legal move."""
    side = P.side
    enemy = side ^ 1
    before = P.undo[np.uint64(P.ply)]
    u = P.undo[np.uint64(P.ply + 1)]
    to = np.int64(m & TO_MASK)
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    key_board = before.key_board ^ T.key_side
    key_hand = before.key_hand
    score = np.int64(before.score)
    captured = np.int64(0)
    if m & DROP_BIT:
        piece = origin | side << 4
        placed = piece
        P.hand[np.uint64(side)] -= one_in_hand(origin)
        key_hand -= T.key_hand[np.uint64(side), np.uint64(origin)]
        score -= T.hand_value[np.uint64(side), np.uint64(origin)]
    else:
        piece = np.int64(P.board[np.uint64(origin)])
        placed = piece
        if m & PROMOTE_BIT:
            placed = piece | PROMOTED
        captured = np.int64(P.board[np.uint64(to)])
        _toggle(P, T, piece, origin)
        P.board[np.uint64(origin)] = 0
        key_board ^= T.key[np.uint64(piece), np.uint64(origin)]
        score -= T.psqt[np.uint64(piece), np.uint64(origin)]
        if captured:
            kind = captured & 7
            _toggle(P, T, captured, to)
            P.hand[np.uint64(side)] += one_in_hand(kind)
            key_board ^= T.key[np.uint64(captured), np.uint64(to)]
            key_hand += T.key_hand[np.uint64(side), np.uint64(kind)]
            score += T.hand_value[np.uint64(side), np.uint64(kind)] - T.psqt[np.uint64(captured), np.uint64(to)]
        if piece & 15 == KING:
            P.king[np.uint64(side)] = to
    _toggle(P, T, placed, to)
    P.board[np.uint64(to)] = np.int8(placed)
    _join_colours(P)
    u.key_board = key_board ^ T.key[np.uint64(placed), np.uint64(to)]
    u.key_hand = key_hand
    u.hand[0], u.hand[1] = P.hand[0], P.hand[1]
    u.score = np.int32(score + T.psqt[np.uint64(placed), np.uint64(to)])
    u.move = m
    u.moved = np.int8(piece)
    u.captured = np.int8(captured)
    u.since_null = before.since_null + np.int32(1)
    P.side = enemy
    P.ply += 1
    direct = step_attacks(T, placed, to) & square_bb(T, P.king[np.uint64(enemy)])
    _find_lines(P, T, u, enemy, square_bb(T, to) if direct else empty_bitboard())
    u.checks[np.uint64(enemy)] = before.checks[np.uint64(enemy)]
    u.checks[np.uint64(side)] = before.checks[np.uint64(side)] + np.int32(1) if checkers_bb(u) else np.int32(0)


@kernel(void(position_type, tables_type))
def unmake_move(P, T):
    """Take the last move back."""
    u = P.undo[np.uint64(P.ply)]
    m = u.move
    to = np.int64(m & TO_MASK)
    placed = np.int64(P.board[np.uint64(to)])
    P.ply -= 1
    before = P.undo[np.uint64(P.ply)]
    P.side ^= 1
    side = P.side
    _toggle(P, T, placed, to)
    if m & DROP_BIT:
        P.board[np.uint64(to)] = 0
    else:
        origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
        piece = np.int64(u.moved)
        captured = np.int64(u.captured)
        P.board[np.uint64(to)] = u.captured
        P.board[np.uint64(origin)] = u.moved
        _toggle(P, T, piece, origin)
        if captured:
            _toggle(P, T, captured, to)
        if piece & 15 == KING:
            P.king[np.uint64(side)] = origin
    P.hand[0], P.hand[1] = before.hand[0], before.hand[1]
    _join_colours(P)


@kernel(void(position_type, tables_type))
def make_null(P, T):
    """Pass. The side to move must not be in check."""
    before = P.undo[np.uint64(P.ply)]
    u = P.undo[np.uint64(P.ply + 1)]
    u.key_board = before.key_board ^ T.key_side
    u.key_hand = before.key_hand
    u.hand[0], u.hand[1] = P.hand[0], P.hand[1]
    u.score = before.score
    u.move = np.int32(NULL_MOVE)
    u.moved = np.int8(0)
    u.captured = np.int8(0)
    u.since_null = np.int32(0)
    u.checks[0], u.checks[1] = np.int32(0), np.int32(0)
    P.side ^= 1
    P.ply += 1
    _find_lines(P, T, u, P.side, empty_bitboard())


@kernel(void(position_type, tables_type))
def unmake_null(P, T):
    P.ply -= 1
    P.side ^= 1


@kernel(void(position_type, tables_type))
def refresh(P, T):
    """Recompute everything that follows from board, hands and side, and start a new history (ply 0)."""
    P.pieces[:, :] = np.uint64(0)
    P.colours[:, :] = np.uint64(0)
    P.king[0], P.king[1] = NO_SQUARE, NO_SQUARE
    P.ply = 0
    u = P.undo[0]
    key_board = T.key_side * np.uint64(P.side)
    key_hand = np.uint64(0)
    score = np.int64(0)
    for square in range(NO_SQUARE):
        piece = np.int64(P.board[square])
        if piece:
            _toggle(P, T, piece, square)
            key_board ^= T.key[piece, square]
            score += T.psqt[piece, square]
            if piece & 15 == KING:
                P.king[piece >> 4] = square
    _join_colours(P)
    for colour in range(2):
        for kind in range(PAWN, KING):
            count = hand_count(P.hand[colour], kind)
            key_hand += T.key_hand[colour, kind] * np.uint64(count)
            score += T.hand_value[colour, kind] * count
    u.key_board, u.key_hand, u.score = key_board, key_hand, np.int32(score)
    u.hand[0], u.hand[1] = P.hand[0], P.hand[1]
    u.move, u.moved, u.captured = np.int32(0), np.int8(0), np.int8(0)
    u.since_null = np.int32(0)
    side = P.side
    checkers = attackers_of_colour(P, T, P.king[side], side ^ 1, occupied(P))
    _find_lines(P, T, u, side, checkers)
    u.checks[side] = np.int32(0)
    u.checks[side ^ 1] = np.int32(1) if checkers else np.int32(0)


def new_position() -> np.void:
    """An empty position record; fill it with `set_position`."""
    position: np.void = new_record(POSITION)
    position["king"] = NO_SQUARE
    position["all_moves"] = 1
    return position


def pack_hand(counts: list[int]) -> int:
    """Packed hand from counts by type (index 1 to 7)."""
    return sum(count << int(HAND_SHIFT[kind]) for kind, count in enumerate(counts) if kind)


def set_position(P: np.void, T: np.void, placement: Placement) -> None:
    """Set a position up and start a new history."""
    P["board"] = 0
    P["board"][:NO_SQUARE] = placement.board
    P["hand"] = [pack_hand(counts) for counts in placement.hands]
    P["side"] = placement.side
    P["game_ply"] = placement.ply
    refresh(P, T)


def forget_history(P: np.void, plies: int) -> np.ndarray:
    """Drop the oldest `plies` entries of the history to make room; returns them for `recall_history`.

    The position stays the same; repetitions of what was dropped are no longer seen.
    """
    left = int(P["ply"]) - plies
    undo = P["undo"]
    dropped = undo[:plies].copy()
    undo[: left + 1] = undo[plies : plies + left + 1].copy()
    P["ply"] = left
    P["game_ply"] += plies
    return dropped


def recall_history(P: np.void, dropped: np.ndarray) -> None:
    """Put entries that `forget_history` returned back in front of the history."""
    plies, kept = len(dropped), int(P["ply"]) + 1
    undo = P["undo"]
    undo[plies : plies + kept] = undo[:kept].copy()
    undo[:plies] = dropped
    P["ply"] += plies
    P["game_ply"] -= plies
