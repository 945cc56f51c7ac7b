"""Make, join and read opening books (YaneuraOu's text format, .db).

search grows a book from positions with our engine, build counts the moves of games, merge joins books, show prints
what a book has for a position, or how large it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from usi.book.build import Checker, GameCounter, merge
from usi.book.entry import BookMove, Entry, ranked
from usi.book.explore import Effort, Explorer, Journal, own_search
from usi.book.file import BookFile, write_book
from usi.book.player import Lookup
from usi.commands._arguments import POSITION_HELP, add_engine, add_variant, count, read_position
from usi.match.schedule import read_openings
from usi.protocol import Position

REPORT_SECONDS = 10.0  # between two lines of progress where no terminal shows a bar
DEFAULT_NODES = 100_000
LINE_LENGTH = 12  # plies of a book's line that are shown


def add_parser(subparsers: Any) -> None:
    """`narikin book`."""
    parser = subparsers.add_parser(
        "book", help="opening books", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=_intermixed(type(parser)))
    _add_search(actions.add_parser("search", help="grow a book from positions with our engine"))
    _add_build(actions.add_parser("build", help="count the moves of games"))
    _add_merge(actions.add_parser("merge", help="join books"))
    _add_show(actions.add_parser("show", help="print what a book has for a position, or how large it is"))


def _intermixed(kind: type[argparse.ArgumentParser]) -> type[argparse.ArgumentParser]:
    """A parser that takes words behind options too: `show BOOK --variant minishogi startpos`."""

    class Intermixed(kind):  # type: ignore[valid-type,misc]
        _inside = False  # parse_known_intermixed_args calls the plain one

        def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
            if self._inside:
                return super().parse_known_args(args, namespace)
            self._inside = True
            try:
                return self.parse_known_intermixed_args(args, namespace)
            finally:
                self._inside = False

    return Intermixed


def _add_search(parser: argparse.ArgumentParser) -> None:
    parser.description = "Grow a book from positions with our engine. The same command goes on after a kill."
    parser.add_argument("--out", required=True, metavar="FILE", help="the book; FILE.work keeps what is finished")
    parser.add_argument("--nodes", type=count(1), default=0, metavar="N", help="nodes for each position (100000)")
    parser.add_argument("--depth", type=count(1, 200), default=0, metavar="N", help="depth for each position")
    parser.add_argument("--plies", type=count(0, 500), default=16, metavar="N", help="length of the book's lines (16)")
    parser.add_argument("--positions", type=count(1), default=1000, metavar="N", help="positions to search (1000)")
    parser.add_argument("--lines", type=count(1, 50), default=4, metavar="N", help="moves for each position (4)")
    parser.add_argument("--margin", type=count(0), default=60, metavar="CP", help="how far behind the best (60)")
    parser.add_argument("--openings", metavar="FILE", help="start from these: lines of USI moves or SFEN (startpos)")
    add_engine(parser)
    add_variant(parser)
    parser.set_defaults(action=search)


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.description = "Count the moves of games. Files of any format that `narikin convert` reads."
    parser.add_argument("games", nargs="+", metavar="GAMES", help="files of game records")
    parser.add_argument("--out", required=True, metavar="FILE", help="the book")
    parser.add_argument("--plies", type=count(1, 1000), default=24, metavar="N", help="moves of each game (24)")
    parser.add_argument("--at-least", type=count(1), default=1, metavar="N", help="leave rarer moves out (1)")
    parser.add_argument("--winners", action="store_true", help="only moves of the side that won")
    add_variant(parser)
    parser.set_defaults(action=build)


def _add_merge(parser: argparse.ArgumentParser) -> None:
    parser.description = "Join books: of a move that two know the deeper word counts, and counts add up."
    parser.add_argument("books", nargs="+", metavar="BOOK", help="the books; one alone is checked and sorted")
    parser.add_argument("--out", required=True, metavar="FILE", help="the book")
    parser.add_argument("--ignore-ply", action="store_true", help="one entry for a position, whatever its move number")
    parser.set_defaults(action=join)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print what a book has for a position; without a position, how large it is."
    parser.add_argument("book", metavar="BOOK", help="the book")
    parser.add_argument("position", nargs="*", help=POSITION_HELP)
    parser.add_argument("--ply", action="store_true", help="only under the position's own move number")
    parser.add_argument("--no-flip", action="store_true", help="not with colours swapped")
    parser.add_argument("--on-the-fly", action="store_true", help="search a big sorted file on disk")
    add_variant(parser)
    parser.set_defaults(action=show)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked."""
    return int(arguments.action(arguments))


def search(arguments: argparse.Namespace) -> int:
    """Grow a book; the exit code is 130 after Ctrl-C, when the book holds what was finished."""
    from usi.commands.analyse import announce_compilation

    out = Path(arguments.out)
    roots = list(_roots(arguments))
    announce_compilation()
    nodes = arguments.nodes or (0 if arguments.depth else DEFAULT_NODES)
    wanted = Effort(nodes, arguments.depth, arguments.lines, arguments.margin)
    think, effort = own_search(wanted, arguments.variant, arguments.threads, arguments.hash)
    journal = Journal(out.with_name(out.name + ".work"), effort, arguments.variant)
    before = len(journal.entries)
    if before:
        print(f"{journal.path}: {before} positions are there")
    stopped = False

    def explore(progress: Callable[[int, int], None], positions: int) -> int:
        explorer = Explorer(think, effort, journal, arguments.variant, arguments.plies, positions, progress)
        entries = explorer.run(roots)
        write_book(out, entries, str(effort))
        return len(entries)

    try:
        with Meter(arguments.positions) as meter:
            written = explore(meter.show, arguments.positions)
    except KeyboardInterrupt:
        stopped = True
        written = explore(lambda done, waiting: None, len(journal.entries)) if journal.entries else 0
        print("stopped; the same command goes on")
    print(f"{out}: {written} positions, {len(journal.entries) - before} of them new")
    return 130 if stopped else 0


def _roots(arguments: argparse.Namespace) -> Iterator[Position]:
    """Where the tree begins."""
    if arguments.openings is None:
        yield Position()
        return
    for opening in read_openings(Path(arguments.openings)):
        yield read_position([str(opening)], arguments.variant)


class Meter:
    """Progress with the time left: a bar on a terminal, else a line now and then."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._terminal = console.is_terminal
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[waiting]} waiting"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("", total=total, waiting=0)
        self._total = total
        self._start = self._last = time.monotonic()

    def __enter__(self) -> Meter:
        if self._terminal:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._terminal:
            self._bar.stop()

    def show(self, done: int, waiting: int) -> None:
        """So many positions are finished and so many wait."""
        self._bar.update(self._task, completed=done, waiting=waiting)
        now = time.monotonic()
        if not self._terminal and now - self._last >= REPORT_SECONDS:
            self._last = now
            print(f"{done} of {self._total} positions, {waiting} waiting", file=sys.stderr, flush=True)


def build(arguments: argparse.Namespace) -> int:
    """Count the moves of games. Files that cannot be read are named and left out."""
    from usi.main import BAD_INPUT
    from usi.records.files import read_games

    counter = GameCounter(arguments.plies, arguments.winners)
    read = 0
    for name in arguments.games:
        path = Path(name)
        try:
            for game in read_games(path.read_bytes(), path.name, variant=arguments.variant):
                counter.add(game)
            read += 1
        except (ValueError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            print(f"narikin: {name} is left out: {' '.join(str(reason).split())}", file=sys.stderr, flush=True)
    if not read:
        return BAD_INPUT
    entries = counter.entries(arguments.at_least)
    if not entries:
        raise ValueError("no move of these games is left for a book")
    write_book(Path(arguments.out), entries)
    print(f"{arguments.out}: {counter.games} games, {_size(entries)}")
    return 0


def join(arguments: argparse.Namespace) -> int:
    """Join books."""
    entries = merge([_checked(name) for name in arguments.books], arguments.ignore_ply)
    write_book(Path(arguments.out), entries)
    print(f"{arguments.out}: {_size(entries)}")
    return 0


def _checked(name: str) -> list[Entry]:
    """The legal part of a book; how much was left out is said on stderr."""
    book = BookFile(Path(name))
    checker = Checker()
    entries = checker.check(book)
    lost = {"positions": checker.positions, "moves": checker.moves, "lines that make no sense": len(book.complaints)}
    if any(lost.values()):
        counts = ", ".join(f"{number} {what}" for what, number in lost.items() if number)
        print(f"narikin: {name}: left out as illegal or unreadable: {counts}", file=sys.stderr, flush=True)
    return entries


def _size(entries: list[Any]) -> str:
    return f"{len(entries)} positions, {sum(len(entry.moves) for entry in entries)} moves"


def show(arguments: argparse.Namespace) -> int:
    """Print; the exit code is 1 if the book does not have the position."""
    book = BookFile(Path(arguments.book), arguments.on_the_fly)
    for note in book.notes:
        print(note, file=sys.stderr)
    if not arguments.position:
        print(f"{book.path}: {_size(list(book))}")
        return 0
    from engine.rules.board import Board

    position = read_position(arguments.position, arguments.variant)
    board = Board(position.sfen, arguments.variant, strict=False)
    for move in position.moves:
        board.push_usi(move)
    lookup = Lookup(not arguments.ply, not arguments.no_flip)
    moves = lookup.moves(book, board)
    print(board.sfen())
    if not moves:
        print("not in the book")
        return 1
    for row in _rows(book, board, lookup, moves):
        print("  ".join(row).rstrip())
    return 0


def _rows(book: BookFile, board: Any, lookup: Lookup, moves: list[BookMove]) -> Iterator[list[str]]:
    """A table: move, score, depth, how often, share, the book's line."""
    total = sum(move.count or 0 for move in moves)
    yield ["move ", f"{'score':>6}", "depth", f"{'count':>7}", f"{'share':>6}", "line"]
    for move in ranked(moves):
        share = f"{100 * (move.count or 0) / total:.1f} %" if total else ""
        numbers = (("" if value is None else str(value)) for value in (move.score, move.depth, move.count))
        score, depth, number = numbers
        line = lookup.line(book, board, move, LINE_LENGTH)
        yield [f"{move.move:5}", f"{score:>6}", f"{depth:>5}", f"{number:>7}", f"{share:>6}", " ".join(line)]
