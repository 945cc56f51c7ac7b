"""Search threads: each has a position and tables of its own and shares the transposition table (Lazy SMP).

Threads run the same iterations; what they write to the table moves them apart and helps the others. The main worker
decides when to end; the best of all results is taken by vote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.rules.layout import POSITION, new_record
from engine.rules.movegen import generate_legal
from engine.rules.position import new_position
from engine.search import alphabeta, picker, quiescence
from engine.search.history import forget, prepare_worker
from engine.search.layout import INFINITE, MATE, MATE_IN_MAX, WORKER
from engine.search.lines import lengthen
from engine.search.parameters import default_parameters
from engine.search.root import (
    EXACT,
    STOPPED,
    begin_depth,
    begin_line,
    begin_search,
    put_first,
    search_line,
    sort_root,
    table_move,
)

NO_NODE_LIMIT = 1 << 62

COPIED_FIELDS = tuple(name for name in POSITION.names or () if name not in ("moves", "accumulators"))


@dataclass
class RootLine:
    """A root move as it stands: score in the evaluation's units, from the side to move's view."""

    move: int
    score: int
    bound: int
    seldepth: int
    line: list[int]

    @property
    def is_searched(self) -> bool:
        """False for a move that the search was stopped before: it has no score."""
        return abs(self.score) <= MATE

    @property
    def mate(self) -> int | None:
        """Plies to mate: positive for the side to move, negative against it; None for other scores."""
        if not self.is_searched:
            return None
        if self.score >= MATE_IN_MAX:
            return MATE - self.score
        if self.score <= -MATE_IN_MAX:
            return -(MATE + self.score)
        return None


class Worker:
    """One thread's position and memory. Its methods run in that thread."""

    def __init__(self, index: int, tables: np.void, shared: np.void) -> None:
        self.index = index
        self.position: Any = new_position()
        self.record: Any = new_record(WORKER)
        self.tables = tables
        self.shared = shared
        self.completed_depth = 0
        self.knows_move = False  # the table knew a move for the root when the search began
        self.evaluation_memory: Any = None
        record = self.record
        record["node_limit"] = NO_NODE_LIMIT
        record["search"] = alphabeta.search.address
        record["quiescence"] = quiescence.quiescence.address
        record["next_move"] = picker.next_move.address
        default_parameters(record["parameters"])
        prepare_worker(record, tables)

    def new_game(self) -> None:
        """Forget what earlier searches taught."""
        forget(self.record)

    def copy_position(self, other: Worker) -> None:
        """Take over another worker's position with its history."""
        for name in COPIED_FIELDS:
            self.position[name] = other.position[name]

    def begin(self, moves: list[int] | None = None) -> int:
        """Prepare a search of the current position, of all its moves or of some; returns their number."""
        self.completed_depth = 0
        if moves is None:
            count = int(generate_legal(self.position, self.tables, 0))
        else:
            count = len(moves)
            self.position["moves"][:count] = moves
        begin_search(self.position, self.record, count)
        move = int(table_move(self.position, self.tables, self.shared, 0))
        self.knows_move = move != 0
        put_first(self.record, move)
        return count

    @property
    def nodes(self) -> int:
        return int(self.record["nodes"])

    def set_node_limit(self, limit: int | None) -> None:
        """Stop all threads when this one has made so many moves."""
        self.record["node_limit"] = NO_NODE_LIMIT if limit is None else limit

    def search_depth(self, depth: int, lines: int, on_window: Callable[[int, int], None] | None = None) -> bool:
        """Search one iteration, each of `lines` root moves exactly; False if it was stopped.

        `on_window(line, outcome)` is told of windows that failed.
        """
        begin_depth(self.record, depth)
        for line in range(lines):
            begin_line(self.record, line, depth)
            while True:
                outcome = search_line(
                    self.position, self.tables, self.shared, self.record, depth, on_window is not None
                )
                if outcome == STOPPED:
                    sort_root(self.record, 0, line + 1)
                    return False
                if outcome == EXACT:
                    break
                if on_window is not None:
                    on_window(line, outcome)
            sort_root(self.record, 0, line + 1)
        self.completed_depth = depth
        return True

    def think(self, depth: int, nodes: int | None = None) -> RootLine:
        """Search without reports, to a depth or a number of nodes; `begin` must have found a legal move."""
        self.set_node_limit(nodes)
        for next_depth in range(1, depth + 1):
            if not self.search_depth(next_depth, 1):
                break
        return self.root_line(0)

    def lengthen(self, line: int, wanted: int) -> bool:
        """Lengthen a line for people to read (see lines.py); False if it announces a mate that it does not reach."""
        before = int(self.record["node_limit"])
        self.record["node_limit"] = NO_NODE_LIMIT
        complete = lengthen(self, line, wanted)
        self.record["node_limit"] = before
        return complete

    def root_entry(self, line: int) -> Any:
        """The root move's record at a rank, 0 = best."""
        return self.record["root_moves"][self.record["root_order"][line]]

    def root_line(self, line: int) -> RootLine:
        """The line at a rank, 0 = best."""
        entry = self.root_entry(line)
        score = int(entry["score"])
        if score == -INFINITE:
            score = int(entry["previous"])
        return RootLine(
            int(entry["move"]),
            score,
            int(entry["bound"]),
            int(entry["seldepth"]),
            [int(move) for move in entry["line"][: int(entry["length"])]],
        )

    def effort(self) -> float:
        """Share of the nodes spent on the best root move."""
        return int(self.root_entry(0)["effort"]) / max(1, self.nodes)

    def take_best_changes(self) -> int:
        """How often the best move changed since the last call."""
        changes = int(self.record["best_changes"])
        self.record["best_changes"] = 0
        return changes


def vote(workers: list[Worker]) -> Worker:
    """The worker whose result is to be played: moves found deeper and scored higher by more threads win.

    A proved mate goes before votes, the shortest first.
    """
    lines = {worker.index: worker.root_line(0) for worker in workers if worker.completed_depth > 0}
    candidates = [worker for worker in workers if worker.index in lines]
    if len(candidates) < 2:
        return candidates[0] if candidates else workers[0]
    lowest = min(line.score for line in lines.values())
    votes: dict[int, int] = {}
    for worker in candidates:
        line = lines[worker.index]
        votes[line.move] = votes.get(line.move, 0) + (line.score - lowest + 14) * worker.completed_depth

    def merit(worker: Worker) -> tuple[int, int, int]:
        line = lines[worker.index]
        mate = line.score if line.score >= MATE_IN_MAX else 0
        return mate, votes[line.move], (line.score - lowest + 14) * worker.completed_depth

    return max(candidates, key=merit)
