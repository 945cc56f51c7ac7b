"""Who attacks what: bitboard reads and attack sets for jitted code.

Sliders use classical rays: the nearest piece on a ray is its lowest square where square numbers grow along the ray,
its highest where they fall.
"""

from __future__ import annotations

import numpy as np

from engine.native.bitboard import (
    empty_bitboard,
    first_square,
    join,
    last_square,
    shift_up,
    without_first,
)
from engine.native.jit import inline
from engine.rules.layout import (
    BISHOP,
    DRAGON,
    GOLD,
    GOLDS,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    ROOK,
    SILVER,
)

U1 = np.uint64(1)
U0 = np.uint64(0)


@inline
def type_bb(P, kind):
    """Pieces of one type, both colours (rows ALL_PIECES and GOLDS: unions)."""
    k = np.uint64(kind)
    return join(P.pieces[k, 0], P.pieces[k, 1])


@inline
def colour_bb(P, colour):
    c = np.uint64(colour)
    return join(P.colours[c, 0], P.colours[c, 1])


@inline
def occupied(P):
    return join(P.pieces[0, 0], P.pieces[0, 1])


@inline
def square_bb(T, square):
    s = np.uint64(square)
    return join(T.square[s, 0], T.square[s, 1])


@inline
def board_mask(T):
    return join(T.board_mask[0], T.board_mask[1])


@inline
def step_attacks(T, piece, square):
    p, s = np.uint64(piece), np.uint64(square)
    return join(T.step[p, s, 0], T.step[p, s, 1])


@inline
def near_bb(T, square):
    """Squares at most two steps away."""
    s = np.uint64(square)
    return join(T.near[s, 0], T.near[s, 1])


@inline
def empty_attacks(T, piece, square):
    """Attacks of a piece on an otherwise empty board."""
    p, s = np.uint64(piece), np.uint64(square)
    return join(T.empty_attacks[p, s, 0], T.empty_attacks[p, s, 1])


@inline
def between_bb(T, a, b):
    x, y = np.uint64(a), np.uint64(b)
    return join(T.between[x, y, 0], T.between[x, y, 1])


@inline
def line_bb(T, a, b):
    x, y = np.uint64(a), np.uint64(b)
    return join(T.line[x, y, 0], T.line[x, y, 1])


@inline
def zone_bb(T, colour):
    c = np.uint64(colour)
    return join(T.zone[c, 0], T.zone[c, 1])


@inline
def dead_end_bb(T, colour, kind):
    c, k = np.uint64(colour), np.uint64(kind)
    return join(T.dead_end[c, k, 0], T.dead_end[c, k, 1])


@inline
def droppable_bb(T, colour, kind):
    c, k = np.uint64(colour), np.uint64(kind)
    return join(T.droppable[c, k, 0], T.droppable[c, k, 1])


@inline
def pointless_bb(T, colour, kind):
    c, k = np.uint64(colour), np.uint64(kind)
    return join(T.pointless[c, k, 0], T.pointless[c, k, 1])


@inline
def checkers_bb(u):
    return join(u.checkers[0], u.checkers[1])


@inline
def pinned_bb(u):
    return join(u.pinned[0], u.pinned[1])


@inline
def discoverers_bb(u):
    return join(u.discoverers[0], u.discoverers[1])


@inline
def _forward_ray(T, ray, square, blockers):
    """Attacks along a ray on which square numbers grow."""
    s = np.uint64(square)
    r = join(T.ray[ray, s, 0], T.ray[ray, s, 1])
    b = r & blockers
    return r & (b ^ (b - join(U1, U0)))


@inline
def _backward_ray(T, ray, square, blockers):
    """Attacks along a ray on which square numbers fall; square 0 ends every such ray, so it may count as a blocker."""
    s = np.uint64(square)
    r = join(T.ray[ray, s, 0], T.ray[ray, s, 1])
    nearest = last_square((r & blockers) | join(U1, U0))
    return r & shift_up(~empty_bitboard(), np.uint64(nearest))


@inline
def lance_attacks(T, colour, square, blockers):
    if colour == 0:
        return _backward_ray(T, 0, square, blockers)
    return _forward_ray(T, 1, square, blockers)


@inline
def bishop_attacks(T, square, blockers):
    return (
        _backward_ray(T, 4, square, blockers)
        | _backward_ray(T, 5, square, blockers)
        | _forward_ray(T, 6, square, blockers)
        | _forward_ray(T, 7, square, blockers)
    )


@inline
def rook_attacks(T, square, blockers):
    return (
        _backward_ray(T, 0, square, blockers)
        | _forward_ray(T, 1, square, blockers)
        | _backward_ray(T, 2, square, blockers)
        | _forward_ray(T, 3, square, blockers)
    )


@inline
def attacks_from(T, piece, square, blockers):
    """Attacks of a piece (type | colour << 4) from a square."""
    kind = piece & 15
    attacks = step_attacks(T, piece, square)
    if kind == LANCE:
        attacks = lance_attacks(T, piece >> 4, square, blockers)
    elif kind == BISHOP or kind == HORSE:
        attacks |= bishop_attacks(T, square, blockers)
    elif kind == ROOK or kind == DRAGON:
        attacks |= rook_attacks(T, square, blockers)
    return attacks


@inline
def step_attackers(P, T, square, by):
    """Pieces of colour `by` that reach a square in one step or jump (any pieces on the board)."""
    back = (by ^ 1) << 4  # a piece of the other colour on the square sees exactly the squares it is seen from
    kings = type_bb(P, KING)
    orthogonal = kings | type_bb(P, HORSE)
    diagonal = kings | type_bb(P, DRAGON)
    found = step_attacks(T, PAWN | back, square) & type_bb(P, PAWN)
    found |= step_attacks(T, KNIGHT | back, square) & type_bb(P, KNIGHT)
    found |= step_attacks(T, SILVER | back, square) & type_bb(P, SILVER)
    found |= step_attacks(T, GOLD | back, square) & type_bb(P, GOLDS)
    found |= step_attacks(T, HORSE, square) & orthogonal
    found |= step_attacks(T, DRAGON, square) & diagonal
    return found & colour_bb(P, by)


@inline
def snipers(P, T, square, by):
    """Sliders of colour `by` that would attack a square if nothing stood between."""
    back = (by ^ 1) << 4
    diagonal = empty_attacks(T, BISHOP, square) & (type_bb(P, BISHOP) | type_bb(P, HORSE))
    straight = empty_attacks(T, ROOK, square) & (type_bb(P, ROOK) | type_bb(P, DRAGON))
    lances = empty_attacks(T, LANCE | back, square) & type_bb(P, LANCE)
    return (diagonal | straight | lances) & colour_bb(P, by)


@inline
def slide_attackers(P, T, square, by, blockers):
    found = empty_bitboard()
    candidates = snipers(P, T, square, by)
    while candidates:
        at = first_square(candidates)
        candidates = without_first(candidates)
        if not (between_bb(T, square, at) & blockers):
            found |= square_bb(T, at)
    return found


@inline
def attackers_of_colour(P, T, square, by, blockers):
    """Pieces of colour `by` that attack a square, with the given squares blocking."""
    return step_attackers(P, T, square, by) | slide_attackers(P, T, square, by, blockers)


@inline
def attackers_to(P, T, square, blockers):
    """Pieces of both colours that attack a square."""
    return attackers_of_colour(P, T, square, 0, blockers) | attackers_of_colour(P, T, square, 1, blockers)


@inline
def is_attacked(P, T, square, by, blockers):
    """True if colour `by` attacks a square."""
    if step_attackers(P, T, square, by):
        return True
    candidates = snipers(P, T, square, by)
    while candidates:
        at = first_square(candidates)
        candidates = without_first(candidates)
        if not (between_bb(T, square, at) & blockers):
            return True
    return False
