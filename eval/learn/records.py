"""Games with scores, read and written.

`Games` holds any number of games in flat arrays, moves as the engine's int32. Two formats hold games:

text      one game a line, `<b|w|d> startpos <move>,<score> <move>,<score> ...`; `-` = no score. Also .xz, .gz, .bz2.
          A file of siblings has a line for each of its lines, groups `<move>,<score> <move>,<score>;` for scored plies.
archive   what `narikin selfplay` writes (archive.py), about three bytes a position

Positions without games are in packed.py.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.native.jit import kernel
from engine.rules.layout import DROP_BIT, FROM_SHIFT, PROMOTE_BIT
from engine.rules.moves import format_usi

NO_SCORE = -32768


@dataclass
class Games:
    """Games from the variant's start position. Scores: centipawns for the side to move before the move, or NO_SCORE."""

    variant: str
    results: np.ndarray  # int8[games]: 1 black won, -1 white won, 0 drawn
    offsets: np.ndarray  # int64[games + 1]: first ply of each game
    moves: np.ndarray  # int32[plies]
    scores: np.ndarray  # int16[plies]
    starts: list[str] | None = None  # SFEN of each game's start, "" = the variant's; None = all from there

    def __len__(self) -> int:
        return len(self.results)


def _letter_types() -> np.ndarray:
    table = np.zeros(256, dtype=np.int64)
    for kind, letter in enumerate("PLNSBRG", start=1):
        table[ord(letter)] = kind
    return table


LETTER_TYPES = _letter_types()
BLANK, NEWLINE, COMMA, MINUS, PLUS, STAR, SEMICOLON = (ord(c) for c in " \n,-+*;")
FIRST_RANK = ord("a")
ONE = ord("1")


@kernel()
def parse_move(text, at):
    """Read a USI move at text[at:]; returns (move, index after it)."""
    to = (int(text[at + 2]) - ONE) * 9 + int(text[at + 3]) - FIRST_RANK
    if text[at + 1] == STAR:
        return to | LETTER_TYPES[text[at]] << FROM_SHIFT | DROP_BIT, at + 4
    move = to | ((int(text[at]) - ONE) * 9 + int(text[at + 1]) - FIRST_RANK) << FROM_SHIFT
    if at + 4 < len(text) and text[at + 4] == PLUS:
        return move | PROMOTE_BIT, at + 5
    return move, at + 4


@kernel()
def parse_score(text, at):
    """Read a score at text[at:]: a whole number or `-`; returns (score, index after it)."""
    negative = text[at] == MINUS
    at += int(negative)
    if negative and not (ONE - 1 <= text[at] <= ONE + 8):
        return NO_SCORE, at
    value = 0
    while at < len(text) and ONE - 1 <= text[at] <= ONE + 8:
        value = value * 10 + int(text[at]) - ONE + 1
        at += 1
    return -value if negative else value, at


@kernel()
def _parse_games(text, results, offsets, moves, scores):
    """Fill the arrays from whole lines; returns the number of games, or -1 - game at a malformed line."""
    game, ply, at = 0, 0, 0
    while at < len(text):
        results[game] = 1 if text[at] == ord("b") else (-1 if text[at] == ord("w") else 0)
        offsets[game] = ply
        at += 2
        while at < len(text) and text[at] != BLANK and text[at] != NEWLINE:  # "startpos"
            at += 1
        while at < len(text) and text[at] == BLANK:
            moves[ply], at = parse_move(text, at + 1)
            if text[at] != COMMA:
                return -1 - game
            scores[ply], at = parse_score(text, at + 1)
            ply += 1
        if at < len(text) and text[at] != NEWLINE:
            return -1 - game
        at += 1
        game += 1
    offsets[game] = ply
    return game


def parse_games(text: bytes, variant: str = "shogi") -> Games:
    """Parse the text format. Raises ValueError naming the line that is not in it."""
    data = np.frombuffer(text, dtype=np.uint8)
    games = text.count(b"\n") + (not text.endswith(b"\n"))
    plies = text.count(b",")
    found = Games(
        variant,
        np.zeros(games, dtype=np.int8),
        np.zeros(games + 1, dtype=np.int64),
        np.zeros(plies, dtype=np.int32),
        np.zeros(plies, dtype=np.int16),
    )
    read = _parse_games(data, found.results, found.offsets, found.moves, found.scores)
    if read < 0:
        raise ValueError(f"line {-read} is not a game of the form '<b|w|d> startpos <move>,<score> ...'")
    return found


def format_games(games: Games) -> str:
    """Games in the text format. Raises ValueError if one has a start position of its own: the format has no place."""
    if games.starts and any(games.starts):
        raise ValueError("the text format holds only games from the start position")
    lines = []
    for game, result in enumerate(games.results):
        plies = range(games.offsets[game], games.offsets[game + 1])
        moves = [format_usi(int(games.moves[ply])) for ply in plies]
        scores = ["-" if games.scores[ply] == NO_SCORE else str(games.scores[ply]) for ply in plies]
        entries = [f"{move},{score}" for move, score in zip(moves, scores, strict=True)]
        lines.append(" ".join([f"{'dbw'[int(result)]} startpos", *entries]) + "\n")
    return "".join(lines)


UNPACKERS: dict[str, Callable[[Path], Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def read_text(path: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in .xz, .gz or .bz2."""
    unpack = UNPACKERS.get(path.suffix)
    if unpack is None:
        return path.read_bytes()
    with unpack(path) as file:
        return file.read()


@dataclass
class Siblings:
    """Other legal moves of scored plies, each with the quiescence score after it for the side then to move."""

    games: np.ndarray  # int64[games + 1]: first group of each game of the file it belongs to
    groups: np.ndarray  # int64[groups + 1]: first entry of each group; a game's groups follow its scored plies
    moves: np.ndarray  # int32[entries]
    scores: np.ndarray  # int16[entries]


@kernel()
def _parse_siblings(text, games, groups, moves, scores):
    """Fill the arrays from whole lines; returns the number of entries, or -1 - game at a malformed line."""
    game, group, entry, at = 0, 0, 0, 0
    games[0] = 0
    while at < len(text):
        while at < len(text) and text[at] != NEWLINE:
            if text[at] == SEMICOLON:
                group += 1
                groups[group] = entry
                at += 1
            elif text[at] == BLANK:
                at += 1
            else:
                moves[entry], at = parse_move(text, at)
                if at >= len(text) or text[at] != COMMA:
                    return -1 - game
                scores[entry], at = parse_score(text, at + 1)
                entry += 1
        game += 1
        games[game] = group
        at += 1
    return entry


def parse_siblings(text: bytes) -> Siblings:
    """Parse a siblings file. Raises ValueError naming the line that is not in the format."""
    games = text.count(b"\n") + (not text.endswith(b"\n"))
    entries = text.count(b",")
    found = Siblings(
        np.zeros(games + 1, dtype=np.int64),
        np.zeros(text.count(b";") + 1, dtype=np.int64),
        np.zeros(entries, dtype=np.int32),
        np.zeros(entries, dtype=np.int16),
    )
    data = np.frombuffer(text, dtype=np.uint8)
    read = _parse_siblings(data, found.games, found.groups, found.moves, found.scores)
    if read < 0:
        raise ValueError(f"line {-read} is not made of groups '<move>,<score> <move>,<score>;'")
    return found
