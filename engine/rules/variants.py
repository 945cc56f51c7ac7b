"""The games, as data: board, zone, pieces, start positions. No jitted code asks which variant it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.rules.codes import BISHOP, GOLD, KING, KNIGHT, LANCE, PAWN, PIECE_LETTERS, ROOK, SILVER

SET_POINTS = {BISHOP: 5, ROOK: 5, KING: 0}  # impasse points by type; every other piece counts 1
FULL_POINTS = 54  # impasse points of a complete shogi set
DRAW_POINTS = 24  # of these, the least that saves a player from losing an impasse


@dataclass(frozen=True, eq=False)
class Variant:
    """One game. Instances are unique: compare them with `is`."""

    name: str  # the value of USI_Variant
    title: str  # for people
    index: int  # number of the variant in tables and file names
    width: int  # files
    height: int  # ranks
    zone_ranks: int  # depth of the promotion zone
    start_sfen: str
    box: tuple[int, ...]  # by type 0..8: how many pieces the set holds, both sides together
    handicaps: Mapping[str, str] = field(repr=False)  # name -> start SFEN; the stronger side is white and moves first

    @property
    def types(self) -> tuple[int, ...]:
        """Unpromoted piece types in play."""
        return tuple(kind for kind in range(1, KING + 1) if self.box[kind])

    @property
    def letters(self) -> str:
        """Letters of the pieces in play, capitals."""
        return "".join(PIECE_LETTERS[kind] for kind in self.types)

    @property
    def points(self) -> int:
        """Impasse points of the whole set (shogi: 54)."""
        return sum(self.box[kind] * impasse_points(kind) for kind in self.types)

    @property
    def draw_points(self) -> int:
        """Least points with which a player holds the draw by the 24-point rule.

        A small set has fewer than 54 points; the bound keeps the same share of them.
        """
        return -(-self.points * DRAW_POINTS // FULL_POINTS)

    @property
    def win_points(self) -> int:
        """Least points that win by the 24-point rule: the other player cannot hold the draw (shogi: 31)."""
        return self.points - self.draw_points + 1


def impasse_points(kind: int) -> int:
    """Points of an unpromoted type in an impasse: rook and bishop 5, king 0, others 1."""
    return SET_POINTS.get(kind, 1)


def _without(start_sfen: str, squares: str) -> str:
    """The start position without white's pieces on the named squares (such as "1a 8b"); white moves first."""
    ranks = [_expand(rank) for rank in start_sfen.split()[0].split("/")]
    for name in squares.split():
        file, rank = int(name[0]), "abcdefghi".index(name[1])
        ranks[rank][-file] = ""
    return "/".join(_shrink(rank) for rank in ranks) + " w - 1"


def _expand(rank: str) -> list[str]:
    cells: list[str] = []
    for letter in rank:
        cells += [""] * int(letter) if letter.isdigit() else [letter]
    return cells


def _shrink(cells: list[str]) -> str:
    text, empty = "", 0
    for cell in [*cells, None]:
        if cell == "":
            empty += 1
            continue
        text += (str(empty) if empty else "") + (cell or "")
        empty = 0
    return text


def _box(pawns: int, lances: int, knights: int, others: int) -> tuple[int, ...]:
    """Set of two kings, bishops and rooks; `others` silvers and as many golds."""
    counts = {PAWN: pawns, LANCE: lances, KNIGHT: knights, SILVER: others, GOLD: others, BISHOP: 2, ROOK: 2, KING: 2}
    return tuple(counts.get(kind, 0) for kind in range(KING + 1))


def _variant(
    index: int, name: str, title: str, zone_ranks: int, start: str, box: tuple[int, ...], removed: dict[str, str]
) -> Variant:
    ranks = start.split()[0].split("/")
    handicaps = {handicap: _without(start, squares) for handicap, squares in removed.items()}
    return Variant(name, title, index, len(_expand(ranks[0])), len(ranks), zone_ranks, start, box, handicaps)


SHOGI = _variant(
    0,
    "shogi",
    "Shogi",
    3,
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    _box(18, 4, 4, 4),
    {
        "lance": "1a",
        "bishop": "2b",
        "rook": "8b",
        "rook-lance": "8b 1a",
        "2": "8b 2b",
        "4": "8b 2b 1a 9a",
        "6": "8b 2b 1a 9a 2a 8a",
        "8": "8b 2b 1a 9a 2a 8a 3a 7a",
        "10": "8b 2b 1a 9a 2a 8a 3a 7a 4a 6a",
    },
)
JUDKINS = _variant(
    1,
    "judkins",
    "Judkins shogi",
    2,
    "rbnsgk/5p/6/6/P5/KGSNBR b - 1",
    _box(2, 0, 2, 2),
    {  # as in shogi the big pieces go first, then from the edge inwards; there is one of each
        "bishop": "5a",
        "rook": "6a",
        "2": "6a 5a",
        "3": "6a 5a 4a",
        "4": "6a 5a 4a 3a",
    },
)
MINISHOGI = _variant(
    2,
    "minishogi",
    "Minishogi",
    1,
    "rbsgk/4p/5/P4/KGSBR b - 1",
    _box(2, 0, 0, 2),
    {"bishop": "4a", "rook": "5a", "2": "5a 4a", "3": "5a 4a 3a"},
)

VARIANTS: dict[str, Variant] = {variant.name: variant for variant in (SHOGI, JUDKINS, MINISHOGI)}


def get_variant(name: str) -> Variant:
    """The variant of that name. Raises ValueError naming the known ones."""
    try:
        return VARIANTS[name]
    except KeyError:
        raise ValueError(f"unknown variant {name!r}: known are {', '.join(VARIANTS)}") from None


def handicap_sfen(variant: Variant, name: str) -> str:
    """Start SFEN of a handicap such as "rook-lance", "2" or "2-piece". Raises ValueError naming the known ones."""
    key = name.strip().lower().removesuffix("s").removesuffix("-piece")
    try:
        return variant.handicaps[key]
    except KeyError:
        known = ", ".join(variant.handicaps)
        raise ValueError(f"unknown handicap {name!r} in {variant.name}: known are {known}") from None
