"""The engine's side of a conversation, with a scripted engine: who is answered what, when, and how often."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import chess.engine
import pytest
from conversation import PATIENCE, Conversation
from fake_engine import FakeEngine
from usi_protocol import Game, SessionTransport, UsiLimit, UsiProtocol

from engine.search.limits import Info, Limits, Result
from engine.search.parameters import PARAMETER_TABLE, SWITCH_NAMES
from usi.output import ReportFilter, Writer
from usi.running import RunningSearch
from usi.session import Session, identity


@pytest.fixture
def talk() -> Iterator[Conversation]:
    conversation = Conversation()
    yield conversation
    if conversation.exit_code is None:
        conversation.engine.stop()
        conversation.end()


# ---------------------------------------------------------------- greeting and options


def test_usi_is_answered_every_time_without_building_the_engine(talk: Conversation) -> None:
    talk.send("usi", "usi")
    first, second = talk.until("usiok"), talk.until("usiok")
    assert first == second == identity()
    assert first[0].startswith("id name Narikin")
    assert talk.made == []


def test_isready_is_answered_once_each_and_builds_the_engine_once(talk: Conversation) -> None:
    talk.send("isready", "isready", "isready")
    for _ in range(3):
        assert talk.until("readyok")[-1] == "readyok"
    assert talk.said() == []
    assert talk.made == [("shogi", 1)]


def test_options_reach_the_engine_at_isready(talk: Conversation) -> None:
    talk.send("setoption name usi_hash value 32", "setoption name Threads value 3")
    talk.send("setoption name UCI_Variant value judkins", "setoption name MultiPV value 4")
    talk.send("setoption name EnteringKingRule value TryRule", "setoption name GenerateAllLegalMoves value true")
    talk.ready()
    assert talk.made == [("judkins", 3)]
    options = dict(talk.engine.called("set_option"))
    assert options["hash_mb"] == 32
    assert (options["multipv"], options["impasse_rule"], options["all_moves"]) == (4, "TryRule", True)


def test_only_changed_options_are_sent_again(talk: Conversation) -> None:
    talk.ready()
    before = len(talk.engine.called("set_option"))
    talk.ready("setoption name MultiPV value 2", "setoption name Threads value 1")
    assert talk.engine.called("set_option")[before:] == [("multipv", 2)]


@pytest.mark.parametrize(
    "line",
    [
        "setoption name USI_Hash value lots",
        "setoption name USI_Hash value 0",
        "setoption name USI_Hash value",
        "setoption name USI_Hash",
        "setoption name Nothing value 1",
        "setoption name USI_Variant value chess",
        "setoption",
        "setoption USI_Hash 1",
        "hello",
    ],
)
def test_junk_gets_one_info_string_and_changes_nothing(talk: Conversation, line: str) -> None:
    talk.ready()
    calls = list(talk.engine.calls)
    talk.send(line)
    said = talk.settle()
    assert len(said) == 1
    assert said[0].startswith("info string ")
    assert talk.engine.calls == calls


def test_numbers_of_the_search_are_options_that_are_declared_on_demand_only(talk: Conversation) -> None:
    talk.send("setoption name parameter.null_base value 4", "setoption name Switch.Razoring value false")
    talk.ready()
    assert [call for call in talk.engine.called("set_option") if "." in call[0]] == [
        ("parameter.null_base", 4),
        ("switch.razoring", False),
    ]
    talk.ready("setoption name parameter.null_base value 99", "setoption name parameter.nothing value 1")
    assert len([call for call in talk.engine.called("set_option") if "." in call[0]]) == 2
    names = {line.split()[2] for line in identity(tuning=True) if line.startswith("option")}
    assert {f"parameter.{p.name}" for p in PARAMETER_TABLE} | {f"switch.{name}" for name in SWITCH_NAMES} <= names
    assert not any("." in line.split()[2] for line in identity() if line.startswith("option"))


def test_a_change_of_game_reaches_the_engine_before_the_other_options(talk: Conversation) -> None:
    talk.ready()
    before = len(talk.engine.called("set_option"))
    talk.ready("setoption name USI_Hash value 5", "setoption name USI_Variant value judkins")
    assert talk.engine.called("set_option")[before:] == [("variant", "judkins"), ("hash_mb", 5)]


def test_a_path_with_blanks_stays_whole_and_an_engines_refusal_is_shown(talk: Conversation) -> None:
    talk.send("setoption name EvalFile value C:\\My Nets\\a  b.bin", "isready")
    said = talk.until("readyok")
    assert said[0] == "info string no network file C:\\My Nets\\a b.bin"
    assert ("eval_file", "C:\\My Nets\\a  b.bin") in talk.engine.called("set_option")


def test_a_hash_that_was_cut_down_is_reported(talk: Conversation) -> None:
    talk.ready()
    talk.send("setoption name USI_Hash value 1024")
    assert talk.settle() == ["info string hash cut down to 512 MB"]


def test_setoption_while_pondering_waits_for_the_end_of_the_search(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("position startpos", "go ponder btime 0 wtime 0 byoyomi 100")
    talk.send("setoption name MultiPV value 3")
    talk.settle()
    assert ("multipv", 3) not in talk.engine.called("set_option")
    talk.send("ponderhit")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    talk.engine.endless = False
    talk.send("go byoyomi 10")
    talk.answer()
    assert ("multipv", 3) in talk.engine.called("set_option")


def test_clear_hash_is_a_button(talk: Conversation) -> None:
    talk.ready()
    talk.send("go depth 1")
    talk.answer()
    talk.send("setoption name Clear_Hash", "isready")
    talk.until("readyok")
    assert talk.engine.called("new_game") == [()]


def test_the_old_game_is_forgotten_once_between_games(talk: Conversation) -> None:
    talk.ready()
    assert talk.engine.called("new_game") == []  # nothing to forget yet
    talk.send("position startpos", "go depth 1")
    talk.answer()
    talk.send("gameover win")
    talk.ready()
    assert talk.engine.called("new_game") == [()]


# ---------------------------------------------------------------- positions


def test_a_position_is_set_at_once_when_idle(talk: Conversation) -> None:
    talk.ready()
    talk.send("position startpos moves 7g7f 3c3d")
    talk.settle()
    assert talk.engine.called("set_position") == [(None, ("7g7f", "3c3d"))]


def test_tabs_crlf_and_trailing_blanks_do_not_matter(talk: Conversation) -> None:
    talk.ready()
    talk.send_bytes(
        b"\tposition\t sfen 4k4/9/9/9/9/9/9/9/4K4  b\tPp2G -  \tmoves   5i5h \t\r\n\r\n  go   depth\t3 \r\n"
    )
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.engine.called("set_position") == [("4k4/9/9/9/9/9/9/9/4K4 b Pp2G -", ("5i5h",))]
    assert talk.engine.called("go")[0][0].depth == 3


@pytest.mark.parametrize(
    ("line", "token"),
    [
        ("position startpos moves 7g7f 1a1b 3c3d", "'1a1b'"),
        ("position sfen xxx/9 b - 1", "'x'"),
        ("position somewhere", "'somewhere'"),
        ("position", "nothing"),
        ("position startpos 7g7f", "'7g7f'"),
    ],
)
def test_after_a_bad_position_the_next_go_resigns(talk: Conversation, line: str, token: str) -> None:
    talk.ready()
    talk.send("position startpos moves 7g7f")
    talk.send(line)
    said = talk.settle()
    assert len(said) == 1
    assert said[0].startswith("info string error")
    assert token in said[0]
    talk.send("go byoyomi 100")
    assert talk.until("bestmove") == ["bestmove resign"]
    talk.send("go mate 100")
    assert talk.until("checkmate") == ["checkmate timeout"]
    talk.send("go infinite")
    assert talk.said() == []
    talk.send("stop")
    assert talk.answer() == "bestmove resign"
    assert talk.engine.searches == 0
    talk.send("position startpos", "go byoyomi 100")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"


def test_a_bad_position_sent_before_isready_is_refused_too(talk: Conversation) -> None:
    talk.send("position startpos moves 1a1b", "go depth 1")
    assert talk.until("bestmove") == ["info string error illegal move '1a1b'", "bestmove resign"]


def test_a_position_that_comes_during_a_search_is_for_the_next_go(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("position startpos", "go infinite", "position startpos moves 7g7f")
    talk.settle()
    assert talk.engine.called("set_position") == [(None, ())]
    talk.send("stop", "go infinite", "stop")
    talk.answer()
    talk.answer()
    assert talk.engine.called("set_position") == [(None, ()), (None, ("7g7f",))]


def test_no_report_is_sent_for_the_old_position_after_the_next_one(talk: Conversation) -> None:
    """ShogiHome takes every report for the position it has sent last."""

    def think(limits: Limits, on_info: Any, on_done: Any) -> None:
        talk.engine.stopped.wait()
        on_info(Info(depth=2, score_cp=1, pv=["2g2f"]))
        on_done(Result("2g2f"))

    talk.engine.think = think
    talk.ready()
    talk.send("position startpos", "go infinite", "position startpos moves 7g7f", "stop")
    assert talk.until("bestmove") == ["bestmove 2g2f"]


def test_a_change_of_variant_sets_the_position_anew(talk: Conversation) -> None:
    talk.ready()
    talk.send("position startpos", "setoption name USI_Variant value minishogi", "go depth 1")
    talk.answer()
    calls = [call for call in talk.engine.calls if call[0] in ("set_position", "go") or call[1:2] == ("variant",)]
    assert [call[0] for call in calls] == ["set_position", "set_option", "set_position", "go"]


def test_a_game_of_500_plies_arrives_whole(talk: Conversation) -> None:
    moves = ("2h3h", "8b7b", "3h2h", "7b8b") * 125
    talk.ready()
    talk.send(f"position startpos moves {' '.join(moves)}", "go byoyomi 1")
    talk.answer()
    assert talk.engine.called("set_position") == [(None, moves)]


def test_bytes_that_are_not_utf8_are_survived(talk: Conversation) -> None:
    talk.send_bytes(b"\xff\xfe\x80 hello\nsetoption name EvalDir value /\xe9t\xe9\nisready\n")
    said = talk.until("readyok")
    assert said[0].startswith("info string unknown command")
    talk.send("go depth 1")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"


# ---------------------------------------------------------------- go


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("go btime 1000 wtime 2000 byoyomi 300", Limits(btime=1000, wtime=2000, byoyomi=300)),
        ("go btime 1 wtime 2 binc 3 winc 4", Limits(btime=1, wtime=2, binc=3, winc=4)),
        ("go byoyomi 5", Limits(btime=0, wtime=0, byoyomi=5)),
        ("go btime 0 wtime 0", Limits(btime=0, wtime=0)),
        ("go btime -1 wtime -1 byoyomi -1", Limits(btime=0, wtime=0)),
        ("go btime wtime byoyomi", Limits(btime=0, wtime=0)),
        ("go movetime 7", Limits(movetime=7)),
        ("go rtime 7", Limits(movetime=7)),
        ("go depth 4", Limits(depth=4)),
        ("go nodes 100", Limits(nodes=100)),
        ("go depth 4 nodes 100 movetime 7 searchmoves 7g7f P*5e", Limits(None, None, 0, 0, 0, 7, 4, 100)),
    ],
)
def test_every_limit_reaches_the_engine_and_is_answered_once(talk: Conversation, line: str, expected: Limits) -> None:
    if "searchmoves" in line:
        expected.searchmoves = ["7g7f", "P*5e"]
    talk.ready()
    talk.send("position startpos", line)
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.engine.called("go") == [(expected,)]
    assert talk.settle() == []


def test_options_of_the_clock_and_limits_of_the_user_go_into_every_search(talk: Conversation) -> None:
    talk.ready(
        *(f"setoption name {name} value {value}" for name, value in (("NetworkDelay", 5), ("NetworkDelay2", 6))),
        *(f"setoption name {name} value {value}" for name, value in (("MinimumThinkingTime", 7), ("SlowMover", 8))),
        *(f"setoption name {name} value {value}" for name, value in (("DepthLimit", 9), ("NodesLimit", 10))),
        "setoption name RoundUpToFullSecond value false",
    )
    talk.send("go depth 20 byoyomi 5")
    talk.answer()
    limits = talk.engine.called("go")[0][0]
    assert (limits.network_delay, limits.network_delay2) == (5, 6)
    assert (limits.minimum_thinking_time, limits.slow_mover, limits.round_up_to_full_second) == (7, 8, False)
    assert (limits.depth, limits.nodes) == (9, 10)
    talk.send("go depth 3")
    talk.answer()
    assert talk.engine.called("go")[1][0].depth == 3


@pytest.mark.parametrize("line", ["go infinite", "go", "go infinite depth 3", "go ponder", "go ponder byoyomi 100"])
def test_an_open_search_is_silent_until_stop_even_when_it_is_over(talk: Conversation, line: str) -> None:
    """Also in a mated position, where there is nothing to search."""
    talk.engine.result = Result("resign", mate=0)
    talk.ready()
    talk.send("position startpos", line)
    talk.settle()
    assert talk.engine.finished.wait(PATIENCE)
    talk.send("isready", "isready")
    assert talk.until("readyok") + talk.until("readyok") == ["readyok", "readyok"]
    talk.send("stop")
    assert talk.answer() == "bestmove resign"
    talk.send("stop", "stop")
    assert talk.settle() == []


def test_a_search_of_a_depth_alone_begins_anew_every_time(talk: Conversation) -> None:
    talk.ready()
    for line in ("go depth 3", "go depth 3", "go nodes 100", "go depth 3 byoyomi 100"):
        talk.send("position startpos moves 7g7f", line)
        talk.answer()
    assert [call[0] for call in talk.engine.calls if call[0] in ("go", "new_game")] == ["go", "new_game", *["go"] * 3]
    assert talk.engine.called("set_position")[-1] == (None, ("7g7f",))


def test_stop_ends_a_running_search(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("go btime 100000 wtime 100000", "stop", "stop")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.settle() == []


def test_stop_without_a_search_is_answered_by_silence(talk: Conversation) -> None:
    talk.send("stop")
    talk.ready()
    talk.send("stop", "ponderhit", "gameover lose", "stop")
    assert talk.settle() == []
    assert talk.engine.called("stop") == []
    talk.send("go depth 1")
    assert talk.answer().startswith("bestmove 7g7f")


def test_stop_right_after_go_a_thousand_times(talk: Conversation) -> None:
    """dlshogi #73: a stop that comes before the search thread is up must not get lost."""
    talk.engine.endless = True
    talk.ready()
    for number in range(1000):
        talk.send("position startpos", ("go infinite", "go ponder", "go byoyomi 1000")[number % 3], "stop")
        assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.settle() == []
    assert talk.engine.searches == 1000


def test_go_while_searching_is_stop_and_go(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("position startpos", "go infinite", "go infinite", "go ponder", "go byoyomi 1000")
    for _ in range(3):
        assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert [line for line in talk.settle() if not line.startswith("info")] == []
    talk.send("stop")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.engine.searches == 4


def test_go_without_isready_builds_the_engine_first(talk: Conversation) -> None:
    talk.send("position startpos moves 7g7f", "go depth 1")
    assert talk.answer().startswith("bestmove 7g7f")
    assert talk.made == [("shogi", 1)]


def test_isready_during_a_search_does_not_disturb_it(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("go infinite", "setoption name MultiPV value 5", "isready")
    assert "readyok" in talk.until("readyok")
    assert ("multipv", 5) not in talk.engine.called("set_option")
    talk.send("stop")
    talk.answer()


def test_a_result_told_twice_is_answered_once(talk: Conversation) -> None:
    def think(limits: Limits, on_info: Any, on_done: Any) -> None:
        on_done(Result("7g7f"))
        on_done(Result("2g2f"))
        on_info(Info(depth=9, pv=["9g9f"]))

    talk.engine.think = think
    talk.ready()
    talk.send("go depth 1")
    assert talk.until("bestmove") == ["bestmove 7g7f"]
    assert talk.engine.finished.wait(PATIENCE)
    assert talk.settle() == []


# ---------------------------------------------------------------- pondering and the end of games


def test_ponderhit_lets_the_search_go_on_under_its_times(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("position startpos moves 7g7f 3c3d", "go ponder btime 1000 wtime 1000 byoyomi 10")
    talk.settle()
    talk.send("ponderhit")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.engine.called("ponderhit") == [(None,)]
    assert talk.engine.called("go")[0][0].ponder


def test_ponderhit_after_the_search_is_over_is_answered_at_once(talk: Conversation) -> None:
    talk.ready()
    talk.send("go ponder btime 1000 wtime 1000")
    talk.settle()
    assert talk.engine.finished.wait(PATIENCE)
    talk.send("ponderhit", "ponderhit")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.settle() == []
    assert talk.engine.called("ponderhit") == []


def test_early_ponder_gets_its_times_with_ponderhit(talk: Conversation) -> None:
    """ShogiHome and YaneuraOu: `go ponder` without times, then `ponderhit btime ...`."""
    talk.engine.endless = True
    talk.ready("setoption name NetworkDelay value 1")
    talk.send("go ponder", "ponderhit btime 34000 wtime 33000 binc 5000 winc 5000")
    assert talk.answer().startswith("bestmove 7g7f")
    (limits,) = talk.engine.called("ponderhit")[0]
    assert (limits.btime, limits.wtime, limits.binc, limits.network_delay) == (34000, 33000, 5000, 1)


def test_ponderhit_without_any_time_wants_the_move_now(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("go ponder", "ponderhit")
    assert talk.answer().startswith("bestmove 7g7f")
    assert talk.engine.called("stop")


def test_ponderhit_outside_a_ponder_search_is_ignored(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("go infinite", "ponderhit")
    talk.settle()
    assert talk.engine.called("ponderhit") == []
    talk.send("stop")
    talk.answer()


def test_a_missed_ponder_is_answered_too(talk: Conversation) -> None:
    """ShogiHome waits for this bestmove before it sends the next go (rshogi #78)."""
    talk.engine.endless = True
    talk.ready()
    talk.send("position startpos moves 7g7f 3c3d", "go ponder btime 1000 wtime 1000", "stop")
    talk.send("position startpos moves 7g7f 8c8d", "go btime 1000 wtime 1000", "stop")
    assert [talk.answer(), talk.answer()] == ["bestmove 7g7f ponder 3c3d"] * 2


@pytest.mark.parametrize("go", ["go ponder btime 1 wtime 1", "go infinite", "go btime 1 wtime 1"])
def test_gameover_ends_a_search_and_the_next_game_can_start(talk: Conversation, go: str) -> None:
    """Shogidokoro sends gameover without stop when the opponent resigns while we ponder."""
    talk.engine.endless = True
    talk.ready()
    talk.send("position startpos", go, "gameover win")
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    talk.engine.endless = False
    talk.send("isready", "usinewgame", "position startpos", "go byoyomi 10")
    assert talk.until("readyok") == ["readyok"]
    assert talk.answer().startswith("bestmove 7g7f")
    assert talk.settle() == []


def test_gameover_right_before_isready_does_not_lose_either_answer(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.ready()
    talk.send("position startpos", "go infinite", "stop", "gameover draw", "isready", "usinewgame")
    lines = [line for line in talk.until("readyok") if not line.startswith("info")]
    assert lines == ["bestmove 7g7f ponder 3c3d", "readyok"]


@pytest.mark.parametrize("go", ["go infinite", "go ponder", "go btime 100000 wtime 100000", None])
@pytest.mark.parametrize("end", ["quit", None])
def test_quit_and_end_of_input_leave_without_another_word(go: str | None, end: str | None) -> None:
    conversation = Conversation()
    conversation.engine.endless = True
    conversation.ready()
    if go is not None:
        conversation.send("position startpos", go)
        conversation.settle()
    assert conversation.end(*([end] if end else [])) == []
    if go is not None:
        assert conversation.engine.stopped.is_set()


def test_nothing_after_quit_is_read() -> None:
    conversation = Conversation()
    assert conversation.end("quit", "usi", "isready") == []


def test_everything_piped_at_once_is_done_in_order(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.send_bytes(
        b"usi\nsetoption name Threads value 2\nisready\nusinewgame\nposition startpos\ngo infinite\nstop\n"
        b"position startpos moves 7g7f\ngo infinite\nstop\nisready\n"
    )
    lines = [line for _ in range(2) for line in talk.until("readyok")]
    words = [line.split(" ")[0] for line in lines if line.split(" ")[0] not in ("id", "option", "info")]
    assert words == ["usiok", "readyok", "bestmove", "bestmove", "readyok"]
    assert talk.engine.called("set_position") == [(None, ()), (None, ("7g7f",))]


# ---------------------------------------------------------------- isready takes long


class SlowStart:
    """An engine maker that takes until it is let go."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.engine = FakeEngine()

    def __call__(self, *settings: Any) -> FakeEngine:
        self.entered.set()
        self.go_on.wait(PATIENCE)
        return self.engine


def test_a_long_start_says_what_it_does_and_keeps_the_line_alive() -> None:
    start = SlowStart()
    talk = Conversation(engine_maker=start, keep_alive_seconds=0.01, notice=lambda: "compiling for this machine")
    talk.send("isready")
    assert talk.next_line() == "info string compiling for this machine"
    assert [talk.next_line() for _ in range(3)] == ["", "", ""]
    talk.send("usi")
    assert "usiok" in talk.until("usiok")
    start.go_on.set()
    assert {*talk.until("readyok")} <= {"", "readyok"}
    talk.send("isready")
    assert talk.until("readyok")[-1] == "readyok"
    assert "" not in talk.said()
    talk.end()


def test_what_comes_during_a_long_start_is_done_after_it() -> None:
    start = SlowStart()
    talk = Conversation(engine_maker=start)
    talk.send("isready", "setoption name MultiPV value 2", "position startpos moves 7g7f", "go infinite", "stop")
    assert start.entered.wait(PATIENCE)
    assert talk.said() == []
    start.go_on.set()
    assert talk.until("readyok") == ["readyok"]
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert start.engine.called("set_position") == [(None, ("7g7f",))]
    talk.end()


@pytest.mark.parametrize("end", ["quit", None])
def test_quit_does_not_wait_for_a_long_start(end: str | None) -> None:
    start = SlowStart()
    talk = Conversation(engine_maker=start)
    talk.send("isready", "position startpos", "go infinite")
    assert start.entered.wait(PATIENCE)
    assert talk.end(*([end] if end else [])) == []
    start.go_on.set()


def test_an_engine_that_cannot_be_built_still_leaves_a_session_that_answers() -> None:
    def fail(*settings: Any) -> FakeEngine:
        raise ImportError("No module named 'numba'")

    talk = Conversation(engine_maker=fail)
    talk.send("isready")
    assert talk.until("readyok") == ["info string error ImportError: No module named 'numba'", "readyok"]
    talk.send("position startpos", "go byoyomi 100")
    assert talk.until("bestmove")[-1] == "bestmove resign"
    talk.end()


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("checkmate", "line"),
    [
        (["3c3b+", "2a3b", "G*2b"], "checkmate 3c3b+ 2a3b G*2b"),
        ("nomate", "checkmate nomate"),
        ("timeout", "checkmate timeout"),
        ("notimplemented", "checkmate notimplemented"),
        (None, "checkmate timeout"),
    ],
)
def test_a_mate_search_is_answered_by_checkmate(talk: Conversation, checkmate: Any, line: str) -> None:
    talk.engine.result = Result("7g7f", checkmate=checkmate)
    talk.ready()
    for go in ("go mate 100", "go mate infinite", "go mate"):
        talk.send("position startpos", go)
        assert talk.answer() == line
    assert [limits.mate for (limits,) in talk.engine.called("go")] == [100, -1, -1]
    assert talk.settle() == []


def test_a_mate_search_stops(talk: Conversation) -> None:
    talk.engine.endless = True
    talk.engine.result = Result(checkmate="timeout")
    talk.ready()
    talk.send("go mate infinite", "stop")
    assert talk.answer() == "checkmate timeout"
    assert talk.settle() == []


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (Result("resign"), "bestmove resign"),
        (Result("win"), "bestmove win"),
        (Result("7g7f"), "bestmove 7g7f"),
        (Result("7g7f", score_cp=-500), "bestmove resign"),
        (Result("7g7f", score_cp=-499), "bestmove 7g7f"),
        (Result("7g7f", mate=-6), "bestmove resign"),
        (Result("7g7f", mate=5), "bestmove 7g7f"),
        (Result("win", score_cp=-900), "bestmove win"),
    ],
)
def test_resign_value(talk: Conversation, result: Result, line: str) -> None:
    talk.engine.result = result
    talk.ready("setoption name ResignValue value 500")
    talk.send("go byoyomi 10")
    assert talk.answer() == line


def test_analysis_never_resigns_a_game_that_has_moves(talk: Conversation) -> None:
    talk.engine.result = Result("7g7f", mate=-2)
    talk.ready("setoption name ResignValue value 500")
    talk.send("go infinite", "stop")
    assert talk.answer() == "bestmove 7g7f"


def test_by_default_a_lost_game_is_played_on(talk: Conversation) -> None:
    talk.engine.result = Result("7g7f", mate=-2)
    talk.ready()
    talk.send("go byoyomi 10")
    assert talk.answer() == "bestmove 7g7f"


@pytest.mark.parametrize("word", ["go depth 1", "go infinite", "go ponder", "go mate 5"])
def test_an_engine_that_breaks_is_answered_for(talk: Conversation, word: str) -> None:
    def break_down(*arguments: Any) -> None:
        raise IndexError("out of range\nsecond line")

    talk.engine.go = break_down  # type: ignore[method-assign]
    talk.ready()
    talk.send("position startpos", word)
    said = talk.settle() if word in ("go infinite", "go ponder") else []
    talk.send("stop")
    said += talk.until("checkmate" if "mate" in word else "bestmove")
    assert said == [
        "info string error IndexError: out of range second line",
        "checkmate timeout" if "mate" in word else "bestmove resign",
    ]
    assert talk.settle() == []


def test_what_an_engine_refuses_is_said_in_its_own_words(talk: Conversation) -> None:
    def refuse(*arguments: Any) -> None:
        raise ValueError("searchmoves: '9a9b' is not legal")

    talk.engine.go = refuse  # type: ignore[method-assign]
    talk.ready()
    talk.send("go depth 1 searchmoves 9a9b")
    assert talk.until("bestmove") == ["info string error searchmoves: '9a9b' is not legal", "bestmove resign"]


def test_a_search_thread_that_dies_is_answered_with_its_last_move(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Conversation()
    monkeypatch.setattr(threading, "excepthook", lambda args: talk.session.report_crash(args.exc_value))

    def think(limits: Limits, on_info: Any, on_done: Any) -> None:
        on_info(Info(depth=3, score_cp=5, pv=["2g2f", "3c3d"]))
        raise ZeroDivisionError("in the search")

    talk.engine.think = think
    talk.ready()
    talk.send("go byoyomi 100")
    lines = talk.until("bestmove")
    assert lines[1:] == ["info string error ZeroDivisionError: in the search", "bestmove 2g2f"]
    assert talk.settle() == []
    talk.end()


# ---------------------------------------------------------------- reports


def depth_info(depth: int, multipv: int = 1, **settings: Any) -> Info:
    return Info(depth=depth, multipv=multipv, score_cp=depth, pv=["7g7f"], **settings)


def test_reports_of_one_interval_are_thinned_to_whole_groups() -> None:
    reports = ReportFilter(300)
    first, second = [depth_info(1, 1), depth_info(1, 2)], [depth_info(2, 1), depth_info(2, 2)]
    third, fourth = [depth_info(3, 1), depth_info(3, 2)], [depth_info(4, 1), depth_info(4, 2)]
    assert [reports.accept(info, 10.0) for info in first] == [[info] for info in first]
    assert [reports.accept(info, 10.1) for info in second] == [[], []]
    assert [reports.accept(info, 10.4) for info in third] == [[info] for info in third]
    assert reports.rest() == []
    assert [reports.accept(info, 10.5) for info in fourth] == [[], []]
    assert reports.accept(Info(text="hello"), 10.5) == [Info(text="hello")]
    assert reports.accept(Info(nodes=5), 10.6) == []
    assert reports.rest() == fourth
    assert reports.rest() == []


def test_without_an_interval_everything_is_reported() -> None:
    reports = ReportFilter(0)
    infos = [depth_info(1), Info(nodes=4), depth_info(2, bound="lower"), depth_info(2)]
    assert [reports.accept(info, 1.0) for info in infos] == [[info] for info in infos]


def test_for_study_only_whole_lines_are_reported() -> None:
    reports = ReportFilter(0, whole_lines_only=True)
    assert reports.accept(depth_info(2, bound="upper"), 1.0) == []
    assert reports.accept(depth_info(2), 1.0) == [depth_info(2)]


def test_the_last_report_always_comes_before_the_move(talk: Conversation) -> None:
    talk.engine.infos = [depth_info(depth) for depth in range(1, 30)]
    talk.ready()
    talk.send("go depth 29")
    lines = talk.until("bestmove")
    assert lines[-2].startswith("info depth 29 ")
    assert len(lines) < 29
    talk.send("go infinite")
    lines = talk.settle()
    talk.send("stop")
    lines += talk.until("bestmove")
    assert len([line for line in lines if line.startswith("info depth")]) == 29


def test_lines_of_many_threads_are_never_torn() -> None:
    class Chunked:
        """A stream that gives other threads a chance in the middle of every line."""

        def __init__(self) -> None:
            self.data = bytearray()

        def write(self, data: bytes) -> None:
            for start in range(0, len(data), 7):
                self.data += data[start : start + 7]
                time.sleep(0)

        def flush(self) -> None:
            pass

    stream = Chunked()
    writer = Writer(stream)  # type: ignore[arg-type]

    def speak(number: int) -> None:
        for count in range(200):
            writer.lines(f"info string {number} {count} first", f"info string {number} {count} second")

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.data.decode().splitlines()
    assert len(lines) == 4 * 200 * 2
    assert all(
        one.removesuffix("first") == two.removesuffix("second") for one, two in zip(*[iter(lines)] * 2, strict=True)
    )


def test_a_gui_that_closed_its_end_is_noticed_and_nothing_is_raised() -> None:
    class Broken:
        def write(self, data: bytes) -> None:
            raise BrokenPipeError

        def flush(self) -> None:
            raise AssertionError

    noticed: list[bool] = []
    writer = Writer(Broken(), on_broken=lambda: noticed.append(True))  # type: ignore[arg-type]
    writer.lines("one")
    writer.lines("two")
    assert noticed == [True]


def test_stop_and_result_in_any_order_from_any_thread_give_one_answer() -> None:
    class Sink:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: bytes) -> None:
            self.data += data

        def flush(self) -> None:
            pass

    rng = random.Random(5)
    for _ in range(200):
        sink = Sink()
        search = RunningSearch(Limits(infinite=True), Writer(sink))  # type: ignore[arg-type]
        actions = [search.stop, search.stop, lambda search=search: search.finish(Result("7g7f"))]
        rng.shuffle(actions)
        threads = [threading.Thread(target=action) for action in actions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sink.data == b"bestmove 7g7f\n"


# ---------------------------------------------------------------- through python-chess's protocol


def converse(script: Callable[[UsiProtocol, FakeEngine], Any], engine: FakeEngine | None = None) -> None:
    """Run a coroutine that talks to a session with a fake engine; every breach of the protocol fails."""
    fake = engine or FakeEngine()

    async def run() -> None:
        protocol = UsiProtocol()
        SessionTransport(
            protocol, lambda reader, writer: Session(reader, writer, lambda *settings: fake, notice=lambda: None)
        )
        await protocol.initialize()
        await script(protocol, fake)
        await asyncio.wait_for(protocol.quit(), PATIENCE)
        assert protocol.violations == []
        assert protocol.open_searches == 0
        assert protocol.returncode.result() == 0

    asyncio.run(run())


def test_a_game_with_pondering_as_a_gui_plays_it() -> None:
    async def script(gui: UsiProtocol, fake: FakeEngine) -> None:
        assert gui.id["name"].startswith("Narikin")
        assert gui.options["USI_Hash"].type == "spin"
        assert gui.options["USI_Variant"].var == ["shogi", "judkins", "minishogi"]
        await gui.configure({"USI_Hash": 32, "USI_Ponder": True})
        for _ in range(3):
            await gui.new_game()
            answer = await gui.search(Game(), UsiLimit(black_clock=1, white_clock=1, byoyomi=0.1))
            assert (answer.move, answer.ponder) == ("7g7f", "3c3d")
            clock = UsiLimit(black_clock=1, white_clock=1, ponder=True)
            answer = await gui.search(Game(None, ("7g7f", "3c3d")), clock, then=["ponderhit"])
            assert answer.move == "7g7f"
            answer = await gui.search(Game(None, ("7g7f", "3c3d")), clock, then=["stop", "gameover win"])
            assert answer.move == "7g7f"

    converse(script)


def test_an_analysis_is_followed_and_stopped() -> None:
    async def script(gui: UsiProtocol, fake: FakeEngine) -> None:
        await gui.ping()
        analysis = await gui.analysis(Game())
        info = await analysis.get()
        assert info["score"] == chess.engine.Cp(30)
        assert info["pv"] == ["7g7f", "3c3d"]
        analysis.stop()
        assert (await analysis.wait()).move == "7g7f"

    fake = FakeEngine()
    fake.endless = True
    converse(script, fake)


def test_a_mated_side_sees_a_lost_score() -> None:
    async def script(gui: UsiProtocol, fake: FakeEngine) -> None:
        await gui.ping()
        answer = await gui.search(Game(), UsiLimit(depth=5))
        assert answer.move == "resign"
        assert answer.infos[0]["score"] == chess.engine.Mate(0)

    fake = FakeEngine()
    fake.result, fake.infos = Result("resign", mate=0), [Info(depth=1, mate=0)]
    converse(script, fake)


def test_the_test_gui_says_what_real_guis_say() -> None:
    """The strict GUI of these tests against python-chess's scripted transport, line by line."""

    async def run() -> None:
        gui = UsiProtocol()
        mock = chess.engine.MockTransport(gui)
        mock.expect("usi", ["id name X Y", "option name USI_Hash type spin default 1 min 1 max 9", "usiok"])
        await gui.initialize()
        assert (gui.id["name"], gui.options["USI_Hash"].max) == ("X Y", 9)
        mock.expect("setoption name USI_Ponder value true")
        await gui.configure({"USI_Ponder": True})
        mock.expect("isready", ["", "info string hello", "readyok"])
        mock.expect("usinewgame")
        await gui.new_game()
        mock.expect("position startpos moves 7g7f")
        mock.expect(
            "go ponder btime 1000 wtime 2000 byoyomi 500",
            ["info depth 1 score mate -2 pv 3c3d", "bestmove 3c3d ponder 2g2f"],
        )
        limit = UsiLimit(black_clock=1, white_clock=2, byoyomi=0.5, ponder=True)
        answer = await gui.search(Game(None, ("7g7f",)), limit)
        assert (answer.move, answer.ponder, answer.infos[0]["score"]) == ("3c3d", "2g2f", chess.engine.Mate(-2))
        mock.assert_done()
        assert gui.violations == []
        gui.pipe_data_received(1, b"bestmove 7g7f\nhello\ninfo score mate 0\n")
        assert len(gui.violations) == 2

    asyncio.run(run())
