"""Counting an impasse (nyugyoku): whose king has got through, with how many points. Pure Python, no numba.

Rook and bishop count 5 points, promoted or not, the king 0, everything else 1. Who declares must be on the move and not
in check, with the king and at least ten other pieces in the promotion zone; the points are those of the hand and of the
pieces in the zone.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.rules.codes import BLACK, COLOURS, HAND_TYPES, KING, NO_SQUARE, WHITE, base_type, colour_of
from engine.rules.sfen import Placement, attackers
from engine.rules.variants import Variant, impasse_points

IMPASSE_RULES = ("NoEnteringKing", "CSARule24", "CSARule24H", "CSARule27", "CSARule27H", "TryRule")
"""Values of the USI option EnteringKingRule; the index is `C.impasse_rule`. H: aware of handicaps."""
NO_IMPASSE, RULE_24, RULE_24H, RULE_27, RULE_27H, TRY_RULE = range(6)
DEFAULT_RULE = "CSARule27"
PIECES_IN_ZONE = 10  # besides the king


def rule_index(rule: str) -> int:
    """Index of an impasse rule by name. Raises ValueError naming the known ones."""
    if rule not in IMPASSE_RULES:
        raise ValueError(f"unknown impasse rule {rule!r}: known are {', '.join(IMPASSE_RULES)}")
    return IMPASSE_RULES.index(rule)


def points_in_play(placement: Placement) -> int:
    """Impasse points of all pieces of both sides, on the board and in hand. It never changes during a game."""
    board = sum(impasse_points(base_type(piece)) for piece in placement.board if piece)
    hands = sum(placement.hands[colour][kind] * impasse_points(kind) for colour in COLOURS for kind in HAND_TYPES)
    return board + hands


def entering_points(variant: Variant, start: Placement, rule: str) -> tuple[int, int]:
    """Points that black and white need to win by declaration; 0, 0 for a rule without counting.

    The 27-point rule asks black for one more than half of the set's points (28) and white for half (27), the 24-point
    rule both for 31 (24 to 30 is a draw). In the handicap forms the pieces missing from `start`, any position of the
    game, count for white, who gave them.
    """
    index = rule_index(rule)
    if index in (NO_IMPASSE, TRY_RULE):
        return 0, 0
    if index in (RULE_24, RULE_24H):
        black = white = variant.win_points
    else:
        black, white = variant.points // 2 + 1, variant.points // 2
    if index in (RULE_24H, RULE_27H):
        white -= variant.points - points_in_play(start)
    return black, white


@dataclass(frozen=True)
class SideCount:
    """One side in an impasse count."""

    points: int  # hand and pieces in the promotion zone: what a declaration counts
    all_points: int  # hand and all pieces on the board: what players count who agree on an impasse
    pieces_in_zone: int  # besides the king
    king_in_zone: bool
    in_check: bool

    @property
    def may_declare(self) -> bool:
        """True if all conditions hold but for the points and the turn."""
        return self.king_in_zone and self.pieces_in_zone >= PIECES_IN_ZONE and not self.in_check


@dataclass(frozen=True)
class ImpasseCount:
    """Both sides' counts and what the rules give. A small set has fewer points, and bounds in proportion."""

    black: SideCount
    white: SideCount
    side: int  # side to move, the only one that may declare
    needed27: tuple[int, int]  # points that black and white need to win by the 27-point rule
    draw24: tuple[int, int]  # by the 24-point rule: to draw
    win24: tuple[int, int]  # and to win

    @property
    def verdict27(self) -> str:
        """What a declaration of the side to move gives by the 27-point rule: "win", or "none"."""
        mover = self.white if self.side == WHITE else self.black
        return "win" if mover.may_declare and mover.points >= self.needed27[self.side] else "none"

    @property
    def verdict24(self) -> str:
        """What a declaration of the side to move gives by the 24-point rule: "win", "draw" or "none"."""
        mover = self.white if self.side == WHITE else self.black
        if not mover.may_declare or mover.points < self.draw24[self.side]:
            return "none"
        return "win" if mover.points >= self.win24[self.side] else "draw"

    @property
    def agreed24(self) -> str:
        """What the 24-point rule gives if the players stop now and count everything: "black", "white" or "draw".

        A side with too few points loses; a handicap can leave both with too few, then the nearer one wins.
        """
        shortfall = [
            bound - count.all_points for bound, count in zip(self.draw24, (self.black, self.white), strict=True)
        ]
        if max(shortfall) <= 0 or shortfall[BLACK] == shortfall[WHITE]:
            return "draw"
        return "black" if shortfall[BLACK] < shortfall[WHITE] else "white"


def impasse_count(placement: Placement, variant: Variant, handicap: bool = False) -> ImpasseCount:
    """Count an impasse for both sides. handicap=True: pieces missing from the game count for white."""
    missing = variant.points - points_in_play(placement) if handicap else 0
    return ImpasseCount(
        _count(placement, variant, BLACK),
        _count(placement, variant, WHITE),
        placement.side,
        (variant.points // 2 + 1, variant.points // 2 - missing),
        (variant.draw_points, variant.draw_points - missing),
        (variant.win_points, variant.win_points - missing),
    )


def _count(placement: Placement, variant: Variant, colour: int) -> SideCount:
    points = sum(placement.hands[colour][kind] * impasse_points(kind) for kind in HAND_TYPES)
    all_points, in_zone, king_in_zone = points, 0, False
    for square, piece in enumerate(placement.board):
        if not piece or colour_of(piece) != colour:
            continue
        kind = base_type(piece)
        rank = square % 9 if colour == BLACK else variant.height - 1 - square % 9
        all_points += impasse_points(kind)
        if rank >= variant.zone_ranks:
            continue
        points += impasse_points(kind)
        if kind == KING:
            king_in_zone = True
        else:
            in_zone += 1
    king = placement.king_square(colour)
    in_check = king != NO_SQUARE and bool(attackers(placement, king, 1 - colour, variant))
    return SideCount(points, all_points, in_zone, king_in_zone, in_check)
