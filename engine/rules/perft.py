"""Perft: the number of legal move sequences of a length, the standard proof of a move generator."""

from __future__ import annotations

import numpy as np
from numba import int64

from engine.native.jit import kernel
from engine.rules.layout import count_signature, position_type, tables_type
from engine.rules.movegen import generate_legal
from engine.rules.position import make_move, unmake_move


@kernel(int64(position_type, tables_type, int64, int64))
def _perft(P, T, depth, n):
    end = generate_legal(P, T, n)
    if depth <= 1:
        return end - n
    total = 0
    for i in range(n, end):
        make_move(P, T, P.moves[np.uint64(i)])
        total += _perft(P, T, int64(depth - 1), int64(end))
        unmake_move(P, T)
    return total


@kernel(int64(position_type, tables_type, int64, int64))
def _perft_make(P, T, depth, n):
    if depth == 0:
        return int64(1)
    end = generate_legal(P, T, n)
    total = 0
    for i in range(n, end):
        make_move(P, T, P.moves[np.uint64(i)])
        total += _perft_make(P, T, int64(depth - 1), int64(end))
        unmake_move(P, T)
    return total


@kernel(count_signature)
def perft(P, T, depth):
    """Number of legal move sequences of a length; the last ply is counted, not played."""
    return int64(1) if depth <= 0 else _perft(P, T, int64(depth), int64(0))


@kernel(count_signature)
def perft_make(P, T, depth):
    """The same number, with every move of the last ply played and taken back."""
    return _perft_make(P, T, int64(depth), int64(0))
