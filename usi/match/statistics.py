"""What a list of game results says about strength: Elo with error bars, LOS, SPRT and ratings of many players.

Games are played in pairs (one opening, both colours), and the two games of a pair are not independent, so the
error bars and the test use the pentanomial counts: how many pairs brought 0, 1/2, 1, 3/2 and 2 points.

Sources: M. Van den Bergh, "The generalized sequential probability ratio test" (the notes behind fishtest);
R. Hunter (2004), "MM algorithms for generalized Bradley-Terry models".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

QUANTILE_95 = 1.959964
EMPTY_CELL = 1e-3  # games put into categories that never occurred, so that likelihoods stay finite


def expected_score(elo: float) -> float:
    """Score per game (0 to 1) that an advantage of `elo` brings."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float:
    """Elo advantage behind a score per game; infinite at 0 and 1."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return -400 * math.log10(1 / score - 1) + 0.0  # which makes 0.0 of -0.0


@dataclass
class Tally:
    """Results of one player against one other, from the first one's view."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pairs: list[int] = field(default_factory=lambda: [0] * 5)  # pentanomial: pairs with 0, 1/2, 1, 3/2, 2 points

    def add_pair(self, first: float, second: float) -> None:
        """Count one finished pair; the games themselves are counted by `add_game`."""
        self.pairs[round(2 * (first + second))] += 1

    def add_game(self, points: float) -> None:
        """Count one game: 1, 1/2 or 0 points."""
        if points == 1:
            self.wins += 1
        elif points == 0:
            self.losses += 1
        else:
            self.draws += 1

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def score(self) -> float:
        """Points per game, 0.5 without games."""
        return self.points / self.games if self.games else 0.5

    def standard_error(self) -> float:
        """Standard error of `score`; 0 when every pair (or game) ended alike, so that the spread says nothing."""
        if sum(self.pairs) * 2 == self.games:
            mean, variance = _moments([k / 4 for k in range(5)], self.pairs)
            return math.sqrt(variance / max(1, sum(self.pairs)))
        mean, variance = _moments([0, 0.5, 1], [self.losses, self.draws, self.wins])
        return math.sqrt(variance / max(1, self.games))


@dataclass(frozen=True)
class Estimate:
    """An Elo difference with its 95 % interval (any of the three may be infinite) and the likelihood of superiority."""

    elo: float
    low: float
    high: float
    los: float


def estimate(tally: Tally) -> Estimate:
    """Elo difference of the first player, from the pairs where all games are paired, else game by game."""
    score, error = tally.score, tally.standard_error()
    if tally.games == 0:
        return Estimate(0, -math.inf, math.inf, 0.5)
    if error > 0:
        low, high = score - QUANTILE_95 * error, score + QUANTILE_95 * error
        los = normal_cdf((score - 0.5) / error)
    else:
        low, high = wilson_interval(score, tally.games)
        decided = tally.wins + tally.losses
        los = normal_cdf((tally.wins - tally.losses) / math.sqrt(decided)) if decided else 0.5
    return Estimate(elo_of(score), elo_of(low), elo_of(high), los)


def wilson_interval(score: float, games: int) -> tuple[float, float]:
    """95 % interval of a score per game that also makes sense when all games ended alike."""
    z2 = QUANTILE_95**2
    centre = (score + z2 / (2 * games)) / (1 + z2 / games)
    half = QUANTILE_95 * math.sqrt(score * (1 - score) / games + z2 / (4 * games * games)) / (1 + z2 / games)
    low = 0.0 if score == 0 else centre - half
    high = 1.0 if score == 1 else centre + half
    return low, high


def normal_cdf(x: float) -> float:
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def _moments(values: Sequence[float], counts: Sequence[float]) -> tuple[float, float]:
    total = sum(counts)
    if total == 0:
        return 0.5, 0.0
    mean = sum(v * c for v, c in zip(values, counts, strict=True)) / total
    return mean, sum(c * (v - mean) ** 2 for v, c in zip(values, counts, strict=True)) / total


@dataclass(frozen=True)
class Sprt:
    """A sequential test of "the advantage is elo1" against "it is elo0" (logistic Elo)."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def lower(self) -> float:
        """Log-likelihood ratio at which elo0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """Log-likelihood ratio at which elo1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def llr(self, tally: Tally) -> float:
        """Log-likelihood ratio of the finished pairs, 0 without any."""
        if sum(tally.pairs) == 0:
            return 0.0
        counts = [c or EMPTY_CELL for c in tally.pairs]
        fit0 = _fit_mean(counts, expected_score(self.elo0))
        fit1 = _fit_mean(counts, expected_score(self.elo1))
        return sum(c * math.log(p1 / p0) for c, p0, p1 in zip(counts, fit0, fit1, strict=True))

    def verdict(self, tally: Tally) -> str | None:
        """ "H0" (elo0 accepted), "H1" (elo1 accepted) or None: play on."""
        llr = self.llr(tally)
        if llr >= self.upper:
            return "H1"
        return "H0" if llr <= self.lower else None


def _fit_mean(counts: Sequence[float], mean: float) -> list[float]:
    """The most likely distribution over 0, 1/4 .. 1 points per game that has this mean.

    It has the form p_i / (1 + t (x_i - mean)) with the one t that makes the mean right; the sum below falls
    with t between the two poles, so halving finds it.
    """
    total = sum(counts)
    shifted = [(c / total, k / 4 - mean) for k, c in enumerate(counts)]
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(100):
        t = (low + high) / 2
        if sum(p * d / (1 + t * d) for p, d in shifted) > 0:
            low = t
        else:
            high = t
    return [p / (1 + t * d) for p, d in shifted]


def ratings(tallies: Mapping[tuple[str, str], Tally]) -> dict[str, float]:
    """Elo of many players from all their games (Bradley-Terry, draws as half a win), average 0.

    One drawn game is added to every pairing, which keeps players without a loss (or a win) finite.
    """
    names = sorted({name for pair in tallies for name in pair})
    points = dict.fromkeys(names, 0.0)
    for (first, second), tally in tallies.items():
        points[first] += tally.points + 0.5
        points[second] += tally.games - tally.points + 0.5
    strength = dict.fromkeys(names, 1.0)
    for _ in range(1000):
        meetings = dict.fromkeys(names, 0.0)
        for (first, second), tally in tallies.items():
            share = (tally.games + 1) / (strength[first] + strength[second])
            meetings[first] += share
            meetings[second] += share
        updated = {name: points[name] / meetings[name] for name in names}
        change = max(abs(updated[name] / strength[name] - 1) for name in names)
        strength = updated
        if change < 1e-9:
            break
    elo = {name: 400 * math.log10(strength[name]) for name in names}
    average = sum(elo.values()) / max(1, len(elo))
    return {name: value - average for name, value in elo.items()}
