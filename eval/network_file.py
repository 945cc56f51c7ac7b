"""Network files (nn.bin): told apart from the file itself, read into arrays, written in the classic format.

Two families share the container (a version, a hash, a string that nobody need believe, little-endian numbers):

    classic  HalfKP or K-P rows, width x 2 - hidden - hidden, plain integers
    stacked  HalfKA rows packed as LEB128, and nine small networks of which the kings' ranks choose one ("SFNN k3k3")

What a file is follows from its size and its blocks; the string helps where that leaves a choice, and tells in messages
what a file that cannot be used claims to be. Every refusal is one `NetworkError` that says what was found and what is
wanted.
"""

from __future__ import annotations

import itertools
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numba import int16, int64, uint8

from engine.native.jit import kernel
from eval.features import CLASSIC_SETS, HALF_KA2, HALF_KA_HM2, STACKED_SETS, FeatureSet

VERSION = 0x7AF32F16
LEB_MAGIC = b"COMPRESSED_LEB128"
PROGRESS_HASH = 0x6F50524F  # a section that chooses stacks by the progress of the game follows
STACKED_FILE_HASH, STACKED_ROWS_HASH, STACK_HASH = 0x3C203B32, 0x5F134AB8, 0x6333718A
STACKS = 9
PAD = 32  # input columns of every dense layer are filled up to a multiple of this in the file
WIDTHS = range(64, 2049, 64)
HIDDEN = (8, 16, 32, 64)
FILE_NAME = "nn.bin"  # looked for in a folder
READABLE = (
    "wanted: HalfKP or K-P with a width of 64 to 2048, HalfKA_hm2 1536-15-32 k3k3 or HalfKA2 1024-7-64 k3k3, "
    "as YaneuraOu's nn.bin has them"
)
OTHER_VERSIONS = {0x7AF32F20: "Stockfish's or rshogi's own", 0x7AF32F21: "rshogi's own"}
EDITIONS = {(HALF_KA_HM2.name, 1536, 15, 32), (HALF_KA2.name, 1024, 7, 64)}  # known to choose stacks by k3k3


class NetworkError(ValueError):
    """A network file that cannot be used; the text says what was found and what is wanted."""


@dataclass
class Dense:
    """The layers after the first one: int32 biases, int8 weights[output][input] without padding."""

    bias_1: np.ndarray
    weights_1: np.ndarray
    bias_2: np.ndarray
    weights_2: np.ndarray
    bias_3: np.ndarray
    weights_3: np.ndarray


@dataclass
class Network:
    """A network as its file holds it, in plain arrays."""

    features: FeatureSet
    bias: np.ndarray  # int16[width]
    rows: np.ndarray  # int16[inputs][width]
    stacks: list[Dense]  # one, or nine chosen by the ranks of the kings
    description: str = ""  # the string in the file
    fv_scale: int | None = None  # output units per score unit, if the string tells
    variant: str = "shogi"  # files for the small boards say so in their string
    notes: list[str] = field(default_factory=list)  # oddities that do not keep it from being used

    @property
    def width(self) -> int:
        """Outputs of the first layer for one player."""
        return len(self.bias)

    @property
    def stacked(self) -> bool:
        """Pairwise products, squared activations and stacks (SFNN) instead of the classic layers."""
        return len(self.stacks) > 1

    @property
    def outputs_1(self) -> int:
        """Outputs of the first dense layer, the shortcut included."""
        return len(self.stacks[0].bias_1)

    @property
    def hidden_1(self) -> int:
        """Outputs of the first dense layer that go on to the second."""
        return self.stacks[0].weights_2.shape[1] // (2 if self.stacked else 1)

    @property
    def hidden_2(self) -> int:
        """Outputs of the second dense layer."""
        return len(self.stacks[0].bias_2)

    @property
    def name(self) -> str:
        """Features and sizes, for people."""
        name = shape_name(self.features, self.width, self.hidden_1, self.hidden_2)
        return f"{name} k3k3" if self.stacked else name


def shape_name(features: FeatureSet, width: int, hidden_1: int, hidden_2: int) -> str:
    """For example `HalfKP 256x2-32-32`."""
    return f"{features.name.removesuffix('(Friend)')} {width}x2-{hidden_1}-{hidden_2}"


def padded(columns: int) -> int:
    """Columns of a dense layer in the file."""
    return -(-columns // PAD) * PAD


def aligned_empty(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """An uninitialised array that starts on a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


class _Reader:
    """Takes little-endian arrays from a file's bytes, one after another. Its lengths have been checked before."""

    def __init__(self, raw: np.ndarray, at: int) -> None:
        self.raw, self.at = raw, at

    def take(self, dtype: str, *shape: int) -> np.ndarray:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        part = self.raw[self.at : self.at + size]
        self.at += size
        return np.frombuffer(part, dtype).reshape(shape)

    def word(self) -> int:
        return int(self.take("<u4", 1)[0])

    def dense(self, sizes: tuple[tuple[int, int], ...]) -> Dense:
        arrays = []
        for outputs, inputs in sizes:
            arrays.append(self.take("<i4", outputs).astype(np.int32))
            arrays.append(self.take("i1", outputs, padded(inputs))[:, :inputs].astype(np.int8))
        return Dense(*arrays)


def network_path(path: str | Path) -> Path:
    """The file that a path means: itself, or the nn.bin of a folder."""
    path = Path(path)
    return path / FILE_NAME if path.is_dir() else path


def read_network(path: str | Path) -> Network:
    """Read a network file, or the nn.bin of a folder.

    Raises NetworkError if there is none or it cannot be used.
    """
    path = network_path(path)
    try:
        raw = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        reason = error.strerror or str(error)
        raise NetworkError(f"no network could be read at {path}: {reason} ({READABLE})") from error
    try:
        return parse_network(raw)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from None


def parse_network(raw: np.ndarray) -> Network:
    """A network from the bytes of its file (uint8). Raises NetworkError."""
    raw = np.require(raw, np.uint8, ["C", "W"])  # as the compiled decoder wants it
    if len(raw) < 16:
        raise NetworkError(f"found {len(raw)} bytes, too few for a network file; {READABLE}")
    version, file_hash, length = struct.unpack("<III", raw[:12].tobytes())
    if version != VERSION:
        whose = OTHER_VERSIONS.get(version)
        found = f"version {version:#010x} ({whose} format)" if whose else f"version {version:#010x}"
        raise NetworkError(f"found {found} at its start, where {VERSION:#010x} is wanted; {READABLE}")
    if 12 + length + 4 > len(raw):
        raise NetworkError(f"found a description of {length} bytes in a file of {len(raw)}: cut off or damaged")
    description = raw[12 : 12 + length].tobytes().decode("utf-8", "replace")
    reader = _Reader(raw, 12 + length)
    reader.word()
    if raw[reader.at : reader.at + len(LEB_MAGIC)].tobytes() == LEB_MAGIC:
        network = _parse_stacked(reader, description)
    else:
        reader.at -= 4
        network = _parse_classic(reader, description)
    if file_hash != _file_hash(network):
        network.notes.append(f"the file's hash is {file_hash:#010x}, usual is {_file_hash(network):#010x}")
    scale = re.search(r"fv_?scale\s*[=:]\s*(\d+)", description, re.IGNORECASE)
    if scale and 1 <= int(scale[1]) <= 128:
        network.fv_scale = int(scale[1])
    variant = re.search(r"variant=(\w+)", description)
    if variant:
        network.variant = variant[1]
    return network


# ---- classic ----


def classic_size(features: FeatureSet, width: int, hidden_1: int, hidden_2: int) -> int:
    """Bytes of a classic file after its description."""
    rows = 4 + 2 * width * (1 + features.inputs)
    dense = 4 * (hidden_1 + hidden_2 + 1)
    dense += hidden_1 * padded(2 * width) + hidden_2 * padded(hidden_1) + padded(hidden_2)
    return rows + 4 + dense


def _claimed_features(description: str) -> tuple[str, int, int] | None:
    """Feature set, inputs and width that a description claims."""
    match = re.search(r"Features=([^\[,]+)\[(\d+)->(\d+)(?:x2)?\]", description)
    return (match[1], int(match[2]), int(match[3])) if match else None


def _claimed_hidden(description: str) -> tuple[int, int] | None:
    """Hidden sizes that a classic description claims, first layer first."""
    layers = re.findall(r"AffineTransform\w*\[(\d+)<-(\d+)\]", description)
    return (int(layers[1][1]), int(layers[0][1])) if len(layers) == 3 else None


def _parse_classic(reader: _Reader, description: str) -> Network:
    features, width, hidden_1, hidden_2 = _classic_shape(len(reader.raw) - reader.at, description)
    notes = []
    if reader.word() != rows_hash(features, width):
        notes.append("the hash of the first layer is not the usual one")
    bias = reader.take("<i2", width).astype(np.int16)
    rows = aligned_empty((features.inputs, width), np.int16)
    rows[:] = reader.take("<i2", features.inputs, width)
    if reader.word() != dense_hash(width, hidden_1, hidden_2):
        notes.append("the hash of the dense layers is not the usual one")
    dense = reader.dense(((hidden_1, 2 * width), (hidden_2, hidden_1), (1, hidden_2)))
    return Network(features, bias, rows, [dense], description, notes=notes)


def _classic_shape(size: int, description: str) -> tuple[FeatureSet, int, int, int]:
    """The shape whose file has `size` bytes after the description."""
    claimed = _claimed_features(description)
    named = None
    if claimed:
        named = next((known for known in CLASSIC_SETS if known.inputs == claimed[1]), None)
        if named is None or not _same_name(claimed[0], named):
            raise NetworkError(f"found {claimed[0]} features with {claimed[1]} inputs, which are not read; {READABLE}")
    shapes = itertools.product(CLASSIC_SETS, WIDTHS, HIDDEN, HIDDEN)
    fitting = [shape for shape in shapes if classic_size(*shape) == size]
    hidden = _claimed_hidden(description)
    if named and claimed:
        fitting = [shape for shape in fitting if shape[0] is named and shape[1] == claimed[2]]
        if len(fitting) > 1:
            fitting = [shape for shape in fitting if shape[2:] == hidden]
    if len(fitting) == 1:
        return fitting[0]
    if named and claimed and hidden:
        wanted = classic_size(named, claimed[2], *hidden)
        what = shape_name(named, claimed[2], *hidden)
        if wanted != size:
            fault = "cut off" if size < wanted else "too long"
            raise NetworkError(
                f"found {size} bytes after the description, but {what} has {wanted}: the file is {fault}"
            )
        raise NetworkError(f"found {what}, whose sizes are not read; {READABLE}")
    raise NetworkError(f"found {size} bytes after the description, which fit no known shape; {READABLE}")


def _same_name(claimed: str, features: FeatureSet) -> bool:
    letters = re.sub(r"\(.*\)|[^a-z0-9]", "", claimed.lower())
    return letters in {re.sub(r"\(.*\)|[^a-z0-9]", "", features.name.lower()), "pk" if features.planes == 1 else ""}


# ---- stacked ----


@kernel(int64(uint8[::1], int16[::1]))
def decode_leb128(packed: np.ndarray, values: np.ndarray) -> np.int64:
    """Signed LEB128 numbers to int16 (modulo 2**16); the bytes taken, or -1 if a number is too long."""
    at = np.uint64(0)
    for index in range(np.uint64(len(values))):
        byte = np.int64(packed[at])
        at += np.uint64(1)
        value = byte & 127
        shift = np.int64(7)
        while byte & 128:
            if shift > 14:
                return np.int64(-1)
            byte = np.int64(packed[at])
            at += np.uint64(1)
            value |= (byte & 127) << shift
            shift += 7
        if byte & 64:
            value -= np.int64(1) << shift
        values[index] = np.int16(value)
    return np.int64(at)


def _leb_payload(reader: _Reader, what: str) -> np.ndarray:
    """The packed bytes of one block, checked against the end of the file."""
    magic = reader.raw[reader.at : reader.at + len(LEB_MAGIC)].tobytes()
    if magic != LEB_MAGIC or reader.at + len(LEB_MAGIC) + 4 > len(reader.raw):
        raise NetworkError(f"found no LEB128 block where the {what} should begin: cut off or damaged")
    reader.at += len(LEB_MAGIC)
    size = reader.word()
    if reader.at + size > len(reader.raw):
        missing = reader.at + size - len(reader.raw)
        raise NetworkError(f"found the {what} {missing} bytes short: the file is cut off")
    payload = reader.raw[reader.at : reader.at + size]
    reader.at += size
    if size and payload[-1] & 128:
        raise NetworkError(f"found a number of the {what} unfinished at the end of its block: the file is damaged")
    return payload


def _decoded(payload: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    values = aligned_empty(shape, np.int16)
    if decode_leb128(payload, values.reshape(-1)) != len(payload):
        raise NetworkError(f"found numbers of more than three bytes in the {what}: the file is damaged")
    return values


def _parse_stacked(reader: _Reader, description: str) -> Network:
    bias_bytes = _leb_payload(reader, "biases")
    rows_bytes = _leb_payload(reader, "rows of the first layer")
    width = int(np.count_nonzero(bias_bytes < 128))
    values = int(np.count_nonzero(rows_bytes < 128))
    features = next((known for known in STACKED_SETS if known.inputs * width == values), None)
    claimed = _claimed_features(description)
    if features is None or width not in WIDTHS or width % 128:
        name = claimed[0] if claimed else "unknown"
        raise NetworkError(
            f"found a stacked network of {values} weights and width {width} ({name} features), "
            f"which is not read; {READABLE}"
        )
    found = f"{features.name.removesuffix('(Friend)')} {width}x2"
    _refuse_progress(reader, description, found)
    outputs_1, hidden_2 = _stack_sizes(reader, width, found)
    for inputs in (2 * outputs_1 - 2, 2 * outputs_1):
        stack = _Reader(reader.raw, reader.at)
        stacks = []
        for _ in range(STACKS):
            stack.word()
            stacks.append(stack.dense(((outputs_1, width), (hidden_2, inputs), (1, hidden_2))))
        if inputs == 2 * outputs_1 - 2 and _uses_shortcut(reader, outputs_1, hidden_2, width, description):
            break
    bias = _decoded(bias_bytes, (width,), "biases")
    rows = _decoded(rows_bytes, (features.inputs, width), "rows of the first layer")
    network = Network(features, bias, rows, stacks, description)
    edition = (features.name, width, network.hidden_1, hidden_2)
    if edition not in EDITIONS and "k3k3" not in description.lower():
        raise NetworkError(
            f"found {network.name.removesuffix(' k3k3')} with nine stacks, but not what chooses one; {READABLE}"
        )
    return network


def _refuse_progress(reader: _Reader, description: str, found: str) -> None:
    """Nets whose stack depends on the progress of the game cannot be used."""
    section = reader.raw[reader.at : reader.at + 4].tobytes() == struct.pack("<I", PROGRESS_HASH)
    if section or "progress" in description.lower():
        raise NetworkError(f"found {found} with stacks chosen by game progress, which is not read; {READABLE}")


def _stack_bytes(width: int, outputs_1: int, hidden_2: int) -> int:
    """Bytes of one stack; those with a shortcut (2 * outputs_1 - 2 inputs of the second layer) are as long."""
    dense = outputs_1 * (4 + padded(width)) + hidden_2 * (4 + padded(2 * outputs_1))
    return 4 + dense + 4 + padded(hidden_2)


def _stack_sizes(reader: _Reader, width: int, found: str) -> tuple[int, int]:
    """Outputs of the first and second dense layer that fit what is left of the file."""
    rest = len(reader.raw) - reader.at
    fitting = []
    for outputs_1, hidden_2 in itertools.product(HIDDEN, HIDDEN):
        size = _stack_bytes(width, outputs_1, hidden_2)
        starts = [reader.at + stack * size for stack in range(STACKS)]
        if rest == STACKS * size and len({reader.raw[start : start + 4].tobytes() for start in starts}) == 1:
            fitting.append((outputs_1, hidden_2))
    if len(fitting) != 1:
        raise NetworkError(
            f"found {found} with {rest} bytes of dense layers, which are not nine stacks of a known size: "
            f"cut off, too long or of another kind; {READABLE}"
        )
    return fitting[0]


def _uses_shortcut(reader: _Reader, outputs_1: int, hidden_2: int, width: int, description: str) -> bool:
    """Whether the last output of the first dense layer skips to the end (15 of 16, 7 of 8 go on).

    Files of both kinds are equally long. The editions in use have the shortcut; only a file that fills the two columns
    which would then be padding, in a shape that is no such edition, has none.
    """
    claimed = re.search(r"_(\d+)_(\d+)_(\d+)_", description)
    if claimed and int(claimed[1]) == width and int(claimed[3]) == hidden_2:
        return int(claimed[2]) == outputs_1 - 1
    if any(edition[1:] == (width, outputs_1 - 1, hidden_2) for edition in EDITIONS):
        return True
    size = _stack_bytes(width, outputs_1, hidden_2)
    columns = padded(2 * outputs_1)
    for stack in range(STACKS):
        start = reader.at + stack * size + 4 + outputs_1 * (4 + padded(width)) + 4 * hidden_2
        weights = reader.raw[start : start + hidden_2 * columns].reshape(hidden_2, columns)
        if weights[:, 2 * outputs_1 - 2 : 2 * outputs_1].any():
            return False
    return True


# ---- hashes and writing ----


def rows_hash(features: FeatureSet, width: int) -> int:
    """Hash of the first layer of a classic file."""
    return features.hash ^ 2 * width


def dense_hash(width: int, hidden_1: int, hidden_2: int) -> int:
    """Hash of the dense layers of a classic file."""

    def affine(value: int, outputs: int) -> int:
        return (0xCC03DAE4 + outputs & 0xFFFFFFFF) ^ value >> 1 ^ (value << 31 & 0xFFFFFFFF)

    value = 0xEC42E90D ^ 2 * width
    for outputs in (hidden_1, hidden_2):
        value = 0x538D24C7 + affine(value, outputs) & 0xFFFFFFFF
    return affine(value, 1)


def _file_hash(network: Network) -> int:
    if network.stacked:
        return STACKED_FILE_HASH
    hidden = network.hidden_1, network.hidden_2
    return rows_hash(network.features, network.width) ^ dense_hash(network.width, *hidden)


def classic_description(features: FeatureSet, width: int, hidden_1: int, hidden_2: int) -> str:
    """The string that goes into a classic file."""
    network = f"InputSlice[{2 * width}(0:{2 * width})]"
    for outputs, inputs in ((hidden_1, 2 * width), (hidden_2, hidden_1)):
        network = f"ClippedReLU[{outputs}](AffineTransform[{outputs}<-{inputs}]({network}))"
    network = f"AffineTransform[1<-{hidden_2}]({network})"
    return f"Features={features.name}[{features.inputs}->{width}x2],Network={network}"


def write_network(path: str | Path, network: Network) -> None:
    """Write a classic network as YaneuraOu reads it; `fv_scale`, if set, and a small board's name go into its string.

    Raises ValueError for a stacked network.
    """
    if network.stacked:
        raise ValueError("only classic networks can be written")
    width, hidden_1, hidden_2 = network.width, network.hidden_1, network.hidden_2
    description = classic_description(network.features, width, hidden_1, hidden_2)
    if network.fv_scale is not None:
        description += f"{{fv_scale={network.fv_scale}}}"
    if network.variant != "shogi":
        description += f"{{variant={network.variant}}}"
    text = description.encode()
    dense = network.stacks[0]
    with open(path, "wb") as file:
        file.write(struct.pack("<III", VERSION, _file_hash(network), len(text)) + text)
        file.write(struct.pack("<I", rows_hash(network.features, width)))
        file.write(network.bias.astype("<i2").tobytes())
        file.write(network.rows.astype("<i2").tobytes())
        file.write(struct.pack("<I", dense_hash(width, hidden_1, hidden_2)))
        for bias, weights in (
            (dense.bias_1, dense.weights_1),
            (dense.bias_2, dense.weights_2),
            (dense.bias_3, dense.weights_3),
        ):
            columns = np.zeros((weights.shape[0], padded(weights.shape[1])), dtype=np.int8)
            columns[:, : weights.shape[1]] = weights
            file.write(bias.astype("<i4").tobytes())
            file.write(columns.tobytes())
