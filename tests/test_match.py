"""The referee at work: real processes of a scripted engine, every way a game can end, and matches that are resumed."""

from __future__ import annotations

import io
import json
import sys
import threading
from pathlib import Path

import pytest

from usi.commands.match import play, settings_from
from usi.match.config import Control, EngineSpec, MatchError, MatchSettings
from usi.match.games import record_of, write_records
from usi.match.referee import Clock, Game, Player, Table, score_of
from usi.match.report import elo_text, final_report, game_line, live_report, progress_bar, summary
from usi.match.runner import Match, Plan, ThreadBackend, check_openings
from usi.match.schedule import Opening, Task
from usi.match.statistics import Estimate, Sprt
from usi.match.store import GameResult, Store
from usi.records.files import read_games, write_games

FAKE = str(Path(__file__).with_name("fake_usi_engine.py"))
SHUFFLE = "5i5h 5a5b 5h5i 5b5a " * 3  # the start position stands on the board for the fourth time at the end
BARE_KINGS_AND_ROOK = "4k4/9/9/9/9/9/9/K8/5R3 b - 1"
CHASE = "4i5i 5a4a 5i4i 4a5a " * 3
ENTERED = "RBGSK4/PPPPPP3/9/9/9/9/9/9/4k4 b RB 1"  # 28 points, ten pieces in the zone
ENTERED_27 = "RBGSK4/PPPPPP3/9/9/9/9/9/9/4k4 b R4P 1"
TWO_TO_MATE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def spec(name: str, moves: str = "", *more: str, **fields) -> EngineSpec:
    return EngineSpec(name, (sys.executable, FAKE, "--moves", moves, *more), **fields)


def settings_for(black: EngineSpec, white: EngineSpec, **fields) -> MatchSettings:
    fields.setdefault("control", Control(byoyomi=2000))
    fields.setdefault("answer_timeout", 1.0)
    return MatchSettings(engines=(black, white), **fields)


def play_one(settings: MatchSettings, opening: Opening = Opening()) -> tuple[GameResult, list[str]]:  # noqa: B008
    table = Table(settings)
    try:
        return table.play(Task(0, 0, 1, 0), opening, lambda: False)
    finally:
        table.close()


def ending(moves: str, sfen: str | None = None, **fields) -> tuple[str, str]:
    game, _ = play_one(settings_for(spec("A", moves), spec("B", moves), **fields), Opening(sfen))
    return game.winner, game.reason


def test_mate_ends_the_game():
    game, _ = play_one(settings_for(spec("A", "G*5b"), spec("B")), Opening(TWO_TO_MATE))
    assert (game.winner, game.reason, game.moves) == ("black", "checkmate", ["G*5b"])
    assert game.position == f"sfen {TWO_TO_MATE} moves G*5b"


def test_resignation():
    assert ending("7g7f") == ("black", "resignation")


def test_fourth_repetition_is_a_draw():
    game, _ = play_one(settings_for(spec("A", SHUFFLE + "7g7f"), spec("B", SHUFFLE)))
    assert (game.winner, game.reason, len(game.moves)) == ("draw", "fourfold repetition", 12)


def test_perpetual_check_loses():
    assert ending(CHASE, BARE_KINGS_AND_ROOK) == ("white", "perpetual check")


def test_move_limit_is_a_draw():
    assert ending("7g7f 3c3d 2g2f 8c8d", max_moves=3) == ("draw", "move limit")


def test_right_declaration_wins():
    assert ending("win", ENTERED) == ("black", "declaration")


@pytest.mark.parametrize(
    ("sfen", "rule"), [(ENTERED_27, None), (ENTERED, "CSARule24"), (ENTERED, "NoEnteringKing"), (None, None)]
)
def test_wrong_declaration_loses(sfen, rule):
    assert ending("win", sfen, rule=rule) == ("white", "wrong declaration")


@pytest.mark.parametrize("move", ["7g7e", "hello", "0000", "(none)", "2h8h", "P*5e", ""])
def test_illegal_move_loses_and_is_named(move):
    settings = settings_for(spec("A", "7g7f", "--at", f"2:{move}" if move else "2: "), spec("B", "x 3c3d"))
    game, log = play_one(settings)
    assert (game.winner, game.reason) == ("white", "illegal move")
    assert "A played" in game.detail
    assert any("A > bestmove" in line for line in log)


def test_log_holds_both_engines_lines_in_the_order_of_time():
    _, log = play_one(settings_for(spec("A", "7g7f x 7h7f"), spec("B", "x 3c3d")))
    text = "\n".join(log)
    steps = [
        "A < position startpos\n",
        "A > bestmove 7g7f",
        "B < position startpos moves 7g7f",
        "B > bestmove 3c3d",
        "A < position startpos moves 7g7f 3c3d",
        "A > bestmove 7h7f",
    ]
    places = [text.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


def test_lost_clock():
    settings = settings_for(spec("A", "7g7f", "--at", "0:late:400"), spec("B"), control=Control(byoyomi=100), margin=50)
    game, _ = play_one(settings)
    assert (game.winner, game.reason) == ("white", "time")
    assert "of 100 ms" in game.detail


def test_margin_and_time_of_one_engine_are_its_own():
    slow = spec("A", "7g7f", "--at", "0:late:300", control=Control(byoyomi=100), margin=2000)
    game, _ = play_one(settings_for(slow, spec("B"), control=Control(byoyomi=100)))
    assert (game.winner, game.reason) == ("black", "resignation")


def test_crash_is_reported_with_what_the_engine_said_last():
    game, log = play_one(settings_for(spec("A", "7g7f", "--at", "2:crash"), spec("B", "x 3c3d")))
    assert (game.winner, game.reason) == ("white", "crash")
    assert "going down" in game.detail
    assert any("A ! going down" in line for line in log)


def test_engine_that_ignores_everything_hangs():
    settings = settings_for(
        spec("A", "7g7f"), spec("B", "", "--at", "1:hang"), control=Control(byoyomi=100), answer_timeout=0.3
    )
    game, _ = play_one(settings)
    assert (game.winner, game.reason) == ("black", "hang")


def test_search_without_a_clock_may_not_last_for_ever():
    settings = settings_for(
        spec("A", "7g7f", "--at", "0:late:600"), spec("B"), control=Control(nodes=10), move_timeout=0.2
    )
    assert play_one(settings)[0].reason == "hang"


def test_table_plays_on_after_a_crash_with_a_new_process():
    settings = settings_for(spec("A", "7g7f", "--at", "0:crash"), spec("B", "7g7f"))
    table = Table(settings)
    try:
        first, _ = table.play(Task(0, 0, 1, 0), Opening(), lambda: False)
        second, _ = table.play(Task(1, 1, 0, 0), Opening(), lambda: False)
    finally:
        table.close()
    assert first.reason == "crash"
    assert (second.black, second.winner, second.reason) == ("B", "black", "resignation")


def test_engine_that_never_starts_ends_the_match(tmp_path):
    broken = spec("A", "", "--fail-start", "1", "--counter", str(tmp_path / "starts"))
    with pytest.raises(MatchError, match="A does not start"):
        play_one(settings_for(broken, spec("B")))


def test_engine_that_fails_at_a_later_start_only_loses_the_game(tmp_path):
    weak = spec("A", "7g7f", "--fail-start", "2", "--counter", str(tmp_path / "starts"))
    table = Table(settings_for(weak, spec("B", "7g7f"), restart=True))
    games = [table.play(Task(number, 0, 1, number), Opening(), lambda: False)[0] for number in range(3)]
    assert [game.reason for game in games] == ["resignation", "crash", "resignation"]


def test_variant_is_told_and_refused_where_unknown():
    game, log = play_one(settings_for(spec("A", "5d5c"), spec("B"), variant="minishogi"))
    assert game.winner == "black"
    assert any("A < setoption name USI_Variant value minishogi" in line for line in log)
    with pytest.raises(MatchError, match="does not play judkins"):
        play_one(settings_for(spec("A"), spec("B"), variant="judkins"))


def test_options_with_blanks_are_sent_as_they_are():
    engine = spec("A", "7g7f", options={"Move Overhead": "10", "USI_Ponder": "true"})
    _, log = play_one(settings_for(engine, spec("B")))
    text = "\n".join(log)
    assert "A < setoption name Move Overhead value 10" in text
    assert text.rfind("USI_Ponder value true") > text.rfind("A < setoption name USI_Ponder value false")


def test_ponder_hit_and_miss():
    moves = "7g7f 3c3d 2g2f 8c8d 2f2e"
    hits = settings_for(spec("A", moves, "--ponder"), spec("B", moves), ponder=True)
    game, log = play_one(hits)
    assert game.moves == moves.split()
    assert sum("A < ponderhit" in line for line in log) == 2
    assert any(line.endswith("A < go ponder btime 0 wtime 0 byoyomi 2000") for line in log)
    game, log = play_one(
        settings_for(spec("A", moves, "--ponder"), spec("B", moves.replace("3c3d", "4c4d")), ponder=True)
    )
    assert game.moves[:3] == ["7g7f", "4c4d", "2g2f"]
    assert any("A < stop" in line for line in log)


def test_both_engines_must_agree_before_a_game_is_adjudicated():
    moves = "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 2e2d"
    sure = settings_for(
        spec("A", moves, "--score", "900"), spec("B", moves, "--score", "800"), resign=700, resign_moves=2
    )
    game, _ = play_one(sure)
    assert (game.winner, game.reason, len(game.moves)) == ("black", "adjudication", 4)
    unsure = settings_for(spec("A", moves, "--score", "900"), spec("B", moves, "--score", "100"), resign=700)
    assert play_one(unsure)[0].reason == "resignation"


def test_clock_of_main_time_increment_and_byoyomi():
    clock = Clock((Control(main=1000, increment=100), Control(main=500, byoyomi=200)))
    assert clock.allowed(0) == 1100
    clock.spend(0, 400)
    assert clock.left == [700, 500]
    clock.spend(1, 600)
    assert clock.left == [700, 0]
    assert clock.allowed(1) == 200
    limits = clock.limits(1)
    assert (limits.btime, limits.wtime, limits.binc, limits.winc, limits.byoyomi) == (700, 0, 100, 0, 200)
    assert Clock((Control(nodes=5), Control(depth=3))).allowed(0) is None


def match_of(folder: Path, settings: MatchSettings, openings: list[Opening] | None = None) -> Match:
    plan = Plan(settings, openings or [Opening()])
    return Match(plan, Store(folder, settings.identity()), ThreadBackend(settings))


def test_match_resumes_without_losing_or_repeating_a_game(tmp_path):
    settings = settings_for(spec("A", "7g7f x 2g2f"), spec("B", "7g7f 3c3d"), games=6)
    match = match_of(tmp_path, settings, [Opening(), Opening(None, ("7g7f",))])
    seen = []

    def stop_after_three(game: GameResult) -> None:
        seen.append(game.number)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match.run(stop_after_three)
    again = match_of(tmp_path, settings, [Opening(), Opening(None, ("7g7f",))])
    assert sorted(again.store.results) == sorted(seen)
    again.run(lambda game: seen.append(game.number))
    assert sorted(seen) == list(range(6))
    assert len((tmp_path / "games.usi").read_text().splitlines()) == 6
    tally = again.tallies()["A", "B"]
    assert tally.games == 6 and sum(tally.pairs) == 3


def test_match_on_several_tables_plays_every_game_once(tmp_path):
    settings = settings_for(spec("A", "7g7f"), spec("B", "7g7f"), games=8, concurrency=3)
    match = match_of(tmp_path, settings)
    numbers = []
    match.run(lambda game: numbers.append(game.number))
    assert sorted(numbers) == list(range(8))


def test_sequential_test_ends_the_match_early(tmp_path):
    winner = spec("A", "7g7f 3c3d 2g2f")
    settings = settings_for(winner, spec("B", ""), games=400, sprt=Sprt(0, 200, 0.2, 0.2))
    match = match_of(tmp_path, settings)
    match.run(lambda game: None)
    assert match.verdict == "H1"
    assert len(match.store.results) < 400
    assert summary(match)["sprt"]["verdict"] == "H1"


def test_broken_engine_ends_the_match_with_its_error(tmp_path):
    settings = settings_for(spec("A", "", "--fail-start", "1", "--counter", str(tmp_path / "n")), spec("B"), games=2)
    with pytest.raises(MatchError, match="A does not start"):
        match_of(tmp_path / "out", settings).run(lambda game: None)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("table")]


def test_games_are_kept_as_kif_and_csa_too_also_those_of_a_killed_run(tmp_path):
    settings = settings_for(spec("A", "7g7f x 2g2f", "--score", "40"), spec("B", "x 3c3d"), games=2)
    opening = Opening(None, ("7g7f", "3c3d"))
    match = match_of(tmp_path, settings, [opening])
    match.run(lambda game: None)
    game = match.store.results[0]
    assert (game.winner, game.moves) == ("black", ["2g2f"])
    for ending in ("kifu", "csa"):
        path = tmp_path / "games" / f"00000.{ending}"
        (record,) = read_games(path.read_bytes(), path.name)
        assert (record.moves(), record.players(), record.end) == (["7g7f", "3c3d", "2g2f"], ("A", "B"), "TORYO")
        path.unlink()
    match_of(tmp_path, settings, [opening]).run(lambda game: None)
    assert sorted(path.name for path in (tmp_path / "games").iterdir()) == [
        f"0000{number}.{ending}" for number in range(2) for ending in ("csa", "kifu")
    ]


@pytest.mark.parametrize(
    ("winner", "reason", "end"),
    [
        ("white", "resignation", "TORYO"),
        ("white", "checkmate", "TSUMI"),
        ("white", "time", "TIME_UP"),
        ("white", "illegal move", "ILLEGAL_MOVE"),
        ("white", "wrong declaration", "ILLEGAL_MOVE"),
        ("black", "declaration", "KACHI"),
        ("black", "perpetual check", "-ILLEGAL_ACTION"),
        ("white", "perpetual check", "ILLEGAL_MOVE"),
        ("draw", "fourfold repetition", "SENNICHITE"),
        ("draw", "move limit", "MAX_MOVES"),
        ("white", "crash", "CHUDAN"),
        ("black", "adjudication", "CHUDAN"),
    ],
)
def test_a_record_says_how_the_game_ended(winner, reason, end):
    game = GameResult(0, "A", "B", "startpos moves 7g7f", ["3c3d"], winner, reason, "why", [-30], [1500], None, "")
    record = record_of(game)  # black to move
    assert record.end == end
    assert reason in record.end_node.comments[0] and "why" in record.end_node.comments[0]
    assert record.main_line()[1].comments == ["*評価値=30"]
    assert [node.seconds for node in record.main_line()] == [None, 1.5]
    for name in ("kif", "csa"):
        assert read_games(write_games([record], name))[0].moves() == ["7g7f", "3c3d"]


def test_small_boards_have_kif_only(tmp_path):
    game = GameResult(7, "A", "B", "startpos", ["5d5c"], "white", "resignation")
    write_records(tmp_path, [game], "minishogi")
    assert [path.name for path in tmp_path.iterdir()] == ["00007.kifu"]


def test_log_of_a_fault_is_kept_and_counted(tmp_path):
    settings = settings_for(spec("A", "7g7e"), spec("B", "7g7f"), games=2)
    match = match_of(tmp_path, settings)
    match.run(lambda game: None)
    first = match.store.results[0]
    assert first.reason == "illegal move" and first.log
    assert "A > bestmove 7g7e" in (tmp_path / first.log).read_text()
    report = summary(match)
    assert report["faults"] == {"A": {"illegal move": 1}}
    assert report["pairings"][0]["losses"] == 2
    assert "illegal move" in game_line(first, 1, 2)


def test_bad_openings_are_found_before_the_match(tmp_path):
    settings = settings_for(spec("A"), spec("B"), games=2)
    for opening, word in (
        (Opening(None, ("7g7e",)), "7g7e"),
        (Opening("9/9 b - 1"), "9/9"),
        (Opening(TWO_TO_MATE, ("G*5b",)), "over already"),
    ):
        with pytest.raises(MatchError, match=word):
            check_openings(Plan(settings, [opening]))


def test_three_engines_are_rated(tmp_path):
    strong, middle, weak = spec("S", "7g7f 3c3d 2g2f 8c8d"), spec("M", "7g7f 3c3d"), spec("W", "")
    settings = MatchSettings(engines=(strong, middle, weak), games=2, control=Control(nodes=1))
    match = match_of(tmp_path, settings)
    match.run(lambda game: None)
    report = summary(match)
    assert report["games"] == 6
    assert report["ratings"]["S"] > report["ratings"]["M"] > report["ratings"]["W"]
    assert final_report(match)


def test_command_line_plays_and_writes_a_summary(tmp_path, capsys):
    from rich.console import Console

    openings = tmp_path / "openings.usi"
    openings.write_text("startpos moves 7g7f\nstartpos\n")
    fake = f'"{sys.executable}" "{FAKE}" --moves'
    settings = settings_from(
        {
            "engine": [f"name=A cmd='{fake} \"7g7f 3c3d 2g2f\"'", f"name=B cmd='{fake} \"7g7f 3c3d\"' nodes=10"],
            "games": 4,
            "byoyomi": 1000,
            "openings": str(openings),
            "file": None,
            "out": None,
        }
    )
    plan = Plan(settings, [Opening(None, ("7g7f",)), Opening()])
    match = Match(plan, Store(tmp_path / "out", settings.identity()), ThreadBackend(settings))
    assert play(match, Console()) == 0
    report = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert report["games"] == report["planned"] == 4
    out = capsys.readouterr().out
    assert "A byoyomi 1 s, B 10 nodes" in " ".join(out.split())
    assert "resignation" in out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_shows_every_number(tmp_path, width):
    from rich.console import Console

    names = "an engine with a long name", "and another one"
    settings = settings_for(spec(names[0], "7g7f"), spec(names[1], "7g7f"), sprt=Sprt(0, 100))
    match = match_of(tmp_path, settings)
    for number in range(24):
        winner = ("black", "white", "draw")[number % 3]
        match.store.add(GameResult(number, names[number % 2], names[1 - number % 2], "startpos", [], winner, "mate"))
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(final_report(match))
    text = console.export_text()
    assert "\u2026" not in text
    for word in ("games", "score", "LOS", "24", "50.0 %"):
        assert word in text


def test_names_are_printed_as_they_are(tmp_path):
    from rich.console import Console

    names = "[/x]", "Yane[a]", "[bold]:smile:\\"
    settings = MatchSettings(engines=tuple(spec(name, "7g7f") for name in names), games=2, control=Control(nodes=1))
    match = match_of(tmp_path / "[b]", settings)
    console = Console(width=120, file=io.StringIO(), record=True)
    assert play(match, console) == 0
    console.print(live_report(match, progress_bar(match, console)))
    text = console.export_text()
    for line in (" - ".join(names), str(tmp_path / "[b]"), "[/x] - Yane[a]  1-0"):
        assert line in text.replace("\n", "")
    for first, second in ((0, 1), (0, 2), (1, 2)):  # the final table and the live one, beside the games
        assert text.count(f"{names[first]} - {names[second]}") >= 3
    assert any(line.split()[:1] == ["Yane[a]"] and len(line.split()) == 4 for line in text.splitlines())


def test_scores_of_mates_count_as_large():
    from engine.search.limits import Info

    assert score_of(Info(mate=5)) == 31995
    assert score_of(Info(mate=-4)) == -31996
    assert score_of(Info(mate=0)) == -32000
    assert score_of(Info(score_cp=-12)) == -12
    assert score_of(None) is None


def test_elo_text():
    inf = float("inf")
    assert elo_text(Estimate(35, 20, 50, 0.9)) == "+35.0 \u00b115.0"
    assert elo_text(Estimate(-0.0, -495, 495, 0.5)) == "0.0 \u00b1495.0"
    assert elo_text(Estimate(-0.04, -inf, inf, 0.5)) == "0.0"
    assert elo_text(Estimate(-10.0, -20, 0, 0.5)) == "-10.0 \u00b110.0"
    assert elo_text(Estimate(inf, 300, inf, 1)) == "> +300"
    assert elo_text(Estimate(-inf, -inf, -250, 0)) == "< -250"


def test_player_without_a_process_is_an_engine_error():
    from usi.client import EngineDied

    with pytest.raises(EngineDied):
        _ = Player(spec("A"), settings_for(spec("A"), spec("B"))).seat
    assert Game  # the class a table uses


def test_random_openings_are_different_balanced_and_kept(tmp_path):
    from usi.match.openings import openings_of

    settings = settings_for(spec("A"), spec("B"), games=8, random_plies=6)
    first = openings_of(settings, tmp_path)
    assert len(set(first)) == 4
    assert all(len(opening.moves) == 6 for opening in first)
    check_openings(Plan(settings, first))
    longer = settings_for(spec("A"), spec("B"), games=12, random_plies=6)
    assert openings_of(longer, tmp_path)[:4] == first
