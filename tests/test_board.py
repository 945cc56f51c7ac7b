"""`engine.Board`: the habits of python-chess on a shogi board."""

from __future__ import annotations

import copy
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import engine
from engine.rules.board import Board, Move, MoveError, Outcome, SfenError, Termination
from engine.rules.codes import BLACK, NULL_MOVE, WHITE
from engine.rules.layout import MAX_PLIES
from engine.rules.variants import VARIANTS

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
MAX_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
SHUFFLE = ("5i4h", "5a4b", "4h5i", "4b5a")


def played(*moves: str, **options: str) -> Board:
    board = Board(**options)  # type: ignore[arg-type]
    for move in moves:
        board.push_usi(move)
    return board


def random_game(rng: random.Random, variant: str, plies: int) -> Board:
    board = Board(variant=variant)
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(rng.choice(moves))
    return board


def test_board_is_reached_from_the_package_and_loads_numba_only_then() -> None:
    assert engine.Board is Board
    code = "import sys, engine; assert 'numba' not in sys.modules; engine.Board; assert 'numba' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="Bored"):
        engine.Bored  # noqa: B018


def test_start_position() -> None:
    board = Board()
    assert board.sfen() == START
    assert (board.turn, board.move_number, board.move_stack) == (BLACK, 1, [])
    assert len(board.legal_moves) == board.legal_moves.count() == 30
    assert not board.is_check()
    assert board.outcome() is None
    assert board.piece_at("8h") == "B"
    assert board.piece_at("2b") == "b"
    assert board.piece_at("5e") is None
    assert (board.king(BLACK), board.king(WHITE)) == (4 * 9 + 8, 4 * 9)
    assert board.hand(BLACK) == {}


@pytest.mark.parametrize(
    ("options", "sfen"),
    [
        ({"variant": "judkins"}, "rbnsgk/5p/6/6/P5/KGSNBR b - 1"),
        ({"variant": "minishogi", "handicap": "rook"}, "1bsgk/4p/5/P4/KGSBR w - 1"),
        ({"handicap": "2"}, "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ({"sfen": "4k4/9/9/9/9/9/9/9/9 w Pp"}, "4k4/9/9/9/9/9/9/9/9 w Pp 1"),
        ({"sfen": "9/9/9/9/9/9/9/9/9 b 18P 7"}, "9/9/9/9/9/9/9/9/9 b 18P 7"),
    ],
)
def test_other_starts(options: dict[str, str], sfen: str) -> None:
    assert Board(**options).sfen() == sfen  # type: ignore[arg-type]


def test_what_cannot_be_set_up_is_refused() -> None:
    with pytest.raises(SfenError, match="10 files"):
        Board("lnsgkgsnl1/9/9/9/9/9/9/9/9 b - 1")
    with pytest.raises(ValueError, match="unknown variant 'chu'"):
        Board(variant="chu")
    with pytest.raises(ValueError, match="unknown handicap '5'"):
        Board(handicap="5")
    with pytest.raises(ValueError, match="both"):
        Board(START, handicap="2")


def test_moves_are_ints_that_print_as_usi() -> None:
    board = played("7g7f", "3c3d")
    move = board.push_usi("8h2b+")
    assert isinstance(move, Move)
    assert (str(move), move.usi(), repr(move), f"{move}") == ("8h2b+", "8h2b+", "Move('8h2b+')", "8h2b+")
    assert (move.from_square, move.to_square, move.promotes, move.dropped) == (7 * 9 + 7, 9 + 1, True, None)
    board.push_usi("3a2b")
    drop = board.parse_usi("B*5e")
    assert (drop.from_square, drop.dropped, drop.promotes) == (None, "B", False)
    assert drop in board.legal_moves
    with pytest.raises(TypeError, match="parse_usi"):
        assert "B*5e" in board.legal_moves
    assert "B*5e" in repr(board.legal_moves)


def test_push_and_pop() -> None:
    board = played("7g7f", "3c3d", "8h2b+", "3a2b", "B*5e")
    assert board.sfen() == "lnsgkg1nl/1r5s1/pppppp1pp/6p2/4B4/2P6/PP1PPPPPP/7R1/LNSGKGSNL w b 6"
    assert [str(move) for move in board.move_stack] == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]
    assert str(board.peek()) == "B*5e"
    assert board.hand(WHITE) == {"B": 1}
    for expected in ("B*5e", "3a2b", "8h2b+", "3c3d", "7g7f"):
        assert str(board.pop()) == expected
    assert board.sfen() == START
    with pytest.raises(IndexError):
        board.pop()
    with pytest.raises(IndexError):
        board.peek()
    assert board.sfen() == START


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ("7g7e", "illegal move '7g7e' in 'lnsgkgsnl"),
        ("P*5e", r"illegal move 'P\*5e'"),
        ("7c7d", "illegal move '7c7d'"),
        ("5e5d", "illegal move '5e5d'"),
        ("7g7f+", r"illegal move '7g7f\+'"),
        ("hello", "bad move 'hello'"),
    ],
)
def test_illegal_moves_are_refused_and_change_nothing(move: str, message: str) -> None:
    board = Board()
    with pytest.raises(MoveError, match=message):
        board.push_usi(move)
    assert board.sfen() == START
    assert board.move_stack == []


@pytest.mark.parametrize("move", [0, -1, 2**31 - 1, 2**70, 1 << 16, 99 << 7 | 5, 127])
def test_no_number_can_harm_the_board(move: int) -> None:
    board = Board()
    assert not board.is_legal(move)
    assert move not in board.legal_moves
    with pytest.raises(MoveError):
        board.push(move)
    assert board.sfen() == START


def test_check_and_mate() -> None:
    board = Board("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    move = board.parse_usi("G*5b")
    assert board.gives_check(move)
    assert not board.gives_check(board.parse_usi("G*1b"))
    with pytest.raises(MoveError):
        board.gives_check(board.parse_usi("5i5h") ^ 3)
    board.push(move)
    assert board.is_check()
    assert board.is_checkmate()
    assert board.is_game_over()
    assert board.outcome() == Outcome(Termination.CHECKMATE, BLACK)
    assert not board.legal_moves
    board.pop()
    assert not board.is_checkmate()


def test_most_moves_that_a_position_can_have() -> None:
    assert len(Board(MAX_MOVES).legal_moves) == 593


def test_passing() -> None:
    board = Board()
    board.push(NULL_MOVE)
    assert board.turn == WHITE
    assert str(board.peek()) == "0000"
    assert board.sfen().endswith(" w - 2")
    board.push_usi("3c3d")
    board.pop()
    assert board.pop() == NULL_MOVE
    assert board.sfen() == START
    checked = Board("4k4/9/9/9/4R4/9/9/9/4K4 w - 1")
    with pytest.raises(MoveError, match="pass in check"):
        checked.push_null()


def test_equality_is_that_of_positions() -> None:
    one = played("7g7f", "3c3d", "2g2f")
    other = played("2g2f", "3c3d", "7g7f")
    assert one == other
    assert hash(one) == hash(other)
    assert one != played("7g7f", "3c3d")
    assert one != Board(variant="minishogi")
    assert Board("9/9/9/9/9/9/9/9/9 b P 1") != Board("9/9/9/9/9/9/9/9/9 b p 1")
    assert one != one.sfen()
    assert len({one, other, Board()}) == 2


@pytest.mark.parametrize("make", [Board.copy, copy.copy, copy.deepcopy])
def test_copies_share_nothing(make: object) -> None:
    board = played("7g7f", "3c3d")
    other = make(board)  # type: ignore[operator]
    assert other == board
    assert other.move_stack == board.move_stack
    other.push_usi("8h2b+")
    assert board.sfen().endswith("b - 3")
    board.pop()
    assert str(other.pop()) == "8h2b+"
    other.pop()
    other.pop()
    assert other.sfen() == START


def test_a_copy_without_its_stack_forgets_the_game() -> None:
    board = played(*SHUFFLE)
    other = board.copy(stack=False)
    assert other == board
    assert other.move_stack == []
    assert board.is_repetition(2)
    assert not other.is_repetition(2)


def test_fourfold_repetition_ends_the_game() -> None:
    board = played(*SHUFFLE * 2)
    assert board.is_repetition(3)
    assert board.outcome() is None
    for move in SHUFFLE:
        board.push_usi(move)
    assert board.is_repetition()
    outcome = board.outcome()
    assert outcome == Outcome(Termination.REPETITION, None)
    assert outcome.result() == "1/2-1/2"


def test_judkins_repetition_is_a_draw_and_perpetual_check_loses() -> None:
    board = played(*("6f5e", "1a2b", "5e6f", "2b1a") * 3, variant="judkins")
    assert board.outcome() == Outcome(Termination.REPETITION, None)
    checked = Board("3k2/6/6/6/3R2/K5 w - 1", "judkins")
    for move in ("3a2a", "3e2e", "2a3a", "2e3e") * 3:
        checked.push_usi(move)
    assert checked.outcome() == Outcome(Termination.PERPETUAL_CHECK, WHITE)


def test_games_longer_than_the_undo_stack() -> None:
    board = Board()
    plies = MAX_PLIES * 2 + 37
    for ply in range(plies):
        board.push_usi(SHUFFLE[ply % 4])
    assert board.move_number == plies + 1
    assert board.is_repetition(4)
    assert board.outcome() == Outcome(Termination.REPETITION, None)
    other = board.copy()
    for popped in range(plies):
        assert board.pop().usi() == SHUFFLE[(plies - 1 - popped) % 4]
    assert board == Board()
    assert board.sfen() == START
    assert other.move_number == plies + 1
    other.pop()
    other.push_usi(SHUFFLE[(plies - 1) % 4])
    assert other.is_repetition(4)


def test_new_moves_after_going_back_in_a_long_game() -> None:
    board = Board()
    for ply in range(MAX_PLIES + 4):
        board.push_usi(SHUFFLE[ply % 4])
    for _ in range(MAX_PLIES):
        board.pop()
    board.push_usi("7g7f")
    assert board.move_number == 6
    assert not board.is_repetition(2)
    for _ in range(5):
        board.pop()
    assert board.sfen() == START


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_every_notation_names_every_move_of_random_games(variant: str) -> None:
    rng = random.Random(11)
    for _ in range(6):
        board = Board(variant=variant)
        for _ in range(40):
            moves = list(board.legal_moves)
            if not moves:
                break
            for move in rng.sample(moves, min(len(moves), 4)):
                assert board.parse_western(board.western(move)) == move
                assert board.parse_japanese(board.japanese(move)) == move
                assert board.parse_usi(board.usi(move)) == move
            board.push(rng.choice(moves))


def test_names_of_a_capture_on_the_last_moves_square() -> None:
    board = played("7g7f", "3c3d", "8h2b+")
    move = board.parse_usi("3a2b")
    assert (board.western(move), board.japanese(move)) == ("Sx2b", "△同銀")
    assert board.japanese(move, sign=False) == "同銀"
    fresh = board.copy(stack=False)
    assert fresh.japanese(move) == "△２二銀"
    with pytest.raises(MoveError):
        board.japanese(board.parse_usi("9c9d") ^ 1)


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_sfen_of_random_positions_sets_up_the_same_board(variant: str) -> None:
    rng = random.Random(5)
    for _ in range(8):
        board = random_game(rng, variant, 60)
        again = Board(board.sfen(), variant)
        assert again == board
        assert sorted(again.legal_moves) == sorted(board.legal_moves)
        assert again.is_check() == board.is_check()


def test_impasse_is_a_query_of_both_sides() -> None:
    board = Board("G8/4K4/PPPPPPPPP/9/9/7ss/7sk/9/9 b 2R2B 1")
    count = board.impasse()
    assert (count.black.points, count.black.pieces_in_zone, count.black.king_in_zone) == (30, 10, True)
    assert (count.white.points, count.white.pieces_in_zone, count.white.king_in_zone) == (1, 1, True)
    assert (count.verdict27, count.verdict24, count.agreed24) == ("win", "draw", "black")
    assert board.may_declare("CSARule27")
    assert not board.may_declare("CSARule24")
    assert not board.may_declare("NoEnteringKing")
    assert board.outcome() is None
    assert board.outcome(declare=True) == Outcome(Termination.DECLARATION, BLACK)
    with pytest.raises(ValueError, match="'Rule'"):
        board.outcome("Rule")


def test_handicap_counts_from_the_start_of_the_game() -> None:
    board = Board(handicap="4")
    assert board.impasse(handicap=True).needed27 == (28, 15)
    assert board.impasse().needed27 == (28, 27)


def test_text_and_picture() -> None:
    board = played("7g7f")
    assert "  .  B  .  .  .  .  .  R  .  h" in str(board).splitlines()
    assert "| ・ 角 ・ ・ ・ ・ ・ 飛 ・|八" in board.kanji().splitlines()
    assert board.unicode() == board.kanji()
    assert repr(board) == f"Board({board.sfen()!r})"
    assert repr(Board(variant="minishogi")) == "Board('rbsgk/4p/5/P4/KGSBR b - 1', variant='minishogi')"
    root = ElementTree.fromstring(board._repr_svg_())
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polygon"))) == 40
    assert sum(element.attrib.get("class") == "last-move" for element in root.iter()) == 2
    assert ElementTree.fromstring(board.svg(size=100)).attrib["width"] == "100"
