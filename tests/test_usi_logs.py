"""What ShogiHome really sent, replayed: the transcripts of its own end-to-end tests against our session."""

from __future__ import annotations

from pathlib import Path

import cshogi
import pytest
from conversation import OWN_PROGRAM, Conversation, ProcessTalk
from fake_engine import FakeEngine

from engine.search.limits import Limits, Result
from usi.protocol import BestMove, Debug, Go, PonderHit, Unknown, format_command, parse_command, parse_reply

ROOT = Path(__file__).resolve().parent
FOLDER = next(
    (up / "shared" / "testdata" / "usi_logs" for up in ROOT.parents if (up / "shared").is_dir()), ROOT / "none"
)
LOGS = sorted(FOLDER.glob("*.log"))

pytestmark = pytest.mark.skipif(not LOGS, reason="the transcripts in ../shared/testdata/usi_logs are not here")
each_log = pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)


def lines_of(log: Path, direction: str) -> list[str]:
    """The lines that the engine received ("recv") or sent ("send")."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(f"{direction}:") for line in lines if line.startswith(f"{direction}:")]


@each_log
def test_every_line_of_the_gui_is_understood(log: Path) -> None:
    for line in lines_of(log, "recv"):
        command = parse_command(line)
        assert not isinstance(command, Unknown | Debug | None), line
        if isinstance(command, Go):
            assert command.complaints == ()
        if not isinstance(command, Go | PonderHit):  # their words may come in another order
            assert format_command(command) == line


@each_log
def test_every_line_of_the_engine_is_understood(log: Path) -> None:
    for line in lines_of(log, "send"):
        assert not isinstance(parse_reply(line), Unknown), line


@each_log
def test_the_conversation_goes_as_it_went(log: Path) -> None:
    """The same answers to every go, one each, and no word in between."""
    sent = [parse_reply(line) for line in lines_of(log, "send")]
    moves = [reply for reply in sent if isinstance(reply, BestMove)]
    engine = FakeEngine()
    talk = Conversation(engine)
    answers: list[str] = []
    expected: list[BestMove] = []
    pondering = False
    for line in lines_of(log, "recv"):
        command = parse_command(line)
        if isinstance(command, Go):
            # the last ponder search of a game may have been cut off by quit; an answer is due all the same
            expected.append(moves[len(expected)] if len(expected) < len(moves) else BestMove("resign"))
            engine.result = Result(expected[-1].move, expected[-1].ponder)
            pondering = command.limits.ponder
        if line == "quit":
            break
        talk.send(line)
        if line == "usi":
            talk.until("usiok")
        elif line == "isready":
            assert talk.until("readyok")[-1] == "readyok"
        elif isinstance(command, Go) and pondering:
            assert [said for said in talk.settle() if not said.startswith("info")] == []
        elif isinstance(command, Go | PonderHit) or (line == "stop" and pondering):
            answers.append(talk.answer())
            pondering = False
    assert answers == [f"bestmove {move.move}" + (f" ponder {move.ponder}" if move.ponder else "") for move in expected]
    assert talk.end("quit") == []
    limits: list[Limits] = [call[0] for call in engine.called("go")]
    assert len(limits) == len(expected)


def sound(position: str, move: str, declares: bool) -> bool:
    """Whether an answer is what the position asks for: a declaration, a resignation when mated, else a legal move."""
    board = cshogi.Board()
    board.set_position(position)
    if declares or board.is_game_over():
        return move == ("win" if declares else "resign")
    return board.push_usi(move) != 0


def test_the_real_engine_plays_through_them_all() -> None:
    """One process, one game after another; every answer legal, and the declaration of scenario 3 made."""
    talk = ProcessTalk(OWN_PROGRAM)
    talk.send("setoption name USI_Hash value 16", "setoption name DepthLimit value 2")
    searches = 0
    for log in LOGS:
        position, pondering = "startpos", False
        for line in lines_of(log, "recv"):
            command = parse_command(line)
            if line == "quit":
                break
            if line.startswith("setoption name USI_Hash"):
                continue
            talk.send(line)
            if line == "usi":
                talk.until("usiok")
            elif line == "isready":
                talk.until("readyok")
            elif line.startswith("position "):
                position = line.removeprefix("position ")
            elif isinstance(command, Go) and command.limits.ponder:
                pondering = True
                assert [said for said in talk.settle() if not said.startswith("info")] == []
            elif isinstance(command, Go | PonderHit) or (line == "stop" and pondering):
                pondering = False
                searches += 1
                move = talk.answer().split(" ")[1]
                assert sound(position, move, declares=log.stem.endswith("_03")), (log.stem, position, move)
        talk.send("gameover draw")
    assert searches > 100
    assert talk.settle() == []
    assert talk.end("quit") == []
