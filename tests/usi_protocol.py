"""A strict GUI for tests: USI on python-chess's `chess.engine.Protocol`, written apart from usi/.

It keeps to what GUIs are known to insist on and collects every breach in `violations`: a terminator that nobody asked
for, a line that is split by more than one blank, an unknown first word, a mate score of 0 that reads as a win.
`SessionTransport` puts it on a `usi.session.Session` in this process, `chess.engine.MockTransport` on a script.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import chess.engine
from chess.engine import BaseCommand, Cp, EngineError, InfoDict, Mate, Option


@dataclasses.dataclass(frozen=True)
class Game:
    """A position with its history; sfen None = the start position."""

    sfen: str | None = None
    moves: tuple[str, ...] = ()

    def line(self) -> str:
        start = "startpos" if self.sfen is None else f"sfen {self.sfen}"
        return f"position {start} moves {' '.join(self.moves)}".removesuffix(" moves ")


@dataclasses.dataclass
class UsiLimit(chess.engine.Limit):
    """python-chess's limit and what USI adds to it; mate is in seconds."""

    byoyomi: float | None = None
    infinite: bool = False
    ponder: bool = False

    def line(self, root_moves: Iterable[str] | None = None) -> str:
        words = ["go"]
        words += ["ponder"] if self.ponder else []
        times = {"btime": self.black_clock, "wtime": self.white_clock, "binc": self.black_inc, "winc": self.white_inc}
        for name, seconds in (*times.items(), ("byoyomi", self.byoyomi), ("movetime", self.time), ("mate", self.mate)):
            words += [] if seconds is None else [name, str(round(seconds * 1000))]
        for name, count in (("depth", self.depth), ("nodes", self.nodes)):
            words += [] if count is None else [name, str(count)]
        words += ["infinite"] if self.infinite else []
        words += ["searchmoves", *root_moves] if root_moves else []
        return " ".join(words)


@dataclasses.dataclass
class Answer:
    """The end of a search: the words after `bestmove` or `checkmate`, and the reports before it."""

    kind: str
    words: list[str]
    infos: list[InfoDict]

    @property
    def move(self) -> str:
        return self.words[0]

    @property
    def ponder(self) -> str | None:
        return self.words[2] if len(self.words) == 3 else None


FIRST_WORDS = {"id", "option", "usiok", "readyok", "info", "bestmove", "checkmate", ""}
INFO_NUMBERS = {"depth", "seldepth", "time", "nodes", "nps", "hashfull", "multipv"}


class UsiProtocol(chess.engine.Protocol):
    """A GUI's end of the conversation."""

    def __init__(self) -> None:
        super().__init__()
        self.options = {}
        self.id = {}
        self.violations: list[str] = []
        self.texts: list[str] = []  # of `info string`
        self.open_searches = 0

    def line_received(self, line: str) -> None:
        word = line.split(" ")[0]
        if word not in FIRST_WORDS:
            self.violations.append(f"unknown word: {line}")
        if line and " ".join(line.split()) != line and word != "info":
            self.violations.append(f"blanks: {line!r}")
        if word in ("bestmove", "checkmate"):
            self.open_searches -= 1
            if self.open_searches < 0:
                self.violations.append(f"nobody asked: {line}")

    def breach(self, text: str) -> None:
        self.violations.append(text)

    def go(self, limit: UsiLimit, root_moves: Iterable[str] | None = None) -> None:
        self.open_searches += 1
        self.send_line(limit.line(root_moves))

    # ------------------------------------------------ commands

    async def initialize(self) -> None:
        await self.communicate(_Initialize)

    async def ping(self) -> None:
        await self.communicate(_Ping)

    async def configure(self, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            text = str(value).lower() if isinstance(value, bool) else value
            self.send_line(f"setoption name {name}" + ("" if value is None else f" value {text}"))

    async def new_game(self) -> None:
        """What ShogiHome sends before every game."""
        await self.ping()
        self.send_line("usinewgame")

    async def search(
        self, game: Game, limit: UsiLimit, root_moves: Sequence[str] | None = None, then: Sequence[str] = ()
    ) -> Answer:
        """`position`, `go`, then the lines of `then`, and the answer."""
        return await self.communicate(lambda engine: _Search(engine, game, limit, root_moves, then))

    async def play(self, board: Any, limit: Any, **settings: Any) -> Any:
        answer = await self.search(board, limit, settings.get("root_moves"))
        return chess.engine.PlayResult(answer.move, answer.ponder, answer.infos[-1] if answer.infos else {})  # type: ignore[arg-type]

    async def analysis(self, board: Any, limit: Any = None, **settings: Any) -> Any:
        return await self.communicate(lambda engine: _Analysis(engine, board, limit or UsiLimit(infinite=True)))

    async def send_opponent_information(self, **settings: Any) -> None:
        pass

    async def send_game_result(self, board: Any, winner: bool | None = None, *rest: Any, **settings: Any) -> None:
        self.send_line("gameover " + {None: "draw", True: "win", False: "lose"}[winner])

    async def quit(self) -> None:
        self.send_line("quit")
        await asyncio.shield(self.returncode)


class _Initialize(BaseCommand[None]):
    def check_initialized(self) -> None:
        pass

    def start(self) -> None:
        self._engine.send_line("usi")

    def line_received(self, line: str) -> None:
        words = line.split(" ")
        if words[0] == "id":
            self._engine.id[words[1]] = " ".join(words[2:])
        elif words[0] == "option":
            self._option(words[1:])
        elif line == "usiok":
            self._engine.initialized = True
            if not self.result.done():
                self.result.set_result(None)
            self.set_finished()

    def _option(self, words: list[str]) -> None:
        """As ShogiHome reads it: `name N type T`, then pairs of single words."""
        if words[0] != "name" or words[2] != "type" or len(words) % 2:
            self._engine.violations.append(f"option: {words}")  # type: ignore[attr-defined]
            return
        pairs = list(zip(words[4::2], words[5::2], strict=True))
        known = dict(pairs)
        default = "" if known.get("default") == "<empty>" else known.get("default")
        numbers = {key: int(known[key]) if key in known else None for key in ("min", "max")}
        values = [value for key, value in pairs if key == "var"]
        self._engine.options[words[1]] = Option(words[1], words[3], default, numbers["min"], numbers["max"], values)


class _Ping(BaseCommand[None]):
    def start(self) -> None:
        self._engine.send_line("isready")

    def line_received(self, line: str) -> None:
        if line.startswith("info string "):
            self._engine.texts.append(line.removeprefix("info string "))  # type: ignore[attr-defined]
        if line == "readyok":
            self.result.set_result(None)
            self.set_finished()


class _Search(BaseCommand[Answer]):
    def __init__(self, engine: Any, game: Game, limit: UsiLimit, root_moves: Any, then: Sequence[str]) -> None:
        super().__init__(engine)
        self.engine: UsiProtocol = engine
        self.game, self.limit, self.root_moves, self.then = game, limit, root_moves, then
        self.infos: list[InfoDict] = []

    def start(self) -> None:
        self.engine.send_line(self.game.line())
        self.engine.go(self.limit, self.root_moves)
        for line in self.then:
            self.engine.send_line(line)

    def cancel(self) -> None:
        self.engine.send_line("stop")

    def line_received(self, line: str) -> None:
        words = line.split(" ")
        if words[0] == "info":
            info = read_info(words[1:], self.engine.breach)
            if "string" in info:
                self.engine.texts.append(info["string"])
            self.infos.append(info)
        elif words[0] in ("bestmove", "checkmate"):
            self.answered(Answer(words[0], words[1:], self.infos))

    def answered(self, answer: Answer) -> None:
        if not self.result.done():
            self.result.set_result(answer)
        self.set_finished()


class _Analysis(_Search):
    """An analysis that the caller follows and stops."""

    def __init__(self, engine: Any, game: Game, limit: UsiLimit) -> None:
        super().__init__(engine, game, limit, None, ())

    def start(self) -> None:
        super().start()
        self.analysis = chess.engine.AnalysisResult(stop=self.cancel)
        self.result.set_result(self.analysis)  # type: ignore[arg-type]

    def line_received(self, line: str) -> None:
        seen = len(self.infos)
        super().line_received(line)
        for info in self.infos[seen:]:
            self.analysis.post(info)

    def answered(self, answer: Answer) -> None:
        self.set_finished()
        self.analysis.set_finished(chess.engine.BestMove(answer.move, answer.ponder))  # type: ignore[arg-type]


def read_info(words: list[str], breach: Callable[[str], None]) -> InfoDict:
    """An info line as ShogiHome reads it; scores as python-chess's Cp and Mate, moves as text."""
    info: dict[str, Any] = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in INFO_NUMBERS:
            try:
                info[word] = int(words[index])
            except (ValueError, IndexError):
                breach(f"{word} without a number: {words}")
            index += 1
        elif word == "score":
            kind, value = words[index], words[index + 1]
            if kind == "mate" and value in ("0", "+0"):
                breach(f"mate {value} reads as a win: {words}")
            info["score"] = Cp(int(value)) if kind == "cp" else Mate(int(value))
            index += 2
        elif word in ("lowerbound", "upperbound"):
            info[word] = True
        elif word == "currmove":
            info[word] = words[index]
            index += 1
        elif word in ("pv", "string"):
            info[word] = words[index:] if word == "pv" else " ".join(words[index:])
            break
        else:
            breach(f"unknown word {word!r}: {words}")
    return info  # type: ignore[return-value]


class SessionTransport(asyncio.SubprocessTransport, asyncio.WriteTransport):
    """Puts a protocol on a session that runs in a thread of this process, through real pipes."""

    def __init__(self, protocol: UsiProtocol, make_session: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._returncode: int | None = None
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        self._stdin = os.fdopen(to_write, "wb", buffering=0)
        self._session_in = os.fdopen(to_read, "rb")
        self._session_out = os.fdopen(from_write, "wb")
        self.session = make_session(self._session_in, self._session_out)
        protocol.connection_made(self)
        threading.Thread(target=self._serve, daemon=True).start()
        threading.Thread(target=self._listen, args=(os.fdopen(from_read, "rb"),), daemon=True).start()

    def _serve(self) -> None:
        self._returncode = self.session.run()
        self._session_in.close()
        self._session_out.close()

    def _listen(self, stream: Any) -> None:
        for raw in stream:
            self._loop.call_soon_threadsafe(self._protocol.pipe_data_received, 1, raw)
        self._loop.call_soon_threadsafe(self._protocol.connection_lost, None)
        stream.close()

    def get_pipe_transport(self, fd: int) -> Any:
        return self

    def write(self, data: bytes) -> None:
        self._stdin.write(data)

    def close(self) -> None:
        """End of the session's input."""
        self._stdin.close()

    def get_pid(self) -> int:
        return id(self)

    def get_returncode(self) -> int | None:
        return self._returncode


async def open_process(command: list[str], **settings: Any) -> tuple[asyncio.SubprocessTransport, UsiProtocol]:
    """A real engine process and its protocol, greeted."""
    transport, protocol = await UsiProtocol.popen(command, **settings)
    try:
        await protocol.initialize()
    except EngineError:
        transport.close()
        raise
    return transport, protocol
