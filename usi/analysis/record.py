"""A game analysis as a JSON-ready record, the same for programs and for the page.

Scores are centipawns (`score_cp`) or plies to mate (`mate`), the other one null; the view is that of the side to move
where a position is described, and of the player who moved where a move is. mate: negative = is mated, 0 = mated now.
Winning chances, losses and accuracies are percent.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from usi.analysis.game import GameAnalysis, Line, Study
from usi.analysis.judge import BLACK, Verdict
from usi.analysis.names import Namer
from usi.analysis.score import Score

FORMAT, VERSION = "narikin-analysis", 1
SIDES = ("black", "white")


def game_record(analysis: GameAnalysis, notation: str = "usi") -> dict[str, Any]:
    """Everything, for `json.dumps`."""
    game, limits = analysis.game, analysis.limits
    namer = Namer(game.variant, game.start, game.moves, notation)
    chances = analysis.chances()
    return {
        "format": FORMAT,
        "version": VERSION,
        "source": game.source,
        "variant": game.variant,
        "start": game.start,
        "moves": game.moves,
        "headers": game.headers,
        "ending": game.ending,
        "engine": analysis.engine,
        "limits": {"depth": limits.depth, "nodes": limits.nodes, "movetime": limits.movetime},
        "multipv": analysis.multipv,
        "notation": notation,
        "standards": asdict(analysis.standards),
        "complete": analysis.complete,
        "players": {
            SIDES[side]: {"name": game.names[side], **_rounded(asdict(summary))}
            for side, summary in enumerate(analysis.players)
        },
        "turning_points": [move + 1 for move in analysis.turning_points],
        "positions": [
            _position(study, chances[index], namer, notation) if study else None
            for index, study in enumerate(analysis.studies)
        ],
        "played": [
            _move(analysis, index, name, verdict)
            for index, (name, verdict) in enumerate(zip(namer.game(), analysis.verdicts, strict=True))
        ],
    }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 2) if isinstance(value, float) else value for key, value in values.items()}


def _score(score: Score | None) -> dict[str, int | None]:
    return {"score_cp": score.cp if score else None, "mate": score.mate if score else None}


def _position(study: Study, chance: float | None, namer: Namer, notation: str) -> dict[str, Any]:
    return {
        "ply": study.ply,
        "sfen": study.sfen,
        "turn": SIDES[study.turn],
        **_score(study.score),
        "black_chances": None if chance is None else round(chance, 2),
        "in_check": study.in_check,
        "ending": study.ending,
        "depth": study.depth,
        "nodes": study.nodes,
        "time_ms": study.time_ms,
        "lines": [_line(line, study.ply, namer, notation) for line in study.lines],
        "threat": _threat(study, namer, notation),
    }


def _line(line: Line, ply: int, namer: Namer, notation: str) -> dict[str, Any]:
    return {
        **_score(line.score),
        "depth": line.depth,
        "seldepth": line.seldepth,
        "solved": line.solved,
        "pv": line.moves,
        **({} if notation == "usi" else {notation: namer.line(ply, line.moves)}),
    }


def _threat(study: Study, namer: Namer, notation: str) -> dict[str, Any] | None:
    threat = study.threat
    if threat is None:
        return None
    return {
        **asdict(threat),
        **({} if notation == "usi" else {notation: namer.line(study.ply, threat.line, passed=True)}),
    }


def _move(analysis: GameAnalysis, index: int, name: str, verdict: Verdict | None) -> dict[str, Any]:
    study = analysis.studies[index]
    record: dict[str, Any] = {
        "ply": index + 1,
        "move": analysis.game.moves[index],
        "name": name,
        "side": SIDES[analysis.sides[index]],
        "best": study.best if study else None,
        "judged": verdict is not None,
    }
    if verdict is not None:
        record |= {
            **_score(verdict.score),
            "is_best": verdict.is_best,
            "loss": round(verdict.loss, 2),
            "loss_cp": verdict.loss_cp,
            "accuracy": round(verdict.accuracy, 2),
            "mark": verdict.mark,
            "missed_mate": verdict.missed_mate,
            "turning_point": verdict.turning_point,
        }
    comment = analysis.game.comments.get(index + 1)
    return {**record, "comment": comment} if comment else record


def black_view(study: Study) -> str:
    """The score of a position in black's view, as people read it."""
    if study.score is None:
        return ""
    return study.score.text(1 if study.turn == BLACK else -1)
