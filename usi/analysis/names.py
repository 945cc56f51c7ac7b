"""Moves and lines of a game in USI, Western or Japanese notation."""

from __future__ import annotations

from collections.abc import Sequence

from engine.rules.board import Board


class Namer:
    """Names lines that begin anywhere in a game. Walks one board along the game, so ask in the order of the plies."""

    def __init__(self, variant: str, start: str | None, moves: Sequence[str], notation: str) -> None:
        self._moves = moves
        self._notation = notation
        self._board = Board(start, variant, strict=False)

    def line(self, ply: int, line: Sequence[str], passed: bool = False) -> list[str]:
        """Names of the moves of a line played after `ply` moves of the game; `passed`: after a pass there."""
        if self._notation == "usi":
            return list(line)
        board = self._board
        self._walk(ply)
        names: list[str] = []
        pushed = 0
        try:
            if passed:
                board.push_null()
                pushed += 1
            for text in line:
                move = board.parse_usi(text)
                names.append(board.western(move) if self._notation == "western" else board.japanese(move))
                board.push(move)
                pushed += 1
        except ValueError:  # an engine's line may end in moves that are none: shown as it gave them
            names += line[len(names) :]
        for _ in range(pushed):
            board.pop()
        return names

    def legal(self, ply: int, line: Sequence[str]) -> list[str]:
        """The moves of a line as far as they are legal, USI."""
        board = self._board
        self._walk(ply)
        good: list[str] = []
        try:
            for text in line:
                board.push_usi(text)
                good.append(text)
        except ValueError:
            pass
        for _ in good:
            board.pop()
        return good

    def game(self) -> list[str]:
        """Names of the moves of the game."""
        return [self.line(ply, [move])[0] for ply, move in enumerate(self._moves)]

    def _walk(self, ply: int) -> None:
        board = self._board
        while len(board.move_stack) > ply:
            board.pop()
        while len(board.move_stack) < ply:
            board.push_usi(self._moves[len(board.move_stack)])
