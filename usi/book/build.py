"""New books: from the moves of games, and out of other books."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from usi.book.entry import BookMove, Entry, join_moves, ranked, split_sfen
from usi.records.ends import winner

if TYPE_CHECKING:
    from engine.rules.board import Board

BLACK, WHITE = 0, 1
VARIANTS_BY_RANKS = {9: "shogi", 6: "judkins", 5: "minishogi"}  # books do not say what they are of


class Record(Protocol):
    """A game as far as a book needs it (usi.records.game.Game)."""

    @property
    def start(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def end(self) -> str | None: ...
    def moves(self) -> list[str]: ...
    def side_at(self, ply: int) -> int: ...


@dataclass
class Tally:
    """What games did in one position."""

    ply: int
    moves: dict[str, int] = field(default_factory=dict)  # how often each was played


class GameCounter:
    """Counts the moves of games, position by position."""

    def __init__(self, plies: int, winners: bool = False) -> None:
        """Moves up to a ply; `winners`: only those of the side that won."""
        self.plies = plies
        self.winners = winners
        self.games = 0
        self._tallies: dict[str, Tally] = {}

    def add(self, game: Record) -> None:
        """Count the main line of a game. Raises ValueError for an illegal move or position."""
        from engine.rules.board import Board

        moves = game.moves()
        won = winner(game.end, game.side_at(len(moves))) if self.winners else None
        if self.winners and won is None:
            return
        self.games += 1
        board = Board(game.start, game.variant)
        for ply, move in enumerate(moves[: self.plies]):
            key, number = split_sfen(board.sfen())
            if won is None or board.turn == won:
                tally = self._tallies.setdefault(key, Tally(number or ply + 1))
                tally.ply = min(tally.ply, number or ply + 1)
                tally.moves[move] = tally.moves.get(move, 0) + 1
            board.push_usi(move)

    def entries(self, at_least: int = 1) -> list[Entry]:
        """The positions with the moves that were played so often, most often first."""
        out = []
        for key, tally in self._tallies.items():
            moves = [BookMove(move, count=count) for move, count in tally.moves.items() if count >= at_least]
            if moves:
                out.append(Entry(key, tally.ply, tuple(ranked(moves))))
        return out


class Checker:
    """Leaves out what is illegal, and counts it."""

    def __init__(self) -> None:
        self.positions = 0
        self.moves = 0

    def check(self, entries: Iterable[Entry]) -> list[Entry]:
        """The legal moves of positions that can be."""
        from engine.rules.board import Board

        out = []
        for entry in entries:
            try:
                board = Board(entry.sfen, VARIANTS_BY_RANKS.get(entry.key.partition(" ")[0].count("/") + 1, "shogi"))
            except ValueError:
                self.positions += 1
                continue
            moves = tuple(move for move in entry.moves if _is_legal(board, move.move))
            self.moves += len(entry.moves) - len(moves)
            out.append(entry if len(moves) == len(entry.moves) else replace(entry, moves=moves))
        return out


def _is_legal(board: Board, move: str) -> bool:
    try:
        return bool(board.is_legal(board.parse_usi(move)))
    except ValueError:
        return False


def merge(books: Sequence[Iterable[Entry]], ignore_ply: bool = False) -> list[Entry]:
    """One book of several: of a move that two know the deeper word counts, and how often it was played adds up.

    A position under several move numbers stays under each, unless `ignore_ply` says that it is one.
    """
    together: dict[tuple[str, int | None], list[Entry]] = {}
    for book in books:
        for entry in book:
            together.setdefault((entry.key, None if ignore_ply else entry.ply), []).append(entry)
    return [_joined(entries) for entries in together.values()]


def _joined(entries: list[Entry]) -> Entry:
    plies = [entry.ply for entry in entries if entry.ply is not None]
    comments = dict.fromkeys(text for entry in entries for text in entry.comments)
    moves = join_moves(entry.moves for entry in entries)
    if len(entries) > 1:
        moves = ranked(moves)
    return Entry(entries[0].key, min(plies) if plies else None, tuple(moves), tuple(comments))
