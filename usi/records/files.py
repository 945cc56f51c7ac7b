"""From the bytes of a file to games and back: which encoding, which format."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from usi.records.encoding import decode, encode
from usi.records.game import Game, RecordError
from usi.records.usi_lines import LINE

Reader = Callable[[str, str | None], list[Game]]
Writer = Callable[[list[Game], str], str]


@dataclass(frozen=True)
class Format:
    """A format and the functions that know it; modules are imported when they are needed."""

    name: str
    module: str
    endings: dict[str, str]  # of file names -> encoding that files of that name have by custom
    keeps: frozenset[str] = frozenset()  # what it holds besides the main line
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
        return writer(list(games), encoding)


_NOTES = frozenset({"comments", "headers", "ends"})
FORMATS = {
    each.name: each
    for each in (
        Format(
            "kif",
            "usi.records.kif",
            {".kif": "cp932", ".kifu": "utf-8"},
            _NOTES | {"variations", "clocks", "remarks", "illegal moves"},
        ),
        Format("ki2", "usi.records.ki2", {".ki2": "cp932", ".ki2u": "utf-8"}, _NOTES | {"variations", "remarks"}),
        Format(
            "csa",
            "usi.records.csa",
            {".csa": "utf-8"},
            _NOTES | {"clocks", "fractions of seconds", "remarks", "illegal moves"},
            several=True,
        ),
        Format(
            "jkf",
            "usi.records.jkf",
            {".jkf": "utf-8", ".json": "utf-8"},
            _NOTES | {"variations", "clocks", "illegal moves"},
        ),
        Format("usi", "usi.records.usi_lines", {".usi": "utf-8"}, several=True, writer="write_usi"),
        Format("sfen", "usi.records.usi_lines", {".sfen": "utf-8"}, several=True, writer="write_sfen"),
    )
}

_SIGNS = {  # the first that is found anywhere in a text tells its format; head lines only come last
    "usi": re.compile(f"^{LINE.pattern}", re.MULTILINE),
    "csa": re.compile(r"^(?:V[123]|PI|P1|N[+-]|[+-]\d{4}[A-Z]{2}|%[A-Z]{4})", re.MULTILINE),
    "kif": re.compile(r"^\s*手数\s*-|^\s*[0-9０-９]+\s+(?:[1-9１-９][1-9一二三四五六七八九]|同)", re.MULTILINE),
    "ki2": re.compile(r"^\s*[▲△▼▽☗☖]", re.MULTILINE),
    " kif": re.compile(r"^(?:手合割|先手|後手|下手|上手|開始日時|棋戦)\s*[：:]|^\s*[|｜][ vV・]", re.MULTILINE),
}


def format_of(name: str) -> str | None:
    """The format that a file's ending names, None if it names none."""
    ending = _ending(name)
    return next((each.name for each in FORMATS.values() if ending in each.endings), None)


def encoding_of(name: str) -> str:
    """The encoding that files of such a name have by custom: Shift_JIS for .kif and .ki2, UTF-8 for all others."""
    ending = _ending(name)
    return next((each.endings[ending] for each in FORMATS.values() if ending in each.endings), "utf-8")


def _ending(name: str) -> str:
    return PurePath(name).suffix.lower()


def guess_format(text: str) -> str | None:
    """The format that a text looks like, None if it looks like none."""
    if text.lstrip()[:1] in ("{", "["):
        return "jkf"
    return next((name.strip() for name, sign in _SIGNS.items() if sign.search(text)), None)


def read_games(data: bytes, name: str = "", format: str | None = None, variant: str | None = None) -> list[Game]:
    """All games of a file, every move of them legal. Raises RecordError with line and reason.

    The format is the given one, or told from the content or the ending of the file's name.
    """
    text = decode(data)
    if not text.strip():
        raise RecordError("the file is empty")
    known = format or guess_format(text) or format_of(name)
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
