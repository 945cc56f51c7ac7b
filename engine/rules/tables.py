"""The read-only tables of one variant: attacks, lines, zones, hash keys. Computed, never pasted.

The board of every variant lies in the same 9x9 frame of squares, so one compiled kernel serves all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from engine.rules.codes import STEPS
from engine.rules.layout import (
    BISHOP,
    BLACK,
    COLOUR_SHIFT,
    DRAGON,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    NO_SQUARE,
    PAWN,
    RAY_FILE_STEP,
    RAY_RANK_STEP,
    RAYS,
    ROOK,
    TABLES,
    WHITE,
    new_record,
)
from engine.rules.variants import VARIANTS, Variant, get_variant

SLIDES: dict[int, tuple[int, ...]] = {  # ray numbers of black's sliding pieces
    LANCE: (0,),
    BISHOP: (4, 5, 6, 7),
    HORSE: (4, 5, 6, 7),
    ROOK: (0, 1, 2, 3),
    DRAGON: (0, 1, 2, 3),
}


def words(squares: Iterable[int]) -> tuple[int, int]:
    """Low and high word of the bitboard of some squares."""
    bits = sum(1 << square for square in set(squares))
    return bits & (2**64 - 1), bits >> 64


class _Frame:
    """The squares of one board inside the 9x9 frame."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.squares = [file * 9 + rank for file in range(width) for rank in range(height)]

    def step(self, square: int, file_step: int, rank_step: int) -> int | None:
        file, rank = square // 9 + file_step, square % 9 + rank_step
        return file * 9 + rank if 0 <= file < self.width and 0 <= rank < self.height else None

    def ray(self, square: int, ray: int) -> list[int]:
        found = []
        at = self.step(square, RAY_FILE_STEP[ray], RAY_RANK_STEP[ray])
        while at is not None:
            found.append(at)
            at = self.step(at, RAY_FILE_STEP[ray], RAY_RANK_STEP[ray])
        return found

    def flip(self, square: int) -> int:
        return (self.width - 1 - square // 9) * 9 + self.height - 1 - square % 9

    def rank_seen_by(self, colour: int, square: int) -> int:
        """0 = the farthest rank from the player's own side."""
        return square % 9 if colour == BLACK else self.height - 1 - square % 9

    def ranks(self, colour: int, first: int, end: int) -> list[int]:
        """Squares of the ranks from `first` to before `end`, as the player sees them."""
        return [square for square in self.squares if first <= self.rank_seen_by(colour, square) < end]


def _fill_attacks(tables: np.void, frame: _Frame) -> None:
    step, attacks, ray = tables["step"], tables["empty_attacks"], tables["ray"]
    for square in frame.squares:
        tables["square"][square] = words([square])
        for number in range(RAYS):
            ray[number, square] = words(frame.ray(square, number))
        around = [frame.step(square, f, r) for f in range(-2, 3) for r in range(-2, 3)]
        tables["near"][square] = words([s for s in around if s is not None])
        for colour in (BLACK, WHITE):
            sign = 1 if colour == BLACK else -1
            for kind in range(PAWN, DRAGON + 1):
                steps = [frame.step(square, sign * f, sign * r) for f, r in STEPS.get(kind, ())]
                slides = SLIDES.get(kind, ())
                if kind == LANCE and colour == WHITE:
                    slides = (1,)
                near = [s for s in steps if s is not None]
                far = [s for number in slides for s in frame.ray(square, number)]
                step[kind | colour << COLOUR_SHIFT, square] = words(near)
                attacks[kind | colour << COLOUR_SHIFT, square] = words(near + far)


def _fill_lines(tables: np.void, frame: _Frame) -> None:
    for square in frame.squares:
        for number in range(RAYS):
            squares = frame.ray(square, number)
            opposite = number ^ 1 if number < 4 else {4: 7, 7: 4, 5: 6, 6: 5}[number]
            whole = words([square, *squares, *frame.ray(square, opposite)])
            for distance, target in enumerate(squares):
                tables["between"][square, target] = words(squares[:distance])
                tables["line"][square, target] = whole


def _fill_zones(tables: np.void, frame: _Frame, zone_ranks: int) -> None:
    last_ranks = {PAWN: 1, LANCE: 1, KNIGHT: 2}
    for colour in (BLACK, WHITE):
        tables["zone"][colour] = words(frame.ranks(colour, 0, zone_ranks))
        for kind in range(PAWN, KING):
            dead = last_ranks.get(kind, 0)
            tables["dead_end"][colour, kind] = words(frame.ranks(colour, 0, dead))
            tables["droppable"][colour, kind] = words(frame.ranks(colour, dead, frame.height))
        for kind in (PAWN, BISHOP, ROOK):
            tables["pointless"][colour, kind] = words(frame.squares)
        tables["pointless"][colour, LANCE] = words(frame.ranks(colour, 0, 2))


def _fill_keys(tables: np.void) -> None:
    generator = np.random.Generator(np.random.PCG64(20_261_130))

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        return generator.integers(0, 2**64, size=shape, dtype=np.uint64)

    tables["key"] = draw((32, 82))
    tables["key_side"] = draw(())
    tables["key_hand"] = draw((2, 8))


def build_tables(variant: Variant, index: int) -> np.void:
    """Make the tables of a variant; `index` is its number in VARIANTS."""
    tables: np.void = new_record(TABLES)
    frame = _Frame(variant.width, variant.height)
    tables["width"], tables["height"] = variant.width, variant.height
    tables["zone_ranks"], tables["variant"] = variant.zone_ranks, index
    tables["board_mask"] = words(frame.squares)
    tables["file_tops"] = words(file * 9 + 8 for file in range(9))
    tables["flip"] = NO_SQUARE
    for square in frame.squares:
        tables["flip"][square] = frame.flip(square)
    for kind in range(PAWN, KING):
        tables["box"][kind] = variant.box[kind]
    tables["points"] = 1
    tables["points"][[0, KING, 15]] = 0
    tables["points"][[BISHOP, ROOK, HORSE, DRAGON]] = 5
    _fill_attacks(tables, frame)
    _fill_lines(tables, frame)
    _fill_zones(tables, frame, variant.zone_ranks)
    _fill_keys(tables)
    return tables


@cache
def variant_tables(name: str) -> np.void:
    """The tables of a variant by name; one record per process. Raises ValueError for an unknown name.

    `try_square`, and the values that belong to an evaluation (`psqt`, `hand_value`, `piece_value`), are filled by
    their owners.
    """
    variant = get_variant(name)
    tables = build_tables(variant, list(VARIANTS).index(variant.name))
    tables["try_square"] = _king_starts(variant)
    return tables


def _king_starts(variant: Variant) -> tuple[int, int]:
    """For black and white: the square on which the opponent's king starts."""
    from engine.rules.sfen import parse_sfen

    board = parse_sfen(variant.start_sfen, variant).board
    return board.index(KING | WHITE << COLOUR_SHIFT), board.index(KING | BLACK << COLOUR_SHIFT)
