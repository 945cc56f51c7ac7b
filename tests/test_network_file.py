"""Network files: recognised without help, written as they were read, refused with one clear sentence."""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import random_networks

from eval import load_evaluation, network_evaluation
from eval.features import CLASSIC_SETS, HALF_KP, K_P
from eval.network_file import (
    HIDDEN,
    WIDTHS,
    Network,
    NetworkError,
    classic_description,
    classic_size,
    dense_hash,
    parse_network,
    read_network,
    rows_hash,
    write_network,
)

WIDE = (64, 256, 512, 1024)
SIZES = ((32, 32), (16, 32), (8, 32), (8, 64))
SMALL = "Features=HalfKA_hm2(Friend)[73305->128x2],Network=SFNN_HALFKAHM2_128_15_32_K3K3{LayerStack=9}"


def file_of(network: Network, tmp_path: Path) -> bytes:
    path = tmp_path / "network.nnue"
    write_network(path, network)
    return path.read_bytes()


def parse(data: bytes) -> Network:
    return parse_network(np.frombuffer(data, np.uint8))


def with_description(data: bytes, text: str) -> bytes:
    """The same file with another string."""
    length = struct.unpack_from("<I", data, 8)[0]
    return data[:8] + struct.pack("<I", len(text)) + text.encode() + data[12 + length :]


@pytest.fixture(scope="module")
def small_stacked() -> bytes:
    return random_networks.stacked_file(73305, 128, 16, 32, SMALL)


def test_hashes_are_those_of_yaneuraou() -> None:
    assert rows_hash(HALF_KP, 256) == 0x5D69D7B8
    assert rows_hash(K_P, 256) == 0x3F5715FF
    assert dense_hash(256, 32, 32) == 0x63337156
    assert classic_description(HALF_KP, 256, 32, 32) == (
        "Features=HalfKP(Friend)[125388->256x2],Network=AffineTransform[1<-32](ClippedReLU[32](AffineTransform[32<-32]"
        "(ClippedReLU[32](AffineTransform[32<-512](InputSlice[512(0:512)])))))"
    )


@pytest.mark.parametrize("width, hidden", list(itertools.product(WIDE, SIZES)))
def test_classic_shapes_are_told_from_the_file(width: int, hidden: tuple[int, int], tmp_path: Path) -> None:
    network = random_networks.any_classic(K_P, width, *hidden)
    data = file_of(network, tmp_path)
    for text in (None, "made by somebody", f"Features=K+P[1710->{width}x2],Network=unknown"):
        found = parse(data if text is None else with_description(data, text))
        assert found.name == f"K+P {width}x2-{hidden[0]}-{hidden[1]}"
        assert not found.notes
        assert np.array_equal(found.rows, network.rows)
        for name in ("bias_1", "weights_1", "bias_2", "weights_2", "bias_3", "weights_3"):
            assert np.array_equal(getattr(found.stacks[0], name), getattr(network.stacks[0], name))


def test_no_two_classic_shapes_have_files_of_the_same_size() -> None:
    sizes = Counter(classic_size(*shape) for shape in itertools.product(CLASSIC_SETS, WIDTHS, HIDDEN, HIDDEN))
    assert set(sizes.values()) == {1}


def test_written_as_read(tmp_path: Path) -> None:
    network = random_networks.any_classic(HALF_KP, 64, 16, 32, planes=3)
    network.fv_scale = 24
    data = file_of(network, tmp_path)
    found = parse(data)
    assert (found.fv_scale, found.variant) == (24, "shogi")
    assert file_of(found, tmp_path) == data


def test_small_boards_keep_their_networks_apart(tmp_path: Path) -> None:
    network = random_networks.any_classic(K_P, 64, 8, 8)
    network.variant = "minishogi"
    found = parse(file_of(network, tmp_path))
    assert found.variant == "minishogi"
    with pytest.raises(NetworkError, match="network for minishogi, wanted one for shogi"):
        network_evaluation(found, "shogi")


def test_other_hashes_are_only_noted(tmp_path: Path) -> None:
    data = bytearray(file_of(random_networks.any_classic(K_P, 64, 32, 32), tmp_path))
    data[4] ^= 1
    found = parse(bytes(data))
    assert len(found.notes) == 1
    assert "hash" in found.notes[0]


def test_a_folder_stands_for_its_nn_bin(tmp_path: Path) -> None:
    network = random_networks.any_classic(K_P, 64, 32, 32)
    write_network(tmp_path / "nn.bin", network)
    evaluation = load_evaluation(tmp_path, "shogi", 20)
    assert evaluation.description == "K+P 64x2-32-32, FV_SCALE 20, nn.bin"


def test_without_a_file_the_package_has_an_evaluation() -> None:
    for variant in ("shogi", "judkins", "minishogi"):
        assert load_evaluation(None, variant).variant == variant
    assert load_evaluation("handcrafted", "shogi").name == "handcrafted"


@pytest.mark.parametrize("what", ["no.bin", "folder"])
def test_missing_files_are_named(what: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(NetworkError) as error:
        read_network(tmp_path / what)
    assert what in str(error.value)
    assert "wanted: HalfKP or K-P" in str(error.value)


@pytest.mark.parametrize(
    "start, message",
    [
        (b"", "found 0 bytes, too few"),
        (b"MZ\x90\x00" * 10, "found version 0x00905a4d at its start, where 0x7af32f16 is wanted"),
        (struct.pack("<I", 0x7AF32F20) * 10, "Stockfish's or rshogi's own"),
        (struct.pack("<III", 0x7AF32F16, 0, 10**9) + bytes(20), "description of 1000000000 bytes in a file of 32"),
        (struct.pack("<III", 0x7AF32F16, 0, 0) + bytes(5000), "5000 bytes after the description, which fit no known"),
    ],
)
def test_foreign_bytes_are_refused(start: bytes, message: str) -> None:
    with pytest.raises(NetworkError) as error:
        parse(start)
    assert message in str(error.value)


def test_random_bytes_are_refused() -> None:
    generator = np.random.default_rng(1)
    for size in (16, 100, 10_000):
        with pytest.raises(NetworkError, match="where 0x7af32f16 is wanted"):
            parse(generator.bytes(size))
        with pytest.raises(NetworkError):
            parse(struct.pack("<III", 0x7AF32F16, 1, 4) + generator.bytes(size))


@pytest.mark.parametrize(
    "claim, named",
    [
        ("Features=HalfKPE9(Friend)[1128492->256x2],Network=", "found HalfKPE9(Friend) features with 1128492 inputs"),
        ("Features=HalfKPvm(Friend)[69660->256x2],Network=", "found HalfKPvm(Friend) features with 69660 inputs"),
        ("Features=HalfKA_v2(Friend)[125388->64x2],Network=", "found HalfKA_v2(Friend) features"),
    ],
)
def test_foreign_features_are_named(claim: str, named: str, tmp_path: Path) -> None:
    data = file_of(random_networks.any_classic(K_P, 64, 32, 32), tmp_path)
    with pytest.raises(NetworkError) as error:
        parse(with_description(data, claim))
    assert named in str(error.value)


def test_classic_files_cut_off_or_too_long(tmp_path: Path) -> None:
    data = file_of(random_networks.any_classic(K_P, 64, 32, 32), tmp_path)
    for changed, fault in ((data[:-1], "cut off"), (data[:5000], "cut off"), (data + b"\0", "too long")):
        with pytest.raises(NetworkError, match=f"but K\\+P 64x2-32-32 has .* {fault}"):
            parse(changed)


def test_stacked_files_cut_off_or_too_long(small_stacked: bytes) -> None:
    for size in (200, 230, 400, 5_000_000, len(small_stacked) - 1):
        with pytest.raises(NetworkError, match="cut off|too long"):
            parse(small_stacked[:size])
    with pytest.raises(NetworkError, match="too long"):
        parse(small_stacked + b"\0")


def test_stacked_files_of_other_kinds(small_stacked: bytes) -> None:
    with pytest.raises(NetworkError, match="stacks chosen by game progress"):
        parse(with_description(small_stacked, SMALL.replace("K3K3", "PROGRESS8")))
    with pytest.raises(NetworkError, match="nine stacks, but not what chooses one"):
        parse(with_description(small_stacked, "Features=HalfKA_hm2(Friend)[73305->128x2],Network=mine"))
    other = random_networks.stacked_file(
        1791, 128, 16, 32, "Features=K+A2[1791->128x2],Network=SFNN_KA2_128_15_32_K3K3"
    )
    with pytest.raises(NetworkError, match=r"\(K\+A2 features\)"):
        parse(other)


def test_damaged_leb128_is_refused(small_stacked: bytes) -> None:
    start = small_stacked.rindex(b"COMPRESSED_LEB128", 0, 1000) + 21
    changed = small_stacked[:start] + b"\xff\xff\xff\x00" + small_stacked[start + 4 :]
    count = sum(byte < 128 for byte in small_stacked[start : start + 4])
    assert count > 1
    filler = bytes(count - 1)  # as many numbers as before
    size = struct.unpack_from("<I", small_stacked, start - 4)[0] + len(filler)
    changed = (
        changed[: start - 4] + struct.pack("<I", size) + changed[start : start + 4] + filler + changed[start + 4 :]
    )
    with pytest.raises(NetworkError, match="more than three bytes"):
        parse(changed)


def test_leb128_takes_every_int16() -> None:
    from eval.network_file import decode_leb128

    values = np.arange(-(2**15), 2**15).astype(np.int16)
    packed = np.frombuffer(random_networks.leb128(values), np.uint8).copy()
    decoded = np.empty_like(values)
    assert decode_leb128(packed, decoded) == len(packed)
    assert np.array_equal(decoded, values)
