"""The engine's side of a USI conversation.

Two threads: the caller's reads lines and answers what must be answered at once (usi, stop, ponderhit, gameover, quit);
a worker does everything that touches the engine, in the order it came. So a long `isready` never keeps `quit` waiting,
and a script that sends all its lines at once finds them done one after another.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from engine.search.limits import Limits, Result
from usi import __version__
from usi.book.player import BookPlayer
from usi.options import OPTIONS, OptionError, OptionValues, search_options
from usi.output import Writer
from usi.pauses import shorten_collections
from usi.protocol import (
    Command,
    Debug,
    GameOver,
    Go,
    IsReady,
    PonderHit,
    Position,
    ProtocolError,
    Quit,
    SetOption,
    Stop,
    Unknown,
    Usi,
    UsiNewGame,
    decode_line,
    format_id,
    format_info_string,
    format_option,
    parse_command,
    split_words,
)
from usi.running import EngineFace, RunningSearch, is_fixed_depth

KEEP_ALIVE_SECONDS = 5.0
"""Old GUIs give up on an engine that is silent for longer after `isready`."""

WARM_UP_DEPTH = 6
BUSY_TRIES, BUSY_MS = 4, 20

EngineMaker = Callable[[str, int], EngineFace]
Job = Callable[[], None]


def make_engine(variant: str, threads: int) -> EngineFace:
    """Narikin's own engine with a tiny table; loads or compiles everything."""
    from engine.search.engine import Engine

    engine = Engine(variant=variant, threads=threads, hash_mb=1)
    engine.search(Limits(depth=WARM_UP_DEPTH))  # what runs for the first time is slow, and no clock runs yet
    for _ in range(BUSY_TRIES):  # the engine remembers how late its answers are, which tells how busy the machine is
        engine.search(Limits(movetime=BUSY_MS))
    engine.new_game()
    return engine


def start_notice() -> str | None:
    """What to tell a user whose first start takes long; None if compiled code is at hand."""
    from engine.native.cache import CACHE_FOLDER

    if CACHE_FOLDER is None:
        return "compiling, which takes about a minute at every start: there is no folder to keep the compiled code in"
    if not any(CACHE_FOLDER.rglob("*.nbc")):
        return "compiling for this machine, which takes about a minute and happens once"
    return None


class Session:
    """One conversation over a pair of byte streams."""

    def __init__(
        self,
        reader: BinaryIO,
        writer: BinaryIO,
        engine_maker: EngineMaker = make_engine,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
        notice: Callable[[], str | None] = start_notice,
        on_broken: Callable[[], None] = lambda: None,
        code_page: str | None = None,
        on_prepared: Callable[[], None] = lambda: None,
        tuning: bool = False,
    ) -> None:
        self._reader = reader
        self._on_prepared = on_prepared
        self._code_page = code_page
        self._tuning = tuning
        self._out = Writer(writer, on_broken)
        self._engine_maker = engine_maker
        self._keep_alive_seconds = keep_alive_seconds
        self._notice = notice
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._latest: RunningSearch | None = None  # of the last `go` that was read
        # below: only touched by the worker
        self._options = OptionValues()
        self._engine: EngineFace | None = None
        self._book = BookPlayer()
        self._applied: dict[str, int | bool | str] = {}
        self._running: RunningSearch | None = None
        self._clear_wanted = False
        self._used = False
        self._position = Position()
        self._position_set = False
        self._position_error: str | None = None

    # ------------------------------------------------ the reading thread

    def run(self) -> int:
        """Serve until `quit` or the end of the input; the exit code."""
        worker = threading.Thread(target=self._work, name="session", daemon=True)
        worker.start()
        try:
            for raw in self._reader:
                if not self.handle(decode_line(raw, self._code_page)):
                    break
        except (OSError, KeyboardInterrupt):
            pass  # the GUI is gone, or a person has seen enough
        self._out.close()
        if self._latest is not None:
            self._latest.abandon()
        self._jobs.put(None)
        return 0

    def handle(self, line: str) -> bool:
        """Take one line; False when the conversation is over."""
        try:
            command = parse_command(line)
        except ProtocolError as error:
            self._refuse(line, str(error))
            return True
        if isinstance(command, Quit):
            return False
        if command is not None:
            self._take(command)
        return True

    def _take(self, command: Command) -> None:
        latest = self._latest
        match command:
            case Usi():
                self._out.lines(*identity(self._tuning))
            case Stop() | GameOver():
                if latest is not None:
                    latest.stop()
            case PonderHit(limits, complaints):
                self._say(*complaints)
                if limits is not None:
                    limits.received = time.perf_counter()
                if latest is not None:
                    latest.ponderhit(limits, self._options)
            case Go(limits, complaints):
                limits.received = time.perf_counter()
                search = RunningSearch(limits, self._out)
                self._latest = search
                self._say(*complaints)
                self._jobs.put(lambda: self._go(search))
            case Position():
                if latest is not None:
                    latest.mute()
                self._jobs.put(lambda: self._keep_position(command))
            case SetOption(name, value):
                self._jobs.put(lambda: self._set_option(name, value))
            case IsReady():
                self._jobs.put(self._is_ready)
            case UsiNewGame():
                self._jobs.put(self._new_game)
            case Debug():
                pass
            case Unknown(text):
                self._say(f"unknown command: {text[:80]}")

    def _refuse(self, line: str, reason: str) -> None:
        if split_words(line)[0] == "position":
            self._jobs.put(lambda: self._refuse_position(reason))
        else:
            self._say(f"error {reason}")

    def report_crash(self, error: BaseException | None) -> None:
        """A thread died: say so, and answer its search if one is waiting."""
        latest = self._latest
        if latest is not None and not latest.answered:
            latest.fail(describe(error or RuntimeError("a thread died")))
        else:
            self._say(f"error {describe(error or RuntimeError('a thread died'))}")

    def _say(self, *texts: str) -> None:
        if texts:
            self._out.lines(*map(format_info_string, texts))

    # ------------------------------------------------ the worker

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as error:  # whatever it is, the conversation goes on
                self._say(f"error {describe(error)}")

    def _idle(self) -> bool:
        """True if no search runs; waits for one that is about to answer."""
        if self._running is not None and self._running.ending:
            self._running.wait()
        return self._running is None or self._running.answered

    def _set_option(self, name: str, value: str | None) -> None:
        try:
            option = self._options.set(name, value)
        except OptionError as error:
            self._say(str(error))
            return
        if option.type == "button":
            self._clear_wanted = True

    def _is_ready(self) -> None:
        if not self._idle():
            self._out.lines("readyok")  # asked in the middle of a search: alive, and nothing to prepare
            return
        self._clear_wanted = True
        try:
            self._prepare()
        except Exception as error:  # readyok all the same: a GUI has no other way on than to hear it
            self._say(f"error {describe(error)}")
        self._out.lines("readyok")

    def _new_game(self) -> None:
        self._clear_wanted = True
        if self._engine is not None and self._idle():
            self._clear()

    def _keep_position(self, position: Position) -> None:
        self._position, self._position_set, self._position_error = position, False, None
        if self._engine is not None and self._idle():
            self._prepare()
            self._set_position()

    def _refuse_position(self, reason: str) -> None:
        self._position_set, self._position_error = True, reason
        self._say(f"error {reason}")

    def _go(self, search: RunningSearch) -> None:
        if self._running is not None and not self._running.answered:
            self._running.stop()
            self._running.wait()
        self._running = search
        try:
            engine = self._prepare()
            if is_fixed_depth(search.limits) and self._options.number("Threads") == 1:
                self._clear_wanted = True  # the same nodes and lines every time
                self._clear()
            self._set_position()
            if self._position_error is not None:
                search.finish(Result(bestmove="resign", checkmate="timeout"))
                return
            if self._from_book(search):
                return
            self._used = True
            search.start(engine, self._options)
        except Exception as error:
            search.fail(describe(error))

    def _from_book(self, search: RunningSearch) -> bool:
        """Answer with a book move; False if the engine has to think."""
        try:
            answer = self._book.answer(self._position, search.limits, self._options)
        except Exception as error:  # a book is never worth a game
            self._say(f"error book: {describe(error)}")
            return False
        if answer is not None:
            search.answer(answer.infos, answer.result, self._options)
        return answer is not None

    def _prepare(self) -> EngineFace:
        """Bring the engine to what the options say; builds it at the first call. The search must be idle."""
        prepared = not self._clear_wanted and not self._changed_settings() and self._book.is_current(self._options)
        if self._engine is not None and prepared:
            return self._engine
        with self._keep_alive():
            if self._engine is None:
                self._build()
            self._apply_options()
            self._say(*self._book.load(self._options))
            self._clear()
            self._on_prepared()
        assert self._engine is not None
        return self._engine

    def _build(self) -> None:
        notice = self._notice()
        if notice is not None:
            self._say(notice)
        variant, threads = self._options.setting("variant"), self._options.setting("threads")
        self._engine = self._engine_maker(str(variant), int(threads))
        self._applied = {"variant": variant, "threads": threads}

    def _changed_settings(self) -> list[str]:
        settings = [name for name in self._options.settings if self._applied.get(name) != self._options.setting(name)]
        return sorted(settings, key=lambda name: name != "variant")  # the game first: the rest depends on it

    def _apply_options(self) -> None:
        assert self._engine is not None
        for name in self._changed_settings():
            value = self._options.setting(name)
            self._applied[name] = value
            if name == "variant":
                self._position_set = self._position_error is not None
            try:
                message = self._engine.set_option(name, value)
            except ValueError as error:
                message = str(error)
            if message:
                self._say(message)

    def _clear(self) -> None:
        if self._clear_wanted and self._used and self._engine is not None:
            self._engine.new_game()
            self._used = False
            self._position_set = self._position_error is not None
        self._clear_wanted = False

    def _set_position(self) -> None:
        if self._position_set or self._engine is None:
            return
        self._position_set = True
        try:
            self._engine.set_position(self._position.sfen, list(self._position.moves))
        except ValueError as error:
            self._refuse_position(str(error))

    @contextmanager
    def _keep_alive(self) -> Iterator[None]:
        """An empty line every few seconds while the body runs."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self._keep_alive_seconds):
                self._out.lines("")

        thread = threading.Thread(target=beat, name="keep-alive", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def identity(tuning: bool = False) -> list[str]:
    """The answer to `usi`; with `tuning` it declares the numbers of the search too."""
    options = (*OPTIONS, *search_options()) if tuning else OPTIONS
    return [*format_id(f"Narikin {__version__}", "the Narikin developers"), *map(format_option, options), "usiok"]


def describe(error: BaseException) -> str:
    """One line about an exception."""
    if isinstance(error, ValueError | OSError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}"


def run_stdio(engine_maker: EngineMaker = make_engine, tuning: bool = False) -> int:
    """Serve on this process's own input and output, then leave at once, whatever the other threads do.

    With `tuning`, `usi` declares the numbers of the search as options too.
    """
    import locale
    import warnings

    warnings.simplefilter("ignore")  # nobody reads stderr, and a full pipe would block
    reader, writer = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  a stray print must not reach the GUI
    code_page = locale.getpreferredencoding(False)
    session = Session(
        reader,
        writer,
        engine_maker,
        on_broken=lambda: os._exit(0),
        code_page=code_page,
        on_prepared=shorten_collections,
        tuning=tuning,
    )
    threading.excepthook = lambda args: session.report_crash(args.exc_value)
    code = session.run()
    # No normal exit: it would wait for a compilation, or free memory under a search that still runs.
    os._exit(code)
