"""Count the legal move sequences of a length."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

from usi.commands._arguments import add_variant, count, read_position
from usi.protocol import Position


def add_parser(subparsers: Any) -> None:
    """`narikin perft`."""
    parser = subparsers.add_parser("perft", help="count legal move sequences", description=__doc__)
    parser.add_argument("depth", type=count(0, 100), help="length of the sequences in plies")
    parser.add_argument("--sfen", default="startpos", metavar="SFEN", help="start from here (default: startpos)")
    parser.add_argument("--divide", action="store_true", help="also print the count below each move")
    add_variant(parser)


def run(arguments: argparse.Namespace) -> int:
    """Count and print; move by move, so that Ctrl-C is heard between two."""
    P, T = set_up(read_position([arguments.sfen], arguments.variant), arguments.variant)
    total, start = 0, time.perf_counter()
    for move, nodes in divide(P, T, arguments.depth):
        total += nodes
        if arguments.divide and move:
            print(f"{move}: {nodes}", flush=True)
    seconds = time.perf_counter() - start
    speed = f", {total / seconds / 1e6:.1f} M/s" if seconds > 0.1 else ""
    print(f"perft {arguments.depth}: {total} ({seconds:.3f} s{speed})")
    return 0


def set_up(position: Position, variant_name: str) -> tuple[Any, Any]:
    """Records of the position and of its variant, the code loaded. Raises ValueError naming an illegal move."""
    from engine.rules.movegen import is_legal
    from engine.rules.moves import parse_usi
    from engine.rules.perft import perft
    from engine.rules.position import make_move, new_position, set_position
    from engine.rules.sfen import parse_sfen
    from engine.rules.tables import variant_tables
    from engine.rules.variants import get_variant

    variant = get_variant(variant_name)
    P, T = new_position(), variant_tables(variant_name)
    P["all_moves"] = 1
    set_position(P, T, parse_sfen(position.sfen or variant.start_sfen, variant))
    for text in position.moves:
        move = parse_usi(text, variant)
        if not is_legal(P, T, move):
            raise ValueError(f"illegal move {text!r}")
        make_move(P, T, move)
    perft(P, T, 1)
    return P, T


def divide(P: Any, T: Any, depth: int) -> Iterator[tuple[str, int]]:
    """Each legal move and the number of sequences of `depth` plies that begin with it; ("", 1) at depth 0."""
    from engine.rules.movegen import generate_legal
    from engine.rules.moves import format_usi
    from engine.rules.perft import perft
    from engine.rules.position import make_move, unmake_move

    if depth == 0:
        yield "", 1
        return
    end = generate_legal(P, T, 0)
    for move in P["moves"][:end].tolist():
        make_move(P, T, move)
        nodes = perft(P, T, depth - 1)
        unmake_move(P, T)
        yield format_usi(move), nodes
