"""Network inputs of one position, as the trainer keeps them: 40 numbers from the side to move's view.

The numbers are those of K-P (features.py): own king, enemy king, then the other pieces in any order, and 0 from the
first missing piece on (a 0 is no input here: it adds nothing). Everything else follows by tables: the other side's
view (`swap_table`), the mirror image (`mirror_table`), HalfKP (own king square from the first number, pieces from the
rest) and the square of a piece relative to the king (`relative_table`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.native.jit import inline
from engine.rules.codes import KING, SQUARES, WHITE
from engine.rules.layout import COLOUR_SHIFT
from engine.rules.position import hand_count
from eval.features import ALL_NUMBERS, HAND_ORDER, HAND_START, KING_START, PAWN, PIECE_START, variant_orientation

SLOTS = 40  # two kings and 38 other pieces
FIRST_PIECE = 2  # slot of the first piece that is not a king
BOARD_START = int(PIECE_START[0, PAWN])  # 90: lower numbers are pieces in hand
ENEMY_KING_START = int(PIECE_START[1, KING])
KINDS = (KING_START - BOARD_START) // SQUARES
SPAN = 17  # king-relative steps from -8 to 8 along files and ranks
RELATIVE_NUMBERS = KINDS * SPAN * SPAN


def mirrored_square(square: int, width: int) -> int:
    """The square reflected left to right on a board of `width` files; squares off the board stay where they are."""
    file, rank = divmod(square, 9)
    return square if file >= width else (width - 1 - file) * 9 + rank


def swap_table(tables: Any) -> np.ndarray:
    """uint16[ALL_NUMBERS]: the number of the same piece in the other side's view."""
    table = np.zeros(ALL_NUMBERS, dtype=np.uint16)
    for kind, count in HAND_ORDER.items():
        own, enemy = HAND_START[:, kind]
        nth = np.arange(1, count + 1)
        table[own + nth] = enemy + nth
        table[enemy + nth] = own + nth
    turned = variant_orientation(tables)[WHITE, :SQUARES].astype(np.uint16)
    for start in range(BOARD_START, ALL_NUMBERS, 2 * SQUARES):
        table[start : start + SQUARES] = start + SQUARES + turned
        table[start + SQUARES : start + 2 * SQUARES] = start + turned
    return table


def mirror_table(width: int) -> np.ndarray:
    """uint16[ALL_NUMBERS]: the number of the same piece on the board reflected left to right."""
    table = np.arange(ALL_NUMBERS, dtype=np.uint16)
    squares = np.array([mirrored_square(square, width) for square in range(SQUARES)])
    for start in range(BOARD_START, ALL_NUMBERS, SQUARES):
        table[start : start + SQUARES] = start + squares
    return table


def relative_table() -> np.ndarray:
    """int32[81, KING_START]: by own king square and number, the king-relative number; -1 for pieces in hand."""
    table = np.full((SQUARES, KING_START), -1, dtype=np.int32)
    kind, square = np.divmod(np.arange(KING_START - BOARD_START), SQUARES)
    file, rank = np.divmod(square, 9)
    for king in range(SQUARES):
        king_file, king_rank = divmod(king, 9)
        step = (file - king_file + SPAN // 2) * SPAN + rank - king_rank + SPAN // 2
        table[king, BOARD_START:] = kind * SPAN * SPAN + step
    return table


def input_keys(width: int) -> np.ndarray:
    """uint64[ALL_NUMBERS]: random numbers whose sum over a position's inputs is the same for its mirror image."""
    keys = np.random.default_rng(20240229).integers(0, 2**64, ALL_NUMBERS, dtype=np.uint64)
    return keys + keys[mirror_table(width)]


@inline
def write_inputs(P, turned, keys, out):
    """Write the 40 numbers of a position into out (uint16[40]); returns its key.

    turned: uint8[88], squares in white's view. Turned and mirrored twins have the same key. A king that is missing
    leaves a 0.
    """
    side = P.side
    key = np.uint64(0)
    slot = FIRST_PIECE
    out[0], out[1] = 0, 0
    for square in range(SQUARES):
        piece = np.int64(P.board[square])
        if piece == 0:
            continue
        kind, owner = piece & 15, (piece >> COLOUR_SHIFT) ^ side
        number = PIECE_START[owner, kind] + (np.int64(turned[square]) if side else square)
        key += keys[number]
        if kind == KING:
            out[owner] = number
        else:
            out[slot] = number
            slot += 1
    for owner in range(2):
        for kind in range(1, KING):
            for nth in range(hand_count(P.hand[owner ^ side], kind)):
                number = HAND_START[owner, kind] + nth + 1
                key += keys[number]
                out[slot] = number
                slot += 1
    out[slot:] = 0
    return key
