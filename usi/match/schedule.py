"""Which games a match consists of, and from which openings they start."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from usi.match.config import MatchError

USI_MOVE = re.compile(r"(?:[1-9][a-i]|[A-Z]\*)[1-9][a-i]\+?")


@dataclass(frozen=True)
class Opening:
    """A start of a game: a position (None = the variant's own start) and moves from there."""

    sfen: str | None = None
    moves: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The opening as the arguments of a USI `position` line."""
        start = "startpos" if self.sfen is None else f"sfen {self.sfen}"
        return f"{start} moves {' '.join(self.moves)}" if self.moves else start


@dataclass(frozen=True)
class Task:
    """One game to play. `number` names it for good: a resumed match finds the same game under the same number."""

    number: int
    black: int  # index of the engine
    white: int
    round: int  # both games of a pair, and all pairings, play round r from the same opening

    @property
    def pair(self) -> int:
        return self.number // 2


def parse_opening(line: str) -> Opening:
    """A line of an opening file: `startpos moves ...`, `sfen ...`, the same after `position`, bare moves or an SFEN."""
    words = line.split()
    if words and words[0] == "position":
        words = words[1:]
    if words and all(USI_MOVE.fullmatch(word) for word in words):
        return Opening(None, tuple(words))
    head, moves = words, []
    if "moves" in words:
        cut = words.index("moves")
        head, moves = words[:cut], words[cut + 1 :]
    if head == ["startpos"]:
        return Opening(None, tuple(moves))
    if head and head[0] == "sfen":
        head = head[1:]
    if len(head) not in (3, 4) or "/" not in head[0]:
        raise MatchError(f"not an opening: {line.strip()!r}")
    return Opening(" ".join(head), tuple(moves))


def read_openings(path: Path) -> list[Opening]:
    """All openings of a file; empty lines and lines that start with # are skipped."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise MatchError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    openings = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            openings.append(parse_opening(line))
        except MatchError as error:
            raise MatchError(f"{path}, line {number}: {error}") from None
    if not openings:
        raise MatchError(f"{path} holds no opening")
    return openings


def opening_order(count: int, rounds: int, seed: int) -> list[int]:
    """For every round the index of its opening: all of them in random order, then all again in another order."""
    order: list[int] = []
    generator = random.Random(seed)
    while len(order) < rounds:
        block = list(range(count))
        generator.shuffle(block)
        order += block
    return order[:rounds]


def pairings(engines: int, gauntlet: bool) -> list[tuple[int, int]]:
    """Who meets whom: everyone everyone else once, or the first engine each other one."""
    if gauntlet:
        return [(0, other) for other in range(1, engines)]
    return list(combinations(range(engines), 2))


def rounds_of(games: int) -> int:
    """Openings that `games` games of a pairing need."""
    return (games + 1) // 2


def tasks(meetings: Sequence[tuple[int, int]], games: int) -> Iterator[Task]:
    """All games in the order of play: round by round, so that every pairing is equally far when a match is stopped."""
    for turn in range(rounds_of(games)):
        for index, (first, second) in enumerate(meetings):
            number = 2 * (turn * len(meetings) + index)
            yield Task(number, first, second, turn)
            if 2 * turn + 1 < games:
                yield Task(number + 1, second, first, turn)
