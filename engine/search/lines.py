"""Main lines for people: lengthened from the table, and with a mate at their end when one is announced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.rules.endings import declaration
from engine.rules.layout import record_address
from engine.rules.movegen import generate_legal
from engine.rules.position import make_move, unmake_move
from engine.search.alphabeta import search
from engine.search.layout import MATE, MATE_IN_MAX, MAX_PLY, PV_NODE, STACK_BEFORE
from engine.search.root import table_move

if TYPE_CHECKING:
    from engine.search.workers import Worker

DEEPER = range(0, 12, 2)  # plies beyond a mate's length to which it is searched again, in turn


def lengthen(worker: Worker, rank: int, wanted: int) -> bool:
    """Lengthen a worker's line at a rank to `wanted` moves, or, when its score is a mate, to the mate itself.

    Returns False if a mate was announced and the line ends neither in it nor, one move earlier, in a declaration.
    """
    entry = worker.root_entry(rank)
    score = int(entry["score"])
    line = [int(move) for move in entry["line"][: int(entry["length"])]]
    if abs(score) < MATE_IN_MAX:
        complete = True
        line = _follow_table(worker, line, min(wanted, MAX_PLY))
    else:
        line, complete = _lead_to_mate(worker, line, score)
    entry["line"][: len(line)] = line
    entry["length"] = len(line)
    return complete


def _play(worker: Worker, line: list[int]) -> None:
    for move in line:
        make_move(worker.position, worker.tables, np.int32(move))


def _take_back(worker: Worker, count: int) -> None:
    for _ in range(count):
        unmake_move(worker.position, worker.tables)


def _follow_table(worker: Worker, line: list[int], wanted: int) -> list[int]:
    """The line with moves from the table appended, up to a length or a repetition."""
    line = list(line)
    _play(worker, line)
    position, limit = worker.position, int(worker.shared["max_moves"])
    while len(line) < wanted and not 0 < limit < int(position["game_ply"]) + int(position["ply"]):
        move = int(table_move(worker.position, worker.tables, worker.shared, len(line)))
        if move == 0:
            break
        line.append(move)
        _play(worker, [move])
    _take_back(worker, len(line))
    return line


def _lead_to_mate(worker: Worker, line: list[int], score: int) -> tuple[list[int], bool]:
    """The line with the moves to the mate that its score announces, and whether it really ends so."""
    plies = MATE - abs(score)
    line = line[:plies]
    while True:
        _play(worker, line)
        position, tables = worker.position, worker.tables
        ended = generate_legal(position, tables, 0) == 0 if len(line) == plies else False
        if len(line) == plies - 1 and declaration(position, tables, worker.shared):
            ended = True
        rest = [] if ended or len(line) == plies else _search_mate(worker, len(line), plies, score)
        _take_back(worker, len(line))
        if not rest:
            return line, bool(ended)
        line = line + rest


def _search_mate(worker: Worker, ply: int, plies: int, score: int) -> list[int]:
    """Moves from the current position, `ply` plies below the root, on the way to a mate known to be `plies` away."""
    record = worker.record
    value = score if ply % 2 == 0 else -score
    record["stack"][ply - 1 + STACK_BEFORE]["free"] = 0
    addresses = [record_address(item) for item in (worker.position, worker.tables, worker.shared, record)]
    for extra in DEEPER:
        depth = plies - ply + extra
        if search.ctypes(*addresses, ply, value - 1, value + 1, depth, PV_NODE) == value:
            count = min(int(record["line_length"][ply]), plies - ply)
            return [int(move) for move in record["line"][ply][:count]]
    return []
