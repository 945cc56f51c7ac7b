"""One match at a time in a folder: a lock of the operating system, which dies with its process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from usi.match.config import MatchError

NAME = "running.lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of the folder of a match. Raises MatchError when one is at work there."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    try:
        with path.open("ab") as file:
            if not _take(file.fileno(), path):
                raise MatchError(f"another `narikin match` is playing in {folder}; choose another --out folder")
            try:
                yield
            finally:
                with contextlib.suppress(OSError):  # Windows removes no open file
                    path.unlink()
    finally:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                path.unlink(missing_ok=True)  # fails where another process has it open
            if new:
                folder.rmdir()  # fails unless nothing came of the match


def _take(number: int, path: Path) -> bool:
    """Lock an open file; False when another process has it, or has just removed it. Where nothing locks, go on."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a network folder without locks
        return True
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except FileNotFoundError:
        return False
