"""The program as a process, with a fake engine: pipes, exit codes, and who may write where."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conversation import OWN_PROGRAM, ROOT, ProcessTalk

from usi.session import identity

FAKE = str(Path(__file__).with_name("fake_program.py"))


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def fake(mood: str = "") -> ProcessTalk:
    return ProcessTalk([sys.executable, FAKE, mood])


def talkative() -> subprocess.Popen[bytes]:
    """A program in the middle of writing megabytes that nobody reads."""
    command = [sys.executable, FAKE, "talks"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"isready\ngo infinite\n")
    process.stdin.flush()
    process.stdout.readline()
    time.sleep(0.3)  # now the pipe is full and the program stuck in a write
    return process


@pytest.fixture
def talk() -> Iterator[ProcessTalk]:
    talk = fake()
    yield talk
    talk.kill()


def test_a_conversation_over_pipes(talk: ProcessTalk) -> None:
    talk.send_bytes(b"usi\r\nisready\r\nusinewgame\r\nposition startpos\r\ngo byoyomi 10\r\n")
    assert talk.until("usiok") == identity()
    assert talk.until("readyok")[-1] == "readyok"
    assert talk.answer() == "bestmove 7g7f ponder 3c3d"
    assert talk.end("quit") == []


def test_a_stray_print_of_a_library_never_reaches_the_gui(talk: ProcessTalk) -> None:
    talk.send("isready")
    assert [line for line in talk.until("readyok") if "stray" in line] == []
    assert talk.end() == []


def test_no_long_garbage_collection_falls_into_a_move() -> None:
    """A collection holds all threads of Python; with all that an engine loads it lasts longer than a short byoyomi."""
    talk = fake("collects")
    talk.ready().send("position startpos", "go byoyomi 100")
    words = talk.until("bestmove")[0].split()
    looked_at, kept_out = (int(word) for word in words if word.isdigit())
    assert kept_out > 10_000
    assert looked_at < kept_out / 10
    talk.kill()


@pytest.mark.parametrize("last", ["quit", None])
def test_a_search_is_left_without_a_word(last: str | None) -> None:
    talk = fake("endless")
    talk.ready().send("position startpos", "go infinite")
    talk.until("info")
    assert talk.end(*([last] if last else [])) == []


@pytest.mark.parametrize("last", ["quit", None])
def test_an_engine_that_takes_for_ever_to_start_is_left_too(last: str | None) -> None:
    talk = fake("slow")
    talk.send("isready", "position startpos", "go infinite")
    assert set(talk.said()) <= {""}
    assert talk.end(*([last] if last else [])) == []


def test_everything_piped_at_once_and_closed() -> None:
    script = "usi\nisready\nusinewgame\nposition startpos\ngo infinite\nstop\nquit\n"
    done = subprocess.run([sys.executable, FAKE], input=script.encode(), capture_output=True, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[: len(identity())] == identity()
    assert all(line.split(" ")[0] in ("info", "readyok", "bestmove", "") for line in lines[len(identity()) :])


def test_a_dying_search_thread_is_reported_to_the_gui_and_not_on_stderr() -> None:
    talk = fake("dies")
    talk.ready().send("go byoyomi 10")
    lines = talk.until("bestmove")
    assert lines[-2:] == ["info string error ZeroDivisionError: in the search", "bestmove 2g2f"]
    assert talk.end("quit") == []


def test_a_gui_that_reads_nothing_and_dies_does_not_leave_the_process_behind() -> None:
    process = talkative()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()  # with megabytes still to come, and stdin left open
    assert process.wait(60) == 0
    process.stdin.close()


def test_quit_does_not_wait_for_a_gui_that_has_stopped_reading() -> None:
    process = talkative()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"quit\n")
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def test_usi_is_answered_without_numba() -> None:
    """It takes a second to import, and GUIs are impatient before usiok."""
    code = (
        "import sys, usi.main, usi.session; usi.session.identity(); "
        "print(sorted({'numba', 'numpy', 'rich', 'argparse'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"


def test_the_real_program_greets() -> None:
    talk = ProcessTalk(OWN_PROGRAM)
    talk.send("usi")
    assert talk.until("usiok") == identity()
    assert talk.end("quit") == []
