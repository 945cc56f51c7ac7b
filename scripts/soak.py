"""Soak test: one engine process plays many games against itself; its memory must stay flat.

    python scripts/soak.py --games 200 --movetime 50

Between games the engine hears `isready` and `usinewgame`, as from a GUI. Every move is checked by the rules. Exit code
1 if a move was illegal or late, or if the second half of the games needed more memory than the first.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.search.limits import Limits  # noqa: E402
from usi.client import UsiEngine  # noqa: E402
from usi.match.schedule import Opening  # noqa: E402
from usi.match.umpire import End, IllegalMove, Umpire  # noqa: E402

GROWTH_ALLOWED = 8.0  # MB from the middle of the run to its end
LATE = 1000.0  # ms over the time of a move


def memory(process_id: int) -> float:
    """Resident memory of a process in MB."""
    output = subprocess.run(["ps", "-o", "rss=", "-p", str(process_id)], capture_output=True, text=True, check=True)
    return int(output.stdout) / 1024


def play(engine: UsiEngine, arguments: argparse.Namespace) -> tuple[End, int, float]:
    """One game; its end, its number of moves and the longest answer in ms."""
    umpire = Umpire(arguments.variant, Opening(), None, 320)
    moves: list[str] = []
    slowest = 0.0
    while True:
        end = umpire.verdict()
        if end is not None:
            return end, len(moves), slowest
        engine.position(None, moves)
        answer = engine.go(Limits(movetime=arguments.movetime), timeout=30)
        slowest = max(slowest, answer.elapsed_ms)
        move = answer.bestmove.move if answer.bestmove else ""
        if move == "resign":
            return End(umpire.side ^ 1, "resignation"), len(moves), slowest
        if move == "win":
            return umpire.declaration(), len(moves), slowest
        try:
            umpire.push(move)
        except IllegalMove as error:
            return End(None, "illegal move", str(error)), len(moves), slowest
        moves.append(move)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--movetime", type=int, default=50, help="ms")
    parser.add_argument("--variant", default="shogi")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    faults = 0
    sizes: list[float] = []
    with UsiEngine([sys.executable, "-m", "usi"], folder=str(Path(__file__).resolve().parent.parent)) as engine:
        engine.start()
        engine.set_option("USI_Variant", arguments.variant)
        engine.set_option("Threads", arguments.threads)
        for number in range(arguments.games):
            started = time.monotonic()
            engine.new_game()
            end, length, slowest = play(engine, arguments)
            sizes.append(memory(engine.process_id))
            fault = end.reason in ("illegal move", "wrong declaration") or slowest > arguments.movetime + LATE
            faults += fault
            print(
                f"{number + 1:4d}  {end.reason:18s} {length:4d} moves  slowest {slowest:5.0f} ms  {sizes[-1]:7.1f} MB"
                f"  {time.monotonic() - started:5.1f} s{'  FAULT ' + end.detail if fault else ''}",
                flush=True,
            )
    half = len(sizes) // 2
    growth = max(sizes[half:]) - max(sizes[: half + 1])
    print(f"memory after the first game {sizes[0]:.1f} MB, after the last {sizes[-1]:.1f} MB")
    print(f"growth in the second half {growth:+.1f} MB")
    print(f"{faults} faults in {len(sizes)} games")
    return 1 if faults or growth > GROWTH_ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())
