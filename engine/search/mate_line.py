"""From the proofs in the table to a line of moves, and the check that a line really is a mate."""

from __future__ import annotations

import numpy as np
from numba import boolean, int64

from engine.native.jit import inline, kernel
from engine.rules.layout import position_type, tables_type
from engine.rules.position import current, in_check
from engine.search.mate import key_after
from engine.search.mate_hands import hand_after
from engine.search.mate_rules import (
    generate_checks,
    generate_evasions,
    generate_legal,
    is_legal,
    make_move,
    mate_in_one,
    unmake_move,
)
from engine.search.mate_table import NEVER, known_mate, mate_type, store_proven

MATED, LOST_ATTACK, LOST_DEFENCE, UNSURE_DEFENCE = range(4)


@inline
def _play(P, T, M, m):
    M.line[np.uint64(M.line_length)] = m
    M.line_length += 1
    make_move(P, T, M, m)


@inline
def _best_attack(P, T, M):
    """The check with the shortest proved mate: (move, plies left after it), (0, NEVER) if the table has none."""
    m = mate_in_one(P, T, M, np.int64(0))
    if m:
        return m, np.int64(0)
    best, least = np.int32(0), np.int64(NEVER)
    hand = P.hand[np.uint64(M.attacker)]
    end = generate_checks(P, T, M, np.int64(0))
    for i in range(end):
        m = P.moves[np.uint64(i)]
        length = known_mate(M, key_after(P, T, m) ^ M.salt, hand_after(P, m, hand), np.int64(0))
        if length < least:
            best, least = m, length
    return best, least


@inline
def _best_defence(P, T, M, end, left, only_sure):
    """The reply that holds out longest among `P.moves[:end]`, mate being due in `left` plies: (move, plies, status)."""
    best, most, best_sure = np.int32(0), np.int64(-1), False
    hand = P.hand[np.uint64(M.attacker)]
    for i in range(end):
        m = P.moves[np.uint64(i)]
        key = key_after(P, T, m) ^ M.salt
        length = known_mate(M, key, hand, np.int64(0))
        if length > left - 1:
            return m, np.int64(left - 1), np.int64(LOST_DEFENCE)
        sure = known_mate(M, key, hand, np.int64(1)) >= length - 2
        if length > most or (length == most and sure and not best_sure):
            best, most, best_sure = m, length, sure
    if only_sure and not best_sure:
        return best, most - 2, np.int64(UNSURE_DEFENCE)
    return best, most, np.int64(MATED)


@kernel(int64(position_type, tables_type, mate_type, int64, boolean))
def follow_line(P, T, M, left, only_sure):
    """Play out the mate that is due in at most `left` plies from the position on the board, by moves added to `M.line`.

    Returns MATED, or what stopped it, `M.line_left` plies before the mate: LOST_ATTACK when the table no longer holds
    the proof of the position on the board; LOST_DEFENCE when it does not hold the one after the defender's move
    `M.line_move`; with `only_sure` also UNSURE_DEFENCE when it does not say that there is nothing shorter against
    that move. A search for a mate in `M.line_search` plies after the move makes up for it.
    """
    while True:
        if P.side == M.attacker:
            m, length = _best_attack(P, T, M)
            if length >= left:
                M.line_left = np.int32(left)
                return LOST_ATTACK
            _play(P, T, M, m)
            left = length
        end = generate_evasions(P, T, M, np.int64(0))
        if end == 0:
            return MATED
        m, length, status = _best_defence(P, T, M, end, left, only_sure)
        if status != MATED:
            M.line_left, M.line_move, M.line_search = np.int32(left), m, np.int32(length)
            return status
        _play(P, T, M, m)
        left = length


@inline
def _bound_now(P, T, M, is_attack):
    """Plies to mate from the position on the board as the table knows its successors, NEVER if it does not."""
    hand = P.hand[np.uint64(M.attacker)]
    if is_attack:
        _, length = _best_attack(P, T, M)
        return min(length + 1, np.int64(NEVER))
    most = np.int64(-1)
    for i in range(generate_evasions(P, T, M, np.int64(0))):
        length = known_mate(M, key_after(P, T, P.moves[np.uint64(i)]) ^ M.salt, hand, np.int64(0))
        most = max(most, length)
    return min(most + 1, np.int64(NEVER))


@kernel(int64(position_type, tables_type, mate_type))
def tighten_line(P, T, M):
    """Take `M.line` back from its end, and give each position on it the length that follows from its successors.

    A position proved early may have got better successors since. Returns the root's length: when it is that of the
    line, the line is one of best play as far as the table knows.
    """
    bound = np.int64(0)
    for k in range(M.line_length - 1, -1, -1):
        unmake_move(P, T, M)
        bound = _bound_now(P, T, M, k % 2 == 0)
        key, hand = current(P).key_board ^ M.salt, P.hand[np.uint64(M.attacker)]
        known = known_mate(M, key, hand, np.int64(0))
        if bound < known:
            store_proven(M, key, hand, bound, 0)
        bound = min(bound, known)
    return bound


@kernel(boolean(position_type, tables_type, mate_type))
def is_mate_line(P, T, M):
    """Replay `M.line` by the rules alone: every move legal, every attacker's move a check, the last one mate.

    The position stays at the end of what was played; the caller sets it up again.
    """
    if M.line_length % 2 == 0:
        return False
    for i in range(M.line_length):
        m = M.line[np.uint64(i)]
        if not is_legal(P, T, M, m):
            return False
        make_move(P, T, M, m)
        if i % 2 == 0 and not in_check(P):
            return False
    return generate_legal(P, T, M, np.int64(0)) == 0
