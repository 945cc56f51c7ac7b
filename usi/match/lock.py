"""One match at a time in a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from usi.lock import HeldError, only_process
from usi.match.config import MatchError

NAME = "running.lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of the folder of a match. Raises MatchError when one is at work there."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with only_process(
            folder / NAME, f"another `narikin match` is playing in {folder}; choose another --out folder"
        ):
            yield
    except HeldError as error:
        raise MatchError(str(error)) from None
    finally:
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()  # fails unless nothing came of the match
