"""Nanoseconds of the network kernels beside C with intrinsics (gcc -O3 -march=native): medians of alternating rounds.

    python scripts/bench_nnue.py [--features kp|halfkp] [--width 256] [--repeat 15]

update      both accumulators of one quiet move
forward     the dense layers
evaluation  both, reached as the search reaches them: through the address, with the changes read from the undo entries
refresh     one accumulator: C adds all rows; ours starts from the refresh cache, here six pieces away
cold        evaluations of positions taken from all over a table of rows too large for the caches

Without gcc the C columns stay empty. Networks and moves are random, the integers are checked against each other.
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
from collections.abc import Callable
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


def report(name: str, ours: float, theirs: float) -> None:
    print(f"{name:12}{ours:10.1f} ns{theirs:12.1f} ns{ours / theirs:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", choices=("kp", "halfkp"), default="halfkp")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    features = {"kp": K_P, "halfkp": HALF_KP}[options.features]
    network = random_networks.any_classic(features, options.width, 32, 32)
    evaluation = network_evaluation(network, "shogi", 16)
    ready, tables = evaluation.network, evaluation.tables
    shape = ready.shape
    line, whole, refresh = make_timers(shape)
    position = new_position()
    memory = evaluation.new_thread(position)
    moves = quiet_line(position, evaluation, 1)
    shared: Any = new_record(SHARED)
    evaluation.attach(shared)
    changes = row_changes(features, tables, moves)
    accumulators = np.zeros((PLIES + 1, 2, options.width), np.int16)
    start = new_position()
    set_position(start, tables, parse_sfen(SHOGI.start_sfen, SHOGI))
    for player in (0, 1):
        rows = rows_of(features, start, tables, player)
        accumulators[0, player] = network.bias + network.rows[rows].sum(axis=0, dtype=np.int16)
    scratch = np.zeros(4 * options.width + 1024, np.uint8)
    library = compile_reference(options.width)
    dense = network.stacks[0]
    packed = {name: np.ascontiguousarray(getattr(dense, name)) for name in ("bias_1", "bias_2", "bias_3", "weights_3")}
    for name in ("weights_1", "weights_2"):
        weights = getattr(dense, name)
        packed[name] = np.ascontiguousarray(weights.reshape(32, -1, 4).transpose(1, 0, 2))
    pointers = {name: array.ctypes.data for name, array in packed.items()}
    reference = Reference(rows=network.rows.ctypes.data, **pointers)

    def ours(work: int, rounds: int = ROUNDS) -> int:
        at = np.uint64(accumulators.ctypes.data)
        record = np.uint64(record_address(ready.record))
        return int(line(record, np.uint64(scratch.ctypes.data), at, changes, PLIES, rounds, work))

    def theirs(work: int, rounds: int = ROUNDS) -> int:
        pointer = ctypes.c_void_p
        return int(
            library.line(
                ctypes.byref(reference),
                pointer(accumulators.ctypes.data),
                pointer(changes.ctypes.data),
                *(ctypes.c_int64(number) for number in (PLIES, rounds, work)),
            )
        )

    sums = {ours(3, 1), int(whole(position, tables, shared, PLIES, 1))}
    if library is not None:
        sums.add(theirs(3, 1))
    assert len(sums) == 1, f"different scores: {sums}"
    print(f"{network.name}, {simd.PATH}; {'Narikin':>12}{'C':>15}{'ratio':>10}")
    units = PLIES * ROUNDS
    c_line = None if library is None else lambda work: theirs(work)
    for name, work in (("update", 1), ("forward", 2), ("both", 3)):
        report(name, *alternate(lambda w=work: ours(w), c_line and (lambda w=work: c_line(w)), options.repeat, units))
    report(
        "evaluation",
        *alternate(
            lambda: whole(position, tables, shared, PLIES, ROUNDS),
            c_line and (lambda: c_line(3)),
            options.repeat,
            units,
        ),
    )
    board = start["board"]
    differing = np.flatnonzero(position["board"] != board)
    changed = position["board"].copy()
    changed[differing[:6]] = board[differing[:6]]
    rows = np.array(rows_of(features, position, tables, 0), np.int64)
    target = np.zeros(options.width, np.int16)

    def c_refresh() -> None:
        library.refresh(
            ctypes.byref(reference),
            ctypes.c_void_p(target.ctypes.data),
            ctypes.c_void_p(rows.ctypes.data),
            ctypes.c_int64(len(rows)),
            ctypes.c_int64(units),
        )

    record = np.uint64(record_address(ready.record))
    report(
        "refresh",
        *alternate(
            lambda: refresh(position, record, changed, np.uint64(target.ctypes.data), units),
            None if library is None else c_refresh,
            options.repeat,
            units,
        ),
    )
    del memory


if __name__ == "__main__":
    main()
