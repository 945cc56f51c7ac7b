"""Networks: the scores that other programs compute, and the same score by every way that leads to a position."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import random_networks

from engine.rules.position import new_position, set_position
from engine.rules.sfen import parse_sfen
from engine.rules.variants import get_variant
from eval import Evaluation, load_evaluation

SCORES = Path(__file__).parent / "data" / "nnue_scores.tsv"


def golden(network: str) -> list[tuple[int, int, str]]:
    """Rows (FV_SCALE, score, sfen) of one network."""
    with open(SCORES, encoding="ascii", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [(int(row["fv_scale"]), int(row["score"]), row["sfen"]) for row in rows if row["network"] == network]


class Player:
    """A position with the accumulators of one evaluation."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.tables = evaluation.tables
        self.position: Any = new_position()
        self.memory = evaluation.new_thread(self.position)

    def set(self, sfen: str) -> None:
        set_position(self.position, self.tables, parse_sfen(sfen, get_variant(self.evaluation.variant)))

    def score(self) -> int:
        return self.evaluation.score(self.position)


@pytest.fixture(scope="session")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Paths of the random classic networks, written once."""
    folder = tmp_path_factory.mktemp("networks")

    def path_of(kind: str) -> Path:
        path = folder / f"{kind}.nnue"
        if not path.exists():
            random_networks.write_classic(path, kind)
        return path

    yield path_of
    for path in folder.glob("*.nnue"):
        path.unlink()


@pytest.mark.parametrize("kind", ["kp", "halfkp"])
def test_classic_scores_equal_yaneuraou(kind: str, classic: Callable[[str], Path]) -> None:
    rows = golden(kind)
    assert {scale for scale, _, _ in rows} == {16, 24, 36}
    for scale in (16, 24, 36):
        player = Player(load_evaluation(classic(kind), "shogi", scale))
        for row_scale, score, sfen in rows:
            if row_scale == scale:
                player.set(sfen)
                assert player.score() == score, sfen
