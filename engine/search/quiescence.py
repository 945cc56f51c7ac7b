"""Quiescence: captures, pawn promotions, a first ply of checks and all evasions, until a position is quiet."""

from __future__ import annotations

import numpy as np
from numba import int32, int64, uint64

from engine.native.intrinsics import (
    address_of,
    atomic_load_i64,
    atomic_store_i64,
    call_clock,
    call_evaluation,
    call_picker,
    call_search,
    load_i64,
    record_at,
)
from engine.native.jit import address_kernel, inline
from engine.rules.checks import mate_in_one
from engine.rules.endings import NONE, SUPERIOR, declaration
from engine.rules.layout import TO_MASK, position_type, shared_type, tables_type
from engine.rules.movegen import gives_check, is_legal
from engine.rules.position import in_check, make_move, position_key, unmake_move
from engine.search.hash_table import (
    entry_bound,
    entry_depth,
    entry_evaluation,
    entry_move,
    entry_value,
    entry_was_pv,
    prefetch_child,
    probe,
    store,
)
from engine.search.history import captured_type, correction, is_tactical, move_row, stack_at
from engine.search.layout import (
    BOUND_EXACT,
    BOUND_LOWER,
    BOUND_UPPER,
    EVALUATION_LIMIT,
    INFINITE,
    MATE,
    MATE_IN_MAX,
    MAX_PLY,
    NO_VALUE,
    PV_NODE,
    WORKER,
    worker_type,
)
from engine.search.parameters import SWITCHES
from engine.search.path import (
    draw_value,
    drawn_by_length,
    path_class,
    path_value,
)
from engine.search.picker import (
    EVASION_HASH,
    QUIESCENCE_HASH,
    WANT_CHECKS,
    picker_index,
    start_picker,
)
from engine.search.see import exchange_at_least

USE_CHECKS = SWITCHES["quiescence_checks"]
USE_DELTA = SWITCHES["delta"]
USE_MATE_IN_ONE = SWITCHES["quiescence_mate"]
USE_CORRECTION = SWITCHES["correction"]
USE_SUPERIOR = SWITCHES["superior"]

CLOCK_INTERVAL = 511  # nodes between two looks at the clock, less one: a power of two
assert WORKER.fields is not None
CLOCK_WORDS = WORKER.fields["clock_words"][1]

SEARCH_SIGNATURE = int64(uint64, uint64, uint64, uint64, int64, int64, int64, int64, int64)

position_at = record_at(position_type)
tables_at = record_at(tables_type)
shared_at = record_at(shared_type)
worker_at = record_at(worker_type)


@inline
def raw_evaluation(P, T, C):
    """What the evaluation says, centipawns for the side to move."""
    return call_evaluation(C.evaluate, address_of(P), address_of(T), address_of(C))


@inline
def bounded(value):
    """A value kept out of the range of mates."""
    return max(int64(-EVALUATION_LIMIT), min(int64(EVALUATION_LIMIT), value))


@inline
def corrected(P, W, ply, value):
    """An evaluation with what the thread learned about positions like this one."""
    if W.parameters.switches & USE_CORRECTION:
        value += correction(P, W, ply) * np.int64(W.parameters.correction_weight) >> 14
    return bounded(value)


@inline
def is_stopped(C):
    return atomic_load_i64(C.stop) != 0


@inline
def _look_at_clock(C, W):
    """Stop all threads once the deadline has passed."""
    if C.clock != np.uint64(0) and C.deadline != 0:
        words = address_of(W) + np.uint64(CLOCK_WORDS)
        call_clock(C.clock, words if C.clock_id < 0 else np.uint64(C.clock_id), words)
        now = load_i64(words) * C.clock_unit + load_i64(words + np.uint64(8))
        if W.looked != 0:
            W.longest_pause = max(W.longest_pause, now - W.looked)
        W.looked = now
        # a thread that was held off once may be again on its way out
        if now + max(int64(0), W.longest_pause - C.known_pause) >= C.deadline:
            atomic_store_i64(C.stop, int64(1))


@inline
def play(P, T, C, W, ply, row, m):
    """Make a move from a ply: count it, note it on the stack, mind the limits of nodes and time."""
    entry = stack_at(W, ply)
    entry.move = np.int32(m)
    entry.row = np.int32(row)
    make_move(P, T, np.int32(m))
    W.nodes += 1
    if W.nodes >= W.node_limit:
        atomic_store_i64(C.stop, int64(1))
    if W.nodes & CLOCK_INTERVAL == 0:
        _look_at_clock(C, W)


@inline
def start_line(W, ply):
    W.line_length[np.uint64(ply)] = np.int32(0)


@inline
def extend_line(W, ply, m):
    """The main line at a ply becomes a move and the line below it."""
    here, below = np.uint64(ply), np.uint64(ply + 1)
    count = W.line_length[below]
    W.line[here, 0] = np.int32(m)
    for i in range(count):
        W.line[here, np.uint64(i + 1)] = W.line[below, np.uint64(i)]
    W.line_length[here] = np.int32(count + 1)


@inline
def bound_fits(data, value, beta):
    """True if a table entry's bound makes its value count against beta."""
    return (entry_bound(data) & (BOUND_LOWER if value >= beta else BOUND_UPPER)) != 0


@address_kernel(SEARCH_SIGNATURE)
def quiescence(position, tables, shared, worker, ply, alpha, beta, depth, kind):
    """Value of the current position when only forcing moves are played; depth 0 also tries quiet checks, below not."""
    P, T, C, W = position_at(position), tables_at(tables), shared_at(shared), worker_at(worker)
    pv_node = (kind & PV_NODE) != 0
    parameters = W.parameters
    switches = parameters.switches

    # Step 1. Ends of the path.
    start_line(W, ply)
    if ply > W.seldepth:
        W.seldepth = ply
    if is_stopped(C):
        return int64(0)
    checked = in_check(P)
    path = path_class(P, ply)
    if path != NONE:
        if path < SUPERIOR:
            return path_value(P, C, W, path)
        if not pv_node and switches & USE_SUPERIOR:
            return beta if path == SUPERIOR else alpha
    if drawn_by_length(P, C):
        return draw_value(P, C)
    if ply >= MAX_PLY:
        return int64(0) if checked else bounded(raw_evaluation(P, T, C))

    # Step 2. What the table knows.
    key = position_key(P)
    data = probe(C, key)
    hash_move = int64(0)
    hash_value = int64(0)
    table_depth = int64(0) if checked or depth >= 0 else int64(-1)
    was_pv = int64(pv_node)
    if data:
        hash_move = entry_move(data)
        hash_value = entry_value(data, ply)
        was_pv |= entry_was_pv(data)
        if not pv_node and entry_depth(data) >= table_depth and bound_fits(data, hash_value, beta):
            return hash_value
        if hash_move and not is_legal(P, T, int32(hash_move)):
            hash_move = int64(0)

    # A side that may declare a win (nyugyoku), or reach the other king's square under the try rule, has won.
    if not checked and C.impasse_rule and declaration(P, T, C):
        return MATE - ply - 1

    # Step 3. Standing pat: a quiet side may decline every capture. Below beta, a mate in one may still turn up.
    best = int64(-INFINITE)
    futility_base = int64(-INFINITE)
    evaluation = int64(NO_VALUE)
    if not checked:
        if data:
            evaluation = entry_evaluation(data)
        if evaluation == NO_VALUE:
            evaluation = bounded(raw_evaluation(P, T, C))
        best = corrected(P, W, ply, evaluation)
        futility_base = best + parameters.delta_margin
        if data and abs(hash_value) < MATE_IN_MAX and bound_fits(data, hash_value, best + 1):
            best = hash_value
        if best >= beta:
            if data == np.uint64(0):
                store(C, key, ply, int64(0), best, evaluation, int64(-2), BOUND_LOWER, was_pv)
            return best
        alpha = max(alpha, best)
        if switches & USE_MATE_IN_ONE and data == np.uint64(0) and depth >= parameters.quiescence_mate_depth:
            mate = mate_in_one(P, T, int64(stack_at(W, ply - 1).free))
            if mate:
                start_line(W, ply + 1)
                extend_line(W, ply, mate)
                store(C, key, ply, int64(mate), MATE - ply - 1, evaluation, int64(MAX_PLY), BOUND_EXACT, was_pv)
                return MATE - ply - 1

    # Step 4. Forcing moves.
    index = picker_index(ply, False)
    start_picker(W, index, ply, EVASION_HASH if checked else QUIESCENCE_HASH, hash_move, depth)
    flags = int64(WANT_CHECKS if depth == 0 and switches & USE_CHECKS else 0)
    best_move = int64(0)
    move_count = int64(0)
    quiet_evasions = int64(0)
    entered_alpha = alpha
    last_square = np.int64(stack_at(W, ply - 1).move) & TO_MASK
    while True:
        m = call_picker(W.next_move, position, tables, worker, index, ply, flags)
        if m == 0:
            break
        move_count += 1
        prefetch_child(P, T, C, m)
        tactical = is_tactical(P, m)
        if best > -MATE_IN_MAX:
            if not checked:
                # An exchange goes on where it began; elsewhere a few tries are enough, and none far from the horizon.
                # Without these two limits large hands and many checks make trees of millions of nodes.
                elsewhere = m & TO_MASK != last_square
                if elsewhere and depth <= parameters.quiescence_recaptures:
                    continue
                quiet = not gives_check(P, T, int32(m))
                if elsewhere and quiet and tactical and move_count > parameters.quiescence_tries:
                    continue
                if switches & USE_DELTA and tactical and quiet:
                    reach = futility_base + W.exchange[np.uint64(captured_type(P, m))]
                    if m & (1 << 14):
                        reach += 400
                    if reach <= alpha:
                        best = max(best, reach)
                        continue
                    if futility_base <= alpha and not exchange_at_least(P, T, W, int32(m), int64(1)):
                        best = max(best, futility_base)
                        continue
                if not exchange_at_least(P, T, W, int32(m), int64(parameters.quiescence_see)):
                    continue
            elif not tactical:
                # one quiet evasion that does not lose is taken as enough to go on
                if quiet_evasions > 1:
                    continue
                quiet_evasions += 1
        play(P, T, C, W, ply, move_row(P, W, m), m)
        value = -call_search(
            W.quiescence, position, tables, shared, worker, ply + 1, -beta, -alpha, depth - 1, kind & PV_NODE
        )
        unmake_move(P, T)
        if is_stopped(C):
            return int64(0)
        if value > best:
            best = value
            if value > alpha:
                best_move = m
                if pv_node:
                    extend_line(W, ply, m)
                if value >= beta:
                    break
                alpha = value

    # Step 5. No evasion: mated.
    if checked and move_count == 0:
        return ply - MATE
    bound = BOUND_LOWER if best >= beta else (BOUND_EXACT if pv_node and best > entered_alpha else BOUND_UPPER)
    store(C, key, ply, best_move, best, evaluation, table_depth, bound, was_pv)
    return best
