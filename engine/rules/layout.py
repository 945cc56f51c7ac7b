"""The records that jitted code works on, and the numbers that stand for colours, pieces, squares and moves.

Square   file * 9 + rank on every variant: file 0 is the rightmost file ("1"), rank 0 the top rank ("a").
         Small boards use the squares with file < width and rank < height. NO_SQUARE (81) stands for "no king":
         every table has an empty row for it.
Piece    type | colour << 4, 0 = empty. Promoted type = type | 8.
Move     int32: to | from << 7 | promote << 14 | drop << 15; in a drop `from` is the piece type. 0 = no move.
Hand     one int64 per colour, one field of bits per type (HAND_SHIFT); spare bits between the fields let one
         subtraction compare all counts.
"""

from __future__ import annotations

import numpy as np
from numba import from_dtype, int32, int64, types

# the plain numbers live in a module without numba; jitted code takes them from here
from engine.rules.codes import (  # noqa: F401
    BISHOP,
    BLACK,
    COLOUR_SHIFT,
    DRAGON,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    NO_MOVE,
    NO_SQUARE,
    NULL_MOVE,
    PAWN,
    PIECE_LETTERS,
    PRO_KNIGHT,
    PRO_LANCE,
    PRO_PAWN,
    PRO_SILVER,
    PROMOTE_BIT,
    PROMOTED,
    ROOK,
    SILVER,
    SQUARES,
    TO_MASK,
    WHITE,
)

ALL_PIECES, GOLDS = 0, 15  # rows of `pieces`: every piece; everything that moves as a gold

# pawn 5 bits, lance to silver and gold 3, bishop and rook 2, each followed by at least one spare bit
HAND_SHIFT = np.array([0, 0, 8, 12, 16, 20, 24, 28], dtype=np.int64)
HAND_MASK = np.array([0, 31, 7, 7, 7, 3, 3, 7], dtype=np.int64)
HAND_SPARE = (1 << 5) | (1 << 11) | (1 << 15) | (1 << 19) | (1 << 22) | (1 << 26) | (1 << 31)

# rays: up, down, right, left, up-right, down-right, up-left, down-left; "up" is towards rank a
RAY_FILE_STEP = (0, 0, -1, 1, -1, -1, 1, 1)
RAY_RANK_STEP = (-1, 1, 0, 0, -1, 1, -1, 1)
RAY_IS_POSITIVE = (False, True, False, True, False, False, True, True)  # square numbers grow along it
RAYS = 8

MAX_PLIES = 2048  # plies of game history and search together that one position holds
MAX_MOVES = 600  # no shogi position has more than 593 legal moves
MOVE_BUFFER = 160_000  # moves of all plies of one search line

WORD2 = ("u8", 2)

UNDO = np.dtype(
    [
        ("key_board", "u8"),  # Zobrist key of the board and the side to move
        ("key_hand", "u8"),  # Zobrist key of both hands; key_board + key_hand is the position's key
        ("hand", "i8", 2),  # both hands in this position, black first
        ("checkers", "u8", 2),  # bitboard: pieces that give check to the side to move
        ("pinned", "u8", 2),  # bitboard: the side to move's pieces that must stay on a line with their king
        ("discoverers", "u8", 2),  # bitboard: the side to move's pieces that shield the other king from its own sliders
        ("move", "i4"),  # the move that led here, NULL_MOVE for a pass, 0 at the start
        ("score", "i4"),  # material and piece-square sum, centipawns, black's view (see TABLES psqt)
        ("moved", "i1"),  # the piece that moved, as it was before the move (a drop: the dropped piece)
        ("captured", "i1"),  # the piece that stood on `to`, 0 = none
        ("spare", "i1"),
        ("since_null", "i4"),  # plies since the last null move or the start of the history
        ("checks", "i4", 2),  # length of the unbroken series of checks given by black / white, ending here
    ],
    align=True,
)

POSITION = np.dtype(
    [
        ("board", "i1", 88),  # piece on each square; 81 and above always empty
        ("pieces", "u8", (16, 2)),  # bitboards by type, both colours; rows ALL_PIECES and GOLDS are unions
        ("colours", "u8", (2, 2)),  # bitboards by colour
        ("hand", "i8", 2),  # packed hands, black first
        ("king", "i8", 2),  # squares of the kings, NO_SQUARE if absent
        ("side", "i8"),  # side to move
        ("ply", "i8"),  # index of the current entry of `undo`
        ("game_ply", "i8"),  # move number of undo[0], as in SFEN (1 = first move)
        ("all_moves", "i8"),  # 1: generate every legal non-promotion, 0: leave out the pointless ones
        ("root_ply", "i8"),  # value of `ply` at the root of the running search (accumulator index = ply - root_ply)
        ("accumulators", "u8"),  # address of this thread's network accumulators, 0 = none
        ("undo", UNDO, MAX_PLIES),
        ("moves", "i4", MOVE_BUFFER),  # move lists of the plies of a line, one after another
    ],
    align=True,
)

TABLES = np.dtype(
    [
        ("width", "i8"),  # files
        ("height", "i8"),  # ranks
        ("zone_ranks", "i8"),  # depth of the promotion zone
        ("variant", "i8"),  # 0 shogi, 1 judkins, 2 minishogi (for people and file names, never for kernels)
        ("board_mask", *WORD2),  # all squares of this board
        ("file_tops", *WORD2),  # rank 9 of every file of the 9x9 frame (for nifu)
        ("square", "u8", (88, 2)),  # bitboard of one square; NO_SQUARE: empty
        ("step", "u8", (32, 82, 2)),  # by piece: squares reached in one step or jump (sliding part left out)
        ("empty_attacks", "u8", (32, 82, 2)),  # by piece: attacks on an empty board, sliding part included
        ("ray", "u8", (RAYS, 82, 2)),  # squares from a square to the edge
        ("near", "u8", (82, 2)),  # squares at most two steps away, the square itself too
        ("between", "u8", (82, 82, 2)),  # squares strictly between two squares on one line, else empty
        ("line", "u8", (82, 82, 2)),  # the whole line through two squares, else empty
        ("zone", "u8", (2, 2)),  # promotion zone by colour
        ("droppable", "u8", (2, 8, 2)),  # by colour and type: squares from which the piece could still move
        ("dead_end", "u8", (2, 16, 2)),  # by colour and type: squares on which it must promote
        ("pointless", "u8", (2, 16, 2)),  # by colour and type: target squares where declining promotion gains nothing
        ("flip", "i8", 82),  # the square seen from the other side (rotation by 180 degrees)
        ("try_square", "i8", 2),  # by colour: the enemy king's start square (try rule)
        ("box", "i8", 8),  # by type: how many the set holds, both sides together
        ("points", "i8", 16),  # by type: impasse points
        ("key", "u8", (32, 82)),  # Zobrist keys of pieces on squares
        ("key_side", "u8"),
        ("key_hand", "u8", (2, 8)),  # added once per piece held
        ("psqt", "i4", (32, 82)),  # by piece and square: centipawns, black's view (the evaluation fills it)
        ("hand_value", "i4", (2, 8)),  # by colour and type: centipawns of one more piece in hand, black's view
        ("piece_value", "i4", 16),  # by type: centipawns for exchanges and ordering (the evaluation fills it)
        ("seen", "u8", 8),  # reserved for the evaluation: addresses of its own tables
    ],
    align=True,
)

SHARED = np.dtype(
    [
        ("evaluate", "u8"),  # address of the evaluation: int64 f(position, tables, shared addresses)
        ("network", "u8"),  # address of the network record that the evaluation uses, 0 = none
        ("hash_table", "u8"),  # address of the transposition table
        ("hash_clusters", "u8"),  # number of clusters
        ("hash_age", "i8"),  # generation of the running search
        ("stop", "u8"),  # address of the int64 stop flag (read atomically)
        ("clock", "u8"),  # address of the system's clock (engine.native.clock), 0 = none
        ("clock_id", "i8"),  # its first argument, -1 = the buffer
        ("clock_unit", "i8"),  # ticks in its first word
        ("known_pause", "i8"),  # ticks that the deadline already allows for being held off
        ("deadline", "i8"),  # ticks at which the search must end, 0 = none
        ("impasse_rule", "i8"),  # index into endings.IMPASSE_RULES
        ("impasse_points", "i8", 2),  # points that each colour needs under the rule (handicaps taken into account)
        ("max_moves", "i8"),  # the game is drawn at this move number; 0 = no limit
        ("draw_value", "i8", 2),  # centipawns of a draw for black / white
    ],
    align=True,
)

position_type: types.Record = from_dtype(POSITION)
tables_type: types.Record = from_dtype(TABLES)
shared_type: types.Record = from_dtype(SHARED)
undo_type: types.Record = from_dtype(UNDO)
count_signature = int64(position_type, tables_type, int64)
move_signature = int64(position_type, tables_type, int32)


def new_record(dtype: np.dtype) -> np.record:
    """A zeroed record on a 64-byte boundary. The record keeps its memory alive; pass it to kernels as it is."""
    raw = np.zeros(dtype.itemsize + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + dtype.itemsize].view(dtype)[0]


def offset_of(dtype: np.dtype, field: str) -> int:
    """Bytes before a field of a record."""
    fields = dtype.fields
    assert fields is not None
    return int(fields[field][1])


def record_address(record: np.void) -> int:
    """Address of a record's memory."""
    return int(record.__array_interface__["data"][0])
