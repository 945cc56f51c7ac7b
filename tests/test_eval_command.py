"""`narikin eval`: the score and what each piece contributes, on a board."""

from __future__ import annotations

from pathlib import Path

import pytest
import random_networks

from engine.rules.codes import GOLD, PAWN
from engine.rules.sfen import parse_sfen
from engine.rules.variants import MINISHOGI, SHOGI
from eval import load_evaluation, network_evaluation
from eval.contributions import contributions
from eval.features import K_P
from eval.network_file import write_network
from usi.main import main

UNEQUAL = "4k4/9/9/9/9/9/9/4R4/4K4 w 2Pg 1"  # black: rook and two pawns, white: a gold


def test_lifting_a_piece_changes_the_score_by_its_contribution() -> None:
    network = random_networks.any_classic(K_P, 64, 8, 64)
    evaluation = network_evaluation(network, "shogi")
    found = contributions(evaluation, parse_sfen(UNEQUAL, SHOGI))
    assert set(found.board) == {4 * 9 + 7}  # the rook; kings have no number
    assert set(found.hands[0]) == {PAWN}
    assert set(found.hands[1]) == {GOLD}
    without_rook = contributions(evaluation, parse_sfen("4k4/9/9/9/9/9/9/9/4K4 w 2Pg 1", SHOGI)).score
    assert found.board[4 * 9 + 7] == without_rook - found.score  # white is to move, the rook is black's
    without_gold = contributions(evaluation, parse_sfen("4k4/9/9/9/9/9/9/4R4/4K4 w 2P 1", SHOGI)).score
    assert found.hands[1][GOLD] == found.score - without_gold
    without_pawn = contributions(evaluation, parse_sfen("4k4/9/9/9/9/9/9/4R4/4K4 w Pg 1", SHOGI)).score
    assert found.hands[0][PAWN] == without_pawn - found.score


def test_material_is_worth_something_to_its_owner() -> None:
    found = contributions(load_evaluation("handcrafted", "minishogi"), parse_sfen(MINISHOGI.start_sfen, MINISHOGI))
    assert len(found.board) == 10
    assert min(found.board.values()) > 0


def test_printed_as_a_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = random_networks.any_classic(K_P, 64, 8, 64)
    path = tmp_path / "random.nnue"
    write_network(path, network)
    assert main(["eval", "sfen", *UNEQUAL.split(), "--net", str(path), "--fv-scale", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = contributions(network_evaluation(network, "shogi", 20), parse_sfen(UNEQUAL, SHOGI))
    assert lines[0] == "Evaluation: K+P 64x2-8-64, FV_SCALE 20, random.nnue"
    assert f"In white's hand: G x1 ({found.hands[1][GOLD]:+d} each)" in lines
    assert f"In black's hand: P x2 ({found.hands[0][PAWN]:+d} each)" in lines
    rank = next(index for index, line in enumerate(lines) if line.endswith("| h"))
    assert lines[rank].split("|")[5].strip() == "R"
    assert lines[rank + 1].split("|")[5].strip() == f"{found.board[4 * 9 + 7]:+d}"
    assert any(line.startswith(f"Score: {found.score:+d} for white, who is to move") for line in lines)


def test_positions_by_moves_and_small_boards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "startpos", "moves", "7g7f", "3c3d", "--net", "handcrafted"]) == 0
    assert "for black, who is to move" in capsys.readouterr().out
    assert main(["eval", "startpos", "--variant", "minishogi", "--net", "handcrafted"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("+------") for line in lines) == 6
    assert max(map(len, lines[:20])) < 80


def test_a_bad_network_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nn.bin").write_bytes(b"not a network at all")
    assert main(["eval", "startpos", "--net", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "nn.bin: found version" in error
