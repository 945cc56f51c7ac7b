"""The GUI's side of a USI conversation: drives any USI engine as a subprocess.

Made to survive what engines do: option names with blanks, slow starts, crashes, silence, output on stderr.
Everything that can go wrong is an EngineError whose text says what the engine was asked and what it did.
"""

from __future__ import annotations

import collections
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.search.limits import Info, Limits
from usi.protocol import (
    BestMove,
    Checkmate,
    Go,
    Id,
    OptionLine,
    PonderHit,
    Position,
    ReadyOk,
    Reply,
    SetOption,
    UsiOk,
    decode_line,
    format_command,
    parse_reply,
    split_words,
)

START_TIMEOUT, READY_TIMEOUT, STOP_TIMEOUT, QUIT_TIMEOUT = 30.0, 180.0, 10.0, 5.0
"""Seconds; the ready one is long because engines load books and networks there, or compile."""
STDERR_LINES_KEPT = 20


class EngineError(OSError):
    """The engine did not do what was asked."""


class EngineTimeout(EngineError):
    """No answer in time."""


class EngineDied(EngineError):
    """The process ended, or could not be started."""


@dataclass(frozen=True)
class LogEntry:
    """One line of a conversation: seconds since the start of the process, who spoke, what."""

    seconds: float
    direction: str  # "<" to the engine, ">" from it, "!" its stderr or what happened to it
    text: str

    def __str__(self) -> str:
        return f"{self.seconds:10.3f} {self.direction} {self.text}"


@dataclass
class Answer:
    """The end of one `go`."""

    bestmove: BestMove | None = None
    checkmate: Checkmate | None = None
    infos: list[Info] = field(default_factory=list)  # reports with a line or a score, in the order they came
    elapsed_ms: float = 0.0  # from the last command (go, ponderhit, stop) written to the answer read

    def best(self, multipv: int = 1) -> Info | None:
        """The last report about a line, exact scores before bounds."""
        reports = [info for info in self.infos if info.multipv == multipv and info.pv]
        exact = [info for info in reports if info.bound is None]
        return next(reversed(exact or reports), None)


def split_command(command: str) -> list[str]:
    """Arguments of a command line; a text that names a file as it stands is that file, blanks and all."""
    if os.path.isfile(command):
        return [command]
    if sys.platform == "win32":
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    return shlex.split(command)


class UsiEngine:
    """A USI engine in a process of its own.

    with UsiEngine("fairy-stockfish") as engine:
        engine.start()
        engine.set_option("Threads", 1)
        engine.is_ready()
        engine.position(None, ["7g7f"])
        answer = engine.go(Limits(byoyomi=500, btime=0, wtime=0))
    """

    def __init__(
        self,
        command: str | Sequence[str],
        name: str | None = None,
        folder: str | None = None,
        on_log: Callable[[LogEntry], None] | None = None,
        log_length: int = 20_000,
    ) -> None:
        self.command = split_command(command) if isinstance(command, str) else list(command)
        if not self.command:
            raise EngineError("an engine needs a command")
        self.id: dict[str, str] = {}
        self.options: dict[str, OptionLine] = {}
        self.log: collections.deque[LogEntry] = collections.deque(maxlen=log_length)
        self._name = name
        self._folder = folder
        self._on_log = on_log
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr_reader: threading.Thread | None = None
        self._replies: queue.Queue[tuple[float, Reply | None]] = queue.Queue()
        self._started = time.perf_counter()
        self._asked = self._started
        self._asked_line = ""
        self._mate_search = False

    def __enter__(self) -> UsiEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.quit()

    @property
    def name(self) -> str:
        """The name given, else the engine's own, else the program's."""
        return self._name or self.id.get("name") or Path(self.command[0]).name

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def process_id(self) -> int:
        """The process, for those who watch its memory. Raises EngineDied if it was not started."""
        if self._process is None:
            raise EngineDied(f"{self.name} is not started")
        return self._process.pid

    # ------------------------------------------------ asking

    def start(self, timeout: float = START_TIMEOUT) -> None:
        """Start the process and shake hands; fills `id` and `options`. Raises EngineDied or EngineTimeout."""
        self._launch()
        self._send("usi")
        deadline = time.perf_counter() + timeout
        while True:
            reply = self._next_reply(deadline)[1]
            if isinstance(reply, Id):
                self.id[reply.key] = reply.value
            elif isinstance(reply, OptionLine):
                self.options[reply.name] = reply
            elif isinstance(reply, UsiOk):
                return

    def find_option(self, name: str) -> OptionLine | None:
        """The option of that name; case, and blanks against underscores, do not matter."""
        wanted = _option_key(name)
        return next((option for key, option in self.options.items() if _option_key(key) == wanted), None)

    def set_option(self, name: str, value: object = None) -> None:
        """Set an option under the name that the engine gave it; an unknown name is sent as it is. None = a button."""
        option = self.find_option(name)
        text = None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        self._send(format_command(SetOption(option.name if option else name, text)))

    def is_ready(self, timeout: float = READY_TIMEOUT) -> None:
        """`isready`, until `readyok`."""
        self._send("isready")
        self._wait_for(ReadyOk, timeout)

    def new_game(self, timeout: float = READY_TIMEOUT) -> None:
        """What GUIs send before every game."""
        self.is_ready(timeout)
        self._send("usinewgame")

    def position(self, sfen: str | None, moves: Sequence[str] = ()) -> None:
        """Set the position; sfen None = the start position."""
        self._send(format_command(Position(sfen, tuple(moves))))

    def game_over(self, result: str) -> None:
        """`gameover win|lose|draw`."""
        self._send(f"gameover {result}")

    def go(self, limits: Limits, timeout: float | None = None, on_info: Callable[[Info], None] | None = None) -> Answer:
        """Search and wait for the end. Raises EngineTimeout after `timeout` seconds (None = wait for ever)."""
        self.start_search(limits)
        return self.wait(timeout, on_info)

    def start_search(self, limits: Limits) -> None:
        """Send `go` and return; `wait` or `stop` brings the answer."""
        self._drain()
        self._mate_search = limits.mate is not None
        self._send(format_command(Go(limits)))

    def ponderhit(self, limits: Limits | None = None) -> None:
        """The clock of a `go ponder` starts; `wait` brings the answer."""
        self._send(format_command(PonderHit(replace(limits, ponder=False) if limits else None)))

    def wait(self, timeout: float | None = None, on_info: Callable[[Info], None] | None = None) -> Answer:
        """The answer to the running search."""
        asked = self._asked
        deadline = None if timeout is None else asked + timeout
        answer = Answer()
        while True:
            when, reply = self._next_reply(deadline)
            if isinstance(reply, Info):
                if reply.text is None:
                    answer.infos.append(reply)
                if on_info is not None:
                    on_info(reply)
            elif isinstance(reply, BestMove):
                answer.bestmove = reply
            elif isinstance(reply, Checkmate) and self._mate_search:
                answer.checkmate = reply
            if answer.bestmove or answer.checkmate:
                answer.elapsed_ms = 1000 * (when - asked)
                return answer

    def stop(self, timeout: float = STOP_TIMEOUT, on_info: Callable[[Info], None] | None = None) -> Answer:
        """`stop`, and the answer that it brings."""
        self._send("stop")
        return self.wait(timeout, on_info)

    def quit(self, timeout: float = QUIT_TIMEOUT) -> None:
        """End the process, gently if it listens. Never raises."""
        process = self._process
        if process is None:
            return
        try:
            self._send("quit")
            if process.stdin is not None:
                process.stdin.close()
            process.wait(timeout)
        except (EngineError, OSError, ValueError, subprocess.TimeoutExpired):
            pass
        self.kill()

    def kill(self) -> None:
        """End the process and those that it started, now. Never raises."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            _kill_tree(process)
        try:
            process.wait(QUIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._note("!", "the process cannot be killed")

    def log_text(self) -> str:
        """The conversation so far, a line each."""
        return "\n".join(map(str, list(self.log)))

    # ------------------------------------------------ pipes

    def _launch(self) -> None:
        if self._process is not None:
            raise EngineError(f"{self.name} was started already")
        program = shutil.which(self.command[0], path=_search_path(self._folder)) or self.command[0]
        group = {"start_new_session": True} if sys.platform != "win32" else {}
        try:
            self._process = subprocess.Popen(
                [program, *self.command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder,
                **group,  # type: ignore[call-overload]
            )
        except OSError as error:
            raise EngineDied(f"cannot start {shlex.join(self.command)}: {error.strerror or error}") from None
        self._started = time.perf_counter()
        targets = (self._read_stdout, self._read_stderr)
        readers = [threading.Thread(target=target, args=(self._process,), daemon=True) for target in targets]
        for reader in readers:
            reader.start()
        self._stderr_reader = readers[1]

    def _read_stdout(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for raw in process.stdout:
            when = time.perf_counter()
            line = decode_line(raw).rstrip("\r\n")
            self._note(">", line, when)
            reply = parse_reply(line)
            if reply is not None:
                self._replies.put((when, reply))
        process.wait()
        self._note("!", f"process ended with code {process.returncode}")
        self._replies.put((time.perf_counter(), None))

    def _read_stderr(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        for raw in process.stderr:
            self._note("!", decode_line(raw).rstrip("\r\n"))

    def _note(self, direction: str, text: str, when: float | None = None) -> None:
        entry = LogEntry((time.perf_counter() if when is None else when) - self._started, direction, text)
        self.log.append(entry)
        if self._on_log is not None:
            self._on_log(entry)

    def _send(self, line: str) -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise EngineError(f"{self.name} is not started")
        self._note("<", line)
        self._asked, self._asked_line = time.perf_counter(), line
        try:
            process.stdin.write(line.encode("utf-8", "surrogateescape") + b"\n")
            process.stdin.flush()
        except (OSError, ValueError):
            raise EngineDied(self._obituary(f"before it could be sent {_short(line)!r}")) from None

    def _next_reply(self, deadline: float | None) -> tuple[float, Reply]:
        """The next line from the engine and when it was read."""
        remaining = None if deadline is None else max(0.0, deadline - time.perf_counter())
        try:
            when, reply = self._replies.get(timeout=remaining)
        except queue.Empty:
            seconds = time.perf_counter() - self._asked
            raise EngineTimeout(f"{self.name}: no answer to {_short(self._asked_line)!r} in {seconds:.1f} s") from None
        if reply is None:
            self._replies.put((when, None))  # whoever asks next shall hear it too
            raise EngineDied(self._obituary(f"after {_short(self._asked_line)!r}"))
        return when, reply

    def _wait_for(self, kind: type, timeout: float) -> None:
        deadline = time.perf_counter() + timeout
        while not isinstance(self._next_reply(deadline)[1], kind):
            pass

    def _drain(self) -> None:
        """Forget lines that belong to an earlier search."""
        while True:
            try:
                when, reply = self._replies.get_nowait()
            except queue.Empty:
                return
            if reply is None:
                self._replies.put((when, None))
                return

    def _obituary(self, when: str) -> str:
        process = self._process
        code = process.poll() if process is not None else None
        if code is not None and self._stderr_reader is not None:
            self._stderr_reader.join(1.0)  # its last words may still be in the pipe
        text = f"{self.name} ended {when}" + ("" if code is None else f" (exit code {code})")
        stderr = [entry.text for entry in list(self.log) if entry.direction == "!" and entry.text.strip()]
        stderr = [line for line in stderr[-STDERR_LINES_KEPT:] if not line.startswith("process ended")]
        return f"{text}: {stderr[-1].strip()}" if stderr else text


def _option_key(name: str) -> str:
    return "_".join(split_words(name.replace("_", " "))).lower()


def _short(line: str) -> str:
    """A line as messages show it: a long game makes a position line of kilobytes."""
    return line if len(line) <= 80 else line[:77] + "..."


def _search_path(folder: str | None) -> str | None:
    """Where programs are looked up: the engine's folder first, if it has one."""
    return os.pathsep.join([folder, os.environ.get("PATH", os.defpath)]) if folder else None


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children: engines are often started through a script."""
    try:
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()
