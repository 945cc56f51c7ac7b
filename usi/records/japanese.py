"""What KIF and KI2 files have in common: comments, bookmarks, variations, the sentence at the end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.rules.notation import KANJI, RANKS, SAME
from usi.records import ends
from usi.records.builder import Builder
from usi.records.encoding import numbered_lines
from usi.records.game import Game, Node, RecordError
from usi.records.head import Head, side_names

if TYPE_CHECKING:
    from engine.rules.board import Board

_MOVE = re.compile(rf"(?:[1-9][1-9{RANKS}]|{SAME})\s*[{''.join(set(''.join(KANJI)))}]")
_FORK = re.compile(r"変化:\s*(\d+)\s*手")


class JapaneseReader:
    """Reads line by line: the head, and from the first move on the moves. Subclasses know what a move looks like."""

    def __init__(self, variant: str | None) -> None:
        self.head = Head(variant)
        self.builder: Builder | None = None
        self._root = Node()  # comments and bookmark before the first move

    def begins(self, plain: str) -> bool:
        """True if the head ends before this line."""
        raise NotImplementedError

    def read_moves(self, plain: str, number: int, builder: Builder) -> bool:
        """Read a line of moves; False if it is none. Raises RecordError."""
        raise NotImplementedError

    def first_ply(self) -> int:
        """The number of the first move in the file less one."""
        return 0

    def read_strange(self, line: str, plain: str, number: int) -> None:
        """A line of the head that means nothing to us is kept, but a move there must not be overlooked: RecordError."""
        if _MOVE.search(plain):
            raise RecordError(f"a move of another format, or a damaged one: {plain[:40]!r}", number)
        self.head.remarks.append(line.strip())

    def read(self, text: str) -> Game:
        """The game of a whole text. Raises RecordError."""
        for number, line in numbered_lines(text):
            node = self._root if self.builder is None else self.builder.node
            if line.startswith("*"):
                node.comments.append(line[1:])
            elif line.startswith("&"):
                node.bookmark = line[1:]
            elif line.strip():
                self._read_line(line, number)
        if self.builder is None and not self.head.understood:
            raise RecordError("there is neither a move nor a header of a game record")
        return (self.builder or self._begin()).finish()

    def _read_line(self, line: str, number: int) -> None:
        plain = unicodedata.normalize("NFKC", line).strip()
        if self.builder is None:
            if not (self.begins(plain) or plain.startswith("まで")):
                if not self.head.read(line, number):
                    self.read_strange(line, plain, number)
                return
            self.builder = self._begin()
        builder = self.builder
        fork = _FORK.match(plain)
        if plain.startswith("#"):
            self.head.remarks.append(line.strip()[1:].strip())
        elif fork:
            builder.fork(int(fork[1]) - 1 - self.first_ply(), number)
        elif not self.read_moves(plain, number, builder):
            self._read_sentence(plain, number, builder)

    def _begin(self) -> Builder:
        builder = self.head.begin()
        builder.node.comments, builder.node.bookmark = self._root.comments, self._root.bookmark
        return builder

    def _read_sentence(self, plain: str, number: int, builder: Builder) -> None:
        """A sentence such as まで85手で投了: its count is checked, its end taken if the line has none.

        One that names no end we know is kept as a comment.
        """
        found = ends.parse_sentence(plain, builder.side)
        if found is None:
            raise RecordError(f"neither a move nor anything else that a record holds: {plain[:40]!r}", number)
        plies, word = found
        if abs(plies - builder.ply) > 1 and plies != builder.board.move_number - 1:
            raise RecordError(f"the record says that there are {plies} moves, but there are {builder.ply}", number)
        if word is None:
            builder.node.comments.append(plain)
        elif not builder.ended:
            builder.end(word, number)


def notes(node: Node) -> Iterator[str]:
    """The lines below a move: bookmark and comments."""
    if node.bookmark is not None:
        yield f"&{node.bookmark}"
    for comment in node.comments:
        for line in comment.split("\n"):
            yield f"*{line}"


def end_sentence(game: Game, board: Board, node: Node) -> str:
    """The sentence below a line that ends with `node`; the board stands behind its last legal move."""
    assert node.end is not None
    ply, illegal = len(board.move_stack), node.illegal is not None
    return ends.sentence(node.end, ply + illegal, board.turn ^ illegal, side_names(game))
