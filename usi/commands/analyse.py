"""Think about a position and print the best lines."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from engine.search.limits import Info, Result
from usi.commands._arguments import add_engine, add_position, count, read_position
from usi.protocol import MATE_LENGTH_UNKNOWN, Position

DEFAULT_DEPTH = 12


def add_parser(subparsers: Any) -> None:
    """`narikin analyse`."""
    parser = subparsers.add_parser(
        "analyse",
        help="think about a position and print the best lines",
        description=f"{__doc__} Ctrl-C ends the thinking and keeps what was found.",
    )
    add_position(parser)
    parser.add_argument("--depth", type=count(1, 255), metavar="N", help=f"plies (default: {DEFAULT_DEPTH})")
    parser.add_argument("--nodes", type=count(1), metavar="N", help="positions to look at")
    parser.add_argument("--movetime", type=count(1), metavar="MS", help="thinking time in milliseconds")
    parser.add_argument("--multipv", type=count(1, 600), default=1, metavar="K", help="lines to show (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    parser.add_argument(
        "--notation", choices=("usi", "western", "japanese"), default="usi", help="of the lines (default: usi)"
    )
    parser.add_argument("--engine", metavar="CMD", help="let this USI engine think instead of Narikin")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an option for --engine")
    add_engine(parser)


def run(arguments: argparse.Namespace) -> int:
    """Think and print."""
    from usi.thinker import default_limits

    position = read_position(arguments.position, arguments.variant)
    limits = default_limits(depth=arguments.depth, nodes=arguments.nodes, movetime=arguments.movetime)
    if arguments.depth is None and arguments.nodes is None and arguments.movetime is None:
        limits.depth = DEFAULT_DEPTH
    report = choose_report(arguments, position)
    thinker = make_thinker(arguments)
    try:
        for note in thinker.notes:
            print(f"narikin: {note}", file=sys.stderr)
        with report:
            result = thinker.think(position, limits, report.show)
            report.end(result)
    finally:
        thinker.close()
    return 0


def make_thinker(arguments: argparse.Namespace) -> Any:
    """Our engine or the one that was asked for, set up."""
    from usi.thinker import OwnThinker, UsiThinker

    if arguments.engine is None:
        if arguments.option:
            raise ValueError("--option goes with --engine")
        announce_compilation()
        return OwnThinker(arguments.variant, arguments.threads, arguments.hash, multipv=arguments.multipv)
    options: dict[str, object] = {
        "USI_Hash": arguments.hash,
        "Threads": arguments.threads,
        "MultiPV": arguments.multipv,
    }
    for text in arguments.option:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--option {text!r}: expected NAME=VALUE")
        options[name] = value
    return UsiThinker(arguments.engine, arguments.variant, options)


def announce_compilation() -> None:
    """Tell a waiting person why nothing happens yet."""
    from usi.session import start_notice

    notice = start_notice()
    if notice is not None:
        print(f"narikin: {notice}", file=sys.stderr, flush=True)


def score_text(info: Info | Result) -> str:
    """A score as people read it, for the side to move: centipawns, or the plies to mate."""
    if info.mate is not None:
        plies = "" if abs(info.mate) == MATE_LENGTH_UNKNOWN else f" in {abs(info.mate)}"
        return f"mate{plies}" if info.mate > 0 else f"mated{plies if info.mate else ''}"
    return "" if info.score_cp is None else f"{info.score_cp:+d}"


class Report:
    """What is shown of a search; the base shows nothing."""

    def __init__(self, position: Position, variant: str, notation: str) -> None:
        self.position = position
        self.variant = variant
        self.notation = notation

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def line(self, moves: list[str]) -> str:
        """The moves of a line in the notation that was asked for."""
        if self.notation == "usi":
            return " ".join(moves)
        return " ".join(translate(self.position, self.variant, moves, self.notation))

    def show(self, info: Info) -> None:
        """A report of the search."""

    def end(self, result: Result) -> None:
        """The search is over."""


class TextReport(Report):
    """A row for every line of every depth, for pipes and files."""

    COLUMNS = "{:>5} {:>4} {:>10} {:>12} {:>9}  {}"

    def __enter__(self) -> TextReport:
        print(self.COLUMNS.format("depth", "line", "score", "nodes", "seconds", "moves"), flush=True)
        return self

    def show(self, info: Info) -> None:
        if info.text is not None:
            print(info.text, flush=True)
        elif info.pv and info.bound is None:
            seconds = f"{info.time_ms / 1000:.2f}"
            row = (info.depth, info.multipv, score_text(info), info.nodes, seconds, self.line(info.pv))
            print(self.COLUMNS.format(*row), flush=True)

    def end(self, result: Result) -> None:
        print(summary(result, self), flush=True)


class TableReport(Report):
    """One table that is kept up to date, for terminals."""

    def __enter__(self) -> TableReport:
        from rich.console import Console
        from rich.live import Live

        self._lines: dict[int, Info] = {}
        self._console = Console(highlight=False, markup=False)
        self._live = Live(self._table(), console=self._console, auto_refresh=False)
        self._live.start()
        self._shown = 0.0
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.update(self._table(), refresh=True)
        self._live.stop()

    def show(self, info: Info) -> None:
        if info.text is not None:
            self._live.console.print(info.text)
        elif info.pv and info.bound is None:
            self._lines[info.multipv] = info
            now = time.monotonic()
            if now - self._shown > 0.1:
                self._shown = now
                self._live.update(self._table(), refresh=True)

    def end(self, result: Result) -> None:
        for info in result.lines:
            self._lines[info.multipv] = info
        self._live.update(self._table(), refresh=True)
        self._console.print(summary(result, self))

    def _table(self) -> Any:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("depth", "line", "score", "nodes", "seconds"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("moves", overflow="fold")
        for number, info in sorted(self._lines.items()):
            depth = f"{info.depth}/{info.seldepth}" if info.seldepth else str(info.depth)
            style = "red" if (info.score_cp or info.mate or 0) < 0 or info.mate == 0 else "green"
            cells = (depth, str(number), score_text(info), str(info.nodes), f"{info.time_ms / 1000:.2f}")
            table.add_row(*cells, self.line(info.pv), style=style)
        return table


class JsonReport(Report):
    """One object at the end."""

    def end(self, result: Result) -> None:
        print(json.dumps(self.record(result), ensure_ascii=True))

    def record(self, result: Result) -> dict[str, Any]:
        """The result; scores are the side to move's, in centipawns, mates in plies (negative: it is mated)."""
        return {
            "variant": self.variant,
            "sfen": self.position.sfen or "startpos",
            "moves": list(self.position.moves),
            "bestmove": result.bestmove,
            "ponder": result.ponder,
            "depth": result.depth,
            "nodes": result.nodes,
            "time_ms": result.time_ms,
            **score_record(result),
            "lines": [
                {
                    "multipv": info.multipv,
                    "depth": info.depth,
                    "seldepth": info.seldepth,
                    **score_record(info),
                    "pv": info.pv,
                    **({} if self.notation == "usi" else {self.notation: self.line(info.pv)}),
                }
                for info in result.lines
            ],
        }


def score_record(info: Info | Result) -> dict[str, int | None]:
    """A score as JSON: one of the two is null."""
    return {"score_cp": None if info.mate is not None else info.score_cp, "mate": info.mate}


def choose_report(arguments: argparse.Namespace, position: Position) -> Report:
    """JSON if asked for, a table for a person at a terminal, else plain text."""
    kind = JsonReport if arguments.json else TableReport if sys.stdout.isatty() else TextReport
    return kind(position, arguments.variant, arguments.notation)


def summary(result: Result, report: Report) -> str:
    """The last line: the move and what it cost."""
    speed = f", {result.nodes * 1000 // result.time_ms} nodes/s" if result.time_ms else ""
    moves = [result.bestmove, result.ponder] if result.ponder else [result.bestmove]
    names = [result.bestmove] if result.bestmove in ("resign", "win") else report.line(moves).split(" ")
    expected = f", expecting {names[1]}" if len(names) > 1 else ""
    return f"best move {names[0]}{expected} ({score_text(result)}; {result.nodes} nodes{speed})"


def translate(position: Position, variant: str, moves: list[str], notation: str) -> list[str]:
    """A line of USI moves in Western or Japanese notation."""
    from engine.rules.board import Board

    board = Board(position.sfen, variant=variant)
    for move in position.moves:
        board.push_usi(move)
    names = []
    for move in moves:
        parsed = board.parse_usi(move)
        names.append(board.western(parsed) if notation == "western" else board.japanese(parsed))
        board.push(parsed)
    return names
