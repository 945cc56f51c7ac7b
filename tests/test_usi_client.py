"""Driving a USI engine as a subprocess: good ones, slow ones, noisy ones, and those that crash or hang."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.search.limits import Info, Limits
from usi.client import EngineDied, EngineError, EngineTimeout, UsiEngine, split_command
from usi.protocol import BestMove, Checkmate

SCRIPT = str(Path(__file__).with_name("scripted_engine.py"))
PATIENCE = 30.0


def engine_of(mood: str) -> UsiEngine:
    return UsiEngine([sys.executable, SCRIPT, mood])


@pytest.fixture
def engine() -> Iterator[UsiEngine]:
    with engine_of("good") as engine:
        engine.start()
        yield engine


def test_start_reads_name_and_options(engine: UsiEngine) -> None:
    assert engine.id == {"name": "Scripted One", "author": "tests"}
    assert engine.name == "Scripted One"
    assert engine.options["Skill Level"].minimum == -20
    assert engine.alive


@pytest.mark.parametrize("name", ["Skill Level", "skill_level", "SKILL LEVEL"])
def test_options_with_blanks_are_found_and_sent_under_their_own_name(engine: UsiEngine, name: str) -> None:
    engine.set_option(name, 5)
    engine.set_option("Clear_Hash")
    engine.set_option("Unknown", True)
    engine.is_ready()
    sent = [entry.text for entry in engine.log if entry.direction == "<"]
    assert sent[1:4] == [
        "setoption name Skill Level value 5",
        "setoption name Clear_Hash",
        "setoption name Unknown value true",
    ]


def test_a_search_brings_move_reports_and_time(engine: UsiEngine) -> None:
    seen: list[Info] = []
    engine.new_game()
    engine.position(None, ["7g7f"])
    answer = engine.go(Limits(depth=3), PATIENCE, seen.append)
    assert answer.bestmove == BestMove("7g7f", "3c3d")
    assert answer.infos == seen
    best, second = answer.best(), answer.best(2)
    assert best is not None and best.score_cp == 12 and best.pv == ["7g7f", "3c3d"]  # the bound at depth 2 is no score
    assert second is not None and second.pv == ["2g2f"]
    assert answer.best(3) is None
    assert answer.elapsed_ms > 0
    assert "position startpos moves 7g7f" in engine.log_text()


def test_stop_and_ponderhit(engine: UsiEngine) -> None:
    engine.start_search(Limits(infinite=True))
    assert engine.stop(PATIENCE).bestmove == BestMove("2g2f")
    engine.start_search(Limits(ponder=True))
    engine.ponderhit(Limits(btime=5, wtime=6, ponder=True))
    assert engine.wait(PATIENCE).bestmove == BestMove("6g6f")
    assert "ponderhit btime 5 wtime 6 byoyomi 0" in engine.log_text()


def test_a_mate_search(engine: UsiEngine) -> None:
    assert engine.go(Limits(mate=1000), PATIENCE).checkmate == Checkmate(("3c3b+", "2a3b", "G*2b"))


def test_a_slow_start_is_waited_for_and_a_noisy_one_is_read() -> None:
    for mood in ("slow", "noisy"):
        with engine_of(mood) as engine:
            engine.start(PATIENCE)
            engine.is_ready(PATIENCE)
            assert engine.id["author"] == "tests"
        assert not engine.alive


def test_an_engine_that_never_greets_is_a_timeout() -> None:
    with engine_of("mute") as engine, pytest.raises(EngineTimeout, match="no answer to 'usi'"):
        engine.start(timeout=0.2)
    assert not engine.alive


def test_a_crash_at_the_start_tells_the_last_words() -> None:
    with engine_of("crash-at-start") as engine, pytest.raises(EngineDied, match="exit code 3") as raised:
        engine.start(PATIENCE)
    assert "after 'usi'" in str(raised.value)


def test_a_crash_in_a_search_is_an_error_now_and_later() -> None:
    with engine_of("crash") as engine:
        engine.start(PATIENCE)
        with pytest.raises(EngineDied, match="exit code 7"):
            engine.go(Limits(depth=1), PATIENCE)
        with pytest.raises(EngineDied):
            engine.is_ready(PATIENCE)
        assert any("process ended with code 7" in entry.text for entry in engine.log)


def test_a_hang_is_a_timeout_and_can_be_killed() -> None:
    engine = engine_of("hang")
    engine.start(PATIENCE)
    with pytest.raises(EngineTimeout, match="go depth 1"):
        engine.go(Limits(depth=1), timeout=0.2)
    engine.kill()
    assert not engine.alive
    engine.quit()


def test_an_engine_that_ignores_quit_is_ended_all_the_same() -> None:
    engine = engine_of("deaf")
    engine.start(PATIENCE)
    engine.quit(timeout=0.2)
    assert not engine.alive


def test_a_program_that_does_not_exist_says_so() -> None:
    with pytest.raises(EngineDied, match="no-such-engine"):
        UsiEngine(["/no-such-engine"]).start()
    with pytest.raises(EngineError, match="command"):
        UsiEngine("")
    with pytest.raises(EngineError, match="not started"):
        UsiEngine(["x"]).position(None)


def test_a_path_with_blanks_is_one_word(tmp_path: Path) -> None:
    program = tmp_path / "my engine.py"
    program.write_text("")
    assert split_command(str(program)) == [str(program)]
    assert split_command("engine --book 'my book'") == ["engine", "--book", "my book"]


def test_log_is_passed_on_as_it_grows() -> None:
    lines: list[str] = []
    with UsiEngine(
        shlex.join([sys.executable, SCRIPT]), name="A", on_log=lambda entry: lines.append(entry.text)
    ) as engine:
        engine.start(PATIENCE)
        assert engine.name == "A"
    assert lines[0] == "usi"
    assert "usiok" in lines
    assert "quit" in lines


@pytest.mark.peer
@pytest.mark.skipif(not shutil.which("fairy-stockfish"), reason="fairy-stockfish is not installed")
def test_fairy_stockfish_plays_a_move() -> None:
    with UsiEngine("fairy-stockfish") as engine:
        engine.start(PATIENCE)
        engine.set_option("uci_variant", "minishogi")
        engine.is_ready(PATIENCE)
        engine.position(None)
        answer = engine.go(Limits(depth=5), PATIENCE)
        assert answer.bestmove is not None and len(answer.bestmove.move) >= 4
        best = answer.best()
        assert best is not None and best.depth == 5
