"""Proof of the rules on random positions: against cshogi and pyffish, and against themselves.

    python scripts/check_rules.py --positions 200000

Walks random games, and in every position compares the full list of legal moves with another library's and lets
`check_position` hold the kernels against each other. The tests run the same functions on fewer positions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numba import int32, int64, uint64

from engine.native.intrinsics import address_of, load_u64, store_u64
from engine.native.jit import inline, kernel
from engine.rules.checks import generate_checks, mate_in_one
from engine.rules.layout import (
    BISHOP,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    LANCE,
    PAWN,
    POSITION,
    PROMOTE_BIT,
    ROOK,
    UNDO,
    offset_of,
    position_type,
    tables_type,
)
from engine.rules.movegen import (
    generate_captures,
    generate_drops,
    generate_evasions,
    generate_legal,
    generate_quiets,
    gives_check,
    is_legal,
)
from engine.rules.moves import format_usi, parse_usi
from engine.rules.position import (
    in_check,
    make_move,
    make_null,
    new_position,
    refresh,
    unmake_move,
    unmake_null,
)
from engine.rules.variants import Variant
from scripts.random_games import Walker, random_walk, start_sfens

HEAD_BYTES = offset_of(POSITION, "undo")
UNDO_BYTES = UNDO.itemsize
ALL_CODES = 1 << 16

PROPERTIES = (
    "",
    "a generator lists a move twice",
    "the staged generators together differ from generate_legal",
    "is_legal refuses a legal move",
    "is_legal accepts an illegal move",
    "gives_check differs from the checkers after the move",
    "generate_checks differs from the checks among the legal moves",
    "unmake_move leaves a byte changed",
    "make_move differs from a position set up from scratch",
    "mate_in_one is wrong",
    "unmake_null leaves a byte changed, or the pass is wrong",
    "the restricted list leaves out a move that is not pointless, or has one of its own",
)


@inline
def _copy_words(source, target, count):
    for i in range(0, count, 8):
        offset = uint64(i)
        store_u64(target + offset, load_u64(source + offset))


@inline
def _same_words(one, other, first, count):
    for i in range(first, first + count, 8):
        offset = uint64(i)
        if load_u64(one + offset) != load_u64(other + offset):
            return False
    return True


@inline
def _staged(P, T, n):
    if in_check(P):
        return generate_evasions(P, T, n)
    return generate_drops(P, T, generate_quiets(P, T, generate_captures(P, T, n)))


@inline
def _mark(P, marks, start, end, bit):
    """Set a bit in `marks` for every listed move; False if one is listed twice."""
    for i in range(start, end):
        m = P.moves[uint64(i)]
        if marks[m] & bit:
            return False
        marks[m] |= bit
    return True


@inline
def _matches_scratch(P, T, Q):
    """True if the position made move by move equals the same board, hands and side set up from scratch."""
    _copy_words(address_of(P), address_of(Q), int64(HEAD_BYTES))
    refresh(Q, T)
    u, v = P.undo[uint64(P.ply)], Q.undo[0]
    same = u.key_board == v.key_board and u.key_hand == v.key_hand and u.score == v.score
    for i in range(2):
        same = same and u.hand[i] == v.hand[i] and u.checkers[i] == v.checkers[i] and u.pinned[i] == v.pinned[i]
        same = same and u.discoverers[i] == v.discoverers[i] and P.king[i] == Q.king[i]
        same = same and P.colours[0, i] == Q.colours[0, i] and P.colours[1, i] == Q.colours[1, i]
        for row in range(16):
            same = same and P.pieces[row, i] == Q.pieces[row, i]
    mover = P.side ^ 1
    return same and (u.checks[mover] > 0) == (v.checks[mover] > 0)


@inline
def _check_moves(P, T, Q, R, marks, end):
    """Play and take back every move of `P.moves[:end]`; Q holds a copy of P, R is scratch."""
    ply = P.ply
    entry = int64(HEAD_BYTES) + ply * int64(UNDO_BYTES)
    mates = 0
    for i in range(end):
        m = P.moves[uint64(i)]
        if not is_legal(P, T, m):
            return 3
        checks = gives_check(P, T, m)
        if checks != ((marks[m] & 4) != 0):
            return 6
        make_move(P, T, m)
        if in_check(P) != checks:
            return 5
        if not _matches_scratch(P, T, R):
            return 8
        if checks and generate_legal(P, T, end) == end:
            mates += 1
            marks[m] |= 8
        unmake_move(P, T)
        if not _same_words(address_of(P), address_of(Q), int64(0), int64(HEAD_BYTES)):
            return 7
        if not _same_words(address_of(P), address_of(Q), entry, int64(UNDO_BYTES)):
            return 7
    if not in_check(P):
        found = mate_in_one(P, T, int64(end))
        if (found != 0) != (mates > 0) or (found and not marks[found] & 8):
            return 9
    return 0


@inline
def _check_null(P, T, Q):
    if in_check(P):
        return 0
    before = P.undo[uint64(P.ply)].key_board
    make_null(P, T)
    passed = P.undo[uint64(P.ply)]
    right = passed.key_board == before ^ T.key_side and P.side != Q.side
    unmake_null(P, T)
    size = int64(HEAD_BYTES) + (P.ply + 1) * int64(UNDO_BYTES)
    return 0 if right and _same_words(address_of(P), address_of(Q), int64(0), size) else 10


@inline
def _check_restricted(P, T, marks, end):
    P.all_moves = 0
    restricted = generate_legal(P, T, int64(end))
    staged = _staged(P, T, int64(restricted))
    P.all_moves = 1
    if not (_mark(P, marks, end, restricted, 16) and _mark(P, marks, restricted, staged, 32)):
        return 1
    for i in range(end):
        m = P.moves[uint64(i)]
        if marks[m] & 48 == 48:
            continue
        kind = P.board[uint64((m >> FROM_SHIFT) & FROM_MASK)] & 15
        weak = kind == PAWN or kind == LANCE or kind == BISHOP or kind == ROOK
        if marks[m] & 48 or m & DROP_BIT or m & PROMOTE_BIT or not weak or not marks[m | PROMOTE_BIT] & 1:
            return 11
    for i in range(end, staged):
        if not marks[P.moves[uint64(i)]] & 1:
            return 11
    return 0


@inline
def _check_all_codes(P, T, marks):
    for code in range(ALL_CODES):
        if is_legal(P, T, int32(code)) != ((marks[code] & 1) != 0):
            return 4
    for i in range(15):
        if is_legal(P, T, int32(1 << 16 << i)) or is_legal(P, T, int32(-(1 << i))):
            return 4
    return 0


@kernel(int64(position_type, tables_type, position_type, position_type, int64))
def check_position(P, T, Q, R, every_code):
    """0, or the number of the first property (index into PROPERTIES) that does not hold; Q and R are scratch."""
    marks = np.zeros(ALL_CODES, dtype=np.uint8)
    _copy_words(address_of(P), address_of(Q), int64(HEAD_BYTES) + (P.ply + 1) * int64(UNDO_BYTES))
    end = generate_legal(P, T, int64(0))
    staged = _staged(P, T, int64(end))
    checks = generate_checks(P, T, int64(staged))
    if not (_mark(P, marks, 0, end, 1) and _mark(P, marks, end, staged, 2) and _mark(P, marks, staged, checks, 4)):
        return 1
    if staged - end != end:
        return 2
    for i in range(end):
        if marks[P.moves[uint64(i)]] & 2 == 0:
            return 2
    for i in range(staged, checks):
        if marks[P.moves[uint64(i)]] & 1 == 0:
            return 6
    wrong = _check_moves(P, T, Q, R, marks, end)
    if not wrong:
        wrong = _check_null(P, T, Q)
    if not wrong and every_code:
        wrong = _check_all_codes(P, T, marks)
    if not wrong:
        wrong = _check_restricted(P, T, marks, end)
    return wrong


_scratch: list[np.void] = []


def check_self(walker: Walker, every_code: bool = True) -> None:
    """Raise AssertionError with the property and the position if the kernels contradict each other."""
    if not _scratch:
        _scratch.extend((new_position(), new_position()))
    wrong = check_position(walker.position, walker.tables, *_scratch, int(every_code))
    assert wrong == 0, f"{PROPERTIES[wrong]}: {walker}"


def compare_with_cshogi(count: int, seed: int = 1) -> None:
    """Full lists of legal moves equal cshogi's in `count` positions."""
    import cshogi

    walker = Walker("shogi")
    board = cshogi.Board()
    for number in random_walk(walker, start_sfens(walker.variant), count, seed):
        board.set_sfen(walker.sfen())
        theirs = np.sort(_from_cshogi(np.array(list(board.legal_moves), dtype=np.int64)))
        _assert_equal_lists(walker, walker.legal_moves(), theirs)
        check_self(walker, every_code=number % 8 == 0)


def _from_cshogi(moves: np.ndarray) -> np.ndarray:
    """cshogi's move numbers in ours: the same but for drops, whose origin there is 80 + type."""
    origin = moves >> FROM_SHIFT & FROM_MASK
    drop = origin > 80
    kept = moves & (127 | PROMOTE_BIT)
    return np.where(drop, kept | (origin - 80) << FROM_SHIFT | DROP_BIT, kept | origin << FROM_SHIFT)


def _assert_equal_lists(walker: Walker, ours: np.ndarray, theirs: np.ndarray) -> None:
    if not np.array_equal(ours, theirs):
        missing = [format_usi(move) for move in set(theirs.tolist()) - set(ours.tolist())]
        extra = [format_usi(move) for move in set(ours.tolist()) - set(theirs.tolist())]
        raise AssertionError(f"missing {missing}, extra {extra}: {walker.sfen()} ({walker})")


def compare_with_pyffish(variant: str, count: int, seed: int = 1) -> int:
    """Lists of legal moves equal pyffish's, pawn drops that mate aside; returns how many of those it let pass."""
    import pyffish

    walker = Walker(variant)
    forgiven = 0
    for number in random_walk(walker, start_sfens(walker.variant), count, seed):
        theirs = {_from_pyffish(text, walker.variant) for text in pyffish.legal_moves(variant, _fen(walker.sfen()), [])}
        ours = set(walker.legal_moves().tolist())
        mates = {move for move in theirs - ours if _is_pawn_drop_mate(walker, move)}
        forgiven += len(mates)
        _assert_equal_lists(walker, np.array(sorted(ours)), np.array(sorted(theirs - mates)))
        check_self(walker, every_code=number % 8 == 0)
    return forgiven


def _fen(sfen: str) -> str:
    """Fairy-Stockfish's form: hands in brackets, the first player is white."""
    board, side, hands, _ = sfen.split()
    held = ""
    count = ""
    for letter in "" if hands == "-" else hands:
        if letter.isdigit():
            count += letter
        else:
            held += letter * int(count or 1)
            count = ""
    return f"{board}[{held or '-'}] {'w' if side == 'b' else 'b'} - 0 1"


def _from_pyffish(text: str, variant: Variant) -> int:
    """A move such as a2a3+ or G@b4: files from the left by letter, ranks from the bottom by number."""

    def square(name: str) -> str:
        return f"{variant.width - (ord(name[0]) - ord('a'))}{chr(ord('a') + variant.height - int(name[1]))}"

    if "@" in text:
        return parse_usi(f"{text[0]}*{square(text[2:])}", variant)
    return parse_usi(square(text[:2]) + square(text[2:4]) + text[4:], variant)


def _is_pawn_drop_mate(walker: Walker, move: int) -> bool:
    """True if the move drops a pawn and leaves the opponent in check without a legal move."""
    if not move & DROP_BIT or move >> FROM_SHIFT & FROM_MASK != PAWN:
        return False
    make_move(walker.position, walker.tables, move)
    mate = bool(walker.position["undo"][walker.position["ply"]]["checkers"].any()) and not len(walker.legal_moves())
    unmake_move(walker.position, walker.tables)
    return mate


def check_one_king_positions(variant: str, sfens: Iterable[str], count: int, seed: int = 1) -> None:
    """The kernels agree with each other where kings are missing, which no other library plays."""
    walker = Walker(variant)
    for number in random_walk(walker, sfens, count, seed, plies=40):
        check_self(walker, every_code=number % 8 == 0)


def read_table(path: Path) -> list[dict[str, Any]]:
    """Rows of a tab-separated table with a header line; lines that start with # are remarks."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"), strict=True)) for line in lines[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--positions", type=int, default=200_000, help="against cshogi; a tenth on each small board")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.perf_counter()
    compare_with_cshogi(options.positions, options.seed)
    print(f"shogi: {options.positions} positions equal cshogi's, {time.perf_counter() - start:.0f} s", flush=True)
    for variant in ("judkins", "minishogi"):
        count = options.positions // 10
        forgiven = compare_with_pyffish(variant, count, options.seed)
        print(f"{variant}: {count} positions equal pyffish's but for {forgiven} pawn drops that mate", flush=True)


if __name__ == "__main__":
    main()
