"""Perft: the number of legal move sequences from a position, for all variants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.rules.perft import perft, perft_make
from engine.rules.position import new_position, set_position
from engine.rules.sfen import parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import get_variant
from scripts.check_rules import read_table

ROWS = [
    (row["variant"], row["sfen"], int(row["depth"]), int(row["nodes"]))
    for row in read_table(Path(__file__).parent / "data" / "perft.tsv")
]
QUICK = 250_000_000  # nodes; more takes seconds
MAKE_EVERY_LEAF = 3_000_000


@pytest.fixture(scope="module")
def position() -> Iterator[np.void]:
    yield new_position()


def set_up(position: np.void, variant: str, sfen: str) -> np.void:
    tables = variant_tables(variant)
    set_position(position, tables, parse_sfen(sfen, get_variant(variant)))
    return tables


@pytest.mark.parametrize("variant", ["shogi", "judkins", "minishogi"])
def test_perft_of_every_small_count(variant: str, position: np.void) -> None:
    rows = [row for row in ROWS if row[0] == variant and row[3] <= QUICK]
    assert len(rows) > 50
    for _, sfen, depth, nodes in rows:
        tables = set_up(position, variant, sfen)
        assert perft(position, tables, depth) == nodes, f"{variant} {sfen} depth {depth}"


def test_playing_every_leaf_counts_the_same(position: np.void) -> None:
    for variant, sfen, depth, nodes in ROWS:
        if nodes <= MAKE_EVERY_LEAF:
            tables = set_up(position, variant, sfen)
            assert perft_make(position, tables, depth) == nodes, f"{variant} {sfen} depth {depth}"


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "sfen", "depth", "nodes"), [row for row in ROWS if row[3] > QUICK])
def test_deep_perft(variant: str, sfen: str, depth: int, nodes: int, position: np.void) -> None:
    assert perft(position, set_up(position, variant, sfen), depth) == nodes
