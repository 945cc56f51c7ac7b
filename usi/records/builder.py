"""Builds the tree of a game while every move is tried on a board, so that nothing illegal gets into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rules.codes import square_name
from engine.rules.moves import MoveError
from engine.rules.sfen import SfenError
from engine.rules.variants import get_variant
from usi.records.ends import FOULS, ILLEGAL_MOVE
from usi.records.game import Game, Node, RecordError

if TYPE_CHECKING:
    from engine.rules.board import Board


def make_board(variant: str, start: str, line: int | None = None) -> Board:
    """A board at the start of a game. Raises RecordError for a position that cannot be."""
    from engine.rules.board import Board  # here, because it loads numba

    try:
        return Board(start, variant)
    except SfenError as error:
        raise RecordError(f"bad position: {error}", line) from None


class Builder:
    """The reader's place in a game: `node` is the last node read, `board` the position behind it."""

    def __init__(self, start: str | None = None, variant: str = "shogi", line: int | None = None) -> None:
        """An empty game. Raises RecordError for a start that cannot be; `line` is where it stands in the file."""
        start = start or get_variant(variant).start_sfen
        self.board = make_board(variant, start, line)
        self.game = Game(self.board.sfen(), variant)
        self.node = self.game.root
        self._path = [self.game.root]  # the line of play up to here, the root first
        self._refused: RecordError | None = None  # an illegal move that only an end by illegal move can excuse

    @property
    def ply(self) -> int:
        """Number of moves before the next one."""
        return len(self.board.move_stack)

    @property
    def ended(self) -> bool:
        """True behind the end of a line."""
        return self.node.end is not None

    @property
    def side(self) -> int:
        """Side to move, after an illegal move too."""
        return self.board.turn ^ self.refused

    @property
    def refused(self) -> bool:
        """True behind an illegal move, until an end by illegal move excuses it."""
        return self._refused is not None

    @property
    def last_target(self) -> str | None:
        """Square of the move before, such as "7f"; None at the start."""
        return square_name(self.board.move_stack[-1].to_square) if self.board.move_stack else None

    def piece_at(self, square: str) -> str | None:
        """Letters of the piece on a square; None if it is empty or there is no such square."""
        try:
            return self.board.piece_at(square)
        except MoveError:
            return None

    def play(self, usi: str, line: int | None, text: str | None = None) -> Node:
        """Play a move given as USI text. `text` is what the file says.

        Raises RecordError for a move after the end. An illegal one is raised by what follows, unless that is an end by
        illegal move.
        """
        self._go_on(line)
        try:
            self.board.push_usi(usi)
        except MoveError as error:
            shown = text or usi
            self._refused = RecordError(f"illegal move {shown!r}: {error}" if shown != usi else str(error), line)
            self.node = Node(usi)
            return self.node
        return self._append(Node(usi))

    def play_japanese(self, text: str, line: int | None) -> Node:
        """Play a move given in Japanese without its origin, such as △同銀右. Raises RecordError."""
        self._go_on(line)
        try:
            move = self.board.parse_japanese(text)
        except MoveError as error:
            raise RecordError(f"{error} in {self.board.sfen()!r}", line) from None
        self.board.push(move)
        return self._append(Node(move.usi()))

    def end(self, word: str, line: int | None) -> Node:
        """The line of play ends. Raises RecordError if it has ended before."""
        ending = Node(end=word)
        foul = FOULS[self.board.turn]
        if self._refused is not None and word in (ILLEGAL_MOVE, foul):
            ending.end, ending.illegal = foul, self.node.move
            ending.seconds, ending.comments = self.node.seconds, self.node.comments
            self._refused = None
            self.node = self._path[-1]
        self._go_on(line)
        self.node = self._path[-1].add(ending)
        return ending

    def fork(self, ply: int, line: int | None) -> None:
        """Go back to the position before move number `ply` + 1 of the present line. Raises RecordError."""
        self.finish()
        if not 0 <= ply <= self.ply:
            raise RecordError(f"a variation at move {ply + 1}, but the line before it has {self.ply} moves", line)
        while self.ply > ply:
            self.board.pop()
            self._path.pop()
        self.node = self._path[-1]

    def finish(self) -> Game:
        """The game so far. Raises RecordError if its last move was illegal."""
        if self._refused is not None:
            raise self._refused
        return self.game

    def _go_on(self, line: int | None) -> None:
        self.finish()
        if self.ended:
            raise RecordError(f"the line of play goes on after its end {self.node.end}", line)

    def _append(self, node: Node) -> Node:
        self.node = self._path[-1].add(node)
        self._path.append(node)
        return node
