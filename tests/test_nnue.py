"""Networks: the scores that other programs compute, and the same score by every way that leads to a position."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import random_networks

from engine.rules.layout import DROP_BIT, HAND_MASK, HAND_SHIFT, KING, NO_SQUARE, PROMOTE_BIT
from engine.rules.movegen import generate_legal
from engine.rules.position import make_move, make_null, new_position, set_position, unmake_move, unmake_null
from engine.rules.sfen import parse_sfen
from engine.rules.variants import get_variant
from eval import Evaluation, load_evaluation, network_evaluation
from eval.features import HALF_KP, K_P, SHOGI_PIECES, FeatureSet, active_rows, variant_orientation
from eval.network_file import Network, parse_network

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
        set_position(self.position, self.tables, parse_sfen(sfen, get_variant(self.evaluation.variant), strict=False))

    def score(self) -> int:
        return self.evaluation.score(self.position)

    def moves(self) -> list[int]:
        return [int(move) for move in self.position["moves"][: generate_legal(self.position, self.tables, 0)]]


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


STACKED = {  # network of the table: arguments of random_networks.stacked_file
    "small": (
        73305,
        128,
        16,
        32,
        "Features=HalfKA_hm2(Friend)[73305->128x2],Network=SFNN_HALFKAHM2_128_15_32_K3K3{LayerStack=9}",
    ),
    "1536": (73305, 1536, 16, 32, "Features=HalfKA_hm2(Friend)[73305->1536x2],Network=SFNN-1536{LayerStack=9}"),
    "1024": (131949, 1024, 8, 64, "Features=HalfKA2(Friend)[131949->1024x2],Network=SFNN_HALFKA2_1024_7_64_K3K3"),
    "torture": (73305, 1536, 16, 32, "Features=HalfKA(Friend)[73305->1536x2],Network=whatever", 2, True),
}


def stacked(name: str) -> Network:
    return parse_network(np.frombuffer(random_networks.stacked_file(*STACKED[name]), np.uint8))


@pytest.mark.parametrize("name", STACKED)
def test_stacked_scores_equal_yaneuraou(name: str) -> None:
    rows = golden(name)
    player = Player(network_evaluation(stacked(name), "shogi", rows[0][0]))
    for _, score, sfen in rows:
        player.set(sfen)
        assert player.score() == score, sfen


def accumulator(network: Network, player: Player, perspective: int) -> np.ndarray:
    """Sum of the active rows and the bias of one player, straight from the definition (int64)."""
    position, oriented = player.position, variant_orientation(player.tables)
    hands = [
        [0] + [int(hand >> HAND_SHIFT[kind] & HAND_MASK[kind]) for kind in range(1, 8)] for hand in position["hand"]
    ]
    pieces = SHOGI_PIECES if player.evaluation.variant == "shogi" else 0
    board = [int(piece) for piece in position["board"][:81]]
    rows = active_rows(network.features, board, hands, perspective, oriented, pieces)
    return network.bias.astype(np.int64) + network.rows[rows].astype(np.int64).sum(axis=0)


def plain_score(network: Network, player: Player) -> int:
    """A network's score at FV_SCALE 16, straight from the definition."""
    side = int(player.position["side"])
    sums = [wrapped(accumulator(network, player, perspective)) for perspective in (side, 1 - side)]
    if network.stacked:
        return plain_stacked_score(network, player, sums)
    x = np.clip(np.concatenate(sums), 0, 127)
    dense = network.stacks[0]
    for bias, weights in ((dense.bias_1, dense.weights_1), (dense.bias_2, dense.weights_2)):
        x = np.clip(weights.astype(np.int64) @ x + bias >> 6, 0, 127)
    return int(int((dense.weights_3.astype(np.int64) @ x + dense.bias_3)[0]) / 16)


def wrapped(values: np.ndarray) -> np.ndarray:
    return (values + 2**15) % 2**16 - 2**15


def plain_stacked_score(network: Network, player: Player, sums: list[np.ndarray]) -> int:
    side, kings, half = int(player.position["side"]), player.position["king"], network.width // 2
    halves = [np.clip(wrapped(2 * values), 0, 254) for values in sums]
    x = np.concatenate([values[:half] * values[half:] >> 9 for values in halves])
    squares = [int(kings[0]), 80 - int(kings[1])]
    third = [(8 if king == NO_SQUARE else square % 9) // 3 for king, square in zip(kings, squares, strict=True)]
    dense = network.stacks[3 * third[side] + third[1 - side]]
    sums_1 = dense.weights_1.astype(np.int64) @ x + dense.bias_1
    h = sums_1[: network.hidden_1]
    y = np.concatenate([np.minimum(127, h * h >> 19), np.clip(h >> 6, 0, 127)])
    y = np.clip(dense.weights_2.astype(np.int64) @ y + dense.bias_2 >> 6, 0, 127)
    skipping = int(sums_1[-1]) if network.outputs_1 > network.hidden_1 else 0
    return int((int((dense.weights_3.astype(np.int64) @ y + dense.bias_3)[0]) + skipping) / 16)


class Walk:
    """A random walk over moves, passes and taking back, along which scores must not depend on the way."""

    def __init__(self, player: Player, seed: int) -> None:
        self.player = player
        self.random = np.random.default_rng(seed)
        self.fresh = player.memory.copy()
        self.memory = player.memory.copy()
        self.passed: list[bool] = []
        self.seen: dict[str, int] = dict.fromkeys(
            ("captures", "promotions", "kings", "drops", "passes", "back", "root"), 0
        )

    def start(self, sfen: str) -> None:
        self.player.set(sfen)
        self.player.position["root_ply"] = 0
        self.passed.clear()

    def step(self) -> bool:
        """Go on by a move or a pass, or some moves back; False at the end of the game."""
        player, position, tables = self.player, self.player.position, self.player.tables
        action = self.random.random()
        if action < 0.15 and self.passed:
            for _ in range(min(len(self.passed), int(self.random.integers(1, 4)))):
                (unmake_null if self.passed.pop() else unmake_move)(position, tables)
            self.seen["back"] += 1
        elif action < 0.2 and not has_checkers(position):
            make_null(position, tables)
            self.passed.append(True)
            self.seen["passes"] += 1
        else:
            moves = player.moves()
            if not moves:
                return False
            self._play(self._choose(moves))
        if self.random.random() < 0.03:
            position["root_ply"] = self.random.integers(0, position["ply"] + 1)
            self.seen["root"] += 1
        return True

    def _kind(self, move: int) -> str:
        position = self.player.position
        if move & DROP_BIT:
            return "drops"
        if position["board"][move & 127]:
            return "captures"
        if move & PROMOTE_BIT:
            return "promotions"
        return "kings" if position["board"][move >> 7 & 127] & 15 == KING else "others"

    def _choose(self, moves: list[int]) -> int:
        """A random move; the kinds that are rare come as often as the others."""
        by_kind: dict[str, list[int]] = {}
        for move in moves:
            by_kind.setdefault(self._kind(move), []).append(move)
        return int(self.random.choice(by_kind[str(self.random.choice(sorted(by_kind)))]))

    def _play(self, move: int) -> None:
        kind = self._kind(move)
        if kind in self.seen:
            self.seen[kind] += 1
        make_move(self.player.position, self.player.tables, move)
        self.passed.append(False)

    def scores(self) -> tuple[int, int]:
        """The score by the accumulators of the walk, and by memory that has seen nothing."""
        by_the_way = self.player.score()
        self.memory[:] = self.fresh
        position = self.player.position
        kept, position["accumulators"] = int(position["accumulators"]), self.memory.ctypes.data
        anew = self.player.score()
        position["accumulators"] = kept
        return by_the_way, anew


def has_checkers(position: Any) -> bool:
    return bool(position["undo"][position["ply"]]["checkers"].any())


def walk_everywhere(network: Network, variant: str, positions: int) -> Walk:
    """Walk from every start position of a variant and compare scores; plainly computed ones now and then."""
    player = Player(network_evaluation(network, variant, 16))
    walk = Walk(player, seed=positions)
    game = get_variant(variant)
    starts = [game.start_sfen, *game.handicaps.values()]
    compared = 0
    while compared < positions:
        walk.start(starts[int(walk.random.integers(len(starts)))])
        while walk.step() and player.position["ply"] < 350 and compared < positions:
            if walk.random.random() < 0.6:
                by_the_way, anew = walk.scores()
                assert by_the_way == anew
                if compared % 100 == 0:
                    assert anew == plain_score(network, player)
                compared += 1
    return walk


@pytest.mark.parametrize(
    "features, width, hidden", [(HALF_KP, 64, (8, 64)), (K_P, 256, (32, 32)), (HALF_KP, 128, (16, 32))]
)
def test_moves_lead_to_the_scores_of_the_positions(features: FeatureSet, width: int, hidden: tuple[int, int]) -> None:
    network = random_networks.any_classic(features, width, *hidden, planes=min(7, features.planes))
    walk = walk_everywhere(network, "shogi", 4000)
    assert min(walk.seen.values()) > 50, walk.seen


@pytest.mark.parametrize("text", ["128_15_32", "128_16_32"])
def test_moves_lead_to_the_scores_of_the_positions_in_stacked_networks(text: str) -> None:
    inputs, width, outputs, hidden, description = STACKED["small"]
    description = description.replace("128_15_32", text)
    file = random_networks.stacked_file(inputs, width, outputs, hidden, description)
    network = parse_network(np.frombuffer(file, np.uint8))
    assert network.name == f"HalfKA_hm2 128x2-{text[4:6]}-32 k3k3"
    walk = walk_everywhere(network, "shogi", 2000)
    assert min(walk.seen.values()) > 20, walk.seen


@pytest.mark.parametrize("variant", ["judkins", "minishogi"])
def test_small_boards_use_the_same_scheme(variant: str) -> None:
    network = random_networks.any_classic(K_P, 256, 32, 32)
    network.variant = variant
    walk_everywhere(network, variant, 1000)


@pytest.mark.parametrize("name", ["kp", "halfkp", "stacked"])
def test_missing_kings_count_as_on_their_start_squares(name: str) -> None:
    if name == "stacked":
        network = stacked("small")
    else:
        features, width, hidden = {"kp": (K_P, 256, (32, 32)), "halfkp": (HALF_KP, 64, (8, 64))}[name]
        network = random_networks.any_classic(features, width, *hidden, planes=min(7, features.planes))
    player = Player(network_evaluation(network, "shogi", 16))
    for sfen in (
        "4k4/9/4P4/9/9/9/9/9/9 b G2r2b3g4s4n4l17p 1",
        "9/9/9/9/9/9/9/9/4K4 w R 1",
        "9/9/9/4p4/9/9/9/9/9 b S 1",
    ):
        player.set(sfen)
        assert player.score() == plain_score(network, player), sfen


def test_a_thread_without_accumulators_gets_the_material_sum() -> None:
    network = random_networks.any_classic(K_P, 256, 32, 32)
    player = Player(network_evaluation(network, "shogi", 16))
    player.set("4k4/9/9/9/9/9/9/4R4/4K4 w 2Pg 1")
    player.position["accumulators"] = 0
    assert player.score() == -int(player.position["undo"][0]["score"]) != 0
