"""What is shown of the search of one position: a live table, rows for pipes, or one JSON object."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.search.limits import Info, Result
from usi.analysis.words import threat_words
from usi.protocol import MATE_LENGTH_UNKNOWN, Position

if TYPE_CHECKING:
    from usi.analysis.threat import Threat

THREAT_NODES = 1_000_000  # for the one question about a position
THREAT_HASH_MB = 64


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
        self.threat: Threat | None = None
        self.threatening = 0  # the side that is not to move
        self.threat_names: list[str] = []

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

    def find_threat(self, nodes: int | None) -> None:
        """Ask the mate solver what the side not to move threatens; loads or compiles it."""
        from engine.rules.board import Board
        from usi.analysis.names import Namer
        from usi.analysis.threat import ThreatFinder

        board = Board(self.position.sfen, self.variant)
        for move in self.position.moves:
            board.push_usi(move)
        self.threat = ThreatFinder(self.variant, nodes or THREAT_NODES, THREAT_HASH_MB).threat(board.sfen())
        self.threatening = 1 - board.turn
        moves = self.position.moves
        namer = Namer(self.variant, self.position.sfen, moves, self.notation)
        self.threat_names = namer.line(len(moves), self.threat.line, passed=True) if self.threat.line else []

    def threat_lines(self) -> list[str]:
        """What there is to say about the threat."""
        if self.threat is None:
            return []
        return [threat_words(self.threat, self.threatening, self.threat_names)]

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
        print("\n".join([summary(result, self), *self.threat_lines()]), flush=True)


class TableReport(Report):
    """One table that is kept up to date, for terminals."""

    def __enter__(self) -> TableReport:
        from rich.console import Console
        from rich.live import Live

        self._lines: dict[int, Info] = {}
        self._console = Console(highlight=False, markup=False, emoji=False)
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
        self._console.print("\n".join([summary(result, self), *self.threat_lines()]))

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
            **self._threat_record(),
        }

    def _threat_record(self) -> dict[str, Any]:
        if self.threat is None:
            return {}
        names = {} if self.notation == "usi" else {self.notation: self.threat_names}
        return {"threat": {**asdict(self.threat), **names}}


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
