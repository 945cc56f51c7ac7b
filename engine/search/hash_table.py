"""The transposition table: 16-byte entries shared by all threads without locks.

An entry is two words, key ^ data and data; a torn write makes the key wrong and the entry is not found.
Four entries fill one cache line. What `data` holds, lowest bit first:

    move 16 | value 16 | static evaluation 16 | depth + DEPTH_OFFSET 8 | bound 2 | was on the main line 1 | age 5

Mate values are kept as distances from the entry's position, not from the root.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np

from engine.native.intrinsics import load_u64, multiply_high, prefetch, store_u64
from engine.native.jit import inline
from engine.rules.layout import (
    COLOUR_SHIFT,
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    PROMOTE_BIT,
    PROMOTED,
    TO_MASK,
)
from engine.search.layout import BOUND_EXACT, MATE_IN_MAX

CLUSTER_ENTRIES = 4
CLUSTER_BYTES = 64
DEPTH_OFFSET = 3  # quiescence stores depths below zero
AGES = 32
AGE_SHIFT = 59
PREPARED_MB = 256  # tables up to this size are filled with zeros at once, larger ones as they are used
AGE_WEIGHT = 4  # a search's age counts as this many plies of depth when an entry must go
FOUND_AGAIN = 190  # from this depth on an entry is a short mate found without searching, cheap to find again
FOUND_AGAIN_WORTH = 3  # plies of depth that it counts as

U0 = np.uint64(0)
U8 = np.uint64(8)
U16 = np.uint64(16)
ENTRY_BYTES = np.uint64(16)
CLUSTER_SIZE = np.uint64(CLUSTER_BYTES)


@inline
def cluster_address(C, key):
    return C.hash_table + multiply_high(key, C.hash_clusters) * CLUSTER_SIZE


@inline
def prefetch_entry(C, key):
    """Ask for a position's cache line before it is needed."""
    prefetch(cluster_address(C, key))


@inline
def prefetch_child(P, T, C, m):
    """Ask for the cache line of the position after a move, before the move is even made."""
    u = P.undo[np.uint64(P.ply)]
    side = np.uint64(P.side)
    to = np.uint64(m & TO_MASK)
    origin = np.uint64((m >> FROM_SHIFT) & FROM_MASK)
    board = u.key_board ^ T.key_side
    if m & DROP_BIT:
        board ^= T.key[origin | side << np.uint64(COLOUR_SHIFT), to]
        key = board + u.key_hand - T.key_hand[side, origin]
    else:
        piece = np.uint64(P.board[origin])
        placed = piece | np.uint64(PROMOTED) if m & PROMOTE_BIT else piece
        board ^= T.key[piece, origin] ^ T.key[placed, to]
        captured = np.uint64(P.board[to])
        key = u.key_hand
        if captured:
            board ^= T.key[captured, to]
            key += T.key_hand[side, captured & np.uint64(7)]
        key += board
    prefetch(cluster_address(C, key))


@inline
def probe(C, key):
    """A position's entry data, 0 if there is none."""
    address = cluster_address(C, key)
    for _ in range(CLUSTER_ENTRIES):
        data = load_u64(address + U8)
        if load_u64(address) ^ data == key and data != U0:
            return data
        address += ENTRY_BYTES
    return U0


@inline
def entry_move(data):
    return np.int64(data & np.uint64(0xFFFF))


@inline
def entry_value(data, ply):
    """The value seen from a node `ply` plies below the root."""
    value = np.int64(np.int16((data >> U16) & np.uint64(0xFFFF)))
    if value >= MATE_IN_MAX:
        return value - ply
    if value <= -MATE_IN_MAX:
        return value + ply
    return value


@inline
def entry_evaluation(data):
    return np.int64(np.int16((data >> np.uint64(32)) & np.uint64(0xFFFF)))


@inline
def entry_depth(data):
    return np.int64((data >> np.uint64(48)) & np.uint64(0xFF)) - DEPTH_OFFSET


@inline
def entry_bound(data):
    return np.int64((data >> np.uint64(56)) & np.uint64(3))


@inline
def entry_was_pv(data):
    return np.int64((data >> np.uint64(58)) & np.uint64(1))


@inline
def _entry_age(data):
    return np.int64(data >> np.uint64(AGE_SHIFT))


@inline
def _pack(move, value, evaluation, depth, bound, was_pv, age):
    data = np.uint64(move & 0xFFFF)
    data |= np.uint64(value & 0xFFFF) << U16
    data |= np.uint64(evaluation & 0xFFFF) << np.uint64(32)
    data |= np.uint64(depth + DEPTH_OFFSET) << np.uint64(48)
    data |= np.uint64(bound) << np.uint64(56)
    data |= np.uint64(was_pv) << np.uint64(58)
    return data | np.uint64(age) << np.uint64(AGE_SHIFT)


@inline
def store(C, key, ply, move, value, evaluation, depth, bound, was_pv):
    """Keep a result: in the position's own entry, else in the shallowest and oldest of its cluster."""
    age = C.hash_age
    address = cluster_address(C, key)
    target = address
    worst = np.int64(1 << 30)
    for _ in range(CLUSTER_ENTRIES):
        data = load_u64(address + U8)
        if load_u64(address) ^ data == key and data != U0:
            if bound != BOUND_EXACT and _entry_age(data) == age and depth + 4 < entry_depth(data):
                return
            if move == 0:
                move = entry_move(data)
            target = address
            break
        worth = np.int64(-(1 << 20))
        if data != U0:
            worth = entry_depth(data)
            if worth >= FOUND_AGAIN:
                worth = np.int64(FOUND_AGAIN_WORTH)
            worth -= AGE_WEIGHT * ((age - _entry_age(data)) & (AGES - 1))
        if worth < worst:
            worst = worth
            target = address
        address += ENTRY_BYTES
    if value >= MATE_IN_MAX:
        value += ply
    elif value <= -MATE_IN_MAX:
        value -= ply
    data = _pack(move, value, evaluation, depth, bound, was_pv, age)
    store_u64(target, key ^ data)
    store_u64(target + U8, data)


def available_memory() -> int:
    """Bytes of main memory that this machine could give now; a guess where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            sizes = dict(line.split(":") for line in lines)
        return int(sizes["MemAvailable"].split()[0]) << 10
    except (OSError, ValueError, KeyError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        pass
    try:
        status = (ctypes.c_ulonglong * 8)()
        ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))[0] = ctypes.sizeof(status)
        if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined]
            return int(status[2])
    except AttributeError:
        pass
    return 2 << 30


class HashTable:
    """Owns the table's memory. `megabytes` may be less than asked for: what the machine has to spare."""

    def __init__(self, megabytes: int) -> None:
        self.megabytes = 0
        self.resize(megabytes)

    def resize(self, megabytes: int) -> None:
        """Allocate an empty table of at least 1 MB; at most three quarters of the free memory, less if refused."""
        self._words = np.zeros(0, dtype=np.uint64)  # its memory counts as free
        self._allocate(max(1, min(megabytes, available_memory() * 3 // 4 >> 20)))

    def _allocate(self, wanted: int) -> None:
        self._words = np.zeros(0, dtype=np.uint64)
        while True:
            try:
                raw = np.zeros((wanted << 17) + 8, dtype=np.uint64)
                break
            except MemoryError:
                if wanted == 1:
                    raise
                wanted //= 2
        start = (-raw.ctypes.data % CLUSTER_BYTES) // 8
        self._words = raw[start : start + (wanted << 17)]
        self.megabytes = wanted
        if wanted <= PREPARED_MB:
            self._words[:] = 0  # the system hands out memory when it is first touched: now, not on a player's clock

    @property
    def address(self) -> int:
        return int(self._words.ctypes.data)

    @property
    def clusters(self) -> int:
        return len(self._words) // (CLUSTER_BYTES // 8)

    def clear(self) -> None:
        """Forget everything; a large table moves. Its fresh memory costs nothing until it is used, where writing zeros
        over gigabytes between two games cost minutes on a busy machine.
        """
        if self.megabytes <= PREPARED_MB:
            self._words[:] = 0
        else:
            self._allocate(self.megabytes)

    def hashfull(self, age: int) -> int:
        """Permille of entries written by the search of this age, from a sample."""
        sample = self._words[1 : min(len(self._words), 2000) : 2]
        return int(1000 * np.count_nonzero((sample != 0) & (sample >> np.uint64(AGE_SHIFT) == age)) // len(sample))
