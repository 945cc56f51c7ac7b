"""The referee: seats two engines, keeps the clocks, and judges every move by the rules module."""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.rules.impasse import DEFAULT_RULE
from engine.search.limits import Info, Limits
from usi.client import Answer, EngineDied, EngineError, EngineTimeout, LogEntry, UsiEngine
from usi.match.config import Control, EngineSpec, MatchError, MatchSettings
from usi.match.schedule import Opening, Task
from usi.match.store import GameResult
from usi.match.umpire import End, IllegalMove, Umpire

MATE_SCORE = 32000
ANOMALIES = ("illegal move", "wrong declaration", "time", "crash", "hang")
"""Ends of a game that no sound engine brings about; each comes with the command log of the game."""

BLACK, WHITE = 0, 1
LOG_LINES = 100  # of its own log that an engine's client needs for its messages; ours has all of them


class Cancelled(Exception):
    """The match is being stopped; the game does not count."""


def score_of(info: Info | None) -> int | None:
    """Centipawns of a report, mates included; None where there is no score."""
    if info is None:
        return None
    if info.mate is None:
        return info.score_cp
    return MATE_SCORE - info.mate if info.mate > 0 else -MATE_SCORE - info.mate


class Player:
    """One engine at one table. It is started when it is first needed, and again after it died."""

    def __init__(self, spec: EngineSpec, settings: MatchSettings) -> None:
        self.spec = spec
        self.settings = settings
        self.engine: UsiEngine | None = None
        self.expected: str | None = None  # the move it is pondering on
        self.log: list[tuple[float, str]] = []  # of the present game: time.perf_counter() and line
        self.proven = False  # it has been ready for a game at least once

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def seat(self) -> UsiEngine:
        """The running engine. Raises EngineDied if there is none."""
        if self.engine is None:
            raise EngineDied(f"{self.name} is not running")
        return self.engine

    def prepare(self) -> None:
        """Be ready for a new game. Raises EngineError."""
        self.expected = None
        self.log.clear()
        if self.engine is not None and not self.engine.alive:
            self.close()
        if self.engine is None:
            engine = UsiEngine(self.spec.command, self.name, self.spec.folder, self._note, LOG_LINES)
            self.engine = engine
            engine.start(self.settings.start_timeout)
            self._send_options(engine)
        self.seat.new_game(self.settings.start_timeout)
        self.proven = True

    def _note(self, entry: LogEntry) -> None:
        self.log.append((time.perf_counter(), f"{self.name} {entry.direction} {entry.text}"))

    def _send_options(self, engine: UsiEngine) -> None:
        """Options that follow from the match, where the engine has them, and then the user's own."""
        for name, value in match_options(self.settings, self.settings.ponders(self.spec)):
            option = engine.find_option(name)
            if option is not None and (not option.values or value in option.values):
                engine.set_option(name, value)
        self._check_variant(engine)
        for name, value in self.spec.options.items():
            engine.set_option(name, value or None if _is_button(engine, name) else value)

    def _check_variant(self, engine: UsiEngine) -> None:
        variant = self.settings.variant
        options = [engine.find_option(name) for name in VARIANT_OPTIONS]
        knows = any(option and (variant in option.values or not option.values) for option in options)
        told = any(name.lower() == own.lower() for name in VARIANT_OPTIONS for own in self.spec.options)
        if variant != "shogi" and not knows and not told:
            raise MatchError(f"{self.name} does not play {variant}: no option {' or '.join(VARIANT_OPTIONS)} offers it")

    def close(self, hard: bool = False) -> None:
        """End the process; may be called from another thread, whose wait for this engine then fails."""
        engine, self.engine = self.engine, None
        if engine is not None:
            if hard:
                engine.kill()
            else:
                engine.quit()


def _is_button(engine: UsiEngine, name: str) -> bool:
    option = engine.find_option(name)
    return option is not None and option.type == "button"


VARIANT_OPTIONS = ("USI_Variant", "UCI_Variant")


def match_options(settings: MatchSettings, ponder: bool) -> list[tuple[str, str]]:
    """USI options that follow from the settings of a match, under all the names engines use for them."""
    text = "true" if ponder else "false"
    return [
        *((name, settings.variant) for name in VARIANT_OPTIONS),
        ("USI_Ponder", text),
        ("Ponder", text),
        ("MaxMovesToDraw", str(settings.max_moves)),
        ("EnteringKingRule", settings.rule or DEFAULT_RULE),
    ]


def _reason(error: EngineError) -> str:
    return "crash" if isinstance(error, EngineDied) else "hang"


@dataclass
class Clock:
    """Both sides' time. An increment is credited before the move, as in CSA and floodgate games."""

    controls: tuple[Control, Control]
    left: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = [control.main for control in self.controls]

    def allowed(self, side: int) -> int | None:
        """Milliseconds the side may spend on this move, None without a clock."""
        control = self.controls[side]
        return self.left[side] + control.increment + control.byoyomi if control.has_clock else None

    def spend(self, side: int, used: int) -> None:
        """Charge a move. What byoyomi does not cover comes off the main time, which never falls below 0."""
        self.left[side] = max(0, self.left[side] + self.controls[side].increment - used)

    def limits(self, side: int) -> Limits:
        """The `go` for the side to move."""
        own = self.controls[side]
        limits = Limits(nodes=own.nodes or None, depth=own.depth or None)
        if own.has_clock:
            limits.btime, limits.wtime = self.left
            limits.binc, limits.winc = (control.increment for control in self.controls)
            limits.byoyomi = own.byoyomi
        return limits


class Game:
    """One game between two players, from its opening to its end."""

    def __init__(
        self,
        task: Task,
        opening: Opening,
        players: tuple[Player, Player],
        settings: MatchSettings,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self.task = task
        self.opening = opening
        self.players = players  # black, white
        self.settings = settings
        self.cancelled = cancelled
        self.umpire = Umpire(settings.variant, opening, settings.rule, settings.max_moves)
        self.clock = Clock((settings.control_of(players[0].spec), settings.control_of(players[1].spec)))
        self.moves: list[str] = []
        self.scores: list[int | None] = []
        self.times: list[int] = []
        self.date = datetime.datetime.now().astimezone().isoformat(timespec="seconds")

    def play(self) -> GameResult:
        """Play to the end. Raises Cancelled, and MatchError when an engine cannot even be started."""
        end = self._prepare_players() or self.umpire.verdict()
        while end is None:
            end = self._one_move()
        self._end_players(end)
        winner = "draw" if end.winner is None else ("black", "white")[end.winner]
        return GameResult(
            number=self.task.number,
            black=self.players[0].name,
            white=self.players[1].name,
            opening=str(self.opening),
            moves=self.moves,
            winner=winner,
            reason=end.reason,
            detail=end.detail,
            scores=self.scores,
            times=self.times,
            date=self.date,
        )

    def log(self) -> list[str]:
        """Every line that both engines wrote and read in this game, with the seconds since its start.

        `<` goes to the engine, `>` comes from it, `!` is its stderr or its end.
        """
        black, white = self.players
        lines = sorted(black.log + white.log)
        start = lines[0][0] if lines else 0.0
        head = f"game {self.task.number}: {black.name} (black), {white.name} (white), {self.date}"
        return [head, *(f"{at - start:10.3f} {text}" for at, text in lines)]

    def _prepare_players(self) -> End | None:
        """Start both engines. One that fails at its first start ends the match, later it only loses the game."""
        for side, player in enumerate(self.players):
            try:
                player.prepare()
            except EngineError as error:
                player.close(hard=True)
                self._check_cancelled()
                if not player.proven:
                    raise MatchError(f"{player.name} does not start: {error}") from None
                return End(side ^ 1, _reason(error), str(error))
        return None

    def _one_move(self) -> End | None:
        """Let the side to move think, judge what it answers, and play its move."""
        self._check_cancelled()
        side = self.umpire.side
        try:
            answer, used = self._think(side)
        except EngineError as error:
            self.players[side].close(hard=True)
            self._check_cancelled()
            return End(side ^ 1, _reason(error), str(error))
        allowed = self.clock.allowed(side)
        if allowed is not None and used > allowed + self.settings.margin_of(self.players[side].spec):
            return End(side ^ 1, "time", f"{self.players[side].name} used {used} ms of {allowed} ms")
        self.clock.spend(side, used)
        assert answer.bestmove is not None
        move, expected = answer.bestmove.move, answer.bestmove.ponder
        if move == "resign":
            return End(side ^ 1, "resignation")
        if move == "win":
            return self.umpire.declaration()
        try:
            self.umpire.push(move)
        except IllegalMove as error:
            return End(side ^ 1, "illegal move", f"{self.players[side].name} played {error}")
        self.moves.append(move)
        self.times.append(used)
        self.scores.append(score_of(answer.best()))
        end = self.umpire.verdict() or self._adjudicate()
        if end is None and expected is not None and self.settings.ponders(self.players[side].spec):
            self._start_ponder(side, expected)
        return end

    def _think(self, side: int) -> tuple[Answer, int]:
        """The side's answer and the milliseconds it took, a missed ponder's end included. Raises EngineError."""
        player = self.players[side]
        engine = player.seat
        allowed = self.clock.allowed(side)
        patience = self.settings.move_timeout
        if allowed is not None:
            patience = (allowed + self.settings.margin_of(player.spec)) / 1000 + 0.05
        started = time.perf_counter()
        if player.expected is not None and self.moves and player.expected == self.moves[-1]:
            player.expected = None
            engine.ponderhit()
        else:
            self._stop_ponder(player)
            engine.position(self.opening.sfen, (*self.opening.moves, *self.moves))
            engine.start_search(self.clock.limits(side))
        before = time.perf_counter() - started
        try:
            answer = engine.wait(patience)
        except EngineTimeout:
            answer = engine.stop(self.settings.answer_timeout)
            if allowed is None:
                raise EngineTimeout(f"{player.name} thought longer than {patience:g} s") from None
            return answer, math.ceil(1000 * (time.perf_counter() - started))
        return answer, math.ceil(1000 * before + answer.elapsed_ms)

    def _start_ponder(self, side: int, move: str) -> None:
        """Let the side that just moved think on its opponent's time, if the move it expects makes sense."""
        if not self.umpire.goes_on_after(move):
            return
        player = self.players[side]
        limits = self.clock.limits(side)
        limits.ponder = True
        try:
            player.seat.position(self.opening.sfen, (*self.opening.moves, *self.moves, move))
            player.seat.start_search(limits)
            player.expected = move
        except EngineError:
            player.expected = None  # it died; its next turn will tell

    def _stop_ponder(self, player: Player) -> None:
        """End pondering, if it does; the answer is thrown away. Raises EngineError."""
        if player.expected is not None:
            player.expected = None
            player.seat.stop(self.settings.answer_timeout)

    def _check_cancelled(self) -> None:
        """A match that is being stopped kills its engines: that is no crash. Raises Cancelled."""
        if self.cancelled():
            raise Cancelled

    def _adjudicate(self) -> End | None:
        """Both engines agree, for some moves in a row, that one of them is lost."""
        bar, count = self.settings.resign, 2 * self.settings.resign_moves
        recent = self.scores[-count:]
        if not bar or len(recent) < count or any(score is None for score in recent):
            return None
        last = self.umpire.side ^ 1  # the side that made the last move
        for loser in (BLACK, WHITE):
            own = recent[-1::-2] if loser == last else recent[-2::-2]
            other = recent[-2::-2] if loser == last else recent[-1::-2]
            if all((s or 0) <= -bar for s in own) and all((s or 0) >= bar for s in other):
                return End(loser ^ 1, "adjudication", f"both engines see {bar} centipawns or more")
        return None

    def _end_players(self, end: End) -> None:
        """Stop what still ponders, and tell both how the game went."""
        for side, player in enumerate(self.players):
            if player.engine is None:
                continue
            result = "draw" if end.winner is None else ("win" if end.winner == side else "lose")
            try:
                self._stop_ponder(player)
                player.seat.game_over(result)
            except EngineError:
                player.close(hard=True)


@dataclass
class Table:
    """The engines that one worker keeps running between its games."""

    settings: MatchSettings
    players: dict[int, Player] = field(default_factory=dict)

    def play(self, task: Task, opening: Opening, cancelled: Callable[[], bool]) -> tuple[GameResult, list[str]]:
        """Play one game; gives its result and its command log. Raises Cancelled and MatchError.

        `close(hard=True)` from another thread ends it early, if `cancelled` is true by then.
        """
        seats = (self._seat(task.black), self._seat(task.white))
        game = Game(task, opening, seats, self.settings, cancelled)
        try:
            return game.play(), game.log()
        except BaseException:
            self.close(hard=True)
            raise
        finally:
            if self.settings.restart:
                self.close()

    def close(self, hard: bool = False) -> None:
        """End all engines of this table."""
        for player in list(self.players.values()):
            player.close(hard)

    def _seat(self, index: int) -> Player:
        if index not in self.players:
            self.players[index] = Player(self.settings.engines[index], self.settings)
        return self.players[index]
