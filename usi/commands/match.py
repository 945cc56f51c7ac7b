"""Play a match between USI engines, judged by our own rules."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live

from usi.match.config import MatchError, MatchSettings, build_settings, parse_engine, read_toml
from usi.match.lock import locked
from usi.match.openings import openings_of
from usi.match.report import final_report, game_line, live_report, progress_bar, write_summary
from usi.match.runner import ClusterBackend, Match, Plan, ThreadBackend, check_openings
from usi.match.store import GameResult, Store

PLAIN_WIDTH = 120  # columns of the table in a file or a pipe

EPILOG = """\
An engine is a list of KEY=VALUE, quoted as in a shell:
  --engine 'name=A cmd="/path/to/engine --flag" option.Threads=1 "option.Skill Level=5"'
Keys: name, cmd, dir (folder to start in), option.NAME, margin, ponder, and a time control of its own in place of the
match's: time, byoyomi, nodes, depth. A TOML file holds the same: the long options as keys, each engine a table
[[engine]] whose options are a table `options`. What stands on the command line overrides the file.

The match is kept in the --out folder as it goes: the same command resumes it after a kill and plays only the games
that are missing; with a larger --games it goes on. The folder holds summary.json, the games (games.usi, and each as
KIF and CSA under games/) and under logs/ every line of games that ended by a crash, a hang, a lost clock or an
illegal move.
"""


def add_parser(subparsers: Any) -> None:
    """Describe the command line of `narikin match`."""
    parser = subparsers.add_parser(
        "match", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", metavar="TOML", help="settings of the match")
    parser.add_argument("--engine", action="append", metavar="SPEC", help="an engine; give it twice or more")
    parser.add_argument("--variant", choices=("shogi", "judkins", "minishogi"), help="the game (shogi)")
    parser.add_argument("--games", type=int, metavar="N", help="games per pairing, two for each opening (100)")
    parser.add_argument("--gauntlet", action="store_true", default=None, help="only the first engine meets the others")
    _add_time(parser.add_argument_group("time, per engine"))
    _add_judging(parser.add_argument_group("openings and judging"))
    _add_running(parser.add_argument_group("running"))


def _add_time(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--time", metavar="S+INC", help="main time and increment in seconds, such as 60+0.6")
    group.add_argument(
        "--byoyomi", type=int, metavar="MS", help="milliseconds a move once the main time is gone (1000)"
    )
    group.add_argument("--nodes", type=int, metavar="N", help="nodes a move")
    group.add_argument("--depth", type=int, metavar="N", help="depth of every search")
    group.add_argument(
        "--margin", type=int, metavar="MS", help="how far a clock may be overrun before it is lost (100)"
    )
    group.add_argument("--ponder", action="store_true", default=None, help="engines think on their opponent's time")


def _add_judging(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--openings", metavar="FILE", help="lines of USI moves or SFEN, in place of our balanced set")
    group.add_argument("--random-plies", type=int, metavar="N", help="random balanced openings of N moves instead")
    group.add_argument("--seed", type=int, metavar="N", help="order of the openings, and random ones (1)")
    group.add_argument("--rule", metavar="NAME", help="declaration rule, a value of EnteringKingRule")
    group.add_argument(
        "--max-moves",
        type=int,
        metavar="N",
        help="a draw after N moves, the opening's counted; 0 = no limit (320)",
    )
    group.add_argument("--resign", type=int, metavar="CP", help="end a game that both engines see decided by CP")
    group.add_argument("--resign-moves", type=int, metavar="N", help="... for N moves of each in a row (3)")
    group.add_argument("--sprt", metavar="E0,E1", help="stop when a test of E1 against E0 Elo is decided [,alpha,beta]")


def _add_running(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--concurrency", type=int, metavar="N", help="games at a time (1)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="play on a Dask cluster (tcp://HOST:PORT)")
    group.add_argument("--restart", action="store_true", default=None, help="start the engines anew for every game")
    group.add_argument("--start-timeout", type=float, metavar="S", help="seconds to be ready (300)")
    group.add_argument("--move-timeout", type=float, metavar="S", help="seconds for a move without a clock (600)")
    group.add_argument("--answer-timeout", type=float, metavar="S", help="seconds to answer stop (10)")
    group.add_argument("--log-all", action="store_true", default=None, help="keep the command logs of all games")
    group.add_argument("--out", metavar="DIR", help="folder of the results (match-DATE-TIME)")


def run(arguments: argparse.Namespace) -> int:
    """Play or resume the match; the exit code is 0 when all games were played or the test was decided."""
    given = given_by(vars(arguments))
    out, scheduler = (_place(given, key) for key in PLACES)
    settings = build_settings(given)
    folder = Path(out or datetime.datetime.now().strftime("match-%Y%m%d-%H%M%S"))
    with locked(folder):
        plan = Plan(settings, openings_of(settings, folder))
        check_openings(plan)
        store = Store(folder, settings.identity())
        backend = ClusterBackend(settings, scheduler) if scheduler else ThreadBackend(settings)
        match = Match(plan, store, backend)
        return play(match, Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH))


def settings_from(values: Mapping[str, Any]) -> MatchSettings:
    """Settings from the parsed command line and the TOML file it may name. Raises MatchError."""
    return build_settings({key: value for key, value in given_by(values).items() if key not in PLACES})


def given_by(values: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line gives, over what the TOML file does that it may name. Raises MatchError."""
    given = read_toml(Path(values["file"])) if values.get("file") else {}
    for key, value in values.items():
        if value is None or key in NOT_SETTINGS:
            continue
        given[key] = [parse_engine(text) for text in value] if key == "engine" else value
    return given


PLACES = ("out", "scheduler")  # where a match is played and kept; no settings of the match itself
NOT_SETTINGS = ("file", "run")


def _place(given: dict[str, Any], key: str) -> str | None:
    value = given.pop(key, None)
    if value is None or isinstance(value, str):
        return value
    raise MatchError(f"{key} needs a text in quotation marks, not {value!r}")


def play(match: Match, console: Console) -> int:
    """Run the match with a live display, and report."""
    done = len(match.store.results)
    console.print(
        f"{' - '.join(match.names)}: {match.plan.total} games, {controls_text(match.plan.settings)}, "
        f"results in {match.store.folder}",
        highlight=False,
        markup=False,
        emoji=False,
    )
    if done:
        console.print(f"resuming: {done} games are finished already")
    try:
        _run_live(match, console)
        complete = match.verdict is not None or len(match.store.results) >= match.plan.total
    except KeyboardInterrupt:
        console.print("stopped; the same command resumes the match")
        complete = False
    finally:
        write_summary(match, match.store.folder / "summary.json")
    console.print(final_report(match))
    return 0 if complete else 1


def controls_text(settings: MatchSettings) -> str:
    """How long the engines may think, one by one where they differ."""
    controls = {engine.name: str(settings.control_of(engine)) for engine in settings.engines}
    if len(set(controls.values())) == 1:
        return next(iter(controls.values()))
    return ", ".join(f"{name} {control}" for name, control in controls.items())


def _run_live(match: Match, console: Console) -> None:
    progress = progress_bar(match, console)
    bar = progress.task_ids[0]

    def show(game: GameResult) -> None:
        line = game_line(game, len(match.store.results), match.plan.total)
        console.print(line, highlight=False, soft_wrap=True, markup=False, emoji=False)
        write_summary(match, match.store.folder / "summary.json")
        progress.update(bar, completed=len(match.store.results))
        if console.is_terminal:
            live.update(live_report(match, progress))

    if not console.is_terminal:
        match.run(show)
        return
    with Live(live_report(match, progress), console=console, refresh_per_second=2, transient=True) as live:
        match.run(show)
