"""Nanoseconds of the network kernels beside C with intrinsics (gcc -O3 -march=native): medians of alternating rounds.

    python scripts/bench_nnue.py [--features kp|halfkp] [--width 256] [--repeat 15]

update      both accumulators of one quiet move
forward     the dense layers
evaluation  both, reached as the search reaches them: through the address, with the changes read from the undo entries
refresh     one accumulator: C adds all rows; ours starts from the refresh cache, here six pieces away
cold        update and forward with rows from all over a table too large for the caches (HalfKP)

Without gcc the C columns stay empty. Networks and moves are random; the scores of all ways are compared first.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "tests")]

import random_networks  # noqa: E402

from engine.native import simd  # noqa: E402
from engine.native.intrinsics import address_of, call_evaluation, store_u64  # noqa: E402
from engine.native.jit import kernel  # noqa: E402
from engine.rules.layout import HAND_MASK, HAND_SHIFT, KING, SHARED, new_record, record_address  # noqa: E402
from engine.rules.movegen import generate_legal  # noqa: E402
from engine.rules.position import make_move, new_position, set_position  # noqa: E402
from engine.rules.sfen import parse_sfen  # noqa: E402
from engine.rules.variants import SHOGI  # noqa: E402
from eval import network_evaluation  # noqa: E402
from eval.features import HALF_KP, K_P, active_rows, variant_orientation  # noqa: E402
from eval.nnue import (  # noqa: E402
    NO_KEY,
    Shape,
    classic_output,
    half_of,
    network_at,
    renew,
    replace_one,
    row_address,
    slot_at,
    view_of,
)

PLIES = 24
ROUNDS = 400
COLD_PLIES = 20_000


class Reference(ctypes.Structure):
    """`network` of nnue_reference.c."""

    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("rows", "bias_1", "bias_2", "bias_3", "weights_1", "weights_2", "weights_3")
    ]


def compile_reference(width: int) -> Any:
    """The C library, or None without a compiler."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="bench_nnue"))
    source = Path(__file__).with_name("nnue_reference.c")
    target = folder / "reference.so"
    subprocess.run(
        [gcc, "-O3", "-march=native", f"-DWIDTH={width}", "-shared", "-fPIC", str(source), "-o", str(target)],
        check=True,
    )
    library = ctypes.CDLL(str(target))
    library.line.restype = library.refresh.restype = ctypes.c_int64
    return library


def quiet_line(position: Any, evaluation: Any, seed: int) -> list[int]:
    """Play PLIES moves from the start, none of them by a king or with a capture."""
    random = np.random.default_rng(seed)
    tables = evaluation.tables
    set_position(position, tables, parse_sfen(SHOGI.start_sfen, SHOGI))
    evaluation.score(position)  # the accumulators that all others are computed from
    moves: list[int] = []
    while len(moves) < PLIES:
        board = position["board"]
        legal = [int(move) for move in position["moves"][: generate_legal(position, tables, 0)]]
        quiet = [move for move in legal if not board[move & 127] and board[move >> 7 & 127] & 15 != KING]
        moves.append(int(random.choice(quiet)))
        make_move(position, tables, moves[-1])
    return moves


def rows_of(features: Any, position: Any, tables: Any, perspective: int) -> list[int]:
    """Active rows of a position record."""
    hands = [
        [0] + [int(hand >> HAND_SHIFT[kind] & HAND_MASK[kind]) for kind in range(1, 8)] for hand in position["hand"]
    ]
    board = [int(piece) for piece in position["board"][:81]]
    return active_rows(features, board, hands, perspective, variant_orientation(tables))


def row_changes(features: Any, tables: Any, moves: list[int]) -> np.ndarray:
    """int64[ply][player][row that goes, row that comes] of a line from the start position."""
    position = new_position()
    set_position(position, tables, parse_sfen(SHOGI.start_sfen, SHOGI))
    changes = np.zeros((len(moves), 2, 2), np.int64)
    for ply, move in enumerate(moves):
        before = [set(rows_of(features, position, tables, player)) for player in (0, 1)]
        make_move(position, tables, move)
        for player in (0, 1):
            after = set(rows_of(features, position, tables, player))
            changes[ply, player] = (before[player] - after).pop(), (after - before[player]).pop()
    return changes


def make_timers(shape: Shape) -> tuple[Any, Any, Any]:
    """Kernels that repeat parts of the evaluation."""

    @kernel()
    def line(network, scratch, accumulators, changes, count, rounds, work):
        N = network_at(network)
        total = np.int64(0)
        step = np.uint64(2) * half_of(shape)
        for _ in range(rounds):
            for k in range(np.uint64(count)):
                source = accumulators + k * step
                target = source + step
                if work & 1:
                    for player in range(np.uint64(2)):
                        at = player * half_of(shape)
                        gone = row_address(shape, N, changes[k, player, np.uint64(0)])
                        new = row_address(shape, N, changes[k, player, np.uint64(1)])
                        replace_one(shape, source + at, target + at, gone, new)
                if work & 2:
                    side = np.uint64(1) - (k & np.uint64(1))
                    own, other = target + side * half_of(shape), target + (np.uint64(1) - side) * half_of(shape)
                    output = classic_output(shape, N, scratch, own, other)
                    total += output // 16 if output >= 0 else -(-output // 16)
        return total

    @kernel()
    def whole(P, T, C, count, rounds):
        total = np.int64(0)
        for _ in range(rounds):
            for k in range(np.uint64(1), np.uint64(count + 1)):
                P.ply = np.int64(k)
                P.side = np.int64(k & np.uint64(1))
                slot = slot_at(shape, P.accumulators, k)
                store_u64(slot, np.uint64(NO_KEY))
                store_u64(slot + np.uint64(8), np.uint64(NO_KEY))
                total += call_evaluation(C.evaluate, address_of(P), address_of(T), address_of(C))
        return total

    @kernel()
    def refresh(P, network, other_board, target, rounds):
        N = network_at(network)
        for _ in range(rounds):
            for square in range(81):
                piece = P.board[square]
                P.board[square] = other_board[square]
                other_board[square] = piece
            view, plane = view_of(shape, P, N, 0)
            renew(shape, P, N, P.accumulators, 0, view, plane, target)

    return line, whole, refresh


def alternate(
    ours: Callable[[], object], theirs: Callable[[], object] | None, repeat: int, count: int
) -> tuple[float, float]:
    """Median nanoseconds of one of `count` units for both, run in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for function, kept in zip((ours, theirs), times, strict=True):
            if function is not None:
                start = time.thread_time()
                function()
                kept.append((time.thread_time() - start) / count * 1e9)
    return statistics.median(times[0]), statistics.median(times[1]) if times[1] else float("nan")


class Bench:
    """One network, ready for both sides."""

    def __init__(self, features: Any, width: int) -> None:
        network = random_networks.any_classic(features, width, 32, 32)
        self.network, self.width = network, width
        self.evaluation = network_evaluation(network, "shogi", 16)
        self.tables = self.evaluation.tables
        self.record = np.uint64(record_address(self.evaluation.network.record))
        self.line, self.whole, self.refresh = make_timers(self.evaluation.network.shape)
        self.position = new_position()
        self.memory = self.evaluation.new_thread(self.position)
        self.shared: Any = new_record(SHARED)
        self.evaluation.attach(self.shared)
        self.changes = row_changes(features, self.tables, quiet_line(self.position, self.evaluation, 1))
        generator = np.random.default_rng(1)
        self.cold = generator.integers(features.inputs, size=(COLD_PLIES, 2, 2))
        self.start = new_position()
        set_position(self.start, self.tables, parse_sfen(SHOGI.start_sfen, SHOGI))
        self.accumulators = np.zeros((COLD_PLIES + 1, 2, width), np.int16)
        for player in (0, 1):
            rows = rows_of(features, self.start, self.tables, player)
            self.accumulators[0, player] = network.bias + network.rows[rows].sum(axis=0, dtype=np.int16)
        self.scratch = np.zeros(4 * width + 1024, np.uint8)
        self.target = np.zeros(width, np.int16)
        self.rows = np.array(rows_of(features, self.position, self.tables, 0), np.int64)
        self.library = compile_reference(width)
        self._lay_out_for_c()

    def _lay_out_for_c(self) -> None:
        dense = self.network.stacks[0]
        self.packed = {name: getattr(dense, name) for name in ("bias_1", "bias_2", "bias_3", "weights_3")}
        for name in ("weights_1", "weights_2"):
            self.packed[name] = getattr(dense, name).reshape(32, -1, 4).transpose(1, 0, 2)
        self.packed = {name: np.ascontiguousarray(array) for name, array in self.packed.items()}
        pointers = {name: array.ctypes.data for name, array in self.packed.items()}
        self.reference = Reference(rows=self.network.rows.ctypes.data, **pointers)

    def ours(self, changes: np.ndarray, work: int, rounds: int) -> int:
        """Update (1), evaluate (2) or both (3) along a line; sum of the scores."""
        scratch, accumulators = np.uint64(self.scratch.ctypes.data), np.uint64(self.accumulators.ctypes.data)
        return int(self.line(self.record, scratch, accumulators, changes, len(changes), rounds, work))

    def theirs(self, changes: np.ndarray, work: int, rounds: int) -> int:
        """The same in C."""
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (self.accumulators, changes))
        numbers = (ctypes.c_int64(number) for number in (len(changes), rounds, work))
        return int(self.library.line(ctypes.byref(self.reference), *pointers, *numbers))

    def our_evaluation(self, rounds: int) -> int:
        """The line again, by the function that the search calls."""
        return int(self.whole(self.position, self.tables, self.shared, PLIES, rounds))

    def our_refresh(self, rounds: int) -> None:
        """An accumulator from the cache, six squares of the board being others each time."""
        changed = self.position["board"].copy()
        differing = np.flatnonzero(changed != self.start["board"])[:6]
        changed[differing] = self.start["board"][differing]
        self.refresh(self.position, self.record, changed, np.uint64(self.target.ctypes.data), rounds)

    def their_refresh(self, rounds: int) -> None:
        """An accumulator from nothing."""
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (self.target, self.rows))
        numbers = (ctypes.c_int64(number) for number in (len(self.rows), rounds))
        self.library.refresh(ctypes.byref(self.reference), *pointers, *numbers)

    def check(self) -> None:
        """All ways must give the same scores."""
        sums = {self.ours(self.changes, 3, 1), self.our_evaluation(1)}
        if self.library is not None:
            sums.add(self.theirs(self.changes, 3, 1))
        assert len(sums) == 1, f"different scores: {sums}"

    def cases(self) -> Iterator[tuple[str, Callable[[], object], Callable[[], object], int]]:
        """Name, our and their work, and how many units it is."""
        warm = PLIES * ROUNDS
        for name, work in (("update", 1), ("forward", 2)):
            yield (
                name,
                lambda work=work: self.ours(self.changes, work, ROUNDS),
                lambda work=work: self.theirs(self.changes, work, ROUNDS),
                warm,
            )
        yield "evaluation", lambda: self.our_evaluation(ROUNDS), lambda: self.theirs(self.changes, 3, ROUNDS), warm
        yield "refresh", lambda: self.our_refresh(warm), lambda: self.their_refresh(warm), warm
        yield "cold", lambda: self.ours(self.cold, 3, 1), lambda: self.theirs(self.cold, 3, 1), COLD_PLIES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", choices=("kp", "halfkp"), default="halfkp")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    bench = Bench({"kp": K_P, "halfkp": HALF_KP}[options.features], options.width)
    bench.check()
    print(f"{bench.network.name}, {simd.PATH}\n{'':12}{'Narikin':>13}{'C':>15}{'ratio':>10}")
    for name, ours, theirs, units in bench.cases():
        mine, other = alternate(ours, None if bench.library is None else theirs, options.repeat, units)
        print(f"{name:12}{mine:10.1f} ns{other:12.1f} ns{mine / other:10.2f}")


if __name__ == "__main__":
    main()
