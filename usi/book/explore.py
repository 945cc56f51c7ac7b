"""A book by search: a tree of positions from some roots, each looked at by a search of several lines.

The tree grows where play is likeliest: positions wait by what the moves to them lost, every ply counted a little, and
the cheapest is searched next. Every finished position is kept in a journal beside the book, so a run that was cut goes
on. At the end the scores are carried back from the leaves: a move is worth what the best answer in the book leaves.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from engine.search.limits import Info, Limits, Result
from usi.book.entry import HEADER, BookError, BookMove, Entry, parse_entry, ranked, split_sfen
from usi.book.player import MATE
from usi.protocol import Position
from usi.thinker import default_limits

STEP = 8  # centipawns that a ply costs in the order of positions: the higher, the broader the tree
PASSES = 200  # over the book while scores are carried back; circles never come to rest
MARK = "#narikin "


@dataclass(frozen=True)
class Effort:
    """What is searched in every position, and which moves are kept."""

    nodes: int = 0
    depth: int = 0
    lines: int = 4
    margin: int = 60  # centipawns that a move may be behind the best
    engine: str = ""  # who thinks: its name and network

    def __str__(self) -> str:
        size = f"{self.nodes} nodes" if self.nodes else f"depth {self.depth}"
        return f"narikin book search: {size}, {self.lines} lines, margin {self.margin}, {self.engine}"

    @property
    def limits(self) -> Limits:
        return default_limits(nodes=self.nodes or None, depth=self.depth or None)


def own_search(effort: Effort, variant: str, threads: int, hash_mb: int) -> tuple[Callable[[str], Result], Effort]:
    """Our engine as a function, and the effort with its name. Ctrl-C ends a search and is raised."""
    from engine.search.engine import Engine

    engine = Engine(variant, threads, hash_mb)
    engine.set_option("multipv", effort.lines)

    def think(sfen: str) -> Result:
        engine.set_position(sfen, [])
        return engine.search(effort.limits)

    return think, replace(effort, engine=engine.evaluation.description)


class Journal:
    """Finished positions of a run, in a file that is only appended to."""

    def __init__(self, path: Path, effort: Effort, variant: str) -> None:
        """Open or begin. Raises BookError if the file is of another run."""
        self.path = path
        self.entries: dict[str, Entry] = {}
        head = f"{HEADER}\n{MARK}{json.dumps({'variant': variant, **asdict(effort)})}\n\n"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n\n") + 2] if "\n\n" in text else ""
        if whole and not whole.startswith(head):
            raise BookError(f"{path} was made with other settings: delete it, or choose another --out")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(whole or head, encoding="utf-8", newline="\n")
        for part in whole[len(head) :].split("\n\n"):
            if part:
                entry = parse_entry(part.removeprefix("sfen ").split("\n"))
                self.entries[entry.key] = entry

    def add(self, entry: Entry) -> None:
        """Keep a position."""
        self.entries[entry.key] = entry
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(entry.lines()) + "\n\n")


@dataclass
class Explorer:
    """Searches a tree of positions. `progress` hears how many are done and how many wait."""

    think: Callable[[str], Result]  # searches an SFEN as `effort` says
    effort: Effort
    journal: Journal
    variant: str
    plies: int  # no position behind so many plies from its root is searched
    positions: int  # nor more than so many by this run, those that it finds in the journal included
    progress: Callable[[int, int], None] = lambda done, waiting: None

    def run(self, roots: Iterable[Position]) -> list[Entry]:
        """The book: all positions of the journal, old and new. Ctrl-C is raised; the journal has what was done."""
        waiting: list[tuple[int, int, str, int]] = []
        known: dict[str, Entry] = {}
        for number, root in enumerate(roots):
            heapq.heappush(waiting, (0, number, self._after(root), 0))
        number = len(waiting)
        while waiting and len(known) < self.positions:
            cost, _, sfen, ply = heapq.heappop(waiting)
            key, _ = split_sfen(sfen)
            if key in known:
                continue
            entry = self.journal.entries.get(key) or self._search(sfen)
            known[key] = entry
            self.progress(len(known), len(waiting))
            if ply + 1 > self.plies or not entry.moves:
                continue
            best = score_of(entry.moves[0])
            for move, after in zip(entry.moves, self._children(sfen, entry.moves), strict=True):
                number += 1
                heapq.heappush(waiting, (cost + STEP + best - score_of(move), number, after, ply + 1))
        return carried_back([entry for entry in self.journal.entries.values() if entry.moves], self.variant)

    def _search(self, sfen: str) -> Entry:
        result = self.think(sfen)
        moves = ranked(move for line in result.lines if (move := book_move(line)) is not None)
        if moves:
            lowest = score_of(moves[0]) - self.effort.margin
            moves = [move for move in moves if score_of(move) >= lowest]
        entry = Entry(*split_sfen(sfen), tuple(moves))
        self.journal.add(entry)
        return entry

    def _after(self, position: Position) -> str:
        from engine.rules.board import Board

        board = Board(position.sfen, self.variant)
        for move in position.moves:
            board.push_usi(move)
        return board.sfen()

    def _children(self, sfen: str, moves: Iterable[BookMove]) -> Iterator[str]:
        return (self._after(Position(sfen, (move.move,))) for move in moves)


def book_move(line: Info) -> BookMove | None:
    """A line of a search as a book keeps it; None if it has neither move nor score."""
    if line.mate is not None:
        score = MATE - line.mate if line.mate > 0 else -MATE - line.mate
    elif line.score_cp is not None:
        score = line.score_cp
    else:
        return None
    if not line.pv:
        return None
    return BookMove(line.pv[0], line.pv[1] if len(line.pv) > 1 else None, score, line.depth, 1)


def score_of(move: BookMove) -> int:
    """Centipawns, 0 if not known."""
    return move.score or 0


def carried_back(entries: list[Entry], variant: str) -> list[Entry]:
    """The same positions, every move worth what the best answer in the book leaves of it, best moves first."""
    from engine.rules.board import Board

    index = {entry.key: number for number, entry in enumerate(entries)}
    scores = [[score_of(move) for move in entry.moves] for entry in entries]
    following: list[list[int | None]] = []
    for entry in entries:
        board = Board(f"{entry.key} 1", variant)
        answers = []
        for move in entry.moves:
            board.push_usi(move.move)
            answers.append(index.get(split_sfen(board.sfen())[0]))
            board.pop()
        following.append(answers)
    order = sorted(range(len(entries)), key=lambda number: -(entries[number].ply or 0))
    for _ in range(PASSES):
        changed = False
        for number in order:
            for at, child in enumerate(following[number]):
                if child is not None and scores[number][at] != -max(scores[child]):
                    scores[number][at] = -max(scores[child])
                    changed = True
        if not changed:
            break
    return [
        replace(
            entry,
            moves=tuple(
                ranked(replace(move, score=score) for move, score in zip(entry.moves, scores[number], strict=True))
            ),
        )
        for number, entry in enumerate(entries)
    ]
