"""Arguments that several commands share, and what they mean."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from engine.rules.moves import parse_usi
from engine.rules.sfen import format_sfen, parse_sfen
from engine.rules.variants import VARIANTS, Variant, get_variant, handicap_sfen
from usi.protocol import Position, parse_position

POSITION_HELP = "startpos, an SFEN, or a handicap such as 2-piece; each may be followed by: moves 7g7f ..."


def count(lowest: int, highest: int = 10**15) -> Callable[[str], int]:
    """An argument type: an integer within bounds."""

    def integer(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(f"{value} is not within {lowest} to {highest}")
        return value

    return integer


def add_position(parser: argparse.ArgumentParser) -> None:
    """The position to work on, in one or several words."""
    parser.add_argument("position", nargs="+", help=POSITION_HELP)
    add_variant(parser)


def add_variant(parser: argparse.ArgumentParser) -> None:
    """The game."""
    parser.add_argument("--variant", choices=tuple(VARIANTS), default="shogi", help="the game (default: shogi)")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Threads and memory of our engine."""
    parser.add_argument("--threads", type=count(1, 512), default=1, metavar="N", help="search threads (default: 1)")
    parser.add_argument("--hash", type=count(1, 1 << 20), default=256, metavar="MB", help="table size (default: 256)")


def read_position(words: list[str], variant_name: str) -> Position:
    """The position that the words mean, checked as far as pure Python can. Raises ValueError naming the bad part."""
    variant = get_variant(variant_name)
    text = " ".join(words).strip()
    text = text.removeprefix("position ").strip()
    first, _, rest = text.partition(" ")
    if first not in ("startpos", "sfen") and "/" not in first:
        text = f"sfen {handicap_sfen(variant, first)} {rest}".strip()
    position = parse_position(text)
    if position.sfen is not None:
        position = Position(_checked(position.sfen, variant), position.moves)
    for move in position.moves:
        parse_usi(move, variant)
    return position


def _checked(sfen: str, variant: Variant) -> str:
    return format_sfen(parse_sfen(sfen, variant), variant)
