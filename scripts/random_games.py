"""Random games, for tests and measurements: positions of every kind, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import numpy as np

from engine.rules.layout import HAND_MASK, HAND_SHIFT
from engine.rules.movegen import generate_legal, gives_check
from engine.rules.moves import format_usi
from engine.rules.position import make_move, new_position, set_position
from engine.rules.sfen import Placement, format_sfen, parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import Variant, get_variant
from eval.handcrafted import fill


class Walker:
    """A position of one variant that random games walk through."""

    def __init__(self, variant: str) -> None:
        self.variant: Variant = get_variant(variant)
        self.tables = variant_tables(variant)
        fill(self.tables)
        self.position = new_position()
        self.start = ""
        self.moves: list[int] = []

    def set(self, sfen: str) -> None:
        self.start, self.moves = sfen, []
        set_position(self.position, self.tables, parse_sfen(sfen, self.variant))

    def legal_moves(self) -> np.ndarray:
        end = generate_legal(self.position, self.tables, 0)
        return np.sort(self.position["moves"][:end])

    def push(self, move: int) -> None:
        self.moves.append(move)
        make_move(self.position, self.tables, move)

    def gives_check(self, move: int) -> bool:
        return bool(gives_check(self.position, self.tables, move))

    def sfen(self) -> str:
        board = [int(piece) for piece in self.position["board"][:81]]
        hands = tuple([0, *(self._held(colour, kind) for kind in range(1, 8))] for colour in (0, 1))
        return format_sfen(Placement(board, hands, int(self.position["side"]), 1), self.variant)  # type: ignore[arg-type]

    def _held(self, colour: int, kind: int) -> int:
        return int(self.position["hand"][colour]) >> int(HAND_SHIFT[kind]) & int(HAND_MASK[kind])

    def __str__(self) -> str:
        return f"{self.variant.name} {self.start} moves {' '.join(format_usi(move) for move in self.moves)}"


def random_walk(walker: Walker, starts: Iterable[str], count: int, seed: int, plies: int = 120) -> Iterator[int]:
    """Visit `count` positions of random games, numbered from 0; checks are played more often than chance would."""
    rng = random.Random(seed)
    starts = list(starts)
    visited = 0
    while visited < count:
        walker.set(rng.choice(starts))
        for _ in range(plies):
            yield visited
            visited += 1
            moves = walker.legal_moves()
            if not len(moves) or visited >= count:
                break
            choices = rng.choices(moves.tolist(), k=3)
            walker.push(next((move for move in choices if walker.gives_check(move)), choices[0]))


def start_sfens(variant: Variant) -> list[str]:
    """Start positions to walk from: the game's own (half of the walks) and its handicaps."""
    handicaps = list(variant.handicaps.values())
    return [variant.start_sfen] * len(handicaps) + handicaps
