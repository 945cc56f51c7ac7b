"""Hands out the moves of a node one at a time, those likely to cut off first, generating only what is needed.

The list lies in `P.moves` from `picker.begin` on, with ordering points beside it in `W.scores`; nothing is allocated.
Each call picks the best remaining move of the current stage, because most nodes look at few of them.
"""

from __future__ import annotations

import numpy as np
from numba import int64, uint64

from engine.native.bitboard import high_word, join, low_word
from engine.native.intrinsics import record_at
from engine.native.jit import address_kernel, inline
from engine.rules.attacks import attacks_from, discoverers_bb, line_bb, occupied, square_bb
from engine.rules.checks import generate_checks
from engine.rules.layout import (
    BISHOP,
    COLOUR_SHIFT,
    DRAGON,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    GOLD,
    HORSE,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PRO_PAWN,
    PRO_SILVER,
    ROOK,
    SILVER,
    TO_MASK,
    position_type,
    tables_type,
)
from engine.rules.movegen import (
    generate_captures,
    generate_drops,
    generate_evasions,
    generate_quiets,
    is_legal,
)
from engine.rules.position import current
from engine.search.history import (
    captured_type,
    continuation_points,
    is_tactical,
    move_row,
    moving_code,
    stack_at,
)
from engine.search.layout import MAX_PLY, worker_type
from engine.search.parameters import SWITCHES
from engine.search.see import exchange_at_least

(
    MAIN_HASH,
    MAIN_CAPTURES_INIT,
    MAIN_CAPTURES,
    MAIN_KILLER_1,
    MAIN_KILLER_2,
    MAIN_COUNTER,
    MAIN_QUIETS_INIT,
    MAIN_QUIETS,
    MAIN_BAD_CAPTURES,
    EVASION_HASH,
    EVASION_INIT,
    EVASIONS,
    PROBCUT_HASH,
    PROBCUT_INIT,
    PROBCUT,
    QUIESCENCE_HASH,
    QUIESCENCE_INIT,
    QUIESCENCE_CAPTURES,
    QUIESCENCE_CHECKS_INIT,
    QUIESCENCE_CHECKS,
    DONE,
) = range(21)

SKIP_QUIETS, WANT_CHECKS = 1, 2  # flags of `next_move`
EVASION_CAPTURE = 1 << 20  # captures come before other evasions
# Points stand above the place in the list, counted down, so that one maximum over plain numbers finds the first of the
# best moves: a loop that LLVM turns into vector instructions.
PLACE_BITS = 10
LAST_PLACE = (1 << PLACE_BITS) - 1

CHECK_ORDER = SWITCHES["check_order"]
CONTINUATION = SWITCHES["continuation"]
CAPTURE_HISTORY = SWITCHES["capture_history"]

position_at = record_at(position_type)
tables_at = record_at(tables_type)
worker_at = record_at(worker_type)


@inline
def picker_index(ply, excluded):
    """Index into W.pickers: a singular search has its own picker at the same ply."""
    return ply + (MAX_PLY + 4 if excluded else 0)


@inline
def picker_at(W, index):
    return W.pickers[np.uint64(index)]


@inline
def start_picker(W, index, ply, stage, hash_move, depth):
    """Begin a node's list; `hash_move` must be legal, or 0. Skips the hash stage when there is none."""
    picker = picker_at(W, index)
    picker.stage = np.int32(stage if hash_move else stage + 1)
    picker.hash_move = np.int32(hash_move)
    picker.depth = np.int32(depth)
    begin = stack_at(W, ply - 1).free
    picker.begin, picker.cursor, picker.end, picker.bad_end = begin, begin, begin, begin
    stack_at(W, ply).free = begin


@inline
def _set_checks(picker, kind, squares):
    picker.checks[kind, 0] = low_word(squares)
    picker.checks[kind, 1] = high_word(squares)


@inline
def find_check_squares(P, T, picker):
    """Fill `picker.checks`: for each type, the squares from which a piece of the side to move attacks the king."""
    king = P.king[np.uint64(P.side ^ 1)]
    back = (P.side ^ 1) << COLOUR_SHIFT
    blockers = occupied(P)
    bishop = attacks_from(T, BISHOP | back, king, blockers)
    rook = attacks_from(T, ROOK | back, king, blockers)
    gold = attacks_from(T, GOLD | back, king, blockers)
    _set_checks(picker, PAWN, attacks_from(T, PAWN | back, king, blockers))
    _set_checks(picker, LANCE, attacks_from(T, LANCE | back, king, blockers))
    _set_checks(picker, KNIGHT, attacks_from(T, KNIGHT | back, king, blockers))
    _set_checks(picker, SILVER, attacks_from(T, SILVER | back, king, blockers))
    _set_checks(picker, BISHOP, bishop)
    _set_checks(picker, ROOK, rook)
    _set_checks(picker, HORSE, bishop | attacks_from(T, KING | back, king, blockers))
    _set_checks(picker, DRAGON, rook | attacks_from(T, KING | back, king, blockers))
    _set_checks(picker, GOLD, gold)
    for kind in range(PRO_PAWN, PRO_SILVER + 1):
        _set_checks(picker, kind, gold)


@inline
def move_checks(P, T, picker, m):
    """True if a legal move gives check; `find_check_squares` must have been called for this node."""
    to = np.int64(m & TO_MASK)
    kind = np.uint64(moving_code(P, m) & 15)
    if kind == np.uint64(KING):
        direct = False
    else:
        direct = bool(join(picker.checks[kind, 0], picker.checks[kind, 1]) & square_bb(T, to))
    if direct or m & DROP_BIT:
        return direct
    # a slider that moves along its own line to the king is found above, or stood in its own way and gives no check
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    if discoverers_bb(current(P)) & square_bb(T, origin):
        return not (line_bb(T, P.king[np.uint64(P.side ^ 1)], origin) & square_bb(T, to))
    return False


@inline
def _placed(points, place):
    """Ordering points of the move at a place of its list; |points| < 2 ** 21."""
    return np.int32(points << PLACE_BITS | (LAST_PLACE - place))


@inline
def _score_captures(P, W, start, end):
    use_history = (W.parameters.switches & CAPTURE_HISTORY) != 0
    for i in range(start, end):
        m = P.moves[np.uint64(i)]
        kind = captured_type(P, m)
        points = 6 * np.int64(W.exchange[np.uint64(kind)])
        if m & (1 << 14):
            points += 1500
        if use_history:
            points += W.captures[np.uint64(move_row(P, W, m)), np.uint64(kind)]
        W.scores[np.uint64(i)] = _placed(points, i - start)


@inline
def _score_quiets(P, T, W, picker, ply, start, end):
    side = np.uint64(P.side)
    parameters = W.parameters
    switches = parameters.switches
    check_bonus = np.int64(parameters.check_bonus) if switches & CHECK_ORDER else np.int64(0)
    for i in range(start, end):
        m = P.moves[np.uint64(i)]
        code = moving_code(P, m)
        to = np.int64(m & TO_MASK)
        row = np.int64(W.move_kind[np.uint64(code)]) + to
        points = 2 * np.int64(W.butterfly[side, np.uint64(m & 0xFFFF)])
        if switches & CONTINUATION:
            points += continuation_points(W, ply, row)
        kind = np.uint64(code & 15)
        if check_bonus and join(picker.checks[kind, 0], picker.checks[kind, 1]) & square_bb(T, to):
            points += check_bonus
        W.scores[np.uint64(i)] = _placed(points, i - start)


@inline
def _score_evasions(P, W, ply, start, end):
    side = np.uint64(P.side)
    for i in range(start, end):
        m = P.moves[np.uint64(i)]
        row = move_row(P, W, m)
        kind = captured_type(P, m)
        if kind and not m & DROP_BIT:
            points = EVASION_CAPTURE + np.int64(W.exchange[np.uint64(kind)]) * 8
            points -= np.int64(W.exchange[np.uint64(moving_code(P, m) & 15)]) & 0x7FFF
        else:
            points = np.int64(W.butterfly[side, np.uint64(m & 0xFFFF)])
            points += W.continuation[np.uint64(stack_at(W, ply - 1).row), np.uint64(row)]
        W.scores[np.uint64(i)] = _placed(points, i - start)


@inline
def _pick_best(P, W, start, cursor, end):
    """Bring the best of the moves cursor .. end of the list that began at `start` to the front and return it."""
    here = np.uint64(cursor)
    highest = W.scores[here]
    i = here + np.uint64(1)
    while i < np.uint64(end):
        highest = max(highest, W.scores[i])
        i += np.uint64(1)
    place = LAST_PLACE - (np.int64(highest) & LAST_PLACE)
    best = np.uint64(start + place)
    m = P.moves[best]
    P.moves[best] = P.moves[here]
    W.scores[best] = np.int32((np.int64(W.scores[here]) & ~LAST_PLACE) | (LAST_PLACE - place))
    P.moves[here] = m
    W.scores[here] = highest
    return m


@inline
def _begin_list(W, picker, ply, start, end):
    picker.start = np.int32(start)
    picker.cursor = np.int32(start)
    picker.end = np.int32(end)
    stack_at(W, ply).free = np.int32(end)


@inline
def _special(P, T, picker, slot):
    """A killer or counter move if it can be played here and has not been handed out, else 0."""
    m = picker.killers[slot]
    if m == 0 or m == picker.hash_move:
        return np.int32(0)
    for earlier in range(slot):
        if picker.killers[earlier] == m:
            return np.int32(0)
    if not is_legal(P, T, m) or is_tactical(P, m):
        return np.int32(0)
    return m


@inline
def _is_special(picker, m):
    return m == picker.killers[0] or m == picker.killers[1] or m == picker.killers[2]


@address_kernel(int64(uint64, uint64, uint64, int64, int64, int64))
def next_move(position, tables, worker, index, ply, flags):
    """The next move of a node, 0 when there are no more. Records by address; flags: SKIP_QUIETS, WANT_CHECKS."""
    P, T, W = position_at(position), tables_at(tables), worker_at(worker)
    picker = picker_at(W, index)
    stage = np.int64(picker.stage)

    if stage == MAIN_HASH or stage == EVASION_HASH or stage == PROBCUT_HASH or stage == QUIESCENCE_HASH:
        picker.stage = np.int32(stage + 1)
        return np.int64(picker.hash_move)

    if stage == MAIN_CAPTURES_INIT or stage == PROBCUT_INIT or stage == QUIESCENCE_INIT:
        begin = np.int64(picker.begin)
        end = generate_captures(P, T, begin)
        _score_captures(P, W, begin, end)
        _begin_list(W, picker, ply, begin, end)
        stage += 1

    if stage == MAIN_CAPTURES:
        while picker.cursor < picker.end:
            m = _pick_best(P, W, np.int64(picker.start), np.int64(picker.cursor), np.int64(picker.end))
            at = picker.cursor
            picker.cursor += np.int32(1)
            if m == picker.hash_move:
                continue
            if exchange_at_least(P, T, W, m, int64(-(np.int64(W.scores[np.uint64(at)]) >> (PLACE_BITS + 5)))):
                picker.stage = np.int32(stage)
                return np.int64(m)
            P.moves[np.uint64(picker.bad_end)] = m
            picker.bad_end += np.int32(1)
        stage = MAIN_KILLER_1

    while MAIN_KILLER_1 <= stage <= MAIN_COUNTER:
        slot = stage - MAIN_KILLER_1
        stage += 1
        if not flags & SKIP_QUIETS:
            m = _special(P, T, picker, slot)
            if m:
                picker.stage = np.int32(stage)
                return np.int64(m)

    if stage == MAIN_QUIETS_INIT:
        begin = np.int64(picker.bad_end)
        end = begin
        if not flags & SKIP_QUIETS:
            end = generate_quiets(P, T, begin)
            end = generate_drops(P, T, end)
            _score_quiets(P, T, W, picker, ply, begin, end)
        _begin_list(W, picker, ply, begin, end)
        stage = MAIN_QUIETS

    if stage == MAIN_QUIETS:
        if not flags & SKIP_QUIETS:
            while picker.cursor < picker.end:
                m = _pick_best(P, W, np.int64(picker.start), np.int64(picker.cursor), np.int64(picker.end))
                picker.cursor += np.int32(1)
                if m != picker.hash_move and not _is_special(picker, m):
                    picker.stage = np.int32(stage)
                    return np.int64(m)
        picker.cursor = picker.begin
        picker.end = picker.bad_end
        stage = MAIN_BAD_CAPTURES

    if stage == MAIN_BAD_CAPTURES:
        picker.stage = np.int32(stage)
        if picker.cursor < picker.end:
            m = P.moves[np.uint64(picker.cursor)]
            picker.cursor += np.int32(1)
            return np.int64(m)
        return np.int64(0)

    if stage == EVASION_INIT:
        begin = np.int64(picker.begin)
        end = generate_evasions(P, T, begin)
        _score_evasions(P, W, ply, begin, end)
        _begin_list(W, picker, ply, begin, end)
        stage = EVASIONS

    if stage == EVASIONS or stage == QUIESCENCE_CAPTURES or stage == PROBCUT:
        picker.stage = np.int32(stage)
        while picker.cursor < picker.end:
            m = _pick_best(P, W, np.int64(picker.start), np.int64(picker.cursor), np.int64(picker.end))
            picker.cursor += np.int32(1)
            if m == picker.hash_move:
                continue
            if stage == PROBCUT and not exchange_at_least(P, T, W, m, np.int64(picker.threshold)):
                continue
            return np.int64(m)
        if stage != QUIESCENCE_CAPTURES or not flags & WANT_CHECKS:
            picker.stage = np.int32(DONE)
            return np.int64(0)
        stage = QUIESCENCE_CHECKS_INIT

    if stage == QUIESCENCE_CHECKS_INIT:
        begin = np.int64(picker.begin)
        end = generate_checks(P, T, begin)
        _begin_list(W, picker, ply, begin, end)
        stage = QUIESCENCE_CHECKS

    if stage == QUIESCENCE_CHECKS:
        picker.stage = np.int32(stage)
        while picker.cursor < picker.end:
            m = P.moves[np.uint64(picker.cursor)]
            picker.cursor += np.int32(1)
            if m != picker.hash_move and not is_tactical(P, m):
                return np.int64(m)
    return np.int64(0)
