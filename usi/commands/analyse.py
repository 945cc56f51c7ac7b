"""Think about a position or a whole game: best lines, bad moves, missed mates, threats.

Ctrl-C ends the thinking and keeps what was found. A game is a record file (KIF, KI2, CSA, JKF, USI or SFEN lines); it
is studied from its end to its beginning.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from usi.analysis.single import score_text
from usi.analysis.words import NOTATIONS
from usi.commands._arguments import POSITION_HELP, add_engine, add_variant, count, read_position

__all__ = ["DEFAULT_DEPTH", "add_parser", "announce_compilation", "make_thinker", "run", "score_text"]

DEFAULT_DEPTH = 12
GAME_DEPTH = 14  # about a tenth of a second a position, as what follows is known already


def add_parser(subparsers: Any) -> None:
    """`narikin analyse`."""
    parser = subparsers.add_parser("analyse", help="think about a position or a whole game", description=__doc__)
    parser.add_argument(
        "position", nargs="*", help=f"{POSITION_HELP}; or a record file, or - for a record on standard input"
    )
    add_variant(parser)
    parser.set_defaults(variant=None)  # a record says itself what it is of
    parser.add_argument(
        "--depth", type=count(1, 255), metavar="N", help=f"plies (default: {DEFAULT_DEPTH}; {GAME_DEPTH} in a game)"
    )
    parser.add_argument("--nodes", type=count(1), metavar="N", help="positions to look at")
    parser.add_argument("--movetime", type=count(1), metavar="MS", help="thinking time in milliseconds")
    parser.add_argument("--multipv", type=count(1, 600), default=1, metavar="K", help="lines to show (default: 1)")
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE.json",
        help="one JSON object for programs, to standard output or, of a game, to a file",
    )
    parser.add_argument(
        "--notation", choices=NOTATIONS, help="of the lines (default: usi for a position, japanese for a game)"
    )
    parser.add_argument(
        "--threat",
        action=argparse.BooleanOptionalAction,
        help="say what mate the side not to move threatens (default: for a game, not for a position)",
    )
    parser.add_argument(
        "--mate-nodes",
        type=count(1),
        metavar="N",
        help="positions the mate solver looks at for each question (default: 100000 in a game, else 1000000)",
    )
    parser.add_argument("--engine", metavar="CMD", help="let this USI engine think instead of Narikin")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an option for --engine")
    add_engine(parser)
    _add_game(parser.add_argument_group("whole games"))


def _add_game(group: Any) -> None:
    group.add_argument("--clipboard", action="store_true", help="take the record from the clipboard")
    group.add_argument("--game", action="store_true", help="the position's moves are a game to analyse")
    group.add_argument("--number", type=count(1), default=1, metavar="N", help="game of a file with several")
    group.add_argument("--html", metavar="FILE", help="write a page with board, graph and lines to click through")
    group.add_argument("--kif", metavar="FILE", help="write the record with comments that GUIs show")
    group.add_argument("--variations", action="store_true", help="better lines as variations in the --kif file")
    group.add_argument(
        "--thresholds",
        metavar="A,B,C",
        default="5,10,20",
        help="percent of winning chances lost by an inaccuracy, a mistake, a blunder (default: 5,10,20)",
    )
    group.add_argument(
        "--scale",
        type=float,
        default=600.0,
        metavar="CP",
        help="winning chances are 1 / (1 + exp(-score / CP)) (default: 600)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Think and print."""
    _sort_words(arguments)
    from usi.analysis.source import find_record

    source = find_record(arguments)
    if source is not None:
        from usi.analysis.run import run_game

        return run_game(arguments, *source)
    if not arguments.position:
        raise ValueError("a position, a record file, - or --clipboard is needed")
    return run_position(arguments)


def _sort_words(arguments: argparse.Namespace) -> None:
    """`--json` may stand before the position: only - and NAME.json are taken for its file."""
    word = arguments.json
    if word is not None and word != "-" and not word.lower().endswith(".json"):
        arguments.position.insert(0, word)
        arguments.json = "-"


def run_position(arguments: argparse.Namespace) -> int:
    """One position."""
    from usi.analysis.single import choose_report

    for name in ("html", "kif", "variations"):
        if getattr(arguments, name):
            raise ValueError(f"--{name} is for whole games: give a record file, or --game with the position")
    if arguments.json not in (None, "-"):
        raise ValueError("--json writes to a file for whole games only: give a record file, or --game")
    arguments.variant = arguments.variant or "shogi"
    arguments.notation = arguments.notation or "usi"
    position = read_position(arguments.position, arguments.variant)
    limits = study_limits(arguments, DEFAULT_DEPTH)
    report = choose_report(arguments, position)
    thinker = make_thinker(arguments)
    try:
        for note in thinker.notes:
            print(f"narikin: {note}", file=sys.stderr)
        with report:
            result = thinker.think(position, limits, report.show)
            if arguments.threat:
                report.find_threat(arguments.mate_nodes)
            report.end(result)
    finally:
        thinker.close()
    return 0


def study_limits(arguments: argparse.Namespace, default_depth: int) -> Any:
    """Depth, nodes, time as asked for, or the default depth."""
    from usi.thinker import default_limits

    limits = default_limits(depth=arguments.depth, nodes=arguments.nodes, movetime=arguments.movetime)
    if arguments.depth is None and arguments.nodes is None and arguments.movetime is None:
        limits.depth = default_depth
    return limits


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
