"""The handcrafted evaluation: the same for both sides, for left and right, and sensible about what it counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.rules.layout import COLOUR_SHIFT, GOLD, KING, PAWN, WHITE, record_address
from engine.rules.position import pack_hand, refresh
from eval.handcrafted import TERMS, VALUE, evaluate, value_of
from scripts.random_games import Walker, random_walk, start_sfens

VARIANTS = ["shogi", "judkins", "minishogi"]


def score(walker: Walker) -> int:
    """Centipawns for the side to move."""
    return int(evaluate.ctypes(record_address(walker.position), record_address(walker.tables), 0))


def rewritten(walker: Walker, other: Walker, place: Callable[[int], int], swap: bool) -> Walker:
    """The walker's position with every square moved by `place`, and colours swapped if asked."""
    source, target = walker.position, other.position
    target["board"] = 0
    for square in range(81):
        piece = int(source["board"][square])
        if piece:
            target["board"][place(square)] = piece ^ (WHITE << COLOUR_SHIFT if swap else 0)
    hands = source["hand"].tolist()
    target["hand"] = hands[::-1] if swap else hands
    target["side"] = int(source["side"]) ^ int(swap)
    refresh(target, other.tables)
    return other


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_other_side_of_the_board_sees_the_same(variant: str) -> None:
    walker, other = Walker(variant), Walker(variant)
    flip = walker.tables["flip"]
    for _ in random_walk(walker, start_sfens(walker.variant), 500, seed=3):
        seen = rewritten(walker, other, lambda square: int(flip[square]), swap=True)
        assert score(seen) == score(walker), walker


@pytest.mark.parametrize("variant", VARIANTS)
def test_left_and_right_are_worth_the_same(variant: str) -> None:
    walker, other = Walker(variant), Walker(variant)
    width = walker.variant.width
    for _ in random_walk(walker, start_sfens(walker.variant), 500, seed=4):
        mirrored = rewritten(walker, other, lambda square: (width - 1 - square // 9) * 9 + square % 9, swap=False)
        assert score(mirrored) == score(walker), walker


def test_the_sides_differ_by_the_move_alone() -> None:
    walker = Walker("shogi")
    for _ in random_walk(walker, start_sfens(walker.variant), 300, seed=5):
        mine = score(walker)
        walker.position["side"] = int(walker.position["side"]) ^ 1
        refresh(walker.position, walker.tables)
        theirs = score(walker)
        walker.position["side"] = int(walker.position["side"]) ^ 1
        assert mine + theirs == 2 * TERMS.tempo
        refresh(walker.position, walker.tables)


def test_the_start_position_is_worth_the_move() -> None:
    for variant in VARIANTS:
        walker = Walker(variant)
        walker.set(walker.variant.start_sfen)
        assert score(walker) == TERMS.tempo


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("4k4/9/9/9/9/9/9/9/4K4 b G 1", "4k4/9/9/9/9/9/9/9/4K4 b S 1"),
        ("4k4/9/4+P4/9/9/9/9/9/4K4 b - 1", "4k4/9/9/9/9/4+P4/9/9/4K4 b - 1"),  # near the enemy king
        ("4k4/9/9/9/9/9/9/4G4/4K4 b - 1", "4k4/9/9/9/9/G8/9/9/4K4 b - 1"),  # near the own king
        ("4k4/9/4S4/9/9/9/9/9/4K4 b R 1", "4k4/9/9/9/9/9/9/9/S3K4 b R 1"),  # an attack with a rook in hand
        ("k8/9/9/9/4p4/9/4R4/9/8K b - 1", "k8/9/9/9/4p4/4R4/9/9/8K b - 1"),  # out of a pawn's reach
    ],
)
def test_what_is_better_scores_more(better: str, worse: str) -> None:
    walker = Walker("shogi")
    walker.set(better)
    high = score(walker)
    walker.set(worse)
    assert high > score(walker)


def test_positions_without_kings_have_a_score() -> None:
    walker = Walker("shogi")
    walker.set("9/9/9/9/9/9/9/9/9 b - 1")
    assert score(walker) == TERMS.tempo
    walker.set("4k4/9/9/9/9/9/9/9/9 b G 1")
    assert score(walker) > VALUE[GOLD] // 2


def test_sliding_pieces_are_worth_less_on_small_boards() -> None:
    for kind, value in VALUE.items():
        assert value_of(kind, 9, 9) == value
        assert value_of(kind, 5, 5) <= value_of(kind, 6, 6) <= value
    assert value_of(GOLD, 5, 5) == VALUE[GOLD]


@pytest.mark.parametrize("variant", VARIANTS)
def test_tables_mirror_the_colours(variant: str) -> None:
    tables = Walker(variant).tables
    flip = tables["flip"]
    for kind in range(PAWN, KING + 7):
        for square in np.flatnonzero(flip < 81):
            black = tables["psqt"][kind][square]
            assert black == -tables["psqt"][kind | WHITE << COLOUR_SHIFT][flip[square]]
    assert (tables["hand_value"][0] == -tables["hand_value"][1]).all()
    assert tables["piece_value"][KING] > 2 * sum(VALUE.values())


def test_hands_are_counted_piece_by_piece() -> None:
    walker = Walker("shogi")
    walker.set("9/9/9/9/9/9/9/9/9 b - 1")
    walker.position["hand"][0] = pack_hand([0, 18, 4, 4, 4, 2, 2, 4])
    refresh(walker.position, walker.tables)
    values = walker.tables["hand_value"][0]
    assert score(walker) - TERMS.tempo == sum(
        int(values[kind]) * count for kind, count in enumerate([0, 18, 4, 4, 4, 2, 2, 4])
    )
