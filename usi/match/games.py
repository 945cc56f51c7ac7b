"""The games of a match as records that people open in their GUI: one KIF and one CSA file a game."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.rules.variants import SHOGI
from usi.records import Game, Node, ends, write_games
from usi.records.csa import PLAYERS
from usi.records.handicaps import is_handicap
from usi.records.usi_lines import read as read_lines

if TYPE_CHECKING:
    from usi.match.store import GameResult

SCORE_COMMENTS = {"kif": "*評価値={}", "csa": "* {}"}  # what GUIs read scores from; both are black's view
ENDS = {
    "checkmate": ends.MATE,
    "no legal move": ends.MATE,
    "fourfold repetition": ends.REPETITION,
    "try rule": ends.DECLARATION,
    "declaration": ends.DECLARATION,
    "wrong declaration": ends.ILLEGAL_MOVE,
    "illegal move": ends.ILLEGAL_MOVE,
    "move limit": ends.MAX_MOVES,
    "resignation": ends.RESIGNATION,
    "adjudication": ends.RESIGNATION,
    "time": ends.TIME_UP,
}
SIDES = {"black": 0, "white": 1}


def write_records(folder: Path, results: Iterable[GameResult], variant: str, again: bool = True) -> None:
    """Write the records of games; again=False leaves those that are there already. CSA has no small boards."""
    folder.mkdir(exist_ok=True)
    for result in results:
        for format, ending in (("kif", ".kifu"), ("csa", ".csa")):
            path = folder / f"{result.number:05}{ending}"
            if (path.exists() and not again) or (format == "csa" and variant != SHOGI.name):
                continue
            temporary = path.with_suffix(".tmp")  # a kill never leaves half of one
            temporary.write_bytes(write_games([record_of(result, variant, format)], format))
            temporary.replace(path)


def record_of(result: GameResult, variant: str = "shogi", format: str = "kif") -> Game:
    """A game with clocks, scores as comments, and its end. Raises RecordError if a move is illegal."""
    game = read_lines(result.position, variant)[0]
    game.headers = _headers(result, is_handicap(game.start))
    line = game.main_line()
    opening = len(line) - len(result.moves)
    for index, node in enumerate(line[opening:]):
        if index < len(result.times):
            node.seconds = result.times[index] / 1000
        score = result.scores[index] if index < len(result.scores) else None
        if score is not None:
            black = score if game.side_at(opening + index) == 0 else -score
            node.comments.append(SCORE_COMMENTS[format].format(black))
    (line[-1] if line else game.root).add(_end(result, game.side_at(len(line))))
    return game


def _headers(result: GameResult, handicap: bool) -> dict[str, str]:
    headers = {"棋戦": f"narikin match, game {result.number}"}
    if result.date:
        start = datetime.datetime.fromisoformat(result.date)
        headers["開始日時"] = start.strftime("%Y/%m/%d %H:%M:%S")
    headers[PLAYERS["N+"][handicap]] = result.black
    headers[PLAYERS["N-"][handicap]] = result.white
    return headers


def _end(result: GameResult, side: int) -> Node:
    """The end, the side to move being `side`. What no format has a word for is an interruption with a comment."""
    word = ENDS.get(result.reason, ends.INTERRUPTED)
    winner = SIDES.get(result.winner)
    if result.reason == "perpetual check" and winner is not None:
        word = ends.ILLEGAL_MOVE if winner != side else ends.FOULS[1 - winner]
    if ends.winner(word, side) != winner:
        word = ends.INTERRUPTED
    outcome = "draw" if winner is None else f"{(result.black, result.white)[winner]} wins"
    reason = f"{result.reason}: {result.detail}" if result.detail else result.reason
    return Node(end=word, comments=[f"{outcome} ({reason})"])
