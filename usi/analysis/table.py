"""A game analysis in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from usi.analysis.game import GameAnalysis, Study
from usi.analysis.judge import BLACK, MARKS, Verdict
from usi.analysis.names import Namer
from usi.analysis.record import black_view
from usi.analysis.words import threat_words

STYLES = {"inaccuracy": "yellow", "mistake": "dark_orange", "blunder": "bold red"}
SIGNS = {"inaccuracy": "?!", "mistake": "?", "blunder": "??"}
LINE_MOVES = 6  # of a best line that are shown


def print_game(analysis: GameAnalysis, notation: str, console: Console) -> None:
    """The moves, then the summary."""
    console.print(moves_table(analysis, notation))
    console.print(players_table(analysis))
    for text in turning_texts(analysis, notation):
        console.print(Text(text))


def moves_table(analysis: GameAnalysis, notation: str) -> Table:
    """A row for every judged move: scores in black's view, the loss in winning chances and centipawns."""
    game = analysis.game
    namer = Namer(game.variant, game.start, game.moves, notation)
    table = Table(box=None, pad_edge=False, header_style="bold", caption="scores: black's view", caption_justify="left")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("move", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("loss", justify="right", no_wrap=True)
    table.add_column("cp", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("best line, and what it is worth", overflow="ellipsis", no_wrap=True)
    table.add_column("remarks", overflow="fold")
    for index, verdict in enumerate(analysis.verdicts):
        before, after = analysis.studies[index], analysis.studies[index + 1]
        if verdict is None or before is None or after is None:
            continue
        name = namer.line(index, [game.moves[index]])[0]
        row = (str(index + 1), name, black_view(after), *_loss_cells(verdict))
        better = "" if verdict.is_best else _best_line(before, namer)
        remarks = "; ".join(remarks_on(verdict, after, namer))
        cells = (Text(cell) for cell in (*row, better, remarks))  # no str: rich would read [b] as markup
        table.add_row(*cells, style=STYLES.get(verdict.mark or "", ""))
    return table


def _loss_cells(verdict: Verdict) -> tuple[str, str, str]:
    if verdict.is_best:
        return "", "", "best"
    loss_cp = "" if verdict.loss_cp is None else str(verdict.loss_cp)
    return f"{verdict.loss:.1f} %", loss_cp, SIGNS.get(verdict.mark or "", "")


def _best_line(study: Study, namer: Namer) -> str:
    if not study.lines:
        return ""
    line = study.lines[0]
    names = namer.line(study.ply, line.moves[:LINE_MOVES])
    return f"{' '.join(names)} ({line.score.text(1 if study.turn == BLACK else -1)})"


def remarks_on(verdict: Verdict, after: Study, namer: Namer) -> list[str]:
    """What else there is to say about a move."""
    remarks = []
    if verdict.missed_mate is not None:
        remarks.append(f"missed mate in {verdict.missed_mate}")
    if verdict.turning_point:
        remarks.append("turning point")
    if after.threat is not None and after.threat.line:
        remarks.append(threat_words(after.threat, 1 - after.turn, namer.line(after.ply, after.threat.line, True)))
    if after.ending is not None:
        remarks.append(after.ending)
    return remarks


def players_table(analysis: GameAnalysis) -> Table:
    """Accuracy and marks of both players."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("player")
    for name in ("moves", "accuracy", "mean loss", "mean cp", "best", *SIGNS.values(), "mates missed"):
        table.add_column(name, justify="right", no_wrap=True)
    for side, summary in enumerate(analysis.players):
        sign = "▲" if side == BLACK else "△"
        table.add_row(
            Text(f"{sign} {analysis.game.names[side] or ('black' if side == BLACK else 'white')}"),
            str(summary.moves),
            _percent(summary.accuracy),
            _percent(summary.mean_loss),
            "" if summary.mean_loss_cp is None else f"{summary.mean_loss_cp:.0f}",
            str(summary.best_moves),
            *(str(summary.marks[mark]) for mark in MARKS),
            str(summary.missed_mates),
        )
    return table


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %"


def turning_texts(analysis: GameAnalysis, notation: str) -> list[str]:
    """A sentence for every turning point."""
    game, chances = analysis.game, analysis.chances()
    namer = Namer(game.variant, game.start, game.moves, notation)
    texts = []
    for index in sorted(analysis.turning_points):
        before, after = chances[index], chances[index + 1]
        if before is None or after is None:
            continue
        name = namer.line(index, [game.moves[index]])[0]
        texts.append(f"turning point: {index + 1} {name}, black's chances {before:.0f} % to {after:.0f} %")
    return texts
