"""Moves as USI text and back. Pure Python, no numba."""

from __future__ import annotations

from engine.rules.codes import (
    KING,
    NO_MOVE,
    NULL_MOVE,
    PIECE_LETTERS,
    RANK_LETTERS,
    board_move,
    drop_move,
    is_drop,
    is_promotion,
    move_from,
    move_to,
    square_name,
    square_of,
)
from engine.rules.variants import Variant

NULL_TEXT = "0000"  # a pass, as UCI writes it; USI has no word for it


class MoveError(ValueError):
    """A move text that cannot be taken, or a move that is not legal; the message names it."""


def parse_usi(text: str, variant: Variant) -> int:
    """Move of a text such as "7g7f", "8h2b+" or "P*5e". Raises MoveError naming the bad part.

    Only the form is checked (squares on the board, pieces of the variant), not whether the move is legal.
    """
    if text[1:2] == "*":
        if len(text) != 4:
            raise MoveError(f"bad drop {text!r}: it is written like 'P*5e'")
        return drop_move(_parse_dropped(text, variant), _parse_square(text[2:4], text, variant))
    promote = text.endswith("+")
    squares = text[:-1] if promote else text
    if len(squares) != 4:
        raise MoveError(f"bad move {text!r}: it is written like '7g7f', '8h2b+' or 'P*5e'")
    origin, target = _parse_square(squares[:2], text, variant), _parse_square(squares[2:], text, variant)
    if origin == target:
        raise MoveError(f"bad move {text!r}: it stays on {squares[:2]!r}")
    return board_move(origin, target, promote)


def _parse_dropped(text: str, variant: Variant) -> int:
    kind = PIECE_LETTERS.find(text[0])
    if not 0 < kind < KING or not variant.box[kind]:
        raise MoveError(f"bad piece {text[0]!r} in drop {text!r}: {variant.name} has {variant.letters[:-1]}")
    return kind


def parse_square(name: str, variant: Variant) -> int:
    """Square of a name such as "7f". Raises MoveError if it is not on the board."""
    if len(name) != 2:
        raise MoveError(f"bad square {name!r}: it is written like '7f'")
    return _parse_square(name, name, variant)


def _parse_square(name: str, text: str, variant: Variant) -> int:
    file, rank = "123456789".find(name[0]), RANK_LETTERS.find(name[1])
    if not (0 <= file < variant.width and 0 <= rank < variant.height):
        last = square_name(square_of(variant.width - 1, variant.height - 1))
        where = "" if name == text else f" in move {text!r}"
        raise MoveError(f"bad square {name!r}{where}: {variant.name} has 1a to {last}")
    return square_of(file, rank)


def format_usi(move: int) -> str:
    """USI text of a move; a pass is "0000" and no move "none"."""
    move = int(move)
    if move == NO_MOVE:
        return "none"
    if move == NULL_MOVE:
        return NULL_TEXT
    if is_drop(move):
        return f"{PIECE_LETTERS[move_from(move)]}*{square_name(move_to(move))}"
    return square_name(move_from(move)) + square_name(move_to(move)) + ("+" if is_promotion(move) else "")
