"""Legal moves, in the parts a search asks for, and questions about single moves.

Every generator writes legal moves to `P.moves[n:]` and returns the new end. Pins and checkers are known from
`make_move`, so only king moves and pawn drops that might mate need a test of their own.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int32, int64

from engine.native.bitboard import (
    empty_bitboard,
    first_square,
    high_word,
    join,
    low_word,
    more_than_one,
    shift_down,
    shift_up,
    without_first,
)
from engine.native.jit import inline, kernel
from engine.rules.attacks import (
    attackers_of_colour,
    between_bb,
    bishop_attacks,
    board_mask,
    checkers_bb,
    colour_bb,
    dead_end_bb,
    discoverers_bb,
    droppable_bb,
    empty_attacks,
    is_attacked,
    lance_attacks,
    line_bb,
    occupied,
    pinned_bb,
    pointless_bb,
    rook_attacks,
    snipers,
    square_bb,
    step_attacks,
    type_bb,
    zone_bb,
)
from engine.rules.layout import (
    BISHOP,
    BLACK,
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
from engine.rules.position import current, hand_count, in_check

U1 = np.uint64(1)


@inline
def emit(P, n, targets, base):
    """Append `base + square` for every target square."""
    word = low_word(targets)
    while word:
        P.moves[np.uint64(n)] = np.int32(base + first_square(join(word, np.uint64(0))))
        word &= word - U1
        n += 1
    word = high_word(targets)
    base += 64
    while word:
        P.moves[np.uint64(n)] = np.int32(base + first_square(join(word, np.uint64(0))))
        word &= word - U1
        n += 1
    return n


@inline
def _emit_forward(P, n, targets, step, flags):
    """Append pawn moves: each comes from the square `step` away from its target."""
    while targets:
        to = first_square(targets)
        targets = without_first(targets)
        P.moves[np.uint64(n)] = np.int32(to | (to + step) << FROM_SHIFT | flags)
        n += 1
    return n


@inline
def _file_of(T, square):
    s = np.uint64(square)
    return join(T.ray[0, s, 0], T.ray[0, s, 1]) | join(T.ray[1, s, 0], T.ray[1, s, 1])


@inline
def free_pawn_steps(P, T, pawns):
    """Squares in front of those pawns of the side to move that are not pinned across their file."""
    king = P.king[np.uint64(P.side)]
    pawns &= ~(pinned_bb(current(P)) & ~_file_of(T, king))
    if P.side == BLACK:
        return shift_down(pawns, U1)
    return shift_up(pawns, U1)


@inline
def _pawn_moves(P, T, n, promoting, plain):
    """Pawn moves: with promotion onto `promoting`, without onto `plain`."""
    side = P.side
    targets = free_pawn_steps(P, T, type_bb(P, PAWN) & colour_bb(P, side))
    step = 1 if side == BLACK else -1
    zone = zone_bb(T, side)
    n = _emit_forward(P, n, targets & zone & promoting, step, PROMOTE_BIT)
    quiet = targets & plain & ~dead_end_bb(T, side, PAWN)
    if P.all_moves == 0:
        quiet &= ~zone
    return _emit_forward(P, n, quiet, step, 0)


@inline
def _emit_piece(P, T, n, side, kind, origin, targets, zone, blocked):
    """Moves of one piece that may promote; `blocked` are the targets where it must, or should, promote."""
    base = origin << FROM_SHIFT
    promotions = targets
    if not (zone & square_bb(T, origin)):
        promotions &= zone
    n = emit(P, n, promotions, base | PROMOTE_BIT)
    return emit(P, n, targets & ~(blocked & promotions), base)


@inline
def blocked_targets(P, T, side, kind):
    """Targets on which a piece that could promote does not stay unpromoted."""
    blocked = dead_end_bb(T, side, kind)
    if P.all_moves == 0:
        blocked |= pointless_bb(T, side, kind)
    return blocked


@inline
def piece_reach(T, piece, origin, blockers):
    """Attacks of a piece whose type is a constant at compile time."""
    kind = piece & 15
    if kind == LANCE:
        return lance_attacks(T, piece >> 4, origin, blockers)
    if kind == BISHOP:
        return bishop_attacks(T, origin, blockers)
    if kind == ROOK:
        return rook_attacks(T, origin, blockers)
    if kind == HORSE:
        return bishop_attacks(T, origin, blockers) | step_attacks(T, piece, origin)
    if kind == DRAGON:
        return rook_attacks(T, origin, blockers) | step_attacks(T, piece, origin)
    return step_attacks(T, piece, origin)


@inline
def _promotable_moves(P, T, n, kind, target):
    side = P.side
    pinned = pinned_bb(current(P))
    blockers = occupied(P)
    movers = type_bb(P, kind) & colour_bb(P, side)
    if movers:
        zone = zone_bb(T, side)
        blocked = blocked_targets(P, T, side, kind)
        while movers:
            origin = first_square(movers)
            movers = without_first(movers)
            targets = piece_reach(T, kind | side << 4, origin, blockers) & target
            if pinned & square_bb(T, origin):
                targets &= line_bb(T, P.king[np.uint64(side)], origin)
            n = _emit_piece(P, T, n, side, kind, origin, targets, zone, blocked)
    return n


@inline
def _plain_moves(P, T, n, row, kind, target):
    """Moves of the pieces in a row of `pieces` that all move like `kind` and never promote."""
    side = P.side
    pinned = pinned_bb(current(P))
    blockers = occupied(P)
    movers = type_bb(P, row) & colour_bb(P, side)
    while movers:
        origin = first_square(movers)
        movers = without_first(movers)
        targets = piece_reach(T, kind | side << 4, origin, blockers) & target
        if pinned & square_bb(T, origin):
            targets &= line_bb(T, P.king[np.uint64(side)], origin)
        n = emit(P, n, targets, origin << FROM_SHIFT)
    return n


@inline
def _king_moves(P, T, n, target):
    side = P.side
    king = P.king[np.uint64(side)]
    targets = step_attacks(T, KING, king) & target
    blockers = occupied(P) ^ square_bb(T, king)
    while targets:
        to = first_square(targets)
        targets = without_first(targets)
        if not is_attacked(P, T, to, side ^ 1, blockers):
            P.moves[np.uint64(n)] = np.int32(to | king << FROM_SHIFT)
            n += 1
    return n


@inline
def _piece_moves(P, T, n, target):
    """Board moves of all pieces except pawns and king onto `target`."""
    n = _promotable_moves(P, T, n, LANCE, target)
    n = _promotable_moves(P, T, n, KNIGHT, target)
    n = _promotable_moves(P, T, n, SILVER, target)
    n = _promotable_moves(P, T, n, BISHOP, target)
    n = _promotable_moves(P, T, n, ROOK, target)
    n = _plain_moves(P, T, n, GOLDS, GOLD, target)
    n = _plain_moves(P, T, n, HORSE, HORSE, target)
    return _plain_moves(P, T, n, DRAGON, DRAGON, target)


@inline
def _pins(P, T, king, colour):
    """Pieces of `colour` that shield a square from a slider of the other colour."""
    pinned = empty_bitboard()
    blockers = occupied(P)
    candidates = snipers(P, T, king, colour ^ 1)
    while candidates:
        at = first_square(candidates)
        candidates = without_first(candidates)
        between = between_bb(T, king, at) & blockers
        if not more_than_one(between):
            pinned |= between & colour_bb(P, colour)
    return pinned


@kernel(boolean(position_type, tables_type, int64))
def is_drop_pawn_mate(P, T, to):
    """True if a pawn dropped on `to`, which gives check, would mate (uchifuzume): the rules forbid it."""
    side = P.side
    enemy = side ^ 1
    king = P.king[np.uint64(enemy)]
    pawn = square_bb(T, to)
    blockers = occupied(P) | pawn
    captors = attackers_of_colour(P, T, to, enemy, blockers) & ~square_bb(T, king)
    if captors:
        pinned = _pins(P, T, king, enemy)
        if captors & ~pinned:
            return False
        while captors:
            at = first_square(captors)
            captors = without_first(captors)
            if line_bb(T, king, at) & pawn:
                return False
    without_king = blockers ^ square_bb(T, king)
    escapes = step_attacks(T, KING, king) & ~colour_bb(P, enemy)
    while escapes:
        at = first_square(escapes)
        escapes = without_first(escapes)
        if not is_attacked(P, T, at, side, without_king):
            return False
    return True


@inline
def pawn_drop_squares(P, T, side, targets):
    """Squares of `targets` on which a pawn may be dropped: nifu, dead ends and uchifuzume left out."""
    tops = join(T.file_tops[0], T.file_tops[1])
    free = (tops - (type_bb(P, PAWN) & colour_bb(P, side))) & tops
    squares = ((free - shift_down(free, np.uint64(8))) | free) & targets & droppable_bb(T, side, PAWN)
    king = P.king[np.uint64(side ^ 1)]
    front = step_attacks(T, PAWN | (side ^ 1) << 4, king) & squares
    if front and is_drop_pawn_mate(P, T, first_square(front)):
        squares &= ~front
    return squares


@inline
def _drops(P, T, n, targets):
    side = P.side
    hand = P.hand[np.uint64(side)]
    if hand == 0:
        return n
    if hand_count(hand, PAWN):
        n = emit(P, n, pawn_drop_squares(P, T, side, targets), DROP_BIT | PAWN << FROM_SHIFT)
    for kind in range(LANCE, KING):
        if hand_count(hand, kind):
            n = emit(P, n, targets & droppable_bb(T, side, kind), DROP_BIT | kind << FROM_SHIFT)
    return n


@inline
def empty_squares(P, T):
    return board_mask(T) & ~occupied(P)


@kernel(count_signature)
def generate_captures(P, T, n):
    """Captures, and pawn promotions without capture. Not for positions in check."""
    enemies = colour_bb(P, P.side ^ 1)
    n = _pawn_moves(P, T, n, enemies | empty_squares(P, T), enemies)
    n = _piece_moves(P, T, n, enemies)
    return _king_moves(P, T, n, enemies)


@kernel(count_signature)
def generate_quiets(P, T, n):
    """Board moves that `generate_captures` leaves. Not for positions in check."""
    empty = empty_squares(P, T)
    n = _pawn_moves(P, T, n, empty_bitboard(), empty)
    n = _piece_moves(P, T, n, empty)
    return _king_moves(P, T, n, empty)


@kernel(count_signature)
def generate_drops(P, T, n):
    """Drops. Not for positions in check."""
    return _drops(P, T, n, empty_squares(P, T))


@kernel(count_signature)
def generate_evasions(P, T, n):
    """All legal moves of a side in check."""
    side = P.side
    checkers = checkers_bb(current(P))
    n = _king_moves(P, T, n, ~colour_bb(P, side))
    if more_than_one(checkers):
        return n
    between = between_bb(T, P.king[np.uint64(side)], first_square(checkers))
    target = between | checkers
    n = _pawn_moves(P, T, n, target, target)
    n = _piece_moves(P, T, n, target)
    if between:
        n = _drops(P, T, n, between)
    return n


@kernel(count_signature)
def generate_legal(P, T, n):
    """All legal moves."""
    if in_check(P):
        return generate_evasions(P, T, n)
    target = board_mask(T) & ~colour_bb(P, P.side)
    n = _pawn_moves(P, T, n, target, target)
    n = _piece_moves(P, T, n, target)
    n = _king_moves(P, T, n, target)
    return _drops(P, T, n, empty_squares(P, T))


@kernel(boolean(position_type, tables_type, int32))
def gives_check(P, T, m):
    """True if a legal move gives check."""
    side = P.side
    target = P.king[np.uint64(side ^ 1)]
    to = np.int64(m & TO_MASK)
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    blockers = occupied(P)
    if m & DROP_BIT:
        piece = origin | side << 4
    else:
        if discoverers_bb(current(P)) & square_bb(T, origin) and not (line_bb(T, target, origin) & square_bb(T, to)):
            return True
        piece = np.int64(P.board[np.uint64(origin)])
        if m & PROMOTE_BIT:
            piece |= PROMOTED
        blockers &= ~square_bb(T, origin)
    if not (empty_attacks(T, piece, to) & square_bb(T, target)):
        return False
    return not (between_bb(T, to, target) & blockers)


@inline
def _is_legal_drop(P, T, kind, to):
    side = P.side
    target = square_bb(T, to)
    if kind < PAWN or kind > GOLD or hand_count(P.hand[np.uint64(side)], kind) == 0:
        return False
    if not (target & empty_squares(P, T) & droppable_bb(T, side, kind)):
        return False
    checkers = checkers_bb(current(P))
    if checkers:
        king = P.king[np.uint64(side)]
        if more_than_one(checkers) or not (between_bb(T, king, first_square(checkers)) & target):
            return False
    if kind == PAWN:
        return bool(pawn_drop_squares(P, T, side, target))
    return True


@inline
def _is_pseudo_legal(P, T, piece, origin, to, promote):
    """True if the piece reaches `to` and the promotion, or its absence, is allowed."""
    side = piece >> 4
    kind = piece & 15
    target = square_bb(T, to)
    if not (target & ~colour_bb(P, side)):
        return False
    if not (empty_attacks(T, piece, origin) & target) or between_bb(T, origin, to) & occupied(P):
        return False
    if promote:
        if kind >= GOLD:
            return False
        return bool(zone_bb(T, side) & (target | square_bb(T, origin)))
    return not (kind < GOLD and bool(dead_end_bb(T, side, kind) & target))


@kernel(boolean(position_type, tables_type, int32))
def is_legal(P, T, m):
    """True if any int32 is a legal move here (hash moves, user moves); pointless non-promotions are legal."""
    to = np.int64(m & TO_MASK)
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    if m <= 0 or m >> 16 or to >= NO_SQUARE or (m & DROP_BIT and m & PROMOTE_BIT):
        return False
    if m & DROP_BIT:
        return _is_legal_drop(P, T, origin, to)
    side = P.side
    if origin >= NO_SQUARE:
        return False
    piece = np.int64(P.board[np.uint64(origin)])
    if piece == 0 or piece >> 4 != side:
        return False
    if not _is_pseudo_legal(P, T, piece, origin, to, m & PROMOTE_BIT):
        return False
    if piece & 15 == KING:
        return not is_attacked(P, T, to, side ^ 1, occupied(P) ^ square_bb(T, origin))
    u = current(P)
    king = P.king[np.uint64(side)]
    target = square_bb(T, to)
    if pinned_bb(u) & square_bb(T, origin) and not (line_bb(T, king, origin) & target):
        return False
    checkers = checkers_bb(u)
    if checkers:
        if more_than_one(checkers):
            return False
        return bool((between_bb(T, king, first_square(checkers)) | checkers) & target)
    return True
