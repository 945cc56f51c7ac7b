"""KI2: moves as people say them, without origins and clocks. KI2U is the same in UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.rules.notation import SAME
from usi.records import ends
from usi.records.builder import Builder, make_board
from usi.records.encoding import TITLES
from usi.records.game import Game, RecordError, lines_of_play
from usi.records.head import head_lines
from usi.records.japanese import JapaneseReader, end_sentence, notes

_SIGNS = ("▲▼☗", "△▽☖")  # of black and white; files use one of each
_ALL_SIGNS = "".join(_SIGNS)
_MOVE = re.compile(f"[{_ALL_SIGNS}][^{_ALL_SIGNS}]*")
MOVES_A_LINE, WIDTH = 6, 12  # columns that a move takes


def read(text: str, variant: str | None = None) -> list[Game]:
    """The game of a KI2 text. Raises RecordError."""
    return [Reader(variant).read(text)]


class Reader(JapaneseReader):
    """Reads lines of moves."""

    def begins(self, plain: str) -> bool:
        return plain[0] in _ALL_SIGNS

    def read_moves(self, plain: str, number: int, builder: Builder) -> bool:
        if plain[0] not in _ALL_SIGNS:
            return False
        for token in _MOVE.findall(plain):
            text = "".join(token[1:].split())
            if token[0] not in _SIGNS[builder.side]:
                raise RecordError(f"{token.strip()!r}, but the other side is to move", number)
            word = ends.from_kif(text, builder.side)
            if word is not None:
                builder.end(word, number)
            else:
                builder.play_japanese(text, number)
        return True


def write(games: list[Game], encoding: str = "utf-8") -> str:
    """The KI2 text of one game. Clocks, and illegal moves that ended a game, have no place in it."""
    game = games[0]
    lines = head_lines(game, f"#KI2 version=2.0 encoding={TITLES.get(encoding, encoding)}")
    lines += ["", *notes(game.root), *_move_lines(game)]
    return "".join(f"{line}\n" for line in lines)


def _move_lines(game: Game) -> Iterator[str]:
    """The main line and the variations, each with its end."""
    board = make_board(game.variant, game.start)
    for ply, line in lines_of_play(game.root):
        while len(board.move_stack) > ply:
            board.pop()
        if line[0][0] is not game.root.children[0]:
            yield ""
            yield f"変化：{ply + 1}手"
        row: list[str] = []
        for node, _ in line:
            said = [end_sentence(game, board, node)] if node.end is not None else []
            if node.move is not None:
                move = board.parse_usi(node.move)
                row.append(board.japanese(move).replace(SAME, SAME + "　"))
                board.push(move)
            said += notes(node)
            if row and (said or len(row) == MOVES_A_LINE):
                yield _joined(row)
                row = []
            yield from said
        if row:
            yield _joined(row)


def _joined(row: list[str]) -> str:
    padded = [text + " " * max(1, WIDTH - 2 * len(text)) for text in row]
    return "".join(padded).rstrip()
