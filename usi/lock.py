"""A lock of the operating system, held by one process at a time and gone when that ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


class HeldError(ValueError):
    """Another process is at work; the text is for its user."""


@contextlib.contextmanager
def only_process(name: Path, refusal: str) -> Iterator[None]:
    """Hold the lock file `name` meanwhile. Raises HeldError with the text `refusal` if another process does."""
    handle = _locked(name, refusal)
    try:
        yield
    finally:
        if sys.platform != "win32":  # while it is held: nobody else can have it by now
            name.unlink(missing_ok=True)
        os.close(handle)
        if sys.platform == "win32":  # an open file cannot be removed
            with contextlib.suppress(OSError):
                name.unlink(missing_ok=True)


def _locked(name: Path, refusal: str) -> int:
    while True:
        handle = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError as error:
            if error.errno in HELD:
                os.close(handle)
                raise HeldError(refusal) from None
            return handle  # a file system without locks
        try:
            if os.path.samestat(os.fstat(handle), os.stat(name)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # its holder removed it meanwhile


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
