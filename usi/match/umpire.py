"""The rules as a referee asks them: is the move legal, is the game over, is the declaration right?"""

from __future__ import annotations

from dataclasses import dataclass

from engine.rules.impasse import DEFAULT_RULE
from engine.rules.moves import MoveError
from usi.match.schedule import Opening


def load_rules() -> None:
    """Load or compile the rules, which the first Umpire would do otherwise."""
    from engine.rules.board import Board

    Board()


class IllegalMove(ValueError):
    """A move that the rules do not allow, or no move at all; the text names it."""


@dataclass(frozen=True)
class End:
    """How a game ended: winner BLACK (0), WHITE (1) or None for a draw, why, and details for people."""

    winner: int | None
    reason: str
    detail: str = ""


class Umpire:
    """The board of one game."""

    def __init__(self, variant: str, opening: Opening, rule: str | None, max_moves: int) -> None:
        """Set the opening up. Raises IllegalMove, or ValueError for a bad position."""
        from engine.rules.board import Board  # here, because it loads numba

        self.board = Board(opening.sfen, variant)
        self.rule = rule or DEFAULT_RULE
        self.max_moves = max_moves
        for move in opening.moves:
            self.push(move)

    @property
    def side(self) -> int:
        """Side to move."""
        return self.board.turn

    def push(self, move: str) -> None:
        """Play a move given as USI text. Raises IllegalMove."""
        try:
            self.board.push_usi(move)
        except MoveError as error:
            raise IllegalMove(str(error)) from None

    def verdict(self) -> End | None:
        """The end of the game, None while it goes on."""
        outcome = self.board.outcome(self.rule, self.max_moves)
        if outcome is None:
            return None
        return End(outcome.winner, outcome.termination.value)

    def declaration(self) -> End:
        """The side to move says that it has won: it has, or it loses by a wrong declaration."""
        if self.board.may_declare(self.rule):
            return End(self.side, "declaration", self.rule)
        return End(self.side ^ 1, "wrong declaration", f"{self.rule} does not give a win in {self.board.sfen()}")

    def goes_on_after(self, move: str) -> bool:
        """True if a move is legal and does not end the game: worth pondering on."""
        try:
            self.board.push_usi(move)
        except MoveError:
            return False
        over = self.verdict() is not None
        self.board.pop()
        return not over
