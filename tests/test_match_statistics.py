"""Elo, error bars and the sequential test against figures that others published."""

from __future__ import annotations

import math

import pytest

from usi.match.statistics import Sprt, Tally, elo_of, estimate, expected_score, ratings, wilson_interval

# Pentanomial counts and the log-likelihood ratio that fishtest printed for them (pull requests of Stockfish).
FISHTEST = [
    ((-0.25, 1.25), (253, 4282, 17604, 4431, 286), 2.94),  # 3209
    ((0.25, 1.25), (58, 3302, 33130, 3518, 84), 2.97),  # 3209
    ((-0.25, 1.25), (115, 2196, 11328, 2317, 136), 2.94),  # 3331
    ((-0.5, 1.5), (665, 4806, 9333, 4893, 747), 2.95),  # 2920
    ((-1.0, 3.0), (424, 2948, 5832, 3045, 460), 2.94),  # 2493
]

# wins, losses, draws, pentanomial, Elo and half width of its interval, as fastchess printed them.
FASTCHESS = [
    ((78, 16, 206), (1, 10, 78, 48, 13), 72.85, 22.33),
    ((2718, 2330, 1756), (352, 579, 1264, 743, 464), 19.83, 6.77),
]


def tally_of(pairs: tuple[int, ...], wins: int = 0, losses: int = 0, draws: int = 0) -> Tally:
    return Tally(wins, draws, losses, list(pairs))


@pytest.mark.parametrize(("bounds", "pairs", "llr"), FISHTEST)
def test_likelihood_ratio_agrees_with_fishtest(bounds, pairs, llr):
    assert Sprt(*bounds).llr(tally_of(pairs)) == pytest.approx(llr, abs=0.011)


@pytest.mark.parametrize(("games", "pairs", "elo", "half"), FASTCHESS)
def test_elo_and_error_agree_with_fastchess(games, pairs, elo, half):
    result = estimate(tally_of(pairs, *games))
    assert result.elo == pytest.approx(elo, abs=0.01)
    assert (result.high - result.low) / 2 == pytest.approx(half, abs=0.05)


def test_bounds_of_the_test_for_five_percent_errors():
    test = Sprt(0, 5)
    assert test.upper == pytest.approx(2.944, abs=0.001)
    assert test.lower == pytest.approx(-2.944, abs=0.001)


def test_verdicts():
    test = Sprt(0, 20)
    assert test.verdict(tally_of((0, 2, 10, 30, 30))) == "H1"
    assert test.verdict(tally_of((30, 30, 10, 2, 0))) == "H0"
    assert test.verdict(tally_of((1, 2, 4, 2, 1))) is None
    assert test.llr(Tally()) == 0


def test_likelihood_ratio_changes_sign_when_the_players_change_places():
    pairs = (3, 14, 40, 22, 9)
    forward = Sprt(-7, 12).llr(tally_of(pairs))
    backward = Sprt(7, -12).llr(tally_of(pairs[::-1]))
    assert forward == pytest.approx(backward)
    assert forward == pytest.approx(-Sprt(12, -7).llr(tally_of(pairs)))


def test_score_and_elo_are_inverse():
    for elo in (-800, -35, 0, 1, 190):
        assert elo_of(expected_score(elo)) == pytest.approx(elo, abs=1e-9)
    assert elo_of(1) == math.inf
    assert elo_of(0) == -math.inf


def test_all_games_won_gives_a_finite_lower_bound():
    result = estimate(tally_of((0, 0, 0, 0, 10), wins=20))
    assert result.elo == result.high == math.inf
    assert result.low == pytest.approx(elo_of(20 / (20 + 1.959964**2)))
    assert result.los > 0.9999


def test_equal_pairs_still_leave_doubt():
    result = estimate(tally_of((0, 0, 5, 0, 0), wins=5, losses=5))
    assert result.elo == 0
    assert result.los == 0.5
    assert result.low < -100 < 100 < result.high


def test_no_games_say_nothing():
    result = estimate(Tally())
    assert (result.elo, result.los) == (0, 0.5)
    assert (result.low, result.high) == (-math.inf, math.inf)


def test_wilson_interval_of_a_known_case():
    low, high = wilson_interval(0.5, 100)
    assert (low, high) == (pytest.approx(0.4038, abs=1e-4), pytest.approx(0.5962, abs=1e-4))


def test_pairs_are_counted_by_their_points():
    tally = Tally()
    for first, second in ((0, 0), (0.5, 0), (1, 0), (0.5, 0.5), (1, 0.5), (1, 1)):
        tally.add_game(first)
        tally.add_game(second)
        tally.add_pair(first, second)
    assert tally.pairs == [1, 1, 2, 1, 1]
    assert (tally.wins, tally.draws, tally.losses) == (4, 4, 4)
    assert tally.score == 0.5


def test_ratings_of_three_players_recover_the_differences():
    def games(elo: float) -> Tally:
        wins = round(10_000 * expected_score(elo))
        return Tally(wins, 0, 10_000 - wins)

    result = ratings({("a", "b"): games(100), ("b", "c"): games(50), ("a", "c"): games(150)})
    assert result["a"] - result["b"] == pytest.approx(100, abs=1)
    assert result["b"] - result["c"] == pytest.approx(50, abs=1)
    assert sum(result.values()) == pytest.approx(0, abs=1e-6)


def test_ratings_stay_finite_for_a_player_who_never_lost():
    result = ratings({("a", "b"): Tally(10, 0, 0)})
    assert 300 < result["a"] - result["b"] < 1000
