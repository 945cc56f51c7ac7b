"""The file that self-play writes: chunks of games, each compressed and checked by itself.

    header   a line `narikin games 1`, then a line of JSON: the variant and what else the writer wants remembered
    chunk    two uint32 (bytes of the packed data, their CRC-32), then LZMA data of columns:
             games, plies, bytes of start SFENs as uint32; lengths uint16 and results int8 by game; scored bits by ply;
             target byte and origin byte of every move; low and high bytes of the scores of scored plies; start SFENs

A score is kept as its sum with the score before it in the same game: scores are from the side to move's view, so the
sum is small. Appending never touches what is there; an interrupted writer leaves at most one broken chunk at the end,
which readers skip and the next writer removes. A chunk that was damaged later costs its own games and no others.
All numbers are little-endian.
"""

from __future__ import annotations

import json
import lzma
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.rules.layout import DROP_BIT, PROMOTE_BIT
from eval.learn.records import NO_SCORE, Games

MAGIC = b"narikin games 1\n"
CHUNK_HEAD = struct.Struct("<II")
COUNTS = struct.Struct("<III")
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 0, "pb": 0}]


class ArchiveError(ValueError):
    """A file that is not an archive of games, or does not fit what is to be added."""


def _previous_scores(scored: np.ndarray, first: np.ndarray) -> np.ndarray:
    """For each scored ply the score before it in the same game, 0 for a game's first."""
    previous = np.concatenate([[0], scored[:-1]]).astype(np.int64)
    previous[first] = 0
    return previous


def pack_games(games: Games) -> bytes:
    """The columns of some games, compressed. Games longer than 65,535 plies do not fit."""
    has_score = games.scores != NO_SCORE
    scored = games.scores[has_score].astype(np.int64)
    scored_before = np.concatenate([[0], np.cumsum(has_score)])
    first = scored_before[games.offsets[:-1]]
    sums = scored + _previous_scores(scored, first[first < len(scored)])
    moves = games.moves.astype(np.int64)
    target = (moves & 127) | np.where(moves & PROMOTE_BIT, 128, 0)
    origin = (moves >> 7 & 127) | np.where(moves & DROP_BIT, 128, 0)
    starts = "\n".join(games.starts).encode() if games.starts and any(games.starts) else b""
    columns = [
        COUNTS.pack(len(games), len(moves), len(starts)),
        np.diff(games.offsets).astype("<u2").tobytes(),
        games.results.astype(np.int8).tobytes(),
        np.packbits(has_score).tobytes(),
        target.astype(np.uint8).tobytes(),
        origin.astype(np.uint8).tobytes(),
        (sums & 255).astype(np.uint8).tobytes(),
        (sums >> 8 & 255).astype(np.uint8).tobytes(),
        starts,
    ]
    return lzma.compress(b"".join(columns), format=lzma.FORMAT_RAW, filters=FILTERS)


def unpack_games(packed: bytes, variant: str) -> Games:
    """Inverse of `pack_games`."""
    data = lzma.decompress(packed, format=lzma.FORMAT_RAW, filters=FILTERS)
    count, plies, start_bytes = COUNTS.unpack_from(data)
    at = COUNTS.size

    def take(kind: Any, number: int) -> np.ndarray:
        nonlocal at
        column = np.frombuffer(data, dtype=kind, count=number, offset=at)
        at += column.nbytes
        return column

    offsets = np.concatenate([[0], np.cumsum(take("<u2", count), dtype=np.int64)])
    results = take(np.int8, count).copy()
    has_score = np.unpackbits(take(np.uint8, -(-plies // 8)), count=plies).astype(bool)
    target, origin = take(np.uint8, plies).astype(np.int32), take(np.uint8, plies).astype(np.int32)
    number = int(has_score.sum())
    sums = take(np.uint8, number) | take(np.uint8, number).astype(np.uint16) << 8
    moves = (target & 127) | (target >> 7) * PROMOTE_BIT | (origin & 127) << 7 | (origin >> 7) * DROP_BIT
    scores = np.full(plies, NO_SCORE, dtype=np.int16)
    scores[has_score] = _scores_from_sums(sums.astype(np.int64), np.cumsum(has_score), has_score, offsets)
    starts = data[at : at + start_bytes].decode().split("\n") if start_bytes else None
    return Games(variant, results, offsets, moves.astype(np.int32), scores, starts)


def _scores_from_sums(sums: np.ndarray, scored: np.ndarray, has_score: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Undo s[i] + s[i - 1]: an alternating running sum that starts anew with each game. Modulo 65536."""
    game = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[has_score]
    sign = 1 - 2 * (np.arange(len(sums)) & 1)
    running = np.cumsum(sums * sign)
    before = np.concatenate([[0], running])[np.concatenate([[0], scored])[offsets[:-1]]]
    return ((running - before[game]) * sign).astype(np.uint16).view(np.int16)


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    """(settings, length of the header in bytes)."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ArchiveError(f"{path} is not a file of narikin games")
        line = file.readline()
        if not line.endswith(b"\n"):
            raise ArchiveError(f"{path} ends within its header")
        return json.loads(line), len(MAGIC) + len(line)


def _whole_chunk(data: bytes, at: int) -> bytes | None:
    """The packed data of the chunk at a position, None if there is no whole and undamaged one."""
    if at + CHUNK_HEAD.size > len(data):
        return None
    size, checksum = CHUNK_HEAD.unpack_from(data, at)
    at += CHUNK_HEAD.size
    if not 0 < size <= len(data) - at:
        return None
    packed = data[at : at + size]
    return packed if zlib.crc32(packed) == checksum else None


def _chunks(path: Path) -> Iterator[tuple[bytes | None, int]]:
    """(packed data, position after it) of every chunk up to the last whole one; None as data of what is damaged."""
    _, at = _read_header(path)
    data = path.read_bytes()
    while True:
        packed = _whole_chunk(data, at)
        if packed is None:
            # a damaged head does not tell where the next chunk begins, so that is looked for
            behind = next((next_at for next_at in range(at + 1, len(data)) if _whole_chunk(data, next_at)), None)
            if behind is None:
                return
            at = behind
        else:
            at += CHUNK_HEAD.size + len(packed)
        yield packed, at


def is_archive(path: Path) -> bool:
    """Whether a file begins like an archive of games."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_settings(path: Path) -> dict[str, Any]:
    """What the writer wanted to be remembered; `variant` is always there. Raises ArchiveError."""
    return _read_header(path)[0]


def read_archive(path: Path) -> Games:
    """The games of all undamaged chunks of a file. Raises ArchiveError if it is no archive."""
    variant = str(read_settings(path)["variant"])
    return join_games([unpack_games(packed, variant) for packed, _ in _chunks(path) if packed is not None], variant)


def _games_in(packed: bytes) -> int:
    """Games of a chunk."""
    decoder = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=FILTERS)
    return int(COUNTS.unpack_from(decoder.decompress(packed, max_length=COUNTS.size))[0])


def count_games(path: Path) -> int:
    """Games in the undamaged chunks of a file."""
    return sum(_games_in(packed) for packed, _ in _chunks(path) if packed is not None)


def count_damaged(path: Path) -> int:
    """Places of a file where a chunk, or several in a row, cannot be read any more."""
    return sum(packed is None for packed, _ in _chunks(path))


class ArchiveWriter:
    """Adds chunks to a file of games; an unfinished chunk at its end is removed first."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        """Open a file, or begin one whose header holds `settings`, with the variant among them.

        Raises ArchiveError if the file is no archive or of another variant.
        """
        self.path = path
        self.chunks = 0  # damaged ones too: their numbers are used
        self.games = 0
        self.damaged = 0
        if not path.exists() or path.stat().st_size == 0:
            path.write_bytes(MAGIC + json.dumps(settings).encode() + b"\n")
        self.settings, end = _read_header(path)
        if self.settings["variant"] != settings["variant"]:
            raise ArchiveError(f"{path} holds games of {self.settings['variant']}, not of {settings['variant']}")
        for packed, after in _chunks(path):
            self.chunks += 1
            end = after
            if packed is None:
                self.damaged += 1
            else:
                self.games += _games_in(packed)
        with path.open("r+b") as file:
            file.truncate(end)

    def append(self, packed: bytes) -> None:
        """Add a chunk made by `pack_games`; it is on disk when this returns."""
        with self.path.open("ab") as file:
            file.write(CHUNK_HEAD.pack(len(packed), zlib.crc32(packed)) + packed)
            file.flush()
            os.fsync(file.fileno())
        self.chunks += 1
        self.games += _games_in(packed)


def append_games(path: Path, games: Games, settings: dict[str, Any] | None = None) -> None:
    """Add a chunk of games to a file, with `settings` in the header of a new one. Raises ArchiveError."""
    ArchiveWriter(path, {"variant": games.variant, **(settings or {})}).append(pack_games(games))


def join_games(parts: Sequence[Games], variant: str) -> Games:
    """Several lots of games of one variant as one."""
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return Games(
            variant, empty.astype(np.int8), np.zeros(1, np.int64), empty.astype(np.int32), empty.astype(np.int16)
        )
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    starts = None
    if any(part.starts for part in parts):
        starts = [start for part in parts for start in (part.starts or [""] * len(part))]
    return Games(
        variant,
        np.concatenate([part.results for part in parts]),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([part.moves for part in parts]),
        np.concatenate([part.scores for part in parts]),
        starts,
    )
