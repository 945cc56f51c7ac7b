"""What a match is asked to be: engines, times, openings, the order of games, and what is kept on disk."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from usi.cluster import ClusterError, run_on_cluster
from usi.commands.match import given_by, settings_from
from usi.main import main
from usi.match.config import (
    Control,
    EngineSpec,
    MatchError,
    MatchSettings,
    build_settings,
    parse_engine,
    parse_sprt,
    parse_time,
    read_toml,
)
from usi.match.schedule import Opening, opening_order, pairings, parse_opening, read_openings, tasks
from usi.match.statistics import Sprt
from usi.match.store import GameResult, Store, tallies

TWO = {"engine": [EngineSpec("A", "a"), EngineSpec("B", "b")]}


def test_engine_with_quotes_blanks_and_a_time_of_its_own():
    engine = parse_engine(
        """name=A cmd="/opt/my engine/x --flag" option.Threads=1 'option.Skill Level=5' byoyomi=500"""
    )
    assert engine.name == "A"
    assert engine.command == "/opt/my engine/x --flag"
    assert engine.options == {"Threads": "1", "Skill Level": "5"}
    assert engine.control == Control(byoyomi=500)


def test_engine_without_a_name_is_called_after_its_program():
    assert parse_engine("cmd='/usr/games/some-engine --usi'").name == "some-engine"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("name=A", "cmd"),
        ("cmd=a nonsense", "nonsense"),
        ("cmd=a colour=red", "colour"),
        ("cmd=a nodes=many", "many"),
        ("cmd=a ponder=perhaps", "perhaps"),
        ("cmd='a", "quotation"),
        ("""name=A cmd="'x" """, "name=A.*quotation"),
        ("name=A cmd=' '", "missing"),
    ],
)
def test_bad_engine_is_refused_by_naming_the_bad_word(text, word):
    with pytest.raises(MatchError, match=word):
        parse_engine(text)


def test_times():
    assert parse_time("60+0.6") == (60000, 600)
    assert parse_time("5") == (5000, 0)
    assert parse_time("1+") == (1000, 0)
    for text in ("x", "-3", "0", "1+x", "1+-1", "inf", "nan", "1+inf", "nan+1"):
        with pytest.raises(MatchError):
            parse_time(text)


def test_sprt_text():
    test = parse_sprt("0,5")
    assert (test.elo0, test.elo1, test.alpha) == (0, 5, 0.05)
    assert parse_sprt("-3,1,0.1,0.2").beta == 0.2
    for text in ("5", "5,0", "a,b", "0,5,0.05", "0,5,0,1", "nan,5", "0,nan", "0,inf", "0,1e9", "0,5,nan,0.1"):
        with pytest.raises(MatchError):
            parse_sprt(text)


def test_control_of_the_match_and_of_an_engine():
    settings = build_settings(
        {"engine": [EngineSpec("A", "a", control=Control(nodes=100)), EngineSpec("B", "b")], "time": "10+0.1"}
    )
    assert settings.control_of(settings.engines[0]) == Control(nodes=100)
    assert settings.control_of(settings.engines[1]) == Control(main=10000, increment=100)
    assert str(settings.control) == "10+0.1 s"


def test_without_any_time_a_move_takes_a_second():
    assert build_settings(TWO).control == Control(byoyomi=1000)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"engine": [EngineSpec("A", "a")]}, "two engines"),
        ({"engine": [EngineSpec("A", "a"), EngineSpec("A", "b")]}, "different names"),
        ({"games": 0}, "games"),
        ({"concurrency": 0}, "concurrency"),
        ({"max_moves": -1}, "max-moves"),
        ({"resign": -1}, "resign"),
        ({"resign_moves": 0}, "resign-moves"),
        ({"margin": -1}, "margin"),
        ({"random_plies": -3}, "random-plies"),
        ({"move_timeout": float("inf")}, "move-timeout"),
        ({"answer_timeout": 0.0}, "answer-timeout"),
        ({"openings": "no/such/file"}, "no file"),
        ({"openings": __file__, "random_plies": 3}, "exclude"),
        ({"variant": "chess"}, "chess"),
        ({"colour": 1}, "colour"),
        ({"engine": [EngineSpec(name, name) for name in "ABC"], "sprt": "0,5"}, "one other"),
    ],
)
def test_bad_settings_are_refused(change, word):
    with pytest.raises(MatchError, match=word):
        build_settings(TWO | change)


def test_toml_file_under_the_names_of_the_command_line(tmp_path):
    path = tmp_path / "match.toml"
    path.write_text(
        'games = 10\nmax-moves = 200\ntime = "1+0.1"\n'
        '[[engine]]\nname = "A"\ncmd = ["a", "--x"]\noptions = { Threads = 2, USI_Ponder = false }\n'
        '[[engine]]\nname = "B"\ncmd = "b"\nnodes = 5\n'
    )
    settings = build_settings(read_toml(path))
    assert (settings.games, settings.max_moves, settings.control.main) == (10, 200, 1000)
    assert settings.engines[0].command == ("a", "--x")
    assert settings.engines[0].options == {"Threads": "2", "USI_Ponder": "false"}
    assert settings.engines[1].control == Control(nodes=5)


def test_broken_toml_names_the_file(tmp_path):
    path = tmp_path / "match.toml"
    path.write_text("games = \n")
    with pytest.raises(MatchError, match="match.toml"):
        read_toml(path)


ENGINES = '[[engine]]\ncmd = "a"\n[[engine]]\ncmd = "b"\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('games = "10"', ("games", "whole number", "'10'")),
        ("games = true", ("games", "whole number", "True")),
        ("max-moves = 2.5", ("max-moves", "whole number", "2.5")),
        ("byoyomi = 2.5", ("byoyomi", "whole number", "2.5")),
        ("byoyomi = [1]", ("byoyomi", "whole number", "1")),
        ("time = [1]", ("time", "SECONDS", "1")),
        ('resign = "x"', ("resign", "whole number", "'x'")),
        ("openings = 5", ("openings", "text", "5")),
        ("variant = 5", ("variant", "text", "5")),
        ("rule = 5", ("rule", "text", "5")),
        ('start_timeout = "x"', ("start-timeout", "number", "'x'")),
        ("move-timeout = nan", ("move-timeout", "number", "nan")),
        ('gauntlet = "yes"', ("gauntlet", "true or false", "'yes'")),
        ("sprt = [0]", ("sprt", "elo0,elo1", "0")),
        ("sprt = 5", ("sprt", "elo0,elo1", "5")),
        ("sprt = [0, [1]]", ("sprt", "elo0,elo1", "1")),
        (ENGINES + 'options = "x"', ("engine '2 in", "options", "table", "'x'")),
        (ENGINES + "options = { A = [1] }", ("engine '2 in", "option A", "text", "1")),
        (ENGINES + "dir = 5", ("engine '2 in", "dir", "text", "5")),
        (ENGINES + "name = 5", ("engine '2 in", "name", "text", "5")),
        (ENGINES + "margin = 1.5", ("margin", "whole number", "1.5")),
        ("[[engine]]\ncmd = 5", ("engine '1 in", "cmd", "text", "5")),
        ("[[engine]]\ncmd = [5]", ("engine '1 in", "cmd", "text", "5")),
        ("[[engine]]\ncmd = []", ("engine '1 in", "cmd", "missing")),
        ('[[engine]]\ncmd = "\'x"', ("engine '1 in", "quotation")),
    ],
)
def test_a_toml_value_of_the_wrong_type_is_named(tmp_path, line, words):
    path = tmp_path / "match.toml"
    path.write_text(f"{line}\n" if "[[engine]]" in line else f"{line}\n{ENGINES}")
    with pytest.raises(MatchError) as caught:
        settings_from({"file": str(path)})
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_toml_takes_lists_of_a_test_whole_timeouts_and_the_places(tmp_path):
    path = tmp_path / "match.toml"
    path.write_text(f'sprt = [0, 10]\nstart-timeout = 5\nout = "here"\nscheduler = "tcp://x"\n{ENGINES}')
    settings = settings_from({"file": str(path)})
    assert (settings.sprt, settings.start_timeout) == (Sprt(0, 10), 5)
    given = given_by({"file": str(path), "out": "there", "scheduler": None})
    assert (given["out"], given["scheduler"]) == ("there", "tcp://x")


@pytest.mark.parametrize("key", ["out", "scheduler"])
def test_a_place_is_a_text(tmp_path, key, capsys):
    path = tmp_path / "match.toml"
    path.write_text(f"{key} = 5\n{ENGINES}")
    assert main(["match", str(path)]) == 2
    assert f"{key} needs a text" in capsys.readouterr().err


def test_toml_that_is_not_utf_8_names_the_file(tmp_path):
    path = tmp_path / "match.toml"
    path.write_bytes(b'variant = "\xff"\n')
    with pytest.raises(MatchError, match=r"match\.toml"):
        read_toml(path)


@pytest.mark.parametrize(
    "line",
    ["7g7f 3c3d", "startpos moves 7g7f 3c3d", "position startpos moves 7g7f 3c3d", "  startpos   moves 7g7f  3c3d "],
)
def test_opening_of_moves(line):
    assert parse_opening(line) == Opening(None, ("7g7f", "3c3d"))


def test_opening_of_a_position():
    sfen = "4k4/9/9/9/9/9/9/9/4K4 b - 1"
    for line in (sfen, f"sfen {sfen}", f"position sfen {sfen}"):
        assert parse_opening(line) == Opening(sfen)
    assert str(parse_opening(f"sfen {sfen} moves 5i5h")) == f"sfen {sfen} moves 5i5h"
    assert str(parse_opening("startpos")) == "startpos"


def test_opening_file_skips_comments_and_names_the_bad_line(tmp_path):
    path = tmp_path / "openings"
    path.write_text("# two\nstartpos moves 7g7f\n\nstartpos\n")
    assert len(read_openings(path)) == 2
    path.write_text("startpos\n7g7f 3c3d nonsense\n")
    with pytest.raises(MatchError, match="line 2"):
        read_openings(path)
    path.write_bytes(b"startpos\n# \x93\xfa\n")
    with pytest.raises(MatchError, match="openings is not UTF-8"):
        read_openings(path)


def test_every_opening_is_played_before_one_comes_again():
    order = opening_order(5, 12, seed=3)
    assert sorted(order[:5]) == sorted(order[5:10]) == list(range(5))
    assert order == opening_order(5, 12, seed=3)
    assert order[:8] == opening_order(5, 8, seed=3)
    assert order != opening_order(5, 12, seed=4)


def test_round_robin_and_gauntlet():
    assert pairings(3, gauntlet=False) == [(0, 1), (0, 2), (1, 2)]
    assert pairings(4, gauntlet=True) == [(0, 1), (0, 2), (0, 3)]


def test_both_games_of_a_pair_share_the_opening_and_change_colours():
    games = list(tasks([(0, 1), (0, 2)], games=4))
    assert [game.number for game in games] == list(range(8))
    for first, second in zip(games[::2], games[1::2], strict=True):
        assert (first.round, first.black, first.white) == (second.round, second.white, second.black)
    assert {game.round for game in games} == {0, 1}


def test_game_numbers_stay_when_a_match_is_prolonged():
    short = {game.number: game for game in tasks([(0, 1), (0, 2)], games=3)}
    long = {game.number: game for game in tasks([(0, 1), (0, 2)], games=9)}
    assert len(short) == 6
    assert short.items() <= long.items()


def game(number: int, black: str, white: str, winner: str) -> GameResult:
    return GameResult(number, black, white, "startpos", ["7g7f"], winner, "resignation")


def test_results_come_back_after_a_kill_in_the_middle_of_a_line(tmp_path):
    store = Store(tmp_path, {"seed": 1})
    for number in range(3):
        store.add(game(number, "A", "B", "black"))
    path = tmp_path / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    again = Store(tmp_path, {"seed": 1})
    assert sorted(again.results) == [0, 1]
    again.add(game(2, "A", "B", "draw"))
    assert Store(tmp_path, {"seed": 1}).results[2].winner == "draw"
    assert (tmp_path / "games.usi").read_text() == "startpos moves 7g7f\n" * 3


@pytest.mark.parametrize("damage", [b"{", b"5", b"null", b'{"number":0}', b"\xff", b""])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_damaged_line_is_named(tmp_path, number, damage):
    store = Store(tmp_path, {"seed": 1})
    for index in range(3):
        store.add(game(index, "A", "B", "black"))
    path = tmp_path / "results.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = damage
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(MatchError, match=rf"results\.jsonl, line {number}: damaged"):
        Store(tmp_path, {"seed": 1})


def test_results_may_hold_any_kind_of_line_end(tmp_path):
    odd = game(0, "A", "B", "black")
    odd.detail = "it said: \u2028 \x85 \x0b"
    Store(tmp_path, {"seed": 1}).add(odd)
    assert Store(tmp_path, {"seed": 1}).results == {0: odd}


def test_without_dask_a_cluster_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r'pip install "narikin\[cluster\]"'):
        list(run_on_cluster("tcp://127.0.0.1:9", str, [1], threading.Event()))


def test_another_match_is_not_mixed_in(tmp_path):
    Store(tmp_path, {"seed": 3})
    Store(tmp_path, {"seed": 1, "variant": "shogi"}).add(game(0, "A", "B", "black"))
    with pytest.raises(MatchError, match="seed"):
        Store(tmp_path, {"seed": 2, "variant": "shogi"})


def test_a_match_may_grow_but_not_change():
    first = build_settings(TWO | {"games": 10, "concurrency": 1})
    assert first.identity() == build_settings(TWO | {"games": 20, "concurrency": 4}).identity()
    assert first.identity() != build_settings(TWO | {"byoyomi": 100}).identity()
    assert json.loads(json.dumps(first.identity()))


def test_tallies_are_from_the_first_engine_s_view_and_pair_games():
    results = [
        game(0, "A", "B", "black"),
        game(1, "B", "A", "black"),
        game(2, "A", "B", "draw"),
        game(3, "B", "A", "white"),
        game(4, "A", "B", "white"),
    ]
    tally = tallies(results, ["A", "B"])["A", "B"]
    assert (tally.wins, tally.draws, tally.losses) == (2, 1, 2)
    assert tally.pairs == [0, 0, 1, 1, 0]


def test_settings_are_what_the_defaults_say():
    settings = MatchSettings(engines=(EngineSpec("A", "a"), EngineSpec("B", "b")))
    assert (settings.games, settings.max_moves, settings.margin, settings.resign) == (100, 320, 100, 0)
