"""GUIs of plain lines for tests: on a session in a thread of this process, or on an engine in a process of its own."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_engine import FakeEngine

from usi.session import Session, identity

PATIENCE = 20.0  # seconds after which a test gives up waiting; nothing it waits for takes longer than milliseconds
TERMINATORS = ("bestmove", "checkmate")
ROOT = Path(__file__).resolve().parent.parent


class Talk:
    """Lines to an engine and from it."""

    patience = PATIENCE

    def __init__(self, stdin: Any, stdout: Any) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for raw in self._stdout:
            assert raw.endswith(b"\n")
            assert not raw.endswith(b"\r\n")
            self._lines.put(raw[:-1].decode("utf-8"))
        self._stdout.close()
        self._lines.put(None)

    def send(self, *lines: str) -> None:
        self.send_bytes("".join(f"{line}\n" for line in lines).encode())

    def send_bytes(self, data: bytes) -> None:
        self._stdin.write(data)

    def next_line(self) -> str:
        line = self._lines.get(timeout=self.patience)
        assert line is not None, "the engine ended"
        return line

    def until(self, start: str) -> list[str]:
        """Lines up to and with the one that begins with a word."""
        lines = [self.next_line()]
        while lines[-1].split(" ")[0] != start:
            lines.append(self.next_line())
        return lines

    def answer(self) -> str:
        """The next terminator."""
        while True:
            line = self.next_line()
            if line.startswith(TERMINATORS):
                return line

    def said(self) -> list[str]:
        """Everything said so far, by a question that is answered at once."""
        self.send("usi")
        lines = self.until("usiok")
        return lines[: -len(identity())]

    def settle(self) -> list[str]:
        """Everything said until all that was sent is done; needs an idle session or a search that is not stopping."""
        self.send("isready")
        return self.until("readyok")[:-1]

    def ready(self, *options: str) -> Any:
        """Options, isready, usinewgame; returns self."""
        self.send(*options, "isready", "usinewgame")
        self.until("readyok")
        return self

    def rest(self, *last: str) -> list[str]:
        """Send last lines, close the input, and return what was still said."""
        self.send(*last)
        self._stdin.close()
        lines = []
        while (line := self._lines.get(timeout=self.patience)) is not None:
            lines.append(line)
        return lines


class Conversation(Talk):
    """With a session in a thread."""

    def __init__(self, engine: FakeEngine | None = None, **settings: Any) -> None:
        self.engine = engine or FakeEngine()
        self.made: list[tuple] = []
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        settings.setdefault("engine_maker", self._make)
        settings.setdefault("notice", lambda: None)
        self._ends = os.fdopen(to_read, "rb"), os.fdopen(from_write, "wb")
        self.session = Session(*self._ends, **settings)
        self.exit_code: int | None = None
        super().__init__(os.fdopen(to_write, "wb", buffering=0), os.fdopen(from_read, "rb"))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _make(self, *settings: Any) -> FakeEngine:
        self.made.append(settings)
        return self.engine

    def _serve(self) -> None:
        self.exit_code = self.session.run()
        for stream in self._ends:
            stream.close()

    def wait_for(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + self.patience
        while not condition():
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.001)

    def end(self, *last: str) -> list[str]:
        """Close the input; what was still said. The exit code must be 0."""
        lines = self.rest(*last)
        self._thread.join(self.patience)
        assert self.exit_code == 0
        return lines


class ProcessTalk(Talk):
    """With an engine process."""

    patience = 300.0  # a first start compiles

    def __init__(self, command: list[str], **environment: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )
        assert self.process.stdout is not None
        super().__init__(self.process.stdin, os.fdopen(os.dup(self.process.stdout.fileno()), "rb"))

    def end(self, *last: str) -> list[str]:
        """Close the input; what was still said. The exit code must be 0 and stderr empty."""
        lines = self.rest(*last)
        assert self.process.stderr is not None
        errors = self.process.stderr.read()
        assert (self.process.wait(self.patience), errors) == (0, b"")
        return lines

    def kill(self) -> None:
        """End the process for sure."""
        self.process.kill()
        self.process.wait()


OWN_PROGRAM = [sys.executable, "-m", "usi"]
