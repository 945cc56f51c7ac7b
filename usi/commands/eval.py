"""Show the static evaluation of a position and what each piece contributes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from usi.commands._arguments import add_position, count, read_position

if TYPE_CHECKING:
    from engine.rules.sfen import Placement
    from engine.rules.variants import Variant
    from eval import Evaluation
    from eval.contributions import Contributions

CELL = 6  # characters of a number on the board
LEGEND = (
    "Below each piece: what it is worth to its owner here, in centipawns: the change of the score when it alone is "
    "lifted off."
)


def add_parser(subparsers: Any) -> None:
    """`narikin eval`."""
    parser = subparsers.add_parser("eval", help="show the static evaluation of a position", description=__doc__)
    add_position(parser)
    parser.add_argument(
        "--net", metavar="FILE", help='a network, a folder with nn.bin, or "handcrafted" (default: the shipped one)'
    )
    parser.add_argument(
        "--fv-scale", type=count(1, 128), metavar="N", help="network units per centipawn (default: the file's, or 16)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Score the position and print it as a board."""
    variant, placement = set_up(arguments.position, arguments.variant)
    from eval import load_evaluation
    from eval.contributions import contributions

    evaluation = load_evaluation(arguments.net, variant.name, arguments.fv_scale)
    found = contributions(evaluation, placement)
    print("\n".join(report(evaluation, variant, placement, found)))
    return 0


def set_up(words: list[str], variant_name: str) -> tuple[Variant, Placement]:
    """The position after all moves given. Raises ValueError naming the bad part."""
    from engine.rules.sfen import parse_sfen
    from engine.rules.variants import get_variant

    variant = get_variant(variant_name)
    position = read_position(words, variant_name)
    if not position.moves:
        return variant, parse_sfen(position.sfen or variant.start_sfen, variant)
    from engine.rules.board import Board

    board = Board(position.sfen, variant=variant_name)
    for move in position.moves:
        board.push_usi(move)
    return variant, parse_sfen(board.sfen(), variant)


def report(evaluation: Evaluation, variant: Variant, placement: Placement, found: Contributions) -> list[str]:
    """The lines to print."""
    from engine.rules.codes import BLACK, WHITE

    side, sign = ("black", 1) if placement.side == BLACK else ("white", -1)
    score = evaluation.centipawns(found.score)
    lines = [f"Evaluation: {evaluation.description}", ""]
    lines += hand_lines(evaluation, placement, found, WHITE)
    lines += board_lines(evaluation, variant, placement, found)
    lines += hand_lines(evaluation, placement, found, BLACK)
    lines += ["", f"Score: {score:+d} for {side}, who is to move ({sign * score / 100:+.2f} pawns for black)", LEGEND]
    return lines


def board_lines(evaluation: Evaluation, variant: Variant, placement: Placement, found: Contributions) -> list[str]:
    """The board with a number below each piece, black at the bottom."""
    from engine.rules.codes import RANK_LETTERS
    from engine.rules.sfen import piece_letter

    files = range(variant.width - 1, -1, -1)
    line = "+" + ("-" * CELL + "+") * variant.width
    lines = [" " + " ".join(str(file + 1).center(CELL) for file in files), line]
    for rank in range(variant.height):
        squares = [file * 9 + rank for file in files]
        pieces = [piece_letter(placement.board[square]) if placement.board[square] else "" for square in squares]
        worth = [number(evaluation, found.board.get(square)) for square in squares]
        lines.append("|" + "|".join(piece.center(CELL) for piece in pieces) + f"| {RANK_LETTERS[rank]}")
        lines.append("|" + "|".join(text.rjust(CELL - 1) + " " for text in worth) + "|")
        lines.append(line)
    return lines


def number(evaluation: Evaluation, worth: int | None) -> str:
    """A contribution with its sign; kings and empty squares have none."""
    return "" if worth is None else f"{evaluation.centipawns(worth):+d}"


def hand_lines(evaluation: Evaluation, placement: Placement, found: Contributions, colour: int) -> list[str]:
    """What a player holds, with the worth of one piece of each kind."""
    from engine.rules.codes import BLACK, PIECE_LETTERS

    held = [
        f"{PIECE_LETTERS[kind]} x{placement.hands[colour][kind]} ({number(evaluation, worth)} each)"
        for kind, worth in found.hands[colour].items()
    ]
    name = "black" if colour == BLACK else "white"
    return [f"In {name}'s hand: {', '.join(held) or 'nothing'}"]
