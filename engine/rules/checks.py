"""Moves that give check, and mate in one move.

A check is found from the king outwards: the squares from which each type of piece would see the king are computed
once, and only moves onto them, or away from a line that a slider of ours waits on, are generated.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from engine.native.bitboard import empty_bitboard, first_square, without_first
from engine.native.jit import inline, kernel
from engine.rules.attacks import (
    attackers_of_colour,
    attacks_from,
    board_mask,
    colour_bb,
    dead_end_bb,
    discoverers_bb,
    droppable_bb,
    is_attacked,
    line_bb,
    near_bb,
    occupied,
    pinned_bb,
    square_bb,
    step_attacks,
    type_bb,
    zone_bb,
)
from engine.rules.layout import (
    BISHOP,
    DRAGON,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    GOLD,
    GOLDS,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    NO_SQUARE,
    PAWN,
    PROMOTE_BIT,
    PROMOTED,
    ROOK,
    SILVER,
    TO_MASK,
    count_signature,
    position_type,
    tables_type,
)
from engine.rules.movegen import (
    blocked_targets,
    emit,
    empty_squares,
    free_pawn_steps,
    generate_evasions,
    gives_check,
    pawn_drop_squares,
    piece_reach,
)
from engine.rules.position import current, hand_count, in_check, make_move, unmake_move


@inline
def _seen(P, T, kind, blockers):
    """Squares from which a piece of the side to move of this type would check the other king."""
    enemy = P.side ^ 1
    return piece_reach(T, kind | enemy << 4, P.king[np.uint64(enemy)], blockers)


@inline
def _off_line(P, T, origin):
    """Targets that uncover a check by one of our sliders when the piece on `origin` moves there."""
    if discoverers_bb(current(P)) & square_bb(T, origin):
        return ~line_bb(T, P.king[np.uint64(P.side ^ 1)], origin)
    return empty_bitboard()


@inline
def _pin_line(P, T, origin):
    """Where a piece may go without exposing its own king."""
    if pinned_bb(current(P)) & square_bb(T, origin):
        return line_bb(T, P.king[np.uint64(P.side)], origin)
    return ~empty_bitboard()


@inline
def _promotable_checks(P, T, n, row, kind, plain, promoted, target, among):
    """Checks by board moves of the pieces `among` a set that may promote.

    `plain`, `promoted`: squares from which the piece, or its promoted form, sees the king.
    """
    side = P.side
    blockers = occupied(P)
    zone = zone_bb(T, side)
    blocked = blocked_targets(P, T, side, kind)
    movers = type_bb(P, row) & colour_bb(P, side) & among
    while movers:
        origin = first_square(movers)
        movers = without_first(movers)
        targets = piece_reach(T, kind | side << 4, origin, blockers) & target
        off_line = _off_line(P, T, origin)
        targets &= _pin_line(P, T, origin) & (plain | promoted | off_line)
        if targets:
            promotions = targets
            if not (zone & square_bb(T, origin)):
                promotions &= zone
            base = origin << FROM_SHIFT
            n = emit(P, n, promotions & (promoted | off_line), base | PROMOTE_BIT)
            n = emit(P, n, targets & ~(blocked & promotions) & (plain | off_line), base)
    return n


@inline
def _plain_checks(P, T, n, row, kind, plain, target, among):
    """Checks by board moves of the pieces `among` a set that never promote."""
    side = P.side
    blockers = occupied(P)
    movers = type_bb(P, row) & colour_bb(P, side) & among
    while movers:
        origin = first_square(movers)
        movers = without_first(movers)
        targets = piece_reach(T, kind | side << 4, origin, blockers) & target
        targets &= _pin_line(P, T, origin) & (plain | _off_line(P, T, origin))
        n = emit(P, n, targets, origin << FROM_SHIFT)
    return n


@inline
def _king_checks(P, T, n, target):
    """The king itself only gives check by stepping off a line."""
    side = P.side
    king = P.king[np.uint64(side)]
    targets = step_attacks(T, KING, king) & target & _off_line(P, T, king)
    blockers = occupied(P) ^ square_bb(T, king)
    while targets:
        to = first_square(targets)
        targets = without_first(targets)
        if not is_attacked(P, T, to, side ^ 1, blockers):
            P.moves[np.uint64(n)] = np.int32(to | king << FROM_SHIFT)
            n += 1
    return n


@inline
def _pawn_checks(P, T, n, plain, promoted, target):
    """Checks by pawn moves: few pawns stand near, so those that could are looked at one by one."""
    side = P.side
    zone = zone_bb(T, side)
    pawns = type_bb(P, PAWN) & colour_bb(P, side)
    near = free_pawn_steps(P, T, pawns & discoverers_bb(current(P))) | (
        free_pawn_steps(P, T, pawns) & (plain | (promoted & zone))
    )
    near &= target
    step = 1 if side == 0 else -1
    dead = dead_end_bb(T, side, PAWN)
    while near:
        to = first_square(near)
        near = without_first(near)
        here = square_bb(T, to)
        origin = to + step
        off_line = _off_line(P, T, origin)
        in_zone = bool(zone & here)
        if in_zone and (promoted | off_line) & here:
            P.moves[np.uint64(n)] = np.int32(to | origin << FROM_SHIFT | PROMOTE_BIT)
            n += 1
        if (plain | off_line) & here & ~dead and (not in_zone or P.all_moves != 0):
            P.moves[np.uint64(n)] = np.int32(to | origin << FROM_SHIFT)
            n += 1
    return n


@inline
def _checking_drops(P, T, n, kind, seen):
    """Drops of one kind onto the squares `seen` by the king."""
    side = P.side
    if hand_count(P.hand[np.uint64(side)], kind):
        targets = seen & empty_squares(P, T) & droppable_bb(T, side, kind)
        if kind == PAWN:
            targets = pawn_drop_squares(P, T, side, targets)
        n = emit(P, n, targets, DROP_BIT | kind << FROM_SHIFT)
    return n


@inline
def _keep_checks(P, T, start, end):
    """Keep the moves of `P.moves[start:end]` that give check; returns the new end."""
    kept = start
    for i in range(start, end):
        m = P.moves[np.uint64(i)]
        if gives_check(P, T, m):
            P.moves[np.uint64(kept)] = m
            kept += 1
    return kept


@kernel(count_signature)
def generate_checks(P, T, n):
    """All legal moves that give check; for a side in check, the evasions among them."""
    if P.king[np.uint64(P.side ^ 1)] == NO_SQUARE:
        return n
    if in_check(P):
        return _keep_checks(P, T, n, generate_evasions(P, T, n))
    blockers = occupied(P)
    target = board_mask(T) & ~colour_bb(P, P.side)
    pawn = _seen(P, T, PAWN, blockers)
    lance = _seen(P, T, LANCE, blockers)
    knight = _seen(P, T, KNIGHT, blockers)
    silver = _seen(P, T, SILVER, blockers)
    gold = _seen(P, T, GOLD, blockers)
    bishop = _seen(P, T, BISHOP, blockers)
    rook = _seen(P, T, ROOK, blockers)
    horse = bishop | step_attacks(T, HORSE, P.king[np.uint64(P.side ^ 1)])
    dragon = rook | step_attacks(T, DRAGON, P.king[np.uint64(P.side ^ 1)])
    all_pieces = board_mask(T)
    # a silver or gold must stand within two steps of the king to give check with its next one, or uncover a line
    near = near_bb(T, P.king[np.uint64(P.side ^ 1)]) | discoverers_bb(current(P))
    n = _pawn_checks(P, T, n, pawn, gold, target)
    n = _promotable_checks(P, T, n, LANCE, LANCE, lance, gold, target, all_pieces)
    n = _promotable_checks(P, T, n, KNIGHT, KNIGHT, knight, gold, target, all_pieces)
    n = _promotable_checks(P, T, n, SILVER, SILVER, silver, gold, target, near)
    n = _promotable_checks(P, T, n, BISHOP, BISHOP, bishop, horse, target, all_pieces)
    n = _promotable_checks(P, T, n, ROOK, ROOK, rook, dragon, target, all_pieces)
    n = _plain_checks(P, T, n, GOLDS, GOLD, gold, target, near)
    n = _plain_checks(P, T, n, HORSE, HORSE, horse, target, all_pieces)
    n = _plain_checks(P, T, n, DRAGON, DRAGON, dragon, target, all_pieces)
    n = _king_checks(P, T, n, target)
    if P.hand[np.uint64(P.side)] != 0:
        n = _checking_drops(P, T, n, PAWN, pawn)
        n = _checking_drops(P, T, n, LANCE, lance)
        n = _checking_drops(P, T, n, KNIGHT, knight)
        n = _checking_drops(P, T, n, SILVER, silver)
        n = _checking_drops(P, T, n, BISHOP, bishop)
        n = _checking_drops(P, T, n, ROOK, rook)
        n = _checking_drops(P, T, n, GOLD, gold)
    return n


@inline
def open_escapes(P, T):
    """Squares around the enemy king that it could step to if it were its turn."""
    side = P.side
    enemy = side ^ 1
    king = P.king[np.uint64(enemy)]
    without_king = occupied(P) ^ square_bb(T, king)
    squares = step_attacks(T, KING, king) & ~colour_bb(P, enemy)
    found = empty_bitboard()
    while squares:
        at = first_square(squares)
        squares = without_first(squares)
        if not is_attacked(P, T, at, side, without_king):
            found |= square_bb(T, at)
    return found


@inline
def may_mate(P, T, m, escapes):
    """False if the king surely answers a checking move; True asks for a closer look."""
    side = P.side
    enemy = side ^ 1
    king = P.king[np.uint64(enemy)]
    to = np.int64(m & TO_MASK)
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    blockers = (occupied(P) ^ square_bb(T, king)) | square_bb(T, to)
    piece = origin | side << 4
    supporters = empty_bitboard()
    if not (m & DROP_BIT):
        piece = np.int64(P.board[np.uint64(origin)])
        if m & PROMOTE_BIT:
            piece |= PROMOTED
        supporters = square_bb(T, origin)
        blockers &= ~supporters
    left = escapes & ~attacks_from(T, piece, to, blockers) & ~square_bb(T, to)
    while left:
        at = first_square(left)
        left = without_first(left)
        if m & DROP_BIT or not is_attacked(P, T, at, side, blockers):
            return False
    if step_attacks(T, KING, king) & square_bb(T, to):
        return bool(attackers_of_colour(P, T, to, side, blockers) & ~supporters)
    return True


@kernel(int32(position_type, tables_type, int64))
def mate_in_one(P, T, n):
    """A move that mates at once, or 0; uses `P.moves[n:]`. The side to move must not be in check."""
    end = generate_checks(P, T, n)
    if end == n:
        return np.int32(0)
    escapes = open_escapes(P, T)
    for i in range(n, end):
        m = P.moves[np.uint64(i)]
        if may_mate(P, T, m, escapes):
            make_move(P, T, m)
            mate = generate_evasions(P, T, end) == end
            unmake_move(P, T)
            if mate:
                return m
    return np.int32(0)
