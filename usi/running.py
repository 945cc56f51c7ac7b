"""One `go`, from its line to its terminator.

The rule that everything here serves: each `go` is answered exactly once, and never before it may be: a search called
infinite waits for `stop`, one that ponders for `ponderhit` or `stop`, even when it has long found its move.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from engine.search.clock import is_timed
from engine.search.limits import Info, Limits, Result
from usi.options import NEVER_RESIGN, OptionValues
from usi.output import ReportFilter, Writer
from usi.protocol import (
    BestMove,
    Checkmate,
    format_bestmove,
    format_checkmate,
    format_info,
    format_info_string,
    is_limited,
)

LOST = 32000


class EngineFace(Protocol):
    """What a session needs of an engine (engine.search.engine.Engine has it, and so has a fake in the tests)."""

    def set_option(self, name: str, value: int | bool | str) -> str | None: ...

    def new_game(self) -> None: ...

    def set_position(self, sfen: str | None, moves: list[str]) -> None: ...

    def go(self, limits: Limits, on_info: Callable[[Info], None], on_done: Callable[[Result], None]) -> None: ...

    def stop(self) -> None: ...

    def ponderhit(self, limits: Limits | None) -> None: ...


class RunningSearch:
    """One search and its answer. Methods may be called from any thread, in any order, any number of times."""

    def __init__(self, limits: Limits, writer: Writer) -> None:
        self._limits = limits
        self._writer = writer
        self._lock = threading.Lock()
        self._engine: EngineFace | None = None
        self._filter = ReportFilter(0)
        self._resign_at = NEVER_RESIGN
        self._held = limits.infinite or limits.ponder
        self._stopped = False
        self._hit: tuple[Limits | None] | None = None
        self._muted = False
        self._result: Result | None = None
        self._last_move: str | None = None
        self._answered = threading.Event()

    # ------------------------------------------------ by the session

    def start(self, engine: EngineFace, options: OptionValues) -> None:
        """Begin; a stop or ponderhit that came earlier takes effect at once."""
        self._configure(options)
        engine.go(limits_for(self._limits, options), self.report, self.finish)
        with self._lock:
            self._engine = engine
            stopped, hit = self._stopped, self._hit
        if stopped:
            engine.stop()
        elif hit is not None:
            engine.ponderhit(hit[0] and limits_for(hit[0], options))

    @property
    def limits(self) -> Limits:
        """What `go` asked for."""
        return self._limits

    def answer(self, infos: list[Info], result: Result, options: OptionValues) -> None:
        """Finish without a search, by what is known already. A pondering one still waits for its terminator."""
        self._configure(options)
        for info in infos:
            self.report(info)
        self.finish(result)

    def _configure(self, options: OptionValues) -> None:
        study = bool(options["ConsiderationMode"])
        analysis = study or self._limits.infinite
        self._filter = ReportFilter(0 if analysis else options.number("PvInterval"), whole_lines_only=study)
        self._resign_at = NEVER_RESIGN if analysis else options.number("ResignValue")

    def stop(self) -> None:
        """Answer as soon as possible."""
        with self._lock:
            self._stopped, self._held = True, False
            engine = None if self._answered.is_set() or self._result else self._engine
        if engine is not None:
            engine.stop()
        self._answer_if_due()

    def abandon(self) -> None:
        """End the search for nobody. Takes no lock: a report may hold it, stuck in a pipe that is not read any more."""
        self._stopped = True
        engine = self._engine
        if engine is not None and not self._answered.is_set():
            engine.stop()

    def ponderhit(self, limits: Limits | None, options: OptionValues) -> None:
        """The clock runs now, by these limits or those of `go ponder`; without any limit the move is wanted at once."""
        if not self._limits.ponder:
            return
        if not is_limited(limits or self._limits):
            self.stop()
            return
        with self._lock:
            if self._hit is not None or self._stopped:
                return
            self._hit = (limits,)
            self._held = (limits or self._limits).infinite
            engine = None if self._result else self._engine
        if engine is not None:
            engine.ponderhit(limits and limits_for(limits, options))
        self._answer_if_due()

    def mute(self) -> None:
        """No more reports: the GUI has gone on to another position and would take them for that."""
        with self._lock:
            self._muted = True

    @property
    def ending(self) -> bool:
        """True once the answer is wanted or about to go out. A GUI that has seen the answer always finds it so."""
        with self._lock:
            return self._stopped or (self._result is not None and not self._held)

    @property
    def answered(self) -> bool:
        """True once the terminator is out."""
        return self._answered.is_set()

    def wait(self) -> None:
        """Until the terminator is out."""
        self._answered.wait()

    # ------------------------------------------------ by the engine's threads

    def report(self, info: Info) -> None:
        """A report of the search; dropped after the answer."""
        with self._lock:
            if self._result is not None:
                return
            if info.pv and info.multipv <= 1 and info.bound is None:
                self._last_move = info.pv[0]
            if not self._muted:
                self._write(self._filter.accept(info, time.monotonic()))

    def finish(self, result: Result) -> None:
        """The search is over; answers now or when it may."""
        with self._lock:
            if self._result is None:
                self._result = result
                if not self._muted:
                    self._write(self._filter.rest())
        self._answer_if_due()

    def fail(self, reason: str) -> None:
        """The search broke: say so, and answer with the best move that it had reported, or give up the game."""
        with self._lock:
            if self._result is not None:
                return
            self._writer.lines(format_info_string(f"error {reason}"))
            engine = self._engine
        if engine is not None:
            engine.stop()
        self.finish(Result(bestmove=self._last_move or "resign", checkmate="timeout"))

    def _write(self, infos: list[Info]) -> None:
        if infos:
            self._writer.lines(*map(format_info, infos))

    def _answer_if_due(self) -> None:
        with self._lock:
            if self._result is None or self._held or self._answered.is_set():
                return
            self._writer.lines(self._terminator(self._result))
            self._answered.set()

    def _terminator(self, result: Result) -> str:
        if self._limits.mate is not None:
            return format_checkmate(checkmate_of(result))
        if behind(result) >= self._resign_at:
            return format_bestmove(BestMove("resign"))
        return format_bestmove(BestMove(result.bestmove, result.ponder))


def limits_for(limits: Limits, options: OptionValues) -> Limits:
    """The limits of a `go` together with those that the options set."""
    depth, nodes = options.number("DepthLimit"), options.number("NodesLimit")
    return replace(
        limits,
        depth=lowest(limits.depth, depth),
        nodes=lowest(limits.nodes, nodes),
        network_delay=options.number("NetworkDelay"),
        network_delay2=options.number("NetworkDelay2"),
        minimum_thinking_time=options.number("MinimumThinkingTime"),
        slow_mover=options.number("SlowMover"),
        round_up_to_full_second=bool(options["RoundUpToFullSecond"]),
    )


def is_fixed_depth(limits: Limits) -> bool:
    """True for `go depth N` alone, which people compare: its result must not depend on what was searched before."""
    open_end = limits.infinite or limits.ponder or limits.mate is not None
    return limits.depth is not None and limits.nodes is None and not open_end and not is_timed(limits)


def lowest(limit: int | None, option: int) -> int | None:
    """The tighter of a limit (None = none) and an option (0 = none)."""
    return min((value for value in (limit, option or None) if value is not None), default=None)


def behind(result: Result) -> int:
    """Centipawns by which the side to move is behind; a mate against it counts as LOST."""
    if result.bestmove == "win":
        return -LOST
    if result.mate is not None:
        return LOST if result.mate <= 0 else -LOST
    return -(result.score_cp or 0)


def checkmate_of(result: Result) -> Checkmate:
    """The answer of a mate search."""
    if isinstance(result.checkmate, list):
        return Checkmate(tuple(result.checkmate))
    return Checkmate(verdict=result.checkmate or "timeout")
