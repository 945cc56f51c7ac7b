"""What a position is worth: centipawns or plies to mate, and the winning chances that go with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.search.limits import Info, Result
from usi.protocol import MATE_LENGTH_UNKNOWN

WIN_SCALE = 600.0
"""Centipawns at which the chances stand at e : 1. 600 is what shogi programs have used since Ponanza, what GUIs such as
ShogiHome show by default, and what Narikin's own networks were trained with."""


@dataclass(frozen=True)
class Score:
    """The side to move's view; one of the two is None."""

    cp: int | None = None  # hundredths of a pawn
    mate: int | None = None  # plies to mate; negative: the side to move is mated; 0: it is mated now

    def __post_init__(self) -> None:
        if (self.cp is None) == (self.mate is None):
            raise ValueError(f"a score is either centipawns or a mate: {self.cp}, {self.mate}")

    @property
    def wins(self) -> bool:
        """True if the side to move mates."""
        return self.mate is not None and self.mate > 0

    def one_ply_earlier(self) -> Score:
        """The worth, to the player who moved here, of the move that led here."""
        if self.mate is None:
            return Score(cp=-(self.cp or 0))
        if abs(self.mate) >= MATE_LENGTH_UNKNOWN:
            return Score(mate=-self.mate)
        return Score(mate=-(self.mate + 1) if self.mate > 0 else 1 - self.mate)

    def win_probability(self, scale: float = WIN_SCALE) -> float:
        """Chances of the side to move, 0 to 1: logistic in the centipawns; a mate is certain."""
        if self.mate is not None:
            return 1.0 if self.mate > 0 else 0.0
        return 1 / (1 + math.exp(max(-500.0, min(500.0, -(self.cp or 0) / scale))))

    def text(self, sign: int = 1) -> str:
        """As people read it; sign=-1: from the other side's view."""
        if self.mate is None:
            return f"{sign * (self.cp or 0):+d}"
        mates = (self.mate > 0) == (sign > 0)
        length = "" if abs(self.mate) >= MATE_LENGTH_UNKNOWN or self.mate == 0 else f" in {abs(self.mate)}"
        return f"{'mate' if mates else 'mated'}{length}"


MATED = Score(mate=0)
DRAWN = Score(cp=0)
WON = Score(mate=1)


def score_of(report: Info | Result) -> Score | None:
    """The score of a search's report, None if it has none."""
    if report.mate is not None:
        return Score(mate=report.mate)
    return None if report.score_cp is None else Score(cp=report.score_cp)
