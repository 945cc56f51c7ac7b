"""What KIF and KI2 files say before the first move: headers, the start by name or as a picture of the board."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from engine.rules.codes import BLACK, HAND_TYPES, KING, WHITE, colour_of, piece_of, square_of, type_of
from engine.rules.notation import FILES, KANJI, RANKS
from engine.rules.sfen import MAX_PLY, Placement, format_sfen, parse_sfen
from engine.rules.variants import VARIANTS, Variant, get_variant
from usi.records.builder import Builder
from usi.records.game import Game, RecordError
from usi.records.handicaps import SMALL, by_kif, is_handicap, kif_name

HANDICAP, OTHER = "手合割", "その他"
TITLE = re.compile(r"[#＃]\s*KI[F2]\s+version=.*encoding=")
_HEADER = re.compile(r"([^：:\s][^：:]*)[：:](.*)")
_HANDS = {"先手の持駒": BLACK, "下手の持駒": BLACK, "後手の持駒": WHITE, "上手の持駒": WHITE}
_SIDES = {"先手番": BLACK, "下手番": BLACK, "後手番": WHITE, "上手番": WHITE}
_FILES_LINE = re.compile(r"\s*[1-9１-９](\s+[1-9１-９])+\s*")
_FRAME = re.compile(r"\s*\+-+\+\s*")
_RANK = re.compile(r"\s*[|｜](.*)[|｜]\s*[一二三四五六七八九]?\s*")
_PLY = re.compile(r"手数\s*[=＝]\s*(\d+)")
_SINGLE = {"杏": "成香", "圭": "成桂", "全": "成銀", "王": "玉", "龍": "竜"}  # one letter a square
_ONE_LETTER = {kanji: letter for letter, kanji in _SINGLE.items() if letter != "王"}
_DIGITS = "〇一二三四五六七八九"
EMPTY = "・"


@dataclass
class Head:
    """What has been read of a file's head. `line` is where the board stands, for messages."""

    variant: str | None = None  # as the user says; None: told from the head
    headers: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    ranks: list[list[int]] = field(default_factory=list)  # piece codes, from the highest file
    hands: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # by colour: type and count
    side: int | None = None
    ply: int = 1
    line: int | None = None
    understood: bool = False  # something of a record's head has been seen

    def read(self, text: str, number: int) -> bool:
        """Take a line in; False if it is none of a head. Raises RecordError for a damaged board."""
        if text.startswith(("#", "＃")):
            if not TITLE.match(text):
                self.remarks.append(text[1:].strip())
            return True
        if self._read_board(text, number):
            self.understood = True
            return True
        header = _HEADER.fullmatch(text)
        if header:
            self._read_header(header[1].strip(), header[2].strip(), number)
            self.understood = True
        return header is not None

    def _read_board(self, text: str, number: int) -> bool:
        bare = text.strip()
        if bare in _SIDES:
            self.side = _SIDES[bare]
        elif rank := _RANK.fullmatch(text):
            self.line = self.line or number
            self.ranks.append(_parse_rank(rank[1], number))
        elif ply := _PLY.match(bare):
            self.ply = min(MAX_PLY, int(ply[1]) + 1)
        else:
            return bool(_FRAME.fullmatch(text) or _FILES_LINE.fullmatch(text))
        return True

    def _read_header(self, key: str, value: str, number: int) -> None:
        if key in _HANDS:
            self.hands[_HANDS[key]] = _parse_hand(value, number)
        else:
            self.headers[key] = value
            if key == HANDICAP and not self.ranks:
                self.line = number

    def begin(self) -> Builder:
        """A builder at the start position. Raises RecordError."""
        name = self.headers.get(HANDICAP, "")
        named = by_kif().get(name.replace("５", "5"))
        if self.ranks:
            builder = self._from_board(named is not None and is_handicap(named[1]))
        elif named is not None:
            builder = Builder(named[1], named[0], self.line)
            del self.headers[HANDICAP]
        elif name and name != OTHER:
            raise RecordError(f"unknown handicap {name!r} and no board", self.line)
        else:
            builder = Builder(None, self.variant or "shogi")
            self.headers.pop(HANDICAP, None)
        if self.variant not in (None, builder.game.variant):
            raise RecordError(f"the board is one of {builder.game.variant}, not of {self.variant}", self.line)
        if builder.game.start == (by_kif().get(self.headers.get(HANDICAP, "")) or ("", ""))[1]:
            del self.headers[HANDICAP]  # the start says the same
        builder.game.headers = self.headers
        builder.game.remarks = self.remarks
        return builder

    def _from_board(self, handicap: bool) -> Builder:
        variant = _variant_of(self.ranks, self.line)
        placement = Placement(side=WHITE if handicap else BLACK, ply=self.ply)
        if self.side is not None:
            placement.side = self.side
        for rank, pieces in enumerate(self.ranks):
            for column, piece in enumerate(pieces):
                placement.board[square_of(variant.width - 1 - column, rank)] = piece
        for colour, held in self.hands.items():
            for kind, count in held:
                placement.hands[colour][kind] += count
        return Builder(format_sfen(placement, variant), variant.name, self.line)


def _variant_of(ranks: list[list[int]], line: int | None) -> Variant:
    for variant in VARIANTS.values():
        if variant.height == len(ranks) and all(len(pieces) == variant.width for pieces in ranks):
            return variant
    widths = sorted({len(pieces) for pieces in ranks})
    raise RecordError(f"a board of {len(ranks)} ranks with {widths} squares: that is no game we know", line)


def _parse_rank(text: str, number: int) -> list[int]:
    """Piece codes of a rank such as "v香 ・ 歩"."""
    pieces = []
    white = False
    for letter in text:
        if letter in "vVｖ" and not white:
            white = True
        elif letter not in " 　^+":
            kind = 0 if letter in EMPTY + "．." else _kind(letter, number)
            pieces.append(piece_of(kind, WHITE if white else BLACK) if kind else 0)
            white = False
    return pieces


def _kind(letter: str, number: int) -> int:
    name = _SINGLE.get(letter, letter)
    if name not in KANJI[1:]:
        raise RecordError(f"unknown piece {letter!r}", number)
    return KANJI.index(name)


def _parse_hand(text: str, number: int) -> list[tuple[int, int]]:
    """Types and counts of a text such as "飛二　歩十四"."""
    held = []
    for word in "" if text.strip() in ("", "なし") else text.split():
        kind = _kind(word[0], number)
        count = _parse_count(word[1:])
        if kind >= KING or count is None:
            raise RecordError(f"bad piece in hand {word!r}", number)
        held.append((kind, count))
    return held


def _parse_count(text: str) -> int | None:
    """A number from 1 to 18 in kanji or digits, 1 if there is none; None if it is no number."""
    text = unicodedata.normalize("NFKC", text)
    if text.isdecimal():
        return int(text) if len(text) < 3 else None
    tens, ten, ones = text.rpartition("十")
    if any(letter not in _DIGITS for letter in tens + ones) or len(tens) > 1 or len(ones) > 1:
        return None
    if not ten:
        return _DIGITS.index(ones) if ones else 1
    return 10 * (_DIGITS.index(tens) if tens else 1) + (_DIGITS.index(ones) if ones else 0)


# writing


def side_names(game: Game) -> tuple[str, str]:
    """What black and white are called in this game."""
    return ("下手", "上手") if is_handicap(game.start) else ("先手", "後手")


def head_lines(game: Game, title: str) -> list[str]:
    """The head of a KIF or KI2 file; `title` is its first line."""
    lines = [title, *(f"#{remark}" if remark.startswith("-") else f"# {remark}" for remark in game.remarks)]
    name = kif_name(game.start)
    headers = {key: " ".join(value.splitlines()) for key, value in game.headers.items()}
    if name is not None:
        headers[HANDICAP] = name
    lines += [f"{' '.join(key.split())}：{value}" for key, value in headers.items()]
    return lines if name is not None and game.variant not in SMALL else lines + _picture(game)


def _picture(game: Game) -> list[str]:
    """The board, both hands, the side to move and the number of moves before."""
    variant = get_variant(game.variant)
    placement = parse_sfen(game.start, variant)
    black, white = side_names(game)
    frame = f"+{'-' * (3 * variant.width)}+"
    lines = [f"{white}の持駒：{_hand_text(placement.hands[WHITE])}"]
    lines += ["  " + " ".join(FILES[file] for file in range(variant.width - 1, -1, -1)), frame]
    for rank in range(variant.height):
        cells = [_cell(placement.board[square_of(file, rank)]) for file in range(variant.width - 1, -1, -1)]
        lines.append(f"|{''.join(cells)}|{RANKS[rank]}")
    lines += [frame, f"{black}の持駒：{_hand_text(placement.hands[BLACK])}"]
    if placement.ply > 1:
        lines.append(f"手数＝{placement.ply - 1}")
    return [*lines, f"{white if placement.side == WHITE else black}番"]


def _cell(piece: int) -> str:
    if not piece:
        return f" {EMPTY}"
    kanji = KANJI[type_of(piece)]
    return ("v" if colour_of(piece) == WHITE else " ") + _ONE_LETTER.get(kanji, kanji)


def _hand_text(held: list[int]) -> str:
    words = []
    for kind in HAND_TYPES:
        count = held[kind]
        if count:
            words.append(KANJI[kind] + (_count_text(count) if count > 1 else ""))
    return "　".join(words) or "なし"


def _count_text(count: int) -> str:
    tens, ones = divmod(count, 10)
    return ("" if not tens else "十" if tens == 1 else _DIGITS[tens] + "十") + (
        _DIGITS[ones] if ones or not tens else ""
    )
