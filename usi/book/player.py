"""The book in play: the file that the options name, and the answer it has to a `go`."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.search.limits import Info, Limits, Result
from usi.book.choose import Filters, draw, playable
from usi.book.entry import BookError, BookMove, join_moves, ranked, split_sfen
from usi.book.file import BookFile
from usi.book.flip import flip_key, flip_move
from usi.options import NO_BOOK, SHIPPED_BOOK, OptionValues
from usi.protocol import Position

if TYPE_CHECKING:  # it loads numba
    from engine.rules.board import Board

SHIPPED = Path(__file__).resolve().parent / "books"
MATE, MATE_IN_MAX = 32000, 31000  # scores of books above the second are mates in MATE - score plies


def shipped_book(variant: str) -> Path | None:
    """The book that comes with the package, if the variant has one."""
    path = SHIPPED / f"{variant}.db"
    return path if path.is_file() else None


def book_path(options: OptionValues) -> Path | None:
    """The file to use; None for no book. A name without folder lies in BookDir."""
    name = str(options["BookFile"])
    if not options["USI_OwnBook"] or name.lower() in ("", NO_BOOK):
        return None
    if name.lower() == SHIPPED_BOOK:
        return shipped_book(str(options.setting("variant")))
    return Path(str(options["BookDir"])) / name


def wants_book(limits: Limits, options: OptionValues) -> bool:
    """True for a move of a game. Whoever studies (infinite, mate, a fixed depth, chosen moves) wants a search."""
    study = limits.infinite or limits.mate is not None or limits.depth is not None or limits.searchmoves
    return not study and not options["ConsiderationMode"]


@dataclass(frozen=True)
class Lookup:
    """How a position is found in a book."""

    ignore_ply: bool = True
    flipped: bool = True

    def moves(self, book: BookFile, board: Board) -> list[BookMove]:
        """The legal moves that a book has for a position, best first."""
        key, ply = split_sfen(board.sfen())
        found = self._of_key(book, key, ply)
        if not found and self.flipped:
            found = [flip_move(move, board.variant) for move in self._of_key(book, flip_key(key), ply)]
        return [move for move in ranked(found) if is_legal(board, move.move)]

    def _of_key(self, book: BookFile, key: str, ply: int | None) -> list[BookMove]:
        entries = book.entries(key)
        if not self.ignore_ply:
            entries = [entry for entry in entries if entry.ply is None or entry.ply == ply]
        return join_moves(entry.moves for entry in entries)

    def line(self, book: BookFile, board: Board, move: BookMove, length: int) -> list[str]:
        """The book's line that begins with a move, the answer it expects first of all; the board is left as it was."""
        line: list[str] = []
        following: BookMove | None = move
        while following is not None:
            board.push_usi(following.move)
            line.append(following.move)
            if len(line) >= length or board.is_repetition(2):
                break
            known = self.moves(book, board)
            if following.ponder is not None and is_legal(board, following.ponder):
                expected = following.ponder
                following = next((move for move in known if move.move == expected), BookMove(expected))
            else:
                following = known[0] if known else None
        for _ in line:
            board.pop()
        return line


def is_legal(board: Board, move: str) -> bool:
    """True for a move that can be played."""
    from engine.rules.moves import MoveError

    try:
        board.parse_usi(move)
    except MoveError:
        return False
    return True


@dataclass
class BookAnswer:
    """What the book has to say to a `go`."""

    infos: list[Info]
    result: Result


class BookPlayer:
    """The book of a session. Used by one thread."""

    def __init__(self, source: random.Random | None = None) -> None:
        self._random = source or random.Random()
        self._book: BookFile | None = None
        self._loaded: tuple[object, ...] = (None,)  # what the options said when it was loaded

    def is_current(self, options: OptionValues) -> bool:
        """True if `load` would change nothing."""
        return self._loaded == self._wanted(options)

    def load(self, options: OptionValues) -> list[str]:
        """Open the book that the options name, if it is not open; gives what to tell the user."""
        wanted = self._wanted(options)
        if wanted == self._loaded:
            return []
        self._loaded = wanted
        if self._book is not None:
            self._book.close()
            self._book = None
        path = book_path(options)
        if path is None:
            return []
        try:
            book = BookFile(path, bool(options["BookOnTheFly"]))
        except (BookError, MemoryError) as error:
            return [f"{str(error) or f'book {path} does not fit in memory'}; thinking without a book"]
        self._warm_up(book, str(options.setting("variant")))
        self._book = book
        return book.notes

    @staticmethod
    def _warm_up(book: BookFile, variant: str) -> None:
        """Load or compile what an answer needs, while no clock runs."""
        from engine.rules.board import Board

        board = Board(None, variant)
        Lookup().line(book, board, BookMove(next(iter(board.legal_moves)).usi()), 2)

    @staticmethod
    def _wanted(options: OptionValues) -> tuple[object, ...]:
        path = book_path(options)
        if path is None:
            return (None,)
        try:
            stamp = path.stat().st_mtime_ns
        except OSError:
            stamp = 0
        return path, stamp, options["BookOnTheFly"]

    def answer(self, position: Position, limits: Limits, options: OptionValues) -> BookAnswer | None:
        """A book move for a position, None if the search must find one. The position must be legal."""
        if self._book is None or not wants_book(limits, options):
            return None
        if options.number("BookIgnoreRate") > self._random.randrange(100):
            return None
        board = self._board(position, options)
        if board is None:
            return None
        lookup = Lookup(bool(options["IgnoreBookPly"]), bool(options["FlippedBook"]))
        known = lookup.moves(self._book, board)
        filters = filters_of(options)
        left = playable(known, board.turn == 0, filters)
        if not left:
            return None
        chosen = draw(left, filters, self._random)
        left = [chosen, *(move for move in left if move is not chosen)]
        length = options.number("BookPvMoves")
        infos = [
            info_of(number, move, lookup.line(self._book, board, move, length))
            for number, move in enumerate(left[: options.number("MultiPV")], 1)
        ]
        text = f"book move: {len(left)} of {len(known)} moves in {self._book.path.name} to choose from"
        best = infos[0]
        answer = lookup.line(self._book, board, chosen, 2)[1:]
        result = Result(
            chosen.move, answer[0] if answer else None, best.score_cp, best.mate, depth=best.depth, lines=infos
        )
        return BookAnswer([*infos, Info(text=text)], result)

    @staticmethod
    def _board(position: Position, options: OptionValues) -> Board | None:
        """The position if the book may be used in it: early in the game, and not where moves were repeated."""
        from engine.rules.board import Board

        board = Board(position.sfen, str(options.setting("variant")), strict=False)
        if board.move_number + len(position.moves) > options.number("BookMoves"):
            return None
        for move in position.moves:
            board.push_usi(move)
        return None if board.is_repetition(2) else board


def filters_of(options: OptionValues) -> Filters:
    """The filters that the options ask for."""
    return Filters(
        options.number("BookEvalDiff"),
        options.number("BookEvalBlackLimit"),
        options.number("BookEvalWhiteLimit"),
        options.number("BookDepthLimit"),
        bool(options["NarrowBook"]),
        bool(options["ConsiderBookMoveCount"]),
    )


def info_of(number: int, move: BookMove, line: list[str]) -> Info:
    """The report of a book move."""
    info = Info(depth=move.depth or 0, multipv=number, score_cp=move.score, pv=line)
    if move.score is not None and abs(move.score) > MATE_IN_MAX:
        info.score_cp = None
        info.mate = MATE - move.score if move.score > 0 else -MATE - move.score
    return info
