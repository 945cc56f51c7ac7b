"""`Board`: positions and games for Python programs, with the habits of python-chess.

board = Board()
board.push_usi("7g7f")
print(board, board.sfen(), board.is_check(), [board.japanese(move) for move in board.legal_moves])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from engine.rules.codes import (
    BLACK,
    DROP_BIT,
    HAND_TYPES,
    KING,
    NO_MOVE,
    NO_SQUARE,
    NULL_MOVE,
    PIECE_LETTERS,
    PROMOTE_BIT,
    WHITE,
    move_from,
    move_to,
    piece_letter,
)
from engine.rules.diagram import kanji, letters
from engine.rules.endings import DRAW, NONE, REPETITIONS, WIN, count_occurrences, game_repetition
from engine.rules.impasse import DEFAULT_RULE, IMPASSE_RULES, TRY_RULE, ImpasseCount, impasse_count, rule_index
from engine.rules.impasse import entering_points as points_needed
from engine.rules.layout import MAX_PLIES, POSITION
from engine.rules.movegen import generate_legal, gives_check, is_legal
from engine.rules.moves import MoveError, format_usi, parse_square, parse_usi
from engine.rules.notation import japanese, parse_japanese, parse_western, western
from engine.rules.position import (
    forget_history,
    hand_count,
    make_move,
    make_null,
    new_position,
    recall_history,
    set_position,
    unmake_move,
    unmake_null,
)
from engine.rules.sfen import Placement, SfenError, format_sfen, parse_sfen
from engine.rules.svg import board_svg
from engine.rules.tables import variant_tables
from engine.rules.variants import Variant, get_variant, handicap_sfen

MOVE_CODES = DROP_BIT << 1  # every move is below
CHUNK = MAX_PLIES // 4  # plies of history that move out of the way at a time in a very long game


def _name(move: int) -> str:
    """USI text of a move, or its number if it is none."""
    try:
        return format_usi(move)
    except IndexError:
        return str(int(move))


class Move(int):
    """A move: an int as the engine uses it, which prints as USI text."""

    __slots__ = ()

    @property
    def to_square(self) -> int:
        """Target square."""
        return move_to(self)

    @property
    def from_square(self) -> int | None:
        """Origin, None for a drop."""
        return None if self & DROP_BIT else move_from(self)

    @property
    def dropped(self) -> str | None:
        """Letter of the dropped piece, None for a move on the board."""
        return PIECE_LETTERS[move_from(self)] if self & DROP_BIT else None

    @property
    def promotes(self) -> bool:
        """True if the piece promotes."""
        return bool(self & PROMOTE_BIT)

    def usi(self) -> str:
        """USI text, such as "7g7f"."""
        return format_usi(self)

    def __str__(self) -> str:
        return format_usi(self)

    def __repr__(self) -> str:
        return f"Move({format_usi(self)!r})"


class Termination(Enum):
    """Why a game is over."""

    CHECKMATE = "checkmate"
    NO_MOVES = "no legal move"  # as good as mate: the side to move loses
    REPETITION = "fourfold repetition"
    PERPETUAL_CHECK = "perpetual check"
    TRY = "try rule"
    DECLARATION = "declaration"
    MOVE_LIMIT = "move limit"


@dataclass(frozen=True)
class Outcome:
    """How a game ended; `winner` is BLACK (0), WHITE (1) or None for a draw."""

    termination: Termination
    winner: int | None

    def result(self) -> str:
        """The score of the game: "1-0" if black won, "0-1" if white won, "1/2-1/2" for a draw."""
        return {BLACK: "1-0", WHITE: "0-1"}.get(self.winner if self.winner is not None else -1, "1/2-1/2")


class LegalMoves:
    """The legal moves of a board's position, every non-promotion among them."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __iter__(self) -> Iterator[Move]:
        return iter(self._board._generate())

    def __len__(self) -> int:
        return len(self._board._generate())

    def __bool__(self) -> bool:
        return len(self) > 0

    def __contains__(self, move: object) -> bool:
        if isinstance(move, str):
            raise TypeError(f"{move!r} is a text: parse_usi makes a move of it")
        return isinstance(move, int) and self._board.is_legal(move)

    def count(self) -> int:
        """Number of legal moves."""
        return len(self)

    def __repr__(self) -> str:
        return f"<LegalMoves ({' '.join(str(move) for move in self)})>"


class Board:
    """A position with the moves that led to it.

    Colours are 0 (black, sente) and 1 (white, gote); squares are ints (file * 9 + rank, both from 0) or names ("7f").
    Two boards are equal if variant, pieces, hands and side to move are; history and move number do not count.
    """

    def __init__(
        self,
        sfen: str | None = None,
        variant: str | Variant = "shogi",
        handicap: str | None = None,
        strict: bool = True,
    ) -> None:
        """The start position, a handicap's, or that of an SFEN.

        Raises SfenError (a ValueError) naming what is wrong; strict=False takes positions that no game reaches.
        """
        if sfen is not None and handicap is not None:
            raise ValueError(f"both an SFEN and the handicap {handicap!r} were given")
        self.variant = variant if isinstance(variant, Variant) else get_variant(variant)
        if sfen is None:
            sfen = handicap_sfen(self.variant, handicap) if handicap else self.variant.start_sfen
        self._tables = variant_tables(self.variant.name)
        self._position = new_position()
        self._start = parse_sfen(sfen, self.variant, strict)
        self._archive: list[np.ndarray] = []
        self.move_stack: list[Move] = []
        set_position(self._position, self._tables, self._start)

    # the position

    @property
    def turn(self) -> int:
        """Side to move."""
        return int(self._position["side"])

    @property
    def move_number(self) -> int:
        """Number of the next move, as in an SFEN."""
        return int(self._position["game_ply"]) + int(self._position["ply"])

    def placement(self) -> Placement:
        """The position as plain Python numbers."""
        position = self._position
        packed = position["hand"].tolist()
        hands = [[0, *(int(hand_count.py_func(hand, kind)) for kind in range(1, KING))] for hand in packed]
        return Placement(position["board"][:NO_SQUARE].tolist(), (hands[0], hands[1]), self.turn, self.move_number)

    def root(self) -> Placement:
        """The position before the first move."""
        return self._start.copy()

    def sfen(self) -> str:
        """SFEN with all four fields."""
        return format_sfen(self.placement(), self.variant)

    def piece_at(self, square: int | str) -> str | None:
        """Letters of the piece on a square ("P", "+r"), None if it is empty."""
        piece = int(self._position["board"][self._square(square)])
        return piece_letter(piece) if piece else None

    def hand(self, colour: int) -> dict[str, int]:
        """Pieces in hand of a side, such as {"B": 1, "P": 3}."""
        held = self.placement().hands[colour]
        return {PIECE_LETTERS[kind]: held[kind] for kind in HAND_TYPES if held[kind]}

    def king(self, colour: int) -> int | None:
        """Square of a king, None if there is none."""
        square = int(self._position["king"][colour])
        return None if square == NO_SQUARE else square

    def is_check(self) -> bool:
        """True if the side to move is in check."""
        return bool(self._now()["checkers"].any())

    def impasse(self, handicap: bool = False) -> ImpasseCount:
        """Both sides' impasse points and what the counting rules give; see impasse.impasse_count."""
        return impasse_count(self.placement(), self.variant, handicap)

    def _now(self) -> np.void:
        entry: np.void = self._position["undo"][int(self._position["ply"])]
        return entry

    def _square(self, square: int | str) -> int:
        return parse_square(square, self.variant) if isinstance(square, str) else square

    # moves

    @property
    def legal_moves(self) -> LegalMoves:
        """All legal moves: iterate, count, test with `in`."""
        return LegalMoves(self)

    def _generate(self) -> list[Move]:
        count = int(generate_legal(self._position, self._tables, 0))
        return [Move(move) for move in self._position["moves"][:count].tolist()]

    def is_legal(self, move: int) -> bool:
        """True if a move is legal here."""
        return 0 < move < MOVE_CODES and bool(is_legal(self._position, self._tables, np.int32(move)))

    def gives_check(self, move: int) -> bool:
        """True if a legal move gives check. Raises MoveError if it is not legal."""
        self._require_legal(move)
        return bool(gives_check(self._position, self._tables, np.int32(move)))

    def parse_usi(self, text: str) -> Move:
        """The legal move of a USI text. Raises MoveError (a ValueError) naming it."""
        move = Move(parse_usi(text, self.variant))
        self._require_legal(move)
        return move

    def _require_legal(self, move: int) -> None:
        if not self.is_legal(move):
            raise MoveError(f"illegal move {_name(move)!r} in {self.sfen()!r}")

    def push(self, move: int) -> None:
        """Play a legal move. Raises MoveError for any other, and leaves the board as it was."""
        if move == NULL_MOVE:
            self.push_null()
            return
        self._require_legal(move)
        self._make_room()
        make_move(self._position, self._tables, np.int32(move))
        self.move_stack.append(Move(move))

    def push_usi(self, text: str) -> Move:
        """Play a move given as USI text and return it. Raises MoveError."""
        move = self.parse_usi(text)
        self.push(move)
        return move

    def push_null(self) -> None:
        """Pass. Raises MoveError in check."""
        if self.is_check():
            raise MoveError(f"no pass in check: {self.sfen()!r}")
        self._make_room()
        make_null(self._position, self._tables)
        self.move_stack.append(Move(NULL_MOVE))

    def pop(self) -> Move:
        """Take the last move back and return it. Raises IndexError if there is none."""
        move = self.move_stack.pop()
        if not self._position["ply"]:
            recall_history(self._position, self._archive.pop())
        if move == NULL_MOVE:
            unmake_null(self._position, self._tables)
        else:
            unmake_move(self._position, self._tables)
        return move

    def peek(self) -> Move:
        """The last move. Raises IndexError if there is none."""
        return self.move_stack[-1]

    def _make_room(self) -> None:
        """A game may be longer than a position's history: its oldest part then waits in the archive."""
        if int(self._position["ply"]) >= MAX_PLIES - 2:
            self._archive.append(forget_history(self._position, CHUNK))

    # moves as people write them

    def usi(self, move: int) -> str:
        """USI text of a move."""
        return format_usi(move)

    def western(self, move: int) -> str:
        """Hodges notation of a legal move, such as "Bx3c+". Raises MoveError if it is not legal."""
        self._require_legal(move)
        return western(move, self._pieces(), self._generate())

    def japanese(self, move: int, sign: bool = True) -> str:
        """Japanese notation of a legal move, such as "▲７六歩"; sign=False leaves the ▲ or △ out. Raises MoveError."""
        self._require_legal(move)
        return japanese(move, self._pieces(), self._generate(), self.turn, self._last_target(), sign)

    def parse_western(self, text: str) -> Move:
        """The legal move that a Hodges text means. Raises MoveError if none or several fit."""
        return Move(parse_western(text, self._pieces(), self._generate()))

    def parse_japanese(self, text: str) -> Move:
        """The legal move that a Japanese text means. Raises MoveError if none or several fit."""
        return Move(parse_japanese(text, self._pieces(), self._generate(), self.turn, self._last_target()))

    def _pieces(self) -> list[int]:
        pieces: list[int] = self._position["board"][:NO_SQUARE].tolist()
        return pieces

    def _last_target(self) -> int:
        last = self.move_stack[-1] if self.move_stack else NULL_MOVE
        return NO_SQUARE if last == NULL_MOVE else move_to(last)

    # endings

    def is_checkmate(self) -> bool:
        """True if the side to move is mated."""
        return self.is_check() and not self.legal_moves

    def is_repetition(self, count: int = REPETITIONS) -> bool:
        """True if the position stands on the board for the `count`-th time or more since the last pass."""
        return int(count_occurrences(self._position)) >= count

    def may_declare(self, impasse_rule: str = DEFAULT_RULE) -> bool:
        """True if the side to move may declare a win by counting. Raises ValueError for an unknown rule."""
        needed = points_needed(self.variant, self._start, impasse_rule)
        if not any(needed):
            return False
        count = self.impasse()
        mover = count.white if self.turn == WHITE else count.black
        return mover.may_declare and mover.points >= needed[self.turn]

    def outcome(self, impasse_rule: str = DEFAULT_RULE, max_moves: int = 0, declare: bool = False) -> Outcome | None:
        """How the game has ended, None if it goes on.

        max_moves: the game is a draw after that many moves (0: no limit). declare=True: count a win that the side to
        move may declare as declared. Under TryRule a king that has reached the other king's start square has won.
        """
        index, mover = rule_index(impasse_rule), self.turn
        waiting = 1 - mover
        if index == TRY_RULE and self.king(waiting) == int(self._tables["try_square"][waiting]):
            return Outcome(Termination.TRY, waiting)
        if not self.legal_moves:
            return Outcome(Termination.CHECKMATE if self.is_check() else Termination.NO_MOVES, waiting)
        verdict = int(game_repetition(self._position))
        if verdict == DRAW:
            return Outcome(Termination.REPETITION, None)
        if verdict != NONE:
            return Outcome(Termination.PERPETUAL_CHECK, mover if verdict == WIN else waiting)
        if declare and self.may_declare(IMPASSE_RULES[index]):
            return Outcome(Termination.DECLARATION, mover)
        if 0 < max_moves < self.move_number:
            return Outcome(Termination.MOVE_LIMIT, None)
        return None

    def is_game_over(self, impasse_rule: str = DEFAULT_RULE, max_moves: int = 0) -> bool:
        """True if the game has ended."""
        return self.outcome(impasse_rule, max_moves) is not None

    # the object

    def copy(self, stack: bool = True) -> Board:
        """A board that shares nothing with this one; stack=False leaves the moves behind."""
        if not stack:
            return Board(self.sfen(), self.variant, strict=False)
        other = Board(format_sfen(self._start, self.variant), self.variant, strict=False)
        for name in set(POSITION.names or ()) - {"undo", "moves"}:
            other._position[name] = self._position[name]
        used = int(self._position["ply"]) + 1
        other._position["undo"][:used] = self._position["undo"][:used]
        other._archive = self._archive[:]  # the chunks are never written to
        other.move_stack = self.move_stack[:]
        return other

    def __copy__(self) -> Board:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Board:
        return self.copy()

    def _identity(self) -> tuple[object, ...]:
        position = self._position
        return self.variant.name, position["board"].tobytes(), position["hand"].tobytes(), self.turn

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Board) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        variant = "" if self.variant.name == "shogi" else f", variant={self.variant.name!r}"
        return f"Board({self.sfen()!r}{variant})"

    def __str__(self) -> str:
        return letters(self.placement(), self.variant)

    def kanji(self) -> str:
        """The board in kanji, as game records show it."""
        return kanji(self.placement(), self.variant)

    unicode = kanji

    def svg(self, size: int = 480, flipped: bool = False) -> str:
        """A picture of the board, hands and last move."""
        last = self.move_stack[-1] if self.move_stack else NO_MOVE
        return board_svg(self.placement(), self.variant, last, size, flipped)

    def _repr_svg_(self) -> str:
        return self.svg()


__all__ = ["Board", "LegalMoves", "Move", "MoveError", "Outcome", "SfenError", "Termination"]
