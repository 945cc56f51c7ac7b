"""A book's positions and moves, and the lines of YaneuraOu's text format (.db) that they are written as.

    #YANEURAOU-DB2016 1.00
    sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1
    2g2f 3c3d 63 27 935        move, expected answer, score, depth, count
    7g7f none 20 25 6          what is not known is `none` or left away at the end

Lines that begin with # or // are comments on what stands before them. Scores are centipawns of the side to move.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

HEADER = "#YANEURAOU-DB2016 1.00"
COMMENTS = ("#", "//")
UNKNOWN = "none"
MOVE = re.compile(r"[1-9][a-i][1-9][a-i]\+?|[RBGSNLP]\*[1-9][a-i]")
FIELDS = 5  # of a move line
NO_MOVES = (UNKNOWN, "resign", "win", "null", "pass", "0000")
"""Words that some books have in place of a move; there is nothing to play then."""


class BookError(ValueError):
    """A book that cannot be used; the text says which and why."""


@dataclass(frozen=True)
class BookMove:
    """One move of a position. Score in centipawns of the side to move; None = not known."""

    move: str
    ponder: str | None = None
    score: int | None = None
    depth: int | None = None
    count: int | None = None  # how often it was played
    comments: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The line of a book, without comments."""
        values = (self.ponder, self.score, self.depth, self.count)
        return " ".join([self.move, *(UNKNOWN if value is None else str(value) for value in values)])


@dataclass(frozen=True)
class Entry:
    """A position with its moves in the order of the book."""

    key: str  # board, side and hands of an SFEN
    ply: int | None  # number of the next move; None where the book does not say
    moves: tuple[BookMove, ...]
    comments: tuple[str, ...] = ()

    @property
    def sfen(self) -> str:
        return self.key if self.ply is None else f"{self.key} {self.ply}"

    def lines(self) -> list[str]:
        """The lines of a book, without line ends."""
        out = [f"sfen {self.sfen}", *(f"#{text}" for text in self.comments)]
        for move in self.moves:
            out += [str(move), *(f"#{text}" for text in move.comments)]
        return out


def parse_entry(lines: Iterable[str], complaints: list[str] | None = None) -> Entry:
    """The position of lines of which the first begins with its SFEN (without the word `sfen`).

    Lines that make no sense are left out, and appended to `complaints`.
    """
    first, *rest = lines
    key, ply = split_sfen(first)
    head: list[str] = []
    moves: list[BookMove] = []
    for raw in rest:
        line = raw.strip()
        comment = comment_of(line)
        if comment is not None:
            if moves:
                moves[-1] = replace(moves[-1], comments=(*moves[-1].comments, comment))
            else:
                head.append(comment)
        elif line:
            move = parse_move(line)
            if move is not None:
                moves.append(move)
            elif line.split()[0] not in NO_MOVES and complaints is not None:
                complaints.append(line)
    return Entry(key, ply, tuple(moves), tuple(head))


def split_sfen(text: str) -> tuple[str, int | None]:
    """Board, side and hands, and the move number behind them."""
    fields = text.split()
    ply = fields[3] if len(fields) > 3 else ""
    return " ".join(fields[:3]), int(ply) if ply.isascii() and ply.isdigit() else None


def comment_of(line: str) -> str | None:
    """What a comment line says; None if it is none."""
    for mark in COMMENTS:
        if line.startswith(mark):
            return line[len(mark) :]
    return None


def parse_move(line: str) -> BookMove | None:
    """A move line; None if it begins with no move."""
    text, mark, comment = line.partition("#")
    words = text.strip().split(" ")  # a value that is not known may be empty between two blanks
    if len(words) > FIELDS:
        words = text.split()
    if not words or not MOVE.fullmatch(words[0]):
        return None
    ponder = words[1] if len(words) > 1 and MOVE.fullmatch(words[1]) else None
    score, depth, count = (_number(words[at]) if len(words) > at else None for at in (2, 3, 4))
    return BookMove(words[0], ponder, score, depth, count, (comment,) if mark else ())


def _number(word: str) -> int | None:
    digits = word[1:] if word[:1] in "+-" else word
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None


def ranked(moves: Iterable[BookMove]) -> list[BookMove]:
    """Best first: by score where any is known, then by depth and count; equal ones stay in the book's order."""
    moves = list(moves)
    if all(move.score is None for move in moves):
        return sorted(moves, key=lambda move: -(move.count or 0))
    unknown = -(10**9)
    return sorted(
        moves,
        key=lambda move: (
            -(unknown if move.score is None else move.score),
            -(move.depth or 0),
            -(move.count or 0),
        ),
    )


def united(first: BookMove, second: BookMove) -> BookMove:
    """What two books say of one move: the deeper one is believed (the first if equal), the counts add up."""
    better, other = (second, first) if (second.depth or 0) > (first.depth or 0) else (first, second)
    counts = [count for count in (first.count, second.count) if count is not None]
    return BookMove(
        first.move,
        better.ponder or other.ponder,
        other.score if better.score is None else better.score,
        other.depth if better.depth is None else better.depth,
        sum(counts) if counts else None,
        tuple(dict.fromkeys((*first.comments, *second.comments))),
    )


def join_moves(groups: Iterable[Iterable[BookMove]]) -> list[BookMove]:
    """The moves of several entries of one position, each once."""
    out: dict[str, BookMove] = {}
    for group in groups:
        for move in group:
            out[move.move] = united(out[move.move], move) if move.move in out else move
    return list(out.values())
