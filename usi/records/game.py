"""What a game record holds, whatever the format: a tree of moves with comments and clocks, headers, a start, an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

BLACK, WHITE = 0, 1


class RecordError(ValueError):
    """A record that cannot be read or written; the text names the line, if there is one, and the reason."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


@dataclass(eq=False)
class Node:
    """A move with what is said about it, or the end of a line of play.

    The root has neither move nor end. A node with an end is a leaf: `move` is None, its comments and seconds are those
    of the resignation (or whatever ended the line). Every move of a tree is legal; an illegal move that ended a game
    by the record's own word stands in the end's `illegal`.
    """

    move: str | None = None  # USI text
    comments: list[str] = field(default_factory=list)  # lines without the format's own sign
    seconds: float | None = None  # spent on the move
    children: list[Node] = field(
        default_factory=list, repr=False
    )  # the first is the main line, the others are variations
    end: str | None = None  # a word of `ends`, or the record's own where no format has one for it
    illegal: str | None = None  # of an end: the illegal move that caused it, USI text
    bookmark: str | None = None  # name of a place that KIF and KI2 files let readers jump to

    def add(self, child: Node) -> Node:
        """Append a child and return it."""
        self.children.append(child)
        return child

    def note(self, text: str) -> None:
        """Add a comment of a format that has no bookmarks: there a bookmark is a comment that begins with &."""
        if text.startswith("&") and self.bookmark is None:
            self.bookmark = text[1:]
        else:
            self.comments.append(text)


@dataclass(eq=False)
class Game:
    """One game. `headers` keep the file's order and are named as in KIF (先手 is black's name, 棋戦 the event)."""

    start: str  # SFEN of the first position
    variant: str = "shogi"
    headers: dict[str, str] = field(default_factory=dict)
    root: Node = field(default_factory=Node)
    remarks: list[str] = field(default_factory=list)  # lines of the file that belong to no move: "#" in KIF, "'" in CSA

    def main_line(self) -> list[Node]:
        """The moves of the main line, without the root and the end."""
        return line_of(self.root)[0]

    def moves(self) -> list[str]:
        """The main line as USI texts."""
        return [node.move for node in self.main_line() if node.move is not None]

    @property
    def end_node(self) -> Node | None:
        """The end of the main line, None if the record just stops."""
        return line_of(self.root)[1]

    @property
    def end(self) -> str | None:
        """How the main line ended: a word of `ends`, None if the record just stops."""
        node = self.end_node
        return node.end if node else None

    def players(self) -> tuple[str, str]:
        """Names of black and white, empty where unknown. In handicap games they are called 下手 and 上手."""
        return self._first_header("先手", "下手"), self._first_header("後手", "上手")

    def _first_header(self, *keys: str) -> str:
        return next((self.headers[key] for key in keys if self.headers.get(key)), "")

    def side_at(self, ply: int) -> int:
        """Side to move after `ply` moves."""
        first = WHITE if self.start.split()[1] == "w" else BLACK
        return first ^ (ply & 1)

    def walk(self) -> Iterator[tuple[int, Node]]:
        """All nodes but the root with the number of moves before them, each main line before its variations."""
        waiting = [(0, child) for child in reversed(self.root.children)]
        while waiting:
            ply, node = waiting.pop()
            yield ply, node
            waiting += [(ply + 1, child) for child in reversed(node.children)]


def line_of(node: Node) -> tuple[list[Node], Node | None]:
    """The main line below a node: its moves, and its end if it has one."""
    moves: list[Node] = []
    while node.children:
        node = node.children[0]
        if node.move is None:
            return moves, node
        moves.append(node)
    return moves, None


def lines_of_play(root: Node) -> Iterator[tuple[int, list[tuple[Node, bool]]]]:
    """All lines of a game in the order in which KIF and KI2 files have them.

    Each comes with the number of moves before it and its nodes, an end among them; the flag says that variations to
    this node follow later. First the main line, then, from its last move to its first, each variation with its own.
    So every line branches off the one before it, or off a line which that one branches off no earlier.
    """
    waiting = [(root, 0, 0)] if root.children else []
    while waiting:
        parent, index, ply = waiting.pop()
        line, below = [], [(parent, index, ply)]
        while parent.children:
            node = parent.children[index]
            line.append((node, index + 1 < len(parent.children)))
            parent, index = node, 0
            if parent.children:
                below.append((parent, 0, ply + len(line)))
        yield ply, line
        for fork, taken, at in below:
            if taken == 0:
                waiting += [(fork, other, at) for other in range(len(fork.children) - 1, 0, -1)]
