"""The tools of `narikin`, with fake engines: what they print, and how they refuse."""

from __future__ import annotations

import io
import json
import os
import queue
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine

import usi.session
from engine.search.limits import Info, Limits, Result
from usi import __version__, commands
from usi.commands import analyse, where
from usi.commands._arguments import read_position
from usi.commands.bench import POSITIONS
from usi.main import main
from usi.protocol import MATE_LENGTH_UNKNOWN, Position
from usi.thinker import UsiThinker

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = [sys.executable, str(ROOT / "tests" / "scripted_engine.py")]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine()
    lines = [Info(3, 4, 5, 60, 0, 0, 1, 30, pv=["7g7f", "3c3d"]), Info(3, 4, 5, 60, 0, 0, 2, -7, pv=["2g2f"])]
    engine.infos = [*lines, Info(4, nodes=70, score_cp=99, bound="lower", pv=["9g9f"])]
    engine.result = Result("7g7f", "3c3d", 30, None, 70, 3, 7, lines)
    monkeypatch.setattr(usi.session, "make_engine", lambda *settings: engine)
    monkeypatch.setattr(usi.session, "start_notice", lambda: None)
    return engine


# ---------------------------------------------------------------- the command itself


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["bogus"], "bogus"),
        (["analyse"], "position"),
        (["analyse", "startpos", "--depth", "0"], "0 is not within"),
        (["analyse", "startpos", "--depth", "deep"], "'deep' is no whole number"),
        (["analyse", "startpos", "--variant", "chess"], "chess"),
        (["analyse", "nowhere"], "nowhere"),
        (["analyse", "4k4/9/9/9/9/9/9/9/4X4", "b", "-", "1"], "'X'"),
        (["analyse", "4k4/9/9/9/9/9/9/9/4K4 b - 1", "--variant", "minishogi"], "minishogi has 5"),
        (["analyse", "startpos", "moves", "7g7z"], "'7z'"),
        (["analyse", "startpos", "--option", "A=1"], "--engine"),
        (["analyse", "startpos", "--engine", "/no/such/engine"], "/no/such/engine"),
        (["analyse", "startpos", "--engine", "x", "--option", "A"], "NAME=VALUE"),
        (["perft", "-1"], "-1"),
        (["perft", "2", "--sfen", "9/9 b - 1"], "2 ranks"),
        (["bench", "--depth", "999"], "999"),
        (["where", "is", "it"], "is it"),
        (["--bogus"], "COMMAND"),
    ],
)
def test_bad_input_gives_one_line_on_stderr_and_an_exit_code(
    capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    try:
        code = main(words)
    except SystemExit as exit:
        code = int(exit.code or 0)
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("narikin")
    assert complaint in err


def test_a_bug_is_one_line_too_and_shows_its_place_on_demand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(where, "run", lambda arguments: {}["key"])
    assert main(["where"]) == 2
    assert capsys.readouterr().err == "narikin: error: KeyError: 'key' (a bug; NARIKIN_DEBUG=1 shows where)\n"
    monkeypatch.setenv("NARIKIN_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["where"])


def test_help_lists_every_command_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    names = commands.names()
    assert {"analyse", "bench", "perft", "warmup", "where"} <= set(names)
    for name in names:
        assert commands.summary(name)
        assert f"{name} {commands.summary(name)}" in text


def test_every_command_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in commands.names():
        with pytest.raises(SystemExit) as exit:
            main([name, "--help"])
        assert exit.value.code == 0
        assert f"narikin {name}" in capsys.readouterr().out


def test_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"Narikin {__version__}\n"
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_code_page_that_lacks_a_character_is_survived() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp437", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "usi", "analyse", "将棋"]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_output_cut_off_by_a_pipe_is_no_error() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    code = "import sys; from usi.main import main; from usi.commands import where; " + (
        "where.run = lambda a: [print('x' * 9000, flush=True) for _ in range(99)] and 0; sys.exit(main(['where']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


def test_where_prints_the_script_that_was_called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "narikin.exe" if sys.platform == "win32" else "narikin"
    (tmp_path / name).write_text("")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "narikin"), "where"])
    assert main(["where"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / name}\n"


def test_where_says_so_when_nothing_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "pytest")])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(where.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["where"]) == 2
    assert "pip install" in capsys.readouterr().err


# ---------------------------------------------------------------- positions


@pytest.mark.parametrize(
    ("words", "variant", "position"),
    [
        (["startpos"], "judkins", Position()),
        (["startpos", "moves", "7g7f"], "shogi", Position(None, ("7g7f",))),
        (["4k4/9/9/9/9/9/9/9/4K4 b Pp2G x"], "shogi", None),
        (["position sfen 4k4/9/9/9/9/9/9/9/4K4 b - 1"], "shogi", Position("4k4/9/9/9/9/9/9/9/4K4 b - 1")),
        (["4k4/9/9/9/9/9/9/9/4K4", "b", "-"], "shogi", Position("4k4/9/9/9/9/9/9/9/4K4 b - 1")),
        (["2-piece"], "shogi", Position("lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1")),
        (["bishop", "moves", "4a3b"], "minishogi", Position("r1sgk/4p/5/P4/KGSBR w - 1", ("4a3b",))),
    ],
)
def test_positions_are_read_in_every_form(words: list[str], variant: str, position: Position | None) -> None:
    if position is None:
        with pytest.raises(ValueError, match="move number"):
            read_position(words, variant)
    else:
        assert read_position(words, variant) == position


def test_bench_positions_are_sound_and_different() -> None:
    assert len(set(POSITIONS)) == len(POSITIONS) == 24
    assert {variant for variant, _ in POSITIONS} == {"shogi", "judkins", "minishogi"}
    for variant, text in POSITIONS:
        read_position([text], variant)


# ---------------------------------------------------------------- analyse


def test_analyse_prints_a_row_a_line_and_the_move(fake: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "startpos", "moves", "7g7f", "3c3d", "--depth", "3", "--multipv", "2"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["depth", "line", "score", "nodes", "seconds", "moves"]
    assert rows[1] == ["3", "1", "+30", "60", "0.01", "7g7f", "3c3d"]
    assert rows[2] == ["3", "2", "-7", "60", "0.01", "2g2f"]
    assert " ".join(rows[3]) == "best move 7g7f, expecting 3c3d (+30; 70 nodes, 10000 nodes/s)"
    assert len(rows) == 4  # the bound at depth 4 is no row
    assert fake.called("set_position") == [(None, ("7g7f", "3c3d"))]
    assert ("multipv", 2) in fake.called("set_option")
    limits: Limits = fake.called("go")[0][0]
    assert (limits.depth, limits.nodes, limits.movetime) == (3, None, None)


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ([], (analyse.DEFAULT_DEPTH, None, None)),
        (["--nodes", "5"], (None, 5, None)),
        (["--movetime", "6", "--depth", "7"], (7, None, 6)),
    ],
)
def test_analyse_limits(fake: FakeEngine, words: list[str], limits: tuple) -> None:
    assert main(["analyse", "startpos", *words]) == 0
    given: Limits = fake.called("go")[0][0]
    assert (given.depth, given.nodes, given.movetime) == limits


def test_analyse_json(fake: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "startpos", "--depth", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "variant": "shogi",
        "sfen": "startpos",
        "moves": [],
        "bestmove": "7g7f",
        "ponder": "3c3d",
        "depth": 3,
        "nodes": 70,
        "time_ms": 7,
        "score_cp": 30,
        "mate": None,
        "lines": [
            {"multipv": 1, "depth": 3, "seldepth": 4, "score_cp": 30, "mate": None, "pv": ["7g7f", "3c3d"]},
            {"multipv": 2, "depth": 3, "seldepth": 4, "score_cp": -7, "mate": None, "pv": ["2g2f"]},
        ],
    }


def test_analyse_keeps_one_table_on_a_terminal(
    fake: FakeEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["analyse", "startpos", "--depth", "3"]) == 0
    out = capsys.readouterr().out
    assert "3/4" in out
    assert "+30" in out
    assert "7g7f 3c3d" in out
    assert "best move 7g7f" in out


def test_ctrl_c_ends_the_thinking_and_keeps_what_was_found(
    fake: FakeEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.endless = True

    class Queue(queue.SimpleQueue):  # type: ignore[type-arg]
        interrupted = False

        def get(self, *arguments: Any, **settings: Any) -> Any:
            if not Queue.interrupted:
                Queue.interrupted = True
                raise KeyboardInterrupt
            return super().get(*arguments, **settings)

    monkeypatch.setattr("usi.thinker.queue.SimpleQueue", Queue)
    assert main(["analyse", "startpos", "--depth", "99"]) == 0
    assert fake.called("stop") == [()]
    assert "best move 7g7f" in capsys.readouterr().out


def test_a_table_that_does_not_fit_is_said_on_stderr(fake: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "startpos", "--hash", "1024", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "narikin: hash cut down to 512 MB\n"
    assert json.loads(out)["bestmove"] == "7g7f"


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (Info(score_cp=5), "+5"),
        (Info(score_cp=-120), "-120"),
        (Info(score_cp=0), "+0"),
        (Info(mate=7), "mate in 7"),
        (Info(mate=-4), "mated in 4"),
        (Info(mate=0), "mated"),
        (Info(mate=MATE_LENGTH_UNKNOWN), "mate"),
        (Info(mate=-MATE_LENGTH_UNKNOWN), "mated"),
        (Info(), ""),
    ],
)
def test_scores_as_people_read_them(info: Info, text: str) -> None:
    assert analyse.score_text(info) == text


def test_any_usi_engine_can_do_the_thinking(capsys: pytest.CaptureFixture[str]) -> None:
    command = shlex.join(SCRIPT)
    words = ["analyse", "startpos", "--depth", "2", "--engine", command, "--option", "skill level=3", "--multipv", "2"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "options [('Skill Level', '3')]" not in out  # said at isready, before the report begins
    rows = [line.split() for line in out.splitlines()]
    assert rows[1] == ["1", "1", "+12", "30", "0.00", "7g7f", "3c3d"]
    assert rows[2] == ["1", "2", "+5", "0", "0.00", "2g2f"]
    assert out.splitlines()[-1].startswith("best move 7g7f, expecting 3c3d (+12; 30 nodes")


def test_options_of_an_engine_reach_it_and_undeclared_ones_of_ours_do_not() -> None:
    log: list[str] = []
    options = {"Skill Level": 4, "MultiPV": 2, "Own": "x"}
    thinker = UsiThinker(shlex.join(SCRIPT), "shogi", options, lambda entry: log.append(entry.text))
    thinker.close()
    assert "setoption name Skill Level value 4" in log
    assert "setoption name Own value x" in log
    assert not any("MultiPV" in line for line in log)


def test_an_engine_that_does_not_play_the_variant_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "startpos", "--variant", "judkins", "--engine", shlex.join(SCRIPT)]) == 2
    assert capsys.readouterr().err == "narikin: error: Scripted One does not play judkins\n"


def test_a_crash_of_the_thinking_engine_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "startpos", "--engine", shlex.join([*SCRIPT, "crash"])]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "exit code 7" in err


# ---------------------------------------------------------------- bench, perft, warmup


def test_bench_prints_rows_and_the_signature(fake: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--depth", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 26
    assert lines[0].split() == ["1", "shogi", "70", "nodes", "7", "ms", "+30", "7g7f"]
    assert lines[-1] == f"signature {24 * 70}"
    assert len(fake.called("new_game")) == 24


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["0"], 1),
        (["1"], 30),
        (["3"], 25470),
        (["2", "--variant", "judkins"], 336),
        (["2", "--variant", "minishogi"], 181),
        (["1", "--sfen", "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"], 593),
        (["2", "--sfen", "startpos moves 7g7f 3c3d"], None),
    ],
)
def test_perft(capsys: pytest.CaptureFixture[str], words: list[str], count: int | None) -> None:
    assert main(["perft", *words]) == 0
    line = capsys.readouterr().out
    assert line.startswith(f"perft {words[0]}: {'' if count is None else f'{count} '}")


def test_perft_divide_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perft", "2", "--divide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    counts = dict(line.split(": ") for line in lines[:-1])
    assert len(counts) == 30
    assert sum(map(int, counts.values())) == 900
    assert counts["7g7f"] == "30"
    assert lines[-1].startswith("perft 2: 900 ")


def test_perft_names_an_illegal_move(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perft", "2", "--sfen", "startpos moves 7g7e"]) == 2
    assert capsys.readouterr().err == "narikin: error: illegal move '7g7e'\n"


def test_warmup_says_what_it_did(fake: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "compiled code is there already"
    assert lines[1:4] == ["shogi ...", "judkins ...", "minishogi ..."]
    assert lines[4].startswith("ready after ")
    assert "kept in" in lines[5]
    assert len(fake.called("go")) == 6


def test_reports_reach_any_stream(monkeypatch: pytest.MonkeyPatch, fake: FakeEngine) -> None:
    """A stream that cannot be reconfigured, as inside other programs."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["analyse", "startpos", "--json"]) == 0
    assert json.loads(stream.getvalue())["bestmove"] == "7g7f"
