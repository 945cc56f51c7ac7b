"""Positions as text and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from engine.rules.codes import NULL_MOVE
from engine.rules.diagram import kanji, kanji_number, letters
from engine.rules.moves import parse_usi
from engine.rules.sfen import parse_sfen
from engine.rules.svg import CELL, RED, board_svg
from engine.rules.variants import JUDKINS, MINISHOGI, SHOGI, VARIANTS, Variant

POSITION = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
SVG = "{http://www.w3.org/2000/svg}"


def picture(sfen: str, variant: Variant, **options: object) -> ElementTree.Element:
    return ElementTree.fromstring(board_svg(parse_sfen(sfen, variant), variant, **options))  # type: ignore[arg-type]


def place(element: ElementTree.Element) -> tuple[float, float]:
    """Where a piece stands."""
    x, y = element.attrib["transform"].split("(")[1].split(")")[0].split()
    return float(x), float(y)


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_every_piece_is_drawn_once_and_whites_stand_on_their_heads() -> None:
    root = picture(POSITION, SHOGI)
    pieces = root.findall(f"{SVG}g")
    on_board = sum(letter.isalpha() for letter in POSITION.split()[0])
    assert len(pieces) == on_board + 5  # five kinds in hand
    turned = [piece for piece in pieces if "rotate(180)" in piece.attrib["transform"]]
    white = sum(letter.islower() for letter in POSITION.split()[0]) + 4
    assert len(turned) == white


def test_promoted_pieces_are_red() -> None:
    red = [text.text for text in picture(POSITION, SHOGI).iter(f"{SVG}text") if text.attrib["fill"] == RED]
    assert sorted(red) == sorted(["竜", "竜", "と"])


def test_hands_show_their_counts() -> None:
    assert "3" in texts(picture(POSITION, SHOGI))
    assert "18" in texts(picture("4k4/9/9/9/9/9/9/9/4K4 b 18P 1", SHOGI))


@pytest.mark.parametrize(("usi", "marks"), [("7i7h", 2), ("P*5e", 1), (None, 0)])
def test_the_last_move_is_marked(usi: str | None, marks: int) -> None:
    move = parse_usi(usi, SHOGI) if usi else NULL_MOVE
    root = picture(POSITION, SHOGI, last_move=move)
    assert len([r for r in root.iter(f"{SVG}rect") if r.attrib.get("class") == "last-move"]) == marks


def test_the_mark_lies_under_the_square_that_was_moved_to() -> None:
    root = picture("4k4/9/9/9/9/9/9/9/K8 w - 1", SHOGI, last_move=parse_usi("8i9i", SHOGI))
    mark = next(r for r in root.iter(f"{SVG}rect") if r.attrib.get("class") == "last-move")
    corner = float(mark.attrib["x"]) + CELL / 2, float(mark.attrib["y"]) + CELL / 2
    assert corner in [place(piece) for piece in root.findall(f"{SVG}g")]


def test_flipping_turns_the_whole_board_round() -> None:
    upright = picture(POSITION, SHOGI).findall(f"{SVG}g")
    flipped = picture(POSITION, SHOGI, flipped=True).findall(f"{SVG}g")
    assert len(upright) == len(flipped)
    assert place(upright[0]) != place(flipped[0])
    for one, other in zip(upright, flipped, strict=True):
        assert ("rotate" in one.attrib["transform"]) != ("rotate" in other.attrib["transform"])


@pytest.mark.parametrize("variant", list(VARIANTS.values()), ids=lambda v: v.name)
def test_size_and_coordinates(variant: Variant) -> None:
    root = picture(variant.start_sfen, variant, size=300)
    assert root.attrib["width"] == "300"
    shown = texts(root)
    assert "１２３４５６７８９"[: variant.width] == "".join(sorted(t for t in shown if t in "１２３４５６７８９"))
    assert len([t for t in shown if t in "一二三四五六七八九"]) == variant.height
    left, top, width, height = (float(number) for number in root.attrib["viewBox"].split())
    for piece in root.findall(f"{SVG}g"):
        x, y = place(piece)
        assert left < x < width
        assert top < y < height


def test_letters() -> None:
    assert letters(parse_sfen("r1sgk/4p/2+B2/P4/KGS1R w B 7", MINISHOGI), MINISHOGI).splitlines() == [
        "white: -",
        "  5  4  3  2  1",
        "  r  .  s  g  k  a",
        "  .  .  .  .  p  b",
        "  .  . +B  .  .  c",
        "  P  .  .  .  .  d",
        "  K  G  S  .  R  e",
        "black: B",
        "white to move, move 7",
    ]


def test_kanji_is_the_form_that_game_records_use() -> None:
    assert kanji(parse_sfen("rbnsgk/5p/6/2+N3/6/KG1RB1 b Ps 1", JUDKINS), JUDKINS).splitlines() == [
        "後手の持駒：銀",
        " ６ ５ ４ ３ ２ １",
        "+------------------+",
        "|v飛v角v桂v銀v金v玉|一",
        "| ・ ・ ・ ・ ・v歩|二",
        "| ・ ・ ・ ・ ・ ・|三",
        "| ・ ・ 圭 ・ ・ ・|四",
        "| ・ ・ ・ ・ ・ ・|五",
        "| 玉 金 ・ 飛 角 ・|六",
        "+------------------+",
        "先手の持駒：歩",
        "先手番",
    ]


@pytest.mark.parametrize(
    ("number", "text"), [(1, "一"), (2, "二"), (10, "十"), (11, "十一"), (18, "十八"), (20, "二十")]
)
def test_kanji_numbers(number: int, text: str) -> None:
    assert kanji_number(number) == text
