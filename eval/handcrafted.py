"""What a position is worth without a network, for any variant, in centipawns.

    score = material and piece-square sum        (kept by make_move in undo.score, from the tables that `fill` writes)
          + pieces near the kings                (one lookup per king for every piece but pawns and kings)
          + mobility of the sliding pieces
          - danger of the own king + danger of the enemy king
          - hanging pieces
          + tempo

Danger is measured on attack maps of both sides, made for all stepping pieces of a colour at once by shifting sets of
squares, and multiplied by what the attacker holds in hand, since drops are what turns an attack into a mate.
Everything a board size could change is computed from the variant's tables; a missing king takes part in nothing.
All the numbers that matter stand in `Terms`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, int64, uint64

from engine.native.bitboard import (
    first_square,
    join,
    popcount,
    shift_down,
    shift_up,
    without_first,
)
from engine.native.intrinsics import record_at
from engine.native.jit import address_kernel, inline
from engine.rules.attacks import attacks_from, colour_bb, occupied, step_attacks, type_bb
from engine.rules.layout import (
    BISHOP,
    BLACK,
    COLOUR_SHIFT,
    DRAGON,
    GOLD,
    GOLDS,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    NO_SQUARE,
    PAWN,
    PRO_KNIGHT,
    PRO_LANCE,
    PRO_PAWN,
    PRO_SILVER,
    PROMOTED,
    ROOK,
    SILVER,
    SQUARES,
    WHITE,
    new_record,
    position_type,
    record_address,
    tables_type,
)
from engine.rules.position import current, hand_count

ByType = dict[int, int]


@dataclass(frozen=True)
class Terms:
    """Every number of the evaluation, in centipawns unless said otherwise. Scalars reach the kernel by their names."""

    tempo: int = 25  # being on the move
    # danger = units * force / DANGER_UNIT, where units count what happens in the eight squares around the king
    attacked: int = 3  # units: a square the enemy attacks
    attacked_twice: int = 3  # units: by two pieces or more (on top)
    undefended: int = 5  # units: attacked and defended by the king alone (on top)
    no_flight: int = 3  # units: one less of the first three squares to which the king could step safely
    outer_lost: int = 1  # units: a square two steps away that only the enemy attacks
    force_base: int = 9  # force of an attacker with empty hands
    mobility: int = 3  # a square that a sliding piece reaches
    hanging: int = 3  # a piece that is attacked and not defended, in 64ths of its value
    outnumbered: int = 2  # a piece that is attacked twice and defended once, in 64ths of its value


TERMS = Terms()
DANGER_UNIT = 4

VALUE: ByType = {  # on the 9x9 board
    PAWN: 100,
    LANCE: 290,
    KNIGHT: 320,
    SILVER: 460,
    GOLD: 520,
    BISHOP: 780,
    ROOK: 920,
    PRO_PAWN: 480,
    PRO_LANCE: 470,
    PRO_KNIGHT: 480,
    PRO_SILVER: 500,
    HORSE: 1060,
    DRAGON: 1250,
}
SLIDE_SQUARE = 20  # what one square of mean sliding range is worth, when a smaller board takes it away
HAND_PERCENT = 108  # a piece in hand can go anywhere: percent of its value on the board
KING_VALUE = 20000  # for exchanges only: more than everything else together

HAND_FORCE: ByType = {PAWN: 1, LANCE: 2, KNIGHT: 2, SILVER: 4, GOLD: 5, BISHOP: 5, ROOK: 6}  # per piece in hand
HAND_FORCE_PAWNS = 3  # more pawns than this add nothing

# by type: what rank, file and king distance are worth; see `square_value` and `relative_value`
ADVANCE: ByType = {PAWN: 30, LANCE: -10, KNIGHT: -30, SILVER: 30, GOLD: 10, HORSE: 20, DRAGON: 60, KING: -160, ROOK: 10}
CENTRE: ByType = {PAWN: 5, SILVER: 25, GOLD: 20, BISHOP: 15, KNIGHT: 15, ROOK: 5, HORSE: 15, KING: -50}
DEFENDER: ByType = {GOLD: 45, SILVER: 40, KNIGHT: 10, LANCE: 10, HORSE: 60, PRO_PAWN: 30, BISHOP: -10, ROOK: -25}
ATTACKER: ByType = {GOLD: 60, SILVER: 55, KNIGHT: 30, HORSE: 50, DRAGON: 70, PRO_PAWN: 60, ROOK: 15, BISHOP: 10}
MOVES_AS_GOLD = (PRO_PAWN, PRO_LANCE, PRO_KNIGHT, PRO_SILVER)
GOLD_LIKE = dict.fromkeys(MOVES_AS_GOLD, PRO_PAWN)

SPAN = 17  # offsets between two squares of one axis: -8 .. 8
OFFSETS = SPAN * SPAN
OFFSET_ORIGIN = SPAN // 2 * (SPAN + 1)
NO_KING_ROW = 2

EVALUATION = np.dtype(
    [
        (
            "relative",
            "i2",
            (3, 32, OFFSETS),
        ),  # by king colour (2: none), piece, offset from it: black's view
        ("offset", "i8", 82),  # square -> its share of an index into `relative`
        ("up_landing", "u8", 2),  # squares that a step towards rank a can reach without leaving its file
        ("down_landing", "u8", 2),  # the same towards the last rank
        ("level_landing", "u8", 2),  # squares that a step sideways can reach
        ("jump_up_landing", "u8", 2),  # squares that black's knights can reach
        ("jump_down_landing", "u8", 2),  # squares that white's knights can reach
        ("outer", "u8", (82, 2)),  # squares exactly two steps of a king away
        ("hand_force", "i8", 8),  # HAND_FORCE by type
        *((field.name, "i8") for field in fields(Terms)),
    ],
    align=True,
)
evaluation_type = from_dtype(EVALUATION)

position_at = record_at(position_type)
tables_at = record_at(tables_type)
terms_at = record_at(evaluation_type)


@inline
def squares_of(pair):
    """Bitboard from its two words in a record."""
    return join(pair[0], pair[1])


@inline
def step_maps(E, forward, backward, level, forward_diagonal, backward_diagonal, knights, colour):
    """Squares attacked once and twice or more, given the pieces of one colour that step in each direction."""
    up_landing = squares_of(E.up_landing)
    down_landing = squares_of(E.down_landing)
    level_landing = squares_of(E.level_landing)
    if colour == BLACK:
        up, down, up_diagonal, down_diagonal = forward, backward, forward_diagonal, backward_diagonal
        jump_left = shift_up(knights, uint64(7)) & squares_of(E.jump_up_landing)
        jump_right = shift_down(knights, uint64(11)) & squares_of(E.jump_up_landing)
    else:
        up, down, up_diagonal, down_diagonal = backward, forward, backward_diagonal, forward_diagonal
        jump_left = shift_up(knights, uint64(11)) & squares_of(E.jump_down_landing)
        jump_right = shift_down(knights, uint64(7)) & squares_of(E.jump_down_landing)
    once = jump_left | jump_right
    twice = jump_left & jump_right
    for reached in (
        shift_down(up, uint64(1)) & up_landing,
        shift_up(down, uint64(1)) & down_landing,
        shift_up(level, uint64(9)) & level_landing,
        shift_down(level, uint64(9)) & level_landing,
        shift_up(up_diagonal, uint64(8)) & up_landing,
        shift_down(up_diagonal, uint64(10)) & up_landing,
        shift_up(down_diagonal, uint64(10)) & down_landing,
        shift_down(down_diagonal, uint64(8)) & down_landing,
    ):
        twice = twice | (once & reached)
        once = once | reached
    return once, twice


@inline
def attack_maps(P, T, E, colour):
    """(once, twice, mobility): squares attacked by one / two pieces of a colour, its king left out; slider squares."""
    own = colour_bb(P, colour)
    golds = type_bb(P, GOLDS) & own
    silvers = type_bb(P, SILVER) & own
    pawns = type_bb(P, PAWN) & own
    knights = type_bb(P, KNIGHT) & own
    generals = golds | silvers
    once, twice = step_maps(E, generals | pawns, golds, golds, generals, silvers, knights, colour)
    diagonal = type_bb(P, BISHOP) | type_bb(P, HORSE)
    straight = type_bb(P, ROOK) | type_bb(P, DRAGON)
    sliders = own & (type_bb(P, LANCE) | diagonal | straight)
    blockers = occupied(P)
    mobility = int64(0)
    while sliders:
        square = first_square(sliders)
        sliders = without_first(sliders)
        reached = attacks_from(T, int64(P.board[uint64(square)]), square, blockers)
        mobility += popcount(reached & ~own)
        twice = twice | (once & reached)
        once = once | reached
    return once, twice, mobility


@inline
def hand_force(E, hand):
    """How much the pieces in one hand can add to an attack."""
    force = E.force_base + min(hand_count(hand, PAWN), int64(HAND_FORCE_PAWNS)) * E.hand_force[PAWN]
    for kind in range(LANCE, KING):
        force += hand_count(hand, kind) * E.hand_force[uint64(kind)]
    return force


@inline
def king_danger(P, T, E, colour, own_once, enemy_once, enemy_twice):
    """Centipawns that the king of a colour stands to lose."""
    king = P.king[colour]
    if king == NO_SQUARE:
        return int64(0)
    zone = step_attacks(T, KING, king)
    attacked = zone & enemy_once
    flights = popcount(zone & ~enemy_once & ~colour_bb(P, colour))
    outer = squares_of(E.outer[uint64(king)]) & enemy_once & ~own_once
    units = (
        popcount(attacked) * E.attacked
        + popcount(zone & enemy_twice) * E.attacked_twice
        + popcount(attacked & ~own_once) * E.undefended
        + popcount(outer) * E.outer_lost
        + (int64(3) - min(flights, int64(3))) * E.no_flight
    )
    return units * hand_force(E, P.hand[colour ^ 1]) // int64(DANGER_UNIT)


@inline
def value_on(P, T, squares):
    """Value of the pieces on a set of squares, in centipawns."""
    total = int64(0)
    while squares:
        square = first_square(squares)
        squares = without_first(squares)
        total += T.piece_value[uint64(P.board[uint64(square)] & 15)]
    return total


@inline
def hanging_loss(P, T, E, colour, own_once, own_twice, enemy_once, enemy_twice):
    """Centipawns for the pieces of a colour that are attacked and not sufficiently defended."""
    men = colour_bb(P, colour) & ~type_bb(P, KING) & enemy_once
    king_zone = step_attacks(T, KING, P.king[colour])
    loose = men & ~(own_once | king_zone)
    outnumbered = men & enemy_twice & ~loose & ~(own_twice | (own_once & king_zone))
    return (value_on(P, T, loose) * E.hanging + value_on(P, T, outnumbered) * E.outnumbered) // int64(64)


@inline
def relative_sum(P, E):
    """Pieces near the kings, black's view."""
    black_king, white_king = P.king[0], P.king[1]
    black_row, white_row = int64(0), int64(1)
    if black_king == NO_SQUARE:
        black_row, black_king = int64(NO_KING_ROW), int64(0)
    if white_king == NO_SQUARE:
        white_row, white_king = int64(NO_KING_ROW), int64(0)
    black_origin = int64(OFFSET_ORIGIN) - E.offset[uint64(black_king)]
    white_origin = int64(OFFSET_ORIGIN) - E.offset[uint64(white_king)]
    black_table, white_table = E.relative[uint64(black_row)], E.relative[uint64(white_row)]
    total = int64(0)
    men = occupied(P) & ~type_bb(P, PAWN) & ~type_bb(P, KING)
    while men:
        square = uint64(first_square(men))
        men = without_first(men)
        piece = uint64(P.board[square])
        total += int64(black_table[piece, uint64(black_origin + E.offset[square])])
        total += int64(white_table[piece, uint64(white_origin + E.offset[square])])
    return total


@address_kernel(int64(uint64, uint64, uint64))
def evaluate(position, tables, shared):
    """Centipawns for the side to move; the arguments are addresses of POSITION, TABLES and SHARED records."""
    P = position_at(position)
    T = tables_at(tables)
    E = terms_at(T.seen[0])
    black_once, black_twice, black_mobility = attack_maps(P, T, E, BLACK)
    white_once, white_twice, white_mobility = attack_maps(P, T, E, WHITE)
    score = int64(current(P).score) + relative_sum(P, E) + (black_mobility - white_mobility) * E.mobility
    score += king_danger(P, T, E, WHITE, white_once, black_once, black_twice)
    score -= king_danger(P, T, E, BLACK, black_once, white_once, white_twice)
    score += hanging_loss(P, T, E, WHITE, white_once, white_twice, black_once, black_twice)
    score -= hanging_loss(P, T, E, BLACK, black_once, black_twice, white_once, white_twice)
    if P.side == WHITE:
        score = -score
    return score + E.tempo


def evaluation_address() -> int:
    """Address of the evaluation, for `C.evaluate`; the tables must have gone through `fill`."""
    return int(evaluate.address)


# ---- the tables, by formula -------------------------------------------------------------------------------------


def mean_slide(piece_type: int, width: int, height: int) -> float:
    """Squares that a sliding piece reaches beyond its first step, averaged over an empty board."""
    rays = {
        LANCE: ((0, -1),),
        BISHOP: ((1, 1), (1, -1), (-1, 1), (-1, -1)),
        ROOK: ((1, 0), (-1, 0), (0, 1), (0, -1)),
    }.get(piece_type if piece_type == PRO_LANCE else piece_type & ~PROMOTED, ())
    total = 0
    for file in range(width):
        for rank in range(height):
            for file_step, rank_step in rays:
                by_file = {1: width - 1 - file, -1: file}.get(file_step, SPAN)
                by_rank = {1: height - 1 - rank, -1: rank}.get(rank_step, SPAN)
                total += max(0, min(by_file, by_rank) - 1)
    return total / (width * height)


def value_of(piece_type: int, width: int, height: int) -> int:
    """Centipawns of a piece on a board of this size."""
    lost_range = mean_slide(piece_type, 9, 9) - mean_slide(piece_type, width, height)
    return round(VALUE[piece_type] - SLIDE_SQUARE * lost_range)


def square_value(piece_type: int, file: int, rank: int, width: int, height: int) -> int:
    """Centipawns that a black piece gains or loses by standing on a square (material left out).

    `advance` is 0 on the own last rank and 1 on the enemy's, `centre` 0 on the edge files and 1 in the middle.
    """
    advance = (height - 1 - rank) / (height - 1)
    centre = 1 - abs(2 * file - (width - 1)) / (width - 1)
    name = GOLD_LIKE.get(piece_type, piece_type)
    return round(ADVANCE.get(name, 0) * advance + CENTRE.get(name, 0) * centre)


def relative_value(piece_type: int, defends: bool, file_offset: int, rank_offset: int) -> int:
    """Centipawns of a piece for standing at an offset from a king; the king looks towards negative ranks.

    Falls with distance; what stands in front of a king attacks or shields it better than what stands behind it.
    """
    name = GOLD_LIKE.get(piece_type, piece_type)
    weight = (DEFENDER if defends else ATTACKER).get(name, 0)
    file_distance, rank_distance = abs(file_offset), abs(rank_offset)
    distance = max(file_distance, rank_distance) + min(file_distance, rank_distance) / 2
    in_front = -rank_offset / max(1, distance)
    return round(weight * (1 + in_front / 5) * 2.4 / (1.4 + distance))


def _words(squares: list[int]) -> tuple[int, int]:
    bits = sum(1 << square for square in squares)
    return bits & (1 << 64) - 1, bits >> 64


def _fill_landings(record: Any, width: int, height: int) -> None:
    """Masks that keep shifted sets of squares on the board (a file of the 9x9 frame takes nine bits)."""
    board = [(file, rank) for file in range(width) for rank in range(height)]
    for name, first_rank, last_rank in (
        ("up_landing", 0, 7),
        ("down_landing", 1, 8),
        ("level_landing", 0, 8),
        ("jump_up_landing", 0, 6),
        ("jump_down_landing", 2, 8),
    ):
        record[name] = _words([file * 9 + rank for file, rank in board if first_rank <= rank <= last_rank])
    for file, rank in board:
        ring = [f * 9 + r for f, r in board if max(abs(f - file), abs(r - rank)) == 2]
        record["outer"][file * 9 + rank] = _words(ring)


def _fill_relative(record: Any) -> None:
    """The table of pieces near kings: black's view, so what helps white is negative."""
    for square in range(SQUARES):
        record["offset"][square] = square // 9 * SPAN + square % 9
    for piece_type in VALUE:
        for colour in (BLACK, WHITE):
            piece = piece_type | colour << COLOUR_SHIFT
            sign = 1 if colour == BLACK else -1
            for king_colour in (BLACK, WHITE):
                for index in range(OFFSETS):
                    files, ranks = index // SPAN - SPAN // 2, index % SPAN - SPAN // 2
                    seen = ranks if king_colour == BLACK else -ranks
                    value = relative_value(piece_type, colour == king_colour, files, seen)
                    record["relative"][king_colour][piece][index] = sign * value


@cache
def _evaluation_record(width: int, height: int) -> Any:
    """The EVALUATION record of a board size; cached, because kernels keep its address."""
    record = new_record(EVALUATION)
    for field in fields(Terms):
        record[field.name] = getattr(TERMS, field.name)
    for piece_type, force in HAND_FORCE.items():
        record["hand_force"][piece_type] = force
    _fill_landings(record, width, height)
    _fill_relative(record)
    return record


def fill(tables: Any) -> None:
    """Write the evaluation's part of a TABLES record: piece_value, psqt, hand_value, address of its own terms."""
    width, height = int(tables["width"]), int(tables["height"])
    tables["psqt"][:] = 0
    tables["hand_value"][:] = 0
    tables["piece_value"][:] = 0
    for piece_type in (*VALUE, KING):
        value = 0 if piece_type == KING else value_of(piece_type, width, height)
        tables["piece_value"][piece_type] = value or KING_VALUE
        for file in range(width):
            for rank in range(height):
                square = file * 9 + rank
                flipped = (width - 1 - file) * 9 + height - 1 - rank
                worth = value + square_value(piece_type, file, rank, width, height)
                tables["psqt"][piece_type][square] = worth
                tables["psqt"][piece_type | WHITE << COLOUR_SHIFT][flipped] = -worth
        if piece_type <= GOLD:
            in_hand = value * HAND_PERCENT // 100
            tables["hand_value"][BLACK][piece_type] = in_hand
            tables["hand_value"][WHITE][piece_type] = -in_hand
    tables["seen"][0] = record_address(_evaluation_record(width, height))
