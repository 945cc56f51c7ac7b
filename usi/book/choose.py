"""Which of a position's book moves is played: the filters that users know from YaneuraOu, then a draw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from usi.book.entry import BookMove, ranked

NARROW_SHARE = 0.1  # of all games: what is played less often, NarrowBook leaves out


@dataclass(frozen=True)
class Filters:
    """Scores and differences in centipawns of the side to move."""

    eval_diff: int = 30  # a move may be so far behind the best
    black_limit: int = 0  # what black wants at least
    white_limit: int = -140
    depth_limit: int = 0  # of the best move, else the position is left alone; 0 = any
    narrow: bool = False
    by_count: bool = False  # draw in proportion to the counts


def playable(moves: Sequence[BookMove], black: bool, filters: Filters) -> list[BookMove]:
    """What is left of a position's moves, best first. A score that is not known counts as 0."""
    left = ranked(moves)
    total = sum(move.count or 0 for move in left)
    if filters.narrow and total:
        left = [move for move in left if (move.count or 0) >= NARROW_SHARE * total]
    if not left or (left[0].depth or 0) < filters.depth_limit:
        return []
    lowest = max(
        (left[0].score or 0) - filters.eval_diff,
        filters.black_limit if black else filters.white_limit,
    )
    return [move for move in left if (move.score or 0) >= lowest]


def draw(moves: Sequence[BookMove], filters: Filters, source: random.Random) -> BookMove:
    """One of them: each as likely, or in proportion to how often it was played."""
    weights = [move.count or 0 for move in moves] if filters.by_count else []
    if not any(weights):
        return source.choice(moves)
    return source.choices(moves, weights)[0]
