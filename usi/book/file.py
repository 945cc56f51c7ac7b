"""Book files: read whole, or searched where they lie; written sorted, as programs that search them need it."""

from __future__ import annotations

import mmap
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path

from usi.book.entry import HEADER, BookError, Entry, parse_entry

BOM = b"\xef\xbb\xbf"
POSITION = b"sfen "
NEXT_POSITION = b"\nsfen "
POSITIONS = re.compile(rb"(?m)^sfen ")
ODD_LINE = re.compile(rb"(?m)^(?!sfen |#|//|\s*$|[1-9][a-i][1-9][a-i]|[RBGSNLP]\*|none|resign|win|null|pass|0000).+$")
SAMPLES = 64  # positions that are looked at to see whether a big file is sorted


class BookFile:
    """The positions of a file by their key. A key stands in the file as `Board.sfen` writes it, hands in its order.

    On the fly, the file stays on disk, is searched by halving, and must be sorted; otherwise it is read once.
    """

    def __init__(self, path: Path, on_the_fly: bool = False) -> None:
        """Open a book. Raises BookError."""
        self.path = path
        self.notes: list[str] = []  # what the user should know
        self.complaints: list[str] = []  # lines that iterating found to make no sense
        self._data: bytes | mmap.mmap = b""
        try:
            self._data = _mapped(path) if on_the_fly else path.read_bytes()
        except OSError as error:
            raise BookError(f"book {path}: {error.strerror or error}") from None
        except ValueError:  # nothing can be mapped of an empty file
            raise BookError(f"book {path} is empty") from None
        self._body = len(BOM) if self._data[: len(BOM)] == BOM else 0
        self._first = self._next_start(self._body)
        if self._first < 0:
            self.close()
            raise BookError(f"book {path} holds no position: it is no text book (lines sfen ... and moves below)")
        self._starts: list[int] | None = None
        if on_the_fly and not self._looks_sorted():
            self.notes.append(f"book {path} is not sorted, so it is read whole in spite of BookOnTheFly")
            self.close()
            self._data, on_the_fly = path.read_bytes(), False
        if not on_the_fly:
            self._index()

    def close(self) -> None:
        """Let go of the file."""
        if isinstance(self._data, mmap.mmap):
            self._data.close()

    def entries(self, key: str) -> list[Entry]:
        """All entries of a position: one for each move number under which the book has it."""
        wanted = key.encode("ascii", "replace")
        out = []
        for start in self._from(wanted):
            if self._key_at(start) != wanted:
                break
            out.append(self._entry_at(start))
        return out

    def __iter__(self) -> Iterator[Entry]:
        """All entries, in the order of their keys; what makes no sense in them goes to `complaints`."""
        start = self._first
        self.complaints.clear()
        if self._starts is not None:
            for start in self._starts:
                yield self._entry_at(start, self.complaints)
            return
        while start >= 0:
            yield self._entry_at(start, self.complaints)
            start = self._next_start(start)

    # ------------------------------------------------ where positions stand

    def _index(self) -> None:
        """Find all positions, in the order of their keys."""
        starts = [self._first]
        starts += (match.end() for match in POSITIONS.finditer(self._data, self._first))
        keys = map(self._key_at, starts)
        before = next(keys)
        for key in keys:
            if key < before:
                starts.sort(key=self._key_at)
                break
            before = key
        self._starts = starts
        odd = ODD_LINE.search(self._data, self._first)
        if odd is not None:
            number = self._data[: odd.start()].count(b"\n") + 1
            line = _text(odd.group()).strip()[:40]
            self.notes.append(f"book {self.path}: line {number} ({line!r}) is neither position, move nor comment")

    def _looks_sorted(self) -> bool:
        size = len(self._data)
        spots = [self._first, *(self._next_start(size * number // SAMPLES) for number in range(SAMPLES))]
        keys = [self._key_at(spot) for spot in spots if spot >= 0]
        return all(first <= second for first, second in zip(keys, keys[1:], strict=False))

    def _from(self, wanted: bytes) -> Iterator[int]:
        """Where the positions stand whose keys are not below one, in order."""
        if self._starts is not None:
            at = bisect_left(self._starts, wanted, key=self._key_at)
            while at < len(self._starts):
                yield self._starts[at]
                at += 1
            return
        low, high = self._body, len(self._data)
        while low < high:  # until `low` is the first place behind which nothing smaller stands
            middle = (low + high) // 2
            start = self._next_start(middle)
            if start >= 0 and self._key_at(start) < wanted:
                low = start
            else:
                high = middle
        start = self._next_start(low)
        while start >= 0:
            yield start
            start = self._next_start(start)

    def _next_start(self, at: int) -> int:
        """Behind the word `sfen` of the first position that begins at `at` or later; -1 if there is none."""
        if self._data[at : at + len(POSITION)] == POSITION and (at == self._body or self._data[at - 1 : at] == b"\n"):
            return at + len(POSITION)
        found = self._data.find(NEXT_POSITION, max(at - 1, 0))
        return -1 if found < 0 else found + len(NEXT_POSITION)

    def _key_at(self, start: int) -> bytes:
        return b" ".join(self._line_at(start).split()[:3])

    def _line_at(self, start: int) -> bytes:
        end = self._data.find(b"\n", start)
        return self._data[start : end if end >= 0 else len(self._data)]

    def _entry_at(self, start: int, complaints: list[str] | None = None) -> Entry:
        end = self._data.find(NEXT_POSITION, start)
        lines = _text(self._data[start : end if end >= 0 else len(self._data)]).split("\n")
        return parse_entry(lines, complaints)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def read_entries(path: Path) -> list[Entry]:
    """All entries of a book in the file's order of keys. Raises BookError, also for a line that makes no sense."""
    book = BookFile(path)
    if book.notes:
        raise BookError(book.notes[0])
    return list(book)


def write_book(path: Path, entries: Iterable[Entry], remark: str = "") -> None:
    """Write a book, sorted by position as text; the remark says how it was made.

    The file is there whole or not at all. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".new")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        print(HEADER, file=file)
        if remark:
            print(f"# {remark}", file=file)
        for entry in sorted(entries, key=lambda entry: (entry.key.encode(), entry.ply or 0)):
            if entry.moves:
                print(*entry.lines(), sep="\n", file=file)
    os.replace(part, path)
