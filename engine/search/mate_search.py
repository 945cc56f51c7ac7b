"""The Python face of the mate solver.

    solver = MateSolver("shogi", hash_mb=64)
    result = solver.solve("4k4/9/4P4/9/9/9/9/9/9 b G2r2b3g4s4n4l17p 1", time_ms=1000)
    print(result.status, result.line)

A mate is sought by checks alone; the attacker is the side to move and needs no king. Lengths count every ply, also of
interpositions that do not help.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.rules.codes import HAND_TYPES, KING, SQUARES, base_type
from engine.rules.layout import HAND_MASK, HAND_SHIFT, new_record
from engine.rules.moves import format_usi
from engine.rules.position import make_move, new_position, refresh, set_position, unmake_move
from engine.rules.sfen import Placement, parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import get_variant
from engine.search.hash_table import HashTable
from engine.search.limits import Info, Result
from engine.search.mate import DONE, STOPPED, advance, start, unwind
from engine.search.mate_line import LOST_ATTACK, MATED, follow_line, is_mate_line, tighten_line
from engine.search.mate_rules import connect_rules
from engine.search.mate_table import ENTRY, MATE, PATH_ENTRY, UNCONDITIONAL, UNLIMITED

PATH_SHARE = 16  # one part in so many of the memory holds results that lean on the path
SLICE = 1024  # nodes between two looks at the clock
REPORT_SECONDS = 1.0
NO_LIMIT = 1 << 62
LINE_NODES = 100_000  # what repairing a line may cost after the time is up
LINE_ATTEMPTS = 16  # lines tried until one is as long as the table says the mate is
LEAST_SHORTENING = 5.0  # seconds for a shorter mate when no time limit is given, at least


@dataclass
class MateResult:
    """The end of one mate search."""

    status: str  # "mate", "nomate" (proved that there is none by checks) or "timeout" (a limit or stop came first)
    plies: int | None = None  # the attacker can mate within so many
    exact: bool = False  # there is no shorter mate
    line: list[str] = field(default_factory=list)
    """USI moves to the mate, replayed and verified; shorter than `plies` only if that is not exact."""
    nodes: int = 0  # positions visited
    time_ms: int = 0
    depth: int = 0  # deepest position visited, in plies


class MateSolver:
    """One thread's solver with its table. Results of earlier searches stay in the table until `clear`."""

    def __init__(self, variant: str = "shogi", hash_mb: int = 64, table: HashTable | None = None) -> None:
        """`table` is memory to use in place of own; its owner calls `attach` whenever it is empty or has moved."""
        self.variant = get_variant(variant)
        self._tables = variant_tables(variant)
        self._position: Any = new_position()
        self._record: Any = new_record(MATE)
        connect_rules(self._record)
        self.clock: Callable[[], float] = time.perf_counter  # seconds; what time limits are measured with
        self._own_stop = np.zeros(8, dtype=np.int64)
        self._hash = table or HashTable(max(1, hash_mb))
        self.attach()

    def attach(self) -> None:
        """Begin with the table's memory as it is now: all zeros."""
        size = self._hash.megabytes << 20
        paths = size // PATH_SHARE
        record = self._record
        record["table"] = self._hash.address
        record["slots"] = (size - paths) // ENTRY.itemsize
        record["paths"] = self._hash.address + size - paths
        record["path_slots"] = paths // PATH_ENTRY.itemsize
        record["used"] = 0
        record["sweep"] = -1

    @property
    def megabytes(self) -> int:
        """Size of the table; less than asked for where the machine has no more."""
        return self._hash.megabytes

    def clear(self) -> None:
        """Forget what earlier searches found."""
        self._hash.clear()
        self.attach()

    @property
    def is_stopped(self) -> bool:
        """True once `stop` was called during the last `solve`."""
        return bool(self._own_stop[0])

    def stop(self) -> None:
        """End the running `solve`; may be called from any thread."""
        self._own_stop[0] = 1

    def solve(
        self,
        position: str | Placement | np.void,
        time_ms: float | None = None,
        nodes: int | None = None,
        stop_address: int = 0,
        shorten: bool = True,
        on_info: Callable[[Info], None] | None = None,
    ) -> MateResult:
        """Seek a mate for the side to move; the position is an SFEN, a placement or a position record.

        The first limit reached ends the search, and so does `stop()` or an int64 other than 0 at `stop_address`.
        After a mate is found, the rest of the limits goes into finding the shortest (`shorten`); without a time
        limit as much time as the first mate took, or LEAST_SHORTENING.
        Raises SfenError for a bad SFEN.
        """
        self._own_stop[0] = 0
        self._record["stop"] = stop_address or self._own_stop.ctypes.data
        self._set_up(position)
        run = _Run(self, time_ms, nodes, on_info)
        return run.solve(shorten)

    def _set_up(self, position: str | Placement | np.void) -> None:
        P, M = self._position, self._record
        if isinstance(position, str):
            position = parse_sfen(position, self.variant)
        if isinstance(position, Placement):
            set_position(P, self._tables, position)
        else:
            P["board"], P["hand"], P["side"] = position["board"], position["hand"], position["side"]
            refresh(P, self._tables)
        P["all_moves"] = 1
        M["attacker"] = P["side"]
        M["salt"] = _salt(P, self._tables)
        M["nodes"] = M["leaves"] = M["max_depth"] = 0


def _salt(P: np.void, T: np.void) -> int:
    """A key for what all positions of one search share: the variant, the attacker and the pieces in play."""
    counts = [0] * (KING + 1)
    for piece in P["board"][:SQUARES].tolist():
        if piece:
            counts[base_type(piece)] += 1
    for kind in HAND_TYPES:
        counts[kind] += sum(int(hand) >> int(HAND_SHIFT[kind]) & int(HAND_MASK[kind]) for hand in P["hand"])
    text = f"{int(T['variant'])} {int(P['side'])} {counts}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


class _Interrupted(Exception):
    """A limit or stop came first."""


class _Run:
    """One search: from the limits to the result."""

    def __init__(
        self, solver: MateSolver, time_ms: float | None, nodes: int | None, on_info: Callable[[Info], None] | None
    ) -> None:
        self._solver = solver
        self._records = (solver._position, solver._tables, solver._record)
        self._clock = solver.clock
        self._begin = self._clock()
        self._deadline = None if time_ms is None else self._begin + time_ms / 1000
        self._node_limit = NO_LIMIT if nodes is None else nodes
        self._on_info = on_info
        self._next_report = self._begin + REPORT_SECONDS
        self._line: list[str] = []
        self._plies: int | None = None

    def solve(self, shorten: bool) -> MateResult:
        """Any mate first, then shorter ones until there is none or a limit is reached."""
        status, exact = "timeout", False
        bound = UNLIMITED + 1
        try:
            while True:
                found = self._prove(bound - 2) if bound > 2 else None
                if found is None:
                    exact = status == "mate"
                    status = "mate" if exact else "nomate"
                    break
                status = "mate"
                bound = self._take_line(found, False)
                self._report()
                if not shorten:
                    break
                self._limit_shortening()
            if exact:
                exact = False
                self._take_line(bound, True)
                exact = True
        except _Interrupted:
            pass
        if status == "mate" and not self._line:
            status = "timeout"
        return MateResult(
            status, self._plies, exact, self._line, self._nodes, self._elapsed_ms(), int(self._records[2]["max_depth"])
        )

    @property
    def _nodes(self) -> int:
        return int(self._records[2]["nodes"])

    def _elapsed_ms(self) -> int:
        return int((self._clock() - self._begin) * 1000)

    def _limit_shortening(self) -> None:
        """Without a time limit, a first mate sets one."""
        if self._deadline is None:
            now = self._clock()
            self._deadline = now + max(LEAST_SHORTENING, now - self._begin)

    def _prove(self, length: int) -> int | None:
        """Length of a mate of at most `length` plies from the position on the board, None if there is none."""
        start(*self._records, length)
        self._advance()
        root = self._records[2]["frames"][0]
        if root["pn"] == 0:
            return int(root["proven"])
        if root["dependency"] != UNCONDITIONAL:  # some line was longer than the search can go
            raise _Interrupted
        return None

    def _advance(self) -> None:
        """Search until the root is solved. Raises _Interrupted, the position back at the root, when it may not be."""
        while True:
            outcome = advance(*self._records, min(self._nodes + SLICE, self._node_limit))
            if outcome == DONE:
                return
            now = self._clock()
            late = self._deadline is not None and now >= self._deadline
            if late or outcome == STOPPED or self._solver.is_stopped or self._nodes >= self._node_limit:
                unwind(*self._records)
                raise _Interrupted
            if now >= self._next_report:
                self._report()

    # ------------------------------------------------ the line

    def _take_line(self, bound: int, only_sure: bool) -> int:
        """Make the line of a proved mate of at most `bound` plies ours, if it passes the check.

        Returns the bound, lower if the table knows better by now.
        """
        P, T, M = self._records
        limits = self._deadline, self._node_limit
        if not only_sure:  # a proof is at hand: what the table lost of it is found again even when the time is up
            self._deadline, self._node_limit = None, self._nodes + LINE_NODES
        try:
            for _ in range(LINE_ATTEMPTS):
                M["line_length"] = 0
                self._follow(bound, only_sure)
                bound = min(bound, int(tighten_line(P, T, M)))
                if int(M["line_length"]) >= bound:
                    break
        finally:
            self._deadline, self._node_limit = limits
            self._take_back()
        verified = is_mate_line(P, T, M)
        self._take_back()
        if not verified:
            raise _Interrupted
        self._line = [format_usi(move) for move in M["line"][: int(M["line_length"])].tolist()]
        self._plies = bound
        return bound

    def _take_back(self) -> None:
        P, T, _ = self._records
        while P["ply"] > 0:
            unmake_move(P, T)

    def _follow(self, left: int, only_sure: bool) -> None:
        """Play the line out; where the table has lost a proof, or does not know which defence is best, search again."""
        P, T, M = self._records
        while True:
            obstacle = follow_line(P, T, M, left, only_sure)
            if obstacle == MATED:
                return
            left = int(M["line_left"])
            if obstacle == LOST_ATTACK:
                self._prove(left)
                continue
            make_move(P, T, int(M["line_move"]))
            try:
                self._prove(int(M["line_search"]))
            finally:
                unmake_move(P, T)

    # ------------------------------------------------ reports

    def _report(self) -> None:
        """Tell the caller how far the search is."""
        now = self._clock()
        self._next_report = now + REPORT_SECONDS
        if self._on_info is None:
            return
        record = self._records[2]
        elapsed, nodes = self._elapsed_ms(), self._nodes
        self._on_info(
            Info(
                depth=self._plies or 1,
                seldepth=max(1, int(record["max_depth"])),
                time_ms=elapsed,
                nodes=nodes,
                nps=nodes * 1000 // max(1, elapsed),
                hashfull=int(record["used"]) * 1000 // int(record["slots"]),
                mate=self._plies,
                pv=list(self._line),
            )
        )


def solve_mate(
    solver: MateSolver,
    position: np.void,
    time_ms: float | None = None,
    nodes: int | None = None,
    stop_address: int = 0,
    on_info: Callable[[Info], None] | None = None,
) -> Result:
    """Answer of `go mate`: `Result.checkmate` is the line, "nomate" or "timeout"."""
    found = solver.solve(position, time_ms, nodes, stop_address, on_info=on_info)
    lines = [Info(depth=found.plies or 1, mate=found.plies, nodes=found.nodes, pv=found.line)] if found.line else []
    return Result(
        bestmove=found.line[0] if found.line else "resign",
        ponder=found.line[1] if len(found.line) > 1 else None,
        mate=found.plies,
        nodes=found.nodes,
        depth=found.depth,
        time_ms=found.time_ms,
        lines=lines,
        checkmate=found.line or found.status,
    )
