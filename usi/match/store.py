"""The results on disk: one append-only file that survives a kill, and what is written for people beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from usi.match.config import MatchError
from usi.match.games import write_records
from usi.match.statistics import Tally

Value = TypeVar("Value")
POINTS_OF_BLACK = {"black": 1.0, "draw": 0.5, "white": 0.0}


@dataclass
class GameResult:
    """One finished game."""

    number: int
    black: str
    white: str
    opening: str  # arguments of a USI `position` line
    moves: list[str]  # after the opening
    winner: str  # "black", "white" or "draw"
    reason: str  # one of referee.REASONS
    detail: str = ""
    scores: list[int | None] = field(default_factory=list)  # per move of `moves`: centipawns, the mover's view
    times: list[int] = field(default_factory=list)  # per move of `moves`: milliseconds
    log: str | None = None  # name of the file with every line both engines wrote and read
    date: str = ""  # start of the game, ISO 8601

    @property
    def position(self) -> str:
        """The whole game as the arguments of a USI `position` line."""
        if not self.moves:
            return self.opening
        joint = " " if " moves " in self.opening else " moves "
        return self.opening + joint + " ".join(self.moves)


class Store:
    """The folder of one match. `results` holds all finished games by number, those of earlier runs too."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        self.results: dict[int, GameResult] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        if self.path.exists() and self.path.stat().st_size:
            self._load(identity)
        else:
            self._append({"match": identity})
        self._variant = str(identity.get("variant", "shogi"))
        self._games = folder / "games.usi"
        self._games.write_text("".join(f"{game.position}\n" for game in self.results.values()), encoding="utf-8")
        write_records(folder / "games", self.results.values(), self._variant, again=False)

    def add(self, game: GameResult) -> None:
        """Keep a finished game; it is on disk when this returns."""
        self.results[game.number] = game
        self._append(asdict(game))
        with self._games.open("a", encoding="utf-8") as file:
            file.write(f"{game.position}\n")
        write_records(self.folder / "games", [game], self._variant)

    def _load(self, identity: dict[str, Any]) -> None:
        """Read what an earlier run left; a last line that was cut by a kill is dropped."""
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        lines = whole.split(b"\n")[:-1]  # at no other end of line: a detail may hold U+2028
        if len(lines) < 2:  # no game was finished: nothing ties the folder to the settings of before
            self.path.unlink()
            self._append({"match": identity})
            return
        before = self._read(1, lines[0], lambda value: dict(value["match"]))
        now = json.loads(json.dumps(identity))
        if before != now:
            differing = sorted(key for key in set(before) | set(now) if before.get(key) != now.get(key))
            raise MatchError(
                f"{self.folder} holds another match ({', '.join(differing)} differ); choose another --out folder"
            )
        for number, line in enumerate(lines[1:], 2):
            game = self._read(number, line, _game_from)
            self.results[game.number] = game

    def _read(self, number: int, line: bytes, read: Callable[[Any], Value]) -> Value:
        try:
            return read(json.loads(line))
        except (ValueError, TypeError, KeyError):
            raise MatchError(
                f"{self.path}, line {number}: damaged; delete the line (its game is played again) or mend it"
                if number > 1
                else f"{self.path}, line 1: damaged, it held the settings of the match; choose another --out folder"
            ) from None

    def _append(self, value: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def write_log(self, name: str, lines: Iterable[str]) -> str:
        """Write the command log of one game; gives its name relative to the match's folder."""
        folder = self.folder / "logs"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return f"logs/{name}"


def _game_from(value: Any) -> GameResult:
    game = GameResult(**value)
    texts = (game.black, game.white, game.opening, game.reason, game.detail, game.date, *game.moves)
    if game.winner not in POINTS_OF_BLACK or not isinstance(game.number, int) or not all(map(_is_text, texts)):
        raise ValueError
    return game


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def tallies(results: Iterable[GameResult], names: list[str]) -> dict[tuple[str, str], Tally]:
    """Results of every pairing that has met, from the view of the engine named first in `names`."""
    order = {name: index for index, name in enumerate(names)}
    out: dict[tuple[str, str], Tally] = {}
    halves: dict[int, float] = {}
    for game in results:
        first, second = sorted((game.black, game.white), key=order.__getitem__)
        points = POINTS_OF_BLACK[game.winner]
        if first == game.white:
            points = 1 - points
        tally = out.setdefault((first, second), Tally())
        tally.add_game(points)
        pair = game.number // 2
        if pair in halves:
            tally.add_pair(halves.pop(pair), points)
        else:
            halves[pair] = points
    return out
