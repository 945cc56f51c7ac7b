"""The openings that come with the package: every line is legal, new, of a sensible length, and leaves a game."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.rules.board import Board
from usi.match.openings import shipped_set
from usi.match.schedule import read_openings

SETS = {"shogi": (300, 6, 24), "judkins": (150, 2, 16), "minishogi": (150, 3, 12)}  # how many at least, plies


@pytest.mark.parametrize("variant", SETS)
def test_shipped_openings_can_be_played(variant: str) -> None:
    path = shipped_set(variant)
    assert path is not None
    openings = read_openings(path)
    least, low, high = SETS[variant]
    assert least <= len(openings) <= 500
    positions = set()
    for opening in openings:
        board = Board(opening.sfen, variant)
        for move in opening.moves:
            board.push_usi(move)
        assert low <= len(opening.moves) <= high, opening
        assert not board.is_check() and board.outcome() is None, opening
        assert not board.is_repetition(2), opening
        positions.add(board.sfen().rpartition(" ")[0])
    assert len(positions) == len(openings)
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(openings) + 2  # two lines say how it was made


@pytest.mark.parametrize("variant", SETS)
def test_shipped_openings_differ_in_length_and_from_the_first_move_on(variant: str) -> None:
    path = shipped_set(variant)
    assert path is not None
    openings = read_openings(path)
    assert len({len(opening.moves) for opening in openings}) >= 5
    first = Counter(opening.moves[0] for opening in openings)
    assert len(first) >= 3 and max(first.values()) < 0.7 * len(openings)
