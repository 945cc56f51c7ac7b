"""Speed of the rules beside cshogi's, in one run: perft counted at the last ply, and with every leaf played.

    pip download --no-deps --no-binary :all: cshogi && tar xzf cshogi-*.tar.gz
    python scripts/bench_rules.py --cshogi-source cshogi-1.1.0

With cshogi's sources at hand its C++ is compiled at -O3 for this machine and driven from C++; without them the
installed package is driven from Python, which is what its users see. Runs take turns, so that a machine that gets
slower or faster gets so for both; the figures are medians, and the seconds are the processor's, so that other programs
on a busy machine do not count.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engine.rules.perft import perft, perft_make  # noqa: E402
from engine.rules.position import new_position, set_position  # noqa: E402
from engine.rules.sfen import parse_sfen  # noqa: E402
from engine.rules.tables import variant_tables  # noqa: E402
from engine.rules.variants import get_variant  # noqa: E402

POSITIONS = {  # name: (SFEN, depth, depth for driving from Python)
    "start": (get_variant("shogi").start_sfen, 5, 4),
    "matsuri": ("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1", 3, 2),
    "593 moves": ("R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1", 3, 2),
}
KINDS = ("bulk", "make")
COMPILE = ("-O3", "-march=native", "-std=c++17", "-DNDEBUG", "-DHAVE_SSE4", "-DHAVE_SSE42", "-DHAVE_AVX2", "-w")

Counter = Callable[[str, int, str], tuple[int, float]]  # (kind, depth, sfen) -> nodes, CPU seconds


def ours(kind: str, depth: int, sfen: str) -> tuple[int, float]:
    """Perft by this project's kernels."""
    tables, position = variant_tables("shogi"), new_position()
    set_position(position, tables, parse_sfen(sfen, get_variant("shogi")))
    count = perft if kind == "bulk" else perft_make
    start = time.process_time()
    nodes = count(position, tables, depth)
    return int(nodes), time.process_time() - start


def cshogi_in_cpp(source: Path) -> Counter:
    """Perft by cshogi's C++, compiled once from its source distribution and kept in that folder."""
    program, driver = source / "cshogi_perft", ROOT / "scripts" / "cshogi_perft.cpp"
    if not program.exists() or program.stat().st_mtime < driver.stat().st_mtime:
        folder = source / "src"
        files = [str(path) for path in sorted(folder.glob("*.cpp"))]
        subprocess.run(["g++", *COMPILE, f"-I{folder}", str(driver), *files, "-o", str(program)], check=True)
    process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def count(kind: str, depth: int, sfen: str) -> tuple[int, float]:
        assert process.stdin and process.stdout
        print(kind, depth, sfen, file=process.stdin, flush=True)
        nodes, seconds = process.stdout.readline().split()
        return int(nodes), float(seconds)

    return count


def cshogi_in_python() -> Counter:
    """Perft by the installed package, driven from a Python loop."""
    import cshogi

    def bulk(board: cshogi.Board, depth: int) -> int:
        if depth == 1:
            return len(board.legal_moves)
        nodes = 0
        for move in board.legal_moves:
            board.push(move)
            nodes += bulk(board, depth - 1)
            board.pop()
        return nodes

    def make(board: cshogi.Board, depth: int) -> int:
        if depth == 0:
            return 1
        nodes = 0
        for move in board.legal_moves:
            board.push(move)
            nodes += make(board, depth - 1)
            board.pop()
        return nodes

    def count(kind: str, depth: int, sfen: str) -> tuple[int, float]:
        board = cshogi.Board(sfen)
        start = time.process_time()
        nodes = (bulk if kind == "bulk" else make)(board, depth)
        return nodes, time.process_time() - start

    return count


@dataclass
class Row:
    """Speeds of one position and kind of perft, in moves per second."""

    name: str
    kind: str
    depth: int
    ours: list[float]
    theirs: list[float]

    def __str__(self) -> str:
        ratio = statistics.median(mine / other for mine, other in zip(self.ours, self.theirs, strict=True))
        mine, other = statistics.median(self.ours), statistics.median(self.theirs)
        return f"{self.name:10} {self.kind:5} {self.depth:5} {mine / 1e6:9.1f} {other / 1e6:9.1f} {ratio:7.2f}"


def measure(theirs: Counter, from_python: bool, rounds: int) -> list[Row]:
    """Run both in turns; every count is compared."""
    rows = []
    for name, (sfen, depth, python_depth) in POSITIONS.items():
        for kind in KINDS:
            row = Row(name, kind, python_depth if from_python else depth, [], [])
            for number in range(rounds + 1):
                mine, my_time = ours(kind, row.depth, sfen)
                other, their_time = theirs(kind, row.depth, sfen)
                assert mine == other, f"{name} {kind}: {mine} against {other} moves"
                if number:  # the first round warms up
                    row.ours.append(mine / my_time)
                    row.theirs.append(other / their_time)
            print(row, flush=True)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each, after one to warm up (7)")
    parser.add_argument("--cshogi-source", type=Path, metavar="DIR", help="unpacked source distribution of cshogi")
    options = parser.parse_args()
    source = options.cshogi_source
    theirs = cshogi_in_cpp(source.resolve()) if source else cshogi_in_python()
    driven = "C++" if source else "Python"
    print(f"millions of moves a CPU second, medians of {options.rounds}; cshogi driven from {driven}")
    print(f"{'position':10} {'kind':5} depth   narikin    cshogi   ratio")
    measure(theirs, source is None, options.rounds)


if __name__ == "__main__":
    main()
