"""Thinking time as arithmetic: nobody's clock is needed."""

from __future__ import annotations

import pytest

from engine.search.clock import Lateness, Plan, Progress, make_plan
from engine.search.limits import Limits


def plan(ply: int = 40, side: int = 0, **times: int) -> Plan:
    found = make_plan(Limits(**times), side, ply)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("limits", [Limits(), Limits(infinite=True, btime=100), Limits(depth=5), Limits(nodes=9)])
def test_no_clock_no_plan(limits: Limits) -> None:
    assert make_plan(limits, 0, 1) is None


def test_times_are_those_of_the_side_to_move() -> None:
    assert plan(side=0, btime=1000, wtime=600_000).maximum < 1000
    assert plan(side=1, btime=600_000, wtime=1000).maximum < 1000


@pytest.mark.parametrize("byoyomi", [50, 100, 500, 1000, 3000, 10_000, 60_000])
def test_byoyomi_alone_is_used_up_but_for_a_margin(byoyomi: int) -> None:
    found = plan(btime=0, wtime=0, byoyomi=byoyomi)
    assert found.optimum == found.maximum
    assert 0.3 * byoyomi <= found.maximum <= byoyomi - min(15, byoyomi // 3)
    assert found.maximum >= byoyomi - 1120 - 1


@pytest.mark.parametrize(
    "times",
    [
        {"btime": 0, "wtime": 0},
        {"btime": -5, "wtime": -5},
        {"btime": 0, "wtime": 0, "binc": 20, "winc": 20},
        {"btime": 1, "wtime": 1},
        {"byoyomi": 0, "btime": 3},
    ],
)
def test_no_time_at_all_still_gives_a_move_quickly(times: dict[str, int]) -> None:
    found = plan(**times)
    assert 0 < found.maximum <= 10


def test_sudden_death_with_small_increments_never_runs_out() -> None:
    """2 s + 0.02 s, every move as long as it may be and answered 12 ms late."""
    left = 2000.0
    for ply in range(1, 400, 2):
        found = plan(ply, btime=int(left), wtime=2000, binc=20, winc=20)
        left += 20 - found.optimum - 12
        assert left > 0


def test_the_longest_thinking_time_never_runs_out_either() -> None:
    left = 2000.0
    for ply in range(1, 400, 2):
        found = plan(ply, btime=int(left), wtime=2000, binc=20, winc=20)
        assert found.maximum < left
        left += 20 - found.maximum - 5
        assert left > 0


def test_the_increment_to_come_is_not_counted_as_time_in_hand() -> None:
    assert plan(btime=500, wtime=500, binc=10_000, winc=10_000).maximum < 500


def test_main_time_is_spread_over_the_game() -> None:
    opening = plan(ply=1, btime=600_000, wtime=600_000)
    ending = plan(ply=100, btime=600_000, wtime=600_000)
    assert 5_000 < opening.optimum < ending.optimum < 40_000
    assert opening.maximum > 3 * opening.optimum


@pytest.mark.parametrize("byoyomi", [300, 1000, 1500, 5000])
def test_what_is_left_of_a_period_is_not_saved_by_an_easy_move(byoyomi: int) -> None:
    found = plan(btime=0, wtime=0, byoyomi=byoyomi)
    assert found.rounded(0.3 * byoyomi) == found.maximum


def test_main_time_goes_faster_with_byoyomi_behind_it() -> None:
    with_byoyomi = plan(btime=300_000, wtime=300_000, byoyomi=10_000)
    assert with_byoyomi.optimum > 10_000
    assert with_byoyomi.maximum < 310_000


def test_slow_mover_scales_the_plan() -> None:
    assert plan(btime=600_000, slow_mover=200).optimum > 1.8 * plan(btime=600_000).optimum


def test_clocks_of_whole_seconds_are_used_to_the_end_of_the_second() -> None:
    found = plan(btime=600_000, wtime=600_000, binc=5000, winc=5000)
    assert found.whole_seconds
    assert found.rounded(1200) == 1880  # the second begun ends at 2000, the way to the server takes 120
    assert found.rounded(4100) == 4880
    assert found.rounded(4890) == 5880


def test_clocks_of_milliseconds_are_not_rounded() -> None:
    found = plan(btime=599_123, wtime=600_000)
    assert not found.whole_seconds
    assert found.rounded(1200) == 1200


def test_a_fixed_time_is_used_up() -> None:
    found = plan(movetime=1000)
    assert 950 <= found.optimum == found.maximum <= 1000


def test_restless_and_falling_roots_take_longer_than_calm_ones() -> None:
    calm, restless, falling = Progress(), Progress(), Progress()
    for depth in range(10):
        easy = calm.update(1, 50, 0, 0.95)
        hard = restless.update(depth % 2, 50, 2, 0.4)
        worse = falling.update(1, 50 - 40 * depth, 0, 0.95)
    assert easy < 0.6
    assert hard > 1.5
    assert worse > easy


def test_late_answers_make_the_next_ones_earlier_until_they_are_forgotten() -> None:
    lateness = Lateness()
    lateness.note(-20)
    assert lateness.margin == 0
    lateness.note(5)
    late = make_plan(Limits(byoyomi=100), 0, 1, lateness.margin)
    assert late is not None
    assert late.maximum == plan(byoyomi=100).maximum - 10  # twice as late is still in time
    for _ in range(300):
        lateness.note(-5)
    assert lateness.margin < 0.1
    lateness.note(-5, pause=30)  # no answer was late, but the search was held off: the next one may be
    assert lateness.margin == 30
