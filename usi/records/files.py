"""From the bytes of a file to games and back: which encoding, which format."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from usi.records.encoding import decode, encode
from usi.records.game import Game, RecordError
from usi.records.usi_lines import LINE

Reader = Callable[[str, str | None], list[Game]]
Writer = Callable[..., str]


@dataclass(frozen=True)
class Format:
    """A format and the functions that know it; modules are imported when they are needed."""

    name: str
    module: str
    endings: tuple[str, ...]  # of file names
    encoding: str = "utf-8"  # of files with the first ending
    several: bool = False  # a file may hold several games
    writer: str = "write"

    def read(self, text: str, variant: str | None) -> list[Game]:
        """All games of a text. Raises RecordError."""
        reader: Reader = importlib.import_module(self.module).read
        return reader(text, variant)

    def write(self, games: Sequence[Game], encoding: str) -> str:
        """The text of a file with these games. Raises RecordError for what the format cannot hold."""
        if len(games) != 1 and not self.several:
            raise RecordError(f"a {self.name} file holds one game, not {len(games)}")
        writer: Writer = getattr(importlib.import_module(self.module), self.writer)
        return writer(list(games))


FORMATS = {
    each.name: each
    for each in (
        Format("usi", "usi.records.usi_lines", (".usi",), several=True, writer="write_usi"),
        Format("sfen", "usi.records.usi_lines", (".sfen",), several=True, writer="write_sfen"),
    )
}


def format_of(name: str) -> str | None:
    """The format that a file's ending names, None if it names none."""
    lower = name.lower()
    for each in FORMATS.values():
        if lower.endswith(each.endings):
            return each.name
    return None


def _guess(text: str) -> str | None:
    """The format that a text looks like, None if it looks like none."""
    return "usi" if any(LINE.match(line) for line in text.splitlines()) else None


def read_games(data: bytes, name: str = "", format: str | None = None, variant: str | None = None) -> list[Game]:
    """All games of a file, every move of them legal. Raises RecordError with line and reason.

    The format is the given one, or told from the content or the ending of the file's name.
    """
    text = decode(data)
    if not text.strip():
        raise RecordError("the file is empty")
    known = format or _guess(text) or format_of(name)
    if known is None:
        raise RecordError("this is no game record in a known format")
    games = _format(known).read(text, variant)
    if not games:
        raise RecordError("there is no game in the file")
    return games


def write_games(games: Sequence[Game], format: str, encoding: str = "utf-8") -> bytes:
    """The bytes of a file with these games. Raises RecordError for what the format or the encoding cannot hold."""
    return encode(_format(format).write(games, encoding), encoding)


def _format(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise RecordError(f"unknown format {name!r}: known are {', '.join(FORMATS)}") from None
