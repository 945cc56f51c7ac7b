"""The real engine over real pipes: the checklist of what GUIs and scripts do to an engine."""

from __future__ import annotations

import asyncio
import importlib.util
import random
from collections.abc import Iterator
from pathlib import Path

import cshogi
import pyffish
import pytest
from conversation import OWN_PROGRAM, ProcessTalk
from usi_protocol import Answer, Game, UsiLimit, open_process

from usi.session import identity

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("engine.search.engine"), reason="there is no search yet")

MATED = "sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
ONE_MOVE = "sfen 8k/9/9/9/9/9/9/9/4K2R1 w - 1"
MATE_IN_1 = "sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MATE_IN_3 = "sfen 7nl/7k1/7pp/6R2/9/9/9/9/4K4 b GS 1"
NO_OWN_KING = "sfen 4k4/9/4P4/9/9/9/9/9/9 b G2r2b3g4s4n4l17p 1"
HARD_MATE = "sfen 1pG1B4/Gs+P6/pP7/n1ls5/3k5/nL4+r1b/1+p1p+R4/1S7/2N5K b SP2gn2l11p 1"  # 69 plies
NOTHING_IN_HAND = "sfen 8k/9/9/9/9/9/9/9/4K4 b 18p 1"
MOST_MOVES = "sfen R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
CLOCK = "go btime 0 wtime 0 byoyomi 300"
SMALL = ("setoption name USI_Hash value 16", "setoption name MinimumThinkingTime value 0")


@pytest.fixture(scope="module")
def process() -> Iterator[ProcessTalk]:
    talk = ProcessTalk(OWN_PROGRAM)
    yield talk
    talk.kill()


@pytest.fixture
def talk(process: ProcessTalk) -> Iterator[ProcessTalk]:
    """The shared process with default options; whatever a test leaves running is its failure."""
    defaults = (line.split(" ") for line in identity() if line.startswith("option ") and " default " in line)
    values = ((words[2], words[words.index("default") + 1]) for words in defaults)
    process.ready(*(f"setoption name {name} value {value}" for name, value in values), *SMALL)
    yield process
    assert process.settle() == []


def legal(position: str, moves: list[str]) -> bool:
    """Whether moves can be played one after another."""
    board = cshogi.Board()
    board.set_position(position)
    return all(board.push_usi(move) != 0 for move in moves)


def uci(move: str, size: int) -> str:
    """A USI move as pyffish writes it on a board of that many files and ranks."""
    squares = str.maketrans({str(file): "abcdef"[size - file] for file in range(1, size + 1)})
    ranks = {letter: str(size - index) for index, letter in enumerate("abcdef"[:size])}

    def square(text: str) -> str:
        return text[0].translate(squares) + ranks[text[1]]

    if move[1] == "*":
        return f"{move[0]}@{square(move[2:4])}"
    return square(move[:2]) + square(move[2:4]) + move[4:]


def line_of(report: str) -> list[str]:
    return report.split(" pv ")[1].split(" ")


def move_of(answer: str) -> str:
    assert answer.startswith("bestmove ")
    return answer.split(" ")[1]


# ---------------------------------------------------------------- greeting and options


def test_usi_and_isready_are_answered_as_often_as_they_are_sent(talk: ProcessTalk) -> None:
    talk.send("usi", "isready", "usi", "isready")
    lines = [line for word in ("usiok", "usiok") for line in talk.until(word)]
    lines += [] if lines.count("readyok") == 2 else talk.until("readyok")
    lines += [] if lines.count("readyok") == 2 else talk.until("readyok")
    assert (lines.count("usiok"), lines.count("readyok")) == (2, 2)


def test_every_option_takes_its_own_default_and_refuses_junk(talk: ProcessTalk) -> None:
    for line in identity():
        words = line.split(" ")
        if words[0] != "option" or words[4] in ("button", "string", "filename"):
            continue
        talk.send(f"setoption name {words[2]} value junk of all kinds")
        assert len(talk.settle()) == 1
    talk.send("position startpos", "go depth 1")
    assert legal("startpos", [move_of(talk.answer())])


def test_a_network_that_is_not_there_is_said_and_the_engine_plays_on(talk: ProcessTalk, tmp_path: Path) -> None:
    folder = tmp_path / "my nets"
    talk.send(f"setoption name EvalDir value {folder}")
    assert any(str(folder) in line for line in talk.settle())
    talk.send("position startpos", "go depth 2")
    assert legal("startpos", [move_of(talk.answer())])


def test_a_hash_that_fits_no_machine_is_cut_down(talk: ProcessTalk) -> None:
    talk.send("setoption name USI_Hash value 1048576")
    assert len(talk.settle()) == 1
    talk.send("position startpos", "go depth 2")
    assert legal("startpos", [move_of(talk.answer())])


# ---------------------------------------------------------------- positions


@pytest.mark.parametrize(
    "line",
    [
        "position startpos",
        "position startpos moves",
        "position\tstartpos  moves\t7g7f   3c3d \t",
        "position sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -",
        "position lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 0",
        "position sfen 4k4/9/9/9/9/9/9/9/4K4 b PPPp2Gl10prb 1",
        f"position {NO_OWN_KING}",
        "position sfen 4k4/9/9/9/9/9/9/9/9 w r 1",
        "position sfen 9/9/9/9/4P4/9/9/9/9 b - 1",
        f"position {MOST_MOVES}",
    ],
)
def test_unusual_positions_are_played(talk: ProcessTalk, line: str) -> None:
    talk.send(line, CLOCK)
    assert len(move_of(talk.answer())) >= 4


@pytest.mark.parametrize(
    ("line", "token"),
    [
        ("position startpos moves 7g7f 3c3d 3c3d", "3c3d"),
        ("position startpos moves 7g7f 8h2b+", "8h2b+"),
        ("position startpos moves 5i5h 5a5b banana", "banana"),
        ("position sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSN b - 1", "LNSGKGSN"),
        ("position sfen 4k4/9/9/9/9/9/9/9/4K4 x - 1", "x"),
        ("position sfen 4k4/9/9/9/9/9/9/9/4K4 b 3R 1", "R"),
        ("position sfen 4k4/9/4P4/9/4P4/9/9/9/4K4 b - 1", "nifu"),
        ("position sfen 4k4/4R4/9/9/9/9/9/9/4K4 b - 1", "check"),
        ("position nowhere", "nowhere"),
    ],
)
def test_a_bad_position_is_named_and_resigned(talk: ProcessTalk, line: str, token: str) -> None:
    talk.send(line)
    (said,) = talk.settle()
    assert said.startswith("info string error")
    assert token in said
    talk.send(CLOCK)
    assert talk.answer() == "bestmove resign"
    talk.send("position startpos", "go depth 1")
    assert legal("startpos", [move_of(talk.answer())])


def test_a_game_of_500_plies(talk: ProcessTalk) -> None:
    moves = ["2h3h", "8b7b", "3h2h", "7b8b"] * 125
    talk.send(f"position startpos moves {' '.join(moves)}", "go depth 3")
    assert legal("startpos", [*moves, move_of(talk.answer())])


def test_bytes_that_are_not_utf8(talk: ProcessTalk) -> None:
    talk.send_bytes(b"\xff\xfe\x81\n\x93\xfa\x96\x7b\nsetoption name EvalDir value \x83\x5c\n")
    assert len(talk.settle()) >= 2
    talk.send("setoption name EvalDir value <empty>", "position startpos", "go depth 1")
    assert legal("startpos", [move_of(talk.answer())])


# ---------------------------------------------------------------- go


@pytest.mark.parametrize(
    "line",
    [
        "go btime 0 wtime 0",
        "go btime 1 wtime 1 byoyomi 0",
        "go btime 0 wtime 0 byoyomi 200",
        "go btime -100 wtime -100 byoyomi -1",
        "go btime wtime byoyomi",
        "go btime 1000 wtime 1000 binc 100 winc 100",
        "go byoyomi 100",
        "go movetime 50",
        "go movetime 0",
        "go rtime 50",
        "go depth 1",
        "go depth 4",
        "go depth 0",
        "go nodes 1",
        "go nodes 5000",
        "go depth 30 movetime 100",
        "go depth 30 nodes 2000 btime 60000 wtime 60000",
        "go depth 3 searchmoves 9g9f 1g1f",
        "go depth banana",
    ],
)
@pytest.mark.parametrize("position", ["startpos", "startpos moves 7g7f"])
def test_every_limit_ends_with_one_legal_move(talk: ProcessTalk, position: str, line: str) -> None:
    if "searchmoves" in line and position != "startpos":
        line = "go depth 3 searchmoves 9c9d 1c1d"
    talk.send(f"position {position}", line)
    answer = talk.answer().split(" ")
    assert legal(position, [answer[1], *answer[3:]])
    if "searchmoves" in line:
        assert answer[1] in line


def test_an_explicit_non_promotion_in_searchmoves_is_honoured(talk: ProcessTalk) -> None:
    """YaneuraOu #330."""
    talk.send("position startpos moves 7g7f 3c3d", "go depth 3 searchmoves 8h2b")
    assert move_of(talk.answer()) == "8h2b"


@pytest.mark.parametrize("line", ["go infinite", "go", "go infinite depth 2", "go ponder", "go ponder byoyomi 10"])
@pytest.mark.parametrize("position", [MATED, ONE_MOVE, MATE_IN_1])
def test_an_open_search_is_silent_until_stop(talk: ProcessTalk, line: str, position: str) -> None:
    talk.send(f"position {position}", line)
    for _ in range(20):
        assert [said for said in talk.settle() if not said.startswith("info")] == []
    talk.send("stop")
    move = move_of(talk.answer())
    assert (move == "resign") == (position == MATED)
    if move != "resign":
        assert legal(position, [move])


def test_a_mated_side_is_told_so(talk: ProcessTalk) -> None:
    talk.send(f"position {MATED}", "go depth 5")
    lines = talk.until("bestmove")
    assert lines[-1] == "bestmove resign"
    assert any("score mate -0" in line for line in lines)


def test_a_mate_is_found_and_its_line_is_legal(talk: ProcessTalk) -> None:
    talk.send(f"position {MATE_IN_1}", "go depth 3")
    lines = talk.until("bestmove")
    report = [line for line in lines if " pv " in line][-1]
    assert " score mate 1 " in report
    assert line_of(report) == ["G*5b"]


def test_stop_right_after_go_many_times(talk: ProcessTalk) -> None:
    for number in range(200):
        talk.send(
            "position startpos moves 7g7f", ("go infinite", "go ponder", CLOCK, "go depth 60")[number % 4], "stop"
        )
        assert legal("startpos moves 7g7f", [move_of(talk.answer())])


def test_stop_when_idle_says_nothing(talk: ProcessTalk) -> None:
    talk.send("stop", "stop", "ponderhit", "gameover win")
    assert talk.settle() == []


def test_go_during_a_search_is_stop_and_go(talk: ProcessTalk) -> None:
    talk.send("position startpos", "go infinite", "go infinite", "go depth 2")
    for _ in range(3):
        assert legal("startpos", [move_of(talk.answer())])


@pytest.mark.parametrize("count", [1, 3, 600])
def test_multipv_gives_that_many_lines_or_all_legal_moves(talk: ProcessTalk, count: int) -> None:
    position = "sfen 4k4/9/9/9/9/9/9/9/4K4 b - 1"
    talk.send(f"setoption name MultiPV value {count}", f"position {position}", "go depth 3")
    reports = [line for line in talk.until("bestmove") if " pv " in line and "bound" not in line]
    final = [line for line in reports if line.startswith("info depth 3 ")]
    assert len({line_of(line)[0] for line in final}) == min(count, 5)
    assert all(legal(position, line_of(line)) for line in reports)
    scores = [int(line.split(" score cp ")[1].split(" ")[0]) for line in final]
    assert scores == sorted(scores, reverse=True)


def test_the_same_search_twice_looks_at_the_same_nodes(talk: ProcessTalk) -> None:
    ends = []
    for _ in range(2):
        talk.send("isready", "usinewgame", "position startpos moves 7g7f 3c3d", "go depth 6")
        lines = talk.until("bestmove")
        words = [line for line in lines if " pv " in line][-1].split(" ")
        ends.append((words[words.index("nodes") + 1], words[words.index("pv") :], lines[-1]))
    assert ends[0] == ends[1]


def test_every_line_is_legal_to_its_end(talk: ProcessTalk) -> None:
    rng = random.Random(4)
    board = cshogi.Board()
    for _ in range(12):
        board.push(rng.choice(list(board.legal_moves)))
        if board.is_game_over():
            break
        position = f"sfen {board.sfen()}"
        talk.send(f"position {position}", "go depth 5")
        lines = talk.until("bestmove")
        for line in lines:
            if " pv " in line:
                assert legal(position, line_of(line)), line
        board.push_usi(move_of(lines[-1]))
        if board.is_game_over():
            break


# ---------------------------------------------------------------- pondering, gameover, mate


@pytest.mark.parametrize("end", ["ponderhit", "stop", "gameover lose"])
def test_pondering_is_ended_by_one_answer(talk: ProcessTalk, end: str) -> None:
    position = "startpos moves 7g7f 3c3d"
    talk.send(f"position {position}", "go ponder btime 500 wtime 500 byoyomi 100")
    talk.settle()
    talk.send(end)
    assert legal(position, [move_of(talk.answer())])


def test_early_pondering_gets_its_clock_later(talk: ProcessTalk) -> None:
    talk.send("position startpos moves 7g7f 3c3d", "go ponder")
    talk.settle()
    talk.send("ponderhit btime 500 wtime 500 byoyomi 100")
    assert legal("startpos moves 7g7f 3c3d", [move_of(talk.answer())])


def test_gameover_during_a_search_then_the_next_game(talk: ProcessTalk) -> None:
    for _ in range(10):
        talk.send("position startpos", "go btime 600000 wtime 600000", "gameover draw", "isready", "usinewgame")
        lines = [line for line in talk.until("readyok") if not line.startswith("info") and line]
        assert [line.split(" ")[0] for line in lines] == ["bestmove", "readyok"]
    talk.send("position startpos", CLOCK)
    assert legal("startpos", [move_of(talk.answer())])


@pytest.mark.parametrize(
    ("position", "plies"),
    [(MATE_IN_1, 1), (MATE_IN_3, 3), (NO_OWN_KING, 1), (NOTHING_IN_HAND, 0), ("startpos", 0), (MATED, 0)],
)
@pytest.mark.parametrize("go", ["go mate 60000", "go mate infinite"])
def test_a_mate_search_answers_line_or_nomate(talk: ProcessTalk, position: str, plies: int, go: str) -> None:
    talk.send(f"position {position}", go)
    words = talk.answer().split(" ")
    assert words[0] == "checkmate"
    if plies == 0:
        assert words[1:] == ["nomate"]
        return
    assert len(words) == 1 + plies
    if position != NO_OWN_KING:
        board = cshogi.Board()
        board.set_position(position)
        for move in words[1:]:
            assert board.push_usi(move) != 0
        assert board.is_game_over()


@pytest.mark.parametrize("go", ["go mate 30", "go mate infinite"])
def test_a_mate_search_that_may_not_end_says_timeout(talk: ProcessTalk, go: str) -> None:
    for _ in range(3):
        talk.send(f"position {HARD_MATE}", go, *(["stop"] if "infinite" in go else []))
        assert talk.answer() == "checkmate timeout"
    talk.send(f"position {MATE_IN_1}", "go depth 2")
    assert move_of(talk.answer()) == "G*5b"


# ---------------------------------------------------------------- the small boards


@pytest.mark.parametrize("option", ["USI_Variant", "UCI_Variant"])
@pytest.mark.parametrize("variant", ["judkins", "minishogi"])
def test_a_game_on_a_small_board(talk: ProcessTalk, option: str, variant: str) -> None:
    talk.send(f"setoption name {option} value {variant}", "isready", "usinewgame")
    assert talk.until("readyok") == ["readyok"]
    start, width = pyffish.start_fen(variant), {"judkins": 6, "minishogi": 5}[variant]
    moves: list[str] = []
    for _ in range(12):
        talk.send(" ".join(["position startpos", *(["moves", *moves] if moves else [])]), "go depth 4")
        move = move_of(talk.answer())
        if move == "resign":
            break
        assert uci(move, width) in pyffish.legal_moves(variant, start, [uci(text, width) for text in moves])
        moves.append(move)


# ---------------------------------------------------------------- the life of the process


@pytest.mark.parametrize(
    ("go", "last"),
    [
        ("go infinite", "quit"),
        ("go infinite", None),
        ("go ponder", None),
        ("go btime 600000 wtime 600000", "quit"),
        (None, None),
    ],
)
def test_quit_and_end_of_input_leave_at_once_and_quietly(go: str | None, last: str | None) -> None:
    talk = ProcessTalk(OWN_PROGRAM)
    talk.ready(*SMALL)
    if go is not None:
        talk.send("position startpos", go)
        talk.settle()
    lines = talk.end(*([last] if last else []))
    assert [line for line in lines if not line.startswith("info depth")] == []


def test_quit_in_the_middle_of_a_first_compilation(tmp_path: Path) -> None:
    talk = ProcessTalk(OWN_PROGRAM, NARIKIN_CACHE_DIR=str(tmp_path))
    talk.send("isready")
    assert "compiling" in talk.until("info")[-1]
    assert set(talk.end("quit")) <= {""}


def test_everything_at_once_then_the_end_of_the_input() -> None:
    talk = ProcessTalk(OWN_PROGRAM)
    talk.send("usi", *SMALL, "isready", "usinewgame", "position startpos moves 7g7f", "go depth 3", "stop", "isready")
    lines = [line for word in ("readyok", "readyok") for line in talk.until(word)]
    assert [line.split(" ")[0] for line in lines if line.split(" ")[0] in ("usiok", "readyok", "bestmove")] == [
        "usiok",
        "readyok",
        "bestmove",
        "readyok",
    ]
    assert talk.end() == []


def test_a_strict_gui_plays_a_game() -> None:
    """python-chess's protocol base as a GUI that takes note of every breach."""

    async def play() -> None:
        _, gui = await open_process(OWN_PROGRAM)
        await gui.configure({"USI_Hash": 16, "MinimumThinkingTime": 0, "Threads": 2})
        await gui.new_game()
        moves: list[str] = []
        for _ in range(16):
            clock = UsiLimit(black_clock=1, white_clock=1, black_inc=0.05, white_inc=0.05)
            answer: Answer = await gui.search(Game(None, tuple(moves)), clock)
            assert legal("startpos", [*moves, answer.move])
            moves.append(answer.move)
            if answer.ponder:
                pondering = UsiLimit(black_clock=1, white_clock=1, byoyomi=0.05, ponder=True)
                guess = Game(None, (*moves, answer.ponder))
                reply = await gui.search(guess, pondering, then=["ponderhit"] if len(moves) % 2 else ["stop"])
                assert legal("startpos", [*guess.moves, reply.move])
        await gui.send_game_result(None, True)
        await gui.new_game()
        await gui.quit()
        assert gui.violations == []
        assert gui.open_searches == 0

    asyncio.run(play())
