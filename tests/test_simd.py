"""Vectors: every way to multiply bytes gives the same integers, and compiled networks are found again on disk."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.native import simd
from engine.native.jit import inline, kernel

SCRIPT = Path(__file__).with_name("score_by_network.py")
SCORES = Path(__file__).parent / "data" / "nnue_scores.tsv"
BYTES, WIDE, NARROW = simd.Vector(8, 128), simd.Vector(32, 32), simd.Vector(32, 8)


def run(**environment: str) -> tuple[str, list[list[object]]]:
    """Path and scores of one process."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env={**clean, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    path, scores = done.stdout.splitlines()
    return path, json.loads(scores)


@pytest.fixture(scope="module")
def host() -> tuple[str, list[list[object]]]:
    return run()


def test_the_host_gives_the_golden_scores(host: tuple[str, list[list[object]]]) -> None:
    with open(SCORES, encoding="ascii", newline="") as file:
        golden = [int(row["score"]) for row in csv.DictReader(file, delimiter="\t") if row["network"] == "small"]
    path, scores = host
    assert path == simd.PATH
    assert [score for name, _, score in scores if name == "small"] == golden
    assert len({score for name, _, score in scores if name == "classic"}) > 20


X86 = simd.llvm.get_default_triple().startswith(("x86_64", "amd64"))
CPU_FEATURES = simd.llvm.get_host_cpu_features()
NEEDS = {  # path: CPU name and features given to numba, what the machine itself must have
    "avxvnni": ("haswell", "+avx512f,+avx512vl,+avx512vnni", ("avx512vnni", "avx512vl")),
    "avx2": ("haswell", "", ("avx2",)),
    "ssse3": ("nehalem", "", ("ssse3", "sse4.2")),
    "generic": ("x86-64", "", ()),
}


@pytest.mark.parametrize("path", NEEDS)
def test_every_path_gives_the_same_integers(path: str, host: tuple[str, list[list[object]]]) -> None:
    cpu, features, needed = NEEDS[path]
    if not X86 or not all(CPU_FEATURES.get(name) for name in needed):
        pytest.skip(f"this machine cannot run code for {cpu} {features}")
    assert run(NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES=features) == (path, host[1])


@pytest.mark.parametrize(
    "features, path",
    [
        ("avx2 ssse3 avx512vnni avx512bw avx512vl avxvnni", "avx512vnni"),
        ("avx2 ssse3 avxvnni", "avxvnni"),
        ("avx2 ssse3 avx512bw avx512vl", "avx2"),
        ("ssse3", "ssse3"),
        ("sse2", "generic"),
    ],
)
def test_the_path_follows_the_features(features: str, path: str) -> None:
    assert simd.choose_path(set(features.split()), "x86_64-pc-linux-gnu") == path
    assert simd.choose_path(set(features.split()), "aarch64-apple-darwin") == "generic"


@kernel()
def dense_sums(sums, inputs, weights):
    """Four groups of inputs, eight outputs: folded sums to `sums`."""
    wide = simd.dot(simd.zero(WIDE), simd.spread(BYTES, NARROW, inputs), simd.load(BYTES, weights))
    folded = simd.add(simd.load(NARROW, sums), simd.fold(NARROW, wide))
    simd.store(sums, folded)
    return simd.total(folded)


@inline
def shifted(vector):
    return simd.shift_right(simd.shift_left(vector, 1), 3)


@kernel()
def clipped(values, target):
    simd.store(target, simd.to_bytes(simd.clip(shifted(simd.load(NARROW, values)), -5, 127)))
    return simd.lane(simd.load(NARROW, values), 7)


def address(array: np.ndarray) -> np.uint64:
    return np.uint64(array.ctypes.data)


def test_dot_products_at_the_bounds_of_bytes() -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        inputs = generator.choice([0, 1, 126, 127], (4, 4)).astype(np.uint8)
        weights = generator.choice([-128, -127, -1, 0, 1, 127], (4, 8, 4)).astype(np.int8)
        start = generator.integers(-(2**20), 2**20, 8).astype(np.int32)
        sums = start.copy()
        total = dense_sums(address(sums), address(inputs), address(weights))
        expected = start + np.einsum("gi,goi->o", inputs.astype(np.int64), weights.astype(np.int64))
        assert np.array_equal(sums, expected)
        assert total == expected.sum()


def test_clips_and_shifts_are_signed() -> None:
    values = np.array([-(2**31), -100, -17, -1, 0, 500, 600, 2**30], np.int32)
    target = np.zeros(8, np.int8)
    assert clipped(address(values), address(target)) == 2**30
    wrapped = (values.astype(np.int64) * 2 + 2**31) % 2**32 - 2**31
    assert np.array_equal(target, np.clip(wrapped >> 3, -5, 127))


def test_a_second_process_compiles_no_network(tmp_path: Path) -> None:
    first = run(NARIKIN_CACHE_DIR=str(tmp_path))
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*evaluate*.nb*")}
    assert sum(path.suffix == ".nbc" for path in files) == 2  # one for each shape
    second = run(NARIKIN_CACHE_DIR=str(tmp_path))
    assert second == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*evaluate*.nb*")} == files
