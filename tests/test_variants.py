"""The three games as data: starts, sets, handicaps."""

from __future__ import annotations

import pytest

from engine.rules.codes import BLACK, WHITE, base_type, colour_of
from engine.rules.sfen import format_sfen, parse_sfen
from engine.rules.variants import VARIANTS, Variant, get_variant, handicap_sfen

ALL = list(VARIANTS.values())


def pieces(sfen: str, variant: Variant, colour: int) -> str:
    """Sorted capital letters of one side's pieces on the board."""
    placement = parse_sfen(sfen, variant)
    found = [" PLNSBRGK"[base_type(piece)] for piece in placement.board if piece and colour_of(piece) == colour]
    return "".join(sorted(found))


@pytest.mark.parametrize("variant", ALL, ids=lambda v: v.name)
def test_start_holds_the_whole_set(variant: Variant) -> None:
    placement = parse_sfen(variant.start_sfen, variant)
    counts = [0] * 9
    for piece in placement.board:
        if piece:
            counts[base_type(piece)] += 1
    assert tuple(counts) == variant.box
    assert format_sfen(placement, variant) == variant.start_sfen


@pytest.mark.parametrize(
    ("name", "width", "height", "zone", "letters", "points", "draw", "win"),
    [
        ("shogi", 9, 9, 3, "PLNSBRGK", 54, 24, 31),
        ("judkins", 6, 6, 2, "PNSBRGK", 28, 13, 16),
        ("minishogi", 5, 5, 1, "PSBRGK", 26, 12, 15),
    ],
)
def test_shape(name: str, width: int, height: int, zone: int, letters: str, points: int, draw: int, win: int) -> None:
    variant = get_variant(name)
    assert (variant.width, variant.height, variant.zone_ranks, variant.letters) == (width, height, zone, letters)
    assert (variant.points, variant.draw_points, variant.win_points) == (points, draw, win)


@pytest.mark.parametrize(
    ("name", "handicap", "removed"),
    [
        ("shogi", "lance", "L"),
        ("shogi", "bishop", "B"),
        ("shogi", "rook", "R"),
        ("shogi", "rook-lance", "LR"),
        ("shogi", "2", "BR"),
        ("shogi", "4", "BLLR"),
        ("shogi", "6", "BLLNNR"),
        ("shogi", "8", "BLLNNRSS"),
        ("shogi", "10", "BGGLLNNRSS"),
        ("judkins", "bishop", "B"),
        ("judkins", "rook", "R"),
        ("judkins", "2", "BR"),
        ("judkins", "3", "BNR"),
        ("judkins", "4", "BNRS"),
        ("minishogi", "bishop", "B"),
        ("minishogi", "rook", "R"),
        ("minishogi", "2", "BR"),
        ("minishogi", "3", "BRS"),
    ],
)
def test_handicap_takes_pieces_from_white_who_moves_first(name: str, handicap: str, removed: str) -> None:
    variant = get_variant(name)
    sfen = handicap_sfen(variant, handicap)
    assert sfen.endswith(" w - 1")
    whole = pieces(variant.start_sfen, variant, WHITE)
    assert "".join(sorted(pieces(sfen, variant, WHITE) + removed)) == whole
    assert pieces(sfen, variant, BLACK) == pieces(variant.start_sfen, variant, BLACK)


def test_lance_handicap_is_whites_left_lance() -> None:
    assert handicap_sfen(get_variant("shogi"), "lance").startswith("lnsgkgsn1/")


def test_piece_handicaps_may_be_spelled_out() -> None:
    shogi = get_variant("shogi")
    assert handicap_sfen(shogi, "6-piece") == handicap_sfen(shogi, "6-Pieces") == handicap_sfen(shogi, "6")


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'chess'.*judkins"):
        get_variant("chess")
    with pytest.raises(ValueError, match="'lance'.*judkins.*bishop"):
        handicap_sfen(get_variant("judkins"), "lance")
