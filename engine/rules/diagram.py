"""A position as plain text, in letters and in kanji. Pure Python, no numba."""

from __future__ import annotations

from engine.rules.codes import (
    BLACK,
    DRAGON,
    HAND_TYPES,
    PIECE_LETTERS,
    PRO_KNIGHT,
    PRO_LANCE,
    PRO_SILVER,
    RANK_LETTERS,
    WHITE,
    colour_of,
    piece_letter,
    square_of,
    type_of,
)
from engine.rules.notation import FILES, KANJI, RANKS
from engine.rules.sfen import COLOUR_NAMES, Placement
from engine.rules.variants import Variant

# one character a piece, as on the pieces themselves and in diagrams
ONE_KANJI = {
    **{kind: name for kind, name in enumerate(KANJI[: DRAGON + 1]) if len(name) == 1},
    PRO_LANCE: "杏",
    PRO_KNIGHT: "圭",
    PRO_SILVER: "全",
}

UNITS = "〇一二三四五六七八九"


def letters(placement: Placement, variant: Variant) -> str:
    """The board with SFEN letters, white's hand above and black's below, no line end at the end."""
    files = "".join(f"{file:>3}" for file in range(variant.width, 0, -1))
    lines = [f"white: {_hand_letters(placement.hands[WHITE], WHITE)}", files]
    for rank in range(variant.height):
        cells = (placement.board[square_of(file, rank)] for file in range(variant.width - 1, -1, -1))
        row = "".join(f"{piece_letter(piece) if piece else '.':>3}" for piece in cells)
        lines.append(f"{row}  {RANK_LETTERS[rank]}")
    lines.append(f"black: {_hand_letters(placement.hands[BLACK], BLACK)}")
    lines.append(f"{COLOUR_NAMES[placement.side]} to move, move {placement.ply}")
    return "\n".join(lines)


def _hand_letters(hand: list[int], colour: int) -> str:
    held = [
        f"{hand[kind]}{PIECE_LETTERS[kind]}" if hand[kind] > 1 else PIECE_LETTERS[kind]
        for kind in HAND_TYPES
        if hand[kind]
    ]
    text = " ".join(held) or "-"
    return text.lower() if colour == WHITE else text


def kanji(placement: Placement, variant: Variant) -> str:
    """The board in the form that game records use (BOD): white's pieces carry a `v`, no line end at the end."""
    border = "+" + "---" * variant.width + "+"
    lines = [
        f"後手の持駒：{_hand_kanji(placement.hands[WHITE])}",
        "".join(f" {FILES[file]}" for file in range(variant.width - 1, -1, -1)),
        border,
    ]
    for rank in range(variant.height):
        cells = (placement.board[square_of(file, rank)] for file in range(variant.width - 1, -1, -1))
        lines.append("|" + "".join(_cell(piece) for piece in cells) + "|" + RANKS[rank])
    lines += [border, f"先手の持駒：{_hand_kanji(placement.hands[BLACK])}"]
    lines.append("後手番" if placement.side == WHITE else "先手番")
    return "\n".join(lines)


def _cell(piece: int) -> str:
    if not piece:
        return " ・"
    return ("v" if colour_of(piece) == WHITE else " ") + ONE_KANJI[type_of(piece)]


def _hand_kanji(hand: list[int]) -> str:
    held = [KANJI[kind] + (kanji_number(hand[kind]) if hand[kind] > 1 else "") for kind in HAND_TYPES if hand[kind]]
    return "　".join(held) or "なし"


def kanji_number(number: int) -> str:
    """1 to 99 as in a hand: 二, 十, 十八, 二十."""
    tens, units = divmod(number, 10)
    text = (UNITS[tens] if tens > 1 else "") + ("十" if tens else "")
    return text + (UNITS[units] if units else "")
