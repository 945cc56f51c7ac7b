"""SFEN: what is read, what is written, what is refused and with which words."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from engine.rules.codes import BLACK, LANCE, PAWN, ROOK, WHITE
from engine.rules.sfen import SfenError, attackers, format_sfen, parse_sfen
from engine.rules.variants import JUDKINS, MINISHOGI, SHOGI, VARIANTS

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
ROOT = Path(__file__).resolve().parent.parent
SHARED = next((up / "shared" / "testdata" for up in ROOT.parents if (up / "shared" / "testdata").is_dir()), None)


def test_squares_count_files_from_the_right_and_ranks_from_the_top() -> None:
    placement = parse_sfen("8l/9/9/9/9/9/9/9/R8 b - 1", SHOGI)
    assert placement.board[0] == LANCE | WHITE << 4  # 1a
    assert placement.board[8 * 9 + 8] == ROOK  # 9i
    assert sum(1 for piece in placement.board if piece) == 2


@pytest.mark.parametrize(
    "sfen",
    [
        "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124",
        "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1",
        "4k4/9/9/9/9/9/9/9/4K4 w RB2G2S2N2L9Prb2g2s2n2l9p 300",
        "9/9/9/9/9/9/9/9/9 b - 1",
        "4k4/9/4P4/9/9/9/9/9/9 b G2r2b3g4s4n4l17p 1",
    ],
)
def test_written_as_read(sfen: str) -> None:
    assert format_sfen(parse_sfen(sfen, SHOGI), SHOGI) == sfen


def test_hands_in_any_order_repeated_and_with_two_digits() -> None:
    placement = parse_sfen("4k4/9/9/9/9/9/9/9/4K4 b pP10p2PPrR 5", SHOGI)
    assert placement.hands[BLACK][PAWN] == 4
    assert placement.hands[WHITE][PAWN] == 11
    assert format_sfen(placement, SHOGI).split()[2] == "R4Pr11p"


def test_missing_move_number_is_one() -> None:
    assert parse_sfen(f"{START} w -", SHOGI).ply == 1


def test_move_number_zero_is_taken_as_one() -> None:
    assert parse_sfen(f"{START} b - 0", SHOGI).ply == 1


def test_adjacent_digits_add_up() -> None:
    assert parse_sfen("4k4/9/9/9/9/9/9/9/1111K22 b - 1", SHOGI).king_square(BLACK) == 4 * 9 + 8


@pytest.mark.parametrize(
    ("sfen", "message"),
    [
        ("", "0 fields"),
        (f"{START} b", "2 fields"),
        (f"{START} b - 1 moves", "5 fields"),
        ("lnsgkgsnx/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", "'x' in rank a"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSN\u9999 b - 1", "'\u9999' in rank i"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/0/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", "'0' in rank f"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/91/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", "10 files in rank f '91'"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/8/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", "8 files in rank e '8'"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9//PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", "0 files in rank f ''"),
        (f"{START}/9 b - 1", "10 ranks"),
        ("9/9/9/9/9/9/9/9 b - 1", "8 ranks"),
        ("4k4/9/9/4+G4/9/9/9/9/4K4 b - 1", r"'\+G' in rank d.*gold does not promote"),
        ("4+k4/9/9/9/9/9/9/9/4K4 b - 1", r"'\+k' in rank a.*king does not promote"),
        ("4k4/9/9/8+/9/9/9/9/4K4 b - 1", r"'\+' without a piece in rank d"),
        ("4k4/9/9/+8/9/9/9/9/4K4 b - 1", r"'\+8' in rank d"),
        ("4k4/9/9/++P8/9/9/9/9/4K4 b - 1", r"'\+\+' in rank d"),
        ("4k4/9/9/9/9/9/9/9/3KK4 b - 1", "2 kings 'K' of black"),
        ("3kkk3/9/9/9/9/9/9/9/4K4 b - 1", "3 kings 'k' of white"),
        ("4k4/9/9/9/3RR4/9/9/9/4K4 b r 1", r"3 pieces 'R' \(rook\)"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 10P9p 1", r"19 pieces 'P' \(pawn\)"),
        ("4k4/9/9/4+L4/9/9/9/9/4K4 b 2L2l 1", r"5 pieces 'L' \(lance\)"),
        ("4k4/9/4P4/9/4P4/9/9/9/4K4 b - 1", r"two pawns 'P' on file 5 \(nifu\)"),
        ("4k4/9/9/8p/8p/9/9/9/4K4 b - 1", r"two pawns 'p' on file 1 \(nifu\)"),
        ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "'P' on 9a could never move"),
        ("4k4/9/9/9/9/9/9/9/4K3l b - 1", "'l' on 1i could never move"),
        ("4k4/N8/9/9/9/9/9/9/4K4 b - 1", "'N' on 9b could never move"),
        ("4k4/9/9/9/9/9/9/n8/4K4 b - 1", "'n' on 9h could never move"),
        (f"{START} x - 1", "side to move 'x'"),
        (f"{START} B - 1", "side to move 'B'"),
        ("4k4/9/9/9/9/9/9/9/4K4 b PK 1", "king 'K' in hands 'PK'"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P2 1", "count '2' without a piece in hands 'P2'"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 0P 1", "bad count '0' in hands '0P'"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 100P 1", "bad count '100'"),
        ("4k4/9/9/9/9/9/9/9/4K4 b +P 1", r"'\+' in hands"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P-p 1", "'-' in hands"),
        (f"{START} b - one", "move number 'one'"),
        (f"{START} b - -1", "move number '-1'"),
        (f"{START} b - 1.5", "move number '1.5'"),
        (f"{START} b - 12345678901234567890", "move number '12345678901234567890'"),
        ("4k4/9/9/9/4R4/9/9/9/4K4 b - 1", "king on 5a is in check from 'R' on 5e, but black is to move"),
        ("4k4/9/9/9/9/9/3n5/9/4K4 w - 1", "king on 5i is in check from 'n' on 6g, but white is to move"),
    ],
)
def test_each_fault_is_named(sfen: str, message: str) -> None:
    with pytest.raises(SfenError, match=message):
        parse_sfen(sfen, SHOGI)


@pytest.mark.parametrize(
    ("sfen", "variant", "message"),
    [
        ("rbnsgk/5p/6/6/P5/KGSNBL b - 1", JUDKINS, "unknown piece 'L' in rank f.*judkins has PNSBRGK"),
        ("rbsgk/4p/5/P4/KGSBR b N 1", MINISHOGI, "unknown piece 'N' in hands"),
        ("rbsgk/4p/5/P4/KGSBR b P 1", MINISHOGI, "3 pieces 'P'"),
        (f"{START} b - 1", MINISHOGI, "9 ranks"),
        ("k5/N5/6/6/6/5K b - 1", JUDKINS, "'N' on 6b could never move"),
        ("k5/6/6/6/6/p4K b - 1", JUDKINS, "'p' on 6f could never move"),
    ],
)
def test_small_boards_have_their_own_limits(sfen: str, variant: object, message: str) -> None:
    with pytest.raises(SfenError, match=message):
        parse_sfen(sfen, variant)  # type: ignore[arg-type]


def test_unchecked_reading_takes_positions_that_no_game_reaches() -> None:
    sfen = "9/9/2B3B2/9/4k4/9/2B3B2/9/8K b - 1"
    assert format_sfen(parse_sfen(sfen, SHOGI, strict=False), SHOGI) == sfen
    with pytest.raises(SfenError, match="unknown piece"):
        parse_sfen("x8/9/9/9/9/9/9/9/9 b - 1", SHOGI, strict=False)


@pytest.mark.parametrize(
    ("sfen", "target", "expected"),
    [
        ("9/9/9/9/4k4/3P5/9/9/9 b - 1", 4 * 9 + 4, []),
        ("9/9/9/9/4k4/4P4/9/9/9 w - 1", 4 * 9 + 4, [4 * 9 + 5]),
        ("9/9/9/9/4k4/9/3N1N3/9/9 w - 1", 4 * 9 + 4, [3 * 9 + 6, 5 * 9 + 6]),
        ("B7B/9/9/9/4k4/9/9/9/9 w - 1", 4 * 9 + 4, [0, 8 * 9]),
        ("B8/9/2p6/9/4k4/9/9/9/9 w - 1", 4 * 9 + 4, []),
        ("9/9/9/3+R5/4k4/5+B3/9/9/9 w - 1", 4 * 9 + 4, [3 * 9 + 5, 5 * 9 + 3]),
        ("9/9/9/4+B4/4k4/9/9/9/9 w - 1", 4 * 9 + 4, [4 * 9 + 3]),
        ("9/9/9/3S1S3/3SkS3/9/9/9/9 w - 1", 4 * 9 + 4, [3 * 9 + 3, 5 * 9 + 3]),
        ("9/9/9/3G1G3/3GkG3/9/9/9/9 w - 1", 4 * 9 + 4, [3 * 9 + 4, 5 * 9 + 4]),
        ("8k/9/9/9/9/9/9/9/8L w - 1", 0, [8]),
        ("8R/9/9/9/9/9/9/9/k8 w - 1", 8 * 9 + 8, []),
    ],
)
def test_attackers(sfen: str, target: int, expected: list[int]) -> None:
    placement = parse_sfen(sfen, SHOGI)
    assert attackers(placement, target, BLACK, SHOGI) == expected


def test_copy_shares_nothing() -> None:
    placement = parse_sfen(f"{START} b - 1", SHOGI)
    other = placement.copy()
    assert other == placement
    other.board[0] = 0
    other.hands[0][PAWN] = 3
    assert format_sfen(placement, SHOGI) == f"{START} b - 1"


@pytest.mark.peer
def test_every_perft_position_is_written_as_read() -> None:
    if SHARED is None:
        pytest.skip("shared test data are not here")
    by_height = {variant.height: variant for variant in VARIANTS.values()}
    read = 0
    for name in ("perft_standard.tsv", "perft_small.tsv", "mate.tsv"):
        with (SHARED / name).open(encoding="utf-8") as lines:
            rows = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t")
            for row in rows:
                for cell in row:
                    if cell.count("/") >= 4 and cell.split()[1:2] in (["b"], ["w"]):
                        variant = by_height[cell.split()[0].count("/") + 1]
                        text = format_sfen(parse_sfen(cell, variant), variant)
                        assert text.split()[:2] == cell.split()[:2]
                        read += 1
    assert read > 500
