"""The mate solver's memory: its records, and the table of proof and disproof numbers.

A row of the table belongs to a board and a hand of the attacker; the defender's hand follows, because the number of
pieces of each type never changes. What is proved with a hand holds for every larger one, what is disproved for every
smaller one (dominance), so a look-up reads all rows of the board.

Each row keeps two lengths. `proven`: a mate in at most so many plies exists. `disproven`: none of at most so many
plies exists; FOREVER means no mate at all. Both are facts about the position alone: results that lean on the moves
before it go to the path table instead, under a key of the whole path (the graph history interaction problem).
"""

from __future__ import annotations

import numpy as np
from numba import from_dtype, int64, types, void

from engine.native.intrinsics import prefetch, record_at
from engine.native.jit import inline, kernel
from engine.rules.layout import HAND_SPARE, MOVE_BUFFER

FOREVER = 4000  # longer than any line: "no mate, however long"
UNLIMITED = 3000  # length bound of a search for any mate
NEVER = 4001  # `proven` of a row without a proof
INFINITE_NUMBER = 1 << 40  # proof number of a disproved node, disproof number of a proved one
NUMBER_LIMIT = 1 << 30  # largest number of an open node
UNCONDITIONAL = 1 << 14  # `dependency` of a result that does not lean on the path
SAMPLES = 4096  # rows looked at to choose what a cleaning drops
SWEPT_SLOTS = 32  # slots cleaned at each node
DEPTH_LIMIT = 1900  # deepest node, in plies from the root

ENTRY = np.dtype(
    [
        ("key", "u8"),  # board, side to move and attacker; 0 = free
        ("hand", "u4"),  # the attacker's hand, packed as in layout
        ("pn", "u4"),  # numbers of the last visit while the node was open, 0 = not visited with this hand
        ("dn", "u4"),
        ("amount", "u4"),  # nodes spent below, for the cleaning
        ("proven", "i2"),
        ("disproven", "i2"),
        ("spare", "i2"),
        ("has_paths", "i2"),  # 1: results that lean on the path may be found in the path table
    ],
    align=True,
)
PATH_ENTRY = np.dtype(
    [
        ("key", "u8"),  # hash of all positions from the root to this one
        ("length", "i2"),  # no mate of at most so many plies on this path
        ("dependency", "i2"),  # least depth of a position of the path that the result leans on
        ("spare", "i4"),
    ],
    align=True,
)
CHILD = np.dtype(
    [
        ("key", "u8"),
        ("hand", "i8"),  # the attacker's hand
        ("pn", "i8"),
        ("dn", "i8"),
        ("proof", "i8"),  # of a solved child: the hand for which the result holds
        ("length", "i4"),  # of a solved child: proved within, or disproved for, so many plies
        ("dependency", "i4"),  # of a disproved child: see PATH_ENTRY
        ("after", "i4"),  # index of the child that must be solved first, -1 = none
        ("visited", "i1"),
        ("grouped", "i1"),  # counts by the maximum of its group instead of the sum
        ("has_paths", "i1"),
        ("spare", "i1"),
    ],
    align=True,
)
FRAME = np.dtype(
    [
        ("key", "u8"),
        ("path", "u8"),  # hash of the path, this position included
        ("hand", "i8"),
        ("pn", "i8"),
        ("dn", "i8"),
        ("pn_limit", "i8"),
        ("dn_limit", "i8"),
        ("nodes", "i8"),  # node count on arrival
        ("first", "i4"),  # children: P.moves[first:end], MATE.children[first:end]
        ("end", "i4"),
        ("best", "i4"),
        ("length", "i4"),  # plies left for the mate
        ("proven", "i4"),  # of a solved frame: see CHILD length, proof, dependency
        ("dependency", "i4"),
        ("proof", "i8"),
        ("visited", "i1"),
        ("pad", "i1", 3),
        ("leaves", "i8"),  # leaf count on arrival
    ],
    align=True,
)
MATE = np.dtype(
    [
        ("table", "u8"),  # address of the ENTRY rows
        ("slots", "u8"),
        ("used", "i8"),  # slots with a row
        ("sweep", "i8"),  # next slot of the cleaning, -1 = none is going on
        ("sweep_limit", "i8"),  # rows of less worth go
        ("sample", "i8", 64),  # number of rows by worth
        ("paths", "u8"),  # address of the PATH_ENTRY rows
        ("path_slots", "u8"),
        ("salt", "u8"),  # mixed into every key: attacker, and the pieces in play
        ("attacker", "i8"),
        ("stop", "u8"),  # address of an int64 that stops the search when not 0
        ("arriving", "i8"),  # 1: the current frame's position has not been opened yet
        ("make_move", "u8"),  # addresses of kernels: see mate_rules
        ("unmake_move", "u8"),
        ("generate_checks", "u8"),
        ("generate_evasions", "u8"),
        ("generate_legal", "u8"),
        ("mate_in_one", "u8"),
        ("is_legal", "u8"),
        ("nodes", "i8"),  # positions visited
        ("leaves", "i8"),  # of these, positions not seen before
        ("depth", "i8"),  # current frame
        ("max_depth", "i8"),
        ("filter", "i2", 4096),  # how many positions of the path share the low bits of a key
        ("line", "i4", DEPTH_LIMIT + 4),  # the mating line as far as it has been followed
        ("line_length", "i8"),
        ("line_left", "i4"),  # these three: see mate_line.follow_line
        ("line_move", "i4"),
        ("line_search", "i4"),
        ("frames", FRAME, DEPTH_LIMIT + 4),
        ("children", CHILD, MOVE_BUFFER),
    ],
    align=True,
)
mate_type: types.Record = from_dtype(MATE)
entry_at = record_at(from_dtype(ENTRY))
path_entry_at = record_at(from_dtype(PATH_ENTRY))

U0 = np.uint64(0)
U1 = np.uint64(1)
U32 = np.uint64(32)
ENTRY_BYTES = np.uint64(ENTRY.itemsize)
PATH_BYTES = np.uint64(PATH_ENTRY.itemsize)


@inline
def covers(hand, other):
    """True if a packed hand holds at least the other's pieces of each type."""
    return (hand - other) & HAND_SPARE == 0


@inline
def slot_of(M, key):
    return ((key >> U32) * M.slots) >> U32


@inline
def next_slot(M, slot):
    slot += U1
    return U0 if slot == M.slots else slot


@inline
def prefetch_row(M, key):
    prefetch(M.table + slot_of(M, key) * ENTRY_BYTES)


@inline
def row_at(M, slot):
    return entry_at(M.table + slot * ENTRY_BYTES)


@inline
def look_up(M, key, hand, length, c):
    """Fill child record `c`, for a mate of at most `length` plies, from the table; its numbers only ever grow.

    A visited position of a smaller hand is at most as hard to disprove, one of a larger hand at most as hard to prove.
    """
    c.visited = np.int8(0)
    c.has_paths = np.int8(0)
    c.dependency = np.int32(UNCONDITIONAL)
    slot = slot_of(M, key)
    while True:
        e = row_at(M, slot)
        if e.key == U0:
            break
        if e.key == key:
            known = np.int64(e.hand)
            if covers(hand, known):
                if e.proven <= length:
                    c.pn, c.dn = 0, INFINITE_NUMBER
                    c.length = np.int32(e.proven)
                    c.proof = known
                    return
                c.dn = max(c.dn, np.int64(e.dn))
            if covers(known, hand):
                if e.disproven >= length:
                    c.pn, c.dn = INFINITE_NUMBER, 0
                    c.length = np.int32(e.disproven)
                    c.proof = known
                    return
                c.pn = max(c.pn, np.int64(e.pn))
            if known == hand and e.pn != 0:
                c.visited = np.int8(1)
                c.has_paths = np.int8(e.has_paths)
        slot = next_slot(M, slot)


@inline
def row_for(M, key, hand):
    """The row of a board and hand, made if there is none."""
    slot = slot_of(M, key)
    while True:
        e = row_at(M, slot)
        if e.key == U0:
            e.key = key
            e.hand = np.uint32(hand)
            e.pn, e.dn, e.amount = np.uint32(0), np.uint32(0), np.uint32(0)
            e.proven, e.disproven = np.int16(NEVER), np.int16(-1)
            e.has_paths = np.int16(0)
            M.used += 1
            return e
        if e.key == key and np.int64(e.hand) == hand:
            return e
        slot = next_slot(M, slot)


@inline
def store_open(M, key, hand, pn, dn, amount):
    e = row_for(M, key, hand)
    e.pn, e.dn = np.uint32(pn), np.uint32(dn)
    e.amount = np.uint32(min(np.int64(e.amount) + amount, np.int64(0xFFFFFFFF)))


@inline
def store_proven(M, key, proof, length, amount):
    e = row_for(M, key, proof)
    e.proven = np.int16(min(np.int64(e.proven), np.int64(length)))
    e.amount = np.uint32(min(np.int64(e.amount) + amount, np.int64(0xFFFFFFFF)))


@inline
def store_disproven(M, key, proof, length, amount):
    e = row_for(M, key, proof)
    e.disproven = np.int16(max(np.int64(e.disproven), np.int64(length)))
    e.amount = np.uint32(min(np.int64(e.amount) + amount, np.int64(0xFFFFFFFF)))


@inline
def look_up_path(M, path, length, c):
    """Fill child record `c` if the same path to it was disproved before; True if so."""
    e = path_entry_at(M.paths + (((path >> U32) * M.path_slots) >> U32) * PATH_BYTES)
    if e.key != path or e.length < length:
        return False
    c.pn, c.dn = INFINITE_NUMBER, 0
    c.length = np.int32(e.length)
    c.dependency = np.int32(e.dependency)
    c.proof = c.hand
    return True


@inline
def store_path(M, path, length, dependency):
    e = path_entry_at(M.paths + (((path >> U32) * M.path_slots) >> U32) * PATH_BYTES)
    e.key = path
    e.length = np.int16(length)
    e.dependency = np.int16(dependency)


@inline
def _worth(e):
    """Rough logarithm of what it costs to find a row again; proofs count more, they carry the line."""
    worth = np.int64(0)
    amount = np.int64(e.amount)
    while amount > 1 and worth < 40:
        amount >>= 1
        worth += 1
    if e.proven != NEVER or e.disproven == FOREVER:
        worth += 2
    return worth


@kernel(void(mate_type))
def begin_sweep(M):
    """Start to clean the table: choose the worth below which about half of the rows lie, from a sample of them."""
    M.sample[:] = 0
    step = max(M.slots // np.uint64(SAMPLES), U1)
    slot = U0
    seen = np.int64(0)
    while slot < M.slots:
        e = row_at(M, slot)
        if e.key != U0:
            M.sample[_worth(e)] += 1
            seen += 1
        slot += step
    limit = np.int64(0)
    dropped = np.int64(0)
    while dropped * 2 < seen:
        dropped += M.sample[limit]
        limit += 1
    M.sweep_limit = max(limit, np.int64(1))
    M.sweep = 0


@inline
def _remove(M, slot):
    """Free a slot; rows behind it that were pushed across it move up."""
    gap = slot
    behind = next_slot(M, slot)
    while True:
        e = row_at(M, behind)
        if e.key == U0:
            break
        home = slot_of(M, e.key)
        from_home = behind - home if behind >= home else behind + M.slots - home
        from_gap = behind - gap if behind >= gap else behind + M.slots - gap
        if from_home >= from_gap:
            free = row_at(M, gap)
            free.key, free.hand, free.pn, free.dn = e.key, e.hand, e.pn, e.dn
            free.amount, free.proven, free.disproven = e.amount, e.proven, e.disproven
            free.has_paths = e.has_paths
            gap = behind
        behind = next_slot(M, behind)
    row_at(M, gap).key = U0
    M.used -= 1


@kernel(void(mate_type))
def keep_room(M):
    """Clean a few slots, if the table is being cleaned or has become too full.

    Called at every node, this never holds a search up, however large the table is.
    """
    if M.sweep < 0:
        if M.used * 4 < np.int64(M.slots) * 3:
            return
        begin_sweep(M)
    for _ in range(SWEPT_SLOTS):
        if M.sweep >= np.int64(M.slots):
            M.sweep = -1
            return
        e = row_at(M, np.uint64(M.sweep))
        if e.key != U0 and _worth(e) < M.sweep_limit:
            _remove(M, np.uint64(M.sweep))
        else:
            M.sweep += 1


@kernel(int64(mate_type, types.uint64, int64, int64))
def known_mate(M, key, hand, which):
    """What the table holds of a position: 0: shortest proven length (NEVER: none), 1: longest disproven (-1: none)."""
    proven, disproven = np.int64(NEVER), np.int64(-1)
    slot = slot_of(M, key)
    while True:
        e = row_at(M, slot)
        if e.key == U0:
            break
        if e.key == key:
            known = np.int64(e.hand)
            if covers(hand, known):
                proven = min(proven, np.int64(e.proven))
            if covers(known, hand):
                disproven = max(disproven, np.int64(e.disproven))
        slot = next_slot(M, slot)
    return proven if which == 0 else disproven
