"""The mate solver: depth-first proof-number search (Nagai) on an explicit stack.

A node is open until its position is proved (mate) or disproved. Its proof number `pn` says how many open nodes must at
least be proved to prove it, `dn` the same for a disproof. The search always goes on at the node that counts for
both, and comes back up when a node's numbers pass the limits under which another one is more promising.
"""

from __future__ import annotations

import numpy as np
from numba import int64, void

from engine.native.bitboard import popcount
from engine.native.intrinsics import atomic_load_i64
from engine.native.jit import inline, kernel
from engine.rules.attacks import (
    attackers_of_colour,
    attacks_from,
    between_bb,
    occupied,
    pointless_bb,
    square_bb,
    step_attacks,
)
from engine.rules.checks import may_mate, open_escapes
from engine.rules.layout import (
    DROP_BIT,
    FROM_MASK,
    FROM_SHIFT,
    KING,
    MAX_PLIES,
    MOVE_BUFFER,
    PROMOTE_BIT,
    PROMOTED,
    TO_MASK,
    position_type,
    tables_type,
)
from engine.rules.position import current
from engine.search.mate_hands import (
    disproof_before,
    disproof_before_defence,
    hand_after,
    larger_hand,
    needed_against_drops,
    proof_before,
    smaller_hand,
    without_new_checks,
)
from engine.search.mate_rules import generate_checks, generate_evasions, make_move, unmake_move
from engine.search.mate_table import (
    DEPTH_LIMIT,
    FOREVER,
    INFINITE_NUMBER,
    NUMBER_LIMIT,
    UNCONDITIONAL,
    covers,
    keep_room,
    look_up,
    look_up_path,
    mate_type,
    prefetch_row,
    row_for,
    store_disproven,
    store_open,
    store_path,
    store_proven,
)

U_START = np.uint64(0x1234567)
RUNNING, DONE, STOPPED = 0, 1, 2
FILTER_MASK = np.uint64(4095)
MIX = np.uint64(0x9E3779B97F4A7C15)
HAND_MIX = np.uint64(0xD6E8FEB86659FD93)
LAST_PLY = MAX_PLIES - 4
GROWTH_SHIFT = 3  # a child may grow beyond the second best by this part (2 to the power of it) before it is left
SAFE_BUFFER = MOVE_BUFFER - 1300  # a node is only entered with room for its moves and its test for mate


@inline
def key_after(P, T, m):
    """Board key after a move, without making it."""
    key = current(P).key_board ^ T.key_side
    to = np.uint64(m & TO_MASK)
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    if m & DROP_BIT:
        return key ^ T.key[np.uint64(origin | P.side << 4), to]
    piece = np.int64(P.board[np.uint64(origin)])
    placed = piece | PROMOTED if m & PROMOTE_BIT else piece
    captured = np.int64(P.board[to])
    if captured:
        key ^= T.key[np.uint64(captured), to]
    return key ^ T.key[np.uint64(piece), np.uint64(origin)] ^ T.key[np.uint64(placed), to]


@inline
def _path_after(path, key, hand):
    mixed = (path ^ (key + np.uint64(hand) * HAND_MIX)) * MIX
    return mixed ^ (mixed >> np.uint64(29))


@inline
def _guess_answers(P, T, m, escapes):
    """Number of answers to a check, roughly."""
    side = P.side
    enemy = side ^ 1
    king = P.king[np.uint64(enemy)]
    to = np.int64(m & TO_MASK)
    origin = np.int64((m >> FROM_SHIFT) & FROM_MASK)
    here = square_bb(T, to)
    blockers = (occupied(P) ^ square_bb(T, king)) | here
    piece = origin | side << 4
    own = here
    if not (m & DROP_BIT):
        piece = np.int64(P.board[np.uint64(origin)])
        if m & PROMOTE_BIT:
            piece |= PROMOTED
        own = square_bb(T, origin)
        blockers &= ~own
    count = popcount(escapes & ~attacks_from(T, piece, to, blockers) & ~here)
    near = bool(step_attacks(T, KING, king) & here)
    if near and not (attackers_of_colour(P, T, to, side, blockers) & ~own):
        count += 1
    captors = attackers_of_colour(P, T, to, enemy, blockers) & ~square_bb(T, king)
    count += popcount(captors)
    if not near and bool(between_bb(T, king, to)):
        count += 1
    return max(count, np.int64(1))


@inline
def _repeats(M, d, key, hand):
    """Depth of the last position of the path that is at least as good for the attacker as a child of frame d, or -1."""
    if M.filter[key & FILTER_MASK] == 0:
        return np.int64(-1)
    k = d - 1
    while k >= 0:
        f = M.frames[np.uint64(k)]
        if f.key == key and covers(f.hand, hand):
            return k
        k -= 2
    return np.int64(-1)


@inline
def _is_solved(c):
    return c.pn == 0 or c.dn == 0


@inline
def _open_children(P, T, M, d):
    """Fill the child records of frame d from the table."""
    f = M.frames[np.uint64(d)]
    is_attack = (d & 1) == 0
    for i in range(f.first, f.end):
        c = M.children[np.uint64(i)]
        m = P.moves[np.uint64(i)]
        key = key_after(P, T, m) ^ M.salt
        prefetch_row(M, key)
        c.key = key
        c.pn, c.dn = 1, 1
        c.hand = hand_after(P, m, f.hand) if is_attack else f.hand
        c.after = np.int32(-1)
        c.grouped = np.int8(0)
    length = np.int64(f.length) - 1
    for i in range(f.first, f.end):
        c = M.children[np.uint64(i)]
        look_up(M, c.key, c.hand, length, c)
        if _is_solved(c):
            continue
        repeated = _repeats(M, d, c.key, c.hand)
        if repeated >= 0:
            c.pn, c.dn = INFINITE_NUMBER, 0
            c.length = np.int32(FOREVER)
            c.dependency = np.int32(repeated)
            c.proof = c.hand
        elif c.has_paths:
            look_up_path(M, _path_after(f.path, c.key, c.hand), length, c)


@inline
def _delay_plain_moves(P, T, M, d):
    """Moves that decline a promotion without need wait for the promotion: they only matter against uchifuzume."""
    f = M.frames[np.uint64(d)]
    side = P.side
    for i in range(f.first, f.end):
        m = P.moves[np.uint64(i)]
        if m & (DROP_BIT | PROMOTE_BIT):
            continue
        kind = np.int64(P.board[np.uint64((m >> FROM_SHIFT) & FROM_MASK)]) & 15
        if kind > 6 or not (pointless_bb(T, side, kind) & square_bb(T, m & TO_MASK)):
            continue
        wanted = m | PROMOTE_BIT
        for j in range(f.first, f.end):
            if P.moves[np.uint64(j)] == wanted:
                M.children[np.uint64(i)].after = np.int32(j)


@inline
def _delay_drops(P, M, d):
    """Pieces interposed on one square wait for each other: most fall to the same answer."""
    f = M.frames[np.uint64(d)]
    for i in range(f.first, f.end):
        m = P.moves[np.uint64(i)]
        if m & DROP_BIT:
            M.children[np.uint64(i)].grouped = np.int8(1)
            for j in range(f.first, i):
                other = P.moves[np.uint64(j)]
                if other & DROP_BIT and (other & TO_MASK) == (m & TO_MASK):
                    M.children[np.uint64(i)].after = np.int32(j)


@inline
def _solve(f, proved, length, dependency, proof):
    f.pn = 0 if proved else INFINITE_NUMBER
    f.dn = INFINITE_NUMBER if proved else 0
    f.proven = np.int32(length)
    f.dependency = np.int32(dependency)
    f.proof = proof


@inline
def _find_mate_in_one(P, T, M, d):
    """Try the checks of frame d for mate; True, and the frame solved, if there is one."""
    f = M.frames[np.uint64(d)]
    end = np.int64(f.end)
    escapes = open_escapes(P, T)
    for i in range(f.first, end):
        m = P.moves[np.uint64(i)]
        if may_mate(P, T, m, escapes):
            make_move(P, T, M, m)
            mated = generate_evasions(P, T, M, end) == end
            needed = np.int64(0)
            if mated:
                needed = needed_against_drops(P, T, M.attacker)
            unmake_move(P, T, M)
            if mated:
                _solve(f, True, 1, UNCONDITIONAL, proof_before(P, m, needed))
                return True
    return False


@inline
def _expand_attack(P, T, M, d):
    """Open a node of the attacker; True if that solves it."""
    f = M.frames[np.uint64(d)]
    first = np.int64(f.first)
    end = generate_checks(P, T, M, first)
    f.end = np.int32(end)
    if end == first:
        _solve(f, False, FOREVER, UNCONDITIONAL, without_new_checks(P, T, P.hand[0] + P.hand[1]))
        return True
    if not f.visited and _find_mate_in_one(P, T, M, d):
        return True
    if f.length <= 1:
        _solve(f, False, 1, UNCONDITIONAL, f.hand)
        return True
    _open_children(P, T, M, d)
    escapes = open_escapes(P, T)
    for i in range(first, end):
        c = M.children[np.uint64(i)]
        if not c.visited and not _is_solved(c):
            c.pn = max(c.pn, _guess_answers(P, T, P.moves[np.uint64(i)], escapes))
    _delay_plain_moves(P, T, M, d)
    return False


@inline
def _expand_defence(P, T, M, d):
    """Open a node of the defender, who is in check; True if that solves it."""
    f = M.frames[np.uint64(d)]
    first = np.int64(f.first)
    end = generate_evasions(P, T, M, first)
    f.end = np.int32(end)
    if end == first:
        _solve(f, True, 0, UNCONDITIONAL, needed_against_drops(P, T, M.attacker))
        return True
    _open_children(P, T, M, d)
    _delay_plain_moves(P, T, M, d)
    _delay_drops(P, M, d)
    return False


@inline
def _is_waiting(M, c, is_attack):
    """True if a child is left out until the one it comes after has failed its mover."""
    if c.after < 0 or _is_solved(c):
        return False
    other = M.children[np.uint64(c.after)]
    return (other.dn if is_attack else other.pn) != 0


@inline
def _sum_up(M, d, is_attack):
    """Numbers of frame d from those of its children, and the limits for the best child.

    The mover needs one child (the least number counts), the other side needs all of them. There the sum would count
    every position again that is reached along several lines, so alternatives that mostly lead to the same positions
    count by their greatest number: all checks, and all interposed pieces.
    Returns (the best child's limit of the number that is least, of the number that is summed).
    """
    f = M.frames[np.uint64(d)]
    least, second = np.int64(INFINITE_NUMBER), np.int64(INFINITE_NUMBER)
    best, best_cost = np.int64(-1), np.int64(0)
    total, greatest, live = np.int64(0), np.int64(0), np.int64(0)
    for i in range(f.first, f.end):
        c = M.children[np.uint64(i)]
        if _is_waiting(M, c, is_attack):
            continue
        value = c.pn if is_attack else c.dn
        cost = c.dn if is_attack else c.pn
        if cost == 0:
            continue
        live += 1
        if is_attack or c.grouped:
            greatest = max(greatest, cost)
        else:
            total += cost
        if value < least or (value == least and cost < best_cost):
            second = least
            least, best, best_cost = value, i, cost
        elif value < second:
            second = value
    if is_attack:
        total = live - 1
    f.best = np.int32(best)
    whole = min(total + greatest, np.int64(NUMBER_LIMIT))
    if live == 0:
        whole = np.int64(0)
    elif least == 0:
        whole = np.int64(INFINITE_NUMBER)
    if is_attack:
        f.pn, f.dn = least, whole
        value_limit, cost_limit = f.pn_limit, f.dn_limit
    else:
        f.dn, f.pn = least, whole
        value_limit, cost_limit = f.dn_limit, f.pn_limit
    rest = total
    if not is_attack and best >= 0 and not M.children[np.uint64(best)].grouped:
        rest = total - best_cost + greatest
    return min(value_limit, second + 1 + (second >> GROWTH_SHIFT)), cost_limit - rest


@inline
def _conclude_attack(P, T, M, d):
    """Length, dependency and hand of an attacker's node that its children solved."""
    f = M.frames[np.uint64(d)]
    if f.pn == 0:
        length = np.int64(FOREVER)
        proof = np.int64(0)
        for i in range(f.first, f.end):
            c = M.children[np.uint64(i)]
            if c.pn == 0 and c.length < length:
                length = np.int64(c.length)
                proof = proof_before(P, P.moves[np.uint64(i)], c.proof)
        _solve(f, True, length + 1, UNCONDITIONAL, proof)
        return
    total = P.hand[0] + P.hand[1]
    proof = total
    length = np.int64(FOREVER)
    dependency = np.int64(UNCONDITIONAL)
    for i in range(f.first, f.end):
        c = M.children[np.uint64(i)]
        length = min(length, np.int64(c.length))
        dependency = min(dependency, np.int64(c.dependency))
        if dependency == UNCONDITIONAL:
            proof = smaller_hand(proof, disproof_before(P, P.moves[np.uint64(i)], c.proof, total))
    if dependency == UNCONDITIONAL:
        proof = without_new_checks(P, T, proof)
    else:
        proof = f.hand
        if dependency >= d:
            dependency = np.int64(UNCONDITIONAL)
    _solve(f, False, min(length + 1, np.int64(FOREVER)), dependency, proof)


@inline
def _conclude_defence(P, T, M, d):
    """The same for a node of the defender."""
    f = M.frames[np.uint64(d)]
    if f.dn != 0:
        length = np.int64(0)
        proof = needed_against_drops(P, T, M.attacker)
        for i in range(f.first, f.end):
            c = M.children[np.uint64(i)]
            length = max(length, np.int64(c.length))
            proof = larger_hand(proof, c.proof)
        _solve(f, True, length + 1, UNCONDITIONAL, proof)
        return
    best = np.int64(-1)
    for i in range(f.first, f.end):
        c = M.children[np.uint64(i)]
        if c.dn != 0:
            continue
        if best < 0:
            best = i
            continue
        b = M.children[np.uint64(best)]
        if c.dependency > b.dependency or (c.dependency == b.dependency and c.length > b.length):
            best = i
    c = M.children[np.uint64(best)]
    length = min(np.int64(c.length) + 1, np.int64(FOREVER))
    if c.dependency == UNCONDITIONAL:
        total = P.hand[0] + P.hand[1]
        proof = disproof_before_defence(P, P.moves[np.uint64(best)], c.proof, total)
        _solve(f, False, length, UNCONDITIONAL, proof)
    else:
        dependency = np.int64(c.dependency)
        if dependency >= d:
            dependency = np.int64(UNCONDITIONAL)
        _solve(f, False, length, dependency, f.hand)


@inline
def _record(M, d):
    """Keep what is known of frame d in the table."""
    f = M.frames[np.uint64(d)]
    amount = M.nodes - f.nodes + 1
    if f.pn == 0:
        store_proven(M, f.key, f.proof, f.proven, amount)
    elif f.dn == 0:
        if f.dependency == UNCONDITIONAL:
            store_disproven(M, f.key, f.proof, f.proven, amount)
        else:
            store_path(M, f.path, f.proven, f.dependency)
            e = row_for(M, f.key, f.hand)
            e.pn, e.dn = max(e.pn, np.uint32(1)), max(e.dn, np.uint32(1))
            e.has_paths = np.int16(1)
    else:
        store_open(M, f.key, f.hand, f.pn, f.dn, amount)


@inline
def _enter(P, T, M, d):
    """Open frame d, whose position is on the board; True if that solves it."""
    f = M.frames[np.uint64(d)]
    M.nodes += 1
    f.nodes = M.nodes
    f.leaves = M.leaves
    if not f.visited:
        M.leaves += 1
    M.max_depth = max(M.max_depth, d)
    M.filter[f.key & FILTER_MASK] += np.int16(1)
    return _expand_defence(P, T, M, d) if d & 1 else _expand_attack(P, T, M, d)


@kernel(void(position_type, tables_type, mate_type, int64))
def start(P, T, M, length):
    """Begin a search for a mate of at most `length` plies (odd) from the position on the board."""
    M.filter[:] = np.int16(0)
    M.depth = 0
    f = M.frames[0]
    f.key = current(P).key_board ^ M.salt
    f.hand = P.hand[np.uint64(M.attacker)]
    f.path = _path_after(U_START, f.key, f.hand)
    f.first = np.int32(0)
    f.end = np.int32(0)
    f.length = np.int32(length)
    f.pn_limit, f.dn_limit = INFINITE_NUMBER, INFINITE_NUMBER
    f.visited = np.int8(0)
    f.pn, f.dn = 1, 1
    M.arriving = 1


@inline
def _leave(P, T, M, d):
    """Record frame d, tell its parent, and take the move back."""
    f = M.frames[np.uint64(d)]
    _record(M, d)
    M.filter[f.key & FILTER_MASK] -= np.int16(1)
    if d > 0:
        c = M.children[np.uint64(M.frames[np.uint64(d - 1)].best)]
        c.pn, c.dn = f.pn, f.dn
        c.length, c.dependency, c.proof = f.proven, f.dependency, f.proof
        c.visited = np.int8(1)
        unmake_move(P, T, M)


@inline
def _descend(M, d, value_limit, cost_limit):
    """Prepare the frame below d for its best child."""
    f = M.frames[np.uint64(d)]
    c = M.children[np.uint64(f.best)]
    g = M.frames[np.uint64(d + 1)]
    g.key, g.hand = c.key, c.hand
    g.path = _path_after(f.path, c.key, c.hand)
    g.first = f.end
    g.length = f.length - np.int32(1)
    g.visited = c.visited
    if d & 1:
        g.dn_limit, g.pn_limit = value_limit, cost_limit
    else:
        g.pn_limit, g.dn_limit = value_limit, cost_limit


@kernel(int64(position_type, tables_type, mate_type, int64))
def advance(P, T, M, node_limit):
    """Search on until the root is solved (DONE), `node_limit` nodes are visited (RUNNING) or stop is raised."""
    d = M.depth
    arriving = M.arriving != 0
    M.arriving = 0
    while d >= 0:
        f = M.frames[np.uint64(d)]
        is_attack = (d & 1) == 0
        if arriving:
            arriving = False
            if _enter(P, T, M, d):
                _leave(P, T, M, d)
                d -= 1
            continue
        value_limit, cost_limit = _sum_up(M, d, is_attack)
        solved = f.pn == 0 or f.dn == 0
        over = f.pn >= f.pn_limit or f.dn >= f.dn_limit
        if over and not solved and f.leaves == M.leaves:
            f.pn_limit, f.dn_limit = max(f.pn_limit, f.pn + 1), max(f.dn_limit, f.dn + 1)
            continue
        if solved or over:
            if solved:
                if is_attack:
                    _conclude_attack(P, T, M, d)
                else:
                    _conclude_defence(P, T, M, d)
            _leave(P, T, M, d)
            d -= 1
            continue
        if M.nodes >= node_limit:
            M.depth = d
            return RUNNING
        if atomic_load_i64(M.stop) != 0:
            M.depth = d
            return STOPPED
        keep_room(M)
        c = M.children[np.uint64(f.best)]
        if d + 1 >= DEPTH_LIMIT or P.ply >= LAST_PLY or f.end >= SAFE_BUFFER:
            c.pn, c.dn = INFINITE_NUMBER, 0
            c.length = np.int32(FOREVER)
            c.dependency = np.int32(-1)
            c.proof = c.hand
            continue
        # what was found elsewhere since this frame was opened may spare the visit
        look_up(M, c.key, c.hand, np.int64(f.length) - 1, c)
        if _is_solved(c):
            continue
        _descend(M, d, value_limit, cost_limit)
        make_move(P, T, M, P.moves[np.uint64(f.best)])
        d += 1
        arriving = True
    M.depth = -1
    return DONE


@kernel(void(position_type, tables_type, mate_type))
def unwind(P, T, M):
    """Give a running search up: back to its root."""
    while M.depth >= 0:
        d = M.depth
        f = M.frames[np.uint64(d)]
        if f.pn != 0 and f.dn != 0:
            store_open(M, f.key, f.hand, f.pn, f.dn, M.nodes - f.nodes + 1)
        if d > 0:
            unmake_move(P, T, M)
        M.depth = d - 1
