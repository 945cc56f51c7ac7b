"""Games of a match as game records, and their files: KIF and CSA beside the USI lines."""

from __future__ import annotations

from pathlib import Path

from engine.rules.variants import SHOGI, get_variant
from usi.match.schedule import parse_opening
from usi.match.store import GameResult
from usi.records import ends
from usi.records.files import write_games
from usi.records.game import BLACK, WHITE, Game, Node, RecordError

ENDS = {
    "checkmate": ends.MATE,
    "no legal move": ends.MATE,
    "resignation": ends.RESIGNATION,
    "fourfold repetition": ends.REPETITION,
    "try rule": ends.DECLARATION,
    "declaration": ends.DECLARATION,
    "wrong declaration": ends.ILLEGAL_MOVE,
    "illegal move": ends.ILLEGAL_MOVE,
    "move limit": ends.MAX_MOVES,
    "time": ends.TIME_UP,
}
FORMATS = {"kif": ".kifu", "csa": ".csa"}


def record_of(result: GameResult, variant: str) -> Game:
    """A finished game with names, clocks, scores (black's view, behind two signs as floodgate writes them), its end."""
    opening = parse_opening(result.opening)
    game = Game(opening.sfen or get_variant(variant).start_sfen, variant)
    if result.date:
        game.headers["開始日時"] = result.date[:19].replace("-", "/").replace("T", " ")
    game.headers |= {"先手": result.black, "後手": result.white}
    node = game.root
    for move in opening.moves:
        node = node.add(Node(move))
    first = len(opening.moves)
    for number, move in enumerate(result.moves):
        node = node.add(Node(move))
        if number < len(result.times):
            node.seconds = result.times[number] / 1000
        score = result.scores[number] if number < len(result.scores) else None
        if score is not None:
            node.comments.append(f"* {score if game.side_at(first + number) == BLACK else -score}")
    node.add(_end(result, game.side_at(first + len(result.moves))))
    return game


def _end(result: GameResult, side: int) -> Node:
    """The end, and in words what the formats have no sign for; `side` is to move."""
    winner = {"black": BLACK, "white": WHITE}.get(result.winner)
    word = ENDS.get(result.reason)
    if result.reason == "perpetual check" and winner is not None:
        word = ends.FOULS[1 - winner]
    if word is None or ends.winner(word, side) != winner:
        word = ends.INTERRUPTED  # a crash, a hang, a game that was adjudicated
    verdict = result.reason if winner is None else f"{result.winner} wins, {result.reason}"
    return Node(end=word, comments=[f"{verdict}: {result.detail}" if result.detail else verdict])


def write_records(result: GameResult, variant: str, folder: Path) -> list[str]:
    """Write the files of a game that are not there yet; gives what could not be written, and why."""
    complaints = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, ending in FORMATS.items():
        if name == "csa" and variant != SHOGI.name:  # it has one board only
            continue
        path = folder / f"{result.number:05d}{ending}"
        if path.exists():
            continue
        try:
            data = write_games([record_of(result, variant)], name)
        except (RecordError, ValueError) as error:
            complaints.append(f"{path.name}: {error}")
            continue
        part = path.with_suffix(".part")
        part.write_bytes(data)
        part.replace(path)
    return complaints
