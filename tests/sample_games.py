"""Random games with material scores, for tests of the training code."""

from __future__ import annotations

import numpy as np

from engine.native.jit import kernel
from engine.rules.movegen import generate_legal
from engine.rules.position import current, make_move, new_position, set_position
from engine.rules.sfen import parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import get_variant
from eval import handcrafted
from eval.learn.records import Games


@kernel()
def _play(P, T, seed, length, moves, scores):
    """Random legal moves; returns how many were played before mate or the length."""
    np.random.seed(seed)
    for ply in range(length):
        count = generate_legal(P, T, 0)
        if count == 0:
            return ply
        score = np.int64(current(P).score)
        moves[ply] = P.moves[np.random.randint(count)]
        scores[ply] = max(min(-score if P.side else score, 30000), -30000)
        make_move(P, T, moves[ply])
    return length


def random_games(variant: str, count: int, length: int = 80, seed: int = 0) -> Games:
    """Games from the start position; scores are material for the side to move, results the last score's sign."""
    tables = variant_tables(variant)
    handcrafted.fill(tables)
    start = parse_sfen(get_variant(variant).start_sfen, get_variant(variant))
    moves, scores, offsets, results = [], [], [0], []
    for game in range(count):
        position = new_position()
        set_position(position, tables, start)
        played, valued = np.zeros(length, dtype=np.int32), np.zeros(length, dtype=np.int16)
        plies = _play(position, tables, seed * 1000 + game, length, played, valued)
        moves.append(played[:plies])
        scores.append(valued[:plies])
        offsets.append(offsets[-1] + plies)
        last = int(valued[plies - 1]) * (1 if plies % 2 else -1)
        results.append((last > 0) - (last < 0))
    return Games(
        variant,
        np.array(results, dtype=np.int8),
        np.array(offsets, dtype=np.int64),
        np.concatenate(moves),
        np.concatenate(scores),
    )
