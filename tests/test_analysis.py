"""Analysis of whole games: judging, thinking from the end, threats, and the reports."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.search.limits import Info, Limits, Result
from usi.analysis import source
from usi.analysis.game import GameAnalyser, GameAnalysis, PlayedGame, Study
from usi.analysis.judge import Standards, Verdict, find_turning_points, judge, move_accuracy, summarise
from usi.analysis.kif import annotated_kif
from usi.analysis.names import Namer
from usi.analysis.page import page
from usi.analysis.record import game_record
from usi.analysis.score import Score
from usi.analysis.source import read_game
from usi.analysis.threat import ThreatFinder
from usi.analysis.words import threat_words
from usi.main import main
from usi.protocol import Position
from usi.records import read_games
from usi.thinker import OwnThinker, default_limits

MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1"
BISHOP_LOST = ["7g7f", "8c8d", "8h3c+", "2b3c"]  # the third move gives a bishop for a pawn
KIF = """手合割：平手
先手：<b>Kuro</b> & "Co"
後手：Shiro</script>
*before the game
手数----指手---------消費時間--
   1 ７六歩(77)   ( 0:01/00:00:01)
*a comment of the record
   2 ８四歩(83)   ( 0:02/00:00:02)
   3 ３三角成(88)   ( 0:03/00:00:04)
   4 同　角(22)   ( 0:04/00:00:06)
   5 投了

変化：3手
   3 ２六歩(27)
"""


class ScriptedThinker:
    """Says of each position what the script says, and notes in which order it was asked."""

    name = "Scripted"

    def __init__(self, scores: dict[int, tuple[str, Score]], interrupt_at: int | None = None) -> None:
        self.scores, self.interrupt_at = scores, interrupt_at
        self.notes: list[str] = []
        self.interrupted = False
        self.asked: list[int] = []
        self.searchmoves: list[list[str]] = []
        self.games = 0

    def think(self, position: Position, limits: Limits, on_info: Callable[[Info], None]) -> Result:
        ply = len(position.moves)
        self.asked.append(ply)
        self.searchmoves.append(limits.searchmoves)
        self.interrupted = ply == self.interrupt_at
        move, score = self.scores[ply]
        if limits.searchmoves and move not in limits.searchmoves:
            move, score = limits.searchmoves[0], Score(cp=-100)
        info = Info(depth=3, nodes=10, score_cp=score.cp, mate=score.mate, pv=[move])
        return Result(move, None, score.cp, score.mate, 10, 3, 1, [info])

    def new_game(self) -> None:
        self.games += 1

    def close(self) -> None: ...


def analysed(moves: list[str], scores: list[tuple[str, int]], start: str | None = None) -> GameAnalysis:
    thinker = ScriptedThinker({ply: (move, Score(cp=cp)) for ply, (move, cp) in enumerate(scores)})
    return GameAnalyser(thinker, Limits(depth=3)).analyse(PlayedGame("shogi", start, moves))


def scripted_game() -> GameAnalysis:
    return analysed(BISHOP_LOST, [("7g7f", 30), ("3c3d", -30), ("2g2f", 40), ("2b3c", 900), ("7i8h", -900)])


# ---------------------------------------------------------------- scores and judgement


def test_winning_chances_are_logistic_and_certain_for_mates() -> None:
    assert Score(cp=0).win_probability() == 0.5
    assert Score(cp=600).win_probability() == pytest.approx(1 / (1 + math.exp(-1)))
    assert Score(cp=-600).win_probability() == pytest.approx(1 - Score(cp=600).win_probability())
    assert Score(cp=10**9).win_probability() == pytest.approx(1)
    assert (Score(mate=5).win_probability(), Score(mate=-5).win_probability()) == (1, 0)
    assert Score(mate=0).win_probability() == 0


@pytest.mark.parametrize("values", [(None, None), (1, 1)])
def test_a_score_is_either_centipawns_or_a_mate(values: tuple) -> None:
    with pytest.raises(ValueError, match="either"):
        Score(*values)


@pytest.mark.parametrize(
    ("after", "before"),
    [
        (Score(cp=70), Score(cp=-70)),
        (Score(mate=0), Score(mate=1)),
        (Score(mate=-2), Score(mate=3)),
        (Score(mate=3), Score(mate=-4)),
        (Score(mate=9999), Score(mate=-9999)),
    ],
)
def test_a_move_is_worth_what_its_position_is_to_the_other_side(after: Score, before: Score) -> None:
    assert after.one_ply_earlier() == before


def test_the_best_move_costs_nothing_whatever_the_next_search_says() -> None:
    verdict = judge(Score(cp=50), Score(cp=400), True, Standards())
    assert (verdict.loss, verdict.loss_cp, verdict.mark, verdict.accuracy) == (0, 0, None, pytest.approx(100, abs=0.01))


@pytest.mark.parametrize(
    ("cp", "mark"), [(-100, None), (-130, "inaccuracy"), (-250, "mistake"), (-560, "blunder"), (20, None)]
)
def test_marks_go_by_winning_chances_lost(cp: int, mark: str | None) -> None:
    assert judge(Score(cp=0), Score(cp=-cp), False, Standards()).mark == mark


def test_a_mate_lost_while_still_winning_is_missed_but_no_blunder() -> None:
    verdict = judge(Score(mate=5), Score(cp=-5000), False, Standards())
    assert (verdict.missed_mate, verdict.mark, verdict.loss_cp) == (5, None, None)
    assert judge(Score(mate=5), Score(mate=-8), False, Standards()).missed_mate is None
    assert judge(Score(mate=5), Score(cp=0), False, Standards()).mark == "blunder"


def test_a_move_is_never_worth_more_than_the_best_one() -> None:
    verdict = judge(Score(cp=10), Score(cp=-60), False, Standards())
    assert (verdict.score, verdict.loss) == (Score(cp=10), 0)


def test_accuracy_falls_from_100_to_0() -> None:
    assert move_accuracy(0) == pytest.approx(100, abs=0.01)
    assert move_accuracy(10) == pytest.approx(63.6, abs=0.1)
    assert move_accuracy(100) == 0


def plain(loss: float, standards: Standards = Standards()) -> Verdict:  # noqa: B008
    return Verdict(Score(cp=0), Score(cp=0), loss == 0, loss, 0, move_accuracy(loss), standards.mark(loss), None)


def test_summaries_keep_the_players_apart() -> None:
    black, white = summarise([plain(0), plain(30), plain(0), plain(12)], [0, 1, 0, 1], [50, 50, 80, 80, 92])
    assert (black.moves, black.best_moves, black.marks["blunder"]) == (2, 2, 0)
    assert black.accuracy == pytest.approx(100, abs=0.01)
    assert white.marks == {"inaccuracy": 0, "mistake": 1, "blunder": 1}
    assert white.mean_loss == 21
    assert white.accuracy < 60


def test_nothing_judged_is_no_accuracy() -> None:
    assert [summary.accuracy for summary in summarise([None], [0], [50, None])] == [None, None]


def test_turning_points_are_the_costliest_moves_between_two_leads() -> None:
    verdicts = [plain(0), plain(0), plain(8), plain(6), plain(6), plain(0), plain(30), plain(25), plain(0)]
    chances = [70, 70, 70, 62, 66, 60, 55, 25, 20, 20]  # black's lead ends, comes back for a moment, and is lost
    points = find_turning_points(verdicts, [0, 1, 0, 1, 0, 1, 0, 1, 0], chances)
    assert points == [6]
    assert [verdict.turning_point for verdict in verdicts] == [False] * 6 + [True, False, False]


def test_a_lead_given_back_at_once_is_none() -> None:
    chances = [50, 30, 52, 50, 50]
    assert find_turning_points([plain(20), plain(22), plain(2), plain(0)], [0, 1, 0, 1], chances) == []


def test_a_lead_that_nobody_gave_away_turns_nothing() -> None:
    assert find_turning_points([plain(1), plain(1)], [0, 1], [50, 60, 70]) == []


def test_thresholds_must_grow() -> None:
    with pytest.raises(ValueError, match="grow"):
        Standards(10, 5, 20)


# ---------------------------------------------------------------- the thinking


def test_games_are_thought_through_from_the_end() -> None:
    thinker = ScriptedThinker({0: ("7g7f", Score(cp=1)), 1: ("3c3d", Score(cp=2)), 2: ("2g2f", Score(cp=3))})
    GameAnalyser(thinker, Limits(depth=3)).analyse(PlayedGame("shogi", None, ["7g7f", "3c3d"]))
    assert thinker.asked == [2, 1, 0]
    assert thinker.games == 1


def test_losses_and_turning_point_of_a_scripted_game() -> None:
    analysis = scripted_game()
    marks = [verdict.mark if verdict else "?" for verdict in analysis.verdicts]
    assert marks == [None, None, "blunder", None]
    assert analysis.verdicts[2] is not None
    assert analysis.verdicts[2].score == Score(cp=-900)
    assert analysis.verdicts[2].loss_cp == 940
    assert analysis.turning_points == [2]
    assert [summary.moves for summary in analysis.players] == [2, 2]


def test_ctrl_c_keeps_the_positions_that_are_done() -> None:
    scores = {ply: ("7g7f", Score(cp=0)) for ply in range(5)}
    analysis = GameAnalyser(ScriptedThinker(scores, interrupt_at=1), Limits(depth=3)).analyse(
        PlayedGame("shogi", None, BISHOP_LOST)
    )
    assert [study is not None for study in analysis.studies] == [False, False, True, True, True]
    assert [verdict is not None for verdict in analysis.verdicts] == [False, False, True, True]
    assert (analysis.complete, analysis.first_ply) == (False, 2)
    record = game_record(analysis)
    assert record["complete"] is False
    assert record["positions"][:2] == [None, None]
    assert "stopped" in page(analysis, "usi")


def test_ctrl_c_between_two_searches_keeps_them_too() -> None:
    def interrupt(study: Study) -> None:
        if study.ply == 3:
            raise KeyboardInterrupt

    scores = {ply: ("7g7f", Score(cp=0)) for ply in range(5)}
    analysis = GameAnalyser(ScriptedThinker(scores), Limits(depth=3)).analyse(
        PlayedGame("shogi", None, BISHOP_LOST), interrupt
    )
    assert analysis.first_ply == 3


class FakeFinder:
    """A mate solver that knows one mate: after the first move."""

    def __init__(self, sfen_part: str, line: list[str]) -> None:
        self.sfen_part, self.line = sfen_part, line

    def mate(self, sfen: str) -> SimpleNamespace:
        found = self.sfen_part in sfen
        return SimpleNamespace(status="mate" if found else "nomate", line=self.line if found else [])

    def threat(self, sfen: str) -> None:
        return None


def test_a_best_move_that_loses_to_a_solved_mate_is_thought_about_again() -> None:
    thinker = ScriptedThinker({0: ("7g7f", Score(cp=100)), 1: ("3c3d", Score(cp=-100))})
    finder = FakeFinder(" w - 2", ["3c3d", "2g2f", "8c8d"])
    analysis = GameAnalyser(thinker, Limits(depth=3), finder=finder).analyse(  # type: ignore[arg-type]
        PlayedGame("shogi", None, ["7g7f"])
    )
    after, before = analysis.studies[1], analysis.studies[0]
    assert after is not None and before is not None
    assert (after.score, after.lines[0].solved) == (Score(mate=3), True)
    assert thinker.asked == [1, 0, 0]
    assert "7g7f" not in thinker.searchmoves[2]
    assert len(thinker.searchmoves[2]) == 29
    assert before.score == Score(cp=-100)
    assert analysis.verdicts[0] is not None
    assert analysis.verdicts[0].score == Score(mate=-4)
    assert analysis.verdicts[0].mark == "blunder"


def test_a_solved_mate_that_is_begun_holds_for_the_next_position() -> None:
    thinker = ScriptedThinker({0: ("2g2f", Score(cp=100)), 1: ("8c8d", Score(cp=-100))})
    finder = FakeFinder(" b - 1", ["7g7f", "3c3d", "2g2f"])
    analysis = GameAnalyser(thinker, Limits(depth=3), finder=finder).analyse(  # type: ignore[arg-type]
        PlayedGame("shogi", None, ["7g7f"])
    )
    after = analysis.studies[1]
    assert after is not None
    assert (after.score, after.best, after.lines[0].solved) == (Score(mate=-2), "3c3d", True)
    assert analysis.verdicts[0] is not None
    assert (analysis.verdicts[0].score, analysis.verdicts[0].is_best) == (Score(mate=3), True)


def test_an_illegal_move_is_named_before_anything_is_searched() -> None:
    thinker = ScriptedThinker({})
    with pytest.raises(ValueError, match="move 2: .*7g7f"):
        GameAnalyser(thinker, Limits(depth=1)).analyse(PlayedGame("shogi", None, ["7g7f", "7g7f"]))
    assert thinker.asked == []


@pytest.mark.parametrize(
    ("start", "moves", "ending", "score"),
    [
        (MATE_IN_ONE, ["G*5b"], "checkmate", Score(mate=0)),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 1", ["5i4i", "5a4a", "4i5i", "4a5a"] * 3, "fourfold repetition", Score(cp=0)),
        (
            "k8/9/9/9/9/9/9/9/R3K4 w - 1",
            ["9a8a", "9i8i", "8a9a", "8i9i"] * 3,
            "perpetual check",
            Score(mate=1),
        ),
    ],
)
def test_ends_of_games_are_not_searched(start: str, moves: list[str], ending: str, score: Score) -> None:
    thinker = ScriptedThinker({ply: ("G*5b", Score(cp=0)) for ply in range(len(moves))})
    analysis = GameAnalyser(thinker, Limits(depth=3)).analyse(PlayedGame("shogi", start, moves))
    last = analysis.studies[-1]
    assert last is not None
    assert (last.ending, last.score) == (ending, score)
    assert len(moves) not in thinker.asked


@pytest.fixture(scope="module")
def own() -> OwnThinker:
    return OwnThinker(hash_mb=16)


def test_a_planted_blunder_is_found(own: OwnThinker) -> None:
    analysis = GameAnalyser(own, default_limits(nodes=6000)).analyse(PlayedGame("shogi", None, BISHOP_LOST))
    assert [index for index, verdict in enumerate(analysis.verdicts) if verdict and verdict.mark == "blunder"] == [2]
    assert analysis.turning_points == [2]
    assert analysis.players[0].accuracy < analysis.players[1].accuracy


def test_a_missed_mate_is_found(own: OwnThinker) -> None:
    game = PlayedGame("shogi", MATE_IN_ONE, ["5i4i", "R*2h"])
    analysis = GameAnalyser(own, default_limits(nodes=3000), finder=ThreatFinder(nodes=2000)).analyse(game)
    first = analysis.verdicts[0]
    assert first is not None
    assert first.missed_mate == 1
    assert first.mark in ("mistake", "blunder")
    assert analysis.players[0].missed_mates == 1
    record = game_record(analysis, "western")
    assert record["played"][0]["best"] == "G*5b"
    assert record["positions"][1]["threat"]["western"] == ["G*5b"]


@pytest.mark.parametrize(
    ("variant", "start", "moves"),
    [
        ("minishogi", None, ["5d5c", "1b1c"]),
        ("judkins", None, ["6e6d"]),
        ("shogi", "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1", ["5a4b", "7g7f"]),
    ],
)
def test_small_boards_and_handicaps(variant: str, start: str | None, moves: list[str]) -> None:
    thinker = OwnThinker(variant, hash_mb=4)
    finder = ThreatFinder(variant, nodes=500)
    analysis = GameAnalyser(thinker, default_limits(nodes=500), multipv=1, finder=finder).analyse(
        PlayedGame(variant, start, moves)
    )
    assert analysis.complete
    assert all(verdict is not None for verdict in analysis.verdicts)
    assert analysis.sides[0] == (1 if start else 0)
    assert "k-P" in page(analysis, "japanese")


# ---------------------------------------------------------------- threats


@pytest.fixture(scope="module")
def finder() -> ThreatFinder:
    return ThreatFinder(nodes=20_000, hash_mb=4)


def test_a_threat_of_mate_and_its_line(finder: ThreatFinder) -> None:
    threat = finder.threat(MATE_IN_ONE.replace(" b ", " w "))
    assert (threat.status, threat.line, threat.plies, threat.shortest) == ("threat", ["G*5b"], 1, True)
    assert not threat.brinkmate  # a white gold on 5b, and the mate is off
    assert threat_words(threat, 0, ["G*5b"]) == "black threatens mate in 1: G*5b"


def test_no_threat(finder: ThreatFinder) -> None:
    threat = finder.threat("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1")
    assert (threat.status, threat.line) == ("none", [])
    assert threat_words(threat, 1, []) == "white threatens no mate"


def test_in_check_there_is_no_pass(finder: ThreatFinder) -> None:
    threat = finder.threat("4k4/4R4/9/9/9/9/9/9/4K4 w G 1")
    assert threat.status == "in check"
    assert threat_words(threat, 0, []).startswith("in check from black")


@pytest.mark.parametrize(("hands", "brinkmate"), [("G", True), ("Gg", False)])
def test_a_threat_that_nothing_stops_is_a_brinkmate(finder: ThreatFinder, hands: str, brinkmate: bool) -> None:
    sfen = f"8k/6G2/p7P/9/9/9/9/9/4K4 w {hands} 1"
    threat = finder.threat(sfen)
    assert (threat.status, threat.plies, threat.brinkmate) == ("threat", 1, brinkmate)
    assert all_moves_lose(sfen) is brinkmate
    assert ("brinkmate" in threat_words(threat, 0, threat.line)) is brinkmate


def all_moves_lose(sfen: str) -> bool:
    """The same by asking about every move, checks among them, with a solver of its own."""
    from engine.rules.board import Board
    from engine.search.mate_search import MateSolver

    board, solver = Board(sfen, strict=False), MateSolver(hash_mb=4)
    for move in list(board.legal_moves):
        board.push(move)
        status = solver.solve(board.sfen(), nodes=50_000).status
        board.pop()
        if status != "mate":
            return False
    return True


def test_too_few_nodes_decide_nothing() -> None:
    hard = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL b GR5pnsg 1"
    threat = ThreatFinder(nodes=1).threat(hard)
    assert threat.status in ("unknown", "in check")


# ---------------------------------------------------------------- reports


RECORD_KEYS = {
    "format version source variant start moves headers ending engine limits multipv notation standards complete players"
    " turning_points positions played"
}
POSITION_KEYS = "ply sfen turn score_cp mate black_chances in_check ending depth nodes time_ms lines threat"
PLAYED_KEYS = (
    "ply move name side best judged score_cp mate is_best loss loss_cp accuracy mark missed_mate turning_point"
)
PLAYER_KEYS = "name moves accuracy mean_loss mean_loss_cp best_moves marks missed_mates"


def test_json_keeps_its_keys() -> None:
    record = json.loads(json.dumps(game_record(scripted_game(), "japanese")))
    assert set(record) == set(" ".join(RECORD_KEYS).split())
    assert (record["format"], record["version"]) == ("narikin-analysis", 1)
    assert len(record["positions"]) == len(record["played"]) + 1
    for position in record["positions"]:
        assert set(position) == set(POSITION_KEYS.split())
        assert set(position["lines"][0]) == {"score_cp", "mate", "depth", "seldepth", "solved", "pv", "japanese"}
    for move in record["played"]:
        assert set(move) == set(PLAYED_KEYS.split())
    for side in ("black", "white"):
        assert set(record["players"][side]) == set(PLAYER_KEYS.split())
    assert [move["name"] for move in record["played"]] == ["▲７六歩", "△８四歩", "▲３三角成", "△同角"]


def test_lines_are_named_from_where_they_begin() -> None:
    namer = Namer("shogi", None, BISHOP_LOST, "western")
    assert namer.line(2, ["8h3c+", "2b3c"]) == ["Bx3c+", "Bx3c"]
    assert namer.line(0, ["2g2f", "nonsense"]) == ["P-2f", "nonsense"]
    assert namer.line(0, ["3c3d"], passed=True) == ["P-3d"]
    assert namer.legal(0, ["2g2f", "2g2f"]) == ["2g2f"]
    assert namer.line(4, ["7i8h"]) == ["S-8h"]


def kif_analysis_without_variations() -> GameAnalysis:
    return kif_analysis(KIF.partition("\n変化")[0])


def kif_analysis(text: str = KIF) -> GameAnalysis:
    game, count = read_game(text.encode(), "game.kif", 1, None)
    assert count == 1
    assert game.ending == "resignation"
    thinker = ScriptedThinker(
        dict(
            enumerate(
                [
                    ("7g7f", Score(cp=30)),
                    ("3c3d", Score(cp=-30)),
                    ("2h7h", Score(cp=40)),
                    ("2b3c", Score(cp=900)),
                    ("7i8h", Score(mate=-6)),
                ]
            )
        )
    )
    return GameAnalyser(thinker, Limits(depth=3)).analyse(game)


def test_the_page_needs_nothing_from_outside_and_escapes_what_records_say() -> None:
    html = page(kif_analysis(), "japanese")
    for outside in (r"https?://(?!www\.w3\.org/2000/svg)", r"\bsrc\s*=", r"@import", r"url\((?!#)", r"<link", r"<img"):
        assert not re.search(outside, html), outside
    assert html.count("</script>") == 2
    assert "<b>Kuro" not in html
    assert "&lt;b&gt;Kuro" in html
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert data is not None
    read = json.loads(data[1])
    assert read["game"]["players"]["white"]["name"] == "Shiro</script>"
    assert read["game"]["played"][0]["comment"] == "a comment of the record"
    assert len(read["view"]["sfens"]) == 5
    assert html.count("<tr class=") == 4
    assert re.search(r'<tr class="marked" data-ply="3">.*blunder', html)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.peer
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_the_page_draws_itself_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "game.html"
    path.write_text(page(kif_analysis(), "japanese"), encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, "--dump-dom", f"{path.as_uri()}#3"], capture_output=True, text=True, timeout=60, check=True
    )
    board = re.search(r'<div class="board" id="board">(.*?)</div>', done.stdout, re.S)
    assert board is not None
    assert board[1].count('href="#k-') == 39 + 1  # a pawn was taken: 39 stand on the board, 1 in the hand
    assert "3 ▲３三角成" in done.stdout
    assert re.search(r'class="tag blunder">Blunder', done.stdout)
    assert re.search(r'data-ply="3" aria-current="true"', done.stdout)


@pytest.mark.parametrize("name", ["out.kif", "out.kifu"])
@pytest.mark.parametrize("variations", [False, True])
def test_kif_keeps_what_was_there_and_adds_scores(name: str, variations: bool) -> None:
    data = annotated_kif(kif_analysis(), name, variations)
    (game,) = read_games(data, name)
    assert game.moves() == BISHOP_LOST
    assert game.end == "TORYO"
    line = game.main_line()
    assert line[0].comments[0] == "a comment of the record"
    assert "before the game" in game.root.comments
    assert "#評価値=30" in game.root.comments
    assert "#評価値=30" in line[0].comments  # -30 for white is 30 for black
    assert any(comment.startswith("【悪手】") for comment in line[2].comments)
    assert "#読み筋=△同角" in line[2].comments
    assert "#詰み=後手勝ち:6手" in line[3].comments
    assert [node.seconds for node in line] == [1, 2, 3, 4]
    branches = [node.move for node in line[1].children]
    assert branches == ["8h3c+", "2g2f", *(["2h7h"] if variations else [])]


def test_a_second_analysis_replaces_the_comments_of_the_first() -> None:
    once = annotated_kif(kif_analysis(), "out.kifu", True)
    people = "*【分岐点】と思う\n*#評価値=7\n*#エンジン=Other\n"
    text = once.decode("utf-8-sig").replace("*a comment of the record\n", "*a comment of the record\n" + people)
    for _ in range(2):
        game = kif_analysis(text)
        text = annotated_kif(game, "out.kifu", True).decode("utf-8-sig")
    assert text.replace(people, "") == once.decode("utf-8-sig")
    assert people in text


@pytest.mark.peer
def test_kif_is_readable_by_other_libraries(tmp_path: Path) -> None:
    path = tmp_path / "out.kifu"
    path.write_bytes(annotated_kif(kif_analysis(), path.name, True))
    kif = pytest.importorskip("cshogi.KIF")
    parsed = kif.Parser.parse_file(str(path))
    cshogi = pytest.importorskip("cshogi")
    assert [cshogi.move_to_usi(move) for move in parsed.moves] == BISHOP_LOST
    other = pytest.importorskip("shogi.KIF")  # takes variations for more of the main line
    (game,) = other.Parser.parse_str(annotated_kif(kif_analysis_without_variations(), "out.kifu").decode())
    assert game["moves"] == BISHOP_LOST


# ---------------------------------------------------------------- the command


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, own: OwnThinker) -> None:
    monkeypatch.setattr("usi.commands.analyse.make_thinker", lambda arguments: own)


def test_a_game_from_the_command_line_to_all_its_outputs(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "game.kif"
    record.write_bytes(KIF.encode())
    outputs = [str(tmp_path / name) for name in ("out.html", "out.json", "out.kifu")]
    words = [str(record), "--nodes", "3000", "--html", outputs[0], "--json", outputs[1], "--kif", outputs[2]]
    assert main(["analyse", *words, "--notation", "western", "--mate-nodes", "100"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"3\s+Bx3c\+\s+-\d+\s+[\d.]+ %\s+\d+\s+\?\?", out)
    assert "△ Shiro</script>" in out
    assert err.splitlines() == [f"narikin: written: {name}" for name in (outputs[1], outputs[0], outputs[2])]
    assert json.loads(Path(outputs[1]).read_text(encoding="utf-8"))["complete"] is True
    assert read_games(Path(outputs[2]).read_bytes(), "out.kifu")[0].moves() == BISHOP_LOST


def test_names_of_players_are_no_markup(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, out = tmp_path / "game.kif", tmp_path / "out.kifu"
    text = KIF.replace("後手：Shiro</script>", "後手：[/b]羽生").replace(
        '先手：<b>Kuro</b> & "Co"', "先手：A[red] :smile:\\"
    )
    record.write_text(text, encoding="utf-8")
    assert main(["analyse", str(record), "--nodes", "300", "--no-threat", "--kif", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "▲ A[red] :smile:\\ " in shown
    assert "△ [/b]羽生" in shown
    assert read_games(out.read_bytes(), out.name)[0].players() == ("A[red] :smile:\\", "[/b]羽生")


def test_files_are_written_though_the_table_fails(
    small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*words: object) -> None:
        raise RuntimeError("no table")

    monkeypatch.setattr("usi.analysis.table.print_game", fail)
    out = tmp_path / "out.kif"
    words = ["startpos", "moves", "7g7f", "--game", "--nodes", "300", "--no-threat", "--kif", str(out)]
    assert main(["analyse", *words]) == 2
    assert "no table" in capsys.readouterr().err
    assert out.exists()


@pytest.mark.parametrize("option", ["--html", "--json"])
def test_a_record_is_not_overwritten(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "game.json"
    record.write_text("{}", encoding="utf-8")
    assert main(["analyse", str(record), option, str(tmp_path / "." / "game.json")]) == 2
    assert "would overwrite the record" in capsys.readouterr().err
    out = str(tmp_path / "out")
    assert main(["analyse", str(record), "--html", out, "--kif", out]) == 2
    assert "both name" in capsys.readouterr().err
    assert record.read_text(encoding="utf-8") == "{}"


def test_json_of_a_game_is_all_that_is_printed(
    small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ("startpos moves 7g7f\nstartpos moves " + " ".join(BISHOP_LOST) + "\n").encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda: data)))
    assert main(["analyse", "-", "--number", "2", "--nodes", "500", "--no-threat", "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert record["moves"] == BISHOP_LOST
    assert record["positions"][0]["threat"] is None
    assert err == "narikin: game 2 of 2 in standard input (--number chooses)\n"


def test_moves_on_the_command_line_can_be_a_game(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["startpos", "moves", "7g7f", "--game", "--nodes", "300", "--no-threat", "--json", "-"]
    assert main(["analyse", *words]) == 0
    assert json.loads(capsys.readouterr().out)["moves"] == ["7g7f"]


def test_stopped_games_are_written_as_far_as_they_are_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thinker = ScriptedThinker({ply: ("7g7f", Score(cp=0)) for ply in range(5)}, interrupt_at=2)
    monkeypatch.setattr("usi.commands.analyse.make_thinker", lambda arguments: thinker)
    path = tmp_path / "out.json"
    words = ["startpos", "moves", *BISHOP_LOST, "--game", "--no-threat", "--json", str(path)]
    assert main(["analyse", *words]) == 130
    assert "stopped: the moves from 4 on were analysed" in capsys.readouterr().err
    assert [study is None for study in json.loads(path.read_text())["positions"]] == [True] * 3 + [False] * 2


def test_reading_the_command_line_compiles_nothing() -> None:
    code = (
        "import sys; from usi.main import make_parser; make_parser(['analyse']).parse_args(['analyse', 'game.kif']); "
        "import usi.analysis.single; sys.exit('numba' in sys.modules)"
    )
    root = Path(__file__).resolve().parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.mark.parametrize("crash_at", [4, 2])
def test_an_engine_that_dies_is_named_and_what_it_did_is_kept(
    crash_at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Path(__file__).with_name("fake_usi_engine.py")
    moves = " ".join([*BISHOP_LOST, "7i8h"])
    command = shlex.join([sys.executable, str(script), "--moves", moves, "--score", "5", "--at", f"{crash_at}:crash"])
    path = tmp_path / "out.json"
    words = ["startpos", "moves", *BISHOP_LOST, "--game", "--no-threat", "--json", str(path), "--engine", command]
    assert main(["analyse", *words, "--depth", "1"]) == 2
    err = capsys.readouterr().err
    assert "going down" in err.splitlines()[0]
    assert path.exists() == (crash_at == 2)
    if crash_at == 2:
        positions = json.loads(path.read_text())["positions"]
        assert [position is None for position in positions] == [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["no_such_file.kif"], "no_such_file.kif"),
        (["startpos", "--html", "x.html"], "--html is for whole games"),
        (["startpos", "--json", "x.json"], "whole games only"),
        (["startpos", "moves", "7g7f", "--game", "--html", "/no/such/folder/x.html"], "no folder"),
        (["startpos", "moves", "7g7f", "--game", "--thresholds", "1,2"], "three numbers"),
        (["startpos", "moves", "7g7f", "--game", "--thresholds", "9,2,1"], "grow"),
        (["startpos", "moves", "7g7f", "--game", "--number", "2"], "there are 1 games"),
        (["startpos", "--game"], "no moves"),
        (["startpos", "--clipboard"], "both --clipboard"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], complaint: str) -> None:
    assert main(["analyse", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert complaint in err


def test_a_record_that_cannot_be_read_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.kif"
    path.write_text("手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(76)\n", encoding="utf-8")
    assert main(["analyse", str(path)]) == 2
    assert "bad.kif: line 3" in capsys.readouterr().err


def test_the_clipboard_is_read_when_the_package_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise RuntimeError("\n  no clipboard program\n  see the manual")

    monkeypatch.setitem(sys.modules, "pyperclip", SimpleNamespace(paste=lambda: "startpos moves 7g7f"))
    assert source.clipboard_text() == "startpos moves 7g7f"
    monkeypatch.setitem(sys.modules, "pyperclip", SimpleNamespace(paste=lambda: " "))
    with pytest.raises(ValueError, match="no text"):
        source.clipboard_text()
    monkeypatch.setitem(sys.modules, "pyperclip", SimpleNamespace(paste=broken))
    with pytest.raises(ValueError, match=r"cannot be read: no clipboard program$"):
        source.clipboard_text()
    monkeypatch.setitem(sys.modules, "pyperclip", None)
    with pytest.raises(ValueError, match="pip install"):
        source.clipboard_text()


def test_a_position_says_its_threat_when_asked(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    sfen = MATE_IN_ONE.replace(" b ", " w ")
    assert main(["analyse", sfen, "--nodes", "300", "--threat", "--notation", "japanese"]) == 0
    assert "black threatens mate in 1: ▲５二金" in capsys.readouterr().out
    assert main(["analyse", "--json", sfen, "--nodes", "300", "--threat"]) == 0
    assert json.loads(capsys.readouterr().out)["threat"] == {
        "status": "threat",
        "line": ["G*5b"],
        "shortest": True,
        "brinkmate": False,
    }
