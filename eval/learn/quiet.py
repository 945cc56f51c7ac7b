"""A quiescence search that remembers its line: from a position to the quiet one at the end of its exchanges.

Networks are asked about quiet positions. A score that a search gave a position in the middle of an exchange belongs to
the end of the exchange, so training can use the leaf in place of the position. Values here are material and
piece-square sums of the tables (`undo.score`), which is enough to follow an exchange.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype, int64

from engine.native.jit import inline, kernel
from engine.rules.layout import TO_MASK, new_record, position_type, tables_type
from engine.rules.movegen import generate_captures, generate_evasions
from engine.rules.position import current, in_check, make_move, unmake_move

DEPTH = 8  # plies of one line
MATED = -30000
NO_BOUND = 32000

LINES = np.dtype(
    [
        ("moves", "i4", (DEPTH + 1, DEPTH)),  # best line found from each ply on
        ("length", "i8", DEPTH + 1),  # its moves
    ],
    align=True,
)
lines_type = from_dtype(LINES)


def new_lines() -> Any:
    """Scratch memory of `quiet_search`."""
    return new_record(LINES)


@inline
def take_best(P, T, first, last):
    """Bring the capture of the most valuable piece among P.moves[first:last] to the front."""
    best, best_value = first, int64(-1)
    for index in range(first, last):
        captured = np.int64(P.board[P.moves[index] & TO_MASK])
        value = np.int64(T.piece_value[captured & 15]) if captured else int64(0)
        if value > best_value:
            best, best_value = index, value
    move = P.moves[best]
    P.moves[best] = P.moves[first]
    P.moves[first] = move
    return move


@kernel(int64(position_type, tables_type, lines_type, int64, int64, int64, int64))
def quiet_search(P, T, Q, alpha, beta, ply, first):
    """Value of the position for the side to move; its line goes to Q.moves[ply]. Move lists go to P.moves[first:]."""
    Q.length[ply] = 0
    score = np.int64(current(P).score)
    still = -score if P.side else score
    if ply == DEPTH:
        return still
    if in_check(P):
        best = int64(MATED + ply)
        last = generate_evasions(P, T, first)
    else:
        best = still
        if best >= beta:
            return best
        last = generate_captures(P, T, first)
    for at in range(first, last):
        move = take_best(P, T, at, last)
        make_move(P, T, move)
        value = -quiet_search(P, T, Q, int64(-beta), int64(-max(alpha, best)), int64(ply + 1), int64(last))
        unmake_move(P, T)
        if value > best:
            best = value
            length = Q.length[ply + 1]
            Q.moves[ply, 0] = move
            for i in range(length):
                Q.moves[ply, i + 1] = Q.moves[ply + 1, i]
            Q.length[ply] = length + 1
            if best >= beta:
                break
    return best


@inline
def go_to_leaf(P, T, Q):
    """Play the quiescence line; returns its length in plies (unmake that many moves to come back)."""
    quiet_search(P, T, Q, int64(-NO_BOUND), int64(NO_BOUND), int64(0), int64(0))
    length = Q.length[0]
    for i in range(length):
        make_move(P, T, Q.moves[0, i])
    return length
