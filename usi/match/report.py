"""What people see of a match: a line per game, the table, and summary.json for programs."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from usi.match.referee import ANOMALIES
from usi.match.runner import Match
from usi.match.statistics import Estimate, Sprt, Tally, estimate, ratings
from usi.match.store import GameResult

RESULT_TEXT = {"black": "1-0", "white": "0-1", "draw": "1/2"}


def signed(value: float, digits: int) -> str:
    """A number with its sign; what rounds to zero has none."""
    text = f"{value:+.{digits}f}"
    return text if text.strip("+-0.") else text[1:]


def elo_text(value: Estimate) -> str:
    """ "+35 +-12", or the bound that is known where all games ended alike."""
    if math.isinf(value.elo):
        known = value.low if value.elo > 0 else value.high
        return f"{'>' if value.elo > 0 else '<'} {known:+.0f}"
    if math.isinf(value.low) or math.isinf(value.high):
        return signed(value.elo, 1)
    return f"{signed(value.elo, 1)} \u00b1{(value.high - value.low) / 2:.1f}"


def game_line(game: GameResult, done: int, total: int) -> str:
    """One finished game on one line."""
    plies = len(game.moves)
    reason = f"{game.reason}: {game.detail}" if game.detail else game.reason
    players = f"{game.black} - {game.white}  {RESULT_TEXT[game.winner]}"
    line = f"{done}/{total}  #{game.number} {players}  {plies} moves, {reason}"
    return f"{line}  [{game.log}]" if game.log else line


def results_table(match: Match) -> Table:
    """The pairings: results from the view of the first, Elo with its 95 % interval, LOS, pairs by their points."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("pairing", overflow="fold")  # the only column that a narrow terminal may break
    for name in ("games", "+", "=", "-", "score", "Elo", "LOS"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("pairs 0 .. 2", justify="right", no_wrap=True)
    for (first, second), tally in match.tallies().items():
        value = estimate(tally)
        table.add_row(
            Text(f"{first} - {second}"),  # a plain string would be read as markup: [bold]
            str(tally.games),
            str(tally.wins),
            str(tally.draws),
            str(tally.losses),
            f"{100 * tally.score:.1f} %",
            elo_text(value),
            f"{100 * value.los:.1f} %",
            ", ".join(str(count) for count in tally.pairs),
        )
    return table


def ratings_table(match: Match) -> Table | None:
    """All engines by strength; None when there are only two."""
    if len(match.names) < 3 or not match.store.results:
        return None
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("engine")
    for name in ("Elo", "games", "points"):
        table.add_column(name, justify="right")
    points = points_of(match)
    games = Counter(name for game in match.store.results.values() for name in (game.black, game.white))
    for name, elo in sorted(ratings(match.tallies()).items(), key=lambda item: -item[1]):
        table.add_row(Text(name), signed(elo, 0), str(games[name]), f"{points[name]:g}")
    return table


def points_of(match: Match) -> dict[str, float]:
    """Points of every engine."""
    points = dict.fromkeys(match.names, 0.0)
    for (first, second), tally in match.tallies().items():
        points[first] += tally.points
        points[second] += tally.games - tally.points
    return points


def sprt_text(sprt: Sprt, tally: Tally, verdict: str | None) -> str:
    """The state of the sequential test on one line."""
    text = f"SPRT [{sprt.elo0:g}, {sprt.elo1:g}]: LLR {sprt.llr(tally):.2f} ({sprt.lower:.2f}, {sprt.upper:.2f})"
    if verdict == "H1":
        return f"{text}: at least {sprt.elo1:g} Elo accepted"
    if verdict == "H0":
        return f"{text}: {sprt.elo0:g} Elo or less accepted"
    return f"{text}: undecided"


def endings_text(games: Iterable[GameResult]) -> str:
    """How the games ended, and how the colours fared."""
    games = list(games)
    reasons = Counter(game.reason for game in games)
    colours = Counter(game.winner for game in games)
    ends = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    return f"black {colours['black']}, white {colours['white']}, drawn {colours['draw']}; {ends}"


def faults(games: Iterable[GameResult]) -> dict[str, Counter[str]]:
    """By engine: how often it lost by something that no sound engine does."""
    out: dict[str, Counter[str]] = {}
    for game in games:
        if game.reason in ANOMALIES and game.winner != "draw":
            culprit = game.white if game.winner == "black" else game.black
            out.setdefault(culprit, Counter())[game.reason] += 1
    return out


def final_report(match: Match) -> RenderableType:
    """Everything there is to say at the end."""
    games = match.store.results.values()
    parts: list[RenderableType] = [results_table(match)]
    table = ratings_table(match)
    if table is not None:
        parts += [Text(), table]
    parts += [Text(), Text(endings_text(games))]
    for name, counter in faults(games).items():
        what = ", ".join(f"{reason} {count}" for reason, count in counter.items())
        parts.append(Text(f"{name} at fault: {what}", style="bold red"))
    return Group(*parts, *_sprt_line(match))


def live_report(match: Match, progress: Progress) -> RenderableType:
    """What is shown while the games run."""
    return Group(results_table(match), *_sprt_line(match), progress)


def _sprt_line(match: Match) -> list[Text]:
    sprt = match.plan.settings.sprt
    if sprt is None:
        return []
    tally = next(iter(match.tallies().values()), Tally())
    return [Text(sprt_text(sprt, tally, match.verdict), style="bold")]


def summary(match: Match) -> dict[str, Any]:
    """The same for programs."""
    settings = match.plan.settings
    games = list(match.store.results.values())
    out: dict[str, Any] = {
        "variant": settings.variant,
        "games": len(games),
        "planned": match.plan.total,
        "engines": {
            engine.name: {
                "command": engine.command,
                "options": dict(engine.options),
                "control": str(settings.control_of(engine)),
            }
            for engine in settings.engines
        },
        "pairings": [_pairing(first, second, tally) for (first, second), tally in match.tallies().items()],
        "endings": dict(Counter(game.reason for game in games)),
        "winners": dict(Counter(game.winner for game in games)),
        "faults": {name: dict(counter) for name, counter in faults(games).items()},
        "logs": [game.log for game in games if game.log],
    }
    if len(match.names) > 2 and games:
        out["ratings"] = {name: round(elo, 1) + 0.0 for name, elo in ratings(match.tallies()).items()}
    if settings.sprt is not None:
        tally = next(iter(match.tallies().values()), Tally())
        sprt = settings.sprt
        out["sprt"] = {
            "elo0": sprt.elo0,
            "elo1": sprt.elo1,
            "llr": sprt.llr(tally),
            "lower": sprt.lower,
            "upper": sprt.upper,
            "verdict": match.verdict,
        }
    return out


def _pairing(first: str, second: str, tally: Tally) -> Mapping[str, Any]:
    value = estimate(tally)
    return {
        "first": first,
        "second": second,
        "games": tally.games,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "pentanomial": tally.pairs,
        "score": tally.score,
        "elo": _finite(value.elo),
        "elo_low": _finite(value.low),
        "elo_high": _finite(value.high),
        "los": value.los,
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return None if math.isinf(value) else value


def write_summary(match: Match, path: Path) -> None:
    """summary.json, replaced as a whole so that a kill never leaves half of one."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(summary(match), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def progress_bar(match: Match, console: Console) -> Progress:
    """A bar over all games of the match, those of earlier runs included."""
    progress = Progress(
        TextColumn("games"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    progress.add_task("games", total=match.plan.total, completed=len(match.store.results))
    return progress
