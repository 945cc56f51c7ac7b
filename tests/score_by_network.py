"""Run by test_simd.py in processes of their own: scores of golden positions by two small networks, without the rules.

Prints the path of the dot product, then a JSON list of [network, index, score].
"""

from __future__ import annotations

import csv
import ctypes
import json
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
import random_networks  # noqa: E402

from engine.native import simd  # noqa: E402
from engine.rules.layout import HAND_SHIFT, POSITION, SHARED, new_record, record_address  # noqa: E402
from engine.rules.sfen import parse_sfen  # noqa: E402
from engine.rules.tables import variant_tables  # noqa: E402
from engine.rules.variants import SHOGI  # noqa: E402
from eval.features import K_P  # noqa: E402
from eval.network_file import parse_network  # noqa: E402
from eval.nnue import NetworkEvaluation  # noqa: E402

SMALL = "Features=HalfKA_hm2(Friend)[73305->128x2],Network=SFNN_HALFKAHM2_128_15_32_K3K3{LayerStack=9}"


def set_up(position: Any, sfen: str, key: int) -> None:
    """What the evaluation reads of a position."""
    placement = parse_sfen(sfen, SHOGI, strict=False)
    position["board"][:81] = placement.board
    position["hand"] = [sum(n << int(HAND_SHIFT[kind]) for kind, n in enumerate(hand)) for hand in placement.hands]
    position["king"] = [placement.king_square(colour) for colour in (0, 1)]
    position["side"] = placement.side
    position["undo"][0]["key_board"] = key


def main() -> None:
    networks = {
        "classic": random_networks.any_classic(K_P, 64, 8, 64),
        "small": parse_network(np.frombuffer(random_networks.stacked_file(73305, 128, 16, 32, SMALL), np.uint8)),
    }
    with open(Path(__file__).parent / "data" / "nnue_scores.tsv", encoding="ascii", newline="") as file:
        sfens = [row["sfen"] for row in csv.DictReader(file, delimiter="\t") if row["network"] == "small"]
    tables = variant_tables("shogi")
    scores = []
    for name, network in networks.items():
        evaluation = NetworkEvaluation(network, tables, 28)
        call: Any = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(evaluation.address)
        position, shared = new_record(POSITION), new_record(SHARED)
        memory = evaluation.new_memory()
        position["accumulators"] = memory.ctypes.data
        evaluation.attach(shared)
        for index, sfen in enumerate(sfens):
            set_up(position, sfen, index)
            scores.append([name, index, call(record_address(position), 0, record_address(shared))])
    print(simd.PATH)
    print(json.dumps(scores))


if __name__ == "__main__":
    main()
