"""KIF: one row a move, with origin, clock and variations. KIFU is the same in UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.rules.codes import (
    PIECE_LETTERS,
    RANK_LETTERS,
    is_drop,
    is_promotion,
    move_from,
    move_to,
    piece_letter,
    piece_of,
    type_of,
)
from engine.rules.moves import parse_usi
from engine.rules.notation import DROP, FILES, KANJI, KANJI_ALIASES, PROMOTES, RANKS, SAME
from usi.records import ends
from usi.records.builder import Builder, make_board
from usi.records.encoding import TITLES
from usi.records.game import Game, Node, RecordError, lines_of_play
from usi.records.head import head_lines
from usi.records.japanese import JapaneseReader, end_sentence, notes

TABLE = "手数----指手---------消費時間--"
_TABLE = re.compile(r"\s*手数\s*-")
_ROW = re.compile(r"\s*(\d+)\s+(\S.*?)\s*(?:\(\s*(\d+(?::\d+)+(?:\.\d+)?)\s*(?:/[\s\d:.]*)?\))?\s*(\+)?\s*")
_NAMES = "|".join(sorted([*KANJI[1:], *KANJI_ALIASES], key=len, reverse=True))
_MOVE = re.compile(
    rf"[▲△▼▽☗☖]?\s*(?:([1-9])([1-9{RANKS}])\s*{SAME}?|{SAME})\s*({_NAMES})({PROMOTES}|不成|生|{DROP})?\s*(?:\(([1-9])([1-9])\))?"
)


def read(text: str, variant: str | None = None) -> list[Game]:
    """The game of a KIF text. Raises RecordError."""
    return [Reader(variant).read(text)]


class Reader(JapaneseReader):
    """Reads rows. The head ends at the first row or at the line above the rows."""

    def __init__(self, variant: str | None) -> None:
        super().__init__(variant)
        self.offset: int | None = None  # number of the first row less one

    def begins(self, plain: str) -> bool:
        row = _ROW.fullmatch(plain)
        return bool(_TABLE.match(plain)) or row is not None and _is_move(row[2])

    def read_strange(self, line: str, plain: str, number: int) -> None:
        row = _ROW.fullmatch(plain)
        if row is not None:
            raise RecordError(f"not a move: {row[2][:40]!r}", number)
        super().read_strange(line, plain, number)

    def read_moves(self, plain: str, number: int, builder: Builder) -> bool:
        row = _ROW.fullmatch(plain)
        if row is not None:
            self._read_row(row, number, builder)
        return row is not None or bool(_TABLE.match(plain))

    def first_ply(self) -> int:
        return self.offset or 0

    def _read_row(self, row: re.Match[str], number: int, builder: Builder) -> None:
        count = int(row[1])
        if self.offset is None:
            self.offset = count - 1 if count == builder.board.move_number else 0
        due = builder.ply + self.offset + 1 + (builder.ended or builder.refused)
        if count != due:
            raise RecordError(f"move {count} where move {due} is due", number)
        word = ends.from_kif(row[2], builder.side)
        node = builder.end(word, number) if word is not None else play(builder, row[2], number)
        if row[3] is not None and not (node.illegal and node.seconds is not None):
            node.seconds = _parse_clock(row[3])


def _is_move(text: str) -> bool:
    return bool(_MOVE.fullmatch(text)) or ends.from_kif(text, 0) is not None


def play(builder: Builder, text: str, number: int) -> Node:
    """Play a move as a row has it. Raises RecordError."""
    match = _MOVE.fullmatch(text)
    if match is None or (match[5] is None and match[4] != DROP):
        return builder.play_japanese(text.replace(" ", ""), number)
    file, rank, name, manner, origin_file, origin_rank = match.groups()
    kind = KANJI.index(KANJI_ALIASES.get(name, name))
    if file is None:
        target = builder.last_target
        if target is None:
            raise RecordError(f"{text!r} without a move before it", number)
    else:
        target = file + RANK_LETTERS[RANKS.index(rank) if rank in RANKS else int(rank) - 1]
    if manner == DROP:
        letter = PIECE_LETTERS[kind] if kind < len(PIECE_LETTERS) else "?"
        return builder.play(f"{letter}*{target}", number, text)
    origin = origin_file + RANK_LETTERS[int(origin_rank) - 1]
    standing = builder.piece_at(origin)
    if standing != piece_letter(piece_of(kind, builder.side)):
        raise RecordError(f"{text!r}: there is no {name} of the side to move on {origin}", number)
    return builder.play(origin + target + ("+" if manner == PROMOTES else ""), number, text)


def _parse_clock(text: str) -> float:
    seconds = 0.0
    for part in text.split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


# writing


def write(games: list[Game], encoding: str = "utf-8") -> str:
    """The KIF text of one game."""
    game = games[0]
    title = f"#KIF version=2.0 encoding={TITLES.get(encoding, encoding)}"
    lines = [*head_lines(game, title), TABLE, *notes(game.root), *_Rows(game).lines()]
    return "".join(f"{line}\n" for line in lines)


class _Rows:
    """Writes the rows of a game."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.board = make_board(game.variant, game.start)
        self.clocks = [(0.0, 0.0)]  # by ply: seconds that both sides have used

    def lines(self) -> Iterator[str]:
        """The main line with its sentence at the end, then the variations."""
        for ply, line in lines_of_play(self.game.root):
            while len(self.board.move_stack) > ply:
                self.board.pop()
            del self.clocks[ply + 1 :]
            if line and self._is_variation(line[0][0]):
                yield ""
                yield f"変化：{ply + 1}手"
            for node, forks in line:
                yield from self._rows(node, "+" if forks else "")
                yield from notes(node)
            if line[-1][0].end is not None and not self._is_variation(line[0][0]):
                yield end_sentence(self.game, self.board, line[-1][0])

    def _is_variation(self, node: Node) -> bool:
        return node is not self.game.root.children[0]

    def _rows(self, node: Node, mark: str) -> Iterator[str]:
        ply, side = len(self.board.move_stack), self.board.turn
        if node.move is not None:
            yield self._row(ply + 1, self._text(node.move), self._clock(node, side), mark)
            self.board.push_usi(node.move)
            return
        assert node.end is not None
        if node.illegal is None:
            yield self._row(ply + 1, ends.to_kif(node.end, side), self._clock(node, side), mark)
            return
        yield self._row(ply + 1, self._text(node.illegal), self._clock(node, side), mark)
        yield self._row(ply + 2, ends.to_kif(node.end, 1 - side), "", "")

    def _row(self, number: int, text: str, clock: str, mark: str) -> str:
        width = sum(1 if letter < "\x7f" else 2 for letter in text)
        padding = " " * max(1, 13 - width) if clock else ""
        return f"{number:4} {text}{padding}{clock}{mark}"

    def _text(self, usi: str) -> str:
        move = parse_usi(usi, self.board.variant)
        target, stack = move_to(move), self.board.move_stack
        place = FILES[target // 9] + RANKS[target % 9]
        if stack and stack[-1].to_square == target:
            place = SAME + "　"
        if is_drop(move):
            return place + KANJI[move_from(move)] + DROP
        piece = self.board.placement().board[move_from(move)]
        origin = move_from(move)
        manner = PROMOTES if is_promotion(move) else ""
        return f"{place}{KANJI[type_of(piece)]}{manner}({origin // 9 + 1}{origin % 9 + 1})"

    def _clock(self, node: Node, side: int) -> str:
        black, white = self.clocks[-1]
        used = node.seconds or 0.0
        self.clocks.append((black, white + used) if side else (black + used, white))
        if node.seconds is None:
            return ""
        minutes, seconds = divmod(_whole(used), 60)
        total = _whole(self.clocks[-1][side])
        return f"({minutes:2}:{seconds:02}/{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02})"


def _whole(seconds: float) -> int:
    return int(seconds + 0.5)
