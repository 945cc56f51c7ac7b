"""Balanced openings for matches, made or filtered by our own search.

    python scripts/make_openings.py shogi --count 500 --out usi/match/sets/shogi.usi
    python scripts/make_openings.py shogi --candidates book.usi --out balanced.usi

Candidates are the lines of a file, or walks from the start: at every ply a short search names its best lines, and one
of them is drawn, the better ones likelier. One is kept if the side to move is not in check, the position is new, and
several searches, of the position and of those after each best move, all see at most so many centipawns.
The first lines of the file say how it was made; the same command goes on with a file that was cut.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engine import Board  # noqa: E402
from engine.rules.variants import VARIANTS  # noqa: E402
from engine.search.engine import Engine  # noqa: E402
from engine.search.limits import Limits  # noqa: E402
from usi.match.schedule import Opening, read_openings  # noqa: E402

LENGTHS = {"shogi": (6, 20), "judkins": (4, 14), "minishogi": (3, 10)}
LINES = 8  # among which a walk draws
FREE_PLIES = 3  # at the start, where it may take moves that are so many times ...
FREEDOM = 3  # ... further behind the best
TIPPED = 300  # centipawns at which a walk is given up


def candidates(arguments: argparse.Namespace) -> Iterator[Opening]:
    """Openings that have not been looked at deeply."""
    if arguments.candidates:
        yield from read_openings(arguments.candidates)
        return
    engine = Engine(arguments.variant, 1, 64)
    if arguments.net:
        engine.set_option("eval_file", arguments.net)
    engine.set_option("multipv", LINES)
    low, high = LENGTHS[arguments.variant]
    low = low if arguments.low is None else arguments.low
    high = high if arguments.high is None else arguments.high
    number = 0
    while True:
        draw = random.Random(f"{arguments.seed} {number}")
        number += 1
        engine.new_game()  # a walk depends on its number alone, so that a cut file can be gone on with
        moves = walk(engine, draw, draw.randint(low, high), arguments)
        if moves:
            yield Opening(None, tuple(moves))


def walk(engine: Engine, draw: random.Random, plies: int, arguments: argparse.Namespace) -> list[str]:
    """Moves from the start, each drawn among the lines of a short search; empty if the game ends or tips over."""
    moves: list[str] = []
    for ply in range(plies):
        wider = FREEDOM if ply < FREE_PLIES else 1  # or nearly all would begin with the engine's favourite move
        engine.set_position(None, moves)
        result = engine.search(Limits(nodes=arguments.walk_nodes))
        lines = [line for line in result.lines if line.score_cp is not None and line.pv]
        best = max((line.score_cp or 0 for line in lines), default=TIPPED)
        if abs(best) >= TIPPED:
            return []
        lines = [line for line in lines if (line.score_cp or 0) >= best - wider * arguments.margin]
        weights = [math.exp(((line.score_cp or 0) - best) / (wider * arguments.temperature)) for line in lines]
        moves.append(draw.choices(lines, weights)[0].pv[0])
    return moves


class Filter:
    """Looks at positions with searches of one size."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.variant = arguments.variant
        self.limits = Limits(nodes=arguments.nodes)
        self.within = arguments.within
        self.searches = arguments.searches
        self.engine = Engine(self.variant, 1, 64)
        if arguments.net:
            self.engine.set_option("eval_file", arguments.net)
        self.seen: set[str] = set()

    def remember(self, opening: Opening) -> Board | None:
        """The board after an opening; None if its position was there before."""
        board = Board(opening.sfen, self.variant)
        for move in opening.moves:
            board.push_usi(move)
        key = board.sfen().rsplit(" ", 1)[0]
        if key in self.seen:
            return None
        self.seen.add(key)
        return board

    def accepts(self, opening: Opening) -> bool:
        """True if the opening is new and balanced."""
        board = self.remember(opening)
        if board is None or board.is_check() or board.outcome() is not None:
            return False
        moves = list(opening.moves)
        self.engine.new_game()
        for _ in range(self.searches):
            self.engine.set_position(opening.sfen, moves)
            result = self.engine.search(self.limits)
            if result.score_cp is None or abs(result.score_cp) > self.within:
                return False
            moves.append(result.bestmove)
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=list(VARIANTS))
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--candidates", type=Path, help="file of openings to filter, in place of random ones")
    parser.add_argument("--low", type=int, help="plies of a walk, at least")
    parser.add_argument("--high", type=int, help="plies of a walk, at most")
    parser.add_argument("--margin", type=int, default=60, help="centipawns that a drawn move may be behind the best")
    parser.add_argument("--temperature", type=int, default=30, help="centipawns; lower: better moves likelier")
    parser.add_argument("--walk-nodes", type=int, default=5000, help="of each search of a walk")
    parser.add_argument("--nodes", type=int, default=100_000, help="of each search that judges")
    parser.add_argument("--searches", type=int, default=3, help="of an opening, one ply after another")
    parser.add_argument("--within", type=int, default=60, help="centipawns that they may see for either side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--net", help="network (the shipped one, else the handcrafted evaluation)")
    arguments = parser.parse_args()
    judge = Filter(arguments)
    header = f"# {' '.join([Path(sys.argv[0]).name, *sys.argv[1:]])}\n# {judge.engine.evaluation.description}\n"
    kept = begun(arguments.out, header)
    rest = skip_known(candidates(arguments), kept, judge)
    tried = len(kept)
    with arguments.out.open("a", encoding="utf-8") as file:
        while len(kept) < arguments.count and (opening := next(rest, None)) is not None:
            tried += 1
            if judge.accepts(opening):
                kept.append(opening)
                print(opening, file=file, flush=True)
                print(f"\r{len(kept)} of {tried}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return 0


def begun(path: Path, header: str) -> list[Opening]:
    """The openings of a file that was begun by the same command; a new file gets the header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(header, encoding="utf-8")
        return []
    if not path.read_text(encoding="utf-8").startswith(header):
        raise SystemExit(f"{path} was made by another command or network: delete it first")
    return read_openings(path) if path.stat().st_size > len(header) else []


def skip_known(openings: Iterator[Opening], kept: list[Opening], judge: Filter) -> Iterator[Opening]:
    """The candidates behind the last one that was kept."""
    for opening in kept:
        judge.remember(opening)
    if kept:
        for opening in openings:
            if opening == kept[-1]:
                break
    yield from openings


if __name__ == "__main__":
    sys.exit(main())
