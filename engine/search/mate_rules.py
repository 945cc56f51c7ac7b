"""The rules as the mate solver calls them: by addresses in its record.

A kernel that calls another by name carries a copy of it, so move generation would be compiled once more for each of the
solver's kernels: ten seconds at the first start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, int32, int64, void

from engine.native.intrinsics import kernel_at
from engine.native.jit import inline, kernel_address
from engine.rules import checks, movegen, position
from engine.rules.layout import count_signature, position_type, tables_type

KERNELS = {
    "make_move": position.make_move,
    "unmake_move": position.unmake_move,
    "generate_checks": checks.generate_checks,
    "generate_evasions": movegen.generate_evasions,
    "generate_legal": movegen.generate_legal,
    "mate_in_one": checks.mate_in_one,
    "is_legal": movegen.is_legal,
}

_make_move = kernel_at(void(position_type, tables_type, int32))
_unmake_move = kernel_at(void(position_type, tables_type))
_generate = kernel_at(count_signature)
_find_move = kernel_at(int32(position_type, tables_type, int64))
_judge_move = kernel_at(boolean(position_type, tables_type, int32))


def connect_rules(record: Any) -> None:
    """Write the addresses into a MATE record."""
    for name, function in KERNELS.items():
        record[name] = kernel_address(function)


@inline
def make_move(P, T, M, m):
    _make_move(M.make_move, P, T, np.int32(m))


@inline
def unmake_move(P, T, M):
    _unmake_move(M.unmake_move, P, T)


@inline
def generate_checks(P, T, M, n):
    return _generate(M.generate_checks, P, T, n)


@inline
def generate_evasions(P, T, M, n):
    return _generate(M.generate_evasions, P, T, n)


@inline
def generate_legal(P, T, M, n):
    return _generate(M.generate_legal, P, T, n)


@inline
def mate_in_one(P, T, M, n):
    return _find_move(M.mate_in_one, P, T, n)


@inline
def is_legal(P, T, M, m):
    return _judge_move(M.is_legal, P, T, np.int32(m))
