"""The trainer's kernels: one batch through the network and back.

Layout. The first layer's rows are cut into chunks of 64 columns, [chunk, row, 64]: a chunk of all rows that a batch
needs fits the second-level cache, and chunks are independent, so threads share nothing. A *view* is one side's picture
of one sample; view 2 * s is the side to move's. HalfKP views are grouped by own king square, K-P is one group. For each
group the rows in use are first summed from their factors and rounded into a small local table.

All sums run in a fixed order: results do not depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float32, uint64

from engine.native.jit import float_kernel, inline
from eval.features import KING_START
from eval.learn.inputs import FIRST_PIECE, RELATIVE_NUMBERS, SLOTS
from eval.learn.lanes import (
    LANES,
    add,
    add_product,
    clip,
    divide,
    inside,
    load,
    multiply,
    nearest,
    splat,
    square_root,
    store,
    subtract,
)

CHUNK = 2 * LANES
ROW_BYTES = 4 * CHUNK
HALF = 4 * LANES  # bytes of one vector
ACTIVATION_STEPS = 127  # integer value of an activation of 1.0
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@float_kernel()
def gather_views(inputs, picks, mirrored, swap, mirror, views, groups):
    """Fill views[2 * s], views[2 * s + 1] from samples `picks`; groups[view] = own king square.

    inputs: uint16[samples, 40], side to move's view; mirrored: uint8 per pick, 1 = reflect left to right.
    """
    for s in range(len(picks)):
        source, own, other = inputs[picks[s]], views[2 * s], views[2 * s + 1]
        for slot in range(SLOTS):
            number = source[slot]
            if mirrored[s]:
                number = mirror[number]
            own[slot] = number
            other[slot] = swap[number]
        other[0], other[1] = other[1], other[0]
        groups[2 * s] = own[0] - KING_START
        groups[2 * s + 1] = other[0] - KING_START


@float_kernel()
def group_views(groups, order, starts):
    """Counting sort: order lists the views group by group, group g from starts[g] to starts[g + 1]."""
    starts[:] = 0
    for group in groups:
        starts[group + 1] += 1
    for group in range(len(starts) - 1):
        starts[group + 1] += starts[group]
    place = starts[:-1].copy()
    for view in range(len(groups)):
        order[place[groups[view]]] = view
        place[groups[view]] += 1


@inline
def rounded(value, steps):
    """Every lane rounded to a multiple of 1 / steps."""
    return divide(nearest(multiply(value, steps)), steps)


@inline
def build_row(row, piece, relative, quantise, target):
    """Sum a row from its factors (address 0 = none) into the local table."""
    a, b = load(row), load(row + uint64(HALF))
    if piece:
        a, b = add(a, load(piece)), add(b, load(piece + uint64(HALF)))
    if relative:
        a, b = add(a, load(relative)), add(b, load(relative + uint64(HALF)))
    if quantise:
        steps = splat(float32(ACTIVATION_STEPS))
        a, b = rounded(a, steps), rounded(b, steps)
    store(target, a)
    store(target + uint64(HALF), b)


@inline
def row_address(table, row):
    return uint64(table) + uint64(row) * uint64(ROW_BYTES)


@inline
def factor_address(table, row):
    """Address of a factor's row, 0 if there is no such factor (row < 0)."""
    return row_address(table, row) if row >= 0 else uint64(0)


@float_kernel()
def forward_chunk(views, order, starts, factorised, relatives, rows, pieces, relative_rows, bias, quantise, x, column):
    """First layer for one chunk: x[s, perspective * width + column ...] = clip(bias + sum of rows).

    rows, pieces, relative_rows: float32[*, 64] of this chunk; bias: float32[64]; x: float32[batch, 2 * width].
    """
    first = FIRST_PIECE if factorised else 0
    stride = KING_START if factorised else 0
    width = x.shape[1] // 2
    base = rows.ctypes.data
    local = np.empty((rows.shape[0] if not factorised else KING_START, CHUNK), dtype=np.float32)
    seen = np.zeros(len(local), dtype=np.int32)
    start = np.empty(CHUNK, dtype=np.float32)
    build_row(uint64(bias.ctypes.data), uint64(0), uint64(0), quantise, uint64(start.ctypes.data))
    start0, start1 = load(uint64(start.ctypes.data)), load(uint64(start.ctypes.data) + uint64(HALF))
    table = local.ctypes.data
    for group in range(len(starts) - 1):
        for at in range(starts[group], starts[group + 1]):
            view = views[order[at]]
            a, b = start0, start1
            for slot in range(first, SLOTS):
                number = int(view[slot])
                if number == 0:
                    break
                target = row_address(table, number)
                if seen[number] != group + 1:
                    seen[number] = group + 1
                    row = row_address(base, group * stride + number)
                    piece = factor_address(pieces.ctypes.data, number if factorised else -1)
                    relative = factor_address(relative_rows.ctypes.data, relatives[group, number] if factorised else -1)
                    build_row(row, piece, relative, quantise, target)
                a, b = add(a, load(target)), add(b, load(target + uint64(HALF)))
            result = uint64(x.ctypes.data) + uint64(4) * uint64(order[at] * width + column)
            store(result, clip(a))
            store(result + uint64(HALF), clip(b))


@inline
def adam(parameter, m, v, gradient, rate):
    """One Adam step on 32 parameters; parameter, m, v, gradient are addresses, rate carries the bias correction."""
    g = load(gradient)
    first = add(multiply(load(m), splat(float32(BETA1))), multiply(g, splat(float32(1 - BETA1))))
    second = add(multiply(load(v), splat(float32(BETA2))), multiply(multiply(g, g), splat(float32(1 - BETA2))))
    store(m, first)
    store(v, second)
    step = divide(multiply(first, rate), add(square_root(second), splat(float32(EPSILON))))
    store(parameter, subtract(load(parameter), step))


@inline
def adam_row(parameters, m, v, row, gradient, rate):
    """Adam on one row of 64 of three tables (base addresses)."""
    at = uint64(row) * uint64(ROW_BYTES)
    for half in range(2):
        shift = uint64(half * HALF)
        place = at + shift
        adam(uint64(parameters) + place, uint64(m) + place, uint64(v) + place, gradient + shift, rate)


@inline
def add_row(target, source):
    """target += source for rows of 64 (addresses)."""
    for half in range(2):
        shift = uint64(half * HALF)
        store(target + shift, add(load(target + shift), load(source + shift)))


@float_kernel()
def backward_chunk(
    views,
    order,
    starts,
    factorised,
    relatives,
    tables,
    piece_tables,
    relative_tables,
    bias_tables,
    x,
    column,
    rate,
    row_rate,
):
    """Gradients of the first layer for one chunk, and Adam on the rows in use.

    x holds the gradient of the loss after `forward_chunk` (zero where the clip was active). Each of the four tables is
    float32[3, rows, 64]: parameters and Adam's two moments. The rows of single king squares (HalfKP) change only when
    in use, at `row_rate`.
    """
    first = FIRST_PIECE if factorised else 0
    stride = KING_START if factorised else 0
    width = x.shape[1] // 2
    local = np.zeros((tables.shape[1] if not factorised else KING_START, CHUNK), dtype=np.float32)
    piece_sum = np.zeros((KING_START if factorised else 1, CHUNK), dtype=np.float32)
    relative_sum = np.zeros((RELATIVE_NUMBERS if factorised else 1, CHUNK), dtype=np.float32)
    bias_sum = np.zeros((1, CHUNK), dtype=np.float32)
    seen = np.zeros(len(local), dtype=np.int32)
    used = np.empty(len(local), dtype=np.int32)
    parameters, m, v = tables[0].ctypes.data, tables[1].ctypes.data, tables[2].ctypes.data
    table = local.ctypes.data
    speed, row_speed = splat(float32(rate)), splat(float32(row_rate))
    for group in range(len(starts) - 1):
        count = 0
        for at in range(starts[group], starts[group + 1]):
            view = views[order[at]]
            source = uint64(x.ctypes.data) + uint64(4) * uint64(order[at] * width + column)
            add_row(uint64(bias_sum.ctypes.data), source)
            a, b = load(source), load(source + uint64(HALF))
            for slot in range(first, SLOTS):
                number = int(view[slot])
                if number == 0:
                    break
                target = row_address(table, number)
                if seen[number] != group + 1:
                    seen[number] = group + 1
                    used[count] = number
                    count += 1
                store(target, add(load(target), a))
                store(target + uint64(HALF), add(load(target + uint64(HALF)), b))
        if factorised:
            for i in range(count):
                number = used[i]
                gradient = row_address(table, number)
                adam_row(parameters, m, v, group * stride + number, gradient, row_speed)
                add_row(row_address(piece_sum.ctypes.data, number), gradient)
                if relatives[group, number] >= 0:
                    add_row(row_address(relative_sum.ctypes.data, relatives[group, number]), gradient)
                local[number] = 0
    adam_table(bias_tables, bias_sum, speed)
    if factorised:
        adam_table(piece_tables, piece_sum, speed)
        adam_table(relative_tables, relative_sum, speed)
    else:
        adam_table(tables, local, speed)


@inline
def adam_table(tables, gradients, rate):
    """Adam on every row of a float32[3, rows, 64] table."""
    for row in range(gradients.shape[0]):
        adam_row(
            tables[0].ctypes.data,
            tables[1].ctypes.data,
            tables[2].ctypes.data,
            row,
            row_address(gradients.ctypes.data, row),
            rate,
        )


@float_kernel()
def adam_dense(parameters, moments, gradients, bounds, rate):
    """Adam on the flat vector of the other layers; gradients [parts, n] are summed, values kept within +-bounds."""
    for i in range(len(parameters)):
        g = float32(0)
        for part in range(gradients.shape[0]):
            g += gradients[part, i]
        first = float32(BETA1) * moments[0, i] + float32(1 - BETA1) * g
        second = float32(BETA2) * moments[1, i] + float32(1 - BETA2) * g * g
        moments[0, i], moments[1, i] = first, second
        value = parameters[i] - float32(rate) * first / (math.sqrt(second) + float32(EPSILON))
        parameters[i] = min(max(value, -bounds[i]), bounds[i])


@inline
def activate(z, h, quantise):
    """h = clip(z), cut to the integer network's steps when asked. Both float32[samples, n]."""
    for s in range(z.shape[0]):
        for j in range(z.shape[1]):
            value = min(max(z[s, j], float32(0)), float32(1))
            if quantise:
                value = np.floor(value * float32(ACTIVATION_STEPS)) / float32(ACTIVATION_STEPS)
            h[s, j] = value


@inline
def mask(z, gradient):
    """Zero the gradient where the clip was active."""
    for s in range(z.shape[0]):
        for j in range(z.shape[1]):
            if not 0 < z[s, j] < 1:
                gradient[s, j] = 0


@inline
def product(a, a_row, a_column, b, c, depth):
    """c += a @ b, a given with its strides in floats."""
    add_product(
        a.ctypes.data,
        a_row,
        a_column,
        b.ctypes.data,
        b.shape[1],
        c.ctypes.data,
        c.shape[1],
        c.shape[0],
        c.shape[1],
        depth,
    )


@inline
def start_sums(z, bias):
    for s in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[s, j] = bias[j]


@inline
def column_sums(values, out):
    for s in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[j] += values[s, j]


@float_kernel()
def forward_part(x, w1, b1, w2, b2, w3, b3, quantise, z1, h1, z2, h2, logits):
    """Layers after the first for a part of the batch. w1: float32[2 * width, 32], w2: [32, 32], w3: [32]."""
    start_sums(z1, b1)
    product(x, x.shape[1], 1, w1, z1, x.shape[1])
    activate(z1, h1, quantise)
    start_sums(z2, b2)
    product(h1, h1.shape[1], 1, w2, z2, h1.shape[1])
    activate(z2, h2, quantise)
    for s in range(len(logits)):
        total = b3[0]
        for j in range(len(w3)):
            total += w3[j] * h2[s, j]
        logits[s] = total


@float_kernel()
def loss_part(logits, targets, weights, share, slopes):
    """Cross-entropy above the targets' own entropy, weighted sum; slopes = its derivative by the logit times share."""
    loss = 0.0
    for s in range(len(logits)):
        p = 1.0 / (1.0 + math.exp(-logits[s]))
        t = float(targets[s])
        slopes[s] = weights[s] * share * (p - t)
        if t > 0:
            loss += weights[s] * t * math.log(t / max(p, 1e-12))
        if t < 1:
            loss += weights[s] * (1 - t) * math.log((1 - t) / max(1 - p, 1e-12))
    return loss


@float_kernel()
def backward_part(x, w1t, w2t, w3, z1, h1, z2, h2, slopes, d1, d2, dx, g1, gb1, g2, gb2, g3, gb3):
    """Gradients of the layers after the first go to g*, then x is replaced by the first layer's gradient."""
    g1[:], gb1[:], g2[:], gb2[:], g3[:], gb3[:] = 0, 0, 0, 0, 0, 0
    for s in range(len(slopes)):
        gb3[0] += slopes[s]
        for j in range(len(w3)):
            g3[j] += slopes[s] * h2[s, j]
            d2[s, j] = slopes[s] * w3[j]
    mask(z2, d2)
    column_sums(d2, gb2)
    product(h1, 1, h1.shape[1], d2, g2, h1.shape[0])
    d1[:] = 0
    product(d2, d2.shape[1], 1, w2t, d1, d2.shape[1])
    mask(z1, d1)
    column_sums(d1, gb1)
    product(x, 1, x.shape[1], d1, g1, x.shape[0])
    dx[:] = 0
    product(d1, d1.shape[1], 1, w1t, dx, d1.shape[1])
    at, gradient = uint64(x.ctypes.data), uint64(dx.ctypes.data)
    for _ in range(x.size // LANES):
        store(at, inside(load(at), load(gradient)))
        at += uint64(HALF)
        gradient += uint64(HALF)
