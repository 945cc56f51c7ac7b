"""Positions as text: SFEN, every field checked. Pure Python, no numba.

One king or none is fine (tsume problems, edited boards): the side without a king simply cannot be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.rules.codes import (
    BLACK,
    COLOURS,
    HAND_TYPES,
    KING,
    KNIGHT,
    LANCE,
    NO_SQUARE,
    PAWN,
    PIECE_LETTERS,
    PROMOTABLE,
    PROMOTED,
    RANK_LETTERS,
    SLIDES,
    SQUARES,
    STEPS,
    WHITE,
    base_type,
    colour_of,
    piece_letter,
    piece_of,
    square_name,
    square_of,
    type_of,
)
from engine.rules.variants import Variant

TYPE_NAMES = ("", "pawn", "lance", "knight", "silver", "bishop", "rook", "gold", "king")
COLOUR_NAMES = ("black", "white")
MAX_PLY = 1_000_000  # highest move number taken from text


class SfenError(ValueError):
    """A position text that cannot be taken; the message names the bad part."""


@dataclass
class Placement:
    """A position without history, as plain Python numbers."""

    board: list[int] = field(default_factory=lambda: [0] * SQUARES)  # by square: piece code, 0 = empty
    hands: tuple[list[int], list[int]] = field(default_factory=lambda: ([0] * 8, [0] * 8))  # by colour and type 1..7
    side: int = BLACK  # side to move
    ply: int = 1  # number of the next move, 1 at the start of a game

    def copy(self) -> Placement:
        """A placement that shares nothing with this one."""
        return Placement(self.board[:], (self.hands[0][:], self.hands[1][:]), self.side, self.ply)

    def king_square(self, colour: int) -> int:
        """Square of a king, NO_SQUARE if there is none."""
        king = piece_of(KING, colour)
        return self.board.index(king) if king in self.board else NO_SQUARE


def parse_sfen(text: str, variant: Variant, strict: bool = True) -> Placement:
    """Read `board side hands [move number]`. Raises SfenError naming the bad part.

    With strict=False the text must still be well formed, but the position may be one that no game reaches.
    """
    fields = text.split()
    if len(fields) not in (3, 4):
        raise SfenError(f"{text!r} has {len(fields)} fields; an SFEN has board, side, hands and a move number")
    placement = Placement()
    _parse_board(fields[0], placement, variant)
    if fields[1] not in ("b", "w"):
        raise SfenError(f"bad side to move {fields[1]!r}: it is 'b' or 'w'")
    placement.side = WHITE if fields[1] == "w" else BLACK
    _parse_hands(fields[2], placement, variant)
    if len(fields) == 4:
        placement.ply = _parse_ply(fields[3])
    if strict:
        check_placement(placement, variant)
    return placement


def _parse_board(text: str, placement: Placement, variant: Variant) -> None:
    ranks = text.split("/")
    if len(ranks) != variant.height:
        raise SfenError(f"{len(ranks)} ranks in {text!r}: {variant.name} has {variant.height}")
    for rank, rank_text in enumerate(ranks):
        where = f"in rank {RANK_LETTERS[rank]} {rank_text!r}"
        pieces = _parse_rank(rank_text, where, variant)
        if len(pieces) != variant.width:
            raise SfenError(f"{len(pieces)} files {where}: {variant.name} has {variant.width}")
        for column, piece in enumerate(pieces):
            placement.board[square_of(variant.width - 1 - column, rank)] = piece


def _parse_rank(text: str, where: str, variant: Variant) -> list[int]:
    pieces: list[int] = []
    promoted = False
    for letter in text:
        if letter in "123456789" and not promoted:
            pieces += [0] * int(letter)
        elif letter == "+" and not promoted:
            promoted = True
        else:
            token = "+" + letter if promoted else letter
            pieces.append(_parse_piece(token, where, variant))
            promoted = False
    if promoted:
        raise SfenError(f"'+' without a piece {where}")
    return pieces


def _parse_piece(token: str, where: str, variant: Variant) -> int:
    """Piece code of letters such as "p" or "+R"."""
    letter = token[-1]
    kind = PIECE_LETTERS.find(letter.upper()) if letter.isascii() and letter.isalpha() else -1
    if kind < 1 or not variant.box[kind]:
        raise SfenError(f"unknown piece {token!r} {where}: {variant.name} has {variant.letters}")
    if len(token) > 1 and kind not in PROMOTABLE:
        raise SfenError(f"{token!r} {where}: a {TYPE_NAMES[kind]} does not promote")
    return piece_of(kind | (PROMOTED if len(token) > 1 else 0), WHITE if letter.islower() else BLACK)


def _parse_hands(text: str, placement: Placement, variant: Variant) -> None:
    if text == "-":
        return
    where = f"in hands {text!r}"
    count = ""
    for letter in text:
        if letter in "0123456789":
            count += letter
            continue
        if count.startswith("0") or len(count) > 2:
            raise SfenError(f"bad count {count!r} {where}")
        piece = _parse_piece(letter, where, variant)
        if type_of(piece) == KING:
            raise SfenError(f"king {letter!r} {where}")
        placement.hands[colour_of(piece)][type_of(piece)] += int(count or 1)
        count = ""
    if count:
        raise SfenError(f"count {count!r} without a piece {where}")


def _parse_ply(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 7 or int(text) > MAX_PLY:
        raise SfenError(f"bad move number {text!r}: it is a whole number from 1 to {MAX_PLY}")
    return max(int(text), 1)  # some programs write 0 for the start


def check_placement(placement: Placement, variant: Variant) -> None:
    """Raise SfenError if the position could not stand on a board: box, kings, nifu, dead-end pieces, check."""
    _check_box(placement, variant)
    for colour in COLOURS:
        _check_pieces(placement, colour, variant)
    waiting = 1 - placement.side
    king = placement.king_square(waiting)
    if king == NO_SQUARE:
        return
    checkers = attackers(placement, king, placement.side, variant)
    if checkers:
        piece = piece_letter(placement.board[checkers[0]])
        raise SfenError(
            f"the king on {square_name(king)} is in check from {piece!r} on {square_name(checkers[0])}, "
            f"but {COLOUR_NAMES[placement.side]} is to move"
        )


def _check_box(placement: Placement, variant: Variant) -> None:
    for colour in COLOURS:
        kings = placement.board.count(piece_of(KING, colour))
        if kings > 1:
            raise SfenError(f"{kings} kings {piece_letter(piece_of(KING, colour))!r} of {COLOUR_NAMES[colour]}")
    for kind in range(1, KING):
        count = sum(1 for piece in placement.board if piece and base_type(piece) == kind)
        count += placement.hands[BLACK][kind] + placement.hands[WHITE][kind]
        if count > variant.box[kind]:
            raise SfenError(
                f"{count} pieces {PIECE_LETTERS[kind]!r} ({TYPE_NAMES[kind]}): {variant.name} has {variant.box[kind]}"
            )


def _check_pieces(placement: Placement, colour: int, variant: Variant) -> None:
    """Nifu (two unpromoted pawns of one side on a file) and pieces that could never move again."""
    files: set[int] = set()
    for square, piece in enumerate(placement.board):
        if not piece or colour_of(piece) != colour:
            continue
        kind = type_of(piece)
        if kind == PAWN:
            if square // 9 in files:
                raise SfenError(f"two pawns {piece_letter(piece)!r} on file {square // 9 + 1} (nifu)")
            files.add(square // 9)
        if kind in (PAWN, LANCE, KNIGHT) and is_dead_end(kind, colour, square, variant):
            raise SfenError(f"{piece_letter(piece)!r} on {square_name(square)} could never move")


def is_dead_end(kind: int, colour: int, square: int, variant: Variant) -> bool:
    """True if an unpromoted pawn, lance or knight could never leave that square."""
    rank = square % 9 if colour == BLACK else variant.height - 1 - square % 9
    return rank < {PAWN: 1, LANCE: 1, KNIGHT: 2}.get(kind, 0)


def attackers(placement: Placement, target: int, colour: int, variant: Variant) -> list[int]:
    """Squares of one side's pieces that attack a square, lowest first."""
    return [
        square
        for square, piece in enumerate(placement.board)
        if piece and colour_of(piece) == colour and _attacks(placement.board, square, piece, target, variant)
    ]


def _attacks(board: list[int], square: int, piece: int, target: int, variant: Variant) -> bool:
    kind = type_of(piece)
    sign = -1 if colour_of(piece) == WHITE else 1
    file, rank = divmod(square, 9)
    for file_step, rank_step in STEPS[kind]:
        # the frame is 9 ranks high, so a step off the top or bottom must not wrap into the next file
        new_file, new_rank = file + sign * file_step, rank + sign * rank_step
        if 0 <= new_rank < variant.height and square_of(new_file, new_rank) == target:
            return True
    for file_step, rank_step in SLIDES.get(kind, ()):
        new_file, new_rank = file + sign * file_step, rank + sign * rank_step
        while 0 <= new_file < variant.width and 0 <= new_rank < variant.height:
            reached = square_of(new_file, new_rank)
            if reached == target:
                return True
            if board[reached]:
                break
            new_file, new_rank = new_file + sign * file_step, new_rank + sign * rank_step
    return False


def format_sfen(placement: Placement, variant: Variant) -> str:
    """SFEN with all four fields, hands in the order R B G S N L P, black first."""
    ranks = "/".join(_format_rank(placement.board, rank, variant.width) for rank in range(variant.height))
    side = "w" if placement.side == WHITE else "b"
    return f"{ranks} {side} {_format_hands(placement.hands)} {placement.ply}"


def _format_rank(board: list[int], rank: int, width: int) -> str:
    text, empty = "", 0
    for file in range(width - 1, -1, -1):
        piece = board[square_of(file, rank)]
        if not piece:
            empty += 1
            continue
        text += (str(empty) if empty else "") + piece_letter(piece)
        empty = 0
    return text + (str(empty) if empty else "")


def _format_hands(hands: tuple[list[int], list[int]]) -> str:
    text = ""
    for colour in COLOURS:
        for kind in HAND_TYPES:
            count = hands[colour][kind]
            if count:
                text += (str(count) if count > 1 else "") + piece_letter(piece_of(kind, colour))
    return text or "-"
