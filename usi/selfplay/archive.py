"""The file of a self-play run: text lines, a game a line, in bzip2 streams one behind the other.

A line is `<b|w|d> startpos <move>,<score> ...`: who won, then every move with the score of the search before it
(centipawns, the mover's view), `-` for moves of the random opening. bzip2 packs such lines better than xz (3.3 bytes
a scored position), and a file of several streams is still one file to every reader. Each block of games is a stream
of its own, so a file that was cut by a kill loses at most the last block.
"""

from __future__ import annotations

import bz2
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CHUNK = 1 << 16  # bytes read at a time


class ArchiveError(ValueError):
    """The file cannot be continued; the text says why."""


class Archive:
    """A file that grows by blocks of games, with its settings beside it in FILE.json."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Open or continue the file. Raises ArchiveError if it was made with other settings."""
        self.path = path
        self.blocks = 0
        self.games = 0
        beside = path.with_name(path.name + ".json")
        wanted = json.loads(json.dumps(settings))
        if path.exists() and path.stat().st_size:
            self._check(beside, wanted)
            self._count_blocks()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
            path.touch()

    def append(self, lines: bytes) -> None:
        """Add one block; it is on disk when this returns."""
        with self.path.open("ab") as file:
            file.write(bz2.compress(lines))
            file.flush()
            os.fsync(file.fileno())
        self.blocks += 1
        self.games += lines.count(b"\n")

    def _check(self, beside: Path, wanted: dict[str, Any]) -> None:
        try:
            found = json.loads(beside.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise ArchiveError(f"{self.path} exists, but its settings in {beside} cannot be read") from None
        differing = sorted(key for key in set(found) | set(wanted) if found.get(key) != wanted.get(key))
        if differing:
            raise ArchiveError(
                f"{self.path} was made with other settings ({', '.join(differing)}); choose another --out"
            )

    def _count_blocks(self) -> None:
        """Count what is there and cut off a stream that a kill left unfinished."""
        whole = 0
        for lines, end in _streams(self.path):
            self.blocks += 1
            self.games += lines.count(b"\n")
            whole = end
        if whole < self.path.stat().st_size:
            with self.path.open("r+b") as file:
                file.truncate(whole)


def _streams(path: Path) -> Iterator[tuple[bytes, int]]:
    """Content and end offset of every whole stream; stops at the first one that is cut or broken."""
    with path.open("rb") as file:
        end, pending = 0, b""
        while True:
            decompressor = bz2.BZ2Decompressor()
            content: list[bytes] = []
            taken = 0
            while not decompressor.eof:
                pending = pending or file.read(CHUNK)
                if not pending:
                    return
                taken += len(pending)
                try:
                    content.append(decompressor.decompress(pending))
                except OSError:
                    return
                pending = b""
            pending = decompressor.unused_data
            end += taken - len(pending)
            yield b"".join(content), end
