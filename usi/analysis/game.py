"""Thinking about every position of a game, from its end to its beginning.

Backwards, because the hash table then knows what became of each move before the position it was played in is searched:
the two searches that judge a move agree better, and a deep plan is seen as many moves earlier as the table remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.rules.board import Board
from engine.search.limits import Limits, Result
from usi.analysis.judge import BLACK, PlayerSummary, Standards, Verdict, find_turning_points, judge, summarise
from usi.analysis.score import DRAWN, MATED, WON, Score, score_of
from usi.client import EngineError
from usi.protocol import Position
from usi.thinker import Thinker

if TYPE_CHECKING:
    from usi.analysis.threat import Threat, ThreatFinder
    from usi.records import Game


@dataclass
class PlayedGame:
    """What there is to analyse: the main line of a game."""

    variant: str
    start: str | None  # SFEN, None = the variant's start position
    moves: list[str]  # USI
    names: tuple[str, str] = ("", "")  # black's and white's
    headers: dict[str, str] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)  # by ply: 0 = before the first move
    ending: str = ""  # how the record says the game ended
    source: str = ""  # the file's name
    record: Game | None = None  # what the main line was taken from


@dataclass
class Line:
    """One line of a position; the score is that of the side to move there."""

    score: Score
    moves: list[str]  # USI
    depth: int = 0
    seldepth: int = 0
    solved: bool = False  # found by the mate solver


@dataclass
class Study:
    """What was found out about one position."""

    ply: int
    sfen: str
    turn: int  # BLACK or WHITE to move
    score: Score | None = None  # None: the engine gave none
    lines: list[Line] = field(default_factory=list)
    depth: int = 0
    nodes: int = 0
    time_ms: int = 0
    in_check: bool = False
    threat: Threat | None = None
    ending: str | None = None  # why the game is over here, by the rules

    @property
    def best(self) -> str | None:
        """The best move."""
        return self.lines[0].moves[0] if self.lines and self.lines[0].moves else None


@dataclass
class GameAnalysis:
    """Everything that was found out about a game; what was not reached is None."""

    game: PlayedGame
    engine: str
    limits: Limits
    standards: Standards
    multipv: int
    studies: list[Study | None]  # one more than moves
    verdicts: list[Verdict | None] = field(default_factory=list)
    turning_points: list[int] = field(default_factory=list)  # indices of moves
    players: list[PlayerSummary] = field(default_factory=list)  # black, white
    sides: list[int] = field(default_factory=list)  # who made each move
    failure: str | None = None  # what went wrong with the engine; what was studied before is there

    @property
    def complete(self) -> bool:
        """True if every position was looked at."""
        return all(study is not None for study in self.studies)

    @property
    def first_ply(self) -> int | None:
        """The first position that was looked at."""
        return next((study.ply for study in self.studies if study is not None), None)

    @property
    def positions_searched(self) -> int:
        """How many positions were thought about; the end of a game needs no thought."""
        return sum(study is not None and study.ending is None for study in self.studies)

    def chances(self) -> list[float | None]:
        """Black's winning chances in every position, in percent."""
        return [self._chance(study) for study in self.studies]

    def _chance(self, study: Study | None) -> float | None:
        if study is None or study.score is None:
            return None
        percent = self.standards.percent(study.score)
        return percent if study.turn == BLACK else 100 - percent


OnStudy = Callable[[Study], None]


class GameAnalyser:
    """Thinks a game through. `finder` looks for threats and mates; None leaves that out."""

    def __init__(
        self,
        thinker: Thinker,
        limits: Limits,
        standards: Standards | None = None,
        multipv: int = 1,
        finder: ThreatFinder | None = None,
    ) -> None:
        self._thinker = thinker
        self._limits = limits
        self._standards = standards or Standards()
        self._multipv = multipv
        self._finder = finder

    def analyse(self, game: PlayedGame, on_study: OnStudy = lambda study: None) -> GameAnalysis:
        """Study every position and judge every move; Ctrl-C ends it and keeps the positions studied so far, and so
        does an engine that dies.

        Raises ValueError naming a move that is not legal, before anything is searched.
        """
        studies = blank_studies(game)
        found: list[Study | None] = [None] * len(studies)
        analysis = GameAnalysis(game, self._thinker.name, self._limits, self._standards, self._multipv, found)
        analysis.sides = [study.turn for study in studies[:-1]]
        self._thinker.new_game()
        try:
            for study in reversed(studies):
                if not self._study(game, study, found):
                    break
                found[study.ply] = study
                on_study(study)
        except KeyboardInterrupt:
            pass
        except EngineError as error:
            analysis.failure = str(error)
        pass_judgement(analysis)
        return analysis

    def _study(self, game: PlayedGame, study: Study, found: Sequence[Study | None]) -> bool:
        """Fill in what is to be known about a position. False if Ctrl-C cut the thinking short."""
        if study.ending is not None:
            return True
        position = Position(game.start, tuple(game.moves[: study.ply]))
        if not self._think(position, study, self._limits):
            return False
        self._ask_solver(study)
        if study.ply == len(game.moves):
            return True
        following = found[study.ply + 1]
        if following is not None and study.lines and study.lines[0].solved:
            _carry_on(study.lines[0], game.moves[study.ply], following)
        return self._think_again(game, position, study, following)

    def _think(self, position: Position, study: Study, limits: Limits) -> bool:
        result = self._thinker.think(position, limits, lambda info: None)
        if self._thinker.interrupted:
            return False
        take_result(study, result)
        return True

    def _ask_solver(self, study: Study) -> None:
        """The threat, and a mate that the search did not see or saw longer."""
        if self._finder is None:
            return
        study.threat = self._finder.threat(study.sfen)
        mate = self._finder.mate(study.sfen)
        if mate.status != "mate" or _mates_within(study.score, len(mate.line)):
            return
        line = Line(Score(mate=len(mate.line)), mate.line, solved=True)
        others = [other for other in study.lines if other.moves[:1] != mate.line[:1]]
        study.lines = [line, *others][: self._multipv]
        study.score = line.score

    def _think_again(self, game: PlayedGame, position: Position, study: Study, following: Study | None) -> bool:
        """Was the move of the game thought the best, and lost to a mate that only the solver found? Then another one
        is the best, or all lose.
        """
        played = game.moves[study.ply]
        if following is None or following.score is None or study.score is None or study.best != played:
            return True
        if not following.score.wins or study.score.mate is not None:
            return True
        lost = Line(following.score.one_ply_earlier(), [played, *following.lines[0].moves], solved=True)
        board = Board(study.sfen, game.variant, strict=False)
        others = [str(move) for move in board.legal_moves if str(move) != played]
        if others and not self._think(position, study, replace(self._limits, searchmoves=others)):
            return False
        if not others or study.best == played:  # an engine may not listen to `searchmoves`
            study.lines = [lost, *study.lines[1:]]
            study.score = lost.score
        return True


def _carry_on(mate: Line, played: str, following: Study) -> None:
    """A solved mate that was begun in the game holds one ply later too, even if the search did not see it there."""
    if mate.moves[0] != played or len(mate.moves) < 2 or following.score is None or following.score.mate is not None:
        return
    following.score = Score(mate=1 - len(mate.moves))
    following.lines = [Line(following.score, mate.moves[1:], solved=True)]


def _mates_within(score: Score | None, plies: int) -> bool:
    return score is not None and score.mate is not None and 0 < score.mate <= plies


def blank_studies(game: PlayedGame) -> list[Study]:
    """Every position of the game before any thinking; the last one may be the end of the game by the rules."""
    board = Board(game.start, game.variant, strict=False)
    studies = [_blank(board, 0)]
    for ply, move in enumerate(game.moves, 1):
        try:
            board.push_usi(move)
        except ValueError as error:
            raise ValueError(f"move {ply}: {error}") from error
        studies.append(_blank(board, ply))
    outcome = board.outcome()
    if outcome is not None:
        last = studies[-1]
        last.ending = outcome.termination.value
        last.score = DRAWN if outcome.winner is None else WON if outcome.winner == board.turn else MATED
    return studies


def _blank(board: Board, ply: int) -> Study:
    return Study(ply, board.sfen(), board.turn, in_check=board.is_check())


def take_result(study: Study, result: Result) -> None:
    """What a search said about the position."""
    study.lines = [
        Line(score, list(info.pv), info.depth, info.seldepth)
        for info in result.lines
        if info.pv and (score := score_of(info)) is not None
    ]
    study.score = study.lines[0].score if study.lines else score_of(result)
    study.depth, study.nodes, study.time_ms = result.depth, study.nodes + result.nodes, study.time_ms + result.time_ms
    if not study.lines and study.score is not None and result.bestmove not in ("resign", "win"):
        study.lines = [Line(study.score, [result.bestmove], result.depth)]


def pass_judgement(analysis: GameAnalysis) -> None:
    """Judge the moves whose positions before and after were studied, and sum up."""
    analysis.verdicts = [
        _judge_move(before, after, move, analysis.standards)
        for before, after, move in zip(analysis.studies[:-1], analysis.studies[1:], analysis.game.moves, strict=True)
    ]
    chances = analysis.chances()
    analysis.turning_points = find_turning_points(analysis.verdicts, analysis.sides, chances)
    analysis.players = summarise(analysis.verdicts, analysis.sides, chances)


def _judge_move(before: Study | None, after: Study | None, move: str, standards: Standards) -> Verdict | None:
    if before is None or after is None or before.score is None or after.score is None:
        return None
    return judge(before.score, after.score, before.best == move, standards)
