"""PackedSfenValue and hcpe records against cshogi, in both directions, byte for byte."""

from __future__ import annotations

import random

import numpy as np
import pytest

cshogi = pytest.importorskip("cshogi")

from engine.rules.moves import parse_usi  # noqa: E402
from engine.rules.sfen import format_sfen, parse_sfen  # noqa: E402
from engine.rules.variants import get_variant  # noqa: E402
from eval.learn import packed  # noqa: E402

SHOGI = get_variant("shogi")
HANDICAPS = [
    "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "4k4/9/9/9/9/9/9/9/4K4 b RBGSNLPrbgsnlp 1",
    "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
]


def random_boards(count: int) -> list[str]:
    rng = random.Random(5)
    sfens = list(HANDICAPS)
    board = cshogi.Board()
    while len(sfens) < count:
        moves = list(board.legal_moves)
        if not moves or board.move_number > 250:
            board = cshogi.Board()
            continue
        board.push(rng.choice(moves))
        sfens.append(board.sfen())
    return sfens


def as_positions(sfens: list[str]) -> packed.Positions:
    positions = packed.Positions.empty(len(sfens))
    for n, sfen in enumerate(sfens):
        placement = parse_sfen(sfen, SHOGI)
        positions.boards[n] = placement.board
        positions.hands[n, :, : len(placement.hands[0])] = placement.hands
        positions.sides[n] = placement.side
    return positions


@pytest.mark.parametrize("name", ["sfen", "hcp"])
def test_positions_round_trip_and_equal_cshogi(name: str) -> None:
    sfens = random_boards(1500)
    code = {"sfen": packed.SFEN_CODE, "hcp": packed.HCP_CODE}[name]
    positions = as_positions(sfens)
    rows = packed.pack(positions, code)
    board = cshogi.Board()
    dtype = {"sfen": cshogi.PackedSfenValue, "hcp": cshogi.HuffmanCodedPos}[name]
    theirs = np.zeros(1, dtype=dtype)
    for sfen, row in zip(sfens, rows, strict=True):
        board.set_sfen(sfen)
        if name == "sfen":
            board.to_psfen(theirs)
        else:
            board.to_hcp(theirs)
        assert bytes(theirs[0][name]) == bytes(row), sfen
    back = packed.unpack(rows, code)
    assert np.array_equal(back.boards, positions.boards)
    assert np.array_equal(back.hands, positions.hands)
    assert np.array_equal(back.sides, positions.sides)


def test_moves_equal_cshogi() -> None:
    board = cshogi.Board("ln1g5/1r2S1k2/p2pppn2/2ps2p2/1p7/2P6/PPSPPPPLP/2G2K1pr/LN4G1b w BG2S2Pnlp 1")
    texts = [cshogi.move_to_usi(move) for move in board.legal_moves] + ["2h2b+", "8h2b", "P*5e", "G*1a"]
    ours = np.array([parse_usi(text, SHOGI) for text in texts], dtype=np.int32)
    apery = np.array([cshogi.move16(move) for move in board.legal_moves], dtype=np.int64)
    yaneuraou = np.array([cshogi.move16_to_psv(int(move)) for move in apery], dtype=np.int64)
    assert np.array_equal(packed.moves_to_apery(ours)[: len(apery)].astype(np.uint16), apery)
    assert np.array_equal(packed.moves_to_yaneuraou(ours)[: len(apery)], yaneuraou)
    assert np.array_equal(packed.moves_from_apery(packed.moves_to_apery(ours)), ours)
    assert np.array_equal(packed.moves_from_yaneuraou(packed.moves_to_yaneuraou(ours)), ours)


def test_record_types_equal_cshogi() -> None:
    for ours, theirs in (
        (packed.PACKED_SFEN_VALUE, np.dtype(cshogi.PackedSfenValue)),
        (packed.HCPE, np.dtype(cshogi.HuffmanCodedPosAndEval)),
    ):
        assert ours == theirs and ours.names == theirs.names


def test_bad_records_are_named() -> None:
    rows = packed.pack(as_positions(HANDICAPS[:3]), packed.SFEN_CODE)
    rows[1, 15:] = 0b11111111
    with pytest.raises(ValueError, match="record 1"):
        packed.unpack(rows, packed.SFEN_CODE)
    crowded = as_positions(["9/9/9/9/4k4/9/9/9/4K4 b - 1"])
    crowded.hands[0, 0, 1] = 19
    with pytest.raises(ValueError, match="position 0"):
        packed.pack(crowded, packed.HCP_CODE)


def test_sfen_text_survives() -> None:
    back = packed.unpack(packed.pack(as_positions(HANDICAPS), packed.HCP_CODE), packed.HCP_CODE)
    for n, sfen in enumerate(HANDICAPS):
        placement = parse_sfen(sfen, SHOGI)
        placement.board = back.boards[n].tolist()
        placement.hands = tuple(hand.tolist() for hand in back.hands[n])
        assert format_sfen(placement, SHOGI) == sfen
