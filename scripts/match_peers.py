"""Matches of this working copy against the engines of the Debian packages fairy-stockfish and gpsshogi.

    python scripts/match_peers.py --out results                  all of them
    python scripts/match_peers.py --out results judkins --games 100 --byoyomi 1000
    python scripts/match_peers.py --out results gpsshogi --byoyomi 2000 --concurrency 2 --resign 1500
    python scripts/match_peers.py --out results handcrafted      the network against the handcrafted evaluation
    python scripts/match_peers.py --out results first-player     the search against a plain one, handcrafted both

The first player is this search reduced to the parts in FIRST_PLAYER, what a first alpha-beta player of any kind has:
the match shows what all the others are worth together, at equal evaluation, speed of the rules and time.

Each match is a `narikin match` of its own, which gets all options that are not listed below, and resumes when the
script is started again. The same games can be played by an independent client, which takes each engine as one
executable (so write `exec python -m usi` into a script):

    python -m cshogi.cli /abs/narikin.sh /usr/games/fairy-stockfish --options1 Threads:1 --games 20 --byoyomi 500 \\
        --draw 320 --csa results/csa
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engine.search.parameters import SWITCH_NAMES  # noqa: E402
from usi.main import main as narikin  # noqa: E402

FAIRY = "name=fairy-stockfish cmd=fairy-stockfish option.Threads=1 option.Hash=64"
# gpsshogi thinks longer than it is told, and its book is no part of a measurement
GPS = "name=gpsshogi cmd=gpsusi option.Thread=1 option.BookDepth=0 margin=3000"
OWN = f"cmd={shlex.quote(shlex.quote(sys.executable) + ' -m usi')} dir={shlex.quote(str(ROOT))}"
EQUAL = "option.Threads=1 option.USI_Hash=64"
FIRST_PLAYER = (
    "null_move",
    "late_move_reduction",
    "check_extension",
    "killers",
    "aspiration",
    "mate_in_one",
    "quiescence_mate",
    "mate_distance",
    "superior",
    "delta",
)
REDUCED = " ".join(f"option.switch.{name}=false" for name in SWITCH_NAMES if name not in FIRST_PLAYER)
HANDCRAFTED = f"name=handcrafted {OWN} option.EvalFile=handcrafted {EQUAL}"
PLAIN = f"name=first-player {OWN} option.EvalFile=handcrafted option.MateShare=0 {REDUCED} {EQUAL}"

MATCHES = {  # name: (opponent, variant, games)
    "shogi": (FAIRY, "shogi", 20),
    "judkins": (FAIRY, "judkins", 10),
    "minishogi": (FAIRY, "minishogi", 10),
    "gpsshogi": (GPS, "shogi", 20),
    "handcrafted": (HANDCRAFTED, "shogi", 20),
    "first-player": (PLAIN, "shogi", 20),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matches", nargs="*", metavar="MATCH", help=f"some of {', '.join(MATCHES)} (the first three)")
    parser.add_argument("--out", required=True, type=Path, help="folder of the results")
    parser.add_argument("--games", type=int, help="games a match (20, small boards 10)")
    parser.add_argument("--byoyomi", type=int, default=500, help="milliseconds a move")
    parser.add_argument("--openings", help="file of shogi openings; other games start from random ones")
    parser.add_argument("--options", default=EQUAL, help="of our engine")
    arguments, rest = parser.parse_known_args()
    os.environ["PATH"] += os.pathsep + "/usr/games"
    for name in arguments.matches:
        if name not in MATCHES:
            parser.error(f"unknown match {name}: known are {', '.join(MATCHES)}")
    worst = 0
    for name in arguments.matches or ("shogi", "judkins", "minishogi"):
        opponent, variant, games = MATCHES[name]
        own = f"name=narikin {OWN} {arguments.options}"
        if name == "first-player":
            own += " option.EvalFile=handcrafted"
        words = ["match", "--engine", own]
        words += ["--engine", opponent, "--variant", variant, "--byoyomi", str(arguments.byoyomi)]
        words += ["--games", str(arguments.games or games), "--out", str(arguments.out / name)]
        if arguments.openings and variant == "shogi":
            words += ["--openings", arguments.openings]
        worst = max(worst, narikin(words + rest))
    return worst


if __name__ == "__main__":
    sys.exit(main())
