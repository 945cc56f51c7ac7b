"""`narikin analyse` of a whole game: from the command line to the reports."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from usi.analysis.game import GameAnalyser, GameAnalysis, PlayedGame
from usi.analysis.judge import Standards
from usi.analysis.source import read_game
from usi.main import BAD_INPUT, INTERRUPTED

PIPE_WIDTH = 160  # columns of the table where it goes to no terminal


def run_game(arguments: argparse.Namespace, data: bytes, name: str) -> int:
    """Analyse and write what was asked for; the exit code. Everything that can be wrong is found before thinking."""
    from usi.commands.analyse import GAME_DEPTH, study_limits

    standards = read_standards(arguments.thresholds, arguments.scale)
    arguments.notation = arguments.notation or "japanese"
    json_name = None if arguments.json == "-" else arguments.json
    check_outputs([arguments.html, arguments.kif, json_name])
    check_overwriting(arguments.position, {"--html": arguments.html, "--json": json_name, "--kif": arguments.kif})
    game, games = read_game(data, name, arguments.number, arguments.variant)
    if games > 1:
        say(f"game {arguments.number} of {games} in {name} (--number chooses)")
    arguments.variant = game.variant
    analysis = think(arguments, game, study_limits(arguments, GAME_DEPTH), standards)
    if not analysis.positions_searched:
        say(analysis.failure or "nothing was analysed")
    elif not analysis.complete:
        reason = analysis.failure or "stopped"
        say(f"{reason}: the moves from {(analysis.first_ply or 0) + 1} on were analysed, the earlier ones were not")
    if analysis.positions_searched:
        write_outputs(arguments, analysis)
    return BAD_INPUT if analysis.failure else 0 if analysis.complete else INTERRUPTED


def say(text: str) -> None:
    """A note for the user."""
    print(f"narikin: {text}", file=sys.stderr, flush=True)


def read_standards(thresholds: str, scale: float) -> Standards:
    """What the options say. Raises ValueError."""
    try:
        inaccuracy, mistake, blunder = (float(word) for word in thresholds.split(","))
    except ValueError:
        raise ValueError(f"--thresholds {thresholds!r}: three numbers are needed, such as 5,10,20") from None
    return Standards(inaccuracy, mistake, blunder, scale)


def check_outputs(names: list[str | None]) -> None:
    """Raises ValueError for a file that cannot be written, before hours of thinking."""
    for name in names:
        if name is None:
            continue
        path = Path(name)
        if path.is_dir():
            raise ValueError(f"{name} is a folder")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"{name}: there is no folder {path.parent}")


def check_overwriting(words: list[str], outputs: dict[str, str | None]) -> None:
    """Raises ValueError where the record would be lost, or one output in another. --kif keeps what a record says."""
    sources = {os.path.realpath(word): word for word in words if len(words) == 1 and os.path.isfile(word)}
    taken: dict[str, str] = {}
    for option, name in outputs.items():
        if name is None:
            continue
        path = os.path.realpath(name)
        if option != "--kif" and path in sources:
            raise ValueError(f"{option} {name} would overwrite the record: choose another name")
        if path in taken:
            raise ValueError(f"{taken[path]} and {option} both name {name}")
        taken[path] = option


def think(arguments: argparse.Namespace, game: PlayedGame, limits: Any, standards: Standards) -> GameAnalysis:
    """Set the thinkers up and let them work, with a progress bar for people who watch."""
    from usi.commands.analyse import make_thinker

    thinker = make_thinker(arguments)
    try:
        for note in thinker.notes:
            say(note)
        finder = None
        if arguments.threat is not False:
            from usi.analysis.threat import DEFAULT_NODES, ThreatFinder

            finder = ThreatFinder(game.variant, arguments.mate_nodes or DEFAULT_NODES)
        analyser = GameAnalyser(thinker, limits, standards, arguments.multipv, finder)
        with progress_bar() as progress:
            task = progress.add_task("positions", total=len(game.moves) + 1)
            return analyser.analyse(game, lambda study: progress.advance(task))
    finally:
        thinker.close()


def progress_bar() -> Progress:
    """Positions done, time so far and time left, on stderr."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("positions"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def write_outputs(arguments: argparse.Namespace, analysis: GameAnalysis) -> None:
    """The files that were asked for, and the table: neither is lost where the other fails."""
    try:
        _write_files(arguments, analysis)
    finally:
        if arguments.json != "-":
            from usi.analysis.table import print_game

            width = None if sys.stdout.isatty() else PIPE_WIDTH
            console = Console(highlight=False, markup=False, emoji=False, width=width)
            print_game(analysis, arguments.notation, console)


def _write_files(arguments: argparse.Namespace, analysis: GameAnalysis) -> None:
    from usi.analysis.record import game_record

    if arguments.json is not None:
        text = json.dumps(game_record(analysis, arguments.notation), ensure_ascii=arguments.json == "-")
        if arguments.json == "-":
            print(text, flush=True)
        else:
            _write(arguments.json, f"{text}\n".encode())
    if arguments.html is not None:
        from usi.analysis.page import page

        _write(arguments.html, page(analysis, arguments.notation).encode())
    if arguments.kif is not None:
        from usi.analysis.kif import annotated_kif

        _write(arguments.kif, annotated_kif(analysis, arguments.kif, arguments.variations))


def _write(name: str, data: bytes) -> None:
    Path(name).write_bytes(data)
    say(f"written: {name}")
