"""Moves as people write them: Western (Hodges) and Japanese, both ways. Pure Python, no numba.

Every function takes the position before the move as its board (81 piece codes) and the list of all its legal moves,
non-promotions included: ambiguity and declined promotion are read off that list.

Japanese names follow the rules of the Japan Shogi Association: the motion (up, across, down) comes first; if other
pieces of the same kind share it, left or right or straight up; if that is not enough, both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from engine.rules.codes import (
    BISHOP,
    DRAGON,
    HORSE,
    NO_SQUARE,
    PROMOTE_BIT,
    ROOK,
    WHITE,
    colour_of,
    is_drop,
    is_promotion,
    move_from,
    move_to,
    piece_letter,
    square_name,
    square_of,
    type_of,
)
from engine.rules.moves import MoveError

Board = Sequence[int]

KANJI = ("", "歩", "香", "桂", "銀", "角", "飛", "金", "玉", "と", "成香", "成桂", "成銀", "馬", "竜")  # by type
KANJI_ALIASES = {"王": "玉", "龍": "竜", "杏": "成香", "圭": "成桂", "全": "成銀", "歩兵": "歩", "と金": "と"}
FILES = "１２３４５６７８９"
RANKS = "一二三四五六七八九"
SIDE_SIGNS = ("▲", "△")  # black, white
SAME, DROP, PROMOTES, STAYS = "同", "打", "成", "不成"
LEFT, RIGHT, STRAIGHT = "左", "右", "直"
UP, ACROSS, DOWN = "上", "寄", "引"
NEVER_STRAIGHT = (ROOK, BISHOP, HORSE, DRAGON)  # at most two of each: left and right are enough


def western(move: int, board: Board, legal: Iterable[int]) -> str:
    """Hodges notation: "P-7f", "Bx3c+", "N*5e", "G4i-5h" where two golds could go there, "=" for not promoting."""
    target = square_name(move_to(move))
    if is_drop(move):
        return f"{piece_letter(move_from(move))}*{target}"
    legal = list(legal)
    piece = board[move_from(move)]
    letter = piece_letter(piece).upper()
    origin = square_name(move_from(move)) if _rivals(move, board, legal) else ""
    sign = "x" if board[move_to(move)] else "-"
    return f"{letter}{origin}{sign}{target}{_promotion(move, legal, '+', '=')}"


def _promotion(move: int, legal: Sequence[int], taken: str, declined: str) -> str:
    if is_promotion(move):
        return taken
    return declined if not is_drop(move) and move | PROMOTE_BIT in legal else ""


def _rivals(move: int, board: Board, legal: Iterable[int]) -> set[int]:
    """Origins of the other pieces of the same kind that may go to the same square."""
    origin, target = move_from(move), move_to(move)
    return {
        move_from(other)
        for other in legal
        if not is_drop(other)
        and move_to(other) == target
        and move_from(other) != origin
        and board[move_from(other)] == board[origin]
    }


def japanese(
    move: int, board: Board, legal: Iterable[int], side: int, last_target: int = NO_SQUARE, sign: bool = True
) -> str:
    """Japanese notation such as "▲７六歩", "△同銀成" or "▲５八金右".

    `side` is the side to move and `last_target` the square of the move before, which is written 同;
    sign=False leaves the side's ▲ or △ out.
    """
    legal = list(legal)
    target = move_to(move)
    place = SAME if target == last_target else FILES[target // 9] + RANKS[target % 9]
    text = (SIDE_SIGNS[side] if sign else "") + place
    if is_drop(move):
        kind = move_from(move)
        piece = kind | side << 4
        contested = any(
            not is_drop(other) and move_to(other) == target and board[move_from(other)] == piece for other in legal
        )
        return text + KANJI[kind] + (DROP if contested else "")
    kind = type_of(board[move_from(move)])
    return text + KANJI[kind] + _manner(move, board, legal) + _promotion(move, legal, PROMOTES, STAYS)


def _manner(move: int, board: Board, legal: Iterable[int]) -> str:
    """What tells this piece from others of its kind: motion, side, or both."""
    rivals = _rivals(move, board, legal)
    if not rivals:
        return ""
    origin, target = move_from(move), move_to(move)
    white, kind = colour_of(board[origin]) == WHITE, type_of(board[origin])
    motion = _motion(origin, target, white)
    alike = [rival for rival in rivals if _motion(rival, target, white) == motion]
    if not alike:
        return motion
    if kind in NEVER_STRAIGHT:
        return RIGHT if all(_rightness(origin, white) > _rightness(rival, white) for rival in alike) else LEFT
    if _is_straight(origin, target, white):
        return STRAIGHT
    side = _side(origin, target, white)
    return side if all(_side(rival, target, white) != side for rival in rivals) else side + motion


def _motion(origin: int, target: int, white: bool) -> str:
    forwards = origin % 9 - target % 9
    if not forwards:
        return ACROSS
    return UP if (forwards > 0) != white else DOWN


def _rightness(square: int, white: bool) -> int:
    """Grows towards the mover's right hand."""
    return square // 9 if white else -(square // 9)


def _side(origin: int, target: int, white: bool) -> str:
    """On which side of the target the piece stands, as the mover sees it; empty on the same file."""
    difference = _rightness(origin, white) - _rightness(target, white)
    return "" if not difference else RIGHT if difference > 0 else LEFT


def _is_straight(origin: int, target: int, white: bool) -> bool:
    return origin - target == (-1 if white else 1)


# reading

_WESTERN = re.compile(r"(\+?[PLNSBRGK])([1-9][a-i])?([-x*]?)([1-9][a-i])([+=]?)")
_KANJI_NAMES = "|".join(sorted([*KANJI[1:], *KANJI_ALIASES], key=len, reverse=True))
_JAPANESE = re.compile(
    rf"[▲△▼▽☗☖]?(?:([1-9{FILES}])([1-9{RANKS}]){SAME}?|{SAME})\s*({_KANJI_NAMES})"
    rf"([{LEFT}{RIGHT}{STRAIGHT}]?)([{UP}{ACROSS}{DOWN}行入]?)({DROP}|{PROMOTES}|{STAYS}|生)?(?:\(([1-9])([1-9])\))?"
)


def parse_western(text: str, board: Board, legal: Iterable[int]) -> int:
    """The legal move that a Hodges text means. Raises MoveError if none or several fit."""
    match = _WESTERN.fullmatch(text.strip())
    if not match:
        raise MoveError(f"bad move {text!r}: it is written like 'P-7f', 'Bx3c+' or 'N*5e'")
    letter, origin, sign, target, promotion = match.groups()
    found = []
    for move in legal:
        piece = move_from(move) if is_drop(move) else board[move_from(move)]
        if (
            square_name(move_to(move)) == target
            and piece_letter(piece).upper() == letter
            and is_drop(move) == (sign == "*")
            and is_promotion(move) == (promotion == "+")
            and (not origin or (not is_drop(move) and square_name(move_from(move)) == origin))
            and (sign != "x" or board[move_to(move)])
        ):
            found.append(move)
    return _only(found, text)


def parse_japanese(text: str, board: Board, legal: Iterable[int], side: int, last_target: int = NO_SQUARE) -> int:
    """The legal move that a Japanese text means (also with more words than needed, or with an origin "(77)").

    Raises MoveError if none or several fit.
    """
    match = _JAPANESE.fullmatch(text.strip())
    if not match:
        raise MoveError(f"bad move {text!r}: it is written like '▲７六歩' or '△同銀成'")
    file, rank, name, hand_side, motion, end, origin_file, origin_rank = match.groups()
    target = square_of(_number(file, FILES), _number(rank, RANKS)) if file else last_target
    kind = KANJI.index(KANJI_ALIASES.get(name, name))
    fitting = [move for move in legal if move_to(move) == target and _kind_of(move, board) == kind]
    on_board = [move for move in fitting if not is_drop(move) and is_promotion(move) == (end == PROMOTES)]
    if origin_file:
        origin = square_of(int(origin_file) - 1, int(origin_rank) - 1)
        return _only([move for move in on_board if move_from(move) == origin], text)
    if end == DROP or not (on_board or end or hand_side or motion):
        return _only([move for move in fitting if is_drop(move)], text)
    return _only(_by_manner(on_board, kind, hand_side, motion, side == WHITE), text)


def _number(text: str, digits: str) -> int:
    """Index from 0 of a file or rank written in either script."""
    return digits.index(text) if text in digits else int(text) - 1


def _kind_of(move: int, board: Board) -> int:
    return move_from(move) if is_drop(move) else type_of(board[move_from(move)])


def _by_manner(moves: list[int], kind: int, side: str, motion: str, white: bool) -> list[int]:
    def keep(test: Callable[[int, int], bool]) -> list[int]:
        return [move for move in moves if test(move_from(move), move_to(move))]

    if motion:
        motion = UP if motion in "行入" else motion
        moves = keep(lambda origin, target: _motion(origin, target, white) == motion)
    if side == STRAIGHT:
        return keep(lambda origin, target: _is_straight(origin, target, white))
    if side and kind in NEVER_STRAIGHT and moves:
        best = (max if side == RIGHT else min)(_rightness(move_from(move), white) for move in moves)
        return keep(lambda origin, target: _rightness(origin, white) == best)
    if side:
        return keep(lambda origin, target: _side(origin, target, white) == side)
    return moves


def _only(moves: list[int], text: str) -> int:
    if len(moves) != 1:
        raise MoveError(f"{'no' if not moves else 'more than one'} legal move is {text!r}")
    return moves[0]
