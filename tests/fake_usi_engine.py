"""A USI engine that plays a script, for tests of those who drive engines. Run as a process of its own.

--moves "7g7f 3c3d"   the game: with n moves in the `position` line it plays the n-th; behind the end it resigns
--at N:ACTION         at ply N: crash, hang, win, resign, late:MS (answers after MS), deaf:MS (also ignores stop),
                      or any other text as its move
--score CP            the score it reports (one of black's view is turned for white)
--ponder              names the next move of the script as the move it expects
--fail-start N        the N-th start (counted in the file --counter) dies before usiok
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path


class Fake:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.moves = arguments.moves.split()
        self.actions = dict(text.split(":", 1) for text in arguments.at)
        self.score = arguments.score
        self.ponder = arguments.ponder
        self.ply = 0
        self.waiting = False

    def handle(self, line: str) -> bool:
        """Answer one line; False ends the program."""
        word, _, rest = line.partition(" ")
        if word == "usi":
            say("id name Fake", "option name USI_Ponder type check default false")
            say("option name Move Overhead type spin default 30 min 0 max 5000")
            say("option name USI_Variant type combo default shogi var shogi var minishogi", "usiok")
        elif word == "isready":
            say("readyok")
        elif word == "position":
            self.ply = len(rest.split(" moves ")[1].split()) if " moves " in rest else 0
        elif word == "go":
            self.waiting = rest.startswith("ponder")
            if not self.waiting:
                self.answer()
        elif word in ("ponderhit", "stop") and self.waiting:
            self.waiting = False
            self.answer()
        return word != "quit"

    def answer(self) -> None:
        action = self.actions.get(str(self.ply), "")
        kind, _, value = action.partition(":")
        if kind == "crash":
            print("going down", file=sys.stderr, flush=True)
            sys.exit(3)
        if kind == "hang":
            while sys.stdin.readline():
                pass
            time.sleep(60)
        if kind in ("late", "deaf"):
            time.sleep(int(value) / 1000)
            action = ""
        move = action or (self.moves[self.ply] if self.ply < len(self.moves) else "resign")
        if self.score is not None:
            say(f"info depth 1 score cp {self.score if self.ply % 2 == 0 else -self.score} pv {move}")
        expected = self.moves[self.ply + 1] if self.ponder and self.ply + 1 < len(self.moves) else None
        say(f"bestmove {move} ponder {expected}" if expected else f"bestmove {move}")


def say(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)


def dies_at_start(arguments: argparse.Namespace) -> bool:
    if arguments.counter is None:
        return False
    counter = Path(arguments.counter)
    starts = int(counter.read_text()) + 1 if counter.exists() else 1
    counter.write_text(str(starts))
    return starts == arguments.fail_start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", default="")
    parser.add_argument("--at", action="append", default=[])
    parser.add_argument("--score", type=int)
    parser.add_argument("--ponder", action="store_true")
    parser.add_argument("--fail-start", type=int, default=0)
    parser.add_argument("--counter")
    arguments = parser.parse_args()
    if dies_at_start(arguments):
        sys.exit(4)
    fake = Fake(arguments)
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin:
            if not fake.handle(line.strip()):
                break


if __name__ == "__main__":
    main()
