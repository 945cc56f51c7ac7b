"""Convert game records between KIF, KI2, CSA, JKF and USI/SFEN lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.rules.variants import VARIANTS
from usi.records import FORMATS, Game, RecordError, encoding_of, format_of, read_games, write_games
from usi.records.encoding import codec_of

STDIO = "-"
EPILOG = """\
Formats are told from the names: .kif .kifu (KIF), .ki2 .ki2u (KI2), .csa, .jkf .json (JKF), .usi and .sfen (a line a
game). Input may be in UTF-8, Shift_JIS or EUC-JP, and its format is seen from its content too. .kif and .ki2 are
written in Shift_JIS as is the custom, all others in UTF-8. KIF, KI2 and JKF files hold one game: several games become
numbered files, games-1.kif, games-2.kif ... What a format cannot keep is said on stderr.
"""


def add_parser(subparsers: Any) -> None:
    """`narikin convert`."""
    parser = subparsers.add_parser(
        "convert", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("input", metavar="IN", help="file to read, - for stdin")
    parser.add_argument("output", metavar="OUT", help="file to write, - for stdout")
    parser.add_argument("--from", dest="source", choices=tuple(FORMATS), help="format of IN (default: seen from it)")
    parser.add_argument("--to", dest="target", choices=tuple(FORMATS), help="format of OUT (default: by its name)")
    parser.add_argument("--encoding", metavar="NAME", help="encoding of OUT: utf-8, utf-8-sig, shift_jis or euc-jp")
    parser.add_argument("--variant", choices=tuple(VARIANTS), help="the game, where IN does not show it")


def run(arguments: argparse.Namespace) -> int:
    """Read all, then write all: a bad game anywhere leaves no output behind."""
    source, output = arguments.input, arguments.output
    target = arguments.target or format_of(output)
    if target is None:
        raise RecordError(f"{output!r} does not tell the format to write: --to does")
    encoding = codec_of(arguments.encoding or encoding_of(output))
    data = sys.stdin.buffer.read() if source == STDIO else Path(source).read_bytes()
    try:
        games = read_games(data, source, arguments.source, arguments.variant)
    except RecordError as error:
        raise RecordError(f"{'stdin' if source == STDIO else source}: {error}") from None
    for name, content in files_for(games, target, encoding, output):
        if name == STDIO:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            Path(name).write_bytes(content)
    lost = losses(games, target)
    if lost:
        print(f"narikin convert: {target} files have no {', '.join(lost)}; left out", file=sys.stderr)
    return 0


def files_for(games: list[Game], target: str, encoding: str, output: str) -> list[tuple[str, bytes]]:
    """Names and contents of the files to write. Raises RecordError."""
    if len(games) == 1 or FORMATS[target].several:
        return [(output, write_games(games, target, encoding))]
    if output == STDIO:
        raise RecordError(f"{len(games)} games do not go into one {target} file: name a file, they will be numbered")
    path, width = Path(output), len(str(len(games)))
    return [
        (str(path.with_name(f"{path.stem}-{number:0{width}}{path.suffix}")), write_games([game], target, encoding))
        for number, game in enumerate(games, 1)
    ]


def losses(games: Iterable[Game], target: str) -> list[str]:
    """What the games have that a file in this format has not."""
    return sorted({kind for game in games for kind in contents(game)} - FORMATS[target].keeps)


def contents(game: Game) -> set[str]:
    """What a game holds besides its main line."""
    nodes = [game.root, *(node for _, node in game.walk())]
    there = {
        "variations": any(len(node.children) > 1 for node in nodes),
        "comments": any(node.comments or node.bookmark for node in nodes),
        "clocks": any(node.seconds is not None for node in nodes),
        "fractions of seconds": any(node.seconds is not None and node.seconds % 1 for node in nodes),
        "headers": any(game.headers.values()),
        "remarks": bool(game.remarks),
        "ends": game.end is not None,
        "illegal moves": any(node.illegal for node in nodes),
    }
    return {kind for kind, present in there.items() if present}
