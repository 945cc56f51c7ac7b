"""The numbers that stand for colours, pieces, squares and moves, for code that must not import numba.

Square   file * 9 + rank on every variant: file 0 is the rightmost file ("1"), rank 0 the top rank ("a").
Piece    type | colour << 4, 0 = empty. Promoted type = type | 8.
Move     int32: to | from << 7 | promote << 14 | drop << 15; in a drop `from` is the piece type. 0 = no move.
"""

from __future__ import annotations

BLACK, WHITE = 0, 1
COLOURS = (BLACK, WHITE)

PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK, GOLD, KING = range(1, 9)
PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER, HORSE, DRAGON = range(9, 15)
PROMOTED = 8
COLOUR_SHIFT = 4
PIECE_LETTERS = " PLNSBRGK"  # index = unpromoted type
HAND_TYPES = (ROOK, BISHOP, GOLD, SILVER, KNIGHT, LANCE, PAWN)  # the order in which hands are written
PROMOTABLE = frozenset((PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK))

SQUARES = 81
NO_SQUARE = 81  # stands for "no king"
RANK_LETTERS = "abcdefghi"

TO_MASK, FROM_SHIFT, FROM_MASK, PROMOTE_BIT, DROP_BIT = 127, 7, 127, 1 << 14, 1 << 15
NO_MOVE = 0
NULL_MOVE = 1 | 1 << FROM_SHIFT

# Black's moves as (file step, rank step); white's are the same with both signs turned. Rank -1 is forwards.
_ORTHOGONAL = ((0, -1), (0, 1), (-1, 0), (1, 0))
_DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))
_GOLD = (*_ORTHOGONAL, (-1, -1), (1, -1))
STEPS: dict[int, tuple[tuple[int, int], ...]] = {
    PAWN: ((0, -1),),
    LANCE: (),
    KNIGHT: ((-1, -2), (1, -2)),
    SILVER: ((0, -1), *_DIAGONAL),
    BISHOP: (),
    ROOK: (),
    GOLD: _GOLD,
    KING: (*_ORTHOGONAL, *_DIAGONAL),
    PRO_PAWN: _GOLD,
    PRO_LANCE: _GOLD,
    PRO_KNIGHT: _GOLD,
    PRO_SILVER: _GOLD,
    HORSE: _ORTHOGONAL,
    DRAGON: _DIAGONAL,
}
"""By type: moves of one step or jump."""
SLIDES: dict[int, tuple[tuple[int, int], ...]] = {
    LANCE: ((0, -1),),
    BISHOP: _DIAGONAL,
    ROOK: _ORTHOGONAL,
    HORSE: _DIAGONAL,
    DRAGON: _ORTHOGONAL,
}
"""By type: directions in which the piece runs until something stands in its way."""


def piece_of(kind: int, colour: int) -> int:
    """Piece code of a type and a colour."""
    return kind | colour << COLOUR_SHIFT


def type_of(piece: int) -> int:
    """Type of a piece code, promotion included."""
    return piece & 15


def colour_of(piece: int) -> int:
    """Colour of a piece code other than 0."""
    return piece >> COLOUR_SHIFT


def base_type(piece: int) -> int:
    """Unpromoted type of a piece code: what it becomes in a hand."""
    kind = piece & 15
    return kind if kind == KING else kind & ~PROMOTED


def square_of(file: int, rank: int) -> int:
    """Square of a file and a rank, both counted from 0."""
    return file * 9 + rank


def square_name(square: int) -> str:
    """USI name of a square, such as "7f"."""
    return f"{square // 9 + 1}{RANK_LETTERS[square % 9]}"


def piece_letter(piece: int) -> str:
    """SFEN letters of a piece code, such as "+p"."""
    letter = PIECE_LETTERS[base_type(piece)]
    if colour_of(piece) == WHITE:
        letter = letter.lower()
    return "+" + letter if type_of(piece) > KING else letter


def move_to(move: int) -> int:
    """Target square of a move."""
    return move & TO_MASK


def move_from(move: int) -> int:
    """Origin of a board move, or the type of the piece that is dropped."""
    return move >> FROM_SHIFT & FROM_MASK


def is_drop(move: int) -> bool:
    """True for a drop."""
    return bool(move & DROP_BIT)


def is_promotion(move: int) -> bool:
    """True for a move that promotes."""
    return bool(move & PROMOTE_BIT)


def board_move(origin: int, target: int, promote: bool = False) -> int:
    """Move of a piece on the board."""
    return target | origin << FROM_SHIFT | (PROMOTE_BIT if promote else 0)


def drop_move(kind: int, target: int) -> int:
    """Drop of a piece of one type."""
    return target | kind << FROM_SHIFT | DROP_BIT
