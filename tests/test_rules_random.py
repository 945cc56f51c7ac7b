"""The rules in random games: other libraries' move lists, and the kernels held against each other."""

from __future__ import annotations

import numpy as np
import pytest

from engine.rules.layout import PAWN, WHITE
from scripts import check_rules
from scripts.check_rules import check_self
from scripts.random_games import Walker

MISSING_KINGS = {
    "shogi": [
        "8k/9/9/9/9/9/9/9/9 b R2B4G4S4N4L18P 1",
        "9/9/9/4p4/4k4/9/3P5/9/9 w RBGSNLPrbgsnl 1",
        "4r4/9/4g4/9/9/4P4/4K4/9/9 b RB2G2SNL5Pb2SNL5P 1",
        "9/9/4b4/9/9/9/4R4/9/9 b GSNLPgsnlp 1",
    ],
    "judkins": ["5k/6/6/6/6/6 b RBGSNP 1", "6/2r3/6/6/3K2/6 w bgsnp 1"],
    "minishogi": ["4k/5/5/5/5 b RBGSP 1", "5/1r3/5/5/K4 w bgsp 1"],
}


def test_move_lists_equal_cshogis_in_20000_positions() -> None:
    pytest.importorskip("cshogi")
    check_rules.compare_with_cshogi(20_000, seed=20_261_130)


@pytest.mark.parametrize("variant", ["judkins", "minishogi"])
def test_move_lists_equal_pyffishs_in_2000_positions(variant: str) -> None:
    pytest.importorskip("pyffish")
    check_rules.compare_with_pyffish(variant, 2000, seed=20_261_130)


@pytest.mark.parametrize("variant", list(MISSING_KINGS))
def test_positions_without_a_king_are_consistent(variant: str) -> None:
    check_rules.check_one_king_positions(variant, MISSING_KINGS[variant], 1000)


@pytest.fixture
def walker() -> Walker:
    walker = Walker("shogi")
    walker.set("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")
    return walker


def test_the_checks_pass_on_a_right_position(walker: Walker) -> None:
    check_self(walker)


@pytest.mark.parametrize(
    ("field", "value", "seen_as"),
    [
        ("key_board", 12345, "from scratch"),
        ("key_hand", 12345, "from scratch"),
        ("score", 12345, "from scratch"),
        ("discoverers", 2**64 - 1, "gives_check"),
        ("hand", 0, "unmake_move"),
    ],
)
def test_the_checks_themselves_see_a_wrong_record(walker: Walker, field: str, value: int, seen_as: str) -> None:
    walker.position["undo"][0][field] = value
    with pytest.raises(AssertionError, match=seen_as):
        check_self(walker)


def test_the_checks_themselves_see_a_wrong_board(walker: Walker) -> None:
    empty = int(np.flatnonzero(walker.position["board"][:81] == 0)[0])
    walker.position["board"][empty] = PAWN | WHITE << 4
    with pytest.raises(AssertionError):
        check_self(walker)
