"""Find mates by continuous checks (tsume shogi), the shortest within a budget.

Lengths count every ply, also of interpositions that do not help. "No mate" is only said when it is proved.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from usi.commands._arguments import POSITION_HELP, add_variant, count, read_position
from usi.main import INTERRUPTED
from usi.protocol import Position

if TYPE_CHECKING:
    from engine.search.mate_search import MateResult, MateSolver

DEFAULT_SECONDS = 10.0


def add_parser(subparsers: Any) -> None:
    """`narikin mate`."""
    parser = subparsers.add_parser("mate", help="find mates", description=__doc__)
    parser.add_argument("position", nargs="*", help=f"{POSITION_HELP}; quote each of several positions")
    parser.add_argument("--file", metavar="FILE", help="one position a line, # begins a comment; - reads stdin")
    parser.add_argument(
        "--time",
        type=_seconds,
        default=DEFAULT_SECONDS,
        metavar="S",
        help=f"seconds for each position, shortening the mate included; 0 = no limit (default: {DEFAULT_SECONDS:g})",
    )
    parser.add_argument("--nodes", type=count(1), metavar="N", help="positions visited at most, for each position")
    parser.add_argument("--first", action="store_true", help="take the first mate found, however long")
    parser.add_argument("--hash", type=count(1, 1 << 20), default=256, metavar="MB", help="table size (default: 256)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each position")
    add_variant(parser)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Solve and print, position by position; every position is read before the first is solved.

    The exit code is 130 after Ctrl-C, when what was found so far is printed.
    """
    positions = list(_positions(arguments))
    if not positions:
        raise ValueError("no position given")
    from usi.commands.analyse import announce_compilation

    announce_compilation()
    from engine.search.mate_search import MateSolver

    sfens = [_sfen_after(position, arguments.variant) for position in positions]
    solver = MateSolver(arguments.variant, arguments.hash)
    with Stopper(solver) as stopper:
        for number, sfen in enumerate(sfens):
            if number:
                solver.clear()
            result = solver.solve(
                sfen, arguments.time * 1000 if arguments.time else None, arguments.nodes, shorten=not arguments.first
            )
            print(_json_line(sfen, result) if arguments.json else _text(sfen, result, len(sfens) > 1), flush=True)
            if stopper.stopped:
                return INTERRUPTED
    return 0


class Stopper:
    """Ctrl-C ends the search of a solver, which then says what it knows."""

    def __init__(self, solver: MateSolver) -> None:
        self.stopped = False
        self._solver = solver
        self._before: Any = None

    def __enter__(self) -> Stopper:
        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._before or signal.SIG_DFL)

    def _stop(self, number: int, frame: object) -> None:
        if self.stopped:  # a second time
            raise KeyboardInterrupt
        self.stopped = True
        self._solver.stop()


def _positions(arguments: argparse.Namespace) -> Iterator[Position]:
    """Positions of the command line and the file. Raises ValueError naming the line of a bad one."""
    words: list[str] = arguments.position
    if any(" " in word.strip() for word in words):
        for word in words:
            yield read_position([word], arguments.variant)
    elif words:
        yield read_position(words, arguments.variant)
    if arguments.file is None:
        return
    for number, line in enumerate(_lines(arguments.file), 1):
        text = line.partition("#")[0].strip()
        if text:
            try:
                yield read_position([text], arguments.variant)
            except ValueError as error:
                raise ValueError(f"{arguments.file}, line {number}: {error}") from error


def _lines(name: str) -> list[str]:
    if name == "-":
        return sys.stdin.read().splitlines()
    with open(name, encoding="utf-8-sig") as file:
        return file.read().splitlines()


def _sfen_after(position: Position, variant: str) -> str:
    """SFEN after the position's moves. Raises ValueError naming an illegal one."""
    from engine.rules.board import Board

    board = Board(position.sfen, variant)
    for move in position.moves:
        board.push_usi(move)
    return board.sfen()


def _text(sfen: str, result: MateResult, with_position: bool) -> str:
    """The result as people read it, on one line or with the position on a line before."""
    seconds = result.time_ms / 1000
    effort = f"{result.nodes} nodes, {seconds:.2f} s"
    if result.status == "mate":
        shortest = "the shortest" if result.exact else "not proved the shortest"
        answer = f"mate in {result.plies}: {' '.join(result.line)}  ({shortest}; {effort})"
    elif result.status == "nomate":
        answer = f"no mate  ({effort})"
    else:
        answer = f"not decided  ({effort})"
    return f"{sfen}\n  {answer}" if with_position else answer


def _json_line(sfen: str, result: MateResult) -> str:
    return json.dumps(
        {
            "sfen": sfen,
            "status": result.status,
            "plies": result.plies,
            "shortest": result.exact,
            "line": result.line,
            "nodes": result.nodes,
            "time_ms": result.time_ms,
        }
    )
