"""Mate in three plies without searching: a check after whose every answer there is a mate in one."""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from engine.native.jit import kernel
from engine.rules.checks import generate_checks, mate_in_one
from engine.rules.layout import position_type, tables_type
from engine.rules.movegen import generate_evasions
from engine.rules.position import in_check, make_move, unmake_move

MOST_ANSWERS = 8  # a check with more answers is hardly ever the first move of a short mate


@kernel(int32(position_type, tables_type, int64))
def mate_in_three(P, T, n):
    """A checking move that forces mate in three plies, or 0; uses `P.moves[n:]`. Not for positions in check.

    Answers that give check themselves count as escapes, and so do those to checks with many answers, so a mate may be
    missed but is never wrongly claimed.
    """
    end = generate_checks(P, T, n)
    for i in range(n, end):
        m = P.moves[np.uint64(i)]
        make_move(P, T, m)
        last = generate_evasions(P, T, end)
        mated = last - end <= MOST_ANSWERS
        for j in range(end, last):
            if not mated:
                break
            make_move(P, T, P.moves[np.uint64(j)])
            mated = not in_check(P) and mate_in_one(P, T, last) != 0
            unmake_move(P, T)
        unmake_move(P, T)
        if mated:
            return m
    return np.int32(0)
