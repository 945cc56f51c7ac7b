"""One running search: its threads, its clock, its reports and its one result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.rules.moves import format_usi
from engine.search.clock import Plan, Progress, make_plan
from engine.search.layout import BOUND_EXACT, BOUND_LOWER, BOUND_UPPER, MATE_IN_MAX, MAX_PLY, STACK_BEFORE
from engine.search.limits import Info, Limits, Result
from engine.search.root_mate import RootMate
from engine.search.workers import RootLine, Worker, vote

if TYPE_CHECKING:
    from engine.search.engine import Engine

FIRST_LOOK_NODES = 2000  # for the first iteration of a search that was stopped within it
FORCED_MOVE_DEPTH = 8  # depth to which a forced move is searched, for the ponder move and the score
WINDOW_REPORT_MS = 2000  # before this, windows that fail are not worth a report
NODE_WATCH_SECONDS = 0.005
PROGRESS_SECONDS = 1.0  # between reports of nodes and speed while an iteration lasts
BOUND_NAMES = {BOUND_EXACT: None, BOUND_LOWER: "lower", BOUND_UPPER: "upper"}
THREAD_STACK = 16 << 20  # bytes; deep lines need more than some systems give a thread
_stack_size = threading.Lock()


def start_thread(target: Callable[[], None], name: str) -> threading.Thread:
    """Start a daemon thread with a stack deep enough for the search."""
    with _stack_size:
        before = threading.stack_size(THREAD_STACK)
        try:
            thread = threading.Thread(target=target, name=name, daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    return thread


class Thinking:
    """From `go` to its result. `stop` and `ponderhit` may be called from any thread."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        moves: list[int] | None,
        on_info: Callable[[Info], None],
        on_done: Callable[[Result], None],
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._moves = moves
        self._on_info = on_info
        self._on_done = on_done
        self._changed = threading.Condition()
        self._started = time.perf_counter()
        self._clock_start = limits.received or self._started
        self._pondering = limits.ponder
        self._stopped = False
        self._over = False
        self._deadline: float | None = None
        self._plan: Plan | None = None
        self._progress = Progress(previous_score=engine.previous_score)
        self._root_mate = RootMate(engine) if moves is None else None
        self.finished = False
        position = engine.workers[0].position
        self._side = int(position["side"])
        self._game_ply = int(position["game_ply"]) + int(position["ply"])
        engine.set_deadline(None)
        if not limits.ponder:
            self._start_clock(limits)

    # ------------------------------------------------ from outside

    def start(self) -> None:
        """Begin in threads of its own."""
        start_thread(self._watch, "narikin-clock")
        start_thread(self._run, "narikin-search")

    def stop(self) -> None:
        """End as soon as possible."""
        with self._changed:
            self._stopped = True
            self._pondering = False
            self._engine.raise_stop_flag()
            self._changed.notify_all()

    def ponderhit(self, limits: Limits | None) -> None:
        """Start the clock."""
        with self._changed:
            if not self._pondering:
                return
            self._pondering = False
            if limits is not None:
                self._limits = limits
            self._clock_start = (limits and limits.received) or time.perf_counter()
            self._start_clock(self._limits)
            self._changed.notify_all()

    def _start_clock(self, limits: Limits) -> None:
        self._plan = make_plan(limits, self._side, self._game_ply, self._engine.lateness.margin)
        if limits.mate is not None and limits.mate >= 0:
            self._set_deadline(self._clock_start + limits.mate / 1000)
        elif self._plan is not None:
            self._set_deadline(self._clock_start + self._plan.maximum / 1000)

    def _set_deadline(self, moment: float) -> None:
        """Let the search end at a moment of time.perf_counter(), or sooner if it has to end sooner already."""
        self._deadline = moment if self._deadline is None else min(self._deadline, moment)
        self._engine.set_deadline(self._deadline - time.perf_counter())

    # ------------------------------------------------ the watching thread

    def _watch(self) -> None:
        """Raise the stop flag when the time is up, or when all threads together have made the nodes; tell of progress.

        One thread alone minds its nodes and the clock itself, so this one may wake up late.
        """
        next_progress = self._started + PROGRESS_SECONDS
        while True:
            with self._changed:
                if self._over or self._stopped:
                    return
                now = time.perf_counter()
                if self._is_due(now):
                    self._engine.raise_stop_flag()
                    return
                if now < next_progress:
                    self._changed.wait(min(next_progress - now, self._longest_wait(now)))
                    continue
            next_progress = now + PROGRESS_SECONDS
            self._tell_progress()

    def _is_due(self, now: float) -> bool:
        """True if a limit that the watching thread minds has been reached."""
        nodes = self._limits.nodes
        if nodes is not None and len(self._engine.workers) > 1 and self._nodes() >= nodes:
            return True
        return self._deadline is not None and now >= self._deadline

    def _longest_wait(self, now: float) -> float:
        """Seconds until the limits must be looked at again."""
        if self._limits.nodes is not None and len(self._engine.workers) > 1:
            return NODE_WATCH_SECONDS
        return PROGRESS_SECONDS if self._deadline is None else max(0.0, self._deadline - now)

    def _tell_progress(self) -> None:
        """Report nodes and speed so far, and the move being looked at."""
        record = self._engine.workers[0].record
        elapsed, nodes = self._elapsed_ms(), self._nodes()
        self._on_info(
            Info(
                depth=int(record["root_depth"]),
                seldepth=max(1, int(record["seldepth"])),
                time_ms=elapsed,
                nodes=nodes,
                nps=nodes * 1000 // max(1, elapsed),
                hashfull=self._engine.hashfull(),
                currmove=format_usi(int(record["stack"][STACK_BEFORE]["move"])) if nodes else None,
            )
        )

    # ------------------------------------------------ the main search thread

    def _run(self) -> None:
        result = Result(checkmate="timeout")
        try:
            result = self._think()
        except Exception as error:
            self._on_info(Info(text=f"error in the search: {error!r}"))
            raise
        finally:
            self._engine.raise_stop_flag()
            with self._changed:
                self._over = True
                self._changed.notify_all()
            self._answer(result)

    def _answer(self, result: Result) -> None:
        """Hand out the result, when it may be known."""
        with self._changed:
            while (self._limits.infinite or self._pondering) and not self._stopped:
                self._changed.wait()
            self.finished = True
        result.time_ms = self._elapsed_ms()
        self._on_done(result)
        if self._plan is not None:  # only now: on a busy machine the thread may be held up while it writes the answer
            late = (time.perf_counter() - self._clock_start) * 1000 - self._plan.maximum
            self._engine.lateness.note(late, self._engine.longest_pause_ms)

    def _think(self) -> Result:
        engine, main = self._engine, self._engine.workers[0]
        count = main.begin(self._moves)
        main.set_node_limit(self._limits.nodes)
        if count == 0:
            if self._moves is None:
                self._on_info(Info(depth=0, mate=0, time_ms=self._elapsed_ms()))
            return Result(bestmove="resign", mate=0)
        declared = engine.declaration() if self._moves is None else None
        if declared is not None:
            self._on_info(Info(depth=1, seldepth=1, mate=1, pv=[] if declared == "win" else [declared]))
            return Result(bestmove=declared, mate=1, depth=1)
        helpers = [start_thread(self._helper(worker), "narikin-helper") for worker in engine.workers[1:]]
        self._iterate(main)
        engine.raise_stop_flag()
        for helper in helpers:
            helper.join()
        return self._result(main)

    def _helper(self, worker: Worker) -> Callable[[], None]:
        def run() -> None:
            worker.set_node_limit(None)
            count = worker.begin(self._moves)
            lines = min(self._engine.multipv, count)
            depth = 1
            while depth < self._max_depth() and worker.search_depth(depth, lines):
                depth += 1

        return run

    def _max_depth(self) -> int:
        return max(1, min(self._limits.depth or MAX_PLY - 1, MAX_PLY - 1))

    def _iterate(self, main: Worker) -> None:
        lines = min(self._engine.multipv, int(main.record["root_count"]))
        for depth in range(1, self._max_depth() + 1):
            if not main.search_depth(depth, lines, self._report_window(main, depth) if lines == 1 else None):
                if depth == 1:
                    self._finish_depth_one(main)
                return
            self._seek_mate(main)
            self._report(main, depth, lines)
            if self._may_end(main, depth):
                return

    def _seek_mate(self, main: Worker) -> None:
        """Between iterations: the mate solver's share. Its nodes count as the search's."""
        if self._root_mate is None:
            return
        self._root_mate.seek(main.nodes, self._deadline)
        if self._limits.nodes is not None:
            main.set_node_limit(max(1, self._limits.nodes - self._root_mate.nodes))

    @property
    def _mate_found(self) -> bool:
        return self._root_mate is not None and self._root_mate.found is not None

    def _finish_depth_one(self, main: Worker) -> None:
        """A search stopped within its first iteration looks at every move once all the same, and reports its answer.

        A millisecond's work, without which the answer would be the first move of the list. Not when the nodes are
        limited, or when the table knows the move to begin with.
        """
        if self._limits.nodes is None and not main.knows_move and not main.root_line(0).is_searched:
            main.set_node_limit(main.nodes + FIRST_LOOK_NODES)
            self._engine.set_deadline(None)
            self._engine.lower_stop_flag()
            main.search_depth(1, 1)
            self._engine.raise_stop_flag()
        line = main.root_line(0)
        if abs(line.score) < MATE_IN_MAX:
            self._on_info(self._info(line, 1, 0))

    def _may_end(self, main: Worker, depth: int) -> bool:
        """After an iteration: is another one wanted?"""
        line = main.root_line(0)
        forced = int(main.record["root_count"]) == 1 and depth >= FORCED_MOVE_DEPTH
        mate_is_sure = self._mate_found or (line.mate is not None and abs(line.mate) < depth)
        factor = self._progress.update(line.move, line.score, main.take_best_changes(), main.effort())
        with self._changed:
            plan = self._plan
            if plan is None or self._pondering or self._limits.movetime is not None:
                return False
            elapsed = (time.perf_counter() - self._clock_start) * 1000
            if forced or mate_is_sure or elapsed >= plan.maximum:
                return True
            if elapsed < plan.optimum * factor:
                return False
            end = plan.rounded(elapsed)
            self._set_deadline(self._clock_start + end / 1000)
            self._changed.notify_all()
            return end <= elapsed

    # ------------------------------------------------ reports

    def _elapsed_ms(self) -> int:
        return int((time.perf_counter() - self._started) * 1000)

    def _nodes(self) -> int:
        own = self._root_mate.nodes if self._root_mate is not None else 0
        return own + sum(worker.nodes for worker in self._engine.workers)

    def _report_window(self, main: Worker, depth: int) -> Callable[[int, int], None]:
        def report(line: int, outcome: int) -> None:
            if self._elapsed_ms() >= WINDOW_REPORT_MS:
                self._on_info(self._info(main.root_line(line), depth, line))

        return report

    def _report(self, main: Worker, depth: int, lines: int) -> None:
        infos = []
        for line in range(lines):
            main.lengthen(line, depth)
            infos.append(self._info(main.root_line(line), depth, line))
        for info in self._with_mate(infos):
            self._on_info(info)

    def _with_mate(self, infos: list[Info]) -> list[Info]:
        """Reports of the best lines, and of the solver's mate if it has found one."""
        return infos if self._root_mate is None else self._root_mate.take_part(infos)

    def _info(self, line: RootLine, depth: int, rank: int) -> Info:
        elapsed, nodes = self._elapsed_ms(), self._nodes()
        is_ordinary = line.is_searched and line.mate is None
        return Info(
            depth=depth,
            seldepth=max(line.seldepth, 1),
            time_ms=elapsed,
            nodes=nodes,
            nps=nodes * 1000 // max(1, elapsed),
            hashfull=self._engine.hashfull(),
            multipv=rank + 1,
            score_cp=self._engine.evaluation.centipawns(line.score) if is_ordinary else None,
            mate=line.mate,
            bound=BOUND_NAMES[line.bound],
            pv=[format_usi(move) for move in line.line],
        )

    def _result(self, main: Worker) -> Result:
        """The answer: by vote when several threads searched freely, else the main thread's."""
        engine = self._engine
        best = main
        free = engine.multipv == 1 and self._limits.depth is None
        if free and len(engine.workers) > 1:
            best = vote(engine.workers)
        if best is not main:
            engine.lower_stop_flag()
            best.lengthen(0, best.completed_depth)
            engine.raise_stop_flag()
            self._on_info(self._info(best.root_line(0), best.completed_depth, 0))
        line = best.root_line(0)
        engine.previous_score = line.score if line.is_searched else None
        count = min(engine.multipv, int(main.record["root_count"])) if best is main else 1
        infos = self._with_mate([self._info(best.root_line(rank), best.completed_depth, rank) for rank in range(count)])
        pv = infos[0].pv
        return Result(
            bestmove=pv[0] if pv else format_usi(line.move),
            ponder=pv[1] if len(pv) > 1 else None,
            score_cp=infos[0].score_cp,
            mate=infos[0].mate,
            nodes=self._nodes(),
            depth=best.completed_depth,
            lines=infos,
        )
