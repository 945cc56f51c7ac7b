"""The evaluation by a network: accumulators kept along the line of moves, then a few small dense layers.

For each player the sum of the rows that the position switches on (`eval.features`) is an "accumulator". A thread keeps
one pair per ply of its search line, computed only when a position is really evaluated: from the nearest earlier ply
that has it, by the one or two pieces that each move between changed, or, when the player's own king moved and all rows
are others, from the last accumulator seen with the king on that square, by the pieces that differ.

An accumulator is valid while the key kept beside it is that of the position at its ply, so neither taking moves back,
nor null moves, nor a new root can leave a wrong one in use.

One function is compiled for each shape of network that is met (`compile_evaluation`), with the shape as a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import from_dtype, int64, uint64

from engine.native.intrinsics import address_of, load_i32, load_u64, lowest_bit, record_at, store_u64
from engine.native.jit import address_kernel, inline
from engine.native.simd import (
    REGISTER_BYTES,
    Vector,
    add,
    clip,
    dot,
    fold,
    lane,
    load,
    multiply,
    shift_left,
    shift_right,
    shift_right_unsigned,
    spread,
    store,
    subtract,
    to_bytes,
    total,
    zero,
)
from engine.native.static import number_of, static, static_of
from engine.rules.layout import (
    COLOUR_SHIFT,
    HAND_MASK,
    HAND_SHIFT,
    KING,
    NO_SQUARE,
    PAWN,
    POSITION,
    new_record,
    offset_of,
    position_type,
    record_address,
    shared_type,
)
from eval.features import (
    FRAME,
    HALF_FILES,
    HAND_START,
    KING_START,
    SHOGI_PIECES,
    captured_numbers,
    hand_number,
    moved_numbers,
    piece_number,
    variant_orientation,
)
from eval.network_file import Dense, Network, aligned_empty

LIMIT = 30_000  # scores stay below the mates
DEFAULT_FV_SCALE, STACKED_FV_SCALE = 16, 28  # what networks of the two families are usually made for
LONGEST_WALK = 6  # plies that it pays to catch up on; past that a refresh is cheaper

BOARD_WORDS = POSITION["board"].itemsize // 8
BOARD_OFFSET = offset_of(POSITION, "board")
SLOTS = 320  # plies of a search line that keep accumulators; the last slot serves all others
SPARE = SLOTS - 1
LIST_BYTES = 2048  # addresses of up to 256 rows
HIDDEN_BYTES = 256
ENTRY_HEADER = 128  # board, hands and number of pieces of a refresh entry
ENTRY_HANDS = 88
ENTRY_PIECES = 104
SLOT_HEADER = 64  # keys of the positions that the two accumulators of a slot belong to
NO_KEY = 2**64 - 1

NETWORK = np.dtype(
    [
        ("rows", "u8"),  # address of int16[inputs][width]
        ("dense", "u8"),  # address of the dense layers, one stack after another (see `Shape.offsets`)
        ("fv_scale", "i8"),  # output units per unit of score
        ("pieces", "i8"),  # number 0 is added for every piece short of this many (0: never)
        ("piece_start", "i4", 32),  # by piece, bit 4 = the enemy's: number on square 0, negative if left out
        ("hand_start", "i4", (2, 8)),  # by owner (1 = enemy) and type: number of the nth piece in hand, less n
        ("oriented", "u1", (4, 88)),  # by perspective + 2 * mirrored: the square as the player sees it
    ],
    align=True,
)

network_at = record_at(from_dtype(NETWORK))
position_at = record_at(position_type)
shared_at = record_at(shared_type)
evaluation_signature = int64(uint64, uint64, uint64)


@static
@dataclass(frozen=True)
class Layer:
    """A dense layer as the kernel sees it: inputs are a multiple of 4, outputs a power of two."""

    inputs: int
    outputs: int

    @property
    def groups(self) -> int:
        """Groups of four inputs that one step of the kernel takes: enough sums to keep the multipliers busy."""
        wanted = max(1, 8 * REGISTER_BYTES // (4 * self.outputs))
        return int(np.gcd(wanted, self.inputs // 4))


@static
@dataclass(frozen=True)
class Shape:
    """What the compiled evaluation depends on."""

    planes: int
    numbers: int
    width: int
    outputs_1: int  # of the first dense layer, the shortcut included
    hidden_1: int  # of these, the ones that go on to the second
    hidden_2: int
    stacks: int  # 1: classic layers

    @property
    def stacked(self) -> bool:
        """Pairwise products and squares (SFNN) instead of the classic layers."""
        return self.stacks > 1

    @property
    def half(self) -> int:
        """Bytes of one accumulator."""
        return 2 * self.width

    @property
    def tile(self) -> int:
        """Lanes of an accumulator that are worked on at a time: as many as half of the registers hold."""
        return int(np.gcd(self.width, 8 * REGISTER_BYTES))

    @property
    def layer_1(self) -> Layer:
        """The first dense layer."""
        return Layer(self.width if self.stacked else 2 * self.width, self.outputs_1)

    @property
    def layer_2(self) -> Layer:
        """The second dense layer. In stacked networks it takes all outputs twice; those left out have zero weights."""
        return Layer(2 * self.outputs_1 if self.stacked else self.hidden_1, self.hidden_2)

    @property
    def entry(self) -> int:
        """Bytes of one entry of the refresh cache."""
        return ENTRY_HEADER + self.half

    @property
    def slot(self) -> int:
        """Bytes of one slot of the stack."""
        return SLOT_HEADER + 2 * self.half

    @property
    def lists_at(self) -> int:
        """Offset of the row lists in a thread's memory; the inputs of the dense layers come before."""
        return 2 * self.width + HIDDEN_BYTES

    @property
    def cache_at(self) -> int:
        """Offset of the refresh cache: an entry for each player and square of his king."""
        return self.lists_at + 2 * LIST_BYTES

    @property
    def slots_at(self) -> int:
        """Offset of the stack."""
        return self.cache_at + 2 * (NO_SQUARE + 1) * self.entry

    @property
    def bytes(self) -> int:
        """Size of a thread's memory."""
        return self.slots_at + SLOTS * self.slot

    def offsets(self) -> dict[str, int]:
        """Where the parts of one stack's dense layers stand, in bytes."""
        sizes = {
            "bias_1": 4 * self.outputs_1,
            "weights_1": self.layer_1.inputs * self.outputs_1,
            "bias_2": 4 * self.hidden_2,
            "weights_2": self.layer_2.inputs * self.hidden_2,
            "bias_3": 4,
            "weights_3": self.hidden_2,
        }
        offsets, at = {}, 0
        for part, size in sizes.items():
            offsets[part] = at
            at += -(-size // 64) * 64
        offsets["end"] = at
        return offsets


half_of = number_of(lambda shape: shape.half)
width_of = number_of(lambda shape: shape.width)
tile_bytes = number_of(lambda shape: 2 * shape.tile)
entry_bytes = number_of(lambda shape: shape.entry)
slot_bytes = number_of(lambda shape: shape.slot)
lists_at = number_of(lambda shape: shape.lists_at)
cache_at = number_of(lambda shape: shape.cache_at)
slots_at = number_of(lambda shape: shape.slots_at)
numbers_of = number_of(lambda shape: shape.numbers)
is_relative = number_of(lambda shape: shape.planes > 1)
is_mirrored = number_of(lambda shape: shape.planes == HALF_FILES * FRAME)
has_shortcut = number_of(lambda shape: shape.outputs_1 != shape.hidden_1)
outputs_1_of = number_of(lambda shape: shape.outputs_1)
stack_bytes = number_of(lambda shape: shape.offsets()["end"])


def _start_of(part: str) -> Any:
    """Jitted `f(shape)`: where a part of the dense layers starts, in bytes."""
    return number_of(lambda shape: shape.offsets()[part])


bias_1_at, weights_1_at, bias_2_at, weights_2_at, bias_3_at, weights_3_at = (
    _start_of(part) for part in ("bias_1", "weights_1", "bias_2", "weights_2", "bias_3", "weights_3")
)
tile_of = static_of(lambda shape: Vector(16, shape.tile))
pair_tile_of = static_of(lambda shape: Vector(16, int(np.gcd(shape.width // 2, shape.tile))))
pair_tile_bytes = number_of(lambda shape: 2 * np.gcd(shape.width // 2, shape.tile))
layer_1_of = static_of(lambda shape: shape.layer_1)
layer_2_of = static_of(lambda shape: shape.layer_2)
last_bytes_of = static_of(lambda shape: Vector(8, shape.hidden_2))
last_sums_of = static_of(lambda shape: Vector(32, shape.hidden_2 // 4))

steps_of = number_of(lambda layer: layer.inputs // (4 * layer.groups))
input_step = number_of(lambda layer: 4 * layer.groups)
weight_step = number_of(lambda layer: 4 * layer.groups * layer.outputs)
sums_of = static_of(lambda layer: Vector(32, layer.outputs))
wide_sums_of = static_of(lambda layer: Vector(32, layer.outputs * layer.groups))
wide_bytes_of = static_of(lambda layer: Vector(8, 4 * layer.outputs * layer.groups))


# ---- accumulators ----


@inline
def view_of(shape, P, N, perspective):
    """How a player looks at the board: the row of N.oriented, and the first row of the plane of his king's square."""
    king = np.uint64(P.king[np.uint64(perspective)])
    view = perspective
    square = np.int64(N.oriented[np.uint64(view), king])
    if is_mirrored(shape) and square >= HALF_FILES * FRAME:
        view += 2
        square = np.int64(N.oriented[np.uint64(view), king])
    plane = square * np.int64(numbers_of(shape)) if is_relative(shape) else np.int64(0)
    return view, plane


@inline
def row_address(shape, N, row):
    return N.rows + np.uint64(row) * half_of(shape)


@inline
def key_at(P, ply):
    u = P.undo[np.uint64(ply)]
    return u.key_board + u.key_hand


@inline
def slot_at(shape, A, index):
    return A + slots_at(shape) + np.uint64(index) * slot_bytes(shape)


@inline
def accumulator_at(shape, slot, perspective):
    return slot + np.uint64(SLOT_HEADER) + np.uint64(perspective) * half_of(shape)


@inline
def replace_one(shape, source, target, gone, new):
    """target = source - gone + new, all of them addresses."""
    at = np.uint64(0)
    while at < half_of(shape):
        tile = subtract(load(tile_of(shape), source + at), load(tile_of(shape), gone + at))
        store(target + at, add(tile, load(tile_of(shape), new + at)))
        at += tile_bytes(shape)


@inline
def replace_two(shape, source, target, gone, new, gone_too, new_too):
    """The same for two rows at once."""
    at = np.uint64(0)
    while at < half_of(shape):
        tile = subtract(load(tile_of(shape), source + at), load(tile_of(shape), gone + at))
        tile = add(tile, load(tile_of(shape), new + at))
        tile = subtract(tile, load(tile_of(shape), gone_too + at))
        store(target + at, add(tile, load(tile_of(shape), new_too + at)))
        at += tile_bytes(shape)


@inline
def copy_accumulator(shape, source, target):
    at = np.uint64(0)
    while at < half_of(shape):
        store(target + at, load(tile_of(shape), source + at))
        at += tile_bytes(shape)


@inline
def replace_many(shape, entry, target, removed, removed_count, added, added_count):
    """Apply lists of row addresses to the accumulator of a refresh entry and copy it to `target`."""
    at = np.uint64(0)
    while at < half_of(shape):
        home = entry + np.uint64(ENTRY_HEADER) + at
        tile = load(tile_of(shape), home)
        for index in range(np.uint64(removed_count)):
            tile = subtract(tile, load(tile_of(shape), load_u64(removed + index * np.uint64(8)) + at))
        for index in range(np.uint64(added_count)):
            tile = add(tile, load(tile_of(shape), load_u64(added + index * np.uint64(8)) + at))
        store(home, tile)
        store(target + at, tile)
        at += tile_bytes(shape)


@inline
def advance(shape, P, N, perspective, view, plane, ply, source, target):
    """The accumulator of `ply` at `target`, from the one of the ply before at `source`.

    In a pass "piece 0" moves, which like a king may be no feature: then the accumulator stays as it is.
    """
    u = P.undo[np.uint64(ply)]
    before = P.undo[np.uint64(ply - 1)]
    gone, new = moved_numbers(N, perspective, view, u, before)
    if u.captured == 0:
        if gone < 0:
            copy_accumulator(shape, source, target)
        else:
            replace_one(shape, source, target, row_address(shape, N, plane + gone), row_address(shape, N, plane + new))
        return
    gone_too, new_too = captured_numbers(N, perspective, view, u)
    if gone < 0:
        replace_one(
            shape, source, target, row_address(shape, N, plane + gone_too), row_address(shape, N, plane + new_too)
        )
    else:
        replace_two(
            shape,
            source,
            target,
            row_address(shape, N, plane + gone),
            row_address(shape, N, plane + new),
            row_address(shape, N, plane + gone_too),
            row_address(shape, N, plane + new_too),
        )


@inline
def append_row(shape, N, rows, count, row):
    store_u64(rows + np.uint64(count) * np.uint64(8), row_address(shape, N, row))
    return count + 1


@inline
def board_differences(shape, P, N, entry, removed, added, perspective, view, plane):
    """List the rows of board pieces by which the position differs from a refresh entry; the entry takes its board over.

    Returns how many rows go, how many come, and the change in the number of pieces besides the kings.
    """
    removed_count, added_count, pieces = np.int64(0), np.int64(0), np.int64(0)
    for word in range(BOARD_WORDS):
        offset = np.uint64(8 * word)
        now = load_u64(address_of(P) + np.uint64(BOARD_OFFSET) + offset)
        old = load_u64(entry + offset)
        if now == old:
            continue
        store_u64(entry + offset, now)
        changed = now ^ old
        while changed != np.uint64(0):
            shift = np.uint64(lowest_bit(changed)) & np.uint64(56)
            changed &= ~(np.uint64(255) << shift)
            square = np.int64(offset + (shift >> np.uint64(3)))
            piece = np.int64((old >> shift) & np.uint64(31))
            if piece:
                number = piece_number(N, perspective, view, piece, square)
                if number >= 0:
                    removed_count = append_row(shape, N, removed, removed_count, plane + number)
                    pieces -= number < KING_START
            piece = np.int64((now >> shift) & np.uint64(31))
            if piece:
                number = piece_number(N, perspective, view, piece, square)
                if number >= 0:
                    added_count = append_row(shape, N, added, added_count, plane + number)
                    pieces += number < KING_START
    return removed_count, added_count, pieces


@inline
def hand_differences(shape, P, N, entry, removed, added, perspective, plane, removed_count, added_count):
    """The same for the hands; the counts go on from those given."""
    before = added_count - removed_count
    for colour in range(2):
        address = entry + np.uint64(ENTRY_HANDS + 8 * colour)
        now, old = P.hand[np.uint64(colour)], np.int64(load_u64(address))
        if now == old:
            continue
        store_u64(address, np.uint64(now))
        for kind in range(PAWN, KING):
            count = (now >> HAND_SHIFT[np.uint64(kind)]) & HAND_MASK[np.uint64(kind)]
            had = (old >> HAND_SHIFT[np.uint64(kind)]) & HAND_MASK[np.uint64(kind)]
            while had > count:
                row = plane + hand_number(N, perspective, colour, kind, had)
                removed_count = append_row(shape, N, removed, removed_count, row)
                had -= 1
            while had < count:
                had += 1
                row = plane + hand_number(N, perspective, colour, kind, had)
                added_count = append_row(shape, N, added, added_count, row)
    return removed_count, added_count, added_count - removed_count - before


@inline
def renew(shape, P, N, A, perspective, view, plane, target):
    """The accumulator of the current position at `target`, from the refresh entry of the king's square."""
    square = P.king[np.uint64(perspective)] if is_relative(shape) else np.int64(0)
    index = np.uint64(perspective * (NO_SQUARE + 1) + square)
    entry = A + cache_at(shape) + index * entry_bytes(shape)
    removed = A + lists_at(shape)
    added = removed + np.uint64(LIST_BYTES)
    removed_count, added_count, pieces = board_differences(shape, P, N, entry, removed, added, perspective, view, plane)
    removed_count, added_count, in_hand = hand_differences(
        shape, P, N, entry, removed, added, perspective, plane, removed_count, added_count
    )
    had = np.int64(load_u64(entry + np.uint64(ENTRY_PIECES)))
    have = had + pieces + in_hand
    store_u64(entry + np.uint64(ENTRY_PIECES), np.uint64(have))
    missed, missing = max(N.pieces - had, np.int64(0)), max(N.pieces - have, np.int64(0))
    while missed > missing:
        removed_count = append_row(shape, N, removed, removed_count, plane)
        missed -= 1
    while missed < missing:
        added_count = append_row(shape, N, added, added_count, plane)
        missed += 1
    replace_many(shape, entry, target, removed, removed_count, added, added_count)


@inline
def nearest_computed(shape, P, A, perspective, index):
    """Index of the nearest earlier slot from which the current accumulator can be reached, or -1."""
    own_king = np.int64(KING | perspective << COLOUR_SHIFT)
    at = index
    while at > 0 and index - at < LONGEST_WALK:
        if is_relative(shape) and np.int64(P.undo[np.uint64(P.root_ply + at)].moved) == own_king:
            return np.int64(-1)
        at -= 1
        if load_u64(slot_at(shape, A, at) + np.uint64(8 * perspective)) == key_at(P, P.root_ply + at):
            return at
    return np.int64(-1)


@inline
def catch_up(shape, P, N, A, perspective, index, inside):
    """Compute the player's accumulator of the current position, whose slot is `index`, by the shortest way."""
    view, plane = view_of(shape, P, N, perspective)
    at = nearest_computed(shape, P, A, perspective, index) if inside else np.int64(-1)
    if at < 0:
        slot = slot_at(shape, A, index)
        renew(shape, P, N, A, perspective, view, plane, accumulator_at(shape, slot, perspective))
        store_u64(slot + np.uint64(8 * perspective), key_at(P, P.ply))
        return
    while at < index:
        source = accumulator_at(shape, slot_at(shape, A, at), perspective)
        at += 1
        slot = slot_at(shape, A, at)
        ply = P.root_ply + at
        advance(shape, P, N, perspective, view, plane, ply, source, accumulator_at(shape, slot, perspective))
        store_u64(slot + np.uint64(8 * perspective), key_at(P, ply))


@inline
def current_slot(shape, P, N, A):
    """Address of the slot with both accumulators of the current position, computed now if need be."""
    index = P.ply - P.root_ply
    inside = 0 <= index < SPARE
    if not inside:
        index = np.int64(SPARE)
    slot = slot_at(shape, A, index)
    key = key_at(P, P.ply)
    for perspective in range(2):
        if load_u64(slot + np.uint64(8 * perspective)) != key:
            catch_up(shape, P, N, A, perspective, index, inside)
    return slot


# ---- dense layers ----


@inline
def dense_sums(layer, inputs, weights, bias):
    """int32 outputs of a dense layer for input bytes at an address."""
    sums = zero(wide_sums_of(layer))
    for _ in range(steps_of(layer)):
        spread_inputs = spread(wide_bytes_of(layer), sums_of(layer), inputs)
        sums = dot(sums, spread_inputs, load(wide_bytes_of(layer), weights))
        inputs += input_step(layer)
        weights += weight_step(layer)
    return add(load(sums_of(layer), bias), fold(sums_of(layer), sums))


@inline
def last_sum(shape, stack, hidden):
    """Output of the last layer for a vector of bytes."""
    weights = load(last_bytes_of(shape), stack + weights_3_at(shape))
    return np.int64(load_i32(stack + bias_3_at(shape))) + total(dot(zero(last_sums_of(shape)), hidden, weights))


@inline
def activate(sums):
    """Clipped activation: sums in units of 64 to bytes 0..127."""
    return to_bytes(clip(shift_right(sums, 6), 0, 127))


@inline
def material_score(P):
    """Material and piece-square sum for the side to move."""
    score = np.int64(P.undo[np.uint64(P.ply)].score)
    return -score if P.side else score


@inline
def to_score(N, output):
    """Score from the network's output, rounded towards zero."""
    size = min(abs(output) // N.fv_scale, np.int64(LIMIT))
    return size if output >= 0 else -size


@inline
def classic_output(shape, N, A, own, other):
    """Output of a classic network for the accumulators of the side to move and of the other side."""
    at = np.uint64(0)
    while at < half_of(shape):
        inputs = A + (at >> np.uint64(1))
        store(inputs, to_bytes(clip(load(tile_of(shape), own + at), 0, 127)))
        store(inputs + width_of(shape), to_bytes(clip(load(tile_of(shape), other + at), 0, 127)))
        at += tile_bytes(shape)
    stack = N.dense
    hidden = A + np.uint64(2) * width_of(shape)
    sums = dense_sums(layer_1_of(shape), A, stack + weights_1_at(shape), stack + bias_1_at(shape))
    store(hidden, activate(sums))
    sums = dense_sums(layer_2_of(shape), hidden, stack + weights_2_at(shape), stack + bias_2_at(shape))
    return last_sum(shape, stack, activate(sums))


@inline
def pair_products(shape, accumulator, target):
    """width / 2 bytes at `target`: products of the two halves of an accumulator, which counts in half units here."""
    at = np.uint64(0)
    while at < width_of(shape):
        first = load(pair_tile_of(shape), accumulator + at)
        second = load(pair_tile_of(shape), accumulator + width_of(shape) + at)
        first, second = clip(shift_left(first, 1), 0, 254), clip(shift_left(second, 1), 0, 254)
        store(target + (at >> np.uint64(1)), to_bytes(shift_right_unsigned(multiply(first, second), 9)))
        at += pair_tile_bytes(shape)


@inline
def squares_of(sums):
    """Squared activation: min(127, sum * sum >> 19) as bytes; beyond the clip the square is above 127 all the more."""
    sums = clip(sums, -16384, 16384)
    return to_bytes(clip(shift_right(multiply(sums, sums), 19), 0, 127))


@inline
def stack_of(N, P):
    """Which stack serves the position, by the thirds of the board (far end first) where the kings stand."""
    side, king = np.uint64(P.side), np.uint64(P.king[np.uint64(P.side)])
    own = np.uint64(N.oriented[side, king]) % np.uint64(FRAME) // np.uint64(3)
    side, king = np.uint64(P.side ^ 1), np.uint64(P.king[np.uint64(P.side ^ 1)])
    return np.uint64(3) * own + np.uint64(N.oriented[side, king]) % np.uint64(FRAME) // np.uint64(3)


@inline
def stacked_output(shape, N, A, number, own, other):
    """Output of stack `number` of a stacked network for both accumulators."""
    pair_products(shape, own, A)
    pair_products(shape, other, A + (width_of(shape) >> np.uint64(1)))
    stack = N.dense + number * stack_bytes(shape)
    hidden = A + np.uint64(2) * width_of(shape)
    sums = dense_sums(layer_1_of(shape), A, stack + weights_1_at(shape), stack + bias_1_at(shape))
    store(hidden, squares_of(sums))
    store(hidden + outputs_1_of(shape), activate(sums))
    skipping = lane(sums, np.int64(outputs_1_of(shape)) - 1) if has_shortcut(shape) else np.int64(0)
    sums = dense_sums(layer_2_of(shape), hidden, stack + weights_2_at(shape), stack + bias_2_at(shape))
    return last_sum(shape, stack, activate(sums)) + skipping


@inline
def classic_score(shape, P, N, A):
    """Score of a classic network for the side to move."""
    slot = current_slot(shape, P, N, A)
    own, other = accumulator_at(shape, slot, P.side), accumulator_at(shape, slot, P.side ^ 1)
    return to_score(N, classic_output(shape, N, A, own, other))


@inline
def stacked_score(shape, P, N, A):
    """Score of a stacked network for the side to move."""
    slot = current_slot(shape, P, N, A)
    own, other = accumulator_at(shape, slot, P.side), accumulator_at(shape, slot, P.side ^ 1)
    return to_score(N, stacked_output(shape, N, A, stack_of(N, P), own, other))


def compile_evaluation(shape: Shape) -> Any:
    """The evaluation compiled for a shape (or loaded from the cache); its `address` goes into SHARED.evaluate.

    A thread that was given no accumulators gets the material sum.
    """

    def evaluate_classic(position, tables, shared):
        P = position_at(position)
        if P.accumulators == 0:
            return material_score(P)
        return classic_score(shape, P, network_at(shared_at(shared).network), P.accumulators)

    def evaluate_stacked(position, tables, shared):
        P = position_at(position)
        if P.accumulators == 0:
            return material_score(P)
        return stacked_score(shape, P, network_at(shared_at(shared).network), P.accumulators)

    return address_kernel(evaluation_signature)(evaluate_stacked if shape.stacked else evaluate_classic)


# ---- Python's side ----


def shape_of(network: Network) -> Shape:
    """The shape that the evaluation of a network is compiled for."""
    features = network.features
    sizes = network.width, network.outputs_1, network.hidden_1, network.hidden_2
    return Shape(features.planes, features.numbers, *sizes, len(network.stacks))


def _with_shortcut(shape: Shape, weights: np.ndarray) -> np.ndarray:
    """Weights of the second layer of a stacked network with zero columns for what skips it."""
    whole = np.zeros((weights.shape[0], 2, shape.outputs_1), np.int8)
    whole[:, :, : shape.hidden_1] = weights.reshape(-1, 2, shape.hidden_1)
    return whole.reshape(weights.shape[0], -1)


def _grouped(weights: np.ndarray) -> np.ndarray:
    """int8[output][input] to [input / 4][output][4], the order in which `dense_sums` reads."""
    outputs, inputs = weights.shape
    return weights.reshape(outputs, inputs // 4, 4).transpose(1, 0, 2)


def pack_dense(shape: Shape, stacks: list[Dense]) -> np.ndarray:
    """The dense layers of all stacks as the kernels read them: int8, one stack after another."""
    offsets = shape.offsets()
    packed = aligned_empty((len(stacks), offsets["end"]), np.int8)
    packed[:] = 0
    for target, dense in zip(packed, stacks, strict=True):
        parts = {
            "bias_1": dense.bias_1,
            "weights_1": _grouped(dense.weights_1),
            "bias_2": dense.bias_2,
            "weights_2": _grouped(_with_shortcut(shape, dense.weights_2) if shape.stacked else dense.weights_2),
            "bias_3": dense.bias_3,
            "weights_3": dense.weights_3,
        }
        for part, array in parts.items():
            data = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=np.int8)
            target[offsets[part] : offsets[part] + len(data)] = data
    return packed


class NetworkEvaluation:
    """A network made ready for one variant: its record, its compiled function and the memory of threads."""

    def __init__(self, network: Network, tables: Any, fv_scale: int | None = None) -> None:
        self.network = network
        self.shape = shape_of(network)
        self.record = new_record(NETWORK)
        self._dense = pack_dense(self.shape, network.stacks)
        self._function = compile_evaluation(self.shape)
        self.address: int = self._function.address
        self.call = self._function.ctypes
        record = self.record
        record["rows"] = network.rows.ctypes.data
        record["dense"] = self._dense.ctypes.data
        usual = STACKED_FV_SCALE if network.stacked else DEFAULT_FV_SCALE
        record["fv_scale"] = fv_scale or network.fv_scale or usual
        record["pieces"] = SHOGI_PIECES if tables["width"] == FRAME else 0
        record["piece_start"] = network.features.piece_start().reshape(-1)
        record["hand_start"] = HAND_START
        record["oriented"] = variant_orientation(tables)

    @property
    def fv_scale(self) -> int:
        """Output units per unit of score."""
        return int(self.record["fv_scale"])

    def new_memory(self) -> np.ndarray:
        """Accumulators for one thread; its address goes into POSITION.accumulators."""
        shape, network = self.shape, self.network
        memory = aligned_empty((shape.bytes,), np.uint8)
        memory[: shape.slots_at] = 0
        slots = memory[shape.slots_at :].reshape(SLOTS, shape.slot)
        slots[:, :SLOT_HEADER].view(np.uint64)[:] = NO_KEY
        entries = memory[shape.cache_at : shape.slots_at].reshape(2, NO_SQUARE + 1, shape.entry)
        pieces = int(self.record["pieces"])
        for view in range(2):
            for king in range(NO_SQUARE + 1 if shape.planes > 1 else 1):
                square = int(self.record["oriented"][view, king])
                if network.features.mirrored and square >= HALF_FILES * FRAME:
                    square = int(self.record["oriented"][view + 2, king])
                plane = square * shape.numbers if shape.planes > 1 else 0
                empty = network.bias + np.int16(pieces) * network.rows[plane]
                entries[view, king, ENTRY_HEADER:] = empty.view(np.uint8)
        return memory

    def attach(self, shared: Any) -> None:
        """Make it the evaluation that a SHARED record calls."""
        shared["evaluate"] = self.address
        shared["network"] = record_address(self.record)
