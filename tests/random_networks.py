"""Random networks for tests, the same bytes everywhere.

Every activation falls below, inside and above its clipping range somewhere. The scores in tests/data/nnue_scores.tsv
were computed for these files by YaneuraOu and, for other scales, by a plain reference.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numba import boolean, int64, uint8, uint64

from engine.native.jit import kernel

WIDTH, HIDDEN = 256, 32


def write_classic(path: Path, kind: str, seed: int = 1) -> None:
    """A HalfKP ("halfkp") or K-P ("kp") network of 256x2-32-32."""
    from eval.features import HALF_KP, K_P
    from eval.network_file import Dense, Network, write_network

    features = {"halfkp": HALF_KP, "kp": K_P}[kind]
    generator = np.random.default_rng(seed)

    def normal(spread: float, *shape: int) -> np.ndarray:
        return np.clip(np.rint(generator.normal(0, spread, shape)), -127, 127).astype(np.int8)

    def whole(low: int, high: int, size: int) -> np.ndarray:
        return generator.integers(low, high, size).astype(np.int32)

    bias = generator.integers(-40, 120, WIDTH).astype(np.int16)
    rows = generator.integers(-18, 19, (features.inputs, WIDTH), dtype=np.int16)
    dense = Dense(
        whole(-3000, 6000, HIDDEN),
        normal(7, HIDDEN, 2 * WIDTH),
        whole(-2000, 5000, HIDDEN),
        normal(20, HIDDEN, HIDDEN),
        whole(-500, 500, 1),
        normal(30, 1, HIDDEN),
    )
    write_network(path, Network(features, bias, rows, [dense]))


def any_classic(
    features: Any, width: int, hidden_1: int, hidden_2: int, seed: int = 1, planes: int | None = None
) -> Any:
    """A classic network of any size; with `planes`, the rows of so many king squares repeat (to be quick)."""
    from eval.network_file import Dense, Network

    generator = np.random.default_rng(seed)
    some = generator.integers(-18, 19, (features.numbers * (planes or features.planes), width), dtype=np.int16)
    rows = np.resize(some, (features.inputs, width))
    shapes = ((hidden_1, 2 * width), (hidden_2, hidden_1), (1, hidden_2))
    parts: list[np.ndarray] = []
    for outputs, inputs in shapes:
        parts.append(generator.integers(-3000, 6000, outputs).astype(np.int32))
        spread = 60 if inputs > 64 else 100
        parts.append(generator.integers(-spread, spread + 1, (outputs, inputs)).astype(np.int8))
    return Network(features, generator.integers(-40, 120, width).astype(np.int16), rows, [Dense(*parts)])


class _SplitMix:
    """splitmix64 of a running counter: the same numbers with every version of numpy."""

    def __init__(self, seed: int) -> None:
        self.next = seed << 40

    def words(self, count: int) -> np.ndarray:
        z = np.arange(self.next, self.next + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self.next += count
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return z ^ z >> np.uint64(31)

    def uniform(self, low: int, high: int, count: int) -> np.ndarray:
        return (self.words(count) % np.uint64(high - low)).astype(np.int64) + low


def bell(words: np.ndarray) -> np.ndarray:
    """Nearly normal numbers, -510..510 with deviation 148: the sum of four bytes, centred."""
    return sum((words >> np.uint64(8 * byte) & np.uint64(255)).astype(np.int64) for byte in range(4)) - 510


def leb128(values: np.ndarray) -> bytes:
    """Shortest signed LEB128 coding of int16 values."""
    packed = np.empty(3 * len(values), np.uint8)
    return packed[: _pack(values.astype(np.int64), packed)].tobytes()


@kernel(int64(int64, uint8[::1], int64))
def _pack_one(value, packed, at):
    """Write one number as signed LEB128; where the next one goes."""
    while not -64 <= value < 64:
        packed[at] = (value & 127) | 128
        value >>= 7
        at += 1
    packed[at] = value & 127
    return at + 1


@kernel(int64(int64[::1], uint8[::1]))
def _pack(values, packed):
    at = 0
    for value in values:
        at = _pack_one(value, packed, at)
    return at


@kernel(int64(uint64, int64, boolean, uint8[::1]))
def _pack_rows(first, count, torture, packed):
    """Weights of the first layer drawn like `_SplitMix.words` and written as LEB128; the length."""
    at = 0
    for number in range(np.uint64(count)):
        z = (first + number) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        total = np.int64(-510)
        for byte in range(4):
            total += np.int64(z >> np.uint64(8 * byte) & np.uint64(255))
        value = total * 6 + 64 >> 7
        if z >> np.uint64(32) & np.uint64(63) == 0:
            value *= 8
        if torture and z >> np.uint64(33) & np.uint64(0x7FFF) == 0:
            value = np.int64(z >> np.uint64(48)) - 32768
        at = _pack_one(value, packed, at)
    return at


def block(packed: bytes) -> bytes:
    """A LEB128 block as files have it."""
    return b"COMPRESSED_LEB128" + struct.pack("<I", len(packed)) + packed


def stacked_file(
    inputs: int, width: int, outputs: int, hidden: int, description: str, seed: int = 1, torture: bool = False
) -> bytes:
    """Bytes of a stacked network; `outputs` counts the shortcut. `torture` adds weights whose sums wrap around."""
    draw = _SplitMix(seed)
    hashes = (0x3C203E1C, 0x5F1348B8, 0x12345678) if torture else (0x3C203B32, 0x5F134AB8, 0x6333718A)
    text = description.encode()
    parts = [struct.pack("<III", 0x7AF32F16, hashes[0], len(text)), text, struct.pack("<I", hashes[1])]
    parts.append(block(leb128(draw.uniform(0, 90, width))))
    packed = np.empty(3 * inputs * width, np.uint8)
    packed = packed[: _pack_rows(draw.next, inputs * width, torture, packed)]
    draw.next += inputs * width
    parts.append(block(packed.tobytes()))
    spread = 4 * (1536 / width) ** 0.5
    layers = (
        (outputs, width, -3000, 5000, spread),
        (hidden, 2 * outputs - 2, -2000, 4000, 22),
        (1, hidden, -600, 600, 30),
    )
    for _ in range(9):
        parts.append(struct.pack("<I", hashes[2]))
        for rows_out, columns, low, high, deviation in layers:
            parts.append(draw.uniform(low, high, rows_out).astype("<i4").tobytes())
            words = draw.words(rows_out * (-(-columns // 32) * 32))
            weights = bell(words) * round(deviation * 128 / 147.8) + 64 >> 7
            parts.append(np.clip(weights, -127, 127).astype("i1").tobytes())
    return b"".join(parts)
