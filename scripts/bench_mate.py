"""Solve a table of mate problems and print nodes, speed and time of every row.

    python scripts/bench_mate.py ../shared/testdata/mate.tsv ../shared/testdata/mate_none.tsv --time 10 --hash 256

Rows are tab-separated; the first field is the known length in plies, or a word for positions without a known mate;
some later field is the SFEN. A second field "exact" says that the length is proved minimal. A row fails if no mate is
found in time, or one shorter than "exact" allows, or a proved shortest one of another length.
`--cpu-time` counts seconds of this process instead of the wall's, for machines that others use too.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engine.search.limits import Info  # noqa: E402
from engine.search.mate_search import MateResult, MateSolver  # noqa: E402


@dataclass
class Row:
    """One problem: its known length (None: no mate is known) and whether that is proved minimal."""

    plies: int | None
    exact: bool
    sfen: str


def read_rows(path: Path) -> list[Row]:
    """The problems of a table. Raises ValueError for a row without an SFEN."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if line.startswith("#") or "sfen" in fields:
            continue
        sfen = next((field for field in fields if field.count("/") >= 4), None)
        if sfen is None:
            raise ValueError(f"{path}: no SFEN in {line[:60]!r}")
        plies = int(fields[0]) if fields[0].isdigit() else None
        rows.append(Row(plies, plies is not None and fields[1] in ("exact", sfen), sfen))
    return rows


def verdict(row: Row, result: MateResult) -> str:
    """ "" for a result that fits the row, else what is wrong or still open."""
    if row.plies is None:
        return "" if result.status != "timeout" else "open"
    if result.plies is None:
        return "open" if result.status == "timeout" else "WRONG: no mate"
    if row.exact and (result.plies < row.plies or (result.exact and result.plies != row.plies)):
        return f"WRONG: {row.plies}"
    if result.plies > row.plies:
        return f"longer than {row.plies}"
    return "" if row.exact or result.plies == row.plies else f"shorter than {row.plies}"


class FirstMate:
    """Remembers what the first mate of a row took."""

    def __init__(self) -> None:
        self.text = "-"

    def __call__(self, info: Info) -> None:
        if info.mate is not None and self.text == "-":
            self.text = f"{info.mate}/{info.time_ms / 1000:.2f}s"


def run(rows: list[Row], seconds: float, hash_mb: int, cpu_time: bool) -> int:
    """Solve all rows; the number of wrong ones."""
    solver = MateSolver("shogi", hash_mb)
    if cpu_time:
        solver.clock = time.process_time
    solver.solve(rows[0].sfen, nodes=1)  # compiled code is in memory from here on
    print("row known found  shortest  first        nodes   kn/s   seconds  remark")
    wrong = solved = settled = best = 0
    for number, row in enumerate(rows, 1):
        solver.clear()
        first = FirstMate()
        result = solver.solve(row.sfen, seconds * 1000, on_info=first)
        remark = verdict(row, result)
        wrong += remark.startswith("WRONG")
        solved += row.plies is not None and result.status == "mate"
        settled += row.plies is None and result.status != "timeout"
        best += result.exact
        found = str(result.plies or result.status)
        speed = result.nodes / max(1, result.time_ms)
        print(
            f"{number:3} {row.plies or '-':>5} {found:>7} {'yes' if result.exact else '':>8}  {first.text:<11}"
            f"{result.nodes:>10} {speed:6.0f} {result.time_ms / 1000:9.2f}  {remark}",
            flush=True,
        )
    known = sum(row.plies is not None for row in rows)
    print(f"{solved} of {known} mates solved, {best} proved the shortest, {wrong} wrong")
    print(f"{settled} of {len(rows) - known} positions without a known mate settled")
    return wrong


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path, help="tables of problems")
    parser.add_argument("--time", type=float, default=10.0, metavar="S", help="seconds a row (default: 10)")
    parser.add_argument("--hash", type=int, default=256, metavar="MB", help="table size (default: 256)")
    parser.add_argument("--cpu-time", action="store_true", help="measure the process's time")
    arguments = parser.parse_args()
    rows = [row for table in arguments.tables for row in read_rows(table)]
    return 1 if run(rows, arguments.time, arguments.hash, arguments.cpu_time) else 0


if __name__ == "__main__":
    sys.exit(main())
