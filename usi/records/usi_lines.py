"""Games as lines of text: `position startpos moves ...` (USI) and `sfen ... moves ...` (SFEN), one game a line.

Both are read in any mixture, also without the first words. Of a game they keep the start and the main line.
"""

from __future__ import annotations

import re

from engine.rules.variants import VARIANTS, get_variant
from usi.records.builder import Builder
from usi.records.encoding import numbered_lines
from usi.records.ends import DECLARATION, RESIGNATION
from usi.records.game import Game, RecordError

_ENDS = {"resign": RESIGNATION, "win": DECLARATION}
LINE = re.compile(r"(?:position\s+)?(?:startpos\b|(?:sfen\s+)?[1-9a-zA-Z+]+(?:/[1-9a-zA-Z+]+){4,}\s)")


def read(text: str, variant: str | None = None) -> list[Game]:
    """All games of a text; empty lines and lines that begin with # are left out. Raises RecordError.

    Without a variant, that of a start position is told from its number of ranks.
    """
    games = []
    for number, line in numbered_lines(text):
        if line.strip() and not line.lstrip().startswith("#"):
            games.append(_read_line(line, number, variant))
    return games


def _read_line(line: str, number: int, variant: str | None) -> Game:
    words = line.split()
    if words[0] == "position":
        words = words[1:]
    cut = words.index("moves") if "moves" in words else len(words)
    head, moves = words[:cut], words[cut + 1 :]
    if head and head[0] == "sfen":
        head = head[1:]
    if head == ["startpos"]:
        builder = Builder(None, variant or "shogi", number)
    elif len(head) in (3, 4) and "/" in head[0]:
        builder = Builder(" ".join(head), variant or variant_of(head[0], number), number)
    else:
        raise RecordError(f"not a game: {line.strip()[:40]!r} (it begins with startpos or an SFEN)", number)
    for move in moves:
        if move in _ENDS:
            builder.end(_ENDS[move], number)
        else:
            builder.play(move, number)
    return builder.finish()


def variant_of(board: str, line: int | None) -> str:
    """The variant whose board has as many ranks as an SFEN's first field. Raises RecordError."""
    ranks = board.count("/") + 1
    for variant in VARIANTS.values():
        if variant.height == ranks:
            return variant.name
    raise RecordError(f"no variant has {ranks} ranks: {board!r}", line)


def write_usi(games: list[Game], encoding: str = "utf-8") -> str:
    """One `position` line a game."""
    return "".join(f"position {_start(game)}{_moves(game)}\n" for game in games)


def write_sfen(games: list[Game], encoding: str = "utf-8") -> str:
    """One `sfen` line a game, the start always spelt out."""
    return "".join(f"sfen {game.start}{_moves(game)}\n" for game in games)


def _start(game: Game) -> str:
    return "startpos" if game.start == get_variant(game.variant).start_sfen else f"sfen {game.start}"


def _moves(game: Game) -> str:
    moves = game.moves()
    return f" moves {' '.join(moves)}" if moves else ""
