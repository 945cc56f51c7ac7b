"""Writing to the GUI: whole lines from any thread, and no more reports than it can draw."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import BinaryIO

from engine.search.limits import Info
from usi.protocol import encode_lines


class Writer:
    """The one way out. Lines of one call stay together; after `close`, or when the GUI is gone, nothing is written."""

    def __init__(self, stream: BinaryIO, on_broken: Callable[[], None] = lambda: None) -> None:
        self._stream = stream
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self._closed = False

    def lines(self, *lines: str) -> None:
        """Write lines and flush."""
        with self._lock:
            if self._closed:
                return
            try:
                self._stream.write(encode_lines(lines))
                self._stream.flush()
                return
            except (OSError, ValueError):  # ValueError: the stream was closed
                self._closed = True
        self._on_broken()

    def close(self) -> None:
        """Let nothing out from now on. Waits for a running write, but not for a reader who has stopped reading."""
        locked = self._lock.acquire(timeout=0.5)
        self._closed = True
        if locked:
            self._lock.release()


class ReportFilter:
    """Thins out the reports of one search: at most one group of lines (one depth, multipv 1 to K) per interval.

    The last group is kept back, never lost: `rest` returns it when the search ends.
    """

    def __init__(self, interval_ms: int, whole_lines_only: bool = False) -> None:
        self._interval = interval_ms / 1000
        self._whole_lines_only = whole_lines_only
        self._last = float("-inf")
        self._passing = True
        self._held: list[Info] = []

    def accept(self, info: Info, now: float) -> list[Info]:
        """What to write when this report arrives at `now` (seconds)."""
        if info.text is not None:
            return [info]
        if self._whole_lines_only and info.bound is not None:
            return []
        due = now - self._last >= self._interval
        if not info.pv:  # nodes and speed between two depths
            if due:
                self._last = now
            return [info] if due else []
        if info.multipv <= 1:
            self._passing = due
            self._held = []
            if due:
                self._last = now
        if self._passing:
            return [info]
        self._held.append(info)
        return []

    def rest(self) -> list[Info]:
        """The group that was kept back, if it is the last one."""
        held, self._held = self._held, []
        return held
