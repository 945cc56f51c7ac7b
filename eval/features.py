"""Input features of the networks: which rows of the first layer a position switches on.

Both players look at the board from their own side (a "perspective": 0 black, 1 white, whose view is turned round).
There every piece has a number (YaneuraOu's BonaPiece): the nth piece of a type in hand is `HAND_START` of the type plus
n, a piece on the board is `PIECE_START` plus the square; own and enemy pieces have blocks of their own, promoted small
pieces count as golds, and 0 stands for a piece that is missing from the box (handicap games: once per missing piece).

    K-P         the 38 pieces and both kings                            row = number
    HalfKP      the 38 pieces, seen from the own king's square          row = 1548 * king + number
    HalfKA2     the same with both kings, who share one block           row = 1629 * king + number
    HalfKA_hm2  the same, the board mirrored when the king stands on files 6 to 9

The small boards use the same numbers in the 9x9 frame of squares, without the zeros for missing pieces.
A king that is missing (problems) has no feature of its own and counts as on its start square where rows depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.native.jit import inline
from engine.rules.layout import (
    BISHOP,
    COLOUR_SHIFT,
    DRAGON,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    GOLD,
    HAND_MASK,
    HAND_SHIFT,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    NO_SQUARE,
    PAWN,
    PRO_PAWN,
    PRO_SILVER,
    PROMOTE_BIT,
    PROMOTED,
    ROOK,
    SILVER,
    SQUARES,
    TO_MASK,
)

SHOGI_PIECES = 38  # without the kings; missing ones hold number 0
FRAME = 9  # files and ranks of the frame that every board lies in
HALF_FILES = 5  # files of the king after mirroring

HAND_ORDER = {PAWN: 18, LANCE: 4, KNIGHT: 4, SILVER: 4, GOLD: 4, BISHOP: 2, ROOK: 2}  # by type: pieces in the box
BOARD_ORDER = (PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, HORSE, ROOK, DRAGON, KING)
ABSENT = -(1 << 14)  # start of a block that a feature set does not have: the sum with any square is negative


def hand_starts() -> np.ndarray:
    """int32[owner: 0 own, 1 enemy][type]: the n-th piece in hand has the number start + n."""
    starts = np.zeros((2, 8), dtype=np.int32)
    at = 0
    for kind, count in HAND_ORDER.items():
        for owner in (0, 1):
            starts[owner, kind] = at
            at += count + 1
    return starts


def piece_starts(merged_kings: bool) -> np.ndarray:
    """int32[owner][type]: a piece on a square has the number start + square; `merged_kings` share one block."""
    starts = np.full((2, 16), ABSENT, dtype=np.int32)
    at = sum(2 * (count + 1) for count in HAND_ORDER.values())
    for kind in BOARD_ORDER:
        for owner in (0, 1):
            starts[owner, kind] = at
            at += 0 if merged_kings and kind == KING else SQUARES
    starts[:, PRO_PAWN : PRO_SILVER + 1] = starts[:, GOLD, None]
    return starts


HAND_START = hand_starts()
PIECE_START = piece_starts(merged_kings=False)
KING_START = int(PIECE_START[0, KING])  # 1548: also how many numbers there are without the kings
ALL_NUMBERS = KING_START + 2 * SQUARES  # 1710
MERGED_NUMBERS = KING_START + SQUARES  # 1629


@dataclass(frozen=True)
class FeatureSet:
    """How numbers become rows. Rows: planes * numbers."""

    name: str  # as files spell it
    planes: int  # king squares that have rows of their own (1: rows do not depend on the king)
    numbers: int  # rows of one plane
    hash: int  # what files carry

    @property
    def inputs(self) -> int:
        """Rows of the first layer."""
        return self.planes * self.numbers

    @property
    def mirrored(self) -> bool:
        """The board is mirrored when the own king stands on files 6 to 9."""
        return self.planes == HALF_FILES * FRAME

    def piece_start(self) -> np.ndarray:
        """`piece_starts` of this set: kings absent, merged or apart."""
        starts = piece_starts(merged_kings=self.numbers == MERGED_NUMBERS)
        if self.numbers == KING_START:
            starts[:, KING] = ABSENT
        return starts


HALF_KP = FeatureSet("HalfKP(Friend)", SQUARES, KING_START, 0x5D69D5B8)
K_P = FeatureSet("K+P", 1, ALL_NUMBERS, 0x3F5717FF)
HALF_KA2 = FeatureSet("HalfKA2(Friend)", SQUARES, MERGED_NUMBERS, 0x5F134AB8)
HALF_KA_HM2 = FeatureSet("HalfKA_hm2(Friend)", HALF_FILES * FRAME, MERGED_NUMBERS, 0x5F134AB8)
CLASSIC_SETS = (HALF_KP, K_P)
STACKED_SETS = (HALF_KA_HM2, HALF_KA2)


def mirror(square: int) -> int:
    """The square on the other side of the middle file of the 9x9 frame."""
    return (FRAME - 1 - square // FRAME) * FRAME + square % FRAME


def orientation(flip: Sequence[int] | np.ndarray, home: int) -> np.ndarray:
    """uint8[perspective + 2 * mirrored][88]: squares as a player sees them.

    `flip` turns the board round (TABLES.flip), `home` is the own king's start square in the player's view, where a
    missing king counts as standing.
    """
    oriented = np.zeros((4, 88), dtype=np.uint8)
    for square in range(SQUARES):
        turned = int(flip[square])
        oriented[:, square] = square, turned % NO_SQUARE, mirror(square), mirror(turned % NO_SQUARE)
    oriented[:, NO_SQUARE] = home, home, mirror(home), mirror(home)
    return oriented


def variant_orientation(tables: Any) -> np.ndarray:
    """`orientation` of the variant that a TABLES record belongs to."""
    flip = tables["flip"]
    return orientation(flip, int(flip[tables["try_square"][0]]))


def active_rows(
    features: FeatureSet,
    board: Iterable[int],
    hands: Sequence[Sequence[int]],
    perspective: int,
    oriented: np.ndarray,
    pieces: int = SHOGI_PIECES,
) -> list[int]:
    """Rows that a position switches on for one player, plainly: what the kernels must agree with.

    `board` gives the piece on each square, `hands` counts by type (black, white); if there are less than `pieces`
    pieces besides the kings, number 0 stands for the rest (0: no filling up).
    """
    squares = [(square, piece) for square, piece in enumerate(board) if piece]
    own_king = KING | perspective << COLOUR_SHIFT
    king = next((square for square, piece in squares if piece == own_king), NO_SQUARE)
    view = perspective
    if features.mirrored and oriented[view, king] >= HALF_FILES * FRAME:
        view += 2
    plane = int(oriented[view, king]) * features.numbers if features.planes > 1 else 0
    starts = features.piece_start()
    numbers = [
        int(HAND_START[colour ^ perspective, kind]) + nth + 1
        for colour in (0, 1)
        for kind in HAND_ORDER
        for nth in range(hands[colour][kind])
    ]
    numbers += [int(starts[(piece >> 4) ^ perspective, piece & 15] + oriented[view, at]) for at, piece in squares]
    numbers = [number for number in numbers if number >= 0]
    missing = pieces - sum(number < KING_START for number in numbers)
    return sorted(plane + number for number in numbers + [0] * missing)


@inline
def piece_number(N, perspective, view, piece, square):
    """Number of a piece on a square; negative if the feature set leaves this piece out."""
    index = np.uint64((piece & 15) | ((piece >> 4) ^ perspective) << 4)
    return np.int64(N.piece_start[index]) + np.int64(N.oriented[np.uint64(view), np.uint64(square)])


@inline
def hand_number(N, perspective, colour, kind, nth):
    """Number of the nth piece (from 1) of a type in a player's hand."""
    return np.int64(N.hand_start[np.uint64(colour ^ perspective), np.uint64(kind)]) + nth


@inline
def moved_numbers(N, perspective, view, u, before):
    """What the move that led to `u` did to the piece that moved: the number that goes and the number that comes.

    `before` is the entry before u. Both are negative if the feature set leaves the piece out (a king).
    """
    to = np.int64(u.move & TO_MASK)
    origin = np.int64((u.move >> FROM_SHIFT) & FROM_MASK)
    piece = np.int64(u.moved)
    if u.move & DROP_BIT:
        hand = before.hand[np.uint64(piece >> 4)]
        kind = np.uint64(piece & 7)
        count = (hand >> HAND_SHIFT[kind]) & HAND_MASK[kind]
        gone = hand_number(N, perspective, piece >> 4, piece & 7, count)
    else:
        gone = piece_number(N, perspective, view, piece, origin)
    placed = piece | np.int64(PROMOTED) if u.move & PROMOTE_BIT else piece
    return gone, piece_number(N, perspective, view, placed, to)


@inline
def captured_numbers(N, perspective, view, u):
    """The same for the piece captured by the move that led to `u`: from the board into the mover's hand."""
    captured = np.int64(u.captured)
    mover = np.int64(u.moved) >> 4
    kind = np.uint64(captured & 7)
    count = (u.hand[np.uint64(mover)] >> HAND_SHIFT[kind]) & HAND_MASK[kind]
    gone = piece_number(N, perspective, view, captured, np.int64(u.move & TO_MASK))
    return gone, hand_number(N, perspective, mover, captured & 7, count)
