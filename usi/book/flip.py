"""Positions and moves with the colours swapped and the board turned, as text: one book entry serves both."""

from __future__ import annotations

from dataclasses import replace

from engine.rules.codes import RANK_LETTERS
from engine.rules.variants import Variant
from usi.book.entry import BookMove


def flip_key(key: str) -> str:
    """Board, side and hands of the same position seen by the other side."""
    board, side, hands = key.split()
    ranks = ["".join(reversed(_pieces(rank))) for rank in reversed(board.split("/"))]
    return f"{'/'.join(ranks)} {'w' if side == 'b' else 'b'} {_flip_hands(hands)}"


def _pieces(rank: str) -> list[str]:
    """Pieces with swapped colours, and digits."""
    out: list[str] = []
    for letter in rank:
        if out and out[-1] == "+":
            out[-1] += letter.swapcase()
        else:
            out.append(letter.swapcase())
    return out


def _flip_hands(hands: str) -> str:
    """Black's pieces stand first: the two halves change places."""
    if hands == "-":
        return hands
    halves = {True: "", False: ""}
    count = ""
    for letter in hands:
        if letter.isdigit():
            count += letter
        else:
            halves[letter.islower()] += count + letter.swapcase()
            count = ""
    return halves[True] + halves[False]


def flip_usi(move: str, variant: Variant) -> str:
    """A move of the other side."""
    if move[1] == "*":
        return move[:2] + _flip_square(move[2:4], variant)
    return _flip_square(move[:2], variant) + _flip_square(move[2:4], variant) + move[4:]


def _flip_square(name: str, variant: Variant) -> str:
    rank = variant.height - 1 - RANK_LETTERS.index(name[1])
    return f"{variant.width + 1 - int(name[0])}{RANK_LETTERS[rank]}"


def flip_move(move: BookMove, variant: Variant) -> BookMove:
    """A book's move of the other side; the score stays the mover's."""
    ponder = None if move.ponder is None else flip_usi(move.ponder, variant)
    return replace(move, move=flip_usi(move.move, variant), ponder=ponder)
