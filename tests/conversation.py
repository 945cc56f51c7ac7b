"""A GUI of plain lines on a session in a thread of this process, for tests."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from fake_engine import FakeEngine

from usi.session import Session, identity

PATIENCE = 20.0  # seconds after which a test gives up waiting; nothing here takes longer than a few milliseconds
TERMINATORS = ("bestmove", "checkmate")


class Conversation:
    """A GUI of plain lines on a session in a thread."""

    def __init__(self, engine: FakeEngine | None = None, **settings: Any) -> None:
        self.engine = engine or FakeEngine()
        self.made: list[tuple] = []
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        self._stdin = os.fdopen(to_write, "wb", buffering=0)
        self._stdout = os.fdopen(from_read, "rb")
        self._lines: queue.Queue[str | None] = queue.Queue()
        settings.setdefault("engine_maker", self._make)
        settings.setdefault("notice", lambda: None)
        self._ends = os.fdopen(to_read, "rb"), os.fdopen(from_write, "wb")
        self.session = Session(*self._ends, **settings)
        self.exit_code: int | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        threading.Thread(target=self._listen, daemon=True).start()

    def _make(self, *settings: Any) -> FakeEngine:
        self.made.append(settings)
        return self.engine

    def _serve(self) -> None:
        self.exit_code = self.session.run()
        for stream in self._ends:
            stream.close()

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
        line = self._lines.get(timeout=PATIENCE)
        assert line is not None, "the session ended"
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

    def ready(self, *options: str) -> Conversation:
        self.send(*options, "isready", "usinewgame")
        self.until("readyok")
        return self

    def wait_for(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.001)

    def end(self, *last: str) -> list[str]:
        """Send last lines, close the input, and return what was still said."""
        self.send(*last)
        self._stdin.close()
        lines = []
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            lines.append(line)
        self._thread.join(PATIENCE)
        assert self.exit_code == 0
        return lines
