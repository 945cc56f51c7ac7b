"""The search as a whole: consistent, legal, exact where it claims to be, and quick to stop."""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import Board
from engine.native.clock import Clock
from engine.search.engine import Engine, PositionError
from engine.search.limits import Info, Limits, Result
from engine.search.workers import Worker

DATA = Path(__file__).with_name("data")
MIDDLE_GAME = "l4S2l/4g1gs1/5p1p1/pr2N1pkp/4Gn3/PP3PPPP/2GPP4/1K7/L3r+s2L w BS2N5Pb 1"
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 1"
NO_KING_OF_ITS_OWN = "4k4/9/4P4/9/9/9/9/9/9 b B2G2Srb2g2s4n4l17p 1"


@pytest.fixture(scope="module")
def shared_engine() -> Engine:
    return Engine(hash_mb=16)


@pytest.fixture
def engine(shared_engine: Engine) -> Iterator[Engine]:
    shared_engine.new_game()
    yield shared_engine
    for name, value in (("threads", 1), ("multipv", 1), ("max_moves", 0), ("impasse_rule", "CSARule27")):
        shared_engine.set_option(name, value)
    shared_engine.set_option("draw_value_black", 0)
    shared_engine.set_option("draw_value_white", 0)
    if shared_engine.variant.name != "shogi":
        shared_engine.set_option("variant", "shogi")


def rows(name: str) -> list[str]:
    return [line for line in (DATA / name).read_text().splitlines() if not line.startswith("#")]


def run(engine: Engine, sfen: str | None, limits: Limits, moves: str = "") -> tuple[Result, list[Info]]:
    engine.set_position(sfen, moves.split())
    infos: list[Info] = []
    result = engine.search(limits, infos.append)
    return result, [info for info in infos if info.currmove is None]  # without reports of progress


def after(sfen: str | None, line: list[str], variant: str = "shogi") -> Board:
    """The position at the end of a line; raises if a move is not legal."""
    board = Board(sfen, variant) if sfen else Board(variant=variant)
    for move in line:
        board.push_usi(move)
    return board


# ---------------------------------------------------------------- consistency


@pytest.mark.parametrize("sfen", [None, MIDDLE_GAME])
def test_the_same_search_twice_gives_the_same_lines_and_nodes(engine: Engine, sfen: str | None) -> None:
    seen = []
    for _ in range(2):
        engine.new_game()
        _, infos = run(engine, sfen, Limits(depth=9))
        seen.append([(info.depth, info.nodes, info.score_cp, info.pv) for info in infos])
    assert seen[0] == seen[1]


def test_every_reported_line_is_legal_in_games_against_itself(engine: Engine) -> None:
    chooser = random.Random(5)
    nodes = 0
    while nodes < 100_000:
        board = Board()
        for _ in range(chooser.randrange(40)):
            if board.legal_moves:
                board.push(chooser.choice(list(board.legal_moves)))
        start = board.sfen()
        moves: list[str] = []
        while len(moves) < 40 and board.outcome() is None:
            result, infos = run(engine, start, Limits(nodes=1500), " ".join(moves))
            nodes += result.nodes
            for info in infos:
                after(board.sfen(), info.pv)
            if result.bestmove in ("win", "resign"):
                break
            moves.append(result.bestmove)
            board.push_usi(result.bestmove)


@pytest.mark.parametrize("variant", ["judkins", "minishogi"])
def test_small_boards_are_played_to_the_end(engine: Engine, variant: str) -> None:
    engine.set_option("variant", variant)
    board = Board(variant=variant)
    moves: list[str] = []
    while board.outcome(max_moves=120) is None:
        result, infos = run(engine, None, Limits(nodes=800), " ".join(moves))
        after(board.sfen(), infos[-1].pv, variant)
        if result.bestmove == "win":
            break
        moves.append(result.bestmove)
        board.push_usi(result.bestmove)
    assert len(moves) > 10


def test_one_megabyte_of_table_is_enough_to_go_on(engine: Engine) -> None:
    engine.set_option("hash_mb", 1)
    try:
        result, infos = run(engine, MIDDLE_GAME, Limits(nodes=150_000))
    finally:
        engine.set_option("hash_mb", 16)
    assert result.nodes == 150_000
    assert infos[-1].hashfull > 500
    after(MIDDLE_GAME, result.lines[0].pv)


def test_a_node_limit_is_kept_exactly(engine: Engine) -> None:
    assert run(engine, None, Limits(nodes=12_345))[0].nodes == 12_345


def test_a_table_too_large_for_the_machine_is_cut_down(engine: Engine) -> None:
    note = engine.set_option("hash_mb", 1 << 40)
    engine.set_option("hash_mb", 16)
    assert note is not None
    assert "cut down" in note


# ---------------------------------------------------------------- stopping


def stop_at_once(engine: Engine, limits: Limits, pause: Callable[[], None]) -> Result:
    done = threading.Event()
    results: list[Result] = []
    engine.go(limits, None, lambda result: (results.append(result), done.set())[0])
    pause()
    engine.stop()
    assert done.wait(20)
    assert len(results) == 1
    return results[0]


def test_a_search_without_any_time_answers_with_what_is_known(engine: Engine) -> None:
    result, _ = run(engine, None, Limits(depth=8))
    again, _ = run(engine, None, Limits(nodes=1))
    assert again.bestmove == result.bestmove


@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_stop_right_after_go_always_gives_a_legal_move(engine: Engine, times: int) -> None:
    legal = {str(move) for move in Board().legal_moves}
    engine.set_position(None, [])
    waiting = threading.Event()
    for number in range(times):
        result = stop_at_once(engine, Limits(infinite=True), lambda n=number: waiting.wait(0.001 * (n % 2)) and None)
        assert result.bestmove in legal


def test_a_search_stopped_within_its_first_iteration_has_looked_at_every_move(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The knight takes a rook for nothing, which is not the first move of the list."""
    search_depth = Worker.search_depth
    calls: list[int] = []

    def stopped_at_first(worker: Worker, *arguments: Any) -> bool:
        calls.append(arguments[0])
        if len(calls) > 1:
            return search_depth(worker, *arguments)
        engine.raise_stop_flag()
        return False

    monkeypatch.setattr(Worker, "search_depth", stopped_at_first)
    result, infos = run(engine, "4k4/9/9/2r6/9/3N5/9/9/4K4 b 2b 1", Limits(depth=5))
    assert calls == [1, 1]
    assert result.bestmove == "6f7d"
    assert [info.pv[0] for info in infos] == ["6f7d"]


def test_a_search_that_is_held_off_ends_that_much_sooner_and_remembers_it() -> None:
    moments: list[int] = []

    def tell(words: int, _: int) -> int:
        """A clock of milliseconds: 20 more at every look, and once six seconds."""
        moments.append((moments[-1] if moments else 1) + (6000 if len(moments) == 100 else 20))
        ctypes.cast(words, ctypes.POINTER(ctypes.c_int64 * 2))[0][:] = [0, moments[-1]]
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(tell)
    engine = Engine("shogi", 1, 16)
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    engine._clock = Clock(address, -1, 1, 1000, function)
    engine.shared["clock"], engine.shared["clock_id"], engine.shared["clock_unit"] = address, -1, 1
    engine.search(Limits(movetime=20_000))
    deadline = int(engine.shared["deadline"])
    assert deadline - 6020 <= moments[-1] < deadline - 5900
    assert engine.lateness.margin > 100


def test_an_infinite_search_waits_for_stop_even_when_there_is_nothing_to_do(engine: Engine) -> None:
    engine.set_position(MATED, [])
    done = threading.Event()
    engine.go(Limits(infinite=True), None, lambda result: done.set())
    assert not done.wait(0.1)
    engine.stop()
    assert done.wait(20)


def test_pondering_ends_by_ponderhit_and_not_before(engine: Engine) -> None:
    engine.set_position(None, ["7g7f"])
    done = threading.Event()
    engine.go(Limits(ponder=True, btime=0, wtime=0, byoyomi=100), None, lambda result: done.set())
    assert not done.wait(0.2)
    engine.ponderhit(None)
    assert done.wait(20)


def test_ponderhit_may_bring_the_times(engine: Engine) -> None:
    engine.set_position(None, ["7g7f"])
    done = threading.Event()
    engine.go(Limits(ponder=True), None, lambda result: done.set())
    engine.ponderhit(Limits(btime=0, wtime=0, byoyomi=60))
    assert done.wait(20)


def test_only_one_search_at_a_time(engine: Engine) -> None:
    engine.set_position(None, [])
    done = threading.Event()
    engine.go(Limits(infinite=True), None, lambda result: done.set())
    with pytest.raises(RuntimeError):
        engine.go(Limits(depth=1), None, lambda result: None)
    engine.stop()
    assert done.wait(20)


def test_progress_is_reported_while_an_iteration_lasts(engine: Engine) -> None:
    engine.set_position(None, [])
    heard = threading.Event()
    done = threading.Event()

    def listen(info: Info) -> None:
        if not info.pv and info.nodes and info.currmove:
            heard.set()

    engine.go(Limits(infinite=True), listen, lambda result: done.set())
    assert heard.wait(60)
    engine.stop()
    assert done.wait(20)


def test_threads_share_the_work_and_return_one_legal_move(engine: Engine) -> None:
    engine.set_option("threads", 3)
    result, _ = run(engine, MIDDLE_GAME, Limits(nodes=60_000))
    assert result.nodes >= 60_000
    after(MIDDLE_GAME, result.lines[0].pv)


@pytest.mark.slow
def test_four_threads_for_ten_minutes(engine: Engine) -> None:
    engine.set_option("threads", 4)
    moves: list[str] = []
    board = Board()
    for _ in range(120):
        if board.outcome() is not None:
            moves, board = [], Board()
        result, _ = run(engine, None, Limits(movetime=5000), " ".join(moves))
        if result.bestmove == "win":
            moves, board = [], Board()
            continue
        board.push_usi(result.bestmove)
        moves.append(result.bestmove)


# ---------------------------------------------------------------- exactness


def only_checks(sfen: str, line: list[str]) -> bool:
    """True if every move of the attacker gives check."""
    board = Board(sfen)
    for number, move in enumerate(line):
        board.push_usi(move)
        if number % 2 == 0 and not board.is_check():
            return False
    return True


@pytest.mark.parametrize("row", rows("mates.tsv"))
def test_mates_are_found_with_their_length_and_a_complete_line(engine: Engine, row: str) -> None:
    length, sfen = row.split("\t")
    plies = int(length)

    def stop_when_found(info: Info) -> None:
        if info.mate is not None and 0 < info.mate <= plies:
            engine.stop()

    engine.set_position(sfen, [])
    result = engine.search(Limits(depth=plies + 22, nodes=2_000_000), stop_when_found)
    assert result.mate is not None
    line = result.lines[0].pv
    assert len(line) == result.mate
    assert after(sfen, line).is_checkmate()
    # the list counts lines of checks alone; a quiet move may mate sooner
    assert result.mate == plies or (result.mate < plies and not only_checks(sfen, line))


@pytest.mark.parametrize("sfen", rows("many_exchanges.tsv"))
def test_exchanges_behind_every_capture_do_not_swamp_the_first_iteration(engine: Engine, sfen: str) -> None:
    """In these positions of won games quiescence once looked at up to seven million nodes."""
    _, infos = run(engine, sfen, Limits(depth=1))
    assert infos[-1].nodes < 10_000


@pytest.mark.parametrize("nodes", [200_000, pytest.param(2_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sfen", rows("no_mates.tsv"))
def test_no_mate_by_checks_is_claimed_where_there_is_none(engine: Engine, sfen: str, nodes: int) -> None:
    result, _ = run(engine, sfen, Limits(nodes=nodes))
    if result.mate is not None:  # one of them is won by a quiet move
        assert after(sfen, result.lines[0].pv).is_checkmate()
        assert not only_checks(sfen, result.lines[0].pv)


def test_being_mated_is_reported_and_resigned(engine: Engine) -> None:
    result, infos = run(engine, MATED, Limits(depth=5))
    assert result.bestmove == "resign"
    assert (infos[-1].mate, infos[-1].pv) == (0, [])


def test_one_legal_move_is_searched_to_the_depth_asked_for(engine: Engine) -> None:
    sfen = "k8/9/9/9/9/9/9/7+r1/8K b 2b4g4s4n4lr18p 1"
    assert len(Board(sfen).legal_moves) == 1
    result, infos = run(engine, sfen, Limits(depth=6))
    assert infos[-1].depth == 6
    assert result.bestmove == "1i2h"


def test_a_side_without_a_king_can_be_searched(engine: Engine) -> None:
    result, _ = run(engine, NO_KING_OF_ITS_OWN, Limits(depth=8))
    assert result.mate == 1
    no_kings = "9/9/9/4p4/9/4P4/9/9/9 b 2r2b4g4s4n4l16p 1"
    assert run(engine, no_kings, Limits(depth=5))[0].bestmove != "resign"


def test_multipv_gives_the_best_moves_of_one_depth_in_order(engine: Engine) -> None:
    engine.set_option("multipv", 5)
    _, infos = run(engine, MIDDLE_GAME, Limits(depth=7))
    last = [info for info in infos if info.depth == 7]
    assert [info.multipv for info in last] == [1, 2, 3, 4, 5]
    assert len({info.pv[0] for info in last}) == 5
    scores = [info.score_cp for info in last]
    assert scores == sorted(scores, reverse=True)
    for info in last:
        assert info.bound is None
        after(MIDDLE_GAME, info.pv)


def test_more_lines_than_moves_are_no_harm(engine: Engine) -> None:
    engine.set_option("multipv", 600)
    _, infos = run(engine, MIDDLE_GAME, Limits(depth=2))
    assert max(info.multipv for info in infos) == len(Board(MIDDLE_GAME).legal_moves)


def test_searchmoves_restricts_the_root_and_keeps_a_declined_promotion(engine: Engine) -> None:
    sfen = "4k4/9/4P4/9/9/9/9/9/4K4 b 2r2b4g4s4n4l17p 1"
    result, infos = run(engine, sfen, Limits(depth=4, searchmoves=["5c5b"]))
    assert result.bestmove == "5c5b"
    assert all(info.pv[0] == "5c5b" for info in infos)


@pytest.mark.parametrize("token", ["7g7e", "Z*5e", "nonsense"])
def test_a_bad_searchmove_is_named_and_the_others_are_searched(engine: Engine, token: str) -> None:
    result, infos = run(engine, None, Limits(depth=2, searchmoves=[token, "2g2f"]))
    assert [info.text for info in infos if info.text and token in info.text]
    assert result.bestmove == "2g2f"
    result, _ = run(engine, None, Limits(depth=2, searchmoves=[token]))
    assert result.bestmove != "resign"


@pytest.mark.parametrize("sfen", ["9/9/9/9/9/9/9/9/4K4 b - 1", "9/9/9/9/9/9/9/9/9 b P 1", "k8/9/9/9/9/9/9/9/9 w - 1"])
def test_a_side_without_a_king_is_never_checkmated(engine: Engine, sfen: str) -> None:
    result, _ = run(engine, sfen, Limits(mate=2000))
    assert result.checkmate == "nomate"


def test_an_illegal_move_of_the_game_is_named(engine: Engine) -> None:
    with pytest.raises(PositionError, match="7g7e"):
        engine.set_position(None, ["7g7f", "7g7e"])
    engine.set_position(None, ["7g7f"])
    assert engine.search(Limits(depth=1)).bestmove in {str(move) for move in after(None, ["7g7f"]).legal_moves}


# ---------------------------------------------------------------- rules of shogi


def test_a_root_that_repeats_is_no_draw(engine: Engine) -> None:
    loop = "2h5h 8b5b 5h2h 5b8b"
    first, _ = run(engine, None, Limits(depth=6))
    engine.new_game()
    again, _ = run(engine, None, Limits(depth=6), loop)
    assert again.score_cp == first.score_cp


def test_the_move_that_repeats_for_the_fourth_time_is_a_draw(engine: Engine) -> None:
    loop = "2h5h 8b5b 5h2h 5b8b"
    drawing = Limits(depth=3, searchmoves=["5b8b"])
    engine.set_option("draw_value_black", 300)  # is not asked: white thinks
    engine.set_option("draw_value_white", -700)
    result, _ = run(engine, None, drawing, f"{loop} {loop} 2h5h 8b5b 5h2h")
    assert result.score_cp == -700


@pytest.mark.parametrize("limit", [10, 11])
def test_a_draw_is_worth_the_same_whoever_makes_it(engine: Engine, limit: int) -> None:
    engine.set_option("max_moves", limit)
    engine.set_option("draw_value_black", -300)
    result, _ = run(engine, "4k4/9/9/9/9/9/9/9/4K4 b P 8", Limits(depth=6))
    assert result.score_cp == -300


def test_perpetual_check_is_no_way_to_draw(engine: Engine) -> None:
    """The same check for the fourth time would lose at once, and the search knows it."""
    sfen = "k8/9/9/9/9/9/9/9/K7R b 2b4g4s4n4l18pr 1"
    moves = "1i1a 9a9b 1a1b 9b9a" + " 1b1a 9a9b 1a1b 9b9a" * 2
    result, _ = run(engine, sfen, Limits(depth=4, searchmoves=["1b1a"]), moves)
    assert (result.score_cp or 0) < -5000


def test_a_declared_win_is_seen_at_the_root_and_one_move_ahead(engine: Engine) -> None:
    ready = "G8/4K4/PPPPPPPPP/9/9/7ss/7sk/9/9 b 2R2B3g1s4n4l9p 1"
    assert run(engine, ready, Limits(depth=5))[0].bestmove == "win"
    waiting = "1K1+R+R+B+B2/PPPPPP3/9/9/9/9/9/9/7k1 w 2P 1"  # white has no check to put it off
    assert run(engine, waiting, Limits(depth=5))[0].mate == -2
    engine.set_option("impasse_rule", "NoEnteringKing")
    assert run(engine, ready, Limits(depth=3))[0].bestmove != "win"
    assert run(engine, waiting, Limits(depth=3))[0].mate is None
    engine.set_option("impasse_rule", "TryRule")
    assert run(engine, "9/4K4/9/9/9/9/9/9/7k1 w - 1", Limits(depth=5))[0].mate == -2


def test_the_game_is_drawn_at_the_move_limit(engine: Engine) -> None:
    engine.set_option("max_moves", 60)
    result, _ = run(engine, MIDDLE_GAME.replace(" 1", " 60"), Limits(depth=5))
    if result.mate is None:
        assert result.score_cp == 0


@pytest.mark.parametrize("move_number", [10, 11, 12])
def test_lines_end_with_the_game_at_the_move_limit(engine: Engine, move_number: int) -> None:
    engine.set_option("max_moves", 12)
    start = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -"
    for number in (10, 11, 12, move_number):  # what the searches before left in the table must not lengthen a line
        result, _ = run(engine, f"{start} {number}", Limits(depth=5))
    assert len(result.lines[0].pv) == 13 - move_number


def test_a_very_long_game_is_searched_like_any_other(engine: Engine) -> None:
    loop = ["2h5h", "8b5b", "5h2h", "5b8b"]
    engine.set_position(None, loop * 500)
    result = engine.search(Limits(depth=4))
    assert result.bestmove in {str(move) for move in Board().legal_moves}


def test_a_network_that_cannot_be_used_gives_way_to_the_one_of_the_package(engine: Engine, tmp_path: Path) -> None:
    shipped = engine.evaluation.description
    engine.set_option("eval_file", "handcrafted")
    (tmp_path / "nn.bin").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="network of the package"):
        engine.set_option("eval_file", str(tmp_path / "nn.bin"))
    assert engine.evaluation.description == shipped
