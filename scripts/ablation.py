"""What each part of the search is worth: switch it off and compare, without compiling anything anew.

    python scripts/ablation.py nodes --depth 10                      nodes to a depth, each part off in turn
    python scripts/ablation.py match --off null_move                 200 games at fixed nodes, with against without
    python scripts/ablation.py match --set futility_slope=140        the same for a number of parameters.py
    python scripts/ablation.py match --each --games 200              a match for every part

Games are played in this process by two searchers with tables of their own, in pairs with colours swapped from the same
opening. Fixed nodes make the result independent of how busy the machine is.

Measured with the shipped shogi network: nodes to depth 10 without the part (1 = with it) and Elo without it (95 %
margins). Matches of their own: a = 60 games of 1,500 nodes a move, +-90; b = 100 games of 4,000, +-69; d = 200 games of
4,000, +-48; g = 200 games of 2,500, +-48 to 52. Fitted to games in which both sides left parts out at random: c = 816
games of 2,000, +-30 to 40; e = 580 games of 8,000, +-42 to 52; f = 290 games of 6,000, +-53 to 61; h = 1,128 games of
8,000, +-37 to 42; i = 1,056 games of 8,000, +-28 to 30. All with the numbers of the search before they were tuned at
15,000 nodes (bench signature 1876688 and older ones), the nodes too.

    late_move_pruning    2.06   a -95, g -127
    late_move_reduction  1.59   a 0, b -67, g -38
    see_pruning          1.41   a -29, g -45
    reverse_futility     1.20   a -101, g -129
    probcut              1.19   a -23, e +17, f -21, h +6, i +5
    null_move            1.08   a +12, b +10, d +9, e -1, f -52, h -16
    continuation         1.07   a +47, d -5, e -6, f -6, h -27
    correction           1.06   a -41, f -15, h -35
    futility             1.01   a -95, g -53
    check_extension      0.99   c -8, e -12, f -1, h -7
    killers              0.98   c -22, e -2, f +28, h -23
    history_pruning      0.96   a +29, d -10, e +4, f +7, h +8, i -10
    internal_reduction   0.94   a -23, e -46, f +34, h -19
    capture_history      0.93   c -9, e -16, f +3, h -29
    mate_in_three        0.90   c -45, e +30, f +32, h -30
    evaluation_order     0.82   c -18, e +51, f +2, h -9, i -41
    hindsight            0.81   c -15, e +46, f -27, h -8, i -3
    quiescence_checks    0.80   a +41, c -26, d -31, e -23, f -44, h 0
    singular             0.73   a -23, e -25, g -23
    aspiration           0.59   a -83, d -37
    razoring                    e -12, f -33
    check_order                 h -35
    superior                    h -18
    double_extension            h +14, i +6
    multi_cut                   h -6
    negative_extension          h -4
    mate_in_one, quiescence_mate and mate_in_three together   a -29

A history by pawn structure (without it c 0, d +14, e +7, f +21, h +10, i +28; by the own or the other king's square no
better) was taken out, and so was less depth for the moves after one that raised alpha (without it 1.83 times the nodes,
c +10, e +13, f -13, h +35, i +11, and 320 games of 15,000 nodes: +58 +-38). What else the games decided: values blended
towards beta after a cut-off (c -27), fewer null moves (c -23), more quiet evasions in quiescence (c -45), mates in one
looked for only in the first plies of quiescence (e -51 +-41) and in positions that the table knows (e -42 +-40) stayed
out; so did root moves in the order of their history (e -36), seven changes after other engines (rewards for the
move before, history in the depth of pruning and others; 210 games of 8,000 nodes: +2 +-56), and (h, with them, +-28 to
30) less reduction after a null move that shows a threat of mate (-20), of single evasions (0) and of positions with a
large correction (+9), all histories for evasions (-20), a history of the first plies (-1) and losing captures before
poor quiet moves (-7).
"""

from __future__ import annotations

import argparse
import math
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.rules.endings import DRAW, WIN, game_repetition
from engine.rules.layout import SHARED, new_record
from engine.rules.moves import parse_usi
from engine.rules.position import make_move, set_position
from engine.rules.sfen import parse_sfen
from engine.rules.tables import variant_tables
from engine.rules.variants import Variant, get_variant
from engine.search.hash_table import HashTable
from engine.search.history import forget, prepare_worker
from engine.search.parameters import PARAMETERS, SWITCHES, find_parameter
from engine.search.workers import Worker
from eval import load_evaluation

LONGEST_GAME = 320
OPENING_PLIES = 12
HASH_MB = 16
RESIGN_SCORE, RESIGN_MOVES = 2500, 4  # both searchers must agree for so many moves in a row


@dataclass
class Settings:
    """Parts switched off and numbers changed."""

    off: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def apply(self, parameters: Any) -> None:
        """Write into a PARAMETERS record. Raises ValueError for unknown names."""
        for name in self.off:
            if name not in SWITCHES:
                raise ValueError(f"unknown part {name}: known are {', '.join(SWITCHES)}")
            parameters["switches"] &= ~SWITCHES[name]
        for name, value in self.numbers.items():
            parameters[find_parameter(name).name] = value

    def __str__(self) -> str:
        parts = [f"-{name}" for name in self.off] + [f"{name}={value}" for name, value in self.numbers.items()]
        return " ".join(parts) or "as it is"


class Searcher:
    """One side: a position, learned tables and a hash table of its own."""

    def __init__(self, variant: Variant, settings: Settings, eval_file: str | None) -> None:
        self.variant = variant
        self.tables = variant_tables(variant.name)
        self.shared: Any = new_record(SHARED)
        self.stop = np.zeros(8, dtype=np.int64)
        self.hash = HashTable(HASH_MB)
        self.shared["stop"] = self.stop.ctypes.data
        self.evaluation = load_evaluation(eval_file, variant.name)
        self.evaluation.attach(self.shared)
        self.worker = Worker(0, self.tables, self.shared)
        self.worker.evaluation_memory = self.evaluation.new_thread(self.worker.position)
        settings.apply(self.worker.record["parameters"])
        prepare_worker(self.worker.record, self.tables)

    def new_game(self) -> None:
        """Forget, and set up the start position."""
        self.hash.clear()  # which moves it
        self.shared["hash_table"], self.shared["hash_clusters"] = self.hash.address, self.hash.clusters
        forget(self.worker.record)
        self.worker.position["all_moves"] = 0
        set_position(self.worker.position, self.tables, parse_sfen(self.variant.start_sfen, self.variant))

    def set_up(self, sfen: str) -> None:
        """Set up any position."""
        set_position(self.worker.position, self.tables, parse_sfen(sfen, self.variant))

    def play(self, move: int) -> None:
        """Make a move of the game."""
        make_move(self.worker.position, self.tables, np.int32(move))

    def search(self, nodes: int | None, depth: int = 60) -> tuple[int, int, int]:
        """Best move, score and nodes; move 0 if there is no legal one."""
        if self.worker.begin() == 0:
            return 0, 0, 0
        self.shared["hash_age"] = (int(self.shared["hash_age"]) + 1) % 32
        self.stop[0] = 0
        line = self.worker.think(depth, nodes)
        return line.move, line.score, self.worker.nodes


def play_game(black: Searcher, white: Searcher, opening: list[int], nodes: int) -> float:
    """Play one game from an opening; returns black's points."""
    players = (black, white)
    for player in players:
        player.new_game()
        for move in opening:
            player.play(move)
    lead = 0
    for ply in range(len(opening), LONGEST_GAME):
        side = ply & 1
        move, score, _ = players[side].search(nodes)
        if move == 0:
            return float(side)
        points = -score if side else score
        lead = lead + (1 if points > 0 else -1) if abs(points) >= RESIGN_SCORE and points * lead >= 0 else 0
        if abs(lead) >= 2 * RESIGN_MOVES:
            return 1.0 if lead > 0 else 0.0
        for player in players:
            player.play(move)
        verdict = int(game_repetition(black.worker.position))
        if verdict:
            return 0.5 if verdict == DRAW else float((verdict == WIN) != (side == 0))
    return 0.5


def make_opening(searcher: Searcher, seed: int) -> list[int]:
    """Random moves from the start that leave a playable game."""
    chooser = random.Random(seed)
    while True:
        searcher.new_game()
        moves: list[int] = []
        for _ in range(OPENING_PLIES):
            count = searcher.worker.begin()
            if count == 0:
                break
            moves.append(int(searcher.worker.record["root_moves"]["move"][chooser.randrange(count)]))
            searcher.play(moves[-1])
        if len(moves) == OPENING_PLIES and abs(searcher.search(3000)[1]) < 120:
            return moves


def read_openings(path: Path, variant: Variant) -> list[list[int]]:
    """Openings of a file with a line `startpos moves ...` each."""
    lines = [line.split() for line in path.read_text().splitlines() if line.startswith("startpos")]
    return [[parse_usi(text, variant) for text in words[2:]] for words in lines]


def elo(points: float, games: int) -> tuple[float, float]:
    """Elo difference and its 95 % margin, from points of a number of games."""
    share = min(max(points / games, 0.5 / games), 1 - 0.5 / games)
    slope = 400 / math.log(10) / (share * (1 - share))
    return -400 * math.log10(1 / share - 1), 1.96 * slope * math.sqrt(share * (1 - share) / games)


def run_match(base: Searcher, other: Searcher, openings: list[list[int]], games: int, nodes: int, label: str) -> None:
    """Play and print the result from the view of `other`."""
    points = 0.0
    wins = draws = 0
    started = time.perf_counter()
    for number in range(games):
        opening = openings[number // 2 % len(openings)]
        black, white = (base, other) if number % 2 else (other, base)
        result = play_game(black, white, opening, nodes)
        if number % 2:
            result = 1 - result
        points += result
        wins += result == 1
        draws += result == 0.5
    difference, margin = elo(points, games)
    losses = games - wins - draws
    print(
        f"{label:40} +{wins} -{losses} ={draws}  {difference:+6.0f} elo (+-{margin:.0f})  "
        f"{time.perf_counter() - started:.0f} s",
        flush=True,
    )


def count_nodes(searcher: Searcher, positions: list[str], depth: int) -> np.ndarray:
    """Nodes of each position to a depth."""
    counts = []
    for sfen in positions:
        searcher.new_game()
        searcher.set_up(sfen)
        counts.append(searcher.search(None, depth)[2])
    return np.array(counts)


def bench_positions(variant: Variant) -> list[str]:
    """The positions of `narikin bench` for a variant, as SFEN."""
    from usi.commands._arguments import read_position
    from usi.commands.bench import POSITIONS

    texts = [text for name, text in POSITIONS if name == variant.name]
    return [read_position([text], variant.name).sfen or variant.start_sfen for text in texts]


def run_nodes(variant: Variant, depth: int, eval_file: str | None) -> None:
    """Print nodes to a depth with every part switched off in turn, against those with all parts.

    The ratio is the geometric mean over the positions: in the sum one wild position would hide all others.
    """
    positions = bench_positions(variant)
    base = count_nodes(Searcher(variant, Settings(), eval_file), positions, depth)
    print(f"{'':24} {'nodes':>10}  mean ratio")
    print(f"{'all parts':24} {base.sum():10}")
    for name in SWITCHES:
        counts = count_nodes(Searcher(variant, Settings([name]), eval_file), positions, depth)
        ratio = math.exp(float(np.log(counts / base).mean()))
        print(f"-{name:23} {counts.sum():10} {ratio:6.2f}", flush=True)


def parse_numbers(texts: list[str]) -> dict[str, int]:
    """`NAME=VALUE` words. Raises ValueError for a value that a tuner may not try."""
    numbers = {}
    for text in texts:
        name, _, value = text.partition("=")
        parameter = find_parameter(name)
        numbers[name] = int(value)
        if not parameter.low <= numbers[name] <= parameter.high:
            raise ValueError(f"{name}: {value} is not within {parameter.low} to {parameter.high}")
    return numbers


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("nodes", "match"))
    parser.add_argument("--variant", default="shogi")
    parser.add_argument("--depth", type=int, default=10, help="for nodes (default: 10)")
    parser.add_argument("--games", type=int, default=200, help="for match (default: 200)")
    parser.add_argument("--nodes", type=int, default=5000, help="per move, for match (default: 5000)")
    parser.add_argument("--off", action="append", default=[], metavar="PART", help="switch a part off")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a parameter")
    parser.add_argument("--each", action="store_true", help="a match for every part")
    parser.add_argument("--openings", type=Path, help="file of `startpos moves ...` lines (default: random ones)")
    parser.add_argument("--eval-file", help="a network, or handcrafted (default: what comes with the package)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    variant = get_variant(arguments.variant)
    try:
        one = Settings(arguments.off, parse_numbers(arguments.set))
        one.apply(np.zeros(1, dtype=PARAMETERS)[0])
    except ValueError as error:
        parser.error(str(error))
    if arguments.games < 1:
        parser.error("--games: at least 1")
    if arguments.what == "nodes":
        if arguments.off or arguments.set:
            parser.error("nodes switches every part off in turn; --off and --set are for match")
        run_nodes(variant, arguments.depth, arguments.eval_file)
        return
    base = Searcher(variant, Settings(), arguments.eval_file)
    if arguments.openings:
        openings = read_openings(arguments.openings, variant)
        random.Random(arguments.seed).shuffle(openings)
    else:
        openings = [make_opening(base, arguments.seed * 100_000 + i) for i in range((arguments.games + 1) // 2)]
    trials = [Settings([name]) for name in SWITCHES] if arguments.each else [one]
    for settings in trials:
        other = Searcher(variant, settings, arguments.eval_file)
        run_match(base, other, openings, arguments.games, arguments.nodes, str(settings))


if __name__ == "__main__":
    main()
