"""A USI engine for tests of the client, run as a process of its own: behaves as badly as its argument says."""

from __future__ import annotations

import sys
import time

OPTIONS = ["option name Skill Level type spin default 20 min -20 max 20", "option name Clear_Hash type button"]


def say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main(mood: str) -> None:
    options: dict[str, str] = {}
    for line in sys.stdin:
        line = line.rstrip("\n")
        words = line.split(" ")
        if line == "usi":
            if mood == "mute":
                continue
            if mood == "crash-at-start":
                print("cannot load the book", file=sys.stderr, flush=True)
                sys.exit(3)
            if mood == "slow":
                time.sleep(0.3)
            if mood == "noisy":
                sys.stdout.buffer.write(b"\xff\xfe banner\n")
                sys.stderr.write("x" * 200_000)
                sys.stderr.flush()
            say("id name Scripted One", "id author tests", *OPTIONS, "usiok")
        elif words[0] == "setoption":
            name, _, value = line.removeprefix("setoption name ").partition(" value ")
            options[name] = value
        elif line == "isready":
            say("info string options " + repr(sorted(options.items())), "readyok")
        elif words[0] == "go":
            go(mood, words)
        elif line == "stop":
            say("bestmove 2g2f")
        elif words[0] == "ponderhit":
            say(f"info string {line}", "bestmove 6g6f")
        elif line == "quit":
            if mood == "deaf":
                continue
            return


def go(mood: str, words: list[str]) -> None:
    say("info depth 1 score cp 12 nodes 30 multipv 1 pv 7g7f 3c3d", "info depth 1 score cp 5 multipv 2 pv 2g2f")
    say("info depth 2 score cp 20 lowerbound multipv 1 pv 9g9f")
    if mood == "crash":
        print("segmentation fault", file=sys.stderr, flush=True)
        sys.exit(7)
    if mood == "hang":
        time.sleep(600)
    if "mate" in words:
        say("checkmate 3c3b+ 2a3b G*2b")
    elif "infinite" not in words and "ponder" not in words:
        say("bestmove 7g7f ponder 3c3d")


main(sys.argv[1] if len(sys.argv) > 1 else "good")
