"""The start positions that KIF and JKF know by name."""

from __future__ import annotations

from functools import cache

from engine.rules.codes import RANK_LETTERS, WHITE, square_of
from engine.rules.sfen import format_sfen, parse_sfen
from engine.rules.variants import SHOGI, VARIANTS

EVEN, EVEN_PRESET = "平手", "HIRATE"
SMALL = {"judkins": "ジャドキンス将棋", "minishogi": "5五将棋"}  # KIF; JKF has no board but 9x9
_REMOVED = (  # KIF, JKF, squares of white's pieces that are taken off; white moves first
    ("香落ち", "KY", "1a"),
    ("右香落ち", "KY_R", "9a"),
    ("角落ち", "KA", "2b"),
    ("飛車落ち", "HI", "8b"),
    ("飛香落ち", "HIKY", "8b 1a"),
    ("二枚落ち", "2", "8b 2b"),
    ("三枚落ち", "3", "8b 2b 1a"),
    ("四枚落ち", "4", "8b 2b 1a 9a"),
    ("五枚落ち", "5", "8b 2b 1a 9a 8a"),
    ("左五枚落ち", "5_L", "8b 2b 1a 9a 2a"),
    ("六枚落ち", "6", "8b 2b 1a 9a 2a 8a"),
    ("左七枚落ち", "7_L", "8b 2b 1a 9a 2a 8a 3a"),
    ("右七枚落ち", "7_R", "8b 2b 1a 9a 2a 8a 7a"),
    ("八枚落ち", "8", "8b 2b 1a 9a 2a 8a 3a 7a"),
    ("十枚落ち", "10", "8b 2b 1a 9a 2a 8a 3a 7a 4a 6a"),
)


@cache
def by_kif() -> dict[str, tuple[str, str]]:
    """Name in KIF -> (variant, start SFEN)."""
    table = {EVEN: (SHOGI.name, SHOGI.start_sfen)}
    table.update((kif, (SHOGI.name, _start(squares))) for kif, _, squares in _REMOVED)
    table.update((title, (name, VARIANTS[name].start_sfen)) for name, title in SMALL.items())
    return table


@cache
def by_jkf() -> dict[str, str]:
    """Name in JKF -> start SFEN."""
    return {EVEN_PRESET: SHOGI.start_sfen} | {jkf: _start(squares) for _, jkf, squares in _REMOVED}


def kif_name(start: str) -> str | None:
    """Name in KIF of a start SFEN, None if it has none."""
    return next((name for name, (_, sfen) in by_kif().items() if sfen == start), None)


def jkf_name(start: str) -> str | None:
    """Name in JKF of a start SFEN, None if it has none."""
    return next((name for name, sfen in by_jkf().items() if sfen == start), None)


def is_handicap(start: str) -> bool:
    """True for a start position with pieces taken off, where the players are called 下手 and 上手."""
    return kif_name(start) not in (None, EVEN, *SMALL.values())


def _start(squares: str) -> str:
    placement = parse_sfen(SHOGI.start_sfen, SHOGI)
    for name in squares.split():
        placement.board[square_of(int(name[0]) - 1, RANK_LETTERS.index(name[1]))] = 0
    placement.side = WHITE
    return format_sfen(placement, SHOGI)
