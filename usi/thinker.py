"""One face for whatever thinks about a position: Narikin in this process, or any USI engine in one of its own."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from engine.search.limits import Info, Limits, Result
from usi.client import STOP_TIMEOUT, Answer, EngineError, LogEntry, UsiEngine
from usi.protocol import Position

POLL_SECONDS = 0.1
"""A wait without a time-out cannot be broken by Ctrl-C on every system."""

OPTIONAL = ("USI_Hash", "Threads", "MultiPV")
"""Options that are only sent to an engine that declares them."""

OnInfo = Callable[[Info], None]


class Thinker(Protocol):
    """Thinks about one position at a time; Ctrl-C ends the thinking and keeps what was found."""

    name: str
    notes: list[str]
    interrupted: bool  # the last `think` was ended by Ctrl-C

    def think(self, position: Position, limits: Limits, on_info: OnInfo) -> Result: ...

    def new_game(self) -> None: ...

    def close(self) -> None: ...


class OwnThinker:
    """Narikin, in this process. Settings go by the names of `Engine.set_option`."""

    name = "Narikin"

    def __init__(self, variant: str = "shogi", threads: int = 1, hash_mb: int = 256, **settings: Any) -> None:
        from usi.session import make_engine

        self._engine = make_engine(variant, threads)
        self.interrupted = False
        self.notes: list[str] = []  # what the engine did otherwise than asked, such as a smaller table
        for name, value in {"hash_mb": hash_mb, **settings}.items():
            note = self._engine.set_option(name, value)
            if note:
                self.notes.append(note)

    def new_game(self) -> None:
        """Forget earlier searches."""
        self._engine.new_game()

    def think(self, position: Position, limits: Limits, on_info: OnInfo = lambda info: None) -> Result:
        """Search; reports come in the caller's thread. Raises ValueError naming what is wrong with the position."""
        self.interrupted = False
        self._engine.set_position(position.sfen, list(position.moves))
        events: queue.SimpleQueue[Info | Result] = queue.SimpleQueue()
        self._engine.go(limits, events.put, events.put)
        while True:
            try:
                event = events.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            except KeyboardInterrupt:
                self.interrupted = True
                self._engine.stop()
                continue
            if isinstance(event, Result):
                return event
            on_info(event)

    def close(self) -> None:
        """Nothing is held."""


class UsiThinker:
    """Any USI engine as a subprocess. Raises EngineError when it fails."""

    def __init__(
        self,
        command: str,
        variant: str = "shogi",
        options: dict[str, object] | None = None,
        log: Callable[[LogEntry], None] | None = None,
    ) -> None:
        self._engine = UsiEngine(command, on_log=log)
        self.interrupted = False
        self.notes: list[str] = []
        try:
            self._engine.start()
            self._choose_variant(variant)
            for name, value in (options or {}).items():
                if self._engine.find_option(name) or name not in OPTIONAL:
                    self._engine.set_option(name, value)
            self._engine.new_game()
        except BaseException:
            self._engine.kill()
            raise
        self.name = self._engine.name

    def _choose_variant(self, variant: str) -> None:
        for name in ("USI_Variant", "UCI_Variant"):
            option = self._engine.find_option(name)
            if option is not None and (not option.values or variant in option.values):
                self._engine.set_option(name, variant)
                return
        if variant != "shogi":
            raise EngineError(f"{self._engine.name} does not play {variant}")

    def new_game(self) -> None:
        """`isready` and `usinewgame`."""
        self._engine.new_game()

    def think(self, position: Position, limits: Limits, on_info: OnInfo = lambda info: None) -> Result:
        """Search; reports come in the caller's thread."""
        self.interrupted = False
        self._engine.position(position.sfen, position.moves)
        self._engine.start_search(limits)
        reports: list[Info] = []

        def keep(info: Info) -> None:
            reports.append(info)
            on_info(info)

        while True:
            try:
                return result_of(self._engine.wait(None, keep), reports)
            except KeyboardInterrupt:
                self.interrupted = True
                return result_of(self._engine.stop(STOP_TIMEOUT, keep), reports)

    def close(self) -> None:
        """End the process."""
        self._engine.quit()


def result_of(answer: Answer, reports: list[Info]) -> Result:
    """A subprocess's answer as our own engine would give it: the last exact report of each line goes with it."""
    infos = [info for info in reports if info.pv]
    count = max((info.multipv for info in infos), default=0)
    best = [Answer(infos=infos).best(number) for number in range(1, count + 1)]
    depth = max((info.depth for info in best if info), default=0)
    lines = [info for info in best if info and info.depth == depth] or [info for info in best if info]
    result = Result(lines=lines, nodes=max((info.nodes for info in reports), default=0), depth=depth)
    result.time_ms = round(answer.elapsed_ms)
    if lines:
        result.score_cp, result.mate = lines[0].score_cp, lines[0].mate
    if answer.bestmove is not None:
        result.bestmove, result.ponder = answer.bestmove.move, answer.bestmove.ponder
    if answer.checkmate is not None:
        result.checkmate = list(answer.checkmate.moves) or answer.checkmate.verdict
    return result


def default_limits(**limits: Any) -> Limits:
    """Limits of a study: no clock, and no time kept back for a GUI."""
    return replace(Limits(network_delay=0, network_delay2=0, minimum_thinking_time=0), **limits)
