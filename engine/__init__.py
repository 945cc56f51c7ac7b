"""Narikin's engine: rules, search and the Python faces of both.

`engine.Board` is loaded when it is asked for, because it brings numba with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.rules.board import Board as Board


def __getattr__(name: str) -> Any:
    if name == "Board":
        from engine.rules.board import Board

        return Board
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
