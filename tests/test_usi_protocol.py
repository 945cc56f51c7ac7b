"""USI lines to dataclasses and back, both ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.search.limits import Info, Limits
from usi.options import OPTIONS, OptionError, OptionValues, canonical
from usi.protocol import (
    MATE_LENGTH_UNKNOWN,
    BestMove,
    Checkmate,
    Debug,
    GameOver,
    Go,
    Id,
    IsReady,
    OptionLine,
    PonderHit,
    Position,
    ProtocolError,
    Quit,
    ReadyOk,
    SetOption,
    Stop,
    Unknown,
    Usi,
    UsiNewGame,
    UsiOk,
    decode_line,
    encode_lines,
    format_bestmove,
    format_checkmate,
    format_command,
    format_id,
    format_info,
    format_mate,
    format_option,
    parse_command,
    parse_reply,
)

BOARD = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("usi", Usi()),
        ("\ufeffusi", Usi()),
        ("  isready \r\n", IsReady()),
        ("usinewgame\r", UsiNewGame()),
        ("stop", Stop()),
        ("quit\n", Quit()),
        ("gameover win", GameOver("win")),
        ("gameover", GameOver("")),
        ("debug on", Debug(True)),
        ("debug off", Debug(False)),
        ("hello  there", Unknown("hello  there")),
        ("Usi", Unknown("Usi")),
        ("ponderhit", PonderHit()),
        ("", None),
        (" \t\r\n", None),
    ],
)
def test_simple_commands(line: str, command: object) -> None:
    assert parse_command(line) == command


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("setoption name USI_Hash value 32", "USI_Hash", "32"),
        ("setoption\tname  Clear Hash ", "Clear Hash", None),
        ("setoption name EvalDir value C:\\Program Files\\my  net\r\n", "EvalDir", "C:\\Program Files\\my  net"),
        ("setoption name EvalFile value /home/金/n n.bin", "EvalFile", "/home/金/n n.bin"),
        ("setoption name EvalFile value", "EvalFile", ""),
        ("setoption name EvalFile value ", "EvalFile", ""),
        ("setoption name EvalFile value <empty>", "EvalFile", "<empty>"),
        ("setoption name Skill Level value 3", "Skill Level", "3"),
        ("setoption name Book value value of books", "Book", "value of books"),
    ],
)
def test_setoption_takes_names_and_values_with_blanks(line: str, name: str, value: str | None) -> None:
    assert parse_command(line) == SetOption(name, value)


@pytest.mark.parametrize("line", ["setoption", "setoption USI_Hash 32", "setoption name"])
def test_setoption_without_a_name_is_refused(line: str) -> None:
    with pytest.raises(ProtocolError, match="setoption"):
        parse_command(line)


@pytest.mark.parametrize(
    ("line", "sfen", "moves"),
    [
        ("position startpos", None, ()),
        ("position startpos moves", None, ()),
        ("position startpos moves 7g7f 3c3d P*5e", None, ("7g7f", "3c3d", "P*5e")),
        (f"position sfen {BOARD} b - 1", f"{BOARD} b - 1", ()),
        (f"position sfen {BOARD} b -", f"{BOARD} b -", ()),
        (f"position\t sfen  {BOARD}\tb  -   1  moves\t 7g7f \r\n", f"{BOARD} b - 1", ("7g7f",)),
        (f"position {BOARD} w 2Pp 5 moves 3c3d", f"{BOARD} w 2Pp 5", ("3c3d",)),
    ],
)
def test_position(line: str, sfen: str | None, moves: tuple[str, ...]) -> None:
    assert parse_command(line) == Position(sfen, moves)


@pytest.mark.parametrize(
    ("line", "token"),
    [
        ("position", "nothing"),
        ("position start", "'start'"),
        ("position startpos 7g7f", "'7g7f'"),
        ("position sfen", "sfen"),
        ("position sfen moves 7g7f", "sfen"),
    ],
)
def test_position_errors_name_the_bad_token(line: str, token: str) -> None:
    with pytest.raises(ProtocolError, match=token):
        parse_command(line)


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ("go", Limits(infinite=True)),
        ("go infinite", Limits(infinite=True)),
        ("go ponder", Limits(ponder=True)),
        ("go btime 100 wtime 200 byoyomi 300", Limits(btime=100, wtime=200, byoyomi=300)),
        ("go btime 100 wtime 200 binc 3 winc 4", Limits(btime=100, wtime=200, binc=3, winc=4)),
        ("go ponder btime 1 wtime 2 byoyomi 3", Limits(btime=1, wtime=2, byoyomi=3, ponder=True)),
        ("go byoyomi 500", Limits(btime=0, wtime=0, byoyomi=500)),
        ("go btime 0 wtime 0", Limits(btime=0, wtime=0)),
        ("go btime -50 wtime -1 byoyomi -3", Limits(btime=0, wtime=0)),
        ("go btime 1000.5 wtime 1", Limits(btime=1000, wtime=1)),
        ("go depth 5", Limits(depth=5)),
        ("go depth 0", Limits(depth=1)),
        ("go nodes 1000", Limits(nodes=1000)),
        ("go movetime 50", Limits(movetime=50)),
        ("go rtime 50", Limits(movetime=50)),
        ("go mate infinite", Limits(mate=-1)),
        ("go mate 1500", Limits(mate=1500)),
        ("go mate", Limits(mate=-1)),
        ("go depth 3 nodes 9 movetime 7", Limits(depth=3, nodes=9, movetime=7)),
        ("go depth 3 infinite", Limits(depth=3, infinite=True)),
        ("go depth 3 searchmoves 7g7f P*5e 8h2b+", Limits(depth=3, searchmoves=["7g7f", "P*5e", "8h2b+"])),
        ("go searchmoves 7g7f depth 3", Limits(depth=3, searchmoves=["7g7f"])),
        ("go searchmoves 7g7f", Limits(infinite=True, searchmoves=["7g7f"])),
        ("go movestogo 5 btime 1 wtime 1", Limits(btime=1, wtime=1)),
    ],
)
def test_go(line: str, limits: Limits) -> None:
    assert parse_command(line) == Go(limits)


@pytest.mark.parametrize(
    ("line", "limits", "complaint"),
    [
        ("go btime", Limits(btime=0, wtime=0), "btime"),
        ("go btime wtime 5", Limits(btime=0, wtime=5), "btime"),
        ("go btime soon wtime 5", Limits(btime=0, wtime=5), "'soon'"),
        ("go depth five", Limits(depth=1), "'five'"),
        ("go depth -3", Limits(depth=1), "depth -3 is negative"),
        ("go dept 5", Limits(infinite=True), "'dept'"),
        ("go nodes 99999999999999999999999999", Limits(nodes=1), "no number"),
        ("go movetime ４", Limits(movetime=0), "no number"),
    ],
)
def test_go_with_bad_words_still_has_a_limit_and_says_what_was_wrong(line: str, limits: Limits, complaint: str) -> None:
    command = parse_command(line)
    assert isinstance(command, Go)
    assert command.limits == limits
    assert complaint in " ".join(command.complaints)


def test_ponderhit_may_carry_the_times() -> None:
    command = parse_command("ponderhit btime 34000 wtime 33000 binc 5000 winc 5000")
    assert command == PonderHit(Limits(btime=34000, wtime=33000, binc=5000, winc=5000))
    assert parse_command("ponderhit now") == PonderHit(None, ("ponderhit: unknown word 'now'",))
    assert parse_command("ponderhit btime x") == PonderHit(
        Limits(btime=0, wtime=0), ("ponderhit: btime 'x' is no number",)
    )


@pytest.mark.parametrize(
    "line",
    [
        "usi",
        "isready",
        "usinewgame",
        "stop",
        "quit",
        "gameover lose",
        "ponderhit",
        "ponderhit btime 1 wtime 2 byoyomi 3",
        "setoption name A b value c  d",
        "setoption name Clear",
        "position startpos",
        "position startpos moves 7g7f P*5e",
        f"position sfen {BOARD} b 2P3p 1 moves 7g7f",
        "go btime 1 wtime 2 byoyomi 0",
        "go btime 1 wtime 2 binc 3 winc 4",
        "go ponder btime 1 wtime 2 byoyomi 3",
        "go ponder",
        "go infinite",
        "go mate infinite",
        "go mate 1000",
        "go movetime 5 depth 3 nodes 1 searchmoves 7g7f",
    ],
)
def test_commands_are_written_as_they_are_read(line: str) -> None:
    command = parse_command(line)
    assert command is not None
    assert format_command(command) == line


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("usiok", UsiOk()),
        ("readyok ", ReadyOk()),
        ("", None),
        ("id name Fairy-Stockfish 11.1", Id("name", "Fairy-Stockfish 11.1")),
        ("bestmove 7g7f", BestMove("7g7f")),
        ("bestmove 7g7f ponder 3c3d", BestMove("7g7f", "3c3d")),
        ("bestmove 7g7f ponder (none)", BestMove("7g7f")),
        ("bestmove 7g7f ponder", BestMove("7g7f")),
        ("bestmove resign", BestMove("resign")),
        ("bestmove", BestMove("")),
        ("checkmate 3c3b+ 2a3b G*2b", Checkmate(("3c3b+", "2a3b", "G*2b"))),
        ("checkmate nomate", Checkmate(verdict="nomate")),
        ("checkmate timeout", Checkmate(verdict="timeout")),
        ("checkmate notimplemented", Checkmate(verdict="notimplemented")),
        ("checkmate", Checkmate(verdict="timeout")),
        ("Error: no book", Unknown("Error: no book")),
        ("option", Unknown("option")),
        ("id", Unknown("id")),
    ],
)
def test_replies(line: str, reply: object) -> None:
    assert parse_reply(line) == reply


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (
            "option name USI_Hash type spin default 32 min 1 max 4096",
            OptionLine("USI_Hash", "spin", "32", 1, 4096),
        ),
        ("option name USI_Ponder type check default true", OptionLine("USI_Ponder", "check", "true")),
        (
            "option name BookMoveSelector type combo default default var default var random",
            OptionLine("BookMoveSelector", "combo", "default", values=("default", "random")),
        ),
        ("option name ClearHash type button", OptionLine("ClearHash", "button")),
        ("option name BookFile type string default <empty>", OptionLine("BookFile", "string", "")),
        ("option name BookFile type string default", OptionLine("BookFile", "string", "")),
        ("option name BookFile type string", OptionLine("BookFile", "string")),
        (
            "option name Skill Level type spin default 20 min -20 max 20",
            OptionLine("Skill Level", "spin", "20", -20, 20),
        ),
        (
            "option name Analysis Contempt type combo default Both ways var Off var Both ways",
            OptionLine("Analysis Contempt", "combo", "Both ways", values=("Off", "Both ways")),
        ),
    ],
)
def test_option_lines(line: str, option: OptionLine) -> None:
    assert parse_reply(line) == option


@pytest.mark.parametrize(
    ("line", "info"),
    [
        (
            "info depth 8 seldepth 10 time 250 nodes 12345 nps 49380 hashfull 120 score cp 35 multipv 1 pv 8c8d 2f2e",
            Info(8, 10, 250, 12345, 49380, 120, 1, 35, pv=["8c8d", "2f2e"]),
        ),
        ("info depth 5 score cp -12 upperbound nodes 7", Info(5, nodes=7, score_cp=-12, bound="upper")),
        ("info score mate -4 pv 1a1b", Info(mate=-4, pv=["1a1b"])),
        ("info score mate +3", Info(mate=3)),
        ("info score mate + nodes 4", Info(mate=MATE_LENGTH_UNKNOWN, nodes=4)),
        ("info score mate -", Info(mate=-MATE_LENGTH_UNKNOWN)),
        ("info score mate -0", Info(mate=0)),
        ("info currmove 7g7f currmovenumber 3 cpuload 9", Info(currmove="7g7f")),
        ("info string score cp 3  pv", Info(text="score cp 3 pv")),
        ("info depth x nodes 3", Info(nodes=3)),
        ("info", Info()),
    ],
)
def test_info_lines_are_read(line: str, info: Info) -> None:
    assert parse_reply(line) == info


def test_info_lines_are_written_with_single_blanks_and_the_line_last() -> None:
    info = Info(8, 10, 250, 12345, 49380, 120, 2, 35, bound="lower", pv=["8c8d", "2f2e"])
    assert format_info(info) == (
        "info depth 8 seldepth 10 time 250 nodes 12345 nps 49380 hashfull 120 "
        "multipv 2 score cp 35 lowerbound pv 8c8d 2f2e"
    )
    assert format_info(Info(nodes=5, time_ms=1)) == "info time 1 nodes 5 nps 0 hashfull 0"
    assert format_info(Info(text="two\nlines  here")) == "info string two lines here"


@pytest.mark.parametrize(("plies", "text"), [(3, "3"), (-2, "-2"), (0, "-0"), (9999, "+"), (-9999, "-")])
def test_a_mated_side_is_never_shown_as_the_winner(plies: int, text: str) -> None:
    """ShogiHome reads `mate 0` and `mate +0` as a win."""
    assert format_mate(plies) == text
    assert parse_reply(f"info score mate {text}") == Info(mate=plies)


@pytest.mark.parametrize(
    "info",
    [
        Info(1, 2, 3, 4, 5, 6, 7, 8, None, "upper", ["7g7f"]),
        Info(1, 2, 3, 4, 5, 6, 1, None, -8, None, ["7g7f", "P*5e"]),
        Info(time_ms=1, nodes=2, nps=3, hashfull=4, currmove="7g7f"),
        Info(text="hello there"),
    ],
)
def test_info_survives_writing_and_reading(info: Info) -> None:
    assert parse_reply(format_info(info)) == info


def test_answers_are_written() -> None:
    assert format_id("Narikin 1", "us") == ["id name Narikin 1", "id author us"]
    assert format_bestmove(BestMove("7g7f", "3c3d")) == "bestmove 7g7f ponder 3c3d"
    assert format_bestmove(BestMove("win")) == "bestmove win"
    assert format_checkmate(Checkmate(("1a1b", "2a1b"))) == "checkmate 1a1b 2a1b"
    assert format_checkmate(Checkmate(verdict="nomate")) == "checkmate nomate"


def test_bytes_that_are_not_utf8_neither_raise_nor_get_lost_on_the_way_in() -> None:
    raw = "setoption name EvalFile value C:\\将棋\n".encode("cp932")
    assert decode_line(raw, "cp932") == "setoption name EvalFile value C:\\将棋\n"
    kept = decode_line(raw)
    assert kept.encode("utf-8", "surrogateescape") == raw
    assert encode_lines([kept.strip(), "x"]).decode("utf-8").endswith("\nx\n")


# ---------------------------------------------------------------- options


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_line_reads_back_and_is_fit_for_guis(option: OptionLine) -> None:
    line = format_option(option)
    reply = parse_reply(line)
    assert isinstance(reply, OptionLine)
    assert reply == OptionLine(option.name, option.type, option.default, option.minimum, option.maximum, option.values)
    assert "  " not in line
    assert " " not in option.name
    assert len(set(option.values)) == len(option.values)
    assert option.why  # type: ignore[attr-defined]
    if option.type == "combo":
        assert option.default in option.values
    if option.type == "spin":
        assert option.minimum is not None
        assert option.maximum is not None
        assert option.minimum <= int(option.default or "") <= option.maximum
    if option.type == "check":
        assert option.default in ("true", "false")


def test_option_names_are_told_apart_without_case() -> None:
    names = [canonical(option.name) for option in OPTIONS]
    assert len(set(names)) == len(names)


def test_variants_are_those_of_the_rules() -> None:
    from engine.rules.variants import VARIANTS

    values = next(option.values for option in OPTIONS if option.name == "USI_Variant")
    assert values == tuple(VARIANTS)


@pytest.mark.parametrize("name", ["usi_hash", "USI_HASH", "USI Hash", "Hash"])
def test_option_names_ignore_case_and_blanks(name: str) -> None:
    options = OptionValues()
    options.set(name, "77")
    assert options["USI_Hash"] == 77
    assert options.setting("hash_mb") == 77


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("USI_Hash", "many"),
        ("USI_Hash", ""),
        ("USI_Hash", None),
        ("USI_Hash", "0"),
        ("USI_Hash", "-5"),
        ("USI_Hash", "99999999999999999999"),
        ("Threads", "1e3"),
        ("USI_Ponder", "perhaps"),
        ("USI_Variant", "chess"),
        ("EnteringKingRule", ""),
        ("No such thing", "1"),
    ],
)
def test_junk_values_leave_the_old_value(name: str, value: str | None) -> None:
    options = OptionValues()
    before = {option.name: options[option.name] for option in OPTIONS if option.type != "button"}
    with pytest.raises(OptionError):
        options.set(name, value)
    assert {option.name: options[option.name] for option in OPTIONS if option.type != "button"} == before


def test_values_are_taken_as_their_type() -> None:
    options = OptionValues()
    options.set("usi_ponder", "TRUE")
    options.set("EnteringKingRule", "tryrule")
    options.set("EvalFile", "C:\\my nets\\a b.bin")
    options.set("DrawValueBlack", "-2")
    assert options["USI_Ponder"] is True
    assert options["EnteringKingRule"] == "TryRule"
    assert options.setting("eval_file") == "C:\\my nets\\a b.bin"
    assert options["DrawValueBlack"] == -2
    options.set("EvalFile", "<empty>")
    options.set("EvalDir", "nets")
    assert Path(str(options.setting("eval_file"))) == Path("nets") / "nn.bin"
    options.set("EvalDir", "")
    assert options.setting("eval_file") == ""


def test_a_second_name_that_only_repeats_its_value_does_not_undo_the_first() -> None:
    """A GUI sends both USI_Variant and UCI_Variant when the user has changed one of them."""
    options = OptionValues()
    options.set("USI_Variant", "judkins")
    options.set("UCI_Variant", "shogi")
    assert options.setting("variant") == "judkins"
    options.set("UCI_Variant", "minishogi")
    assert options.setting("variant") == "minishogi"
    options.set("UCI_Variant", "shogi")
    assert options.setting("variant") == "shogi"
