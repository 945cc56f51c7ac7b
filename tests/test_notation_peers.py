"""Move names against other programs' on random games: Western against pyffish, Japanese against cshogi."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from engine.rules.board import Board, Move


def random_positions(rng: random.Random, variant: str, games: int, plies: int) -> Iterator[tuple[Board, list[Move]]]:
    """Every position of random games, in order, with some of its moves; a new game starts with an empty move stack."""
    for _ in range(games):
        board = Board(variant=variant)
        for _ in range(plies):
            moves = list(board.legal_moves)
            if not moves:
                break
            yield board, rng.sample(moves, min(len(moves), 6))
            board.push(rng.choice(moves))


def uci(move: Move, width: int, height: int) -> str:
    """Files as letters from the left, ranks as numbers from below."""

    def name(square: int) -> str:
        return "abcdefghi"[width - 1 - square // 9] + str(height - square % 9)

    if move.dropped:
        return f"{move.dropped}@{name(move.to_square)}"
    return name(move.from_square or 0) + name(move.to_square) + ("+" if move.promotes else "")


@pytest.mark.parametrize("variant", ["shogi", "judkins", "minishogi"])
def test_western_names_are_those_of_pyffish(variant: str) -> None:
    pyffish = pytest.importorskip("pyffish")
    fen, differing, compared = "", 0, 0
    for board, moves in random_positions(random.Random(21), variant, games=2, plies=80):
        size = board.variant.width, board.variant.height
        if board.move_stack:
            fen = pyffish.get_fen(variant, fen, [uci(board.peek(), *size)])
        else:
            fen = pyffish.start_fen(variant)
        for move in moves:
            theirs = pyffish.get_san(variant, fen, uci(move, *size), False, pyffish.NOTATION_SHOGI_HODGES)
            ours = board.western(move)
            compared += 1
            if ours != theirs:  # they leave the origin out where only one of two pieces could promote
                assert move.promotes
                assert re.sub(r"^(\+?[A-Z])\d[a-i]", r"\1", ours) == theirs
                differing += 1
    assert compared > 400
    assert differing < compared / 50


def test_japanese_names_are_those_of_cshogi() -> None:
    cshogi = pytest.importorskip("cshogi")
    ki2 = pytest.importorskip("cshogi.KI2")
    other, differing, compared = cshogi.Board(), 0, 0
    for board, moves in random_positions(random.Random(22), "shogi", games=12, plies=120):
        if board.move_stack:
            other.push_usi(board.peek().usi())
        else:
            other = cshogi.Board()
        for move in moves:
            theirs = ki2.move_to_ki2(other.move_from_usi(move.usi()), other).replace("龍", "竜").replace("\u3000", "")
            ours = board.japanese(move)
            compared += 1
            if ours != theirs:  # they also tell a piece from one that is pinned, and read back it means the same
                assert theirs.startswith(ours)
                assert board.parse_japanese(theirs) == move
                differing += 1
    assert compared > 5000
    assert differing < compared / 200
