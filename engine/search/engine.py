"""The Python face of the search: set options and a position, go, hear reports, get a result.

    engine = Engine("shogi")
    engine.set_position(None, ["7g7f", "3c3d"])
    print(engine.search(Limits(depth=12)).bestmove)

Making an Engine loads or compiles the jitted code. One search runs at a time; `stop` and `ponderhit` may come from any
thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.native.clock import find_clock
from engine.rules.endings import DECLARED, declaration
from engine.rules.impasse import DEFAULT_RULE, IMPASSE_RULES, entering_points
from engine.rules.layout import MAX_PLIES, SHARED, new_record
from engine.rules.movegen import is_legal
from engine.rules.moves import MoveError, format_usi, parse_usi
from engine.rules.position import forget_history, make_move, set_position
from engine.rules.sfen import Placement, SfenError, parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import get_variant
from engine.search.clock import Lateness, is_timed
from engine.search.hash_table import AGES, HashTable
from engine.search.history import prepare_worker
from engine.search.layout import MAX_PLY
from engine.search.limits import Info, Limits, Result
from engine.search.mate_search import MateSolver
from engine.search.mate_thinking import MateThinking
from engine.search.parameters import SWITCHES, find_parameter
from engine.search.thinking import Thinking
from engine.search.workers import Worker
from eval import Evaluation, load_evaluation

OnInfo = Callable[[Info], None]
OnDone = Callable[[Result], None]

ROOM_FOR_SEARCH = MAX_PLY + 48  # undo entries kept free behind the game
KEPT_HISTORY = 1024  # plies of a very long game that are forgotten at once when the undo stack is full
MAX_THREADS = 512
MATE_SHARE = 5  # percent of the search's nodes that the mate solver gets at the root
ROOT_SOLVER_PART, ROOT_SOLVER_MOST = 16, 64  # its memory: one part in so many of the hash table's, MB at most


class PositionError(ValueError):
    """A position or move that cannot be taken; the text names the bad token."""


class Engine:
    """A searcher for one variant at a time."""

    def __init__(self, variant: str = "shogi", threads: int = 1, hash_mb: int = 64) -> None:
        self._control = threading.RLock()
        self._thinking: Thinking | None = None
        self._stop_flag = np.zeros(16, dtype=np.int64)
        self.shared: Any = new_record(SHARED)
        self.shared["stop"] = self._stop_flag.ctypes.data
        self._clock = find_clock()
        self.shared["clock"], self.shared["clock_id"] = self._clock.function, self._clock.clock_id
        self.shared["clock_unit"] = self._clock.unit
        self._hash = HashTable(max(1, hash_mb))
        self._hash_is_lent = False  # to the mate solver: then it is no transposition table
        self._hash_is_used = False  # False: nothing has been written there
        self.mate_share = MATE_SHARE
        self._attach_hash()
        self._threads = threads
        self._eval_file: str | None = None
        self._fv_scale = 0
        self._draw_values = [0, 0]  # centipawns of a draw for black and for white, each when it is the one to think
        self._rule = DEFAULT_RULE
        self._all_moves = False
        self.multipv = 1
        self.previous_score: int | None = None
        self.mate_is_on = False  # the last search found a mate beside it
        self.lateness = Lateness()
        self._settings: dict[str, int] = {}
        self._game: tuple[str | None, list[str]] | None = None  # what the position came from
        self.workers: list[Worker] = []
        self._set_variant(variant)

    # ------------------------------------------------ options

    def set_option(self, name: str, value: Any) -> str | None:
        """Change a setting; returns a note for the user when something was done differently from what was asked.

        Names: threads, hash_mb, multipv, variant, impasse_rule, max_moves (also max_moves_to_draw), draw_value_black,
        draw_value_white, all_moves, mate_share (percent), eval_file, fv_scale, parameter.NAME and switch.NAME (see
        parameters.py).
        Raises ValueError with a clear text; then the old setting stays.
        """
        with self._control:
            self._require_idle()
            group, _, rest = name.partition(".")
            if rest:
                self._set_search_number(group, rest, int(value))
                return None
            setter = getattr(self, f"_set_{name}", None)
            if setter is None:
                raise ValueError(f"unknown engine setting: {name}")
            note: str | None = setter(value)
            return note

    def _set_threads(self, value: int) -> None:
        if not 1 <= value <= MAX_THREADS:
            raise ValueError(f"threads: {value} is not within 1 to {MAX_THREADS}")
        self._threads = value
        del self.workers[value:]
        while len(self.workers) < value:
            self._add_worker()

    def _set_hash_mb(self, value: int) -> str | None:
        if value < 1:
            raise ValueError(f"hash_mb: {value} is less than 1")
        self._hash.resize(value)
        self._hash_is_lent = self._hash_is_used = False
        self._attach_hash()
        self._set_root_solver()
        if self._hash.megabytes < value:
            return f"hash table cut down from {value} MB to {self._hash.megabytes} MB: more does not fit in memory"
        return None

    def _attach_hash(self) -> None:
        self.shared["hash_table"] = self._hash.address
        self.shared["hash_clusters"] = self._hash.clusters

    def _clear_hash_table(self) -> None:
        self._hash.clear()
        self._hash_is_lent = self._hash_is_used = False
        self._attach_hash()

    def _hand_over_hash(self, to_solver: bool) -> None:
        """Let the mate solver or the search have the memory; what the other kept there is lost."""
        if to_solver != self._hash_is_lent and self._hash_is_used:
            self._clear_hash_table()
        if to_solver and not self._hash_is_lent:
            self.mate_solver.attach()
        self._hash_is_lent, self._hash_is_used = to_solver, True

    def _set_root_solver(self) -> None:
        """The solver that looks for mates beside the search has a small table of its own."""
        megabytes = min(max(self._hash.megabytes // ROOT_SOLVER_PART, 1), ROOT_SOLVER_MOST)
        self.root_solver = MateSolver(self.variant.name, megabytes)

    def _set_mate_share(self, value: int) -> None:
        if not 0 <= value <= 100:
            raise ValueError(f"mate_share: {value} is not within 0 to 100")
        self.mate_share = value

    def _set_multipv(self, value: int) -> None:
        if value < 1:
            raise ValueError(f"multipv: {value} is less than 1")
        self.multipv = value

    def _set_variant(self, value: str) -> None:
        self.variant = get_variant(value)
        self.tables = variant_tables(value)
        self.mate_solver = MateSolver(value, table=self._hash)
        self._hash_is_used = True
        self._set_root_solver()
        self._load_evaluation()
        self.workers = []
        self._game = None
        self._set_threads(self._threads)
        self.set_position(None, [])

    def _set_eval_file(self, value: str | None) -> str | None:
        before = self._eval_file
        self._eval_file = value or None
        try:
            return self._reload_evaluation("_eval_file", None)
        except ValueError as error:
            if before is not None:
                self._reload_evaluation("_eval_file", None)
            raise ValueError(f"{error}; going on with the network of the package") from error

    def _set_fv_scale(self, value: int) -> str | None:
        before = self._fv_scale
        self._fv_scale = value
        return self._reload_evaluation("_fv_scale", before)

    def _reload_evaluation(self, attribute: str, before: Any) -> str | None:
        """Load by the settings as they are now; on failure put the old one back and raise."""
        try:
            self._load_evaluation()
        except ValueError:
            setattr(self, attribute, before)
            raise
        for worker in self.workers:
            worker.evaluation_memory = self.evaluation.new_thread(worker.position)
            prepare_worker(worker.record, self.tables)
        self._clear_hash_table()
        return None

    def _load_evaluation(self) -> None:
        evaluation: Evaluation = load_evaluation(self._eval_file, self.variant.name, self._fv_scale or None)
        evaluation.attach(self.shared)
        self.evaluation = evaluation

    def _set_impasse_rule(self, value: str) -> None:
        if value not in IMPASSE_RULES:
            raise ValueError(f"impasse_rule: {value!r} is none of {', '.join(IMPASSE_RULES)}")
        if value != self._rule:
            self._clear_hash_table()  # a win by declaration is kept there as a mate
        self._rule = value
        self._apply_rule()

    def _apply_rule(self) -> None:
        self.shared["impasse_rule"] = IMPASSE_RULES.index(self._rule)
        self.shared["impasse_points"] = entering_points(self.variant, self._placement, self._rule)

    def _set_max_moves(self, value: int) -> None:
        if int(self.shared["max_moves"]) != max(0, value):
            self._clear_hash_table()
        self.shared["max_moves"] = max(0, value)

    _set_max_moves_to_draw = _set_max_moves

    def _apply_draw_value(self, side: int) -> None:
        """What a draw is worth to the side that thinks; to the other one it is the opposite."""
        own = self._draw_values[side]
        values = [own, -own] if side == 0 else [-own, own]
        if self.shared["draw_value"].tolist() != values:
            self.shared["draw_value"] = values
            self._clear_hash_table()  # its values hold draws of the other worth

    def _set_draw_value_black(self, value: int) -> None:
        self._draw_values[0] = value

    def _set_draw_value_white(self, value: int) -> None:
        self._draw_values[1] = value

    def _set_all_moves(self, value: bool) -> None:
        self._all_moves = bool(value)

    def _set_search_number(self, group: str, name: str, value: int) -> None:
        """One of parameters.py: `parameter.NAME` to a number, `switch.NAME` to 0 or 1."""
        if group == "parameter":
            find_parameter(name)
        elif group != "switch" or name not in SWITCHES:
            raise ValueError(f"unknown engine setting: {group}.{name}")
        self._settings[f"{group}.{name}"] = value
        for worker in self.workers:
            self._apply_numbers(worker)

    def _apply_numbers(self, worker: Worker) -> None:
        parameters = worker.record["parameters"]
        for key, value in self._settings.items():
            group, _, name = key.partition(".")
            if group == "parameter":
                parameters[name] = value
            elif value:
                parameters["switches"] |= SWITCHES[name]
            else:
                parameters["switches"] &= ~SWITCHES[name]
        prepare_worker(worker.record, self.tables)

    def _add_worker(self) -> None:
        worker = Worker(len(self.workers), self.tables, self.shared)
        worker.evaluation_memory = self.evaluation.new_thread(worker.position)
        self._apply_numbers(worker)
        if self.workers:
            worker.copy_position(self.workers[0])
        self.workers.append(worker)

    # ------------------------------------------------ game and position

    def new_game(self) -> None:
        """Forget everything earlier searches found, so that the next ones do not depend on them."""
        with self._control:
            self._require_idle()
            self._clear_hash_table()
            self.root_solver.clear()
            self.mate_is_on = False
            self.shared["hash_age"] = 0
            self.previous_score = None
            for worker in self.workers:
                worker.new_game()

    def clear_hash(self) -> None:
        """The same as `new_game`."""
        self.new_game()

    def set_position(self, sfen: str | None, moves: list[str]) -> None:
        """Set the position for the next search: the variant's start (None) or an SFEN, and the moves from there.

        A position that only adds moves to the last one is played on from that. Raises PositionError naming the bad
        token; then there is the start position of the last good SFEN, and the caller should set another one.
        """
        with self._control:
            self._require_idle()
            known = self._game
            if known and known[0] == sfen and moves[: len(known[1])] == known[1]:
                played = len(known[1])
            else:
                played = 0
                self._set_up(sfen)
            self._game = None
            for number in range(played, len(moves)):
                self._play(moves[number], number)
            self._game = (sfen, list(moves))

    def _set_up(self, sfen: str | None) -> None:
        try:
            self._placement: Placement = parse_sfen(sfen or self.variant.start_sfen, self.variant)
        except SfenError as error:
            raise PositionError(str(error)) from error
        set_position(self.workers[0].position, self.tables, self._placement)
        self._apply_rule()

    def _play(self, text: str, index: int) -> None:
        position = self.workers[0].position
        try:
            move = parse_usi(text, self.variant)
        except MoveError as error:
            raise PositionError(f"move {index + 1}: {error}") from error
        if not is_legal(position, self.tables, np.int32(move)):
            raise PositionError(f"move {index + 1}: {text!r} is not legal")
        if int(position["ply"]) + ROOM_FOR_SEARCH >= MAX_PLIES:
            forget_history(position, KEPT_HISTORY)
        make_move(position, self.tables, np.int32(move))

    # ------------------------------------------------ searching

    def go(self, limits: Limits, on_info: OnInfo | None, on_done: OnDone) -> None:
        """Start a search and return at once. `on_done` is called exactly once, from another thread.

        An infinite search and one that ponders end only by `stop` (or, pondering, after `ponderhit`). A mate search
        (`limits.mate`) is the mate solver's: it uses one thread and the hash table's memory.
        Words of `searchmoves` that are no legal moves are left out, and named to `on_info`; if none is left, all moves
        are searched. Raises RuntimeError while another search runs.
        """
        with self._control:
            self._require_idle()
            moves = self._search_moves(limits.searchmoves, on_info or _ignore)
            position = self.workers[0].position
            # in play a declined promotion is hardly ever worth its time; analysis leaves nothing out
            position["all_moves"] = int(self._all_moves or not is_timed(limits))
            for worker in self.workers:
                worker.record["nodes"] = 0  # the clock's thread may look before a worker has begun
            for worker in self.workers[1:]:
                worker.copy_position(self.workers[0])
            self.shared["hash_age"] = (int(self.shared["hash_age"]) + 1) % AGES
            self._stop_flag[0] = 0
            self._apply_draw_value(int(position["side"]))
            self._hand_over_hash(limits.mate is not None)
            kind = Thinking if limits.mate is None else MateThinking
            thinking = kind(self, limits, moves, on_info or _ignore, on_done)
            self._thinking = thinking
        thinking.start()

    def search(self, limits: Limits, on_info: OnInfo | None = None) -> Result:
        """Search and wait for the result; reports come in another thread."""
        results: list[Result] = []
        done = threading.Event()

        def finish(result: Result) -> None:
            results.append(result)
            done.set()

        self.go(limits, on_info, finish)
        try:
            while not done.wait(0.5):  # a wait without time-out would block Ctrl-C on Windows
                pass
        except BaseException:
            self.stop()
            done.wait()
            raise
        return results[0]

    def stop(self) -> None:
        """End the running search; its `on_done` follows. Without a search nothing happens."""
        thinking = self._thinking
        if thinking is not None:
            thinking.stop()

    def ponderhit(self, limits: Limits | None = None) -> None:
        """The opponent played the expected move: the clock runs from now, by new limits if some are given."""
        thinking = self._thinking
        if thinking is not None:
            thinking.ponderhit(limits)

    @property
    def is_searching(self) -> bool:
        """True from `go` until shortly before its `on_done`."""
        thinking = self._thinking
        return thinking is not None and not thinking.finished

    def _require_idle(self) -> None:
        if self.is_searching:
            raise RuntimeError("a search is running")

    def _search_moves(self, texts: list[str], on_info: OnInfo) -> list[int] | None:
        """Root moves asked for, None = all. Repeated ones count once."""
        moves = []
        for text in texts:
            try:
                move = parse_usi(text, self.variant)
            except MoveError as error:
                on_info(Info(text=f"searchmoves: {error}; left out"))
                continue
            if is_legal(self.workers[0].position, self.tables, np.int32(move)):
                moves.append(move)
            else:
                on_info(Info(text=f"searchmoves: {text!r} is not legal; left out"))
        return list(dict.fromkeys(moves)) or None

    # ------------------------------------------------ for the running search

    def set_deadline(self, seconds: float | None) -> None:
        """Make the search threads end so many seconds from now by their own look at the clock; None = no limit.

        They end sooner by what they are held off for longer than the lateness that is known.
        """
        if seconds is None or self._clock.function == 0:
            self.shared["deadline"] = 0
        else:
            ticks = self._clock.ticks_per_second
            self.shared["known_pause"] = int(self.lateness.margin * ticks / 1000)
            self.shared["deadline"] = self._clock.now() + int(seconds * ticks)

    @property
    def longest_pause_ms(self) -> float:
        """Milliseconds for which the running or last search was held off by a busy machine, at most."""
        return float(self.workers[0].record["longest_pause"]) * 1000 / self._clock.ticks_per_second

    @property
    def stop_address(self) -> int:
        """Where the stop flag stands: an int64, 0 while the search may run."""
        return int(self.shared["stop"])

    def raise_stop_flag(self) -> None:
        """Make all search threads return."""
        self._stop_flag[0] = 1

    def lower_stop_flag(self) -> None:
        """Let them run."""
        self._stop_flag[0] = 0

    def hashfull(self) -> int:
        """Permille of the table written by the running search."""
        return self._hash.hashfull(int(self.shared["hash_age"]))

    def declaration(self) -> str | None:
        """ "win", or the winning king move of the try rule, if the side to move may end the game now; else None."""
        found = int(declaration(self.workers[0].position, self.tables, self.shared))
        if found == 0:
            return None
        return "win" if found == DECLARED else format_usi(found)


def _ignore(info: Info) -> None:
    """Reports that nobody wants."""
