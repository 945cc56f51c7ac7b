"""The root of the search: its move list, one window, one line of one depth."""

from __future__ import annotations

import numpy as np
from numba import boolean, int32, int64, void

from engine.native.intrinsics import address_of, call_search
from engine.native.jit import inline, kernel
from engine.rules.endings import NONE
from engine.rules.layout import DROP_BIT, position_type, shared_type, tables_type
from engine.rules.movegen import is_legal
from engine.rules.position import in_check, position_key, unmake_move
from engine.search.alphabeta import ONE, reduction, reward_cut_off
from engine.search.hash_table import entry_move, probe, store
from engine.search.history import is_tactical, move_row, stack_at
from engine.search.layout import (
    BOUND_EXACT,
    BOUND_LOWER,
    BOUND_UPPER,
    CUT_NODE,
    INFINITE,
    MATE_IN_MAX,
    NO_VALUE,
    PV_NODE,
    TRIED,
    worker_type,
)
from engine.search.parameters import SWITCHES
from engine.search.path import path_class
from engine.search.picker import find_check_squares, move_checks, picker_at, picker_index
from engine.search.quiescence import (
    bounded,
    corrected,
    is_stopped,
    play,
    raw_evaluation,
    start_line,
)

REDUCTIONS = SWITCHES["late_move_reduction"]
ASPIRATION = SWITCHES["aspiration"]

EXACT, FAILED_LOW, FAILED_HIGH, STOPPED = 0, 1, 2, 3  # how a window ended


@inline
def root_move(W, i):
    """The i-th best root move's record."""
    return W.root_moves[np.uint64(W.root_order[np.uint64(i)])]


@kernel(void(position_type, worker_type, int64))
def begin_search(P, W, count):
    """Reset what belongs to one search, whose root moves are `P.moves[:count]`."""
    P.root_ply = P.ply
    W.nodes, W.longest_pause = 0, 0
    W.seldepth, W.root_depth, W.null_ply, W.best_changes = 0, 0, 0, 0
    for i in range(len(W.stack)):
        entry = W.stack[i]
        entry.move, entry.row, entry.excluded, entry.reduction = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
        entry.killers[0], entry.killers[1] = np.int32(0), np.int32(0)
        entry.cutoffs, entry.extensions, entry.free = np.int32(0), np.int32(0), np.int32(0)
        entry.move_count, entry.tt_pv, entry.static_eval = np.int32(0), np.int32(0), np.int32(NO_VALUE)
    for i in range(count):
        W.root_order[i] = np.int32(i)
        candidate = W.root_moves[i]
        candidate.move = P.moves[i]
        candidate.score, candidate.previous = np.int32(-INFINITE), np.int32(-INFINITE)
        candidate.average = np.int32(-INFINITE)
        candidate.length, candidate.effort, candidate.seldepth = np.int32(1), 0, np.int32(0)
        candidate.bound = np.int32(BOUND_EXACT)
        candidate.line[0] = candidate.move
    W.root_count = count


@inline
def _keep_line(W, entry, m):
    """Store a move and the line found below it with the root move."""
    count = W.line_length[1]
    entry.line[0] = np.int32(m)
    for i in range(count):
        entry.line[np.uint64(i + 1)] = W.line[1, np.uint64(i)]
    entry.length = np.int32(count + 1)


@inline
def _root_reduction(W, depth, move_count, tactical, gives, m, window):
    r = reduction(W, depth, move_count, True, window) - W.parameters.reduction_pv
    if gives:
        r -= W.parameters.reduction_check
    if m & DROP_BIT:
        r += W.parameters.reduction_drop
    if tactical:
        r -= ONE
    return r


@inline
def _search_root(P, T, C, W, alpha, beta, depth):
    """Search the root moves from `W.root_index` on in one window; returns the best value (fail-soft)."""
    addresses = address_of(P), address_of(T), address_of(C), address_of(W)
    p, t, c, w = addresses
    entry = stack_at(W, 0)
    entry.tt_pv = np.int32(1)
    entry.static_eval = np.int32(NO_VALUE)
    if not in_check(P):
        entry.static_eval = np.int32(corrected(P, W, int64(0), bounded(raw_evaluation(P, T, C))))
    W.root_delta = beta - alpha
    picker = picker_at(W, picker_index(0, False))
    find_check_squares(P, T, picker)
    entered_alpha = alpha
    best = int64(-INFINITE)
    best_move = int64(0)
    quiet_count = int64(0)
    capture_count = int64(0)
    for i in range(W.root_index, W.root_count):
        candidate = root_move(W, i)
        m = np.int64(candidate.move)
        move_count = int64(i - W.root_index + 1)
        tactical = is_tactical(P, m)
        gives = move_checks(P, T, picker, m)
        row = move_row(P, W, m)
        nodes = W.nodes
        new_depth = depth - 1
        entry.move_count = np.int32(move_count)
        entry.free = np.int32(0)
        W.seldepth = 0
        play(P, T, C, W, int64(0), row, m)
        start_line(W, int64(1))
        value = int64(0)
        reduced = False
        if W.parameters.switches & REDUCTIONS and depth >= 3 and move_count > 2:
            r = _root_reduction(W, depth, move_count, tactical, gives, m, beta - alpha)
            shallow = min(max(int64(1), new_depth - (r >> 10)), new_depth)
            reduced = shallow < new_depth
            if reduced:
                value = -call_search(W.search, p, t, c, w, int64(1), -(alpha + 1), -alpha, shallow, int64(CUT_NODE))
        if move_count > 1 and (not reduced or value > alpha):
            value = -call_search(W.search, p, t, c, w, int64(1), -(alpha + 1), -alpha, new_depth, int64(CUT_NODE))
        if move_count == 1 or value > alpha:
            value = -call_search(W.search, p, t, c, w, int64(1), -beta, -alpha, new_depth, int64(PV_NODE))
        unmake_move(P, T)
        if is_stopped(C):
            return best
        candidate.effort += W.nodes - nodes
        if move_count == 1 or value > alpha:
            candidate.score = np.int32(value)
            known = candidate.average != -INFINITE
            candidate.average = np.int32((value * 2 + candidate.average) // 3 if known else value)
            candidate.seldepth = np.int32(W.seldepth)
            candidate.bound = np.int32(BOUND_EXACT)
            if value >= beta:
                candidate.bound = np.int32(BOUND_LOWER)
            elif value <= alpha:
                candidate.bound = np.int32(BOUND_UPPER)
            _keep_line(W, candidate, m)
            if move_count > 1 and W.root_index == 0:
                W.best_changes += 1
        else:
            candidate.score = np.int32(-INFINITE)
        if value > best:
            best = value
            if value > alpha:
                best_move = m
                if value >= beta:
                    break
                alpha = value
        if m != best_move:
            if tactical:
                if capture_count < TRIED:
                    W.tried_captures[0, np.uint64(capture_count)] = np.int32(m)
                    capture_count += 1
            elif quiet_count < TRIED:
                W.tried_quiets[0, np.uint64(quiet_count)] = np.int32(m)
                quiet_count += 1
    if best_move:
        reward_cut_off(P, W, int64(0), best_move, depth, quiet_count, capture_count)
    if W.root_index == 0:
        bound = BOUND_LOWER if best >= beta else (BOUND_EXACT if best > entered_alpha else BOUND_UPPER)
        raw = int64(NO_VALUE)
        store(C, position_key(P), int64(0), best_move, best, raw, depth, bound, int64(1))
    return best


@kernel(void(worker_type, int64, int64))
def sort_root(W, start, end):
    """Order root moves start .. end by score; equal ones keep their order."""
    for i in range(start + 1, end):
        index = W.root_order[np.uint64(i)]
        score = W.root_moves[np.uint64(index)].score
        previous = W.root_moves[np.uint64(index)].previous
        j = i
        while j > start:
            other = W.root_moves[np.uint64(W.root_order[np.uint64(j - 1)])]
            if other.score > score or (other.score == score and other.previous >= previous):
                break
            W.root_order[np.uint64(j)] = W.root_order[np.uint64(j - 1)]
            j -= 1
        W.root_order[np.uint64(j)] = index


@kernel(void(worker_type, int64))
def begin_depth(W, depth):
    """Remember the scores of the last iteration; what went on since it is no pause of the search."""
    W.root_depth, W.looked = depth, 0
    for i in range(W.root_count):
        entry = W.root_moves[np.uint64(i)]
        entry.previous = entry.score


@kernel(void(worker_type, int64, int64))
def begin_line(W, line, depth):
    """Set the first window for one line of MultiPV: narrow around the line's mean score, or full."""
    W.root_index = line
    W.fails = 0
    centre = np.int64(root_move(W, line).average)
    W.alpha, W.beta = int64(-INFINITE), int64(INFINITE)
    W.delta = int64(W.parameters.aspiration_width) + abs(centre) // 50
    deep = depth >= W.parameters.aspiration_depth and W.parameters.switches & ASPIRATION
    if deep and abs(centre) < MATE_IN_MAX:
        W.alpha = max(centre - W.delta, int64(-INFINITE))
        W.beta = min(centre + W.delta, int64(INFINITE))


@kernel(int64(position_type, tables_type, shared_type, worker_type, int64, boolean))
def search_line(P, T, C, W, depth, tell):
    """Search one line of one depth until its value lies in the window: EXACT, or STOPPED.

    With `tell`, a window that fails is returned as FAILED_LOW or FAILED_HIGH and the next call goes on from there.
    """
    while True:
        shallower = max(int64(1), depth - W.fails)
        value = _search_root(P, T, C, W, W.alpha, W.beta, shallower)
        sort_root(W, W.root_index, W.root_count)
        if is_stopped(C):
            return int64(STOPPED)
        if value <= W.alpha and W.alpha > -INFINITE:
            W.beta = (W.alpha + W.beta) >> 1
            W.alpha = max(value - W.delta, int64(-INFINITE))
            if value <= -MATE_IN_MAX:
                W.alpha = int64(-INFINITE)
            W.fails = 0
            outcome = int64(FAILED_LOW)
        elif value >= W.beta and W.beta < INFINITE:
            W.beta = min(value + W.delta, int64(INFINITE))
            if value >= MATE_IN_MAX:
                W.beta = int64(INFINITE)
            W.fails += 1
            outcome = int64(FAILED_HIGH)
        else:
            return int64(EXACT)
        W.delta += W.delta // 2 + 5
        if tell:
            return outcome


@kernel(int64(position_type, tables_type, shared_type, int64))
def table_move(P, T, C, ply):
    """The table's move for the current position, `ply` plies below the root; 0 if there is none or the path ends."""
    if path_class(P, ply) != NONE:
        return int64(0)
    m = entry_move(probe(C, position_key(P)))
    return m if m and is_legal(P, T, int32(m)) else int64(0)


@kernel(void(worker_type, int64))
def put_first(W, m):
    """Let the search begin with root move `m`, if it is one: the answer, should there be no time for any other."""
    for i in range(W.root_count):
        if W.root_moves[i].move == m:
            W.root_order[0], W.root_order[i] = np.int32(i), np.int32(0)
            return
