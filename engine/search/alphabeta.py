"""The search: principal variation search with a transposition table, pruning, reductions and extensions.

`search` returns the value of the current position, in centipawns for the side to move, within alpha .. beta as far
as it matters (fail-soft). Its steps are numbered; each says what it does and why. The root has a loop of its own in
root.py. State lives in records given by address: position, tables of the variant, what threads share, this worker.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from engine.native.intrinsics import call_picker, call_search
from engine.native.jit import address_kernel, inline, kernel
from engine.rules.checks import mate_in_one
from engine.rules.endings import DECLARED, NONE, SUPERIOR, declaration
from engine.rules.layout import DROP_BIT, NULL_MOVE, position_type
from engine.rules.movegen import is_legal
from engine.rules.position import in_check, make_null, position_key, unmake_move, unmake_null
from engine.search.hash_table import (
    entry_bound,
    entry_depth,
    entry_evaluation,
    entry_move,
    entry_value,
    entry_was_pv,
    prefetch_child,
    prefetch_entry,
    probe,
    store,
)
from engine.search.history import (
    butterfly_bonus,
    capture_bonus,
    captured_type,
    continuation_bonus,
    continuation_points,
    is_tactical,
    move_row,
    quiet_bonus,
    stack_at,
    update_correction,
)
from engine.search.layout import (
    BOUND_EXACT,
    BOUND_LOWER,
    BOUND_NONE,
    BOUND_UPPER,
    CUT_NODE,
    INFINITE,
    MATE,
    MATE_IN_MAX,
    MAX_PLY,
    NO_VALUE,
    PV_NODE,
    TRIED,
    worker_type,
)
from engine.search.mate_short import mate_in_three
from engine.search.parameters import SWITCHES
from engine.search.path import (
    draw_value,
    drawn_by_length,
    near_the_limit,
    path_class,
    path_value,
)
from engine.search.picker import (
    EVASION_HASH,
    MAIN_HASH,
    PROBCUT_HASH,
    SKIP_QUIETS,
    find_check_squares,
    move_checks,
    picker_at,
    picker_index,
    start_picker,
)
from engine.search.quiescence import (
    SEARCH_SIGNATURE,
    bound_fits,
    bounded,
    corrected,
    extend_line,
    is_stopped,
    play,
    position_at,
    raw_evaluation,
    shared_at,
    start_line,
    tables_at,
    worker_at,
)
from engine.search.see import exchange_at_least

RAZORING = SWITCHES["razoring"]
REVERSE_FUTILITY = SWITCHES["reverse_futility"]
NULL_MOVES = SWITCHES["null_move"]
NULL_VERIFY = SWITCHES["null_verify"]
INTERNAL_REDUCTION = SWITCHES["internal_reduction"]
PROBCUTS = SWITCHES["probcut"]
LATE_MOVES = SWITCHES["late_move_pruning"]
FUTILITY = SWITCHES["futility"]
CAPTURE_FUTILITY = SWITCHES["capture_futility"]
HISTORY_PRUNING = SWITCHES["history_pruning"]
EXCHANGE_PRUNING = SWITCHES["see_pruning"]
SINGULAR = SWITCHES["singular"]
MULTI_CUT = SWITCHES["multi_cut"]
DOUBLE_EXTENSION = SWITCHES["double_extension"]
NEGATIVE_EXTENSION = SWITCHES["negative_extension"]
CHECK_EXTENSION = SWITCHES["check_extension"]
REDUCTIONS = SWITCHES["late_move_reduction"]
CORRECTION = SWITCHES["correction"]
KILLERS = SWITCHES["killers"]
USE_MATE_IN_ONE = SWITCHES["mate_in_one"]
USE_MATE_IN_THREE = SWITCHES["mate_in_three"]
HINDSIGHT = SWITCHES["hindsight"]
EVALUATION_ORDER = SWITCHES["evaluation_order"]
USE_SUPERIOR = SWITCHES["superior"]
MATE_DISTANCE = SWITCHES["mate_distance"]

ONE = 1024  # one ply of reduction


@inline
def history_size(depth, slope, base, limit):
    """Size of a bonus or malus for a cut-off at a depth."""
    return min(int64(limit), slope * depth + base)


@inline
def reduction(W, depth, move_count, improving, window):
    """Late move reduction before adjustments, in 1024ths of a ply."""
    parameters = W.parameters
    product = np.int64(W.reductions[np.uint64(depth)]) * W.reductions[np.uint64(min(move_count, int64(255)))]
    r = product + parameters.reduction_base - window * parameters.reduction_window // max(int64(1), W.root_delta)
    if not improving and product > ONE:
        r += parameters.reduction_improving
    return r


@kernel(int64(position_type, worker_type, int64, int64, int64, int64, int64))
def reward_cut_off(P, W, ply, best_move, depth, quiet_count, capture_count):
    """Learn from a cut-off: reward its move, punish the moves tried before it, remember killers and counters."""
    parameters = W.parameters
    bonus = history_size(depth, parameters.bonus_slope, parameters.bonus_base, parameters.bonus_limit)
    malus = history_size(depth, parameters.malus_slope, int64(0), parameters.malus_limit)
    here = np.uint64(ply)
    entry, before = stack_at(W, ply), stack_at(W, ply - 1)
    if is_tactical(P, best_move):
        capture_bonus(P, W, int32(best_move), bonus)
    else:
        quiet_bonus(P, W, ply, int32(best_move), bonus)
        for i in range(quiet_count):
            quiet_bonus(P, W, ply, W.tried_quiets[here, np.uint64(i)], -malus)
        if entry.killers[0] != best_move:
            entry.killers[1] = entry.killers[0]
            entry.killers[0] = np.int32(best_move)
        W.counters[np.uint64(before.row)] = np.int32(best_move)
    for i in range(capture_count):
        capture_bonus(P, W, W.tried_captures[here, np.uint64(i)], -malus)
    # a quiet first move of the other side that is refuted at once was a bad choice there
    if before.move_count == 1 and P.undo[np.uint64(P.ply)].captured == 0 and before.row != 0:
        continuation_bonus(W, ply - 1, int64(before.row), -malus)
    return int64(0)


@inline
def reward_answer(P, W, ply, depth):
    """Nothing here reached alpha: the quiet move that led here was good."""
    before = stack_at(W, ply - 1)
    if before.row != 0 and P.undo[np.uint64(P.ply)].captured == 0:
        parameters = W.parameters
        bonus = history_size(depth, parameters.bonus_slope, parameters.bonus_base, parameters.bonus_limit)
        continuation_bonus(W, ply - 1, int64(before.row), bonus >> 1)


@inline
def _won(C, W, key, ply, m, value, tt_pv):
    """Keep a win found without searching; `m` is the move, or DECLARED. Returns its value."""
    if m != DECLARED:
        start_line(W, ply + 1)
        extend_line(W, ply, m)
    move = int64(max(m, int32(0)))
    store(C, key, ply, move, value, int64(NO_VALUE), int64(MAX_PLY), BOUND_EXACT, int64(tt_pv))
    return value


@address_kernel(SEARCH_SIGNATURE)
def search(position, tables, shared, worker, ply, alpha, beta, depth, kind):
    """Value of the current position searched `depth` plies deep; `kind`: PV_NODE, CUT_NODE or neither."""
    P, T, C, W = position_at(position), tables_at(tables), shared_at(shared), worker_at(worker)
    parameters = W.parameters
    switches = parameters.switches
    pv_node = (kind & PV_NODE) != 0
    cut_node = (kind & CUT_NODE) != 0

    # Step 1. Leaves: only forcing moves from here on.
    if depth <= 0:
        return call_search(W.quiescence, position, tables, shared, worker, ply, alpha, beta, int64(0), kind & PV_NODE)
    depth = min(depth, int64(MAX_PLY))
    start_line(W, ply)
    if pv_node and ply > W.seldepth:
        W.seldepth = ply
    if is_stopped(C):
        return int64(0)
    entry = stack_at(W, ply)
    before = stack_at(W, ply - 1)
    excluded = np.int64(entry.excluded)
    checked = in_check(P)

    # Step 2. The rules end the path: repetition, perpetual check, too many moves.
    # A superior position (same board, more in hand) is no end of the game, so it only gives a bound.
    if excluded == 0:
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

        # Step 3. Mate distance: even a mate here could not beat a shorter one already found.
        if switches & MATE_DISTANCE:
            alpha = max(alpha, ply - MATE)
            beta = min(beta, MATE - ply - 1)
            if alpha >= beta:
                return alpha

    # Step 4. What the table knows. Its move is checked for legality before anything trusts it.
    key = position_key(P)
    data = probe(C, key)
    hash_move = int64(0)
    hash_value = int64(0)
    hash_depth = int64(-100)
    hash_bound = int64(BOUND_NONE)
    if data:
        hash_move = entry_move(data)
        hash_value = entry_value(data, ply)
        hash_depth = entry_depth(data)
        hash_bound = entry_bound(data)
        if hash_move and not is_legal(P, T, int32(hash_move)):
            hash_move = int64(0)
    if excluded == 0:
        entry.tt_pv = np.int32(1 if pv_node or (data and entry_was_pv(data)) else 0)
    tt_pv = entry.tt_pv != 0
    hash_tactical = hash_move != 0 and is_tactical(P, hash_move)

    # Step 5. Table cut-off.
    if (
        not pv_node
        and excluded == 0
        and hash_depth >= depth + (1 if hash_value <= alpha else 0)
        and bound_fits(data, hash_value, beta)
        and (cut_node == (hash_value >= beta) or depth > 5)
        and not near_the_limit(P, C)
    ):
        if hash_move and hash_value >= beta and not hash_tactical:
            bonus = history_size(depth, parameters.bonus_slope, parameters.bonus_base, parameters.bonus_limit)
            quiet_bonus(P, W, ply, int32(hash_move), bonus)
        return hash_value

    # Step 6. The game is won: by declaring (nyugyoku), or by a short mate found without searching.
    if not checked and excluded == 0 and C.impasse_rule:
        win = declaration(P, T, C)
        if win:
            return _won(C, W, key, ply, win, MATE - ply - 1, tt_pv)
    if not checked and excluded == 0 and data == np.uint64(0):
        mate = int32(0)
        if switches & USE_MATE_IN_ONE:
            mate = mate_in_one(P, T, int64(before.free))
        if mate:
            return _won(C, W, key, ply, mate, MATE - ply - 1, tt_pv)
        if switches & USE_MATE_IN_THREE and depth >= parameters.mate_in_three_depth:
            mate = mate_in_three(P, T, int64(before.free))
            if mate:
                return _won(C, W, key, ply, mate, MATE - ply - 3, tt_pv)

    # Step 7. Static evaluation, and whether the side to move has been improving since its last moves.
    evaluation = int64(NO_VALUE)
    raw = int64(NO_VALUE)
    improving = False
    if checked:
        entry.static_eval = np.int32(NO_VALUE)
    else:
        if excluded:
            evaluation = np.int64(entry.static_eval)
        else:
            if data:
                raw = entry_evaluation(data)
            if raw == NO_VALUE:
                raw = bounded(raw_evaluation(P, T, C))
                if data == np.uint64(0):
                    store(C, key, ply, int64(0), int64(0), raw, int64(-3), BOUND_NONE, int64(tt_pv))
            evaluation = corrected(P, W, ply, raw)
            entry.static_eval = np.int32(evaluation)
            if data and abs(hash_value) < MATE_IN_MAX and bound_fits(data, hash_value, evaluation + 1):
                evaluation = hash_value
        earlier = np.int64(stack_at(W, ply - 2).static_eval)
        if earlier == NO_VALUE:
            earlier = np.int64(stack_at(W, ply - 4).static_eval)
        improving = earlier == NO_VALUE or entry.static_eval > earlier
        # The move that led here is better, for ordering, the worse this evaluation is against the one before it.
        if (
            switches & EVALUATION_ORDER
            and excluded == 0
            and before.static_eval != NO_VALUE
            and before.move_count > 0
            and P.undo[np.uint64(P.ply)].captured == 0
        ):
            bonus = -(np.int64(entry.static_eval) + before.static_eval) * parameters.evaluation_bonus
            limit = np.int64(parameters.evaluation_bonus_limit)
            butterfly_bonus(W, P.side ^ 1, int64(before.move), max(-limit, min(limit, bonus)))
    # A move that was reduced a lot, and did not let the other side improve, is given a ply back.
    prior = np.int64(before.reduction)
    before.reduction = np.int32(0)
    if switches & HINDSIGHT and prior >= 3 and not checked and before.static_eval != NO_VALUE:
        if entry.static_eval + before.static_eval <= 0:
            depth += 1
        elif prior < 5 and depth >= 2 and entry.static_eval + before.static_eval > 120:
            depth -= 1
    stack_at(W, ply + 2).cutoffs = np.int32(0)
    stack_at(W, ply + 2).killers[0] = np.int32(0)
    stack_at(W, ply + 2).killers[1] = np.int32(0)
    stack_at(W, ply + 1).excluded = np.int32(0)
    beta_is_plain = abs(beta) < MATE_IN_MAX

    if not pv_node and not checked:
        # Step 8. Razoring: so far below alpha that only captures could help; believe them. Not within a singular
        # search: quiescence would take over the move picker that the loop around that search still needs.
        if (
            switches & RAZORING
            and excluded == 0
            and alpha < MATE_IN_MAX
            and evaluation < alpha - parameters.razor_base - parameters.razor_slope * depth * depth
        ):
            value = call_search(
                W.quiescence, position, tables, shared, worker, ply, alpha, alpha + 1, int64(0), int64(0)
            )
            if value <= alpha and value > -MATE_IN_MAX:
                return value

        # Step 9. Reverse futility: so far above beta that a quiet move by the other side will not change it.
        if (
            switches & REVERSE_FUTILITY
            and not tt_pv
            and excluded == 0
            and depth <= parameters.reverse_depth
            and beta_is_plain
            and evaluation >= beta
            and (hash_move == 0 or hash_tactical)
            and evaluation - depth * parameters.reverse_slope + (parameters.reverse_improving if improving else 0)
            >= beta
        ):
            return (evaluation + beta) >> 1

        # Step 10. Null move: if passing still holds beta, a real move will. Deep cut-offs are verified without it.
        if (
            switches & NULL_MOVES
            and excluded == 0
            and P.undo[np.uint64(P.ply)].move != NULL_MOVE
            and evaluation >= beta
            and entry.static_eval + depth * parameters.null_margin_slope >= beta + parameters.null_margin_base
            and beta_is_plain
            and (ply >= W.null_ply or P.side != W.null_colour)
        ):
            deep = parameters.null_base + depth // parameters.null_divisor
            deep += min((evaluation - beta) // parameters.null_eval_divisor, int64(3))
            entry.move = np.int32(NULL_MOVE)
            entry.row = np.int32(0)
            entry.move_count = np.int32(0)
            entry.free = before.free
            make_null(P, T)
            prefetch_entry(C, position_key(P))
            value = -call_search(
                W.search,
                position,
                tables,
                shared,
                worker,
                ply + 1,
                -beta,
                -beta + 1,
                depth - deep,
                int64(0 if cut_node else CUT_NODE),
            )
            unmake_null(P, T)
            if is_stopped(C):
                return int64(0)
            if value >= beta:
                value = min(value, int64(MATE_IN_MAX - 1))  # a mate that a pass allows proves nothing
                if W.null_ply != 0 or depth < parameters.null_verify_depth or not switches & NULL_VERIFY:
                    return value
                W.null_ply = ply + 3 * (depth - deep) // 4
                W.null_colour = P.side
                verified = call_search(
                    W.search, position, tables, shared, worker, ply, beta - 1, beta, depth - deep, int64(0)
                )
                W.null_ply = int64(0)
                if verified >= beta:
                    return value

    # Step 11. Internal iterative reduction: without a hash move the order is poor; search shallower, learn one.
    if (
        switches & INTERNAL_REDUCTION
        and depth >= parameters.internal_depth
        and hash_move == 0
        and excluded == 0
        and (pv_node or cut_node)
    ):
        depth -= 1

    index = picker_index(ply, excluded != 0)
    picker = picker_at(W, index)

    # Step 12. ProbCut: a capture that beats beta by a margin in a shallow search will beat beta in the full one.
    probcut_beta = beta + parameters.probcut_margin - (parameters.probcut_improving if improving else 0)
    if (
        switches & PROBCUTS
        and not pv_node
        and not checked
        and excluded == 0
        and depth > 3
        and beta_is_plain
        and not (hash_depth >= depth - 3 and hash_value < probcut_beta)
    ):
        start_picker(W, index, ply, PROBCUT_HASH, hash_move if hash_tactical else int64(0), depth)
        picker.threshold = np.int32(probcut_beta - entry.static_eval)
        while True:
            m = call_picker(W.next_move, position, tables, worker, index, ply, int64(0))
            if m == 0:
                break
            entry.move_count = np.int32(0)
            prefetch_child(P, T, C, m)
            play(P, T, C, W, ply, move_row(P, W, m), m)
            value = -call_search(
                W.quiescence,
                position,
                tables,
                shared,
                worker,
                ply + 1,
                -probcut_beta,
                -probcut_beta + 1,
                int64(0),
                int64(0),
            )
            if value >= probcut_beta:
                value = -call_search(
                    W.search,
                    position,
                    tables,
                    shared,
                    worker,
                    ply + 1,
                    -probcut_beta,
                    -probcut_beta + 1,
                    depth - 4,
                    int64(0 if cut_node else CUT_NODE),
                )
            unmake_move(P, T)
            if is_stopped(C):
                return int64(0)
            if value >= probcut_beta:
                store(C, key, ply, m, value, raw, depth - 3, BOUND_LOWER, int64(tt_pv))
                return value if value >= MATE_IN_MAX else value - (probcut_beta - beta)

    # Step 13. The loop over moves.
    start_picker(W, index, ply, EVASION_HASH if checked else MAIN_HASH, hash_move, depth)
    picker.killers[0], picker.killers[1], picker.killers[2] = np.int32(0), np.int32(0), np.int32(0)
    if switches & KILLERS:
        picker.killers[0], picker.killers[1] = entry.killers[0], entry.killers[1]
        picker.killers[2] = W.counters[np.uint64(before.row)]
    find_check_squares(P, T, picker)
    side = np.uint64(P.side)
    here = np.uint64(ply)
    entered_alpha = alpha
    best = int64(-INFINITE)
    best_move = int64(0)
    move_count = int64(0)
    quiet_count = int64(0)
    capture_count = int64(0)
    flags = int64(0)
    while True:
        m = call_picker(W.next_move, position, tables, worker, index, ply, flags)
        if m == 0:
            break
        if m == excluded:
            continue
        move_count += 1
        prefetch_child(P, T, C, m)
        tactical = is_tactical(P, m)
        gives = move_checks(P, T, picker, m)
        row = move_row(P, W, m)
        new_depth = depth - 1
        r = reduction(W, depth, move_count, improving, beta - alpha)
        quiet_history = int64(0)
        if not tactical:
            quiet_history = continuation_points(W, ply, row)

        # Step 14. Pruning at low depth, once a move that does not lose by force is known.
        if best > -MATE_IN_MAX:
            limit = parameters.late_base + parameters.late_scale * depth * depth // 100
            if switches & LATE_MOVES and move_count >= (limit if improving else limit >> 1):
                flags = int64(SKIP_QUIETS)
            reduced = max(int64(0), new_depth - (r >> 10))
            if tactical or gives:
                if (
                    switches & CAPTURE_FUTILITY
                    and tactical
                    and not gives
                    and not checked
                    and reduced < 7
                    and entry.static_eval
                    + parameters.capture_futility_base
                    + parameters.capture_futility_slope * reduced
                    + W.exchange[np.uint64(captured_type(P, m))]
                    <= alpha
                ):
                    continue
                if switches & EXCHANGE_PRUNING and not exchange_at_least(
                    P, T, W, int32(m), int64(-parameters.see_capture_slope * depth)
                ):
                    continue
            else:
                if switches & HISTORY_PRUNING and quiet_history < -parameters.history_prune * depth:
                    continue
                if (
                    switches & FUTILITY
                    and not checked
                    and reduced < parameters.futility_depth
                    and entry.static_eval + parameters.futility_base + parameters.futility_slope * reduced <= alpha
                ):
                    continue
                if switches & EXCHANGE_PRUNING and not exchange_at_least(
                    P, T, W, int32(m), int64(-parameters.see_quiet_slope * reduced * reduced)
                ):
                    continue

        # Step 15. Extensions. If every other move is clearly worse than the hash move, look deeper into that one;
        # if others also reach beta, cut off at once; if it is not alone and cuts anyway, look less deep.
        extension = int64(0)
        if (
            switches & SINGULAR
            and m == hash_move
            and excluded == 0
            and depth >= parameters.singular_depth + (1 if tt_pv and not pv_node else 0)
            and ply < 2 * W.root_depth
            and abs(hash_value) < MATE_IN_MAX
            and hash_bound & BOUND_LOWER
            and hash_depth >= depth - 3
        ):
            singular_beta = hash_value - parameters.singular_margin * depth // 100
            entry.excluded = np.int32(m)
            value = call_search(
                W.search,
                position,
                tables,
                shared,
                worker,
                ply,
                singular_beta - 1,
                singular_beta,
                new_depth >> 1,
                kind & CUT_NODE,
            )
            entry.excluded = np.int32(0)
            if is_stopped(C):
                return int64(0)
            if value < singular_beta:
                extension = int64(1)
                if (
                    switches & DOUBLE_EXTENSION
                    and not pv_node
                    and value < singular_beta - parameters.double_margin
                    and before.extensions <= 8
                ):
                    extension = int64(2)
            elif switches & MULTI_CUT and value >= beta and abs(value) < MATE_IN_MAX:
                return value
            elif switches & NEGATIVE_EXTENSION:
                if hash_value >= beta:
                    extension = int64(-2 if pv_node else -3)
                elif cut_node:
                    extension = int64(-2)
        elif (
            switches & CHECK_EXTENSION
            and gives
            and depth > 8
            and not m & DROP_BIT
            and exchange_at_least(P, T, W, int32(m), int64(0))
        ):
            extension = int64(1)
        new_depth += extension
        entry.extensions = np.int32(before.extensions + (1 if extension >= 2 else 0))

        # Step 16. Make the move.
        special = m == picker.killers[0] or m == picker.killers[1] or m == picker.killers[2]
        if tactical:
            stat = np.int64(W.captures[np.uint64(row), np.uint64(captured_type(P, m))])
        else:
            stat = 2 * np.int64(W.butterfly[side, np.uint64(m & 0xFFFF)]) + quiet_history
        entry.move_count = np.int32(move_count)
        entry.stat = np.int32(stat)
        play(P, T, C, W, ply, row, m)

        # Step 17. Late moves are searched less deep with a null window; those that surprise, deeper.
        value = int64(0)
        if switches & REDUCTIONS and depth >= 2 and move_count > 1 and (not tactical or cut_node or not tt_pv):
            if tt_pv:
                r -= parameters.reduction_pv
            if cut_node:
                r += parameters.reduction_cut
            if hash_tactical:
                r += parameters.reduction_capture
            if stack_at(W, ply + 1).cutoffs > 3:
                r += parameters.reduction_cutoffs
            if gives:
                r -= parameters.reduction_check
            if special:
                r -= parameters.reduction_killer
            if m & DROP_BIT:
                r += parameters.reduction_drop
            r -= stat * ONE // parameters.reduction_history
            shallow = max(min(int64(1), new_depth), new_depth - max(int64(0), r >> 10))
            entry.reduction = np.int32(new_depth - shallow)
            value = -call_search(
                W.search, position, tables, shared, worker, ply + 1, -(alpha + 1), -alpha, shallow, int64(CUT_NODE)
            )
            entry.reduction = np.int32(0)
            if value > alpha and shallow < new_depth:
                if value > best + 50 + 2 * new_depth:
                    new_depth += 1
                elif value < best + new_depth:
                    new_depth -= 1
                if new_depth > shallow:
                    value = -call_search(
                        W.search,
                        position,
                        tables,
                        shared,
                        worker,
                        ply + 1,
                        -(alpha + 1),
                        -alpha,
                        new_depth,
                        int64(0 if cut_node else CUT_NODE),
                    )
                bonus = history_size(depth, parameters.bonus_slope, parameters.bonus_base, parameters.bonus_limit)
                if not tactical:
                    continuation_bonus(W, ply, row, bonus if value > alpha else -bonus)

        # Step 18. Null window at full depth where nothing was reduced.
        elif not pv_node or move_count > 1:
            value = -call_search(
                W.search,
                position,
                tables,
                shared,
                worker,
                ply + 1,
                -(alpha + 1),
                -alpha,
                new_depth,
                int64(0 if cut_node else CUT_NODE),
            )

        # Step 19. Full window on the main line.
        if pv_node and (move_count == 1 or value > alpha):
            value = -call_search(
                W.search,
                position,
                tables,
                shared,
                worker,
                ply + 1,
                -beta,
                -alpha,
                new_depth,
                int64(PV_NODE),
            )

        # Step 20. Take it back, compare.
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
                    entry.cutoffs += np.int32(1)
                    break
                alpha = value
        if m != best_move:
            if tactical:
                if capture_count < TRIED:
                    W.tried_captures[here, np.uint64(capture_count)] = np.int32(m)
                    capture_count += 1
            elif quiet_count < TRIED:
                W.tried_quiets[here, np.uint64(quiet_count)] = np.int32(m)
                quiet_count += 1

    # Step 21. No move: mated (in shogi having no move loses, in check or not).
    if move_count == 0:
        return alpha if excluded else ply - MATE

    # Step 22. Learn from the result.
    if best_move:
        reward_cut_off(P, W, ply, best_move, depth, quiet_count, capture_count)
    else:
        reward_answer(P, W, ply, depth)

    # Step 23. Keep the result.
    if excluded == 0:
        bound = int64(BOUND_UPPER)
        if best >= beta:
            bound = int64(BOUND_LOWER)
        elif pv_node and best > entered_alpha:
            bound = int64(BOUND_EXACT)
        if best <= entered_alpha and before.tt_pv and depth > 3:
            entry.tt_pv = np.int32(1)
        store(C, key, ply, best_move, best, raw, depth, bound, np.int64(entry.tt_pv))
        if (
            switches & CORRECTION
            and not checked
            and not (best_move and is_tactical(P, best_move))
            and abs(best) < MATE_IN_MAX
            and not (bound == BOUND_LOWER and best <= entry.static_eval)
            and not (bound == BOUND_UPPER and best >= entry.static_eval)
        ):
            update_correction(P, W, ply, best - entry.static_eval, depth)
    return best
