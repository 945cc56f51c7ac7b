"""The record of an analysed game with comments that GUIs show.

Scores and lines are written as ShogiHome writes them (`#評価値=` and so on, black's view), so that it draws its graph
from them; other GUIs show them as text. What the record says already stays, but for what an earlier analysis by the
same engine wrote.
"""

from __future__ import annotations

import re

from usi.analysis.game import GameAnalysis, Study
from usi.analysis.judge import BLACK, Verdict
from usi.analysis.names import Namer
from usi.analysis.score import Score
from usi.protocol import MATE_LENGTH_UNKNOWN
from usi.records import Node, RecordError, write_games

MARK_NAMES = {"inaccuracy": "緩手", "mistake": "疑問手", "blunder": "悪手"}
SIDE_NAMES = ("先手", "後手")
TRADITIONAL = "cp932"  # of files named .kif; .kifu is UTF-8
OURS = re.compile(
    r"【(?:緩手|疑問手|悪手)】勝率 -\d+% 最善は.*|【詰み逃し】(?:\d+手)?詰|【分岐点】|(?:必至|詰めろ) \(\d+手詰\): .*"
)
SCORED = re.compile(r"#(?:評価値|詰み|読み筋|深さ|ノード数)=.*")
ENGINE = "#エンジン="


def annotated_kif(analysis: GameAnalysis, name: str, variations: bool = False) -> bytes:
    """The file; comments go into `analysis.game.record`. `variations`: better lines of marked moves go in too."""
    record = analysis.game.record
    assert record is not None
    Annotator(analysis).annotate(variations)
    if name.lower().endswith(".kif"):
        try:
            return write_games([record], "kif", TRADITIONAL)
        except (RecordError, UnicodeEncodeError):  # a name or comment that Shift_JIS has no letters for
            pass
    return write_games([record], "kif", "utf-8")


class Annotator:
    """Adds comments and variations to the record of an analysed game."""

    def __init__(self, analysis: GameAnalysis) -> None:
        game = analysis.game
        self._analysis = analysis
        self._namer = Namer(game.variant, game.start, game.moves, "japanese")

    def annotate(self, variations: bool) -> None:
        """Comments on every position that was studied."""
        record = self._analysis.game.record
        assert record is not None
        nodes = [record.root, *record.main_line()]
        for ply, (node, study) in enumerate(zip(nodes, self._analysis.studies, strict=True)):
            verdict = self._analysis.verdicts[ply - 1] if ply else None
            if study is not None:  # where a stopped analysis did not get to, what is there stays
                node.comments = without_analysis(node.comments, self._analysis.engine)
            if verdict is not None:
                node.comments += self._on_move(ply, verdict)
            if study is not None:
                node.comments += self._on_position(study)
            if variations and verdict is not None and (verdict.mark or verdict.missed_mate):
                self._add_variation(nodes[ply - 1], ply - 1)

    def _on_move(self, ply: int, verdict: Verdict) -> list[str]:
        study = self._analysis.studies[ply - 1]
        comments = []
        if verdict.mark:
            best = self._namer.line(ply - 1, study.lines[0].moves[:1])[0] if study and study.lines else ""
            comments.append(f"【{MARK_NAMES[verdict.mark]}】勝率 -{verdict.loss:.0f}% 最善は{best}")
        if verdict.missed_mate is not None:
            comments.append(f"【詰み逃し】{_length(verdict.missed_mate)}詰")
        if verdict.turning_point:
            comments.append("【分岐点】")
        return comments

    def _on_position(self, study: Study) -> list[str]:
        comments = []
        threat = study.threat
        if threat is not None and threat.line:
            line = "".join(self._namer.line(study.ply, threat.line, passed=True))
            comments.append(f"{'必至' if threat.brinkmate else '詰めろ'} ({len(threat.line)}手詰): {line}")
        if study.score is None:
            return comments
        comments.append(_score_comment(study.score, study.turn))
        if study.lines:
            comments.append("#読み筋=" + "".join(self._namer.line(study.ply, study.lines[0].moves)))
            comments += [f"#深さ={study.depth}", f"#ノード数={study.nodes}"]
        return [*comments, ENGINE + self._analysis.engine]

    def _add_variation(self, before: Node, ply: int) -> None:
        """The best line as a variation, unless the record has one that begins alike."""
        study = self._analysis.studies[ply]
        if study is None or not study.lines:
            return
        moves = self._namer.legal(ply, study.lines[0].moves)
        if not moves or any(child.move == moves[0] for child in before.children):
            return
        comments = [_score_comment(study.lines[0].score, study.turn), ENGINE + self._analysis.engine]
        node = before.add(Node(moves[0], comments))
        for move in moves[1:]:
            node = node.add(Node(move))


def without_analysis(comments: list[str], engine: str) -> list[str]:
    """What of a position's comments is no analysis by `engine` that `annotated_kif` wrote."""
    kept: list[str] = []
    for comment in comments:
        if comment == ENGINE + engine:
            while kept and SCORED.fullmatch(kept[-1]):
                kept.pop()
        elif not OURS.fullmatch(comment):
            kept.append(comment)
    return kept


def _score_comment(score: Score, turn: int) -> str:
    """A score of the side to move, `turn`, as black's."""
    if score.mate is None:
        return f"#評価値={(score.cp or 0) * (1 if turn == BLACK else -1)}"
    winner = turn if score.mate > 0 else 1 - turn
    length = _length(score.mate)
    return f"#詰み={SIDE_NAMES[winner]}勝ち{':' if length else ''}{length}"


def _length(mate: int) -> str:
    return "" if abs(mate) >= MATE_LENGTH_UNKNOWN or mate == 0 else f"{abs(mate)}手"
