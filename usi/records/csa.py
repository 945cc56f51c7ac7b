"""CSA: the format of computer shogi, one line a move, several games a file. It has no variations.

Read are the versions 1 to 3. Written is V2.2, or V3.0 where a clock has fractions of a second. Lines that begin with
'* are comments to the move before; other lines that begin with ' are remarks, kept by the file as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.rules.codes import (
    BLACK,
    HAND_TYPES,
    KING,
    PIECE_LETTERS,
    PROMOTED,
    RANK_LETTERS,
    WHITE,
    base_type,
    colour_of,
    is_drop,
    is_promotion,
    move_from,
    move_to,
    piece_letter,
    piece_of,
    square_of,
    type_of,
)
from engine.rules.moves import parse_usi
from engine.rules.sfen import Placement, format_sfen, parse_sfen
from engine.rules.variants import SHOGI
from usi.records import ends
from usi.records.builder import Builder, make_board
from usi.records.encoding import TITLES, numbered_lines
from usi.records.game import Game, Node, RecordError
from usi.records.handicaps import is_handicap

NAMES = ("", "FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY")  # by type
HEADERS = {
    "EVENT": "棋戦",
    "SITE": "場所",
    "START_TIME": "開始日時",
    "END_TIME": "終了日時",
    "TIME_LIMIT": "持ち時間",
    "OPENING": "戦型",
    "NOTE": "備考",
    "MAX_MOVES": "最大手数",
}
KEYS = {japanese: key for key, japanese in HEADERS.items()}
PLAYERS = {"N+": ("先手", "下手"), "N-": ("後手", "上手")}
ENDS = {*ends.WORDS, *ends.FOULS}
SIGNS = "+-"
_TITLE = re.compile(r"'\s*(?:CSA\s+)?encoding=", re.IGNORECASE)
_HEADER_REMARK = re.compile(r"'([^\s：*'][^：]*)：(.*)")
_MOVE = re.compile(r"([+-])([0-9]{2})([1-9]{2})([A-Z]{2})")
_TIME = re.compile(r"T(\d+(?:\.\d+)?)")


def read(text: str, variant: str | None = None) -> list[Game]:
    """All games of a text. Raises RecordError."""
    if variant not in (None, SHOGI.name):
        raise RecordError(f"CSA has no {variant}")
    games, reader = [], Reader()
    for number, line in numbered_lines(text):
        if line.strip() == "/":
            games.append(reader.finish(number))
            reader = Reader()
        elif line.strip():
            reader.read_line(line, number)
    if reader.begun or not games:
        games.append(reader.finish(None))
    return games


class Reader:
    """Reads one game line by line: headers, start, moves."""

    def __init__(self) -> None:
        self.begun = False  # something other than remarks has been read
        self.headers: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.remarks: list[str] = []
        self.root = Node()  # comments before the start
        self.setup = Setup()
        self.builder: Builder | None = None

    def read_line(self, line: str, number: int) -> None:
        """Take a line in. Raises RecordError."""
        if line.startswith("'"):
            self._read_remark(line)
            return
        self.begun = True
        if line.startswith("$") or (line.startswith(("N+", "N-")) and self.builder is None):
            self._read_header(line)
            return
        for statement in line.split(","):
            self._read_statement(statement.rstrip(), number)

    def _read_remark(self, line: str) -> None:
        header = None if self.builder or self.setup.line else _HEADER_REMARK.fullmatch(line)
        if line.startswith("'*"):
            node = self.root if self.builder is None else self.builder.node
            if node.end == ends.INTERRUPTED and line[2:] in ends.FREE and not node.comments:
                node.end = line[2:]  # as `write` says it
            else:
                node.note(line[2:])
        elif header:
            self.headers[header[1]] = header[2]
        elif not _TITLE.match(line):
            self.remarks.append(line[1:].strip())

    def _read_header(self, line: str) -> None:
        """Headers stand before the start position; servers put $END_TIME behind the moves."""
        key, _, value = line[1:].partition(":") if line.startswith("$") else (line[:2], "", line[2:])
        name = HEADERS.get(key, "$" + key) if line.startswith("$") else key
        (self.headers if self.builder is None else self.builder.game.headers)[name] = value.strip()

    def _read_statement(self, text: str, number: int) -> None:
        if text in ("+", "-") and self.builder is None:
            self.setup.side = SIGNS.index(text)
            self.builder = self._begin(number)
        elif text.startswith(("P", "p")) and self.builder is None:
            self.setup.read(text, number)
        elif text.startswith("V") and self.builder is None:
            if not re.fullmatch(r"V[123](\.\d+)?", text):
                raise RecordError(f"unknown version {text!r}", number)
        elif text[:1] in ("+", "-", "%"):
            if self.builder is None:
                self.setup.side = SIGNS.find(text[0]) if text[0] in SIGNS else BLACK
                self.builder = self._begin(number)
            self._read_move(text, number, self.builder)
        elif text.startswith("T") and self.builder is not None:
            self._read_time(text, number, self.builder)
        else:
            raise RecordError(f"not a line of CSA here: {text[:40]!r}", number)

    def _begin(self, number: int | None) -> Builder:
        builder = Builder(self.setup.sfen(), line=self.setup.line or number)
        handicap = is_handicap(builder.game.start)
        for key, value in self.headers.items():
            name = PLAYERS[key][handicap] if key in PLAYERS else key
            builder.game.headers[name] = value
        builder.game.remarks = self.remarks
        builder.node.comments, builder.node.bookmark = self.root.comments, self.root.bookmark
        return builder

    def _read_move(self, text: str, number: int, builder: Builder) -> None:
        if text.startswith("%"):
            if text[1:] not in ENDS:
                raise RecordError(f"unknown end {text[:40]!r}", number)
            builder.end(text[1:], number)
            return
        match = _MOVE.fullmatch(text)
        if match is None:
            raise RecordError(f"not a move: {text[:40]!r}", number)
        sign, origin, target, name = match.groups()
        if SIGNS.index(sign) != builder.side:
            raise RecordError(f"{text!r}, but {SIGNS[builder.side]} is to move", number)
        builder.play(_usi(origin, target, name, text, number, builder), number, text)

    def _read_time(self, text: str, number: int, builder: Builder) -> None:
        match = _TIME.fullmatch(text)
        if match is None or builder.node is builder.game.root:
            raise RecordError(f"{'a time before the first move' if match else 'not a time'}: {text[:40]!r}", number)
        builder.node.seconds = float(match[1])

    def finish(self, number: int | None) -> Game:
        """The game. Raises RecordError if there is none."""
        if self.builder is None:
            if not (self.headers or self.setup.line):
                raise RecordError("there is no game of CSA", number)
            self.builder = self._begin(number)
        return self.builder.finish()


def _usi(origin: str, target: str, name: str, text: str, number: int, builder: Builder) -> str:
    """USI text of a move; CSA names the piece as it is after the move. Raises RecordError if it is another piece."""
    if name not in NAMES:
        raise RecordError(f"unknown piece {name!r} in {text!r}", number)
    kind = NAMES.index(name)
    square = target[0] + RANK_LETTERS[int(target[1]) - 1]
    if origin == "00":
        if kind >= KING:
            raise RecordError(f"{text!r} drops a piece that is never in hand", number)
        return f"{PIECE_LETTERS[kind]}*{square}"
    start = origin[0] + RANK_LETTERS[int(origin[1]) - 1]
    standing = builder.piece_at(start)
    if standing == piece_letter(piece_of(kind, builder.side)):
        return start + square
    if kind > KING and standing == piece_letter(piece_of(kind & ~PROMOTED, builder.side)):
        return f"{start}{square}+"
    raise RecordError(f"{text!r}: there is no such piece of the side to move on {start}", number)


class Setup:
    """The start position as the lines that begin with P give it."""

    def __init__(self) -> None:
        self.placement = Placement()
        self.side = BLACK
        self.line: int | None = None  # of the first of these lines

    def sfen(self) -> str | None:
        """SFEN of the position; None if the file has none, which means that of an even game."""
        if self.line is None and self.side == BLACK:
            return None
        if self.line is None:
            self.placement = parse_sfen(SHOGI.start_sfen, SHOGI)
        self.placement.side = self.side
        return format_sfen(self.placement, SHOGI)

    def read(self, text: str, number: int) -> None:
        """Take a line in. Raises RecordError."""
        self.line = self.line or number
        if text.startswith("PI"):
            self._read_start(text[2:], number)
        elif text[1:2] and text[1] in "123456789":
            self._read_rank(int(text[1]) - 1, text[2:], number)
        elif text[1:2] in ("+", "-"):
            self._read_pieces(SIGNS.index(text[1]), text[2:], number)
        else:
            raise RecordError(f"not a line of CSA here: {text[:40]!r}", number)

    def _read_start(self, removed: str, number: int) -> None:
        self.placement = parse_sfen(SHOGI.start_sfen, SHOGI)
        for square, name in _pieces(removed, number):
            index = _square(square, number)
            piece = self.placement.board[index]
            if not piece or NAMES[type_of(piece)] != name:
                raise RecordError(f"there is no {name} on {square} to take off", number)
            self.placement.board[index] = 0

    def _read_rank(self, rank: int, text: str, number: int) -> None:
        text = text.ljust(27)
        for column in range(9):
            cell = text[3 * column : 3 * column + 3]
            piece = 0
            if cell[0] in SIGNS and cell[1:] in NAMES[1:]:
                piece = piece_of(NAMES.index(cell[1:]), SIGNS.index(cell[0]))
            elif cell.strip() not in ("*", ""):
                raise RecordError(f"not a square of the board: {cell!r}", number)
            self.placement.board[square_of(8 - column, rank)] = piece
        if text[27:].strip():
            raise RecordError(f"more than nine squares: {text[27:].strip()!r}", number)

    def _read_pieces(self, colour: int, text: str, number: int) -> None:
        for square, name in _pieces(text, number):
            if square == "00" and name == "AL":
                self._give_the_rest(colour)
                continue
            if name not in NAMES[1:]:
                raise RecordError(f"unknown piece {name!r}", number)
            kind = NAMES.index(name)
            if square != "00":
                self.placement.board[_square(square, number)] = piece_of(kind, colour)
            elif kind < KING:
                self.placement.hands[colour][kind] += 1
            else:
                raise RecordError(f"{name!r} in hand", number)

    def _give_the_rest(self, colour: int) -> None:
        """All pieces that are nowhere yet come into a side's hand."""
        placement = self.placement
        for kind in HAND_TYPES:
            used = sum(1 for piece in placement.board if piece and base_type(piece) == kind)
            used += placement.hands[BLACK][kind] + placement.hands[WHITE][kind]
            placement.hands[colour][kind] += max(0, SHOGI.box[kind] - used)


def _pieces(text: str, number: int) -> Iterator[tuple[str, str]]:
    """Squares and names of a text such as "82HI22KA"."""
    if len(text) % 4:
        raise RecordError(f"not squares and pieces: {text[:40]!r}", number)
    for index in range(0, len(text), 4):
        yield text[index : index + 2], text[index + 2 : index + 4]


def _square(name: str, number: int) -> int:
    if len(name) != 2 or any(letter not in "123456789" for letter in name):
        raise RecordError(f"not a square: {name!r}", number)
    return square_of(int(name[0]) - 1, int(name[1]) - 1)


# writing


def write(games: list[Game], encoding: str = "utf-8") -> str:
    """The CSA text of games, one after the other. Raises RecordError for boards other than 9x9."""
    title = f"'CSA encoding={TITLES.get(encoding, encoding)}\n"
    return title + "/\n".join("".join(f"{line}\n" for line in _game_lines(game)) for game in games)


def _game_lines(game: Game) -> Iterator[str]:
    if game.variant != SHOGI.name:
        raise RecordError(f"CSA has no {game.variant}")
    yield "V2.2" if all((node.seconds or 0.0).is_integer() for _, node in game.walk()) else "V3.0"
    yield from _header_lines(game)
    yield from (f"'{remark}" for remark in game.remarks if not remark.startswith("*"))
    yield from _setup_lines(game.start)
    yield from (f"'*{line}" for line in _comments(game.root))
    board = make_board(game.variant, game.start)
    for node in [*game.main_line(), *([game.end_node] if game.end_node else [])]:
        sign = SIGNS[board.turn]
        usi = node.move or node.illegal
        if usi is not None:
            yield sign + _move_text(usi, board.placement())
        if node.move is not None:
            board.push_usi(node.move)
        if node.end is not None:
            yield f"%{node.end if node.end in ENDS else ends.INTERRUPTED}"
        if node.seconds is not None:
            yield f"T{_seconds(node.seconds)}"
        if node.end is not None and node.end not in ENDS:
            yield f"'*{node.end}"
        yield from (f"'*{line}" for line in _comments(node))


def _comments(node: Node) -> Iterator[str]:
    if node.bookmark is not None:
        yield f"&{node.bookmark}"
    for comment in node.comments:
        yield from comment.split("\n")


def _header_lines(game: Game) -> Iterator[str]:
    black, white = game.players()
    yield from (f"{key}{name}" for key, name in (("N+", black), ("N-", white)) if name)
    players = {key for keys in PLAYERS.values() for key in keys}
    for key, value in game.headers.items():
        value = " ".join(value.splitlines())
        if key in players:
            continue
        if key in KEYS or key.startswith("$"):
            yield f"${KEYS.get(key, key.removeprefix('$'))}:{value}"
        else:
            yield f"'{key}：{value}"


def _setup_lines(start: str) -> Iterator[str]:
    if start.rsplit(" ", 1)[0] == SHOGI.start_sfen.rsplit(" ", 1)[0]:
        yield "PI"
        yield "+"
        return
    placement = parse_sfen(start, SHOGI)
    for rank in range(9):
        cells = [placement.board[square_of(file, rank)] for file in range(8, -1, -1)]
        yield f"P{rank + 1}" + "".join(
            SIGNS[colour_of(cell)] + NAMES[type_of(cell)] if cell else " * " for cell in cells
        )
    for colour in (BLACK, WHITE):
        hand = placement.hands[colour]
        yield f"P{SIGNS[colour]}" + "".join(f"00{NAMES[kind]}" * hand[kind] for kind in HAND_TYPES)
    yield SIGNS[placement.side]


def _move_text(usi: str, placement: Placement) -> str:
    """A move without its sign, such as "7776FU"."""
    move = parse_usi(usi, SHOGI)
    target = move_to(move)
    square = f"{target // 9 + 1}{target % 9 + 1}"
    if is_drop(move):
        return f"00{square}{NAMES[move_from(move)]}"
    origin = move_from(move)
    kind = type_of(placement.board[origin]) | (PROMOTED if is_promotion(move) else 0)
    return f"{origin // 9 + 1}{origin % 9 + 1}{square}{NAMES[kind]}"


def _seconds(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
