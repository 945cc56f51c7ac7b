"""Judging played moves: what they cost, which were bad, where the game turned, how exact each player was.

Losses are losses of winning chances, in percent: what a hundred centipawns matter depends on who is ahead by how much.
The marks' thresholds are those of ShogiHome's default settings for kanshu, gimonshu and akushu (slack, doubtful and bad
move). The accuracy of a move and of a game follow what lichess.org/page/accuracy describes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, harmonic_mean, pstdev

from usi.analysis.score import WIN_SCALE, Score

BLACK, WHITE = 0, 1
MARKS = ("inaccuracy", "mistake", "blunder")
LEADS_AT = 65.0  # percent: who has more is ahead; between that and its counterpart the game is even
LASTING = 3  # positions in a row that make a lead, unless the game ends: what is given back at once is none


@dataclass(frozen=True)
class Standards:
    """By what moves are judged; percent of winning chances lost."""

    inaccuracy: float = 5.0
    mistake: float = 10.0
    blunder: float = 20.0
    scale: float = WIN_SCALE  # centipawns at which the chances stand at e : 1

    def __post_init__(self) -> None:
        if not 0 < self.inaccuracy <= self.mistake <= self.blunder <= 100:
            raise ValueError("thresholds must grow from inaccuracy over mistake to blunder, above 0 and up to 100")
        if not 1 <= self.scale <= 100_000:
            raise ValueError(f"the scale of winning chances, {self.scale:g}, is not within 1 to 100000")

    def percent(self, score: Score) -> float:
        """Winning chances of the side to move."""
        return 100 * score.win_probability(self.scale)

    def mark(self, loss: float) -> str | None:
        """The name of a loss, None if it is small."""
        if loss >= self.blunder:
            return "blunder"
        if loss >= self.mistake:
            return "mistake"
        return "inaccuracy" if loss >= self.inaccuracy else None


@dataclass
class Verdict:
    """What a played move was worth; the view is that of the player who made it."""

    score: Score  # after the move, in plies from before it
    best: Score  # of the best move
    is_best: bool
    loss: float  # percent of winning chances
    loss_cp: int | None  # None where a mate is involved
    accuracy: float  # percent
    mark: str | None  # one of MARKS
    missed_mate: int | None  # plies of a mate that the player had and lost
    turning_point: bool = False


def judge(best: Score, after: Score, is_best: bool, standards: Standards) -> Verdict:
    """The verdict on a move. `best` is the score before it, `after` that of the position it led to, both to move.

    The best move has the score of the search that chose it; any other has what the search of the next position says,
    and never more than the best.
    """
    played = best if is_best else after.one_ply_earlier()
    loss = max(0.0, standards.percent(best) - standards.percent(played))
    if loss == 0.0 and not (best.wins and not played.wins):
        played = _not_above(played, best)
    loss_cp = max(0, best.cp - played.cp) if best.cp is not None and played.cp is not None else None
    missed = best.mate if best.wins and not played.wins else None
    return Verdict(played, best, is_best, loss, loss_cp, move_accuracy(loss), standards.mark(loss), missed)


def _not_above(played: Score, best: Score) -> Score:
    """Two searches differ a little: a move that is not the best one cannot be worth more than it."""
    if played.cp is not None and best.cp is not None:
        return Score(cp=min(played.cp, best.cp))
    return played


def move_accuracy(loss: float) -> float:
    """Accuracy of a move in percent, from the winning chances it lost (percent)."""
    return max(0.0, min(100.0, 103.1668 * math.exp(-0.04354 * loss) - 3.1669))


@dataclass
class PlayerSummary:
    """One player's game."""

    moves: int = 0  # judged
    accuracy: float | None = None  # percent
    mean_loss: float | None = None  # percent of winning chances a move
    mean_loss_cp: float | None = None  # of the moves without a mate in sight
    best_moves: int = 0  # that were the engine's choice
    marks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MARKS, 0))
    missed_mates: int = 0


def summarise(
    verdicts: Sequence[Verdict | None], sides: Sequence[int], chances: Sequence[float | None]
) -> list[PlayerSummary]:
    """Summaries of black and white. `chances`: black's, in percent, before every move and at the end."""
    weights = _weights(chances)
    summaries = []
    for side in (BLACK, WHITE):
        own = [
            (verdict, weights[index])
            for index, verdict in enumerate(verdicts)
            if verdict is not None and sides[index] == side
        ]
        summaries.append(_summary([verdict for verdict, _ in own], [weight for _, weight in own]))
    return summaries


def _summary(verdicts: list[Verdict], weights: list[float]) -> PlayerSummary:
    summary = PlayerSummary(moves=len(verdicts))
    if not verdicts:
        return summary
    accuracies = [verdict.accuracy for verdict in verdicts]
    weighted = sum(a * w for a, w in zip(accuracies, weights, strict=True)) / sum(weights)
    summary.accuracy = (weighted + harmonic_mean([max(a, 1e-3) for a in accuracies])) / 2
    summary.mean_loss = fmean(verdict.loss for verdict in verdicts)
    losses = [verdict.loss_cp for verdict in verdicts if verdict.loss_cp is not None]
    summary.mean_loss_cp = fmean(losses) if losses else None
    summary.best_moves = sum(verdict.is_best for verdict in verdicts)
    summary.missed_mates = sum(verdict.missed_mate is not None for verdict in verdicts)
    for verdict in verdicts:
        if verdict.mark:
            summary.marks[verdict.mark] += 1
    return summary


def _weights(chances: Sequence[float | None]) -> list[float]:
    """Of every move: moves count for more while the chances swing. The spread of the chances around the move."""
    count = len(chances) - 1
    size = max(2, min(8, count // 10))
    weights = []
    for index in range(count):
        first = max(0, index + 2 - size)
        known = [chance for chance in chances[first : first + size] if chance is not None]
        weights.append(max(0.5, min(12.0, pstdev(known))) if known else 0.5)
    return weights


def find_turning_points(
    verdicts: Sequence[Verdict | None], sides: Sequence[int], chances: Sequence[float | None]
) -> list[int]:
    """Indices of the moves that gave the lead away: between two leads of different sides, or from an even start to
    the first lead, the costliest move of the side that ended up behind. Marks them in the verdicts too.
    """
    points = []
    leader: int | None = None
    since = 0  # the position from which the move is sought
    for index in range(len(chances)):
        ahead = _leader(chances[index : index + LASTING])
        if ahead is None:
            continue
        if ahead != leader:
            guilty = [
                (verdict.loss, move)
                for move in range(since, index)
                if (verdict := verdicts[move]) is not None and sides[move] != ahead and verdict.mark
            ]
            if guilty:
                loss = max(guilty)[0]
                point = next(move for value, move in guilty if value == loss)
                points.append(point)
        leader, since = ahead, index
    for point in points:
        verdict = verdicts[point]
        assert verdict is not None
        verdict.turning_point = True
    return points


def _leader(chances: Sequence[float | None]) -> int | None:
    """Who is ahead in all of these positions, by black's chances."""
    leaders = {
        None if chance is None else BLACK if chance >= LEADS_AT else WHITE if chance <= 100 - LEADS_AT else None
        for chance in chances
    }
    return leaders.pop() if len(leaders) == 1 else None
