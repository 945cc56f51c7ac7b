"""Moves as people write them, written and read back."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from engine.rules.codes import (
    BLACK,
    KING,
    PIECE_LETTERS,
    PROMOTABLE,
    PROMOTED,
    SLIDES,
    STEPS,
    WHITE,
    board_move,
    drop_move,
    piece_of,
    type_of,
)
from engine.rules.moves import MoveError, format_usi, parse_usi
from engine.rules.notation import japanese, parse_japanese, parse_western, western
from engine.rules.sfen import is_dead_end, parse_sfen
from engine.rules.variants import SHOGI

TABLE = Path(__file__).parent / "data" / "japanese_notation.tsv"


def rows() -> list[tuple[str, str, str]]:
    with TABLE.open(encoding="utf-8") as lines:
        reader = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t")
        return [tuple(row) for row in reader][1:]  # type: ignore[misc]


def square(name: str) -> int:
    return (int(name[0]) - 1) * 9 + "abcdefghi".index(name[1])


def turned(move: int) -> int:
    """The same move seen from the other side of the board."""
    text = format_usi(move)
    names = [f"{10 - int(name[0])}{'ihgfedcba'['abcdefghi'.index(name[1])]}" for name in (text[:2], text[2:4])]
    return parse_usi("".join(names) + text[4:], SHOGI)


def board_of(pieces: str, colour: int = BLACK) -> list[int]:
    """Board of pieces such as "G9c +R1e"; white's are turned round."""
    board = [0] * 81
    for item in pieces.split():
        kind = PIECE_LETTERS.index(item[-3]) | (PROMOTED if item[0] == "+" else 0)
        at = square(item[-2:])
        board[at if colour == BLACK else 80 - at] = piece_of(kind, colour)
    return board


def moves_without_kings(board: list[int], side: int, hand: tuple[int, ...] = ()) -> list[int]:
    """All moves on a board on which nobody can be in check."""
    sign = 1 if side == BLACK else -1
    found = []
    for origin, piece in enumerate(board):
        if not piece or piece >> 4 != side:
            continue
        for steps, far in ((STEPS[type_of(piece)], False), (SLIDES.get(type_of(piece), ()), True)):
            for file_step, rank_step in steps:
                file, rank = origin // 9 + sign * file_step, origin % 9 + sign * rank_step
                while (
                    0 <= file < 9
                    and 0 <= rank < 9
                    and not (board[file * 9 + rank] and board[file * 9 + rank] >> 4 == side)
                ):
                    found += both_ways(type_of(piece), side, origin, file * 9 + rank)
                    if not far or board[file * 9 + rank]:
                        break
                    file, rank = file + sign * file_step, rank + sign * rank_step
    for kind in hand:
        found += [drop_move(kind, at) for at in range(81) if not board[at] and not is_dead_end(kind, side, at, SHOGI)]
    return found


def both_ways(kind: int, side: int, origin: int, target: int) -> list[int]:
    ranks = [at % 9 if side == BLACK else 8 - at % 9 for at in (origin, target)]
    promoting = [board_move(origin, target, True)] if kind in PROMOTABLE and min(ranks) < 3 else []
    return promoting if is_dead_end(kind, side, target, SHOGI) else [board_move(origin, target), *promoting]


@pytest.mark.parametrize(("pieces", "usi", "name"), rows(), ids=lambda text: text)
def test_japanese_names_of_black(pieces: str, usi: str, name: str) -> None:
    board = board_of(pieces)
    legal = moves_without_kings(board, BLACK)
    move = parse_usi(usi, SHOGI)
    assert japanese(move, board, legal, BLACK, sign=False) == name
    assert parse_japanese("▲" + name, board, legal, BLACK) == move


@pytest.mark.parametrize(("pieces", "usi", "name"), rows(), ids=lambda text: text)
def test_white_says_the_same_from_its_own_side(pieces: str, usi: str, name: str) -> None:
    board = board_of(pieces, WHITE)
    legal = moves_without_kings(board, WHITE)
    move = turned(parse_usi(usi, SHOGI))
    text = japanese(move, board, legal, WHITE)
    assert text[0] == "△"
    assert text[3:] == name[2:]
    assert parse_japanese(text, board, legal, WHITE) == move


@pytest.mark.parametrize("side", [BLACK, WHITE])
@pytest.mark.parametrize("pieces", sorted({row[0] for row in rows()}))
def test_no_two_moves_share_a_name(pieces: str, side: int) -> None:
    board = board_of(pieces, side)
    legal = moves_without_kings(board, side, hand=(7,))
    for move in legal:
        assert parse_japanese(japanese(move, board, legal, side), board, legal, side) == move
        assert parse_western(western(move, board, legal), board, legal) == move


def test_a_drop_says_so_only_where_a_piece_on_the_board_could_go() -> None:
    board = board_of("G6i")
    legal = moves_without_kings(board, BLACK, hand=(7, 4))

    def name(usi: str) -> str:
        return japanese(parse_usi(usi, SHOGI), board, legal, BLACK)

    assert name("G*5h") == "▲５八金打"
    assert name("6i5h") == "▲５八金"
    assert name("G*5e") == "▲５五金"
    assert name("S*5h") == "▲５八銀"
    assert parse_japanese("５五金打", board, legal, BLACK) == parse_usi("G*5e", SHOGI)


def test_a_promoted_piece_does_not_contest_a_drop() -> None:
    board = board_of("+S6i")
    legal = moves_without_kings(board, BLACK, hand=(4,))
    assert japanese(parse_usi("S*5h", SHOGI), board, legal, BLACK) == "▲５八銀"
    assert japanese(parse_usi("6i5h", SHOGI), board, legal, BLACK) == "▲５八成銀"


def test_the_square_of_the_last_move_is_called_the_same() -> None:
    board = board_of("S5d S3d P4d")
    board[square("4c")] = piece_of(1, WHITE)
    legal = moves_without_kings(board, BLACK)
    assert japanese(parse_usi("5d4c+", SHOGI), board, legal, BLACK, square("4c")) == "▲同銀左成"
    assert japanese(parse_usi("4d4c+", SHOGI), board, legal, BLACK, square("4c")) == "▲同歩成"
    assert japanese(parse_usi("4d4c+", SHOGI), board, legal, BLACK, square("4b")) == "▲４三歩成"
    assert parse_japanese("▲同　銀左成", board, legal, BLACK, square("4c")) == parse_usi("5d4c+", SHOGI)


@pytest.mark.parametrize(
    ("pieces", "text", "usi"),
    [
        ("+R5b +R2c", "☗43龍寄", "2c4c"),
        ("+R9i +R8i", "▲８八龍直", "8i8h"),
        ("R5e R3b", "▲５二飛行成", "5e5b+"),
        ("G6c G5c G4c", "▲５二金左上", "6c5b"),
        ("P7g", "▲７六歩(77)", "7g7f"),
        ("P7g", "７六歩", "7g7f"),
        ("+N6c", "▲５二圭", "6c5b"),
        ("S5d", "▲４三銀生", "5d4c"),
        ("S5d", "▲４三同銀不成", "5d4c"),
    ],
)
def test_other_ways_of_writing_are_read(pieces: str, text: str, usi: str) -> None:
    board = board_of(pieces)
    assert parse_japanese(text, board, moves_without_kings(board, BLACK), BLACK) == parse_usi(usi, SHOGI)


@pytest.mark.parametrize(
    ("pieces", "text", "message"),
    [
        ("G6c G4c", "▲５二金", "more than one legal move"),
        ("G6c G4c", "▲５二金直", "no legal move"),
        ("G6c G4c", "▲５三銀", "no legal move"),
        ("G6c G4c", "▲同金", "no legal move"),
        ("G6c G4c", "▲５二金左打", "no legal move"),
        ("G6c G4c", "5c5b", "bad move"),
        ("P5d", "▲５三歩成成", "bad move"),
    ],
)
def test_unreadable_or_ambiguous_japanese_is_refused(pieces: str, text: str, message: str) -> None:
    board = board_of(pieces)
    with pytest.raises(MoveError, match=message):
        parse_japanese(text, board, moves_without_kings(board, BLACK), BLACK)


@pytest.mark.parametrize(
    ("pieces", "usi", "name"),
    [
        ("P7g", "7g7f", "P-7f"),
        ("B8h", "8h3c+", "Bx3c+"),
        ("B8h", "8h3c", "Bx3c="),
        ("P1a", "N*5e", "N*5e"),
        ("G6i G4i", "4i5h", "G4i-5h"),
        ("G6i G4i", "4i3h", "G-3h"),
        ("+R2b", "2b3c", "+Rx3c"),
        ("+R2b R3i", "3i3c+", "Rx3c+"),
        ("R2c R3i", "3i3c+", "R3ix3c+"),
        ("R2c R3i", "2c3c", "R2cx3c="),
        ("L3d", "3d3c", "Lx3c="),
        ("N4e", "4e3c+", "Nx3c+"),
        ("K5i", "5i5h", "K-5h"),
        ("+B5i", "5i5h", "+B-5h"),
        ("G3d", "3d3c", "Gx3c"),
    ],
)
def test_western_names(pieces: str, usi: str, name: str) -> None:
    board = board_of(pieces)
    board[square("3c")] = piece_of(1, WHITE)
    legal = moves_without_kings(board, BLACK, hand=(3,))
    move = parse_usi(usi, SHOGI)
    assert western(move, board, legal) == name
    assert parse_western(name, board, legal) == move


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("G-5h", "more than one"),
        ("G-5b", "no legal move"),
        ("G*5h", "no legal move"),
        ("Gx5h", "no legal move"),
        ("g-5h", "bad move"),
        ("P76", "bad move"),
    ],
)
def test_unreadable_or_ambiguous_western_is_refused(text: str, message: str) -> None:
    board = board_of("G6i G4i")
    with pytest.raises(MoveError, match=message):
        parse_western(text, board, moves_without_kings(board, BLACK))


def test_the_king_has_one_name() -> None:
    placement = parse_sfen("4k4/9/9/9/9/9/9/9/4K4 w - 1", SHOGI)
    legal = [parse_usi("5a5b", SHOGI)]
    assert placement.board[square("5a")] == piece_of(KING, WHITE)
    assert japanese(legal[0], placement.board, legal, WHITE) == "△５二玉"
    assert parse_japanese("△５二王", placement.board, legal, WHITE) == legal[0]
