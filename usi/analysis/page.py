"""A game analysis as one page that needs nothing else: board, graph, accuracy, moves and lines to click through."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from engine.rules.codes import BLACK, DRAGON, KING, WHITE, piece_letter, piece_of
from engine.rules.sfen import parse_sfen
from engine.rules.svg import (
    BORDER,
    CELL,
    FONT,
    HAND_WIDTH,
    LEFT_BEHIND,
    MOVED,
    board_svg,
    empty_board,
    piece_svg,
)
from engine.rules.variants import Variant, get_variant
from usi import __version__
from usi.analysis.game import GameAnalysis
from usi.analysis.judge import BLACK as BLACK_SIDE
from usi.analysis.judge import MARKS, PlayerSummary
from usi.analysis.record import SIDES, game_record

SIGNS = ("▲", "△")
MARK_TITLES = {"inaccuracy": "Inaccuracies", "mistake": "Mistakes", "blunder": "Blunders"}
MARK_SIGNS = {"inaccuracy": "?!", "mistake": "?", "blunder": "??"}
KINDS = range(1, DRAGON + 1)
MINUS = "\u2212"
EVENT_HEADERS = ("棋戦", "開始日時", "場所", "手合割")


def page(analysis: GameAnalysis, notation: str) -> str:
    """The page as HTML text."""
    record = game_record(analysis, notation)
    variant = get_variant(analysis.game.variant)
    first = analysis.first_ply or 0
    placement = parse_sfen(_sfens(analysis)[first], variant, strict=False)
    title = " - ".join(f"{SIGNS[side]}{_name(analysis, side)}" for side in (0, 1))
    parts = {
        "generator": f"Narikin {__version__}",
        "title": escape(title),
        "heading": " &nbsp;&ndash;&nbsp; ".join(f"{SIGNS[side]} {escape(_name(analysis, side))}" for side in (0, 1)),
        "subtitle": escape(_subtitle(analysis)),
        "notice": _notice(analysis),
        "css": _asset("page.css"),
        "script": _asset("page.js"),
        "board": board_svg(placement, variant),
        "graph": graph_svg(record),
        "players": "".join(_player(analysis, side) for side in (0, 1)),
        "moments": _moments(record),
        "moves": "\n".join(_row(record, index) for index in range(len(record["moves"]))),
        "method": escape(_method(analysis)),
        "pieces": _pieces(),
        "wood": "".join(empty_board(variant)),
        "wood_flipped": "".join(empty_board(variant, flipped=True)),
        "data": _data(record, analysis, variant, first),
    }
    return Template(_asset("page.html")).substitute(parts)


def _asset(name: str) -> str:
    return files("usi.analysis").joinpath("assets", name).read_text(encoding="utf-8")


def _name(analysis: GameAnalysis, side: int) -> str:
    return analysis.game.names[side] or SIDES[side].capitalize()


def _sfens(analysis: GameAnalysis) -> list[str]:
    """SFEN of every position, those that were not studied too."""
    from usi.analysis.game import blank_studies

    return [study.sfen for study in blank_studies(analysis.game)]


def _subtitle(analysis: GameAnalysis) -> str:
    headers = [analysis.game.headers[key] for key in EVENT_HEADERS if analysis.game.headers.get(key)]
    count = len(analysis.game.moves)
    end = f", {analysis.game.ending}" if analysis.game.ending else ""
    return " · ".join([*headers, f"{count} moves{end}", f"analysed by {analysis.engine} ({_limits(analysis)})"])


def _limits(analysis: GameAnalysis) -> str:
    limits = analysis.limits
    named = [
        f"depth {limits.depth}" if limits.depth else "",
        f"{limits.nodes} nodes" if limits.nodes else "",
        f"{limits.movetime / 1000:g} s" if limits.movetime else "",
    ]
    return ", ".join(filter(None, named)) + " a position"


def _notice(analysis: GameAnalysis) -> str:
    if analysis.complete:
        return ""
    return (
        f'<p class="notice">The analysis was stopped: the moves before {(analysis.first_ply or 0) + 1} are missing.</p>'
    )


def _method(analysis: GameAnalysis) -> str:
    standards = analysis.standards
    return (
        f"Scores are black's view, in hundredths of a pawn. Winning chances are "
        f"1 / (1 + exp(-score / {standards.scale:g})). A move is "
        f"an inaccuracy, a mistake or a blunder when it loses {standards.inaccuracy:g}, {standards.mistake:g} or "
        f"{standards.blunder:g} % of them against the best move. Accuracy is computed as lichess describes it. "
        "A turning point is the costliest move by which the lead passed to the other side."
    )


def graph_svg(record: dict[str, Any]) -> str:
    """Black's winning chances over the game, stretched to the space there is, and a dot for every marked move."""
    count = max(1, len(record["moves"]))
    points = [
        (position["ply"], 100 - position["black_chances"])
        for position in record["positions"]
        if position and position["black_chances"] is not None
    ]
    if not points:
        return ""
    curve = "L".join(f"{x} {y:.1f}" for x, y in points)
    area = f"M{points[0][0]} 100L{curve}L{points[-1][0]} 100Z"
    dots = "".join(
        f'<span class="dot {mark}" style="left:{100 * move["ply"] / count:.2f}%;top:{top:.1f}%"></span>'
        for move in record["played"]
        if (mark := dot_mark(move))
        and (position := record["positions"][move["ply"]])
        and (top := 100 - position["black_chances"]) is not None
    )
    return (
        f'<svg viewBox="0 0 {count} 100" preserveAspectRatio="none" role="img" aria-label="Black\'s winning chances">'
        f'<path d="{area}" fill="var(--black)" fill-opacity=".88"/>'
        f'<path d="M0 50H{count}" stroke="#8a8375" stroke-width="1" stroke-dasharray="4 4" '
        'vector-effect="non-scaling-stroke"/>'
        f'<path d="M{curve}" fill="none" stroke="#8a8375" stroke-width="1.5" vector-effect="non-scaling-stroke"/>'
        f"</svg>{dots}"
    )


def dot_mark(move: dict[str, Any]) -> str | None:
    """Class of a move's dot in the graph; inaccuracies have none, or there would be too many."""
    if not move["judged"]:
        return None
    if move["missed_mate"] is not None:
        return "missed"
    return move["mark"] if move["mark"] in ("mistake", "blunder") else None


def _player(analysis: GameAnalysis, side: int) -> str:
    summary = analysis.players[side] if analysis.players else PlayerSummary()
    rows = [(f'<span class="{mark}">{MARK_TITLES[mark]}</span>', str(summary.marks[mark])) for mark in MARKS]
    rows.append(('<span class="missed">Mates missed</span>', str(summary.missed_mates)))
    if summary.moves:
        rows.append(("Best moves", f"{100 * summary.best_moves / summary.moves:.0f} %"))
    if summary.mean_loss is not None:
        rows.append(("Mean loss", f"{summary.mean_loss:.1f} %"))
    if summary.mean_loss_cp is not None:
        rows.append(("in centipawns", f"{summary.mean_loss_cp:.0f}"))
    accuracy = "&ndash;" if summary.accuracy is None else f"{summary.accuracy:.1f} %"
    items = "".join(f"<li><span>{name}</span><b>{value}</b></li>" for name, value in rows)
    return (
        f'<div class="card player"><strong>{SIGNS[side]} {escape(_name(analysis, side))}</strong>'
        f'<div class="big">{accuracy}</div><span class="quiet">accuracy</span><ul>{items}</ul></div>'
    )


def _moments(record: dict[str, Any]) -> str:
    """The moves that decided the game, to jump to."""
    chips = []
    for move in record["played"]:
        if not move["judged"]:
            continue
        words = ["turning point"] * move["turning_point"]
        if move["missed_mate"] is not None:
            words.append(f"missed mate in {move['missed_mate']}")
        elif move["mark"] == "blunder":
            words.append(f"blunder {MINUS}{move['loss']:.0f} %")
        if words:
            kind = "missed" if move["missed_mate"] is not None else move["mark"] or ""
            ply = move["ply"]
            chips.append(
                f'<a class="moment" href="#{ply}" data-ply="{ply}">{ply} {escape(move["name"])} '
                f'<span class="{kind}">{", ".join(words)}</span></a>'
            )
    if not chips:
        return ""
    return f'<div class="card"><h2>Key moments</h2><div class="moments">{"".join(chips)}</div></div>'


def _row(record: dict[str, Any], index: int) -> str:
    move, after = record["played"][index], record["positions"][index + 1]
    words, kind = "", "plain"
    if move["judged"]:
        tags = (
            [f'<span class="{move["mark"]}">{MARK_SIGNS[move["mark"]]} <i>{move["mark"]}</i></span>']
            if move["mark"]
            else []
        )
        if move["missed_mate"] is not None:
            tags.append(f'<span class="missed">missed mate in {move["missed_mate"]}</span>')
        if tags:
            kind = "marked"
        if move["is_best"]:
            tags.append('<span class="best">best</span>')
        words = ", ".join(tags)
    if after and after["threat"] and after["threat"]["line"]:
        name = "brinkmate" if after["threat"]["brinkmate"] else "threatens mate"
        words += f'{", " if words else ""}<span class="quiet">{name}</span>'
    loss = f"{move['loss']:.1f} %" if move["judged"] and not move["is_best"] else ""
    return (
        f'<tr class="{kind}" data-ply="{move["ply"]}"><td class="n">{move["ply"]}</td><td>{escape(move["name"])}</td>'
        f'<td class="n">{_score_text(after)}</td><td class="n">{loss}</td><td>{words}</td></tr>'
    )


def _score_text(position: dict[str, Any] | None) -> str:
    """Black's view, as the script writes it."""
    if position is None:
        return ""
    sign = 1 if position["turn"] == SIDES[BLACK_SIDE] else -1
    if position["mate"] is not None:
        winner = SIGNS[0] if (position["mate"] > 0) == (sign > 0) else SIGNS[1]
        plies = abs(position["mate"])
        return f"{winner} mate{f' {plies}' if 0 < plies < 9999 else ''}"
    if position["score_cp"] is None:
        return ""
    value = sign * position["score_cp"]
    return f"{MINUS if value < 0 else '+'}{abs(value)}"


def _pieces() -> str:
    """The pictures of all pieces, once each; the script places them."""
    pictures = {_picture_id(kind): piece_svg(piece_of(kind, BLACK)) for kind in KINDS}
    pictures["k-W"] = piece_svg(piece_of(KING, WHITE))
    return "".join(f'<g id="{name}">{picture}</g>' for name, picture in pictures.items())


def _picture_id(kind: int) -> str:
    return f"k-{piece_letter(piece_of(kind, BLACK)).replace('+', 'p')}"


def _data(record: dict[str, Any], analysis: GameAnalysis, variant: Variant, first: int) -> str:
    """What the script works on; `<` is written so that no text can end the script element."""
    view = {
        "width": variant.width,
        "height": variant.height,
        "cell": CELL,
        "border": BORDER,
        "hand": HAND_WIDTH,
        "font": FONT.replace('"', "'"),
        "moved": MOVED,
        "left": LEFT_BEHIND,
        "sfens": _sfens(analysis),
        "first": first,
        "comment": analysis.game.comments.get(0, ""),
    }
    text = json.dumps({"game": record, "view": view}, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
