"""Tune numbers of the search by games against itself: SPSA (Spall 1998) with the gains chess engines use.

    python scripts/tune.py --out tune.json --pairs 2000 --nodes 3000 --openings FILE
    python scripts/tune.py --out tune.json --pairs 4000 ...         goes on where it was stopped
    python scripts/tune.py --out tune.json --pairs 0                only prints what it has found

Every step moves all chosen parameters at once by their step size, up or down at random, plays a pair of games of the
one side against its mirror image, and shifts the parameters a little towards the winner. Fixed nodes make the games
independent of how busy the machine is. Afterwards play a match: scripts/ablation.py match --set NAME=VALUE ...
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from ablation import Searcher, Settings, make_opening, play_game, read_openings

from engine.rules.variants import get_variant
from engine.search.history import prepare_worker
from engine.search.parameters import PARAMETER_TABLE, Parameter, find_parameter

ALPHA, GAMMA = 0.602, 0.101  # how the gain and the perturbation shrink with the number of steps
NODE_SPREAD = 0.2  # nodes a move vary by so much from pair to pair
RANDOM_OPENINGS = 400
REPORT = 50


class Tuner:
    """Values of the parameters and the number of pairs played; kept in a file."""

    def __init__(self, path: Path, parameters: list[Parameter], pairs: int, rate: float) -> None:
        self.path, self.parameters, self.pairs, self.rate = path, parameters, pairs, rate
        self.values = {p.name: float(p.value) for p in parameters}
        self.played = 0
        if path.exists():
            state = json.loads(path.read_text(encoding="utf-8"))
            self.played = state["played"]
            self.values |= {name: value for name, value in state["values"].items() if name in self.values}

    def perturbation(self, p: Parameter) -> float:
        """Distance of the two sides from the present value; at the last pair it is the parameter's step."""
        return p.step * ((self.pairs + 1) / (self.played + 1)) ** GAMMA

    def gain(self, p: Parameter) -> float:
        """Shift for a pair won 2-0; `rate` steps at the last pair."""
        start = 0.1 * self.pairs
        return self.rate * p.step * ((start + self.pairs) / (start + self.played + 1)) ** (ALPHA - GAMMA)

    def sides(self, chooser: random.Random) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """Directions (1 or -1), and the values of both sides."""
        directions = {p.name: chooser.choice((1, -1)) for p in self.parameters}
        sides = []
        for sign in (1, -1):
            side = {}
            for p in self.parameters:
                value = self.values[p.name] + sign * directions[p.name] * self.perturbation(p)
                # rounding at random keeps small steps of small numbers from being lost
                side[p.name] = min(p.high, max(p.low, int(value // 1 + (chooser.random() < value % 1))))
            sides.append(side)
        return directions, sides[0], sides[1]

    def learn(self, directions: dict[str, int], result: float) -> None:
        """Shift towards the winner; `result`: points of the first side less those of the second, -2 to 2."""
        for p in self.parameters:
            value = self.values[p.name] + self.gain(p) * directions[p.name] * result
            self.values[p.name] = min(float(p.high), max(float(p.low), value))
        self.played += 1

    def save(self) -> None:
        """Write the state."""
        state = {"played": self.played, "values": self.values}
        self.path.write_text(json.dumps(state, indent=1), encoding="utf-8")

    def report(self) -> str:
        """A line for each parameter that moved by at least a tenth of its step."""
        lines = [f"after {self.played} pairs"]
        for p in self.parameters:
            moved = (self.values[p.name] - p.value) / p.step
            if abs(moved) >= 0.1:
                lines.append(f"{p.name:24} {p.value:6} -> {self.values[p.name]:9.1f}   {moved:+.1f} steps")
        return "\n".join(lines)


def write_parameters(searcher: Searcher, values: dict[str, int]) -> None:
    """Give a searcher other numbers."""
    record: Any = searcher.worker.record
    for name, value in values.items():
        record["parameters"][name] = value
    prepare_worker(record, searcher.tables)


def play_pair(one: Searcher, two: Searcher, opening: list[int], nodes: int) -> float:
    """Points of `one` less those of `two` in two games from an opening with colours swapped."""
    first = play_game(one, two, opening, nodes)
    second = 1 - play_game(two, one, opening, nodes)
    return 2 * (first + second) - 2


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="state, written every few pairs")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs of games in all (default: 2000)")
    parser.add_argument("--nodes", type=int, default=3000, help="per move (default: 3000)")
    parser.add_argument("--rate", type=float, default=0.02, help="shift in steps for a pair won 2-0 (default: 0.02)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a parameter (default: all)")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave a parameter out")
    parser.add_argument("--variant", default="shogi")
    parser.add_argument("--openings", type=Path, help="file of `startpos moves ...` lines (default: random ones)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    parameters = [find_parameter(name) for name in arguments.only] or list(PARAMETER_TABLE)
    parameters = [p for p in parameters if p.name not in arguments.without]
    tuner = Tuner(arguments.out, parameters, arguments.pairs, arguments.rate)
    if tuner.played < arguments.pairs:
        run(tuner, arguments)
    print(tuner.report())


def run(tuner: Tuner, arguments: argparse.Namespace) -> None:
    """Play until the wanted number of pairs is reached."""
    variant = get_variant(arguments.variant)
    one, two = Searcher(variant, Settings(), None), Searcher(variant, Settings(), None)
    if arguments.openings:
        openings = read_openings(arguments.openings, variant)
    else:
        openings = [make_opening(one, arguments.seed * 100_000 + i) for i in range(RANDOM_OPENINGS)]
    while tuner.played < arguments.pairs:
        chooser = random.Random(f"{arguments.seed} {tuner.played}")
        directions, up, down = tuner.sides(chooser)
        write_parameters(one, up)
        write_parameters(two, down)
        nodes = round(arguments.nodes * chooser.uniform(1 - NODE_SPREAD, 1 + NODE_SPREAD))
        tuner.learn(directions, play_pair(one, two, chooser.choice(openings), nodes))
        if tuner.played % REPORT == 0 or tuner.played == arguments.pairs:
            tuner.save()
            print(tuner.report(), flush=True)


if __name__ == "__main__":
    main()
