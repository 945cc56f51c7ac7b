"""`go mate` through the engine: answers, limits, memory shared with the search, and the game before the position.
Below it, the solver's share of an ordinary search.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.rules.board import Board
from engine.search.engine import MATE_SHARE, Engine
from engine.search.limits import Info, Limits, Result
from engine.search.root_mate import repeats_the_game

DATA = Path(__file__).parent / "data"
HARD = "1pG1B4/Gs+P6/pP7/n1ls5/3k5/nL4+r1b/1+p1p+R4/1S7/2N5K b SP2gn2l11p 1"  # Zuko 1: 69 plies
FOUR_GOLDS = "9/9/9/4k4/9/4P4/9/9/9 b 4G2r2b4s4n4l17p 1"
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 1"


def rows(name: str) -> list[str]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(hash_mb=16)


def ask(engine: Engine, sfen: str | None, limits: Limits, moves: list[str] | None = None) -> tuple[Result, list[Info]]:
    infos: list[Info] = []
    engine.set_position(sfen, moves or [])
    return engine.search(limits, infos.append), infos


def assert_mates(sfen: str, line: list[str]) -> None:
    board = Board(sfen)
    for number, move in enumerate(line):
        board.push_usi(move)
        assert number % 2 or board.is_check()
    assert board.is_checkmate()


@pytest.mark.parametrize("row", rows("mates.tsv")[::3] + rows("long_mates.tsv")[:3])
def test_the_answer_is_a_line_to_mate(engine: Engine, row: str) -> None:
    plies, sfen = row.split("\t")
    result, _ = ask(engine, sfen, Limits(mate=-1, nodes=2_000_000))
    assert isinstance(result.checkmate, list)
    assert len(result.checkmate) == result.mate == int(plies)
    assert result.bestmove == result.checkmate[0]
    assert_mates(sfen, result.checkmate)


@pytest.mark.parametrize("sfen", [*rows("no_mates.tsv")[:4], MATED, "9/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1", None])
def test_no_mate_is_said_when_it_is_proved(engine: Engine, sfen: str | None) -> None:
    assert ask(engine, sfen, Limits(mate=-1, nodes=500_000))[0].checkmate == "nomate"


@pytest.mark.parametrize("limits", [Limits(mate=1), Limits(mate=0), Limits(mate=-1, nodes=2000)])
def test_limits_that_are_too_small_give_timeout(engine: Engine, limits: Limits) -> None:
    engine.new_game()
    assert ask(engine, HARD, limits)[0].checkmate == "timeout"


def test_a_stop_ends_it_and_the_next_search_is_right(engine: Engine) -> None:
    engine.new_game()
    for delay in (0.0, 0.001, 0.02, 0.1):
        results: list[Result] = []
        done = threading.Event()

        def finish(result: Result, results: list[Result] = results, done: threading.Event = done) -> None:
            results.append(result)
            done.set()

        engine.set_position(HARD, [])
        engine.go(Limits(mate=-1), None, finish)
        done.wait(delay)
        engine.stop()
        assert done.wait(60)
        assert [result.checkmate for result in results] == ["timeout"]
    assert ask(engine, FOUR_GOLDS, Limits(mate=-1))[0].mate == 7


def test_a_first_mate_is_reported_before_the_shortest(engine: Engine) -> None:
    engine.new_game()
    sfen = rows("long_mates.tsv")[-1].split("\t")[1]
    result, infos = ask(engine, sfen, Limits(mate=-1, nodes=3_000_000))
    mates = [info.mate for info in infos if info.mate is not None]
    assert mates == sorted(mates, reverse=True)
    assert mates[-1] == result.mate
    assert all(info.pv for info in infos if info.mate is not None)


def test_the_memory_goes_to_the_solver_and_back(engine: Engine) -> None:
    engine.new_game()
    before, _ = ask(engine, None, Limits(depth=8))
    full = engine.hashfull()
    ask(engine, HARD, Limits(mate=-1, nodes=100_000))
    engine.new_game()
    after, _ = ask(engine, None, Limits(depth=8))
    assert full > 0
    assert (after.nodes, after.lines[0].pv) == (before.nodes, before.lines[0].pv)
    engine.set_option("hash_mb", 1)
    assert ask(engine, FOUR_GOLDS, Limits(mate=-1))[0].mate == 7
    engine.set_option("hash_mb", 16)
    assert ask(engine, FOUR_GOLDS, Limits(mate=-1))[0].mate == 7
    # without anything cleared between them, neither takes the other's entries for its own
    for _ in range(3):
        assert ask(engine, None, Limits(depth=5))[0].mate is None
        assert ask(engine, HARD, Limits(mate=-1, nodes=20_000))[0].checkmate == "timeout"
        assert ask(engine, FOUR_GOLDS, Limits(mate=-1))[0].mate == 7


@pytest.mark.parametrize("variant", ["judkins", "minishogi"])
def test_the_small_boards_have_mates_too(variant: str) -> None:
    engine = Engine(variant, hash_mb=4)
    rank = {"judkins": "6", "minishogi": "5"}[variant]
    left = int(rank) - 3
    sfen = "/".join([f"2k{left}", rank, f"2P{left}", *[rank] * (left)]) + " b G 1"
    assert ask(engine, sfen, Limits(mate=-1))[0].mate == 1


def test_a_line_that_repeats_the_game_for_the_fourth_time_is_seen(engine: Engine) -> None:
    sfen = "8k/9/9/9/9/9/7R1/9/9 b r2b4g4s4n4l18p 1"
    cycle = ["2g1g", "1a2a", "1g2g", "2a1a"]
    for cycles, line, repeats in [(3, cycle[:1], True), (2, cycle[:3], False), (2, cycle[:4], True), (0, cycle, False)]:
        engine.set_position(sfen, cycle * cycles)
        position = engine.workers[0].position
        key = int(position["ply"])
        assert repeats_the_game(position, engine.tables, engine.variant, line) == repeats
        assert int(position["ply"]) == key


# ---------------------------------------------------------------- beside the ordinary search


HIDDEN = "ln6l/3+B2k2/6pg1/p2G3p1/3PppP1p/PP7/2BGP1N1P/6K2/LN6L b RG4SN4Pr2p 135"  # seven plies, checks everywhere


@pytest.fixture
def settled(engine: Engine) -> Iterator[Engine]:
    engine.new_game()
    yield engine
    for name, value in (("mate_share", MATE_SHARE), ("multipv", 1), ("impasse_rule", "CSARule27"), ("max_moves", 0)):
        engine.set_option(name, value)


def test_a_mate_that_the_search_does_not_see_is_played(settled: Engine) -> None:
    limits = Limits(depth=20, nodes=30_000)
    settled.set_option("mate_share", 0)
    assert ask(settled, HIDDEN, limits)[0].mate is None
    settled.set_option("mate_share", MATE_SHARE)
    settled.new_game()
    result, infos = ask(settled, HIDDEN, limits)
    assert (result.mate, result.bestmove, result.ponder) == (7, result.lines[0].pv[0], result.lines[0].pv[1])
    assert_mates(HIDDEN, result.lines[0].pv)
    assert infos[-1].pv == result.lines[0].pv
    assert result.nodes <= 33_000


def test_the_rest_of_a_mate_is_known_at_once(settled: Engine) -> None:
    sfen = next(row for row in rows("long_mates.tsv") if row.startswith("17")).split("\t")[1]
    moves: list[str] = []
    while True:
        limits = Limits(nodes=1000 if moves else 1_000_000)
        result, _ = ask(settled, sfen, limits, moves)
        assert result.mate is not None and result.mate > 0
        moves.append(result.bestmove)
        board = Board(sfen)
        for move in moves:
            board.push_usi(move)
        if board.is_checkmate():
            return
        moves.append(str(sorted(map(str, board.legal_moves))[len(moves) % len(board.legal_moves)]))


def test_the_share_keeps_searches_the_same(settled: Engine) -> None:
    seen = []
    for _ in range(2):
        settled.new_game()
        _, infos = ask(settled, HIDDEN, Limits(depth=9))
        seen.append([(info.depth, info.nodes, info.score_cp, info.mate, info.pv) for info in infos if info.pv])
    assert seen[0] == seen[1]


def test_with_many_lines_the_mate_comes_first_and_no_move_twice(settled: Engine) -> None:
    settled.set_option("multipv", 4)
    result, _ = ask(settled, HIDDEN, Limits(depth=20, nodes=200_000))
    assert result.mate == 7
    assert [info.multipv for info in result.lines] == [1, 2, 3, 4]
    assert len({info.pv[0] for info in result.lines}) == 4


def test_mates_that_rules_may_spoil_are_left_to_the_search(settled: Engine) -> None:
    limits = Limits(depth=20, nodes=50_000)
    settled.set_option("impasse_rule", "TryRule")
    assert ask(settled, HIDDEN, limits)[0].mate is None
    settled.set_option("impasse_rule", "CSARule27")
    settled.set_option("max_moves", 138)  # the game is over before the mate
    settled.new_game()
    assert ask(settled, HIDDEN, limits)[0].mate is None
