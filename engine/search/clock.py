"""How long to think: from the limits of `go` to milliseconds, and from the course of the search to an earlier end.

Pure Python and pure functions of numbers, so that every rule can be tested without a clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.search.limits import Limits

SECOND = 1000
FEWEST_MOVES_LEFT = 20  # a game is never planned to end sooner than in this many own moves
MOVES_OF_A_GAME = 62  # own moves that the clock is planned for at move 1
LONGEST_SHARE = 0.22  # part of the main time that one move may take at most
LONGEST_FACTOR = 5.0  # one move may take this many times its share of the time
BYOYOMI_MOVES_LEFT = 14  # with byoyomi to fall back on, main time is planned for fewer moves, at least for so many
LATENCY_MS = 40  # what waking a thread and writing a line may cost on a loaded machine
RESERVE_MS = 700.0  # of a clock without byoyomi: kept for the delays of all the moves to come
LONGEST_LATENESS_MS = 500  # a machine that slept is not a busy one
LATENESS_FADES = 0.97  # with every move; on a busy machine one answer in a hundred is late
LATENESS_CAUTION = 2.0  # the next late answer may be later than the ones before
SHORT_PERIOD_MS = 250  # of byoyomi: calm roots end early, as a machine that is busy of a sudden costs all of it
SMALLEST_SHARE = 0.3  # of the time on the clock may be used, whatever the margin
BUSY_SHARE = 0.1  # the same on a machine so busy that an answer takes its time
LATENCY_SHARE = 0.1  # more time in hand, more kept back, up to NetworkDelay2


@dataclass(frozen=True)
class Plan:
    """Thinking time of one move in milliseconds from the start of its clock."""

    optimum: float  # wanted for an ordinary move; the search ends about here after an iteration
    maximum: float  # never longer than this
    minimum: float = 0.0  # not shorter, unless the move is forced
    whole_seconds: bool = False  # the clock counts begun seconds: think to their end
    network_delay: float = 0.0

    def rounded(self, elapsed: float) -> float:
        """The moment at which a search that could end now should end, at most `maximum`."""
        wanted = max(elapsed, self.minimum)
        if self.whole_seconds:
            seconds = -(-(wanted + self.network_delay) // SECOND)
            wanted = max(wanted, seconds * SECOND - self.network_delay)
        return min(wanted, self.maximum)


def is_timed(limits: Limits) -> bool:
    """True if the limits set a clock (or a fixed time) for this move."""
    given = (limits.btime, limits.wtime, limits.movetime)
    return any(value is not None for value in given) or limits.byoyomi > 0 or limits.binc > 0 or limits.winc > 0


@dataclass
class Lateness:
    """How late answers were of late: a busy machine wakes threads late, so more time is kept back on it."""

    margin: float = 0.0  # milliseconds

    def note(self, late: float, pause: float = 0.0) -> None:
        """An answer was ready so many milliseconds after the end of its time (negative: before).

        `pause`: the longest time for which the search did not run meanwhile, a warning long before an answer is late.
        """
        late = min(max(LATENESS_CAUTION * late, pause), LONGEST_LATENESS_MS)
        self.margin = max(LATENESS_FADES * self.margin, late, 0.0)


def make_plan(limits: Limits, side: int, game_ply: int, lateness: float = 0.0) -> Plan | None:
    """The plan for the side to move (0 black, 1 white) at a move number; None when nothing limits the time.

    `lateness`: milliseconds to keep back on top, because answers came late before.
    """
    if limits.infinite or not is_timed(limits):
        return None
    if limits.movetime is not None:
        length = max(1.0, limits.movetime - min(10.0, limits.movetime * 0.05))
        return Plan(length, length)
    time_left = max(0, (limits.wtime if side else limits.btime) or 0)
    increment = max(0, limits.winc if side else limits.binc)
    byoyomi = max(0, limits.byoyomi)
    whole_seconds = limits.round_up_to_full_second and not any(
        value % SECOND for value in (time_left, increment, byoyomi)
    )
    maximum = _longest(limits, time_left + byoyomi, lateness)
    if time_left <= byoyomi:
        optimum = maximum  # what is left of the period is lost anyway
    elif byoyomi:
        moves_left = max(BYOYOMI_MOVES_LEFT, 0.6 * MOVES_OF_A_GAME - 0.3 * game_ply)
        optimum = min(maximum, _share(limits, time_left, moves_left) + 0.8 * byoyomi)
        maximum = min(maximum, byoyomi + max(LONGEST_SHARE * time_left, optimum - byoyomi))
    else:
        optimum, maximum = _plan_main_time(limits, time_left, increment, game_ply, maximum, lateness)
    minimum = min(max(0.0, limits.minimum_thinking_time - limits.network_delay), maximum) if whole_seconds else 0.0
    if time_left <= byoyomi and byoyomi >= SHORT_PERIOD_MS:
        minimum = maximum  # an easy move saves nothing
    return Plan(min(optimum, maximum), maximum, minimum, whole_seconds, float(limits.network_delay))


def _longest(limits: Limits, usable: float, lateness: float) -> float:
    """All that may be used of the time on the clock: a margin for the way to the server is kept back."""
    margin = min(float(limits.network_delay2), LATENCY_MS + LATENCY_SHARE * usable)
    return max(max(usable - margin, SMALLEST_SHARE * usable) - lateness, BUSY_SHARE * usable, 1.0)


def _share(limits: Limits, time_left: float, moves_left: float) -> float:
    return time_left / moves_left * limits.slow_mover / 100


def _plan_main_time(
    limits: Limits, time_left: float, increment: float, game_ply: int, longest: float, lateness: float
) -> tuple[float, float]:
    """Optimum and maximum without byoyomi. The coming increment is only planned with: some GUIs add it later."""
    moves_left = max(FEWEST_MOVES_LEFT, MOVES_OF_A_GAME - 0.45 * game_ply)
    reserve = min(RESERVE_MS, time_left if increment else 0.5 * time_left)
    spare = time_left - reserve
    share = _share(limits, spare, moves_left) + 0.85 * increment
    share -= max(lateness, min(float(limits.network_delay), 8 + 0.15 * share))
    optimum = max(1.0, share)
    maximum = min(longest, LONGEST_FACTOR * optimum, LONGEST_SHARE * spare + 0.5 * increment)
    return min(optimum, max(1.0, maximum)), max(1.0, maximum)


@dataclass
class Progress:
    """What the iterations so far say about how hard the move is."""

    previous_score: int | None = None  # of the last move of this game, in centipawns
    best_move: int = 0
    stable_iterations: int = 0
    restlessness: float = 0.0  # changes of the best move, fading with every iteration
    last_score: int | None = None

    def update(self, best_move: int, score: int, changes: int, effort: float) -> float:
        """Note a finished iteration; returns the factor by which the optimum should be taken.

        `changes`: how often the best move changed in it; `effort`: share of the nodes spent on the best move.
        """
        self.stable_iterations = self.stable_iterations + 1 if best_move == self.best_move else 0
        self.best_move = best_move
        self.restlessness = self.restlessness / 2 + changes
        factor = 0.75 + min(1.5, 0.8 * self.restlessness)
        factor *= self._falling(score)
        if self.stable_iterations >= 6:
            factor *= 0.8
        if effort > 0.9:
            factor *= 0.8
        self.last_score = score
        return max(0.3, min(2.5, factor))

    def _falling(self, score: int) -> float:
        """More time when the score falls, against the last move and against the last iteration."""
        fall = 0.0
        if self.previous_score is not None:
            fall += (self.previous_score - score) / 250
        if self.last_score is not None:
            fall += (self.last_score - score) / 200
        return max(0.7, min(1.7, 1.0 + fall))
