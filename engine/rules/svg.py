"""A position as a picture: an SVG text. Pure Python, no numba.

Drawn in units of one square = 50. Black sits below and holds the hand on the right, white above with the hand on the
left; the letters of white's pieces stand upside down.
"""

from __future__ import annotations

from html import escape

from engine.rules.codes import (
    BLACK,
    COLOURS,
    HAND_TYPES,
    KING,
    NO_MOVE,
    NULL_MOVE,
    WHITE,
    colour_of,
    is_drop,
    move_from,
    move_to,
    piece_of,
    type_of,
)
from engine.rules.diagram import ONE_KANJI
from engine.rules.notation import FILES, RANKS, SIDE_SIGNS
from engine.rules.sfen import Placement, format_sfen
from engine.rules.variants import Variant

CELL = 50
BORDER = 24  # room for the coordinates
HAND_WIDTH = 64
PICTURE = HAND_WIDTH + BORDER  # left edge of the grid
FONT = "'Noto Serif CJK JP','Source Han Serif','Hiragino Mincho ProN','Yu Mincho','MS Mincho',serif"
INK, GREY, RED, WOOD, PIECE_WOOD = "#20150a", "#b0a89c", "#c01818", "#e8c27a", "#f8e4b4"
MOVED, LEFT_BEHIND = "#f2a65a", "#f0d48a"  # squares of the last move: where to, where from
# a piece with its point up, as shares of a square measured from its middle
PENTAGON = ((0.0, -0.44), (0.30, -0.32), (0.39, 0.42), (-0.39, 0.42), (-0.30, -0.32))


def board_svg(
    placement: Placement, variant: Variant, last_move: int = NO_MOVE, size: int = 480, flipped: bool = False
) -> str:
    """The picture of a position, `size` pixels wide; `last_move` is marked; flipped=True puts white below."""
    width = variant.width * CELL + 2 * PICTURE
    height = variant.height * CELL + 2 * BORDER
    view = _View(variant, flipped)
    wood, *lines = empty_board(variant, flipped)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{round(size * height / width)}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONT}" text-anchor="middle">',
        f"<title>{escape(format_sfen(placement, variant))}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        wood,
        *_marks(view, last_move),
        *lines,
        *(_piece(piece, *view.middle(square), view) for square, piece in enumerate(placement.board) if piece),
        *(part for colour in COLOURS for part in _hand(placement, colour, view, width, height)),
        "</svg>",
    ]
    return "\n".join(parts)


def empty_board(variant: Variant, flipped: bool = False) -> list[str]:
    """The parts of a board without pieces: the wood, then lines and coordinates. Pages draw the rest themselves."""
    height = variant.height * CELL + 2 * BORDER
    width = variant.width * CELL + 2 * BORDER
    wood = f'<rect x="{HAND_WIDTH}" width="{width}" height="{height}" rx="4" fill="{WOOD}"/>'
    return [wood, *_grid(variant), *_coordinates(_View(variant, flipped))]


def piece_svg(piece: int) -> str:
    """A piece alone, its middle at the origin, its point up whosever it is."""
    return _piece_at(piece, 0, 0, "")


class _View:
    """Where things stand on the picture."""

    def __init__(self, variant: Variant, flipped: bool) -> None:
        self.width, self.height, self.flipped = variant.width, variant.height, flipped

    def cell(self, square: int) -> tuple[int, int]:
        """Left upper corner of a square."""
        file, rank = divmod(square, 9)
        column = file if self.flipped else self.width - 1 - file
        row = self.height - 1 - rank if self.flipped else rank
        return PICTURE + column * CELL, BORDER + row * CELL

    def middle(self, square: int) -> tuple[float, float]:
        x, y = self.cell(square)
        return x + CELL / 2, y + CELL / 2

    def below(self, colour: int) -> bool:
        """True for the player at the lower edge."""
        return (colour == BLACK) != self.flipped


def _marks(view: _View, move: int) -> list[str]:
    if move in (NO_MOVE, NULL_MOVE):
        return []
    squares = [(move_to(move), MOVED)]
    if not is_drop(move):
        squares.append((move_from(move), LEFT_BEHIND))
    marks = []
    for square, colour in squares:
        x, y = view.cell(square)
        marks.append(f'<rect class="last-move" x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{colour}"/>')
    return marks


def _grid(variant: Variant) -> list[str]:
    right, bottom = PICTURE + variant.width * CELL, BORDER + variant.height * CELL
    lines = [f"M{PICTURE + i * CELL} {BORDER}V{bottom}" for i in range(variant.width + 1)]
    lines += [f"M{PICTURE} {BORDER + i * CELL}H{right}" for i in range(variant.height + 1)]
    zone, across = variant.zone_ranks, variant.width // 3
    # dots mark the corners of the promotion zones
    dots = [(column, row) for column in (across, variant.width - across) for row in (zone, variant.height - zone)]
    return [
        f'<path d="{"".join(lines)}" stroke="{INK}" stroke-width="1.2" fill="none"/>',
        *(
            f'<circle cx="{PICTURE + column * CELL}" cy="{BORDER + row * CELL}" r="3.5" fill="{INK}"/>'
            for column, row in dots
        ),
    ]


def _coordinates(view: _View) -> list[str]:
    texts = []
    for file in range(view.width):
        x, _ = view.middle(file * 9)
        texts.append(_text(FILES[file], x, BORDER * 0.5, 15))
    for rank in range(view.height):
        _, y = view.middle(rank)
        texts.append(_text(RANKS[rank], PICTURE + view.width * CELL + BORDER * 0.5, y, 15))
    return texts


def _text(text: str, x: float, y: float, size: float, colour: str = INK) -> str:
    # the middle of a kanji lies about 0.36 of its height above the base line
    return f'<text x="{x:g}" y="{y + 0.36 * size:g}" font-size="{size:g}" fill="{colour}">{text}</text>'


def _piece(piece: int, x: float, y: float, view: _View, scale: float = 1.0) -> str:
    turn = "" if view.below(colour_of(piece)) else " rotate(180)"
    return _piece_at(piece, x, y, turn, scale)


def _piece_at(piece: int, x: float, y: float, turn: str, scale: float = 1.0) -> str:
    kind, colour = type_of(piece), colour_of(piece)
    size = CELL * scale
    points = " ".join(f"{px * size:g},{py * size:g}" for px, py in PENTAGON)
    name = "王" if kind == KING and colour == WHITE else ONE_KANJI[kind]
    ink = RED if kind > KING else INK
    return (
        f'<g transform="translate({x:g} {y:g}){turn}"><polygon points="{points}" fill="{PIECE_WOOD}" '
        f'stroke="{INK}" stroke-width="1"/>{_text(name, 0, 0.06 * size, 0.56 * size, ink)}</g>'
    )


def _hand(placement: Placement, colour: int, view: _View, width: int, height: int) -> list[str]:
    """The hand of one side: for the player below from the lower right corner upwards, else from the upper left down.

    The side's sign stands at its head, grey unless it is to move.
    """
    below = view.below(colour)
    held = [(kind, placement.hands[colour][kind]) for kind in HAND_TYPES if placement.hands[colour][kind]]
    step = min(CELL * 0.9, (height - 2 * BORDER) / 7)
    x = width - HAND_WIDTH * 0.62 if below else HAND_WIDTH * 0.38
    sign_y = height - BORDER * 0.5 if below else BORDER * 0.5
    parts = [_text(SIDE_SIGNS[colour], x, sign_y, 16, INK if placement.side == colour else GREY)]
    for place, (kind, count) in enumerate(reversed(held)):
        y = height - BORDER - step * (place + 0.5) if below else BORDER + step * (place + 0.5)
        parts.append(_piece(piece_of(kind, colour), x, y, view, step / CELL))
        if count > 1:
            parts.append(_text(str(count), x + step * 0.68, y, step * 0.42))
    return parts
