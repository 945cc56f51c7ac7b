"""What each piece contributes to a score: the change when it alone is lifted off the board."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.rules.codes import BLACK, COLOUR_SHIFT, COLOURS, HAND_TYPES, KING
from engine.rules.sfen import Placement
from eval import Evaluation


@dataclass
class Contributions:
    """A score and its parts, in the evaluation's units."""

    score: int  # for the side to move
    board: dict[int, int] = field(default_factory=dict)  # square: what its piece is worth to its owner; no kings
    hands: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))  # type: one piece of it


def contributions(evaluation: Evaluation, placement: Placement) -> Contributions:
    """Score a position, and again without each piece. A lifted piece is out of the game, as in a handicap."""
    from engine.rules.position import new_position, set_position

    position: Any = new_position()
    memory = evaluation.new_thread(position)  # must live as long as the position

    def for_black(changed: Placement) -> int:
        set_position(position, evaluation.tables, changed)
        score = evaluation.score(position)
        return score if changed.side == BLACK else -score

    whole = for_black(placement)
    found = Contributions(whole if placement.side == BLACK else -whole)
    for square, without in _without_one_on_board(placement):
        sign = 1 if placement.board[square] >> COLOUR_SHIFT == BLACK else -1
        found.board[square] = sign * (whole - for_black(without))
    for colour, kind, without in _without_one_in_hand(placement):
        sign = 1 if colour == BLACK else -1
        found.hands[colour][kind] = sign * (whole - for_black(without))
    del memory
    return found


def _without_one_on_board(placement: Placement) -> Iterator[tuple[int, Placement]]:
    for square, piece in enumerate(placement.board):
        if piece and piece & 15 != KING:
            changed = copy.deepcopy(placement)
            changed.board[square] = 0
            yield square, changed


def _without_one_in_hand(placement: Placement) -> Iterator[tuple[int, int, Placement]]:
    for colour in COLOURS:
        for kind in HAND_TYPES:
            if placement.hands[colour][kind]:
                changed = copy.deepcopy(placement)
                changed.hands[colour][kind] -= 1
                yield colour, kind, changed
