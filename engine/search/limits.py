"""What goes into one search and what comes out: plain dataclasses, importable without numba."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Limits:
    """Limits of one `go`; times in milliseconds, None = not given. The first limit reached ends the search."""

    btime: int | None = None
    wtime: int | None = None
    binc: int = 0
    winc: int = 0
    byoyomi: int = 0
    movetime: int | None = None
    depth: int | None = None
    nodes: int | None = None
    mate: int | None = None  # time for a mate search, -1 = no limit
    infinite: bool = False
    ponder: bool = False
    # time.perf_counter() when the command was read; the clock runs from then
    received: float | None = field(default=None, compare=False)
    searchmoves: list[str] = field(default_factory=list)
    network_delay: int = 120
    network_delay2: int = 1120
    minimum_thinking_time: int = 2000
    slow_mover: int = 100
    round_up_to_full_second: bool = True


@dataclass
class Info:
    """One report about one line of a search; scores from the side to move's view."""

    depth: int = 0
    seldepth: int = 0
    time_ms: int = 0
    nodes: int = 0
    nps: int = 0
    hashfull: int = 0
    multipv: int = 1
    score_cp: int | None = None
    mate: int | None = None  # plies to mate, negative when the side to move is mated; 0 = mated now
    bound: str | None = None  # "lower" or "upper"
    pv: list[str] = field(default_factory=list)
    currmove: str | None = None
    text: str | None = None  # an `info string` line


@dataclass
class Result:
    """The end of one search."""

    bestmove: str = "resign"  # a move, "resign" or "win" (declaration)
    ponder: str | None = None
    score_cp: int | None = None
    mate: int | None = None
    nodes: int = 0
    depth: int = 0
    time_ms: int = 0
    lines: list[Info] = field(default_factory=list)
    checkmate: list[str] | str | None = None  # of a mate search: the line, "nomate", "timeout" or "notimplemented"
